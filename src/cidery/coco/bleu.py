"""Drop-in replacements for BLEU: `Bleu` and `BleuScorer`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from cidery import metrics, text
from cidery.coco.matching import (
    SPLIT,
    TokenizedCorpus,
    check_references,
    match_captions,
    match_rows,
)
from cidery.errors import InputError, SettingError
from cidery.runtime import Workspace
from cidery.statistics import Floats

Option: TypeAlias = Literal["closest", "shortest", "average"]
BleuScores: TypeAlias = tuple[list[float], list[list[float]]]
"""BLEU-1 … BLEU-n of the corpus, and for each of them the images' scores."""

# coco-caption's constants, as in cidery.metrics.Bleu: for the ratio that is printed.
_TINY = 1e-15
_SMALL = 1e-9


class Bleu:
    """BLEU-1 … BLEU-n as pycocoevalcap returns them, each in [0, 1] (Papineni et al. 2002).

    ```python
    score, scores = Bleu(4).compute_score({1: ["a dog runs"]}, {1: ["a dog"]}, verbose=0)
    ```
    """

    def __init__(self, n: int = 4) -> None:
        self._n = n
        self._metrics = _make_metrics(n, "closest")

    def compute_score(self, gts: Any, res: Any, verbose: int = 1) -> BleuScores:
        """Return the corpus scores and, for each, the images' scores in the order of `gts`.

        `verbose=1` prints the pooled counts as the original does, 2 those of every image too.
        """
        corpus = TokenizedCorpus.build(match_captions(gts, res), SPLIT)
        return self.score_tokenized(corpus, Workspace(), verbose)

    def score_tokenized(
        self, corpus: TokenizedCorpus, work: Workspace, verbose: int = 1
    ) -> BleuScores:
        """Return the same for tokenized captions."""
        rows = corpus.measure(self._metrics, work)
        if verbose > 0:
            _print_counts(corpus, rows[f"bleu-{self._n}"], self._n, verbose)
        return _shape(rows, self._metrics)

    def method(self) -> str:
        """Return the printed name."""
        return "Bleu"


class BleuScorer:
    """BLEU of captions that are added one by one, with `+=`.

    ```python
    scorer = BleuScorer(n=4)
    scorer += ("a dog runs", ["a dog is running", "the dog runs"])
    score, scores = scorer.compute_score(option="closest")
    ```
    """

    def __init__(
        self,
        test: str | None = None,
        refs: Sequence[str] | None = None,
        n: int = 4,
        special_reflen: float | None = None,
    ) -> None:
        self.n = n
        self.special_reflen = special_reflen
        self._candidates: list[str] = []
        self._references: list[Sequence[str]] = []
        self.cook_append(test, refs)

    def cook_append(self, test: str | None, refs: Sequence[str] | None) -> None:
        """Add a candidate and its references."""
        if refs is not None:
            check_references(self.size(), refs)
            self._candidates.append(_require_candidate(test))
            self._references.append(refs)

    def __iadd__(self, other: tuple[str, Sequence[str]] | BleuScorer) -> BleuScorer:
        if isinstance(other, tuple):
            self.cook_append(*other)
            return self
        if not self.compatible(other):
            raise SettingError(
                f"a BleuScorer of n={self.n} takes (candidate, references) or a BleuScorer of the "
                f"same n, not {other!r}"
            )
        self._candidates.extend(other._candidates)
        self._references.extend(other._references)
        return self

    def compatible(self, other: object) -> bool:
        """Return whether the other can be added."""
        return isinstance(other, BleuScorer) and self.n == other.n

    def copy(self) -> BleuScorer:
        """Return a copy with the same captions."""
        new = BleuScorer(n=self.n)
        new._candidates = list(self._candidates)
        new._references = list(self._references)
        return new

    def size(self) -> int:
        """Return the number of captions."""
        return len(self._candidates)

    def retest(self, new_test: str | Sequence[str]) -> BleuScorer:
        """Replace the candidates."""
        candidates = [new_test] if isinstance(new_test, str) else list(new_test)
        if len(candidates) != self.size():
            raise InputError(
                f"there are references for {self.size()} candidates, not for {len(candidates)}"
            )
        self._candidates = candidates
        return self

    def rescore(self, new_test: str | Sequence[str]) -> BleuScores:
        """Replace the candidates and score them."""
        return self.retest(new_test).compute_score()

    def compute_score(self, option: Option | None = None, verbose: int = 0) -> BleuScores:
        """Return the corpus scores and, for each, the captions' scores.

        `option` is the reference length: `closest`, `shortest` or `average`; by default the
        closest, and for a single caption the average, as in the original.
        """
        option = option or ("average" if self.size() == 1 else "closest")
        chosen = _make_metrics(self.n, option)
        corpus = self._tokenize()
        rows = self._measure(corpus, chosen)
        if verbose > 0:
            _print_counts(corpus, rows[f"bleu-{self.n}"], self.n, verbose)
        return _shape(rows, chosen)

    def recompute_score(self, option: Option | None = None, verbose: int = 0) -> BleuScores:
        """Return the result of `compute_score`."""
        return self.compute_score(option, verbose)

    def testlen(self, option: Option | None = None) -> int:
        """Return the number of words of all candidates."""
        return int(self._sums(option)[0])

    def reflen(self, option: Option | None = None) -> float:
        """Return the reference length."""
        return float(self._sums(option)[1])

    def ratio(self, option: Option | None = None) -> float:
        """Return the length of the candidates over that of the references."""
        sums = self._sums(option)
        return _ratio(sums[0], sums[1])

    def _tokenize(self) -> TokenizedCorpus:
        images = range(self.size())
        return TokenizedCorpus.build(match_rows(images, self._candidates, self._references), SPLIT)

    def _measure(
        self, corpus: TokenizedCorpus, chosen: dict[str, metrics.Metric]
    ) -> dict[str, Floats]:
        rows = corpus.measure(chosen, Workspace())
        if self.special_reflen is not None:
            for measured in rows.values():
                measured[:, 1] = self.special_reflen
        return rows

    def _sums(self, option: Option | None) -> Floats:
        option = option or ("average" if self.size() == 1 else "closest")
        chosen: dict[str, metrics.Metric] = {"bleu": metrics.Bleu(self.n, reference_length=option)}
        sums: Floats = self._measure(self._tokenize(), chosen)["bleu"].sum(axis=0)
        return sums


def _make_metrics(n: int, option: Option) -> dict[str, metrics.Metric]:
    return {f"bleu-{k}": metrics.Bleu(k, reference_length=option) for k in range(1, n + 1)}


def _shape(rows: dict[str, Floats], chosen: dict[str, metrics.Metric]) -> BleuScores:
    return (
        [metric.reduce(rows[label]) for label, metric in chosen.items()],
        [metric.each(rows[label]).tolist() for label, metric in chosen.items()],
    )


def _require_candidate(test: str | None) -> str:
    if test is None:
        raise InputError("references came without a candidate; add them together")
    return test


def _ratio(length: float, reference_length: float) -> float:
    return float((length + _TINY) / (reference_length + _SMALL))


@dataclass(frozen=True)
class _Counts:
    """A row of BLEU as the original prints it."""

    testlen: int
    reflen: int | float
    guess: list[int]
    correct: list[int]

    @classmethod
    def read(cls, row: Floats, order: int) -> _Counts:
        """Read (length, reference length, matches…, n-grams…)."""
        width = (len(row) - 2) // 2
        reflen = float(row[1])
        return cls(
            int(row[0]),
            int(reflen) if reflen.is_integer() else reflen,
            row[2 + width : 2 + width + order].astype(np.int64).tolist(),
            row[2 : 2 + order].astype(np.int64).tolist(),
        )


def _print_counts(corpus: TokenizedCorpus, rows: Floats, n: int, verbose: int) -> None:
    """Print what the original prints: `verbose` is part of its interface."""
    if verbose > 1:
        lengths = np.diff(corpus.references.captions.form(text.SPLIT).offsets()).tolist()
        offsets = corpus.references.image_offsets.tolist()
        for image, row in enumerate(rows):
            counts = _Counts.read(row, max(n, 4))
            shown = {
                "reflen": lengths[offsets[image] : offsets[image + 1]],
                "testlen": counts.testlen,
                "guess": counts.guess,
                "correct": counts.correct,
            }
            print(shown, counts.reflen)
    print(vars(_Counts.read(rows.sum(axis=0), n)))
    print("ratio:", _ratio(*rows[:, :2].sum(axis=0).tolist()))
