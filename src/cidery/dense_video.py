"""score_dense_video(): captions of events, which are matched by time first."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import InputError, SettingError, UnreliableWarning
from cidery.files import Event, Events
from cidery.metrics import Metric, MetricsLike, get_metrics
from cidery.runtime import current_progress
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import Pipeline
from cidery.statistics import Floats
from cidery.tables import Column, Table, Tabular

TIOUS = (0.3, 0.5, 0.7, 0.9)
"""The thresholds of the ActivityNet challenge."""
NOTHING = "qzxjvkwyqzxjvkwy"
"""The reference of an event that matches none: a word that no caption has."""


@dataclass(frozen=True)
class DenseVideoTable(Tabular):
    """Scores of captioned events."""

    tious: tuple[float, ...]
    scores: Mapping[str, tuple[float, ...]]
    """By metric, for each threshold."""
    soda: Mapping[str, float]
    """SODA-c: `precision`, `recall`, `f`; empty without METEOR's data."""
    paragraphs: Mapping[str, float]
    """By metric: each video's sentences as one text."""
    videos: int

    @property
    def means(self) -> dict[str, float]:
        """The mean over thresholds, by metric."""
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
    """Return how much two events overlap in time: intersection over union.

    ```python
    measure_tiou(Event(0, 10, ""), Event(5, 15, ""))   # 1/3
    ```
    """
    common = max(0.0, min(one.end, other.end) - max(one.start, other.start))
    union = (one.end - one.start) + (other.end - other.start) - common
    # ActivityNet's evaluator adds this, so that two moments have an overlap of 0.
    return common / (union + 1e-8)


def score_dense_video(
    candidates: Events,
    references: Events | Sequence[Events],
    metrics: MetricsLike = None,
    *,
    preset: str | None = None,
    tious: Sequence[float] = TIOUS,
    soda: bool = True,
    threads: int = 0,
) -> DenseVideoTable:
    """Score captioned events of videos as the ActivityNet challenge does, and by SODA-c.

    For each threshold, a caption is paired with every reference event that it overlaps so much, in
    each set of references; one that overlaps none is paired with a text that matches nothing. A
    metric scores the pairs of each video by themselves, CIDEr with their own document frequencies,
    and videos are averaged; a video without captions scores 0.

    Args:
        candidates: video -> events, as `read_events` reads them.
        references: video -> events, or several such sets; videos that only candidates have are
            left out, with a warning.
        metrics: as for `score`; by default the preset `dense-video`: BLEU, METEOR, CIDEr-D.
        preset: as for `score`.
        tious: the thresholds.
        soda: whether to compute SODA-c, which needs METEOR's data.
        threads: 0 means one per core.

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
            raise SettingError(f"a tIoU lies above 0 and not above 1, not {threshold}")
    if not tious:
        raise SettingError("no thresholds of tIoU were asked for")
    videos = list(dict.fromkeys(video for known in sets for video in known if known[video]))
    if not videos:
        raise InputError("references: there are no events")
    _warn_of_others(candidates, videos)
    pairs = _Pairs.build(candidates, sets, videos)
    scores = {
        label: tuple(pairs.score(metric, tiou, threads) for tiou in tious)
        for label, metric in chosen.items()
    }
    found = pairs.measure_soda(candidates, sets, threads) if soda else {}
    paragraphs = _score_paragraphs(candidates, sets, videos, chosen, threads)
    return DenseVideoTable(tuple(tious), scores, found, paragraphs, len(videos))


def _warn_of_others(candidates: Events, videos: Sequence[str]) -> None:
    others = len(set(candidates) - set(videos))
    if others == len(candidates):
        raise InputError("no video of the candidates is in the references: are the ids the same?")
    if others:
        warnings.warn(
            f"{others} videos of the candidates are not in the references and left out",
            UnreliableWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Captions and the reference sentences whose events overlap theirs at all."""

    videos: Sequence[str]
    counts: Mapping[str, int]
    """How many captions each video has."""
    owners: Mapping[str, Sequence[int]]
    """The pairs of each video."""
    said: list[str]
    told: list[str]
    captions: list[int]
    """The number of each pair's caption in its video."""
    tious: Floats
    places: Mapping[tuple[str, int, int, int], int]
    """(video, set, caption, reference) -> pair"""

    @classmethod
    def build(cls, candidates: Events, sets: Sequence[Events], videos: Sequence[str]) -> _Pairs:
        said: list[str] = []
        told: list[str] = []
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
                kept = [(w, p, known.sentence, tiou) for w, p, known, tiou in pairs if tiou > 0]
                for which, place, sentence, tiou in [*kept, (-1, -1, NOTHING, 0.0)]:
                    places[video, which, number, place] = len(said)
                    owners[video].append(len(said))
                    said.append(event.sentence)
                    told.append(sentence)
                    numbers.append(number)
                    tious.append(tiou)
        counts = {video: len(candidates.get(video, ())) for video in videos}
        return cls(videos, counts, owners, said, told, numbers, np.asarray(tious), places)

    def choose(self, video: str, tiou: float) -> list[int]:
        """Return a video's pairs at a threshold, with nothing for captions that match none."""
        mine = self.owners[video]
        matched = [pair for pair in mine if self.tious[pair] >= tiou]
        found = {self.captions[pair] for pair in matched}
        alone = range(self.counts[video])
        return matched + [self.places[video, -1, n, -1] for n in alone if n not in found]

    def score(self, metric: Metric, tiou: float, threads: int) -> float:
        """Return the mean of all videos' scores."""
        report = current_progress()
        values = []
        rows = None if metric.needs.frequencies else self.measure(metric, threads)
        for done, video in enumerate(self.videos):
            if done % 256 == 0:
                report(f"{metric.name} at tIoU {tiou:g}", done / len(self.videos))
            chosen = self.choose(video, tiou)
            if not chosen:
                values.append(0.0)
            elif rows is not None:
                values.append(metric.reduce(rows[chosen]))
            else:
                values.append(self._score_alone(metric, chosen))
        return float(np.mean(values))

    def _score_alone(self, metric: Metric, chosen: Sequence[int]) -> float:
        with warnings.catch_warnings():  # frequencies of few pairs are what the protocol has
            warnings.simplefilter("ignore", UnreliableWarning)
            table = score(
                [self.said[pair] for pair in chosen],
                [[self.told[pair]] for pair in chosen],
                [metric],
                threads=1,
            )
        return table.corpus[metric.name]

    def measure(self, metric: Metric, threads: int) -> Floats:
        """Return a metric's rows of all pairs."""
        corpus = Corpus.build(self.said, [[text] for text in self.told])
        scorer = Pipeline.choose({"": metric}, threads=threads).prepare(corpus)
        return scorer.measure(corpus.candidates, corpus.candidate_images)[""]

    def measure_soda(
        self, candidates: Events, sets: Sequence[Events], threads: int
    ) -> dict[str, float]:
        """Return SODA-c; with several sets of references, the mean of what each gives."""
        meteor = get_metrics(["meteor"])["meteor"]
        scores = meteor.each(self.measure(meteor, threads)) if self.said else np.zeros(0)
        found: list[tuple[float, float, float]] = []
        for video in self.videos:
            said = candidates.get(video, ())
            for which, events in enumerate(sets):
                told = events.get(video, ())
                if told:
                    costs = np.zeros((len(said), len(told)))
                    for i in range(len(said)):
                        for j in range(len(told)):
                            pair = self.places.get((video, which, i, j))
                            if pair is not None:
                                costs[i, j] = self.tious[pair] * scores[pair]
                    found.append(_find_f(costs, list(said), list(told)))
        precision, recall, f = np.mean(found, axis=0).tolist()
        return {"precision": precision, "recall": recall, "f": f}


def _find_f(costs: Floats, said: list[Event], told: list[Event]) -> tuple[float, float, float]:
    """Return precision, recall and F of the best match that keeps the order of events."""
    if not said:
        return 0.0, 0.0, 0.0
    rows = sorted(range(len(said)), key=lambda i: (said[i].start, said[i].end))
    columns = sorted(range(len(told)), key=lambda j: (told[j].start, told[j].end))
    total = match_in_order(costs[np.ix_(rows, columns)])
    precision, recall = total / len(said), total / len(told)
    f = 2 * precision * recall / (precision + recall) if total else 0.0
    return precision, recall, f


def match_in_order(values: Floats) -> float:
    """Return the highest sum of values, at most one from each row and column, going down and right.

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
    """Score each video's sentences, in the order of time, as one text."""
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
