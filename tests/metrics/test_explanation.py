"""explain(): what is near, what is missing, what is extra."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import Consensus
from cidery.cli import main
from cidery.errors import InputError, SettingError
from cidery.metrics.contextual.encoders import Encoder

CANDIDATE = "A puppy sleeps on the couch with a ball."
REFERENCES = ["a dog is sleeping on a sofa", "the brown dog naps beside a pillow"]


@pytest.fixture(scope="module")
def found(minilm: Encoder) -> Any:
    return cidery.explain(CANDIDATE, REFERENCES, minilm)


def test_nearest_words(found: Any) -> None:
    nearest = {word.word: (word.nearest, word.reference) for word in found.words}
    assert nearest["puppy"][0] == "dog"
    assert nearest["sleeps"] == ("sleeping", 0)
    assert nearest["couch"] == ("sofa", 0)
    assert [word.word for word in found.words] == CANDIDATE.rstrip(".").split()


def test_missing_and_extra(found: Any) -> None:
    assert [word.word for word in found.extra] == ["ball"]
    assert "brown" in [word.word for word in found.missing]
    assert all(word.similarity <= found.beta for word in (*found.extra, *found.missing))
    assert not {"the", "with", "a"} & {word.word for word in (*found.extra, *found.missing)}


def test_other_thresholds_and_layers(minilm: Encoder) -> None:
    strict = cidery.explain(CANDIDATE, REFERENCES, minilm, beta=0.95)
    assert "puppy" in [word.word for word in strict.extra]
    lower = cidery.explain(CANDIDATE, REFERENCES, minilm, layer=1)
    assert lower.words != strict.words


def test_identity_lacks_nothing(minilm: Encoder) -> None:
    same = cidery.explain(REFERENCES[1], REFERENCES[1:], minilm)
    assert same.missing == same.extra == ()
    assert all(word.similarity == pytest.approx(1) for word in same.words)
    assert same.notes() == ["missing: nothing", "extra: nothing"]


def test_any_encoder_and_odd_captions() -> None:
    def letters(captions: Any) -> Any:
        vectors = np.eye(128)
        return [(c.split(), np.asarray([vectors[ord(w[0])] for w in c.split()])) for c in captions]

    found = cidery.explain("dog cat", ["dot", "dog", ""], letters, beta=0.5)
    assert [(w.word, w.nearest, w.reference) for w in found.words] == [
        ("dog", "dot", 0),
        ("cat", "dot", 0),
    ]
    assert [w.word for w in found.extra] == ["cat"] and found.missing == ()
    empty = cidery.explain("", ["dog"], letters, beta=0.5)
    assert empty.words == () and [w.word for w in empty.missing] == ["dog"]
    alone = cidery.explain("dog", [""], letters, beta=0.5)
    assert alone.lines() == [["dog", "", "0.00", ""]]
    with pytest.raises(InputError, match=r"^expected a list of references with at least one"):
        cidery.explain("dog", [])


def test_a_word_that_matches_anywhere_is_not_missing() -> None:
    """`dog` of the second reference is far from everything, that of the first is not."""

    def look_up(captions: Any) -> Any:
        vectors = {"cat": [0.8, 0.6], "dog": [1, 0], "far dog": [0, 1]}
        return [([c.split()[-1]], np.asarray([vectors[c]])) for c in captions]

    found = cidery.explain("cat", ["dog", "far dog"], look_up, beta=0.7)
    assert found.missing == ()
    found = cidery.explain("cat", ["dog", "far dog"], look_up, beta=0.9)
    assert [(w.word, w.reference, round(w.similarity, 6)) for w in found.missing] == [
        ("dog", 0, 0.8)
    ]


def test_what_is_no_caption_is_refused(minilm: Encoder) -> None:
    for explain in (cidery.explain, Consensus(encoder=minilm).take_apart):
        with pytest.raises(InputError, match=r"^candidates: caption 1 of image 0 is 3, expected t"):
            explain(3, ["a dog"])
        with pytest.raises(InputError, match=r"^references: caption 2 of image 0 is None, expecte"):
            explain("a dog", ["a dog", None])
        with pytest.raises(InputError, match=r"half of a surrogate pair"):
            explain("a dog \ud83d", ["a dog"])
        with pytest.raises(InputError, match=r"^expected a list of references with at least one"):
            explain("a dog", "a dog")
        with pytest.raises(SettingError, match=r"^beta is a cosine: .* between -1 and 1, not 7$"):
            explain("a dog", ["a dog"], beta=7)


@pytest.mark.usefixtures("minilm")
def test_the_command(capsys: pytest.CaptureFixture[str], found: Any) -> None:
    assert main(["explain", CANDIDATE, *REFERENCES]) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[2:3]] == [["puppy", "dog", "0.70", "2"]]
    assert out.endswith("\n".join(found.notes()) + "\n")
    assert main(["explain", CANDIDATE, *REFERENCES, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["words"][1]["nearest"] == "dog" and shown["beta"] == found.beta
    assert str(found).splitlines()[0].split() == found.header()


def test_the_command_tells_what_consensus_is_made_of(
    capsys: pytest.CaptureFixture[str], minilm: Encoder
) -> None:
    told = Consensus(encoder=minilm).take_apart(CANDIDATE, REFERENCES, beta=0.6)
    assert main(["explain", CANDIDATE, *REFERENCES, "--consensus", "--beta", "0.6"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\n".join(told.notes()) + "\n")
    assert f"score {told.score:.4f}: cone " in out
    assert main(["explain", CANDIDATE, *REFERENCES, "--consensus", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == told.parts
