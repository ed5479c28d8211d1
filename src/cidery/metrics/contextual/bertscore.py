"""BERTScore (Zhang et al. 2020), equal to the package bert_score with the same model and layer."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cidery.encoders import Encoder, TokenStates
from cidery.errors import DataError
from cidery.metrics.base import Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.contextual.base import ByToken, CaptionCounts, rows_by_image
from cidery.metrics.contextual.word_vectors import (
    CaptionWords,
    NearestWords,
    find_beta,
    find_missing,
)
from cidery.metrics.explanations import Contributions, split_loss, split_score
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MEASURES = ("precision", "recall", "f")
"""Columns of the rows."""


@dataclass(frozen=True, kw_only=True)
class BertScore(ByToken):
    """BERTScore: similarity of each token to the nearest token of the other caption; in [-1, 1].

    Precision is the mean over the candidate's tokens, recall that over the reference's, F their
    harmonic mean: Zhang et al., ICLR 2020, equations in section 3. Of several references, the
    highest value counts, as in the package bert_score, or the mean.

    ```python
    metrics = [BertScore(), BertScore(measure="recall", idf=True)]
    cidery.score(candidates, references, metrics=metrics)
    ```
    """

    measure: Literal["f", "precision", "recall"] = "f"
    """`f` has the name `bertscore`, the others `bertscore-precision` and `bertscore-recall`."""
    over: Literal["max", "mean"] = "max"
    """Combination of the values against several references."""
    idf: bool = False
    """True: tokens are weighted by their inverse document frequency in all references."""
    baseline: str | tuple[float, float, float] | None = None
    """Precision, recall and F of unrelated captions, or a file of bert_score with them for each
    layer. Scores are rescaled so that the baseline is 0 and 1 stays 1."""

    paper: ClassVar[str] = "Zhang et al. 2020"
    explanation_unit = "word"

    @classmethod
    def variants(cls) -> tuple[BertScore, ...]:
        """Return F, precision and recall."""
        return cls(), cls(measure="precision"), cls(measure="recall")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.baseline, os.PathLike):
            object.__setattr__(self, "baseline", os.fspath(self.baseline))
        if self.baseline is not None and not isinstance(self.baseline, str):
            holds = _is_baseline(self.baseline)
            require(holds, f"baseline must be three numbers below 1, not {self.baseline}")

    @property
    def name(self) -> str:
        """`bertscore`, `bertscore-precision` or `bertscore-recall`."""
        return "bertscore" if self.measure == "f" else f"bertscore-{self.measure}"

    @property
    def range(self) -> tuple[float, float]:
        """From -1, rescaled by the baseline, to 1."""
        if isinstance(self.baseline, tuple):
            value = self.baseline[MEASURES.index(self.measure)]
            return (-1 - value) / (1 - value), 1.0
        return -1.0, 1.0

    @property
    def needs(self) -> Needs:
        """The requirements of the encoder, the file of baselines, and with `idf` all references."""
        needs = super().needs
        own = {"baseline": self.baseline} if isinstance(self.baseline, str) else {}
        return replace(needs, files={**needs.files, **own}, all_references=self.idf)

    def data_settings(self) -> dict[str, str]:
        """Return the digest of the encoder, the layer, and the baseline of a file."""
        settings = super().data_settings()
        if isinstance(self.baseline, str):
            values = read_baseline(self.baseline, self.choose_layer(self.open_encoder()))
            settings["baseline"] = ",".join(f"{value:.12g}" for value in values)
        return settings

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Encode the references."""
        # Precision, recall and F share the rows.
        return _PreparedBertScore(
            self, work.once(_prepare_rows, replace(self, measure="f"), references)
        )

    def each(self, rows: Floats) -> Floats:
        """Return the chosen measure."""
        return np.ascontiguousarray(rows[:, MEASURES.index(self.measure)])

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the mean of the chosen measure."""
        place = MEASURES.index(self.measure)
        return super().pool(sums[..., place : place + 1], count)


@dataclass(frozen=True, eq=False)
class _PreparedBertScore(Prepared):
    metric: BertScore
    rows: _Rows

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return precision, recall and F: float64[captions, 3]."""
        return work.once(_measure_rows, self.rows, candidates)

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words, by their similarity to the nearest words.

        Words share the score of a precision of 1 by their cosines, and the difference to the score
        by one minus their cosines. Of several references, the one whose score counts decides; with
        `over="mean"`, contributions are averaged.
        """
        tokens = self.metric.read_tokens(self.rows.encoder, candidates.captions, work)
        weights, reference_weights = self.rows.weigh(tokens), self.rows.weigh(self.rows.references)
        offsets = self.rows.image_offsets.tolist()
        scores = self.metric.each(self.measure(candidates, work)).tolist()
        shares = []
        for row, image in enumerate(candidates.images.tolist()):
            known = range(offsets[image], offsets[image + 1])
            candidate = _Side.read(tokens, row, weights)
            references = [_Side.read(self.rows.references, i, reference_weights) for i in known]
            shares.append(self._explain_one(scores[row], candidate, references))
        return shares

    def _explain_one(
        self, score: float, candidate: _Side, references: Sequence[_Side]
    ) -> Contributions:
        found = [_Pair.match(candidate, reference) for reference in references]
        column = MEASURES.index(self.metric.measure)
        scores = np.asarray([self.rows.rescale(pair.scores) for pair in found])
        places = list(range(len(found)))
        if self.metric.over == "max":
            places = [int(scores[:, column].argmax())]
        values = [0.0] * len(candidate.words.texts)
        missing = [[0.0] * len(reference.words.texts) for reference in references]
        for place in places:
            value = float(scores[place, column])
            gains, losses, ideal = found[place].split(
                candidate, references[place], self.metric.measure
            )
            shared = split_score(value, float(self.rows.rescale(ideal)[column]), gains, losses)
            values = [all_ + one / len(places) for all_, one in zip(values, shared, strict=True)]
            lack = found[place].lack(candidate, references[place], self.metric.measure)
            if lack is not None:
                lost, best = lack
                lacked = split_loss(value, float(self.rows.rescale(best)[column]), lost)
                missing[place] = [one / len(places) for one in lacked]
        beta = find_beta(self.rows.encoder)
        nearest = NearestWords.find(candidate.words, [references[place].words for place in places])
        parts = dict(zip(MEASURES[:2], scores[places].mean(axis=0).tolist(), strict=False))
        parts |= {"reference": places[0] + 1.0} if self.metric.over == "max" else {}
        return Contributions(
            score,
            candidate.words.spans(values, nearest.notes(beta)),
            find_missing(
                candidate.words, [reference.words for reference in references], missing, beta
            ),
            parts,
            candidate.words.is_located and any(values),
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Precision, recall and F of captions against encoded references."""

    metric: BertScore
    encoder: Encoder
    references: TokenStates
    image_offsets: NDArray[np.uint64]
    counts: CaptionCounts | None
    baseline: tuple[float, float, float]

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        tokens = self.metric.read_tokens(self.encoder, candidates.captions, work)
        weights, reference_weights = self.weigh(tokens), self.weigh(self.references)
        rows = np.zeros((len(candidates), 3))
        for image, members in rows_by_image(candidates.images):
            known = range(int(self.image_offsets[image]), int(self.image_offsets[image + 1]))
            side = _References(
                np.concatenate([self.references.directions(i) for i in known]),
                np.concatenate([reference_weights[self.references.rows(i)] for i in known]),
                np.cumsum([0, *(self.references.ends - self.references.starts)[list(known)][:-1]]),
            )
            for row in members:
                found = side.match(tokens.directions(row), weights[tokens.rows(row)])
                rows[row] = found.max(axis=0) if self.metric.over == "max" else found.mean(axis=0)
        return self.rescale(rows)

    def rescale(self, scores: Floats) -> Floats:
        """Return scores rescaled so that the baseline is 0."""
        baseline = np.asarray(self.baseline)
        rescaled: Floats = (scores - baseline) / (1 - baseline)
        return rescaled

    def weigh(self, tokens: TokenStates) -> Floats:
        """Return each token's weight; 0 for tokens that the encoder adds."""
        if self.counts is None:
            return (~tokens.special).astype(np.float64)
        share = (self.counts.captions + 1) / (self.counts.of(tokens.ids) + 1)
        return np.where(tokens.special, 0.0, np.log(share))


def _prepare_rows(work: Workspace, metric: BertScore, references: TokenizedReferences) -> _Rows:
    encoder = metric.open_encoder()
    baseline = metric.baseline
    if isinstance(baseline, str):
        baseline = read_baseline(baseline, metric.choose_layer(encoder))
    tokens = metric.read_tokens(encoder, references.captions, work)
    counts = None
    if metric.idf:
        counts = CaptionCounts.count(tokens.ids, [tokens.rows(i) for i in range(len(tokens))])
    return _Rows(
        metric, encoder, tokens, references.image_offsets, counts, baseline or (0.0, 0.0, 0.0)
    )


def _measure_rows(work: Workspace, rows: _Rows, candidates: TokenizedCandidates) -> Floats:
    return rows.measure(candidates, work)


@dataclass(frozen=True, eq=False)
class _References:
    """References of one image, with their tokens concatenated."""

    directions: Floats
    weights: Floats
    starts: NDArray[np.int64]

    def match(self, directions: Floats, weights: Floats) -> Floats:
        """Return precision, recall and F against each reference: float64[references, 3].

        Special tokens may be the nearest, although they weigh nothing themselves.
        """
        cosines = directions @ self.directions.T
        nearest = np.maximum.reduceat(cosines, self.starts, axis=1)
        totals = np.add.reduceat(self.weights, self.starts)
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = weights @ nearest / weights.sum()
            recall = np.add.reduceat(self.weights * cosines.max(axis=0), self.starts) / totals
            f = 2 * precision * recall / (precision + recall)
        # A caption without words has no score, nor F where nothing is alike: 0, as in bert_score.
        usable = (totals > 0) & (weights.sum() > 0)
        f = np.where(precision + recall == 0, 0.0, f)
        return np.where(usable[:, None], np.stack([precision, recall, f], axis=1), 0.0)


@dataclass(frozen=True, eq=False)
class _Side:
    """One caption of a comparison: words, and directions and weights of tokens."""

    words: CaptionWords
    directions: Floats
    weights: Floats

    @classmethod
    def read(cls, tokens: TokenStates, caption: int, weights: Floats) -> _Side:
        return cls(
            CaptionWords.read(tokens, caption),
            tokens.directions(caption),
            weights[tokens.rows(caption)],
        )


@dataclass(frozen=True, eq=False)
class _Pair:
    """A caption and a reference: similarity of each token to the nearest one."""

    cosines: Floats
    scores: Floats
    """Precision, recall and F."""

    @classmethod
    def match(cls, candidate: _Side, reference: _Side) -> _Pair:
        starts = np.zeros(1, np.int64)
        side = _References(reference.directions, reference.weights, starts)
        cosines: Floats = candidate.directions @ reference.directions.T
        return cls(cosines, side.match(candidate.directions, candidate.weights)[0])

    def split(
        self, candidate: _Side, reference: _Side, measure: str
    ) -> tuple[list[float], list[float], Floats]:
        """Return gains and losses of words, and the scores without losses."""
        _, recall, _ = self.scores
        if measure == "recall":  # each reference's token is found by the caption's nearest one
            gains = np.zeros(len(candidate.weights))
            worth = reference.weights * np.maximum(0.0, self.cosines.max(axis=0))
            np.add.at(gains, self.cosines.argmax(axis=0), worth)
            gains = np.where(candidate.weights > 0, gains, 0.0)
            summed = candidate.words.sum_tokens(gains.tolist())
            return summed, [0.0] * len(summed), self.scores
        nearest = self.cosines.max(axis=1)
        gains = candidate.weights * np.maximum(0.0, nearest)
        losses = candidate.weights * (1 - nearest)
        ideal = np.asarray([1.0, recall, _f(1.0, recall)])
        return (
            candidate.words.sum_tokens(gains.tolist()),
            candidate.words.sum_tokens(losses.tolist()),
            ideal,
        )

    def lack(
        self, candidate: _Side, reference: _Side, measure: str
    ) -> tuple[list[float], Floats] | None:
        """Return the losses of the reference's words, and the scores with a recall of 1."""
        if measure == "precision" or not candidate.weights.any():
            return None
        losses = reference.weights * (1 - self.cosines.max(axis=0))
        precision = float(self.scores[0])
        ideal = np.asarray([precision, 1.0, _f(precision, 1.0)])
        return reference.words.sum_tokens(losses.tolist()), ideal


def _f(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def read_baseline(path: str, layer: int | None) -> tuple[float, float, float]:
    """Return precision, recall and F of a layer from a baseline file of bert_score."""
    import csv

    with Path(path).open(newline="", encoding="utf-8") as file:
        try:
            rows = {
                int(row["LAYER"]): (float(row["P"]), float(row["R"]), float(row["F"]))
                for row in csv.DictReader(file)
            }
        except (KeyError, TypeError, ValueError, csv.Error):
            raise DataError(f"{path}: expected the columns LAYER, P, R and F") from None
    if layer not in rows:
        raise DataError(f"{path} has no baseline for layer {layer}")
    if not _is_baseline(rows[layer]):
        raise DataError(f"{path}, layer {layer}: expected numbers below 1, not {rows[layer]}")
    return rows[layer]


def _is_baseline(values: object) -> bool:
    return (
        isinstance(values, tuple)
        and len(values) == 3
        and all(isinstance(value, int | float) and -1 <= value < 1 for value in values)
    )
