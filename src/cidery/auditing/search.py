"""Search for pipelines that reproduce the claimed scores: single causes first, then pairs."""

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

from cidery.auditing.audit_data import AuditData
from cidery.auditing.causes import Cause, list_relevant
from cidery.auditing.interpretations import Interpretation
from cidery.auditing.pipelines import AuditPipeline, Engine, Group, NotApplicableError
from cidery.runtime import current_progress

_ORDER = ("rouge", "bleu", "cider", "meteor")
"""Fastest metrics first: where one does not fit, the others are skipped."""
_NEAR = 0.03
"""Maximum relative distance from a claim at which similar splitters are tried too."""
_FAR = 0.4
"""The same for splitters whose similar ones differ much."""
_SLACK = 1.35
"""Maximum factor between the effect of two causes together and its estimate."""
_SLACK_FAR = 3.0
"""The same where one of them changes the score strongly."""
_SLACK_SAMPLED, _SLACK_SAMPLE_DEPENDENT = 1.04, 1.25
"""The same where both were tried on a sample: for stable scores, and for others."""
_STEADY = 0.5
"""Minimum share of the standard score for a score to be stable in a sample."""
_VANISHED, _LEFT = 0.05, 0.3
"""Below the first share of the standard score, a pair is not estimated; its score is assumed to be
at most the second share."""
_SAMPLE, _SAMPLE_METEOR = 600, 300
"""Number of images of a sample."""
_BLOCK_OF_SAMPLE = 50
"""Maximum batch size that means the same in a sample."""
_FEW_JOBS = 60
"""Maximum number of pairs that are tried without a sample."""
_SAME = 1e-11
_UNKNOWN: Mapping[str, float] = MappingProxyType({})

Job: TypeAlias = "tuple[tuple[Cause, ...], AuditPipeline]"
"""Causes, and the pipeline with these causes."""


@dataclass(frozen=True)
class Trial:
    """Pipeline that was tried, with the scores computed so far."""

    causes: tuple[Cause, ...]
    pipeline: AuditPipeline
    scores: dict[str, float] = field(hash=False)

    def distance(self, interpretation: Interpretation) -> float:
        """Return the largest relative distance from a claim; infinite where a score is missing."""
        if len(self.scores) < len(interpretation.bounds):
            return math.inf
        return max(interpretation.distance(metric, score) for metric, score in self.scores.items())


@dataclass(frozen=True)
class Fit:
    """Pipeline that reproduces the claimed scores under an interpretation of them."""

    causes: tuple[Cause, ...]
    interpretation: Interpretation
    scores: dict[str, float]

    @property
    def rank(self) -> tuple[float, ...]:
        """Sort key: few causes first, then common ones."""
        return (len(self.causes), -math.prod(cause.common / 100 for cause in self.causes))


@dataclass
class SearchResult:
    """Result of a search."""

    fits: list[Fit] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    tried: int = 0
    ruled_out: int = 0
    """Number of pairs that an estimate ruled out."""


class Search:
    """Search for pipelines that fit the interpretations of some claims."""

    def __init__(
        self,
        data: AuditData,
        metrics: Sequence[str],
        interpretations: Sequence[Interpretation],
        threads: int,
    ) -> None:
        self.engine = Engine(data)
        self.metrics = sorted(metrics, key=lambda m: _ORDER.index(m.partition("-")[0]))
        self.interpretations = interpretations
        self.threads = threads or os.cpu_count() or 1
        self.causes = list_relevant(data, metrics)
        self.found = SearchResult()
        self._standard: Trial | None = None
        self._singles: dict[str, Trial] = {}
        self.searched_pairs = False

    def run(self, *, pairs: bool | None = None) -> SearchResult:
        """Try no cause and single causes; then pairs, on request or where nothing simpler fits."""
        self._try_singles()
        if pairs or (pairs is None and not self.found.fits):
            self._try_pairs()
        self.found.fits.sort(key=lambda fit: fit.rank)
        return self.found

    # -- one cause --------------------------------------------------------------------------------

    def _try_singles(self) -> None:
        standard = AuditPipeline()
        jobs = list(self._list_singles(standard))
        trials = self._run(self.engine, [((), standard), *jobs], "trying single causes", lazy=False)
        self._standard = next((t for t in trials if not t.causes), None)
        for trial in trials:
            if trial.causes and not self._is_same(trial, self._standard):
                self._singles.setdefault(trial.causes[0].id, trial)
            if not trial.causes or not self._is_same(trial, self._standard):
                self._record_fits(trial, most=1)

    def _list_singles(self, standard: AuditPipeline) -> Iterator[Job]:
        for cause in self.causes:
            made = cause.apply(standard)
            if made is not None:
                yield (cause,), made

    # -- two causes -------------------------------------------------------------------------------

    def _try_pairs(self) -> None:
        self.searched_pairs = True
        for trial in list(self._singles.values()):
            self._record_fits(trial, least=2, most=2)
        if self._standard is not None:
            self._record_fits(self._standard, least=2, most=2)
        jobs = list(self._list_pairs())
        possible = [job for job in jobs if self._may_fit(job[0])]
        chosen = self._screen(possible)
        self.found.ruled_out += len(jobs) - len(chosen)
        for trial in self._run(self.engine, chosen, "trying pairs of causes", lazy=True):
            parts = [self._singles[cause.id] for cause in trial.causes]
            if not any(self._is_same(trial, part) for part in (self._standard, *parts)):
                self._record_fits(trial, most=2)

    def _list_pairs(self) -> Iterator[Job]:
        causes = [c for c in self.causes if not c.single_only and c.id in self._singles]
        for one, two in combinations(causes, 2):
            changed = one.apply(AuditPipeline())
            made = None if changed is None else two.apply(changed)
            if made is not None:
                yield (one, two), made

    def _may_fit(self, causes: tuple[Cause, ...], together: Mapping[str, float] = _UNKNOWN) -> bool:
        """Estimate whether two causes together can reproduce the claimed scores.

        The estimate is that both change a score by the factors by which each does alone, times
        what is known of their joint effect: `together`, by metric.
        """
        if self._standard is None:
            return True
        one, two = causes
        first, second = self._singles[one.id].scores, self._singles[two.id].scores
        interpretations = [
            interpretation for interpretation in self.interpretations if not interpretation.causes
        ]
        for metric, base in self._standard.scores.items():
            if metric not in first or metric not in second or base <= 0:
                continue
            changes = first[metric] / base, second[metric] / base
            if min(changes) < _VANISHED:
                # A factor says little of what is left of a score, but it is little.
                least = base * _LEFT
                interpretations = [r for r in interpretations if r.bounds[metric][0] <= least]
                continue
            if 1.0 in changes and not _is_entangled(one, two):
                slack = 1.0 + 1e-9
            elif metric in together:
                steady = changes[0] * changes[1] > _STEADY and not _is_sample_dependent(one, two)
                slack = _SLACK_SAMPLED if steady else _SLACK_SAMPLE_DEPENDENT
            else:
                far = min(changes) < 0.6 or max(changes) > 1.7 or two.family == "weights"
                slack = _SLACK_FAR if far else _SLACK
            estimate = base * changes[0] * changes[1] * together.get(metric, 1.0)
            interpretations = [
                interpretation
                for interpretation in interpretations
                if interpretation.bounds[metric][0] / slack <= estimate
                and estimate <= interpretation.bounds[metric][1] * slack
            ]
        return bool(interpretations)

    def _screen(self, jobs: list[Job]) -> list[Job]:
        """Remove pairs that their joint effect on a sample rules out."""
        size = _SAMPLE_METEOR if self.metrics == ["meteor"] else _SAMPLE
        if len(self.engine.data.first_rows) < 3 * size or len(jobs) < _FEW_JOBS:
            return jobs
        engine = Engine(self.engine.data.sample(size))
        large = {c.id: c.changes.get("batch", 0) > _BLOCK_OF_SAMPLE for c in self.causes}
        largest = [c for c in self.causes if 0 < c.changes.get("batch", 0) <= _BLOCK_OF_SAMPLE]

        def stand_in(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
            """Replace batches larger than a sample's blocks by batches of that size."""
            return tuple(largest[-1] if large[c.id] and largest else c for c in causes)

        used = {cause.id for causes, _ in jobs for cause in stand_in(causes)}
        singles = [((), AuditPipeline())] + [
            (trial.causes, trial.causes[0].apply(AuditPipeline()) or AuditPipeline())
            for trial in self._singles.values()
            if trial.causes[0].id in used
        ]
        sampled = self._run(engine, singles, "trying a sample", lazy=False, count=False)
        alone = {trial.causes[0].id if trial.causes else "": trial.scores for trial in sampled}
        small = [job for job in jobs if stand_in(job[0]) == job[0]]
        needed = {stand_in(causes) for causes, _ in jobs} - {causes for causes, _ in small}
        small += [job for job in self._list_pairs() if job[0] in needed]
        seen = self._run(engine, small, "trying a sample", lazy=False, count=False)
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
        groups: dict[tuple[object, ...], list[int]] = {}
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
        pipeline: AuditPipeline,
        *,
        lazy: bool,
        other: bool,
    ) -> Trial | None:
        """Score a pipeline; lazily, stop at the first metric that does not fit."""
        scores: dict[str, float] = {}
        interpretations: Iterable[Interpretation] = self.interpretations
        near = list(self.interpretations)
        try:
            for metric in self.metrics:
                score = scores[metric] = group.score(pipeline, metric)
                near = [r for r in near if r.distance(metric, score) <= _NEAR]
                interpretations = [r for r in interpretations if r.fits(metric, score)]
                if lazy and not near:
                    break
        except NotApplicableError:
            return None
        trial = Trial(causes, pipeline, scores)
        if not other:
            return trial
        if not interpretations and near and len(scores) == len(self.metrics):
            return self._try_similar(trial)
        is_far = not lazy and not interpretations and pipeline.splitter in _DISSIMILAR
        if is_far and any(
            trial.distance(interpretation) < _FAR for interpretation in self.interpretations
        ):
            return self._try_similar(trial)
        return trial

    def _try_similar(self, trial: Trial) -> Trial:
        """Return the trial with a similar pipeline of another program, if that one fits."""
        for other in trial.pipeline.list_similar():
            scores: dict[str, float] = {}
            interpretations = list(self.interpretations)
            try:
                for metric in self.metrics:
                    scores[metric] = self.engine.run(other.only_for(metric), metric)
                    interpretations = [r for r in interpretations if r.fits(metric, scores[metric])]
                    if not interpretations:
                        break
            except NotApplicableError:
                continue
            if interpretations:
                return Trial(trial.causes, other, scores)
        return trial

    # -- evaluation ------------------------------------------------------------------------------

    def _record_fits(self, trial: Trial, *, most: int, least: int = 0) -> None:
        """Record the interpretations under which a trial reproduces the claimed scores."""
        if len(trial.scores) < len(self.metrics):
            return
        if least == 0:
            self.found.trials.append(trial)
        for interpretation in self.interpretations:
            count = len(trial.causes) + len(interpretation.causes)
            if not least <= count <= most:
                continue
            if all(interpretation.fits(metric, score) for metric, score in trial.scores.items()):
                causes = (*trial.causes, *interpretation.causes)
                self.found.fits.append(Fit(causes, interpretation, trial.scores))

    def _is_same(self, trial: Trial, other: Trial | None) -> bool:
        """Return whether two pipelines give the same scores on these data."""
        if other is None or len(trial.scores) != len(other.scores):
            return False
        return all(abs(trial.scores[m] - other.scores[m]) <= _SAME for m in trial.scores)


_DISSIMILAR = ("characters", "references-spelled")
"""Splitters whose similar ones give very different tokens."""

_SAMPLE_DEPENDENT = ("swapped", "swapped-all-references", "weights-from-results")
"""Causes whose effect depends on the number of images."""


def _is_sample_dependent(*causes: Cause) -> bool:
    return any(cause.id in _SAMPLE_DEPENDENT for cause in causes)


_ENTANGLED = ("tokenizer", "references", "ids", "images", "averaging")


def _is_entangled(one: Cause, two: Cause) -> bool:
    """Return whether a cause without effect of its own can have one beside the other."""
    return one.family in _ENTANGLED and two.family in _ENTANGLED


def _find_joint_effect(
    alone: Mapping[str, Mapping[str, float]], causes: tuple[Cause, ...], scores: Mapping[str, float]
) -> dict[str, float]:
    """Return the factor between the joint effect and the product of both, by metric."""
    found = {}
    base, one, two = (alone.get(id, {}) for id in ("", *(cause.id for cause in causes)))
    for metric, score in scores.items():
        expected = one.get(metric, 0.0) * two.get(metric, 0.0)
        if expected > 0 and base.get(metric, 0.0) > 0:
            found[metric] = score * base[metric] / expected
    return found
