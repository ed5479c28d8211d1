"""The search: which pipelines give the claimed numbers, one cause first, then two."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import TypeAlias

from cidery.auditing.causes import Cause, list_relevant
from cidery.auditing.material import Material
from cidery.auditing.pipelines import Engine, Group, NotPossibleError, Pipeline
from cidery.auditing.readings import Reading
from cidery.runtime.progress import current_progress

_ORDER = ("rouge", "bleu", "cider", "meteor")
"""The quickest metrics first: one that does not fit makes the others needless."""
_NEAR = 0.03
"""Where a score is this near to the claimed one, words cut a little differently are tried too."""
_FAR = 0.4
"""The same for ways of cutting whose other readings differ much."""
_SLACK = 1.35
"""By which factor two causes together may differ from what each does alone, when estimated."""
_SLACK_FAR = 3.0
"""The same where one of them changes scores beyond comparison."""
_SLACK_SAMPLED, _SLACK_UNSTEADY = 1.04, 1.25
"""The same where both were tried on a sample: of scores that are steady, and of others."""
_STEADY = 0.5
"""A score that is left with this part of the right one hardly depends on the sample."""
_VANISHED, _LEFT = 0.05, 0.3
"""A score that one cause makes smaller than this part of the right one is not estimated, but is
taken to be at most that part beside another cause."""
_SAMPLE, _SAMPLE_METEOR = 600, 300
"""How many images a sample has."""
_BLOCK_OF_SAMPLE = 50
"""Larger batches than this mean something else in a sample."""
_FEW_JOBS = 60
"""So many pairs are tried at once."""
_SAME = 1e-11
_UNKNOWN: Mapping[str, float] = MappingProxyType({})

Job: TypeAlias = "tuple[tuple[Cause, ...], Pipeline]"
"""Causes, and the pipeline that has them."""


@dataclass(frozen=True)
class Trial:
    """A pipeline that was tried, and its scores as far as they were computed."""

    causes: tuple[Cause, ...]
    pipeline: Pipeline
    scores: dict[str, float] = field(hash=False)

    def distance(self, reading: Reading) -> float:
        """Return how far its worst score is from the claimed one; infinite where none is known."""
        if len(self.scores) < len(reading.bounds):
            return math.inf
        return max(reading.distance(metric, score) for metric, score in self.scores.items())


@dataclass(frozen=True)
class Fit:
    """A pipeline that gives the claimed numbers, and how these are read."""

    causes: tuple[Cause, ...]
    reading: Reading
    scores: dict[str, float]

    @property
    def rank(self) -> tuple[float, ...]:
        """Simple explanations first: few causes, then common ones."""
        return (len(self.causes), -math.prod(cause.common / 100 for cause in self.causes))


@dataclass
class Findings:
    """What the search found."""

    fits: list[Fit] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    tried: int = 0
    ruled_out: int = 0
    """Pipelines that an estimate was enough for."""


class Search:
    """Tries pipelines on one material against the readings of some claims."""

    def __init__(
        self, material: Material, metrics: Sequence[str], readings: Sequence[Reading], threads: int
    ) -> None:
        self.engine = Engine(material)
        self.metrics = sorted(metrics, key=lambda m: _ORDER.index(m.partition("-")[0]))
        self.readings = readings
        self.threads = threads or os.cpu_count() or 1
        self.causes = list_relevant(material, metrics)
        self.found = Findings()
        self._right: Trial | None = None
        self._singles: dict[str, Trial] = {}
        self.searched_pairs = False

    def run(self, *, pairs: bool | None = None) -> Findings:
        """Search: no cause, one cause; then two, if asked or if nothing simpler fits."""
        self._try_singles()
        if pairs or (pairs is None and not self.found.fits):
            self._try_pairs()
        self.found.fits.sort(key=lambda fit: fit.rank)
        return self.found

    # -- one cause --------------------------------------------------------------------------------

    def _try_singles(self) -> None:
        right = Pipeline()
        jobs = list(self._list_singles(right))
        trials = self._run(self.engine, [((), right), *jobs], "trying single causes", lazy=False)
        self._right = next((t for t in trials if not t.causes), None)
        for trial in trials:
            if trial.causes and not self._is_same(trial, self._right):
                self._singles.setdefault(trial.causes[0].id, trial)
            if not trial.causes or not self._is_same(trial, self._right):
                self._judge(trial, most=1)

    def _list_singles(self, right: Pipeline) -> Iterator[Job]:
        for cause in self.causes:
            made = cause.apply(right)
            if made is not None:
                yield (cause,), made

    # -- two causes -------------------------------------------------------------------------------

    def _try_pairs(self) -> None:
        self.searched_pairs = True
        for trial in list(self._singles.values()):
            self._judge(trial, least=2, most=2)
        if self._right is not None:
            self._judge(self._right, least=2, most=2)
        jobs = list(self._list_pairs())
        possible = [job for job in jobs if self._may_fit(job[0])]
        chosen = self._screen(possible)
        self.found.ruled_out += len(jobs) - len(chosen)
        for trial in self._run(self.engine, chosen, "trying pairs of causes", lazy=True):
            parts = [self._singles[cause.id] for cause in trial.causes]
            if not any(self._is_same(trial, part) for part in (self._right, *parts)):
                self._judge(trial, most=2)

    def _list_pairs(self) -> Iterator[Job]:
        causes = [c for c in self.causes if not c.alone and c.id in self._singles]
        for one, two in combinations(causes, 2):
            changed = one.apply(Pipeline())
            made = None if changed is None else two.apply(changed)
            if made is not None:
                yield (one, two), made

    def _may_fit(self, causes: tuple[Cause, ...], together: Mapping[str, float] = _UNKNOWN) -> bool:
        """Tell by an estimate whether two causes together may give the claimed numbers.

        The estimate is that both change a score by the factors by which each does alone, times
        what is known of their joint effect: `together`, by metric.
        """
        if self._right is None:
            return True
        one, two = causes
        first, second = self._singles[one.id].scores, self._singles[two.id].scores
        readings = [reading for reading in self.readings if not reading.causes]
        for metric, base in self._right.scores.items():
            if metric not in first or metric not in second or base <= 0:
                continue
            changes = first[metric] / base, second[metric] / base
            if min(changes) < _VANISHED:
                # A factor says little of what is left of a score, but it is little.
                least = base * _LEFT
                readings = [r for r in readings if r.bounds[metric][0] <= least]
                continue
            if 1.0 in changes and not _is_entangled(one, two):
                slack = 1.0 + 1e-9
            elif metric in together:
                steady = changes[0] * changes[1] > _STEADY and not _is_unsteady(one, two)
                slack = _SLACK_SAMPLED if steady else _SLACK_UNSTEADY
            else:
                far = min(changes) < 0.6 or max(changes) > 1.7 or two.family == "weights"
                slack = _SLACK_FAR if far else _SLACK
            estimate = base * changes[0] * changes[1] * together.get(metric, 1.0)
            readings = [
                reading
                for reading in readings
                if reading.bounds[metric][0] / slack <= estimate
                and estimate <= reading.bounds[metric][1] * slack
            ]
        return bool(readings)

    def _screen(self, jobs: list[Job]) -> list[Job]:
        """Leave out pairs whose joint effect, seen on a sample, rules them out."""
        size = _SAMPLE_METEOR if self.metrics == ["meteor"] else _SAMPLE
        if len(self.engine.material.first_rows) < 3 * size or len(jobs) < _FEW_JOBS:
            return jobs
        engine = Engine(self.engine.material.sample(size))
        large = {c.id: c.changes.get("batch", 0) > _BLOCK_OF_SAMPLE for c in self.causes}
        largest = [c for c in self.causes if 0 < c.changes.get("batch", 0) <= _BLOCK_OF_SAMPLE]

        def stand_in(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
            """Batches larger than a sample's blocks are taken for batches of that size."""
            return tuple(largest[-1] if large[c.id] and largest else c for c in causes)

        used = {cause.id for causes, _ in jobs for cause in stand_in(causes)}
        singles = [((), Pipeline())] + [
            (trial.causes, trial.causes[0].apply(Pipeline()) or Pipeline())
            for trial in self._singles.values()
            if trial.causes[0].id in used
        ]
        sampled = self._run(engine, singles, "looking at a sample", lazy=False, count=False)
        alone = {trial.causes[0].id if trial.causes else "": trial.scores for trial in sampled}
        small = [job for job in jobs if stand_in(job[0]) == job[0]]
        needed = {stand_in(causes) for causes, _ in jobs} - {causes for causes, _ in small}
        small += [job for job in self._list_pairs() if job[0] in needed]
        seen = self._run(engine, small, "looking at a sample", lazy=False, count=False)
        pairs = {trial.causes: trial.scores for trial in seen}
        return [
            job
            for job in jobs
            if (scores := pairs.get(stand_in(job[0]))) is None
            or self._may_fit(job[0], _find_joint_effect(alone, stand_in(job[0]), scores))
        ]

    # -- running ----------------------------------------------------------------------------------

    def _run(
        self, engine: Engine, jobs: Sequence[Job], what: str, *, lazy: bool, count: bool = True
    ) -> list[Trial]:
        """Run pipelines, those of a group in one thread; return them in the order given."""
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, (_, pipeline) in enumerate(jobs):
            groups.setdefault(pipeline.group, []).append(number)
        stop = threading.Event()
        done: dict[int, Trial | None] = {}
        report = current_progress()
        report(what, 0.0)

        def work(numbers: list[int]) -> None:
            group = engine.open(jobs[numbers[0]][1])
            for number in numbers:
                if stop.is_set():
                    return
                causes, pipeline = jobs[number]
                done[number] = self._try(group, causes, pipeline, lazy=lazy, other=count)

        # Large groups first, so that no thread is left with one at the end.
        ordered = sorted(groups.values(), key=len, reverse=True)
        with ThreadPoolExecutor(self.threads, thread_name_prefix="audit") as pool:
            try:
                waiting = {pool.submit(work, numbers) for numbers in ordered}
                while waiting:
                    finished, waiting = wait(waiting, 0.1, FIRST_COMPLETED)
                    for future in finished:
                        future.result()
                    report(what, len(done) / max(len(jobs), 1))
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if count:
            self.found.tried += sum(trial is not None for trial in done.values())
        return [trial for number in range(len(jobs)) if (trial := done.get(number)) is not None]

    def _try(
        self,
        group: Group,
        causes: tuple[Cause, ...],
        pipeline: Pipeline,
        *,
        lazy: bool,
        other: bool,
    ) -> Trial | None:
        """Score a pipeline; lazily, stop at the first metric that does not fit."""
        scores: dict[str, float] = {}
        readings: Iterable[Reading] = self.readings
        near = list(self.readings)
        try:
            for metric in self.metrics:
                score = scores[metric] = group.score(pipeline, metric)
                near = [r for r in near if r.distance(metric, score) <= _NEAR]
                readings = [r for r in readings if r.fits(metric, score)]
                if lazy and not near:
                    break
        except NotPossibleError:
            return None
        trial = Trial(causes, pipeline, scores)
        if not other:
            return trial
        if not readings and near and len(scores) == len(self.metrics):
            return self._try_other_way(trial)
        is_far = not lazy and not readings and pipeline.text in _OTHERS_FAR
        if is_far and any(trial.distance(reading) < _FAR for reading in self.readings):
            return self._try_other_way(trial)
        return trial

    def _try_other_way(self, trial: Trial) -> Trial:
        """Return the trial as other programs do the same, if that fits."""
        for other in trial.pipeline.list_others():
            scores: dict[str, float] = {}
            readings = list(self.readings)
            try:
                for metric in self.metrics:
                    scores[metric] = self.engine.run(other.only_for(metric), metric)
                    readings = [r for r in readings if r.fits(metric, scores[metric])]
                    if not readings:
                        break
            except NotPossibleError:
                continue
            if readings:
                return Trial(trial.causes, other, scores)
        return trial

    # -- judging ----------------------------------------------------------------------------------

    def _judge(self, trial: Trial, *, most: int, least: int = 0) -> None:
        """Note the readings by which a trial gives the claimed numbers."""
        if len(trial.scores) < len(self.metrics):
            return
        if least == 0:
            self.found.trials.append(trial)
        for reading in self.readings:
            count = len(trial.causes) + len(reading.causes)
            if not least <= count <= most:
                continue
            if all(reading.fits(metric, score) for metric, score in trial.scores.items()):
                causes = (*trial.causes, *reading.causes)
                self.found.fits.append(Fit(causes, reading, trial.scores))

    def _is_same(self, trial: Trial, other: Trial | None) -> bool:
        """Tell whether two pipelines give the same scores on this material."""
        if other is None or len(trial.scores) != len(other.scores):
            return False
        return all(abs(trial.scores[m] - other.scores[m]) <= _SAME for m in trial.scores)


_OTHERS_FAR = ("characters", "references-spelled")
"""Ways whose second reading is too different to be near."""

_UNSTEADY = ("swapped", "swapped-all-references", "weights-from-results")
"""Causes that depend on how many images there are."""


def _is_unsteady(*causes: Cause) -> bool:
    return any(cause.id in _UNSTEADY for cause in causes)


_ENTANGLED = ("tokenizer", "references", "ids", "images", "averaging")


def _is_entangled(one: Cause, two: Cause) -> bool:
    """Tell whether a cause that changes nothing alone may change something beside the other."""
    return one.family in _ENTANGLED and two.family in _ENTANGLED


def _find_joint_effect(
    alone: Mapping[str, Mapping[str, float]], causes: tuple[Cause, ...], scores: Mapping[str, float]
) -> dict[str, float]:
    """Return by which factor two causes together differ from the product of both, by metric."""
    found = {}
    base, one, two = (alone.get(id, {}) for id in ("", *(cause.id for cause in causes)))
    for metric, score in scores.items():
        expected = one.get(metric, 0.0) * two.get(metric, 0.0)
        if expected > 0 and base.get(metric, 0.0) > 0:
            found[metric] = score * base[metric] / expected
    return found
