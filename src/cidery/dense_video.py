"""score_dense_video(): scores of captioned events, matched by their overlap in time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import (
    DataWarning,
    InputError,
    MissingExtraError,
    SettingError,
    UnreliableWarning,
)
from cidery.files import Event, Events
from cidery.metrics import Metric, MetricsLike, get_metrics
from cidery.runtime import current_progress
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import Pipeline
from cidery.statistics import Floats
from cidery.tables import Column, Table, Tabular

TIOUS = (0.3, 0.5, 0.7, 0.9)
"""Thresholds of the ActivityNet challenge."""
NOTHING = "qzxjvkwyqzxjvkwy"
"""Reference of captions without matching event: a word that no caption has."""


@dataclass(frozen=True)
class DenseVideoTable(Tabular):
    """Scores of captioned events."""

    tious: tuple[float, ...]
    scores: Mapping[str, tuple[float, ...]]
    """Scores by metric, one for each threshold."""
    soda: Mapping[str, float]
    """SODA-c: `precision`, `recall`, `f`; empty if not computed."""
    paragraphs: Mapping[str, float]
    """Scores by metric of each video's sentences as one text."""
    videos: int

    @property
    def means(self) -> dict[str, float]:
        """Mean over thresholds by metric."""
        return {name: float(np.mean(values)) for name, values in self.scores.items()}

    def table(self) -> Table:
        """Return a row per metric, then SODA-c."""
        thresholds = {f"tiou_{tiou:g}": f"tIoU {tiou:g}" for tiou in self.tious}
        rows = [
            {
                "metric": name,
                **dict(zip(thresholds, values, strict=True)),
                "mean": self.means[name],
                "paragraphs": self.paragraphs[name],
            }
            for name, values in self.scores.items()
        ]
        rows += [{"metric": f"soda-c {name}", "mean": score} for name, score in self.soda.items()]
        columns = [
            Column("metric"),
            *(Column(title, ".4f", key=key) for key, title in thresholds.items()),
            Column("mean", ".4f"),
            Column("paragraphs", ".4f"),
        ]
        note = "mean: over the thresholds; paragraphs: the sentences of a video as one text"
        return Table(columns, rows, notes=[note])

    def to_dict(self) -> dict[str, Any]:
        """Return all, ready for JSON."""
        return {
            "videos": self.videos,
            "tious": list(self.tious),
            "scores": {name: list(values) for name, values in self.scores.items()},
            "means": self.means,
            "soda-c": dict(self.soda),
            "paragraphs": dict(self.paragraphs),
        }


def measure_tiou(one: Event, other: Event) -> float:
    """Return the temporal intersection over union of two events, in [0, 1].

    ```python
    measure_tiou(Event(0, 10, ""), Event(5, 15, ""))   # 1/3
    ```
    """
    common = max(0.0, min(one.end, other.end) - max(one.start, other.start))
    union = (one.end - one.start) + (other.end - other.start) - common
    # As in ActivityNet's evaluator; two events of length 0 have an overlap of 0.
    return common / (union + 1e-8)


def score_dense_video(
    candidates: Events,
    references: Events | Sequence[Events],
    metrics: MetricsLike = None,
    *,
    preset: str | None = None,
    tious: Sequence[float] = TIOUS,
    soda: bool | None = None,
    threads: int = 0,
) -> DenseVideoTable:
    """Score captioned events of videos by ActivityNet's protocol and SODA-c.

    For each threshold, a caption is paired with every reference event whose overlap reaches it, in
    each set of references; a caption without such an event is paired with a text that matches
    nothing. The pairs of each video are scored separately, CIDEr with their own document
    frequencies, and videos are averaged; a video without captions scores 0.

    Args:
        candidates: Video -> events, as returned by `read_events`.
        references: Video -> events, or several such sets. Videos that only candidates have are left
            out, with a warning.
        metrics: As for `score`; default: the preset `dense-video` (BLEU, METEOR, CIDEr-D).
        preset: As for `score`.
        tious: Thresholds of the overlap, in (0, 1].
        soda: Compute SODA-c, which needs METEOR's data. Default: if these are installed; otherwise
            a DataWarning is issued.
        threads: Number of threads; 0: one per core.

    ```python
    events = {"v": [Event(0, 9, "a dog runs"), Event(9, 20, "two cats sit")]}
    table = score_dense_video(events, events, ["bleu-1"], soda=False)
    round(table.means["bleu-1"], 6)   # 1.0
    ```
    """
    if metrics is None and preset is None:
        preset = "dense-video"
    chosen = Pipeline.choose(metrics, preset=preset, threads=threads).metrics
    sets = [references] if isinstance(references, Mapping) else list(references)
    for threshold in tious:
        if not 0 < threshold <= 1:
            raise SettingError(f"tious must be in (0, 1], not {threshold}")
    if not tious:
        raise SettingError("tious is empty; pass at least one threshold")
    videos = list(dict.fromkeys(video for known in sets for video in known if known[video]))
    if not videos:
        raise InputError("references: no events")
    _warn_extra_videos(candidates, videos)
    pairs = _Pairs.build(candidates, sets, videos)
    scores = {
        label: tuple(pairs.score(metric, tiou, threads) for tiou in tious)
        for label, metric in chosen.items()
    }
    soda_scores: Mapping[str, float] = {}
    if soda is not False:
        try:
            soda_scores = pairs.measure_soda(candidates, sets, threads)
        except MissingExtraError as error:
            if soda:
                raise
            warnings.warn(f"SODA-c is not computed: {error}", DataWarning, stacklevel=2)
    paragraphs = _score_paragraphs(candidates, sets, videos, chosen, threads)
    return DenseVideoTable(tuple(tious), scores, soda_scores, paragraphs, len(videos))


def _warn_extra_videos(candidates: Events, videos: Sequence[str]) -> None:
    others = len(set(candidates) - set(videos))
    if others == len(candidates):
        raise InputError("candidates and references have no video in common; check the ids")
    if others:
        warnings.warn(
            f"ignored {others} videos of the candidates that are not in the references",
            UnreliableWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of captions and reference sentences whose events overlap."""

    videos: Sequence[str]
    counts: Mapping[str, int]
    """Number of captions by video."""
    owners: Mapping[str, Sequence[int]]
    """Indices of pairs by video."""
    candidates: list[str]
    references: list[str]
    captions: list[int]
    """Index of each pair's caption in its video."""
    tious: Floats
    places: Mapping[tuple[str, int, int, int], int]
    """(video, set, caption, reference) -> pair"""

    @classmethod
    def build(cls, candidates: Events, sets: Sequence[Events], videos: Sequence[str]) -> _Pairs:
        texts: list[str] = []
        references: list[str] = []
        numbers: list[int] = []
        tious: list[float] = []
        owners: dict[str, list[int]] = {}
        places: dict[tuple[str, int, int, int], int] = {}
        for video in videos:
            owners[video] = []
            for number, event in enumerate(candidates.get(video, ())):
                pairs = [
                    (which, place, known, measure_tiou(event, known))
                    for which, events in enumerate(sets)
                    for place, known in enumerate(events.get(video, ()))
                ]
                overlapping = [(w, p, e.sentence, tiou) for w, p, e, tiou in pairs if tiou > 0]
                for which, place, sentence, tiou in [*overlapping, (-1, -1, NOTHING, 0.0)]:
                    places[video, which, number, place] = len(texts)
                    owners[video].append(len(texts))
                    texts.append(event.sentence)
                    references.append(sentence)
                    numbers.append(number)
                    tious.append(tiou)
        counts = {video: len(candidates.get(video, ())) for video in videos}
        return cls(videos, counts, owners, texts, references, numbers, np.asarray(tious), places)

    def choose(self, video: str, tiou: float) -> list[int]:
        """Return a video's pairs at a threshold, including `NOTHING` for unmatched captions."""
        mine = self.owners[video]
        matched = [pair for pair in mine if self.tious[pair] >= tiou]
        found = {self.captions[pair] for pair in matched}
        alone = range(self.counts[video])
        return matched + [self.places[video, -1, n, -1] for n in alone if n not in found]

    def score(self, metric: Metric, tiou: float, threads: int) -> float:
        """Return the mean of all videos' scores."""
        progress = current_progress()
        values = []
        rows = None if metric.needs.frequencies else self.measure(metric, threads)
        for done, video in enumerate(self.videos):
            if done % 256 == 0:
                progress(f"{metric.name} at tIoU {tiou:g}", done / len(self.videos))
            chosen = self.choose(video, tiou)
            if not chosen:
                values.append(0.0)
            elif rows is not None:
                values.append(metric.reduce(rows[chosen]))
            else:
                values.append(self._score_separately(metric, chosen))
        return float(np.mean(values))

    def _score_separately(self, metric: Metric, chosen: Sequence[int]) -> float:
        with warnings.catch_warnings():  # the protocol uses frequencies of few pairs
            warnings.simplefilter("ignore", UnreliableWarning)
            table = score(
                [self.candidates[pair] for pair in chosen],
                [[self.references[pair]] for pair in chosen],
                [metric],
                threads=1,
            )
        return table.corpus[metric.name]

    def measure(self, metric: Metric, threads: int) -> Floats:
        """Return a metric's rows of all pairs."""
        corpus = Corpus.build(self.candidates, [[text] for text in self.references])
        scorer = Pipeline.choose({"": metric}, threads=threads).prepare(corpus)
        return scorer.measure(corpus.candidates, corpus.candidate_images)[""]

    def measure_soda(
        self, candidates: Events, sets: Sequence[Events], threads: int
    ) -> dict[str, float]:
        """Return SODA-c; the mean over sets of references."""
        meteor = get_metrics(["meteor"])["meteor"]
        scores = meteor.each(self.measure(meteor, threads)) if self.candidates else np.zeros(0)
        found: list[tuple[float, float, float]] = []
        for video in self.videos:
            own = candidates.get(video, ())
            for which, events in enumerate(sets):
                known = events.get(video, ())
                if known:
                    costs = np.zeros((len(own), len(known)))
                    for i in range(len(own)):
                        for j in range(len(known)):
                            pair = self.places.get((video, which, i, j))
                            if pair is not None:
                                costs[i, j] = self.tious[pair] * scores[pair]
                    found.append(_find_f(costs, list(own), list(known)))
        precision, recall, f = np.mean(found, axis=0).tolist()
        return {"precision": precision, "recall": recall, "f": f}


def _find_f(costs: Floats, own: list[Event], known: list[Event]) -> tuple[float, float, float]:
    """Return precision, recall and F of the best matching in temporal order."""
    if not own:
        return 0.0, 0.0, 0.0
    rows = sorted(range(len(own)), key=lambda i: (own[i].start, own[i].end))
    columns = sorted(range(len(known)), key=lambda j: (known[j].start, known[j].end))
    total = match_in_order(costs[np.ix_(rows, columns)])
    precision, recall = total / len(own), total / len(known)
    f = 2 * precision * recall / (precision + recall) if total else 0.0
    return precision, recall, f


def match_in_order(values: Floats) -> float:
    """Return the highest sum of values, at most one per row and column, in increasing order.

    ```python
    match_in_order(np.array([[1.0, 5.0], [4.0, 1.0]]))   # 5.0, not 9.0, whose order is reversed
    ```
    """
    best = np.zeros(values.shape[1] + 1)
    for row in values:
        taken = np.concatenate([[0.0], best[:-1] + row])
        best = np.maximum.accumulate(np.maximum(best, taken))
    return float(best[-1])


def _score_paragraphs(
    candidates: Events,
    sets: Sequence[Events],
    videos: Sequence[str],
    metrics: Mapping[str, Metric],
    threads: int,
) -> dict[str, float]:
    """Score each video's sentences, in temporal order, as one text."""
    references = {
        video: [_join(events[video]) for events in sets if events.get(video)] for video in videos
    }
    texts = {video: _join(candidates.get(video, ())) for video in videos}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        table = score(texts, references, metrics, threads=threads)
    return dict(table.corpus)


def _join(events: Sequence[Event]) -> str:
    return " ".join(event.sentence.strip() for event in sorted(events))
