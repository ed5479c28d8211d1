"""Planted mistakes are identified, and correct scores are confirmed."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import cidery
from cidery.auditing import Audit, apply_causes, find_cause, list_causes
from cidery.cli import main
from cidery.corpus import bundled
from cidery.errors import MismatchError, SettingError
from support.example import Example

Captions = dict[int, str]
References = dict[int, list[str]]


@pytest.fixture(scope="module")
def files(example: Example) -> tuple[Captions, References]:
    """Half of the example: an audit tries a hundred pipelines."""
    images = list(example.references)[:36]
    return (
        {image: example.system_a[image] for image in images},
        {image: example.references[image] for image in images},
    )


def name(found: Audit) -> list[str]:
    return [cause.id for cause in found.explanations[0].causes]


def score(
    candidates: Captions, references: References, *metrics: str, **settings: object
) -> dict[str, float]:
    return dict(cidery.score(candidates, references, metrics, **settings).corpus)  # type: ignore[arg-type]


pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


class TestConfirmed:
    def test_correct_scores(self, files: tuple[Captions, References]) -> None:
        right = score(*files, "cider-d", "bleu-4")
        claims = {"cider": f"{right['cider-d']:.3f}", "bleu-4": f"{right['bleu-4']:.3f}"}
        found = cidery.audit(*files, claims)
        assert found.verdict == "confirmed"
        assert [fitting_pipeline.causes for fitting_pipeline in found.explanations] == [()]
        assert found.standard["cider"].score == pytest.approx(right["cider-d"], abs=1e-12)
        assert found.standard["cider"].low < right["cider-d"] < found.standard["cider"].high

    def test_times_100(self, files: tuple[Captions, References]) -> None:
        right = 100 * score(*files, "cider-d")["cider-d"]
        found = cidery.audit(*files, {"CIDEr": f"{right:.1f}"})
        assert found.verdict == "confirmed"
        assert found.standard["CIDEr"].score == pytest.approx(right)
        assert "multiplied by 100" in found.summary


def shift(captions: Captions) -> Captions:
    texts = list(captions.values())
    return dict(zip(captions, [texts[-1], *texts[:-1]], strict=True))


def split_lower(caption: str) -> list[str]:
    return caption.lower().split()


Plant = Callable[[Captions, References], dict[str, float]]
PLANTS: dict[str, Plant] = {
    "no-tokenizer": lambda c, r: score(c, r, "cider-d", tokenizer="whitespace"),
    "lower-case-split": lambda c, r: score(c, r, "cider-d", tokenizer=split_lower),
    "ids-shifted-down": lambda c, r: score(shift(c), r, "cider-d"),
    "first-reference": lambda c, r: score(c, {i: t[:1] for i, t in r.items()}, "cider-d"),
    "weights-coco-train2014": lambda c, r: score(c, r, "cider-d", frequencies="coco-train2014"),
    "swapped": lambda c, r: score(
        {i: texts[0] for i, texts in r.items()}, {i: [text] for i, text in c.items()}, "cider-d"
    ),
    "cider-instead-of-cider-d": lambda c, r: {
        "cider-d": score(c, r, "cider", faithful="coco")["cider"]
    },
    "end-token": lambda c, r: score(
        {i: f"{text} endoftext" for i, text in c.items()},
        {i: [f"{text.rstrip(' .')} endoftext" for text in texts] for i, texts in r.items()},
        "cider-d",
    ),
    "times-10": lambda c, r: {"cider-d": 10 * score(c, r, "cider-d")["cider-d"]},
    "bleu-of-sentences": lambda c, r: {
        "bleu-4": float(cidery.score(c, r, "bleu-4").each["bleu-4"].mean())
    },
    "rouge-beta-1": lambda c, r: {"rouge-l": score(c, r, "rouge-l:beta=1")["rouge-l:beta=1"]},
}


@pytest.mark.parametrize("cause", PLANTS)
def test_single_causes(cause: str, files: tuple[Captions, References]) -> None:
    claims = {metric: f"{value:.4f}" for metric, value in PLANTS[cause](*files).items()}
    found = cidery.audit(*files, claims, pairs=False)
    assert name(found) == [cause]
    assert found.tried > 50


def claim(candidates: Captions, references: References) -> dict[str, str]:
    """Return correct scores with one decimal, times 100."""
    found = score(candidates, references, "cider-d", "bleu-4")
    return {m: f"{100 * found[m + d]:.1f}" for m, d in (("cider", "-d"), ("bleu-4", ""))}


def edit(captions: Captions, change: Callable[[str], str]) -> Captions:
    return {image: change(text) for image, text in captions.items()}


@pytest.mark.parametrize(
    ("cause", "change"),
    [
        ("special-tokens-removed", "{}<|im_end|>"),
        ("prefix-removed", "Answer: {}"),
        ("reasoning-removed", "<think>Hm.</think>{}"),
        ("html-entities-removed", "&#66;{} &amp;"),
        ("markdown-removed", "**{}**"),
        ("same-beginning-removed", "This photo shows {}"),
        ("same-ending-removed", "{} in the image"),
    ],
)
def test_the_file_has_the_mistake(
    cause: str, change: str, files: tuple[Captions, References]
) -> None:
    """The claim is right: a repair of the file gives it."""
    captions, references = files
    mistaken = edit(captions, change.format)
    repaired = captions
    if cause == "html-entities-removed":
        repaired = edit(captions, "B{} &".format)
    found = cidery.audit(mistaken, references, claim(repaired, references), pairs=False)
    options = [name(found), *map(list, found.explanations[0].alternatives)]
    assert [cause] in options
    assert found.verdict == "explained"


@pytest.mark.parametrize(
    ("cause", "change"),
    [
        ("im-end-left-in", lambda text: f"{text} <|im_end|>"),
        ("answer-left-in", lambda text: f"Answer: {text}"),
        ("cut-at-7-words", lambda text: " ".join(text.split()[:7])),
        ("cut-at-30-characters", lambda text: text[:30]),
        ("last-word-lost", lambda text: " ".join(text.split()[:-1])),
    ],
)
def test_the_claim_has_the_mistake(
    cause: str, change: Callable[[str], str], files: tuple[Captions, References]
) -> None:
    captions, references = files
    made = score(edit(captions, change), references, "cider-d", "bleu-4")
    claims = {"cider": f"{made['cider-d']:.5f}", "bleu-4": f"{made['bleu-4']:.5f}"}
    found = cidery.audit(*files, claims, pairs=False)
    options = [ids for e in found.explanations for ids in (name(found), *map(list, e.alternatives))]
    assert [cause] in options


def test_repairs_of_the_file_check_explain_claims(files: tuple[Captions, References]) -> None:
    """The file check and the search for a claim agree."""
    captions, references = files
    mistaken = edit(captions, "Answer: {}</s>".format)
    checked = cidery.audit_files(mistaken, references)
    assert {finding.id for finding in checked.findings} >= {"prefix", "special-tokens"}
    found = cidery.audit(mistaken, references, claim(captions, references), pairs=False)
    assert name(found) == ["debris-removed"]


def test_random_order(example: Example) -> None:
    captions = dict(zip(example.system_a, list(example.system_a.values()), strict=True))
    texts = list(captions.values())
    random.Random(3).shuffle(texts)
    made = score(dict(zip(captions, texts, strict=True)), example.references, "cider-d", "bleu-4")
    claims = {"cider": f"{100 * made['cider-d']:.1f}", "bleu-4": f"{100 * made['bleu-4']:.1f}"}
    found = cidery.audit(captions, example.references, claims, pairs=False)
    assert name(found) == ["random-order"]


def test_first_images(files: tuple[Captions, References]) -> None:
    captions, references = files
    part = list(captions)[:10]
    made = claim({i: captions[i] for i in part}, {i: references[i] for i in part})
    assert name(cidery.audit(*files, made, pairs=False)) == ["first-10-images"]


def test_given_frequencies(files: tuple[Captions, References], tmp_path: Path) -> None:
    path = tmp_path / "other.df"
    some = {image: texts[:2] for image, texts in list(files[1].items())[::2]}
    cidery.DocumentFrequencies.from_references(some).save(path)
    made = score(*files, "cider-d", frequencies=path)["cider-d"]
    found = cidery.audit(*files, {"cider": f"{made:.5f}"}, pairs=False, frequencies=[str(path)])
    assert name(found) == [f"weights-from-{path}"]
    assert f"--frequencies {path}" in found.explanations[0].command
    assert "--frequencies" not in found.standard_command
    again = apply_causes(*files, name(found), metrics=["cider"], frequencies=[str(path)])
    assert again["cider"] == pytest.approx(made)


class TestChance:
    def test_a_confirmed_claim_ends_the_search(self, files: tuple[Captions, References]) -> None:
        assert cidery.audit(*files, claim(*files)).tried == 1

    def test_few_digits_explain_nothing(self, files: tuple[Captions, References]) -> None:
        found = cidery.audit(*files, {"cider": "1.5"}, pairs=False)
        assert found.verdict == "possible"
        assert found.explanations[0].chance > 0.5
        assert "fits, but so would about" in found.summary
        assert found.to_dict()["explanations"][0]["chance"] == found.explanations[0].chance

    def test_another_claim_decides(self, files: tuple[Captions, References]) -> None:
        captions, references = files
        made = score(*files, "cider-d", "bleu-4", "rouge-l", tokenizer="whitespace")
        claims = {
            "cider": f"{100 * made['cider-d']:.1f}",
            "bleu-4": f"{100 * made['bleu-4']:.1f}",
            "rouge-l": f"{100 * made['rouge-l']:.1f}",
        }
        chances = [
            cidery.audit(captions, references, dict(list(claims.items())[:count]), pairs=False)
            .explanations[0]
            .chance
            for count in (1, 2, 3)
        ]
        assert chances == sorted(chances, reverse=True)
        assert chances[-1] < 0.001


def test_batches(files: tuple[Captions, References]) -> None:
    captions, references = files
    images = list(captions)
    parts = [images[start : start + 10] for start in range(0, len(images), 10)]
    scores = [
        score({i: captions[i] for i in part}, {i: references[i] for i in part}, "cider-d", "bleu-4")
        for part in parts
    ]
    claims = {m: f"{sum(s[m] for s in scores) / len(scores):.5f}" for m in ("cider-d", "bleu-4")}
    assert name(cidery.audit(*files, claims, pairs=False)) == ["averaged-per-batch-of-10"]


def test_pairs(files: tuple[Captions, References]) -> None:
    captions, references = files
    first = {image: texts[:1] for image, texts in references.items()}
    made = score(captions, first, "cider-d", "bleu-4", "rouge-l", tokenizer="whitespace")
    found = cidery.audit(*files, {metric: f"{value:.4f}" for metric, value in made.items()})
    assert set(name(found)) == {"no-tokenizer", "first-reference"}
    assert found.pairs_tried


def test_any_number_of_threads_gives_the_same_answer(files: tuple[Captions, References]) -> None:
    answers = [cidery.audit(*files, {"cider": "0.9"}, threads=n, pairs=False) for n in (1, 3)]
    assert answers[0].to_dict() == answers[1].to_dict()


class TestImages:
    def test_duplicates(self, files: tuple[Captions, References]) -> None:
        captions, references = files
        rows = [*captions.items(), *((image, "a dog on the beach") for image in list(captions)[:9])]
        counted = cidery.score(rows, references, "cider-d").corpus["cider-d"]
        found = cidery.audit(rows, references, {"cider": f"{counted:.4f}"}, pairs=False)
        assert name(found) == ["duplicates-counted"]
        assert "several captions" in found.notes[0]
        assert "--apply none" in found.standard_command

    def test_each_duplicate_as_an_image(self, files: tuple[Captions, References]) -> None:
        """A fit of another scale or rounding does not end the search for a similar pipeline."""
        captions, references = files
        rows = [*captions.items(), *list(captions.items())[:9]]
        made = cidery.score(
            {f"{image} {k}": text for k, (image, text) in enumerate(rows)},
            {f"{image} {k}": references[image] for k, (image, _) in enumerate(rows)},
            "cider-d",
        ).corpus["cider-d"]
        pooled = cidery.score(rows, references, "cider-d").corpus["cider-d"]
        assert made != pooled
        found = cidery.audit(rows, references, {"cider": f"{made:.3f}"}, pairs=False)
        assert name(found) == ["duplicates-counted"]
        assert found.explanations[0].scores["cider"] == pytest.approx(made)

    def test_missing(self, files: tuple[Captions, References]) -> None:
        captions, references = files
        some = {image: text for number, (image, text) in enumerate(captions.items()) if number % 9}
        left_out = score(some, references, "cider-d", missing="skip")["cider-d"]
        found = cidery.audit(some, references, {"cider": f"{left_out:.4f}"}, pairs=False)
        assert name(found) == ["missing-left-out"]
        empty = score({image: some.get(image, "") for image in references}, references, "cider-d")
        found = cidery.audit(some, references, {"cider": f"{empty['cider-d']:.4f}"}, pairs=False)
        assert name(found) == ["missing-counted-as-empty"]

    def test_a_part_of_a_larger_set_is_no_mistake(self, files: tuple[Captions, References]) -> None:
        captions, references = files
        some = {image: captions[image] for image in list(captions)[:15]}
        right = score(some, references, "cider-d", missing="skip")["cider-d"]
        found = cidery.audit(some, references, {"cider": f"{right:.4f}"}, pairs=False)
        assert found.verdict == "confirmed"
        assert "15 of 36 images" in found.notes[0]

    def test_nothing_in_common(self, files: tuple[Captions, References]) -> None:
        with pytest.raises(MismatchError, match="nothing to score"):
            cidery.audit({"x": "a dog"}, files[1], {"cider": "1.0"})


def test_nothing_fits(files: tuple[Captions, References]) -> None:
    found = cidery.audit(*files, {"cider": "7.7777"})
    assert found.verdict == "unexplained"
    assert found.explanations == ()
    assert [near.distance for near in found.nearest] == sorted(n.distance for n in found.nearest)
    assert "the closest differs by" in found.summary


class TestCauses:
    def test_ids_are_unique_and_found(self) -> None:
        ids = [cause.id for cause in list_causes()]
        assert len(set(ids)) == len(ids)
        assert all(find_cause(id).id == id for id in ids)

    def test_unknown(self) -> None:
        with pytest.raises(SettingError, match="did you mean 'no-tokenizer'"):
            find_cause("no-tokenizr")

    def test_one_tokenizer_at_a_time(self, files: tuple[Captions, References]) -> None:
        with pytest.raises(SettingError, match="cannot be combined with no-tokenizer"):
            apply_causes(*files, ["no-tokenizer", "regex-words"])

    @pytest.mark.parametrize("metric", ["cider", "bleu-4", "rouge-l"])
    def test_every_cause_can_be_applied(
        self, metric: str, files: tuple[Captions, References]
    ) -> None:
        families = {"cider": "cider", "bleu-4": "bleu", "rouge-l": "rouge"}
        skipped = {"cider-d-instead-of-cider-r", "cider-instead-of-cider-r", "bleu-4-reported"}
        tried = set()
        for cause in list_causes():
            kind = re.sub("[0-9]+", "0", cause.id)
            if kind in tried:
                continue
            tried.add(kind)
            others = set(cause.changes) & {"bleu", "rouge", "meteor", "cider"}
            if others - {families[metric]} or cause.id in skipped:
                continue
            scores = apply_causes(*files, [cause.id], metrics=[metric])
            assert scores[metric] >= 0, cause.id


class TestCommand:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for file in bundled.NAMES:
            (tmp_path / file).write_bytes(bundled.path(file).read_bytes())
        monkeypatch.chdir(tmp_path)

    def run(self, capsys: pytest.CaptureFixture[str], arguments: Sequence[str]) -> tuple[int, str]:
        status = main(["audit", *arguments])
        printed = capsys.readouterr()
        return status, printed.out or printed.err

    def test_explanations_have_commands_that_give_them(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = ["system_a.json", "references.json"]
        claimed = ["--claimed", "CIDEr=90.1", "Bleu_4=26.28"]
        status, printed = self.run(capsys, [*files, *claimed, "--format", "json"])
        content = json.loads(printed)
        assert status == 0
        assert content["standard"]["CIDEr"] == pytest.approx(113.76, abs=0.01)
        assert content["fitting"]["fit"] >= 1
        first = content["explanations"][0]
        assert first["causes"] == ["no-tokenizer"]
        command = shlex.split(first["command"])
        status, printed = self.run(capsys, [*command[2:], "--format", "json"])
        assert json.loads(printed)["scores"] == pytest.approx(first["scores"])

    def test_list_causes(self, capsys: pytest.CaptureFixture[str]) -> None:
        status, printed = self.run(capsys, ["--list-causes"])
        assert status == 0
        assert all(f" {cause.id}: " in printed for cause in list_causes())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "two files are needed"),
            (["system_a.json"], "found 1: system_a.json"),
            (["system_a.json", "references.json", "--claimed", "cider=abc"], "is not a number"),
            (["system_a.json", "references.json", "--claimed", "wer=1"], "unknown metric 'wer'"),
            (["system_a.json", "none.json", "--claimed", "cider=1"], "none.json: No such file"),
        ],
    )
    def test_bad_input(
        self, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
    ) -> None:
        status, printed = self.run(capsys, arguments)
        assert status == 2
        assert message in printed

    def test_tables(self, capsys: pytest.CaptureFixture[str]) -> None:
        files = ["system_a.json", "references.json"]
        for claim, message in (
            ("cider=1.1376", ": confirmed."),
            ("cider=7.7", "pipelines reproduces"),
        ):
            status, printed = self.run(capsys, [*files, "--claimed", claim, "--no-pairs"])
            assert status == 0
            assert message in printed
        status, printed = self.run(capsys, files)
        assert "No problems found." in printed


def test_a_harness_without_a_tokenizer(shared: Path) -> None:
    """VLMEvalKit's scores of two real systems: 99.3 and 109.3 instead of 131.2 and 146.0."""
    folder = shared / "data" / "audit"
    references = cidery.read_references(folder / "references.json")
    captions = cidery.read_candidates(folder / "blip2.json")
    given = apply_causes(captions, references, ["no-tokenizer"], metrics=["cider"])
    assert given["cider"] == pytest.approx(1.093, abs=0.0005)
    captions = cidery.read_candidates(folder / "m2_transformer.json")
    found = cidery.audit(captions, references, {"cider": "99.3"}, pairs=False)
    assert name(found) == ["no-tokenizer"]
    assert found.standard["cider"].score == pytest.approx(131.2, abs=0.05)
