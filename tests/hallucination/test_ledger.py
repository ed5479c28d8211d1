"""The ledger of captions, as objects, text, JSON and HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cidery
from cidery.cli import main
from cidery.errors import InputError, MismatchError
from cidery.hallucination.ledger import Ledger, LedgerEntry, LedgerLine, MissingClaim
from support.available import skip_unless_available

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

REFERENCES = ["A black dog is sitting on a couch.", "A dog on a <b>sofa</b> with two people."]
CAPTION = "A red dog sits on the sofa. It sits on the sofa. There are no people."


def make_entry(f: float, words: int, image: str = "1") -> LedgerEntry:
    lines = (
        LedgerLine(
            "dog", "object", "supported", 1.0, "stated", "“dog” in reference 1", 1, ((2, 5),)
        ),
        LedgerLine("dog: red", "attribute", "contradicted", 0.0, "other color", "", 1, ((6, 9),)),
        LedgerLine("dog: <b>", "attribute", "unsupported", 0.2, "dog", "“dog” …", 1, ((2, 5),)),
    )
    scores = dict.fromkeys(("precision", "recall", "contradictions", "claims"), 0.5) | {
        "f": f,
        "repetition": 0.0,
        "fluency": 1.0,
        "words": float(words),
    }
    return LedgerEntry(
        image,
        "a dog red <i>",
        ("a dog",),
        lines,
        (MissingClaim("cat", "object", (1, 2)),),
        scores,
        float(np.log(words / 10)),
    )


def make_ledger(*entries: LedgerEntry) -> Ledger:
    return Ledger(entries, np.arange(len(entries)), "claims-f|…")


def test_words_are_colored_by_their_worst_verdict() -> None:
    spans = make_entry(0.5, 4).spans()
    assert [(s.start, s.end, s.value) for s in spans] == [(2, 5, 0.0), (6, 9, -1.0)]
    assert "supported: dog (“dog” in reference 1)" in spans[0].note


def test_html_is_escaped() -> None:
    page = make_ledger(make_entry(0.5, 4)).to_html()
    assert "<i>" not in page
    assert "dog: <b>" not in page
    assert "dog: &lt;b&gt;" in page


def test_an_entry_says_why() -> None:
    shown = str(make_entry(0.5, 4))
    assert "other color" in shown
    assert "nearest: “dog” …" in shown
    assert "in references 1, 2" in shown


def test_tables_take_length_out() -> None:
    rng = np.random.default_rng(0)

    def write(base: float, longer: float) -> Ledger:
        sizes = rng.integers(5, 30, 60) * longer
        return make_ledger(
            *(
                make_entry(base - 0.1 * float(np.log(n / 10)), int(n), str(i))
                for i, n in enumerate(sizes)
            )
        )

    table = cidery.compare_ledgers({"short": write(0.5, 1), "long": write(0.55, 5)}, resamples=50)
    assert table.systems["short"]["f"] > table.systems["long"]["f"]
    assert table.controlled["long"].low > table.controlled["short"].high
    assert table.slope == pytest.approx(-0.1, abs=0.01)
    assert "length-controlled" in str(table)
    assert json.loads(json.dumps(table.to_dict()))["systems"]["long"]["length_controlled"] > 0.5


def test_there_must_be_captions() -> None:
    for ledgers in ({}, {"empty": make_ledger()}):
        with pytest.raises(InputError, match="at least one"):
            cidery.compare_ledgers(ledgers)


def test_settings_must_be_the_same() -> None:
    one = make_ledger(make_entry(0.5, 4))
    other = replace(one, signature="claims-f|encoder:mpnet")
    with pytest.raises(
        MismatchError, match=r"claims-f\|… and claims-f\|encoder:mpnet; use the same"
    ):
        cidery.compare_ledgers({"one": one, "other": other})


@pytest.fixture(scope="module")
def judged() -> Ledger:
    skip_unless_available("claims")
    return cidery.judge_claims({"a": CAPTION}, {"a": REFERENCES}, threads=1)


@pytest.mark.model
def test_claims_are_judged(judged: Ledger) -> None:
    entry = judged.entries[0]
    verdicts: dict[str, str] = {}
    for line in entry.lines:
        verdicts.setdefault(line.claim, line.verdict)
    assert verdicts["dog"] == verdicts["sofa"] == verdicts["dog sit on sofa"] == "supported"
    assert verdicts["dog: red"] == verdicts["not people"] == "contradicted"
    assert entry.scores["contradictions"] == 2
    assert any(line.verdict == "repeated" for line in entry.lines)
    red = next(line for line in entry.lines if line.claim == "dog: red")
    assert (red.reason, red.evidence, red.reference) == (
        "other color",
        "“black dog” in reference 1",
        1,
    )
    assert [CAPTION[start:end] for start, end in red.places] == ["red"]
    assert any(found.claim == "two people" for found in entry.missing)
    assert json.loads(json.dumps(judged.to_dict()))["captions"][0]["image_id"] == "a"


@pytest.mark.model
def test_scores_are_those_of_the_metrics(judged: Ledger) -> None:
    table = cidery.score({"a": CAPTION}, {"a": REFERENCES}, metrics=["claims"], threads=1)
    for measure in ("f", "precision", "recall"):
        assert table.corpus[f"claims-{measure}"] == judged.entries[0].scores[measure]


@pytest.mark.model
def test_an_unknown_image_is_named(judged: Ledger) -> None:
    with pytest.raises(MismatchError, match="no caption of image 'b'; it has 1 images"):
        cidery.judge_claims({"a": "a dog"}, {"a": ["a dog"]}, images=["b"], threads=1)


@pytest.mark.model
def test_the_command(
    judged: Ledger,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "ours.json").write_text(json.dumps({"1": "a red dog", "2": "two cats"}))
    (tmp_path / "references.json").write_text(json.dumps({"1": ["a black dog"], "2": ["a cat"]}))
    files = ["--results", str(tmp_path / "ours.json")]
    files += ["--references", str(tmp_path / "references.json"), "--threads", "1"]
    assert main(["ledger", *files]) == 0
    assert "length-controlled" in capsys.readouterr().out
    assert main(["ledger", *files, "--image", "1"]) == 0
    out = capsys.readouterr().out
    assert "image 1, claims-f" in out
    assert "other color" in out
    assert main(["ledger", *files, "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["systems"]["ours"]["contradictions"] == 1.0
    assert len(content["ledgers"]["ours"]["captions"]) == 2
    assert main(["ledger", *files, "--format", "html"]) == 0
    assert "<!doctype html>" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a dog"], "give a caption and its references, or files"),
        (["a dog", "a dog", "--image", "3"], "only valid with --results and --references"),
        (["a dog", "a dog", "--references", "r.json"], "pass a caption or files, not both"),
        (["x.json", "y.json"], "x.json looks like a file"),
        (["--results", "x.json"], "both files are needed"),
        (["--references", "x.json"], "both files are needed"),
    ],
)
def test_inputs_by_halves_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", *arguments]) == 2
    assert message in capsys.readouterr().err
