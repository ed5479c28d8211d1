"""Tiny captioners on invented scenes."""

from __future__ import annotations

import os
import pickle
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cidery.diversity import measure_diversity
from cidery.errors import DataError, InputError, MismatchError, SettingError
from cidery_lab import (
    MODELS,
    LabData,
    Losses,
    Stage,
    Vocabulary,
    invented_scenes,
)

if TYPE_CHECKING:
    import torch
pytestmark = [pytest.mark.model, pytest.mark.xdist_group("torch")]

XE = Stage("xe", epochs=2, batch=20, rate=4e-3, most_words=8)
REWARD = Stage(
    "reward",
    epochs=1,
    losses=Losses(0.0, {"cider-d": 1.0}),
    batch=10,
    samples=3,
    most_words=8,
    patience=0,
)


@pytest.fixture(scope="module", autouse=True)
def import_torch() -> None:
    """Import it when the first test runs: collecting tests does without it, which takes seconds."""
    globals()["torch"] = pytest.importorskip("torch", reason="cidery-lab is not installed")


@pytest.fixture(scope="module")
def data() -> LabData:
    return invented_scenes(24, 6, 6)


def make_card(data: LabData, model: str = "fc", **settings: Any) -> Any:
    from cidery_lab import ModelCard

    return ModelCard(
        model, len(data.vocabulary), data.width, **{"hidden": 8, "dropout": 0.2, **settings}
    )


@pytest.fixture(scope="module")
def captioner(data: LabData) -> Any:
    from cidery_lab import train

    return train(make_card(data, hidden=24), data, [replace(XE, epochs=12, rate=2e-2)]).model


@pytest.mark.parametrize("name", MODELS)
def test_every_captioner_trains_with_every_loss(name: str, data: LabData) -> None:
    from cidery_lab import train
    from cidery_lab.decoding import write

    losses = Losses(0.5, {"cider-d": 1.0}, 1.0, 1.0, 1.0, 0.01)
    stages = [
        replace(XE, smoothing=0.1, scheduled=0.5),
        replace(REWARD, losses=losses, batch=24),
    ]
    run = train(make_card(data, name), data, stages)
    assert [row["stage"] for row in run.rows] == ["xe", "xe", "reward"]
    assert run.rows[1]["cross-entropy"] < run.rows[0]["cross-entropy"]
    numbers = [v for row in run.rows for v in row.values() if isinstance(v, float)]
    assert np.isfinite(numbers).all()
    # Words one by one score as all at once.
    images = torch.from_numpy(data.test.features)
    written = write(run.model, images, 5)
    read = torch.cat([torch.ones_like(written[:, :1]), written[:, :-1]], 1)
    with torch.no_grad():
        state, steps = run.model.begin(images), []
        for token in read.T:
            scores, state = run.model.step(token, state)
            steps.append(scores)
        torch.testing.assert_close(torch.stack(steps, 1), run.model(images, read))


def test_the_maxout_cell_reads_a_caption_at_once() -> None:
    from cidery_lab.models.fc import MaxoutCell

    torch.manual_seed(0)
    cell = MaxoutCell(3).double()
    seen, hidden, state = (
        torch.randn(*shape, dtype=torch.double, requires_grad=True)
        for shape in ((4, 2, 15), (2, 3), (2, 3))
    )
    states, now = [], (hidden, state)
    for words in seen:
        now = cell(words, *now)
        states.append(now[0])
    torch.testing.assert_close(cell.read_all(seen, hidden, state), torch.stack(states))
    weights = (cell.remember.weight, cell.remember.bias)
    assert torch.autograd.gradcheck(
        lambda *inputs: cell.read_all(*inputs[:3]), (seen, hidden, state, *weights)
    )


def test_features_of_any_width_are_seen_alike(data: LabData) -> None:
    from cidery_lab.models.base import See

    torch.manual_seed(0)
    for width, moved in ((16, 16.0), (2500, 250.0)):
        see = See(replace(make_card(data), width=width))
        assert see(torch.randn(200, width)).std().item() == pytest.approx(0.6, abs=0.1)
        # What a step of Adam, which moves all weights alike, adds to what is seen.
        before = see(torch.ones(1, width))
        with torch.no_grad():
            see.weight += 1
        torch.testing.assert_close(see(torch.ones(1, width)), before + moved)


def test_a_new_captioner_expects_words_as_people_write_them(data: LabData) -> None:
    from cidery_lab import build_model
    from cidery_lab.training import expect_words

    model = build_model(make_card(data))
    expect_words(model, [[data.vocabulary.encode(w) for w in g] for g in data.train.captions])
    words = [word for group in data.train.captions for caption in group for word in caption]
    ends = sum(len(group) for group in data.train.captions)
    chance = model.speak.bias.exp()[data.vocabulary.ids["the"]].item()
    assert chance == pytest.approx(words.count("the") / (len(words) + ends), rel=0.05)


def without_times(rows: Any) -> list[dict[str, Any]]:
    left_out = ("seconds", "CPU seconds", "reward share")
    return [{k: v for k, v in row.items() if k not in left_out} for row in rows]


def test_a_killed_run_goes_on_to_the_same_numbers(
    data: LabData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cidery_lab import train, training

    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    stages = [
        replace(XE, weight_decay=0.1, warm_up=0.2, cool_down=True, hidden_words=0.3),
        replace(REWARD, losses=Losses(0, {"cider-d": 1}, adversarial=1), sharpen=2.0),
    ]
    whole = train(make_card(data), data, stages, folder=tmp_path / "whole")
    for stage, share in (("xe", 0.5), ("reward", 0.6)):
        child = os.fork()
        if child == 0:

            def kill(row: dict[str, Any], stage: str = stage, share: float = share) -> None:
                if row["stage"] == stage and row.get("share", 0) >= share:
                    os.kill(os.getpid(), signal.SIGKILL)

            train(make_card(data), data, stages, folder=tmp_path / "killed", watch=kill)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    again = train(make_card(data), data, stages, folder=tmp_path / "killed")
    assert without_times(again.rows) == without_times(whole.rows)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[name]), name
    # A run that is over is only read.
    over = train(make_card(data), data, stages, folder=tmp_path / "killed")
    assert over.rows == again.rows
    assert (tmp_path / "killed" / "log.json").exists()


def test_a_run_that_ends_between_stages_goes_on(
    data: LabData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cidery_lab import train
    from cidery_lab.models.fc import FC

    stages = [replace(XE, epochs=1), replace(REWARD, sharpen=2.0)]
    whole = train(make_card(data), data, stages)

    def fail(_: Any, factor: float) -> None:
        if factor != 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FC, "sharpen", fail)
        with pytest.raises(KeyboardInterrupt):
            train(make_card(data), data, stages, folder=tmp_path)
    again = train(make_card(data), data, stages, folder=tmp_path)
    assert without_times(again.rows) == without_times(whole.rows)


def test_sharper_captioners_say_the_same_with_more_certainty(data: LabData) -> None:
    from cidery_lab import build_model

    images, tokens = torch.from_numpy(data.test.features), torch.ones(6, 2, dtype=torch.long)
    for name in MODELS:
        model = build_model(make_card(data, name)).eval()
        with torch.no_grad():
            before = model(images, tokens)
            model.sharpen(2.0)
            torch.testing.assert_close(model(images, tokens), 2 * before)
            chosen = torch.rand(tokens.shape) < 0.5
            found = model.score_chosen(images, tokens, chosen)
        torch.testing.assert_close(found, 2 * before[chosen])


def test_another_runs_checkpoint_is_refused(data: LabData, tmp_path: Path) -> None:
    from cidery_lab import load_model, train

    stages = [replace(XE, epochs=1)]
    run = train(make_card(data), data, stages, folder=tmp_path)
    before = (tmp_path / "checkpoint.pt").read_bytes()
    for arguments, message in (
        ((make_card(data, hidden=9), data, stages), "another model: its hidden is 8, not 9"),
        ((make_card(data, "nic"), data, stages), "another model: its model is 'fc', not 'nic'"),
        ((make_card(data), data, [XE]), "other settings in stage 1 .epochs was 1, and is 2"),
    ):
        with pytest.raises(MismatchError, match=message):
            train(*arguments, folder=tmp_path)
    others = invented_scenes(25, 6, 6)
    if len(others.vocabulary) == len(data.vocabulary):
        with pytest.raises(MismatchError, match="checkpoint of other data"):
            train(make_card(others), others, stages, folder=tmp_path)
    with pytest.raises(MismatchError, match="from other weights"):
        train(make_card(data), data, stages, folder=tmp_path, start=run.model)
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    model, vocabulary = load_model(tmp_path / "checkpoint.pt")
    assert vocabulary == data.vocabulary
    assert torch.equal(model.speak.weight, run.model.speak.weight)


def test_a_model_for_other_data_is_refused(data: LabData) -> None:
    from cidery_lab import train

    with pytest.raises(SettingError, match="made for 7 words"):
        train(replace(make_card(data), words=7), data, [XE])


def test_a_vocabulary_that_lacks_a_word_is_refused(data: LabData) -> None:
    from cidery_lab import train

    fewer = Vocabulary(data.vocabulary.words[:-1], knows_unknown=False)
    other = replace(data, vocabulary=fewer)
    with pytest.raises(InputError, match=r"image 'scene-1-\d+' has the word .* not among the"):
        train(make_card(other), other, [XE])


class Payload:
    """What a wicked file would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_nothing_in_a_checkpoint_is_run(data: LabData, tmp_path: Path) -> None:
    from cidery_lab import load_model, train

    trap = tmp_path / "trap"
    for content in (pickle.dumps(Payload(trap)), b"damaged", b""):
        (tmp_path / "checkpoint.pt").write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as a checkpoint"):
            load_model(tmp_path / "checkpoint.pt")
    torch.save(Payload(trap), tmp_path / "checkpoint.pt")
    with pytest.raises(DataError, match="cannot be read as a checkpoint"):
        train(make_card(data), data, [XE], folder=tmp_path)
    assert not trap.exists()


def test_a_batch_that_does_not_fit_in_memory(data: LabData, tmp_path: Path) -> None:
    from cidery_lab import train

    enormous = replace(REWARD, most_words=10**14)
    with pytest.raises(SettingError, match=r"--batch 5\).*checkpoint is in .*checkpoint.pt"):
        train(make_card(data), data, [enormous], folder=tmp_path)
    # A smaller batch may take up the same run.
    train(make_card(data), data, [XE], folder=tmp_path / "xe")
    train(make_card(data), data, [replace(XE, batch=7)], folder=tmp_path / "xe")


def test_early_stopping_keeps_the_best_epoch(data: LabData) -> None:
    from cidery_lab import train

    run = train(make_card(data), data, [replace(XE, epochs=30, rate=1e-9, patience=2)])
    assert len(run.rows) == 3, "nothing is learned: two epochs after the first are no better"


def test_rewards_with_stems_and_without(data: LabData, captioner: Any) -> None:
    from cidery_lab import train

    both = replace(REWARD, losses=Losses(0.0, {"cider": 0.5, "cider-d": 0.5}))
    assert train(captioner.card, data, [both], start=captioner).rows[0]["reward"] > 0


@pytest.mark.parametrize("baseline", ["others", "greedy", "group"])
def test_the_reward_rises(baseline: Any, data: LabData, captioner: Any) -> None:
    from cidery_lab import train

    stage = replace(
        REWARD,
        baseline=baseline,
        epochs=8,
        rate=1e-2,
        batch=24,
        samples=5,
        losses=Losses(0.0, {"bleu-1": 1.0}),
    )
    run = train(captioner.card, data, [stage], start=captioner)
    rewards = [row["reward"] for row in run.rows]
    assert np.mean(rewards[-2:]) > np.mean(rewards[:2]) + 0.02


def test_decoders_agree_where_they_must(data: LabData, captioner: Any) -> None:
    from cidery_lab.decoding import log_probabilities, search_beams, write

    images = torch.from_numpy(data.test.features)
    greedy = write(captioner, images, 8)
    generator = torch.Generator().manual_seed(0)
    assert torch.equal(greedy, write(captioner, images, 8, generator, top_k=1))
    assert torch.equal(greedy, write(captioner, images, 8, generator, nucleus=1e-6))
    assert torch.equal(greedy, search_beams(captioner, images, 8, 1)[:, 0])
    groups = search_beams(captioner, images, 8, 3, groups=3, penalty=0.0)
    assert all(torch.equal(greedy, groups[:, place]) for place in range(3))
    beams = search_beams(captioner, images, 8, 4)
    assert all(len({tuple(beam) for beam in beams[i].tolist()}) == 4 for i in range(len(images)))
    # Beams are ordered by log-probability over length.
    chosen = beams.flatten(0, 1)
    read = torch.cat([torch.ones_like(chosen[:, :1]), chosen[:, :-1]], 1)
    with torch.no_grad():
        scores = log_probabilities(captioner(images.repeat_interleave(4, 0), read))
    known = scores.gather(2, chosen[:, :, None])[:, :, 0].masked_fill(chosen == 0, 0.0).sum(1)
    ranks = (known / (chosen != 0).sum(1) ** 0.7).view(-1, 4)
    assert (ranks[:, :-1] >= ranks[:, 1:] - 1e-5).all()
    drawn = write(captioner, images, 8, generator)
    assert not torch.isin(drawn[drawn != 0], torch.tensor([1, 3])).any()
    with pytest.raises(SettingError, match="5 beams cannot be shared among 2 groups"):
        search_beams(captioner, images, 8, 5, groups=2)
    with pytest.raises(SettingError, match="temperature"):
        write(captioner, images, 8, generator, temperature=0)


def test_generators_give_sets_that_diversity_reads(data: LabData, captioner: Any) -> None:
    from cidery_lab import GENERATORS, build_model, generate_sets

    latent = build_model(make_card(data, "cvae")).eval()
    for name in GENERATORS:
        model = latent if name == "drv" else captioner
        sets = generate_sets(name, model, data, data.test, count=3, most_words=8)
        assert list(sets) == list(data.test.images)
        assert all(len(group) == 3 for group in sets.values())
        again = generate_sets(name, model, data, data.test, count=3, most_words=8)
        assert sets == again, "the seed decides"
        table = measure_diversity(
            sets, "self-cider", frequencies=data.frequencies, tokenizer="whitespace"
        )
        assert 0 <= table.corpus["self-cider"] <= 1
    still = generate_sets("gnc", captioner, data, data.test, count=2, deviation=0.0)
    assert all(len(set(group)) == 1 for group in still.values())
    crops = np.repeat(data.test.features[:, None], 2, 1)
    cropped = generate_sets("rci", captioner, data, data.test, count=2, crops=crops)
    assert cropped == still
    with pytest.raises(SettingError, match="'fc' has none; take cvae or cgan"):
        generate_sets("drv", captioner, data, data.test)
    with pytest.raises(SettingError, match="no generator named 'x'"):
        generate_sets("x", captioner, data, data.test)
    with pytest.raises(SettingError, match="at least 4 crops"):
        generate_sets("rci", captioner, data, data.test, count=4, crops=crops)


def test_ctrl_c_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    from cidery_lab import LiveView

    with pytest.raises(KeyboardInterrupt), LiveView():
        raise KeyboardInterrupt
    assert "the same command goes on" in capsys.readouterr().err


def test_the_embedding_finds_images(data: LabData) -> None:
    from cidery_lab.retrieval import find_rank, retrieval_rewards, train_embedding
    from cidery_lab.training import pad_captions

    model = train_embedding(data, torch.device("cpu"), epochs=12)
    images = torch.from_numpy(data.train.features)
    tokens = pad_captions([data.vocabulary.encode(g[0]) for g in data.train.captions])[:, 1:]
    assert find_rank(model, images, tokens).mean() < 5, "chance is 12.5 of 24"
    own = retrieval_rewards(model, images, tokens, 1).mean()
    others = retrieval_rewards(model, images, tokens.roll(1, 0), 1).mean()
    assert others < own <= 0
