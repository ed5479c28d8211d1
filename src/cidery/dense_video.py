"""score_dense_video(): scores of captioned events, matched by their overlap in time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

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

SodaFaithful: TypeAlias = Literal["paper", "code"]
"""Source that SODA-c follows: the paper's equations or the authors' code."""
SodaReferences: TypeAlias = Literal["merged", "best"]
"""Sets of references in SODA-c: merged into one, or the one with the highest F for each video."""
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
    soda_signature: str | None
    """Settings that reproduce SODA-c; None if not computed."""
    detection: Mapping[str, tuple[float, ...]]
    """`precision` and `recall` of the events without their captions, one for each threshold."""
    paragraphs: Mapping[str, float]
    """Scores by metric of each video's sentences as one text."""
    videos: int

    @property
    def means(self) -> dict[str, float]:
        """Mean over thresholds by metric."""
        return {name: float(np.mean(values)) for name, values in self.scores.items()}

    def table(self) -> Table:
        """Return a row per metric, then detection and SODA-c."""
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
        rows += [
            {
                "metric": f"detection {name}",
                **dict(zip(thresholds, values, strict=True)),
                "mean": float(np.mean(values)),
            }
            for name, values in self.detection.items()
        ]
        rows += [{"metric": f"soda-c {name}", "mean": score} for name, score in self.soda.items()]
        columns = [
            Column("metric"),
            *(Column(title, ".4f", key=key) for key, title in thresholds.items()),
            Column("mean", ".4f"),
            Column("paragraphs", ".4f"),
        ]
        notes = ["mean: over the thresholds; paragraphs: the sentences of a video as one text"]
        notes += [self.soda_signature] if self.soda_signature else []
        return Table(columns, rows, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return all, ready for JSON."""
        return {
            "videos": self.videos,
            "tious": list(self.tious),
            "scores": {name: list(values) for name, values in self.scores.items()},
            "means": self.means,
            "detection": {name: list(values) for name, values in self.detection.items()},
            "soda-c": dict(self.soda),
            "soda-c signature": self.soda_signature,
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
    faithful: SodaFaithful = "paper",
    soda_references: SodaReferences = "merged",
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
        faithful: `"paper"`: SODA-c by the paper's equations; videos without captions score 0.
            `"code"`: as the authors' code, which swaps candidate and reference in METEOR, leaves
            out videos that the candidates do not have, replaces characters beyond ASCII by spaces
            and sorts events by their start only, with `soda_references="best"` only candidates.
        soda_references: Several sets of references in SODA-c: `"merged"` into one, or the set with
            the highest F for each video (`"best"`).
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
    for name, value, choices in (
        ("faithful", faithful, get_args(SodaFaithful)),
        ("soda_references", soda_references, get_args(SodaReferences)),
    ):
        if value not in choices:
            raise SettingError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
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
    _check_order(candidates, *sets)
    pairs = _Pairs.build(candidates, sets, videos)
    scores = {
        label: tuple(pairs.score(metric, tiou, threads) for tiou in tious)
        for label, metric in chosen.items()
    }
    soda_scores: Mapping[str, float] = {}
    soda_signature = None
    if soda is not False:
        try:
            soda_scores = pairs.measure_soda(candidates, sets, faithful, soda_references, threads)
            soda_signature = _sign_soda(sets, videos, faithful, soda_references)
        except MissingExtraError as error:
            if soda:
                raise
            warnings.warn(f"SODA-c is not computed: {error}", DataWarning, stacklevel=2)
    paragraphs = _score_paragraphs(candidates, sets, videos, chosen, threads)
    detection = _measure_detection(candidates, sets, videos, tious)
    return DenseVideoTable(
        tuple(tious), scores, soda_scores, soda_signature, detection, paragraphs, len(videos)
    )


def _check_order(*sets: Events) -> None:
    for events in sets:
        for video, listed in events.items():
            for number, event in enumerate(listed, 1):
                if event.start > event.end:
                    raise InputError(
                        f"video {video!r}, event {number}: start {event.start:g} is after end "
                        f"{event.end:g}; swap them"
                    )


def _measure_detection(
    candidates: Events, sets: Sequence[Events], videos: Sequence[str], tious: Sequence[float]
) -> dict[str, tuple[float, ...]]:
    """Return the precision and recall of events, each of the best set, as ActivityNet's evaluator.

    A video without candidates scores 0. An overlap must exceed the threshold.
    """
    found = np.zeros((2, len(videos), len(tious)))
    for place, video in enumerate(videos):
        own = candidates.get(video, ())
        for known in (events[video] for events in sets if events.get(video)):
            overlaps = np.array([[measure_tiou(p, q) for q in known] for p in own])
            for column, tiou in enumerate(tious if own else ()):
                hits = overlaps > tiou
                shares = hits.any(axis=1).mean(), hits.any(axis=0).mean()
                found[:, place, column] = np.maximum(found[:, place, column], shares)
    precision, recall = found.mean(axis=1).tolist()
    return {"precision": tuple(precision), "recall": tuple(recall)}


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
        return _measure(metric, self.candidates, self.references, threads)

    def measure_soda(
        self,
        candidates: Events,
        sets: Sequence[Events],
        faithful: SodaFaithful,
        mode: SodaReferences,
        threads: int,
    ) -> dict[str, float]:
        """Return the mean of all videos' SODA-c."""
        meteor = get_metrics(["meteor"])["meteor"]
        texts = self.candidates, self.references
        if faithful == "code":
            texts = _keep_ascii(self.references), _keep_ascii(self.candidates)
        scores = meteor.each(_measure(meteor, *texts, threads)) if self.candidates else np.zeros(0)
        found: list[tuple[float, float, float]] = []
        for video in self.videos:
            if faithful == "code" and video not in candidates:
                continue
            own = list(enumerate(candidates.get(video, ())))
            known = [
                [(which, place, event) for place, event in enumerate(events[video])]
                for which, events in enumerate(sets)
                if events.get(video)
            ]
            if mode == "merged":
                known = [[one for events in known for one in events]]
            if faithful == "code":
                own.sort(key=lambda one: one[1].start)
                if mode == "merged":
                    known[0].sort(key=lambda one: one[2].start)
            else:
                own.sort(key=lambda one: (one[1].start, one[1].end))
                for events in known:
                    events.sort(key=lambda one: (one[2].start, one[2].end))
            results = []
            for events in known:
                values = np.zeros((len(own), len(events)))
                for i, (number, _) in enumerate(own):
                    for j, (which, place, _) in enumerate(events):
                        pair = self.places.get((video, which, number, place))
                        if pair is not None:
                            values[i, j] = self.tious[pair] * scores[pair]
                results.append(_find_f(values))
            found.append(max(results, key=lambda result: result[2]))
        precision, recall, f = np.mean(found, axis=0).tolist()
        return {"precision": precision, "recall": recall, "f": f}


def _sign_soda(
    sets: Sequence[Events], videos: Sequence[str], faithful: SodaFaithful, mode: SodaReferences
) -> str:
    counts = [sum(bool(events.get(video)) for events in sets) for video in videos]
    pipeline = Pipeline.choose(["meteor"])
    meteor = pipeline.sign(len(videos), (min(counts), max(counts)))["meteor"]
    return f"soda-c|faithful:{faithful}|references:{mode}|metric:{meteor}"


def _measure(
    metric: Metric, candidates: Sequence[str], references: Sequence[str], threads: int
) -> Floats:
    corpus = Corpus.build(list(candidates), [[text] for text in references])
    scorer = Pipeline.choose({"": metric}, threads=threads).prepare(corpus)
    return scorer.measure(corpus.candidates, corpus.candidate_images)[""]


def _keep_ascii(texts: Sequence[str]) -> list[str]:
    return ["".join(c if c.isascii() else " " for c in text) for text in texts]


def _find_f(values: Floats) -> tuple[float, float, float]:
    """Return precision, recall and F of the best matching in the given order."""
    if not len(values):
        return 0.0, 0.0, 0.0
    total = match_in_order(values)
    precision, recall = total / values.shape[0], total / values.shape[1]
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
