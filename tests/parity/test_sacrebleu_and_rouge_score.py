"""The settings that equal sacreBLEU and rouge-score: every row of the tables in the docs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import meta
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

PAGE = Path(__file__).parents[2] / "docs" / "which-number.md"

INVENTED: tuple[tuple[str, list[str]], ...] = (
    ("a dog runs on the sand", ["a dog runs on the sand"]),
    ("a dog runs on the sand", ["a dog walks on the sand", "the dog runs", "sand"]),
    ("a dog on the beach", ["a dog", "a small dog on the sandy beach near the sea"]),
    ("", ["a dog runs", "a cat"]),
    ("dog", ["dog"]),
    ("dog", ["a cat sits", "the dog runs on the sand"]),
    ("a dog", ["a dog", "a dog runs"]),
    ("a dog runs", ["a dog runs", "a dog walks"]),
    ("a dog runs", ["dog a runs"]),
    ("zebra", ["a dog runs on the sand"]),
    ("zebras eat grass in herds", ["a dog runs on the sand", "two cats"]),
    ("the the the the the", ["the cat is on the mat", "there is a cat on the mat"]),
    ("A Dog runs , fast !", ["a dog runs , fast !", "A dog runs"]),
    ("two dogs", ["two dogs on a beach run after a ball"]),
    ("a b c d e f g", ["a b c d", "c d e f g h i j k"]),
)
"""Candidates with references: empty, short, identical, repeated, without a common word."""


def read_rows(tool: str) -> list[tuple[str, str]]:
    """Return settings of cidery and of the other tool, from the table of the page."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition(f"| cidery | {tool} |")
    rows = []
    for line in table.partition("\n\n")[0].splitlines()[2:]:
        ours, theirs = (re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")[:2])
        rows.append((ours[0], theirs[0]))
    return rows


@pytest.fixture(
    params=["invented", "bundled", "random", pytest.param("real", marks=pytest.mark.shared)]
)
def captions(
    request: pytest.FixtureRequest, example: Example
) -> Sequence[tuple[str, Sequence[str]]]:
    """Candidates with references."""
    if request.param == "invented":
        return INVENTED
    if request.param == "bundled":
        return [(example.system_a[i], example.references[i]) for i in example.references]
    if request.param == "random":
        return list(_draw(random.Random(0)))
    judged = meta.read_dataset("flickr8k-expert", request.getfixturevalue("shared") / "data").judged  # type: ignore[union-attr]
    pairs = zip(judged.captions, judged.documents.tolist(), strict=True)
    return [(caption, judged.references[document]) for caption, document in pairs]


def _draw(rng: random.Random) -> Iterator[tuple[str, list[str]]]:
    for _ in range(300):
        words = [
            " ".join(rng.choice("abcde") for _ in range(rng.randrange(9)))
            for _ in range(1 + rng.randrange(1, 5))
        ]
        yield words[0], [text or "f" for text in words[1:]]


def score(
    captions: Sequence[tuple[str, Sequence[str]]], metric: str, tokenizer: Any
) -> tuple[float, list[float]]:
    """Return the corpus score and the score of each caption by cidery."""
    candidates, references = map(list, zip(*captions, strict=True))
    table = cidery.score(candidates, references, metric, tokenizer=tokenizer)
    return table.corpus[metric], table.each[metric].tolist()


def equal(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def has_match(caption: str, references: Sequence[str]) -> bool:
    return bool({*caption.split()} & {word for text in references for word in text.split()})


SACREBLEU = read_rows("sacreBLEU")
ROUGE_SCORE = read_rows("rouge-score")


def test_the_tables_have_rows() -> None:
    assert len(SACREBLEU) >= 7 and len(ROUGE_SCORE) >= 5
    assert any("effective_order" in ours for ours, _ in SACREBLEU)
    assert any("over=max" in ours for ours, _ in ROUGE_SCORE)


def make_bleu(call: str) -> Any:
    bleu = pytest.importorskip("sacrebleu", reason="needs sacrebleu").BLEU
    return eval(call, {"BLEU": bleu})


def corpus_bleu(bleu: Any, captions: Sequence[tuple[str, Sequence[str]]]) -> float:
    most = max(len(references) for _, references in captions)
    columns = [
        [references[place] if place < len(references) else None for _, references in captions]
        for place in range(most)
    ]
    return float(bleu.corpus_score([caption for caption, _ in captions], columns).score) / 100


@pytest.mark.parametrize(("ours", "theirs"), SACREBLEU)
def test_sacrebleu(ours: str, theirs: str, captions: Sequence[tuple[str, list[str]]]) -> None:
    bleu = make_bleu(theirs)
    corpus, each = score(captions, ours, "whitespace")
    equal(corpus, corpus_bleu(bleu, captions))
    smoothed = "epsilon" in ours or "exponential" in ours
    for value, (caption, references) in zip(each, captions, strict=True):
        expected = bleu.sentence_score(caption, list(references)).score / 100
        if smoothed and "effective_order" not in ours and not has_match(caption, references):
            # The page's exception: sacreBLEU does not smooth captions without a matching word.
            assert expected == 0 <= value < 0.2
            continue
        equal(value, expected)


def test_sentence_bleu_of_sacrebleu(captions: Sequence[tuple[str, list[str]]]) -> None:
    """Its function has other defaults than its class."""
    sacrebleu = pytest.importorskip("sacrebleu", reason="needs sacrebleu")
    ours = "bleu-4:faithful=paper,smoothing=exponential,effective_order=yes"
    _, each = score(captions, ours, "whitespace")
    equal(
        each,
        [
            sacrebleu.sentence_bleu(caption, list(references), tokenize="none").score / 100
            for caption, references in captions
        ],
    )


def test_the_tokenizer_of_sacrebleu(captions: Sequence[tuple[str, list[str]]]) -> None:
    bleu = make_bleu("BLEU()")
    corpus, _ = score(
        captions,
        "bleu-4:faithful=paper,smoothing=exponential",
        lambda caption: bleu.tokenizer(caption).split(),
    )
    equal(corpus, corpus_bleu(bleu, captions))


def test_a_corpus_without_a_match() -> None:
    captions = [("zebras eat grass in herds", ["a dog runs on the sand"])]
    corpus, _ = score(captions, "bleu-4:faithful=paper,smoothing=exponential", "whitespace")
    assert corpus > 0 == corpus_bleu(make_bleu('BLEU(tokenize="none")'), captions)
    ours = "bleu-4:faithful=paper,smoothing=exponential,effective_order=yes"
    assert score(captions, ours, "whitespace")[0] == 0


def split(caption: str) -> list[str]:
    """Split as rouge-score does."""
    return re.findall("[a-z0-9]+", caption.lower())


def make_rouge(measure: str) -> Callable[[str, Sequence[str]], float]:
    """Return the measure of a cell such as `rouge1, fmeasure`."""
    scorers = pytest.importorskip("rouge_score.rouge_scorer", reason="needs rouge-score")
    name, _, part = measure.partition(", ")
    scorer = scorers.RougeScorer([name])

    def compute(caption: str, references: Sequence[str]) -> float:
        return float(getattr(scorer.score_multi(references, caption)[name], part))

    return compute


@pytest.mark.parametrize(("ours", "theirs"), ROUGE_SCORE)
def test_rouge_score(ours: str, theirs: str, captions: Sequence[tuple[str, list[str]]]) -> None:
    compute = make_rouge(theirs)
    if "over=max" not in ours:
        captions = [(caption, references[:1]) for caption, references in captions]
    corpus, each = score(captions, ours, split)
    expected = [compute(caption, references) for caption, references in captions]
    equal(each, expected)
    equal(corpus, np.mean(expected))


def test_references_matter(example: Example) -> None:
    """With several references, the defaults are other scores than the best of rouge-score."""
    captions = [(example.system_a[i], example.references[i]) for i in example.references]
    for name in ("rouge-1:measure=f", "rouge-l:beta=1,faithful=paper"):
        best = name + ",over=max"
        assert score(captions, best, split)[0] != pytest.approx(score(captions, name, split)[0])


def test_rouge_lsum() -> None:
    """rougeLsum splits at line breaks, which captions do not have."""
    compute = make_rouge("rougeLsum, fmeasure")
    captions = list(INVENTED)
    _, each = score(captions, "rouge-l:beta=1,faithful=paper,over=max", split)
    equal(each, [compute(*pair) for pair in captions])
