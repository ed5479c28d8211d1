"""Tiny captioners on synthetic scenes."""

from __future__ import annotations

import json
import os
import pickle
import signal
from dataclasses import fields, replace
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
    synthetic_scenes,
)

if TYPE_CHECKING:
    import torch
pytestmark = [pytest.mark.model, pytest.mark.xdist_group("torch")]

XE = Stage("xe", epochs=2, batch_size=20, learning_rate=4e-3, max_words=8)
REWARD = Stage(
    "reward",
    epochs=1,
    losses=Losses(0.0, {"cider-d": 1.0}),
    batch_size=10,
    samples=3,
    max_words=8,
    patience=0,
)


@pytest.fixture(scope="module", autouse=True)
def import_torch() -> None:
    """Import it when the first test runs: collecting tests does without it, which takes seconds."""
    globals()["torch"] = pytest.importorskip("torch", reason="cidery-lab is not installed")


@pytest.fixture(scope="module")
def data() -> LabData:
    return synthetic_scenes(24, 6, 6)


def make_card(data: LabData, model: str = "fc", **settings: Any) -> Any:
    from cidery_lab import ModelCard

    return ModelCard(
        model, len(data.vocabulary), data.width, **{"hidden": 8, "dropout": 0.2, **settings}
    )


@pytest.fixture(scope="module")
def captioner(data: LabData) -> Any:
    from cidery_lab import train

    return train(
        make_card(data, hidden=24), data, [replace(XE, epochs=12, learning_rate=2e-2)]
    ).model


@pytest.mark.parametrize("name", MODELS)
def test_every_captioner_trains_with_every_loss(name: str, data: LabData) -> None:
    from cidery_lab import train
    from cidery_lab.decoding import generate_captions

    losses = Losses(0.5, {"cider-d": 1.0}, 1.0, 1.0, 1.0, 0.01)
    stages = [
        replace(XE, label_smoothing=0.1, scheduled_sampling=0.5),
        replace(REWARD, losses=losses, batch_size=24),
    ]
    run = train(make_card(data, name), data, stages)
    assert [row["stage"] for row in run.rows] == ["xe", "xe", "reward"]
    assert run.rows[1]["cross-entropy"] < run.rows[0]["cross-entropy"]
    numbers = [v for row in run.rows for v in row.values() if isinstance(v, float)]
    assert np.isfinite(numbers).all()
    # Words one by one score as all at once.
    images = torch.from_numpy(data.test.features)
    written = generate_captions(run.model, images, 5)
    read = torch.cat([torch.ones_like(written[:, :1]), written[:, :-1]], 1)
    with torch.no_grad():
        state, steps = run.model.init_state(images), []
        for token in read.T:
            scores, state = run.model.step(token, state)
            steps.append(scores)
        torch.testing.assert_close(torch.stack(steps, 1), run.model(images, read))


def test_maxout_cell_over_a_whole_caption() -> None:
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
    torch.testing.assert_close(cell.compute_states(seen, hidden, state), torch.stack(states))
    weights = (cell.recurrent.weight, cell.recurrent.bias)
    assert torch.autograd.gradcheck(
        lambda *inputs: cell.compute_states(*inputs[:3]), (seen, hidden, state, *weights)
    )


def test_feature_projection_does_not_depend_on_width(data: LabData) -> None:
    from cidery_lab.models.base import FeatureProjection

    torch.manual_seed(0)
    for width, moved in ((16, 16.0), (2500, 250.0)):
        see = FeatureProjection(replace(make_card(data), width=width))
        assert see(torch.randn(200, width)).std().item() == pytest.approx(0.6, abs=0.1)
        # What a step of Adam, which moves all weights alike, adds to what is seen.
        before = see(torch.ones(1, width))
        with torch.no_grad():
            see.weight += 1
        torch.testing.assert_close(see(torch.ones(1, width)), before + moved)


def test_initial_output_bias(data: LabData) -> None:
    from cidery_lab import build_model
    from cidery_lab.training import init_output_bias

    model = build_model(make_card(data))
    init_output_bias(model, [[data.vocabulary.encode(w) for w in g] for g in data.train.captions])
    words = [word for group in data.train.captions for caption in group for word in caption]
    ends = sum(len(group) for group in data.train.captions)
    chance = model.output.bias.exp()[data.vocabulary.ids["the"]].item()
    assert chance == pytest.approx(words.count("the") / (len(words) + ends), rel=0.05)


def without_times(rows: Any) -> list[dict[str, Any]]:
    left_out = ("seconds", "CPU seconds", "reward share")
    return [{k: v for k, v in row.items() if k not in left_out} for row in rows]


def test_killed_runs_resume_with_the_same_results(
    data: LabData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cidery_lab import train, training

    monkeypatch.setattr(training, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    stages = [
        replace(XE, weight_decay=0.1, warmup=0.2, linear_decay=True, word_dropout=0.3),
        replace(REWARD, losses=Losses(0, {"cider-d": 1}, adversarial=1), logit_scale=2.0),
    ]
    whole = train(make_card(data), data, stages, folder=tmp_path / "whole")
    for stage, share in (("xe", 0.5), ("reward", 0.6)):
        child = os.fork()
        if child == 0:

            def kill(row: dict[str, Any], stage: str = stage, share: float = share) -> None:
                if row["stage"] == stage and row.get("share", 0) >= share:
                    os.kill(os.getpid(), signal.SIGKILL)

            train(make_card(data), data, stages, folder=tmp_path / "killed", callback=kill)
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


def test_runs_killed_between_stages_resume(
    data: LabData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cidery_lab import train
    from cidery_lab.models.fc import FC

    stages = [replace(XE, epochs=1), replace(REWARD, logit_scale=2.0)]
    whole = train(make_card(data), data, stages)

    def fail(_: Any, factor: float) -> None:
        if factor != 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(FC, "scale_logits", fail)
        with pytest.raises(KeyboardInterrupt):
            train(make_card(data), data, stages, folder=tmp_path)
    again = train(make_card(data), data, stages, folder=tmp_path)
    assert without_times(again.rows) == without_times(whole.rows)


def test_scaled_logits_keep_greedy_captions(data: LabData) -> None:
    from cidery_lab import build_model

    images, tokens = torch.from_numpy(data.test.features), torch.ones(6, 2, dtype=torch.long)
    for name in MODELS:
        model = build_model(make_card(data, name)).eval()
        with torch.no_grad():
            before = model(images, tokens)
            model.scale_logits(2.0)
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
    others = synthetic_scenes(25, 6, 6)
    if len(others.vocabulary) == len(data.vocabulary):
        with pytest.raises(MismatchError, match="checkpoint of other data"):
            train(make_card(others), others, stages, folder=tmp_path)
    with pytest.raises(MismatchError, match="with other initial weights"):
        train(make_card(data), data, stages, folder=tmp_path, start=run.model)
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    model, vocabulary = load_model(tmp_path / "checkpoint.pt")
    assert vocabulary == data.vocabulary
    assert torch.equal(model.output.weight, run.model.output.weight)


def test_every_part_of_a_runs_identity_is_compared(data: LabData, tmp_path: Path) -> None:
    """A new part makes this test fail until a checkpoint with another value is refused."""
    from cidery_lab import train
    from cidery_lab.checkpoints import Identity, load_checkpoint

    stages, card = [replace(XE, epochs=1)], make_card(data)
    train(card, data, stages, folder=tmp_path)
    file, cpu = tmp_path / "checkpoint.pt", torch.device("cpu")
    own = Identity.make(card, data, stages, None)
    other_versions = {**own.versions, "torch": "0.1"}
    stage = json.dumps({**json.loads(own.stages[0]), "epochs": 9})
    refused: dict[str, tuple[Any, str]] = {
        "card": ({**own.card, "hidden": 9}, "another model"),
        "data": ("0", "other data"),
        "stages": ((stage,), "other settings in stage 1"),
        "start": ("0", "other initial weights"),
        "validation_images": (5, "by 6 validation images, not 5"),
        "versions": (other_versions, r"written with torch .*, not 0\.1; install that version"),
    }
    accepted = {
        "data_name": "a name",
        "vocabulary": "a part of the data",
        "batches": "the epoch starts again, see test_killed_runs_resume_with_the_same_results",
    }
    assert {field.name for field in fields(Identity)} == refused.keys() | accepted.keys()
    for name, (value, message) in refused.items():
        with pytest.raises(MismatchError, match=message):
            load_checkpoint(file, replace(own, **{name: value}), cpu)
    with pytest.raises(MismatchError, match="not 3"):
        train(card, data, stages, folder=tmp_path, validation_images=3)


@pytest.mark.parametrize("field", [field.name for field in fields(Stage)])
def test_every_setting_of_a_stage_is_part_of_its_identity(field: str) -> None:
    others: dict[str, Any] = {
        "name": "other",
        "losses": Losses(0.5),
        "linear_decay": True,
        "baseline": "greedy",
        "max_images": 5,
        "logit_scale": 2.0,
        "decay": 0.5,
    }
    value = getattr(XE, field)
    grown = value + 1 if isinstance(value, int) else 0.5
    changed = replace(XE, **{field: others.get(field, grown)})
    assert changed != XE
    assert (changed.identify() == XE.identify()) == (field == "batch_size")


def test_a_model_for_other_data_is_refused(data: LabData) -> None:
    from cidery_lab import train

    with pytest.raises(SettingError, match="the model has 7 words"):
        train(replace(make_card(data), words=7), data, [XE])


def test_a_vocabulary_that_lacks_a_word_is_refused(data: LabData) -> None:
    from cidery_lab import train

    fewer = Vocabulary(data.vocabulary.words[:-1], has_unknown=False)
    other = replace(data, vocabulary=fewer)
    with pytest.raises(InputError, match=r"image 'scene-1-\d+': the word .* is not in the"):
        train(make_card(other), other, [XE])


class Payload:
    """What a wicked file would run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_checkpoints_execute_no_code(data: LabData, tmp_path: Path) -> None:
    from cidery_lab import load_model, train

    trap = tmp_path / "trap"
    for content in (pickle.dumps(Payload(trap)), b"damaged", b""):
        (tmp_path / "checkpoint.pt").write_bytes(content)
        with pytest.raises(DataError, match="not a checkpoint of cidery-lab"):
            load_model(tmp_path / "checkpoint.pt")
    torch.save(Payload(trap), tmp_path / "checkpoint.pt")
    with pytest.raises(DataError, match="not a checkpoint of cidery-lab"):
        train(make_card(data), data, [XE], folder=tmp_path)
    assert not trap.exists()


def test_lack_of_memory(data: LabData, tmp_path: Path) -> None:
    from cidery_lab import train

    enormous = replace(REWARD, max_words=10**14)
    with pytest.raises(SettingError, match=r"--batch-size 5\).*resume from .*checkpoint.pt"):
        train(make_card(data), data, [enormous], folder=tmp_path)
    # A smaller batch may take up the same run.
    train(make_card(data), data, [XE], folder=tmp_path / "xe")
    train(make_card(data), data, [replace(XE, batch_size=7)], folder=tmp_path / "xe")


def test_early_stopping_keeps_the_best_epoch(data: LabData) -> None:
    from cidery_lab import train

    run = train(make_card(data), data, [replace(XE, epochs=30, learning_rate=1e-9, patience=2)])
    assert len(run.rows) == 3, "nothing is learned: two epochs after the first are no better"


def test_rewards_with_stems_and_without(data: LabData, captioner: Any) -> None:
    from cidery_lab import train

    both = replace(REWARD, losses=Losses(0.0, {"cider": 0.5, "cider-d": 0.5}))
    assert train(captioner.card, data, [both], start=captioner).rows[0]["reward"] > 0


@pytest.mark.parametrize("baseline", ["others", "greedy", "group"])
def test_reward_rises(baseline: Any, data: LabData, captioner: Any) -> None:
    from cidery_lab import train

    stage = replace(
        REWARD,
        baseline=baseline,
        epochs=8,
        learning_rate=1e-2,
        batch_size=24,
        samples=5,
        losses=Losses(0.0, {"bleu-1": 1.0}),
    )
    run = train(captioner.card, data, [stage], start=captioner)
    rewards = [row["reward"] for row in run.rows]
    assert np.mean(rewards[-2:]) > np.mean(rewards[:2]) + 0.02


def test_decoders_are_consistent(data: LabData, captioner: Any) -> None:
    from cidery_lab.decoding import generate_captions, log_probabilities, search_beams

    images = torch.from_numpy(data.test.features)
    greedy = generate_captions(captioner, images, 8)
    generator = torch.Generator().manual_seed(0)
    assert torch.equal(greedy, generate_captions(captioner, images, 8, generator, top_k=1))
    assert torch.equal(greedy, generate_captions(captioner, images, 8, generator, nucleus=1e-6))
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
    drawn = generate_captions(captioner, images, 8, generator)
    assert not torch.isin(drawn[drawn != 0], torch.tensor([1, 3])).any()
    with pytest.raises(SettingError, match=r"width \(5\) must be a multiple of groups"):
        search_beams(captioner, images, 8, 5, groups=2)
    with pytest.raises(SettingError, match="temperature"):
        generate_captions(captioner, images, 8, generator, temperature=0)


def test_generators(data: LabData, captioner: Any) -> None:
    from cidery_lab import GENERATORS, build_model, generate_sets

    latent = build_model(make_card(data, "cvae")).eval()
    for name in GENERATORS:
        model = latent if name == "drv" else captioner
        sets = generate_sets(name, model, data, data.test, count=3, max_words=8)
        assert list(sets) == list(data.test.images)
        assert all(len(group) == 3 for group in sets.values())
        again = generate_sets(name, model, data, data.test, count=3, max_words=8)
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
    with pytest.raises(SettingError, match="needs a model with a latent vector"):
        generate_sets("drv", captioner, data, data.test)
    with pytest.raises(SettingError, match="no generator named 'x'"):
        generate_sets("x", captioner, data, data.test)
    with pytest.raises(SettingError, match="at least 4 crops"):
        generate_sets("rci", captioner, data, data.test, count=4, crops=crops)


def test_ctrl_c_message(capsys: pytest.CaptureFixture[str]) -> None:
    from cidery_lab import LiveView

    with pytest.raises(KeyboardInterrupt), LiveView():
        raise KeyboardInterrupt
    assert "Rerun the same command to resume" in capsys.readouterr().err


def test_embedding_retrieves_images(data: LabData) -> None:
    from cidery_lab.retrieval import find_rank, retrieval_rewards, train_embedding
    from cidery_lab.training import pad_captions

    model = train_embedding(data, torch.device("cpu"), epochs=12)
    images = torch.from_numpy(data.train.features)
    tokens = pad_captions([data.vocabulary.encode(g[0]) for g in data.train.captions])[:, 1:]
    assert find_rank(model, images, tokens).mean() < 5, "chance is 12.5 of 24"
    own = retrieval_rewards(model, images, tokens, 1).mean()
    others = retrieval_rewards(model, images, tokens.roll(1, 0), 1).mean()
    assert others < own <= 0
