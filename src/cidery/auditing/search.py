"""Search for pipelines that reproduce the claimed scores: single causes first, then pairs."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import numpy as np

from cidery.auditing.audit_data import AuditData
from cidery.auditing.causes import RANDOM_ORDER, Cause, list_relevant
from cidery.auditing.interpretations import Interpretation
from cidery.auditing.pipelines import AuditPipeline, Engine, Group, NotApplicableError
from cidery.runtime import current_progress

_ORDER = ("rouge", "bleu", "cider", "meteor")
"""Fastest metrics first: where one does not fit, the others are skipped."""
_NEAR = 0.03
"""Maximum relative distance from a claim at which similar splitters are tried too."""
_NEAR_DOCUMENT = 0.006
"""The same where all captions are tokenized as one document."""
_KEPT_GROUPS = 3
"""Number of groups of similar pipelines that a thread keeps."""
_FAR = 0.4
"""The same for splitters whose similar ones differ much."""
_VANISHED, _LEFT = 0.05, 0.3
"""Below the first share of the standard score, a score is not estimated; it is assumed to be at
most the second share."""
_SAMPLE, _SAMPLE_METEOR = 600, 300
"""Number of images of a sample."""
_BLOCK_OF_SAMPLE = 50
"""Maximum batch size that means the same in a sample."""
_LEAST_PAIRS, _MOST_PAIRS, _SAMPLED_PER_PAIR = 25, 120, 6
"""Number of pairs that are tried on all images, and for each of them on a sample; the likeliest
are tried."""
_FITS_BY_CHANCE = 0.6
"""Expected number of fits by chance at which no more pairs are tried: none would be convincing."""
_ORDERS, _DEVIATIONS, _LEAST_ROWS_IN_ORDER = 8, 3.0, 50
"""Number of random orders; number of standard deviations from their mean that fit; minimum number
of rows."""
_FEW_JOBS = 12
"""Maximum number of parts of the images that are all scored."""
CONVINCING = 0.03
"""Number of fits by chance below which an explanation is convincing."""
_PAIR = 0.1
"""Factor between the weights of a pair and of a single cause."""
_BOX = 0.03
"""Relative distance from the claims within which pipelines are counted."""
_SAME = 1e-11

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
    chance: float = 0.0
    """Expected number of fits by chance among the pipelines that are at least as likely."""

    @property
    def weight(self) -> float:
        """Rough likelihood of these causes."""
        return weigh(self.causes)


def weigh(causes: Sequence[Cause]) -> float:
    """Return how likely causes are: common ones more than rare ones, one more than two."""
    if not causes:
        return math.inf
    return float(_PAIR ** (len(causes) - 1) * math.prod(cause.common / 100 for cause in causes))


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
        self.found = SearchResult()
        self.searched_pairs = False
        self._kept = threading.local()
        self._whole: set[str] = set()
        """Causes of parts whose captions fit with the weights of all images."""
        self._recorded: set[Trial] = set()
        self._standard: Trial | None = None
        self._singles: dict[str, Trial] = {}
        self._factors: dict[str, dict[str, float]] = {}
        """Effect of each cause alone: the factor between its score and the standard one."""
        size = _SAMPLE_METEOR if self.metrics == ["meteor"] else _SAMPLE
        is_large = len(data.first_rows) >= 3 * size
        self._sample = Engine(data.sample(size)) if is_large else None
        self._sampled: dict[str, dict[str, float]] = {}
        """Scores of each cause alone in the sample; the standard ones for an empty name."""

    @cached_property
    def causes(self) -> list[Cause]:
        """Causes that can change the scores."""
        return list_relevant(self.engine.data, self.metrics)

    def run(self, *, pairs: bool | None = None) -> SearchResult:
        """Try no cause, then single causes, then pairs: each where nothing simpler is convincing.

        Args:
            pairs: True tries everything, False no pairs.
        """
        self._try_standard()
        if pairs or not self._is_convincing():
            self._try_singles()
            if pairs or (pairs is None and not self._is_convincing()):
                # A pair that is less likely than a single cause that fits explains nothing.
                least = 0.0 if pairs else max((fit.weight for fit in self.found.fits), default=0.0)
                self._try_pairs(least)
        self._estimate_chances()
        self.found.fits.sort(key=lambda fit: (-fit.weight, len(fit.causes)))
        return self.found

    def _is_convincing(self) -> bool:
        self._estimate_chances()
        return any(fit.chance < CONVINCING for fit in self.found.fits)

    # -- no cause, one cause ----------------------------------------------------------------------

    def _try_standard(self) -> None:
        job = ((), AuditPipeline())
        trials = self._run(self.engine, [job], "trying no cause", lazy=False)
        self._standard = next(iter(trials), None)
        for trial in trials:
            self._record_fits(trial, most=0)

    def _try_singles(self) -> None:
        standard = AuditPipeline()
        jobs = list(self._list_singles(standard))
        if self._sample is not None:
            jobs = self._screen_singles(self._sample, jobs)
        jobs = self._screen_parts(jobs)
        lazy = self._sample is not None
        trials = self._run(self.engine, jobs, "trying single causes", lazy=lazy)
        if self._standard is not None:
            self._record_fits(self._standard, most=1, least=1)
        for trial in trials:
            if not self._is_same(trial, self._standard):
                cause = trial.causes[0].id
                self._singles.setdefault(cause, trial)
                estimated = self._factors.get(cause, {})
                self._factors[cause] = {**estimated, **self._find_factors(trial.scores)}
                self._record_fits(trial, most=1)
            else:
                self._factors.pop(trial.causes[0].id, None)
        self._try_random_order()

    def _try_random_order(self) -> None:
        """Record a random order as the cause where the claims are near the scores of one."""
        count = len(self.engine.data.first_rows)
        if self.found.fits or self._standard is None or count < _LEAST_ROWS_IN_ORDER:
            return
        plain = self.interpretations[0]
        most = {m: base * _LEFT for m, base in self._standard.scores.items()}
        if any(plain.bounds[m][0] > most[m] for m in self.metrics if m.startswith("cider")):
            return
        standard = AuditPipeline()
        jobs: list[Job] = [
            ((RANDOM_ORDER,), replace(standard, pairing=f"random:{seed}"))
            for seed in range(_ORDERS)
        ]
        trials = self._run(self.engine, jobs, "trying random orders", lazy=False)
        if len(trials) < _ORDERS:
            return
        scores = {m: np.asarray([trial.scores[m] for trial in trials]) for m in self.metrics}
        for metric, found in scores.items():
            low, high = plain.bounds[metric]
            slack = _DEVIATIONS * float(found.std(ddof=1))
            if not low - slack <= found.mean() <= high + slack:
                return
        means = {metric: float(found.mean()) for metric, found in scores.items()}
        self.found.fits.append(Fit((RANDOM_ORDER,), plain, means))

    def _list_singles(self, standard: AuditPipeline) -> Iterator[Job]:
        for cause in self.causes:
            made = cause.apply(standard)
            if made is not None:
                yield (cause,), made

    def _find_factors(self, scores: Mapping[str, float]) -> dict[str, float]:
        if self._standard is None:
            return {}
        return {
            metric: scores[metric] / base
            for metric, base in self._standard.scores.items()
            if base > 0 and metric in scores
        }

    def _screen_singles(self, sample: Engine, jobs: list[Job]) -> list[Job]:
        """Remove causes whose effect on a sample is far from the claims."""
        sampled = [((), AuditPipeline()), *(job for job in jobs if not _is_of_part(job[1]))]
        trials = self._run(
            sample, list(map(_shrink, sampled)), "trying a sample", lazy=False, count=False
        )
        self._sampled = {t.causes[0].id if t.causes else "": t.scores for t in trials}
        base = self._sampled.get("", {})
        chosen = []
        for causes, pipeline in jobs:
            scores = self._sampled.get(causes[0].id)
            if scores is not None:
                factors = {m: scores[m] / base[m] for m in scores if base.get(m, 0.0) > 0}
                self._factors[causes[0].id] = factors
                slack = 0.35 if _is_sample_dependent(*causes) else 0.05
                slack += 0.1 * (pipeline.batch > _BLOCK_OF_SAMPLE)
                slacks = {m: slack + 0.3 * abs(_log(f)) for m, f in factors.items()}
                if not self._is_possible(factors, slacks):
                    continue
            elif not _is_of_part(pipeline):
                continue  # it cannot be applied
            chosen.append((causes, pipeline))
        return chosen

    def _screen_parts(self, jobs: list[Job]) -> list[Job]:
        """Remove parts of the images whose captions have scores far from the claims.

        CIDEr's weights are those of the part, which a few parts are scored for: their effect
        depends on the number of images.
        """
        parts = [job for job in jobs if job[1].images.is_part]
        if len(parts) < _FEW_JOBS or self._standard is None:
            return jobs
        group, standard = self.engine.open(AuditPipeline()), AuditPipeline()
        sizes = {len(self.engine.data.find_part(p.images)): p for _, p in reversed(parts)}
        steps = sorted(sizes)[:: max(1, len(sizes) // 5)]
        shifts = {}
        for metric in self.metrics:
            found = []
            for size in steps:
                alone = self.engine.run(sizes[size].only_for(metric), metric)
                found.append(alone / max(group.score_part(standard, metric, sizes[size]), 1e-9))
            shifts[metric] = found
        chosen = set()
        for causes, pipeline in parts:
            rows = self.engine.data.find_part(pipeline.images)
            factors = {}
            for metric, base in self._standard.scores.items():
                shift = float(np.interp(math.log(len(rows)), np.log(steps), shifts[metric]))
                score = group.score_part(standard, metric, pipeline)
                factors[metric] = shift * score / base if base > 0 else 1.0
                if metric.startswith("cider") and self._is_possible(
                    factors | {metric: score / base}, dict.fromkeys(factors, 0.002)
                ):
                    chosen.add(causes)
                    self._whole.add(causes[0].id)
            slacks = {m: 0.025 + 5 / len(rows) if m.startswith("cider") else 0.001 for m in factors}
            if self._is_possible(factors, slacks):
                chosen.add(causes)
            self._factors[causes[0].id] = factors
        return [job for job in jobs if not job[1].images.is_part or job[0] in chosen]

    def _is_possible(
        self,
        factors: Mapping[str, float],
        slacks: Mapping[str, float],
        interpretations: Sequence[Interpretation] | None = None,
    ) -> bool:
        """Return whether some interpretation fits standard scores times factors.

        Args:
            factors: factor of each metric.
            slacks: maximum error of the factors' logarithms.
            interpretations: interpretations to try; None: all.
        """
        if self._standard is None:
            return True
        left = list(self.interpretations if interpretations is None else interpretations)
        for metric, base in self._standard.scores.items():
            if metric not in factors or base <= 0:
                continue
            if factors[metric] < _VANISHED:
                # A factor says little of what is left of a score, but it is little.
                left = [r for r in left if r.bounds[metric][0] <= base * _LEFT]
                continue
            score, slack = base * factors[metric], math.exp(slacks[metric])
            left = [
                interpretation
                for interpretation in left
                if interpretation.bounds[metric][0] / slack <= score
                and score <= interpretation.bounds[metric][1] * slack
            ]
        return bool(left)

    # -- two causes -------------------------------------------------------------------------------

    def _try_pairs(self, least: float) -> None:
        """Try pairs of at least that weight."""
        self.searched_pairs = True
        for trial in [*self._singles.values(), *([self._standard] if self._standard else [])]:
            self._record_fits(trial, least=2, most=2)
        possible, count = self._list_pairs(least)
        most = min(_MOST_PAIRS, max(_LEAST_PAIRS, round(_FITS_BY_CHANCE / self._share)))
        chosen = self._screen_pairs(possible[: _SAMPLED_PER_PAIR * most])[:most]
        self.found.ruled_out += count - len(chosen)
        for trial in self._run(self.engine, chosen, "trying pairs of causes", lazy=True):
            parts = [self._singles.get(cause.id) for cause in trial.causes]
            if not any(self._is_same(trial, part) for part in (self._standard, *parts)):
                self._record_fits(trial, most=2)

    def _list_pairs(self, least: float) -> tuple[list[Job], int]:
        """Return pairs that may fit, the likeliest first, and the number of all."""
        plain = [
            interpretation for interpretation in self.interpretations if not interpretation.causes
        ]
        effective = [
            cause
            for cause in self.causes
            if not cause.single_only
            and any(abs(f - 1) > _SAME for f in self._factors.get(cause.id, {}).values())
        ]
        pairs: list[tuple[float, Job]] = []
        count = 0
        for one, two in combinations(effective, 2):
            if one.changes.keys() & two.changes.keys() or weigh((one, two)) < least:
                continue
            count += 1
            first, second = self._factors[one.id], self._factors[two.id]
            factors = {m: first[m] * second[m] for m in first.keys() & second.keys()}
            slacks = {
                m: _estimate_slack(one, two, first[m], second[m])
                + self._estimate_error(one, m)
                + self._estimate_error(two, m)
                for m in factors
            }
            if not self._is_possible(factors, slacks, plain):
                continue
            changed = one.apply(AuditPipeline())
            made = None if changed is None else two.apply(changed)
            if made is not None:
                pairs.append((-weigh((one, two)), ((one, two), made)))
        pairs.sort(key=lambda pair: pair[0])
        return [job for _, job in pairs], count

    def _estimate_error(self, cause: Cause, metric: str) -> float:
        """Return the error of the logarithm of a factor: 0 where all images were scored."""
        trial = self._singles.get(cause.id)
        factor = self._factors[cause.id][metric]
        if factor == 1.0 or (trial is not None and metric in trial.scores):
            return 0.0
        return 0.02 + 0.06 * abs(_log(factor))

    def _screen_pairs(self, jobs: list[Job]) -> list[Job]:
        """Remove pairs that their joint effect on a sample rules out."""
        if self._sample is None:
            return jobs
        plain = [
            interpretation for interpretation in self.interpretations if not interpretation.causes
        ]
        small = [_shrink(job) for job in jobs if not _is_of_part(job[1])]
        trials = self._run(self._sample, small, "trying a sample", lazy=False, count=False)
        pairs = {trial.causes: trial.scores for trial in trials}
        chosen = []
        for causes, pipeline in jobs:
            one, two = causes
            first, second = self._factors[one.id], self._factors[two.id]
            factors = {m: first[m] * second[m] for m in first.keys() & second.keys()}
            slack = 0.04
            if not _is_of_part(pipeline):
                if causes not in pairs:
                    continue
                together = _find_joint_effect(self._sampled, causes, pairs[causes])
                factors = {m: f * together.get(m, 1.0) for m, f in factors.items()}
                slack = 0.3 if _is_sample_dependent(*causes) else 0.03
            slacks = {m: slack + 0.06 * abs(_log(f)) for m, f in factors.items()}
            if self._is_possible(factors, slacks, plain):
                chosen.append((causes, pipeline))
        return chosen

    # -- chance -----------------------------------------------------------------------------------

    @cached_property
    def _share(self) -> float:
        """Share of the numbers near the claims that fit them."""
        widths = (_find_width(self.interpretations[0], metric) for metric in self.metrics)
        return math.prod(min(1.0, width / (2 * _BOX)) for width in widths)

    def _estimate_chances(self) -> None:
        """Estimate how many pipelines would fit any number near the claims."""
        near = [
            (len(trial.causes) + len(interpretation.causes), trial, interpretation)
            for interpretation in self.interpretations
            for trial in self.found.trials
            if trial.distance(interpretation) <= _BOX
        ]
        counted: dict[tuple[object, ...], float] = {}
        for count, trial, interpretation in near:
            if interpretation.causes and any(cause.single_only for cause in trial.causes):
                continue
            if count > 2 or not (trial.causes or interpretation.causes):
                continue
            numbers = tuple(round(score, 10) for score in trial.scores.values())
            key = (numbers, tuple(cause.id for cause in interpretation.causes))
            weight = weigh((*trial.causes, *interpretation.causes))
            counted[key] = max(weight, counted.get(key, 0.0))
        weights = list(counted.values())
        self.found.fits = [
            replace(fit, chance=self._share * sum(weight >= fit.weight for weight in weights))
            for fit in self.found.fits
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
        if not other or any(not r.causes for r in interpretations):
            return trial
        # A fit with a cause of scale or rounding does not end the search for one without.
        if near and len(scores) == len(self.metrics):
            return self._try_similar(trial)
        is_far = not lazy and not interpretations and pipeline.splitter in _DISSIMILAR
        if is_far and any(
            trial.distance(interpretation) < _FAR for interpretation in self.interpretations
        ):
            return self._try_similar(trial)
        return trial

    def _try_similar(self, trial: Trial) -> Trial:
        """Return the trial with a similar pipeline of another program, if that one fits better."""
        best, fewest = trial, self._count_interpretations(trial.scores)
        distance = min(trial.distance(interpretation) for interpretation in self.interpretations)
        for other in trial.pipeline.list_similar():
            is_close = replace(other, splitter=trial.pipeline.splitter) == trial.pipeline
            if is_close and other.splitter == "ptb-coco" and distance > _NEAR_DOCUMENT:
                continue
            if other.weights != trial.pipeline.weights and not any(
                cause.id in self._whole for cause in trial.causes
            ):
                continue
            scores: dict[str, float] = {}
            interpretations = list(self.interpretations)
            try:
                for metric in self.metrics:
                    relevant = other.only_for(metric)
                    scores[metric] = self._open_similar(relevant).score(relevant, metric)
                    interpretations = [r for r in interpretations if r.fits(metric, scores[metric])]
                    if not interpretations:
                        break
            except NotApplicableError:
                continue
            if interpretations and (count := self._count_interpretations(scores)) < fewest:
                best, fewest = Trial(trial.causes, other, scores), count
        return best

    def _open_similar(self, pipeline: AuditPipeline) -> Group:
        """Return the runner of a similar pipeline; each thread keeps the last ones."""
        kept: dict[object, Group] = self._kept.__dict__.setdefault("groups", {})
        group = kept.pop(pipeline.group, None) or self.engine.open(pipeline)
        kept[pipeline.group] = group
        if len(kept) > _KEPT_GROUPS:
            del kept[next(iter(kept))]
        return group

    def _count_interpretations(self, scores: Mapping[str, float]) -> float:
        """Return the smallest number of causes of an interpretation that fits."""
        return min(
            (
                len(interpretation.causes)
                for interpretation in self.interpretations
                if all(interpretation.fits(metric, score) for metric, score in scores.items())
            ),
            default=math.inf,
        )

    # -- evaluation ------------------------------------------------------------------------------

    def _record_fits(self, trial: Trial, *, most: int, least: int = 0) -> None:
        """Record the interpretations under which a trial reproduces the claimed scores."""
        if len(trial.scores) < len(self.metrics):
            return
        if trial not in self._recorded:
            self._recorded.add(trial)
            self.found.trials.append(trial)
        for interpretation in self.interpretations:
            count = len(trial.causes) + len(interpretation.causes)
            if not least <= count <= most:
                continue
            if interpretation.causes and any(cause.single_only for cause in trial.causes):
                continue
            if all(interpretation.fits(metric, score) for metric, score in trial.scores.items()):
                causes = (*trial.causes, *interpretation.causes)
                fit = Fit(causes, interpretation, trial.scores)
                if fit not in self.found.fits:
                    self.found.fits.append(fit)

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


def _estimate_slack(one: Cause, two: Cause, first: float, second: float) -> float:
    """Return how much the logarithm of a joint effect may differ from the sum of both.

    Measured on pairs of causes: larger effects interact more.
    """
    if 1.0 in (first, second) and one.family != "captions" and two.family != "captions":
        return 1e-9 if not _is_entangled(one, two) else 0.1
    slack = 0.05 + 1.2 * math.sqrt(abs(_log(first) * _log(second)))
    if {one.family, two.family} in ({"captions", "tokenizer"}, {"weights", "tokenizer"}):
        # A text that is added has another number of tokens; other tokens have no known weights.
        slack += 0.4
    return slack + 0.2 * _is_sample_dependent(one, two)


_ENTANGLED = ("captions", "tokenizer", "references", "ids", "images", "averaging")


def _is_entangled(one: Cause, two: Cause) -> bool:
    """Return whether a cause without effect of its own can have one beside the other."""
    return one.family in _ENTANGLED and two.family in _ENTANGLED


def _is_of_part(pipeline: AuditPipeline) -> bool:
    """Return whether a pipeline depends on the number of images, so that a sample says nothing."""
    images = pipeline.images
    return images.is_part or images.rows == "repeated-head" or pipeline.weights.startswith("count:")


def _shrink(job: Job) -> Job:
    """Return the pipeline with batches that fit into the blocks of a sample."""
    causes, pipeline = job
    return causes, replace(pipeline, batch=min(pipeline.batch, _BLOCK_OF_SAMPLE))


def _log(factor: float) -> float:
    return math.log(max(factor, 1e-6))


def _find_width(interpretation: Interpretation, metric: str) -> float:
    """Return the relative width of the interval that fits a claim."""
    low, high = interpretation.bounds[metric]
    return (high - low) / max((low + high) / 2, 1e-9)


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
