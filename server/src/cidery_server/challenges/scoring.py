"""Scoring a submission exactly once, although workers die and the queue may repeat a job."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from threading import Event, Thread
from uuid import UUID, uuid4

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from cidery.engines import get_engine, use_engine
from cidery.errors import CideryError
from cidery.metrics import Metric
from cidery.scoring import ScoreTable, take_slice
from cidery.statistics import Floats, Interval
from cidery.text import find_script_problems
from cidery_server.challenges.models import (
    Challenge,
    HiddenReferences,
    ImageRows,
    Score,
    Submission,
    pack_rows,
)
from cidery_server.challenges.probes import Detector, Fingerprint
from cidery_server.challenges.scorer_cache import Labeled, ScorerCache

MAX_ATTEMPTS = 8
"""Number of dead workers after which a submission is marked as failed."""
log = logging.getLogger(__name__)


class LostClaimError(Exception):
    """Another worker has claimed the submission since."""


@dataclass(frozen=True)
class Claim:
    """A worker's claim on a submission, which it keeps by renewing its lease."""

    submission: int
    key: UUID

    @classmethod
    def acquire(cls, submission: int) -> Claim | None:
        """Claim a submission that waits, or whose lease has run out; None if it is neither."""
        claim = cls(submission, uuid4())
        now = timezone.now()
        free = Q(state=Submission.State.QUEUED) | Q(
            state=Submission.State.SCORING, lease_until__lt=now
        )
        taken = Submission.objects.filter(free, pk=submission).update(
            state=Submission.State.SCORING,
            claim=claim.key,
            lease_until=now + _lease(),
            attempts=F("attempts") + 1,
            steps_done=0,
        )
        return claim if taken else None

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Renew the lease while the block runs: one step may take longer than a lease."""
        done = Event()
        thread = Thread(target=self._renew, args=(done,), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _renew(self, done: Event) -> None:
        try:
            while not done.wait(settings.LEASE_SECONDS / 4):
                try:
                    self._write(lease_until=timezone.now() + _lease())
                except LostClaimError:
                    return  # the scoring thread notices when it reports
                except DatabaseError as error:
                    log.warning("no lease for submission %d: %s", self.submission, error)
        finally:
            connection.close()  # a thread has a connection of its own

    def report(self, done: int, steps: int) -> None:
        """Store the progress."""
        self._write(steps_done=done, steps=steps, lease_until=timezone.now() + _lease())

    def finish(self, state: Submission.State, **fields: object) -> None:
        """Store the final state."""
        now = timezone.now()
        self._write(state=state, claim=None, lease_until=None, scored=now, **fields)

    def _write(self, **fields: object) -> None:
        mine = Submission.objects.filter(
            pk=self.submission, claim=self.key, state=Submission.State.SCORING
        )
        if not mine.update(**fields):
            raise LostClaimError


def _lease() -> timedelta:
    return timedelta(seconds=settings.LEASE_SECONDS)


def score_submission(number: int, scorers: ScorerCache) -> None:
    """Score a submission, unless that is done or another worker is doing it."""
    claim = Claim.acquire(number)
    if claim is None:
        return
    with claim.renewing():
        _score(claim, scorers)


def _score(claim: Claim, scorers: ScorerCache) -> None:
    number = claim.submission
    submission = Submission.objects.select_related("challenge__phase_of", "team").get(pk=number)
    try:
        with _slow_work():
            measured = _measure(submission, claim, scorers)
        warnings = _find_problems(submission, scorers)
        fingerprint = Fingerprint.of(submission.captions, _scores_of_images(measured))
        is_new = submission.packed_fingerprint is None and not submission.team.is_owner
        detector = Detector(submission, fingerprint) if is_new else None
        if detector:
            detector.scan()  # most of the work, before others must wait
        _write_scores(submission, claim, measured, fingerprint, detector, warnings)
    except LostClaimError:
        log.info("submission %d has gone to another worker", number)
    except CideryError as error:
        # The message may quote captions, which may not be in logs.
        log.error("submission %d cannot be scored: %s", number, type(error).__name__)
        claim.finish(Submission.State.FAILED)
        count_change(submission.challenge)  # it had scores, if it was scored again


def _slow_work() -> AbstractContextManager[None]:
    """Run slow metrics on the installation's engine."""
    if settings.ENGINE == "local":
        return nullcontext()
    engine = get_engine(settings.ENGINE, address=settings.ENGINE_ADDRESS or None)
    try:
        _ = engine.workers  # connects
    except CideryError as error:
        # No caption has been read yet: the message is about the cluster.
        log.error("the engine %s cannot be used: %s", settings.ENGINE, error)
        raise
    return use_engine(engine)


@dataclass(frozen=True)
class Measured:
    """Scores of one family of metrics on one set of references."""

    reference_set: HiddenReferences
    parts: Mapping[str, tuple[ScoreTable, Mapping[str, Interval]]]
    """Scores and intervals by slice; those of all images are first, under an empty name."""


def _measure(submission: Submission, claim: Claim, scorers: ScorerCache) -> list[Measured]:
    captions = submission.captions
    images = np.arange(len(captions))
    steps = list(_steps(submission.challenge))
    slices = submission.challenge.slices
    measured = []
    for done, (reference_set, metrics) in enumerate(steps):
        claim.report(done, len(steps))
        table = scorers.get(reference_set, metrics).score(captions, images, images)
        parts = {"": table}
        for name, places in slices.members.items() if slices else ():
            parts[name] = take_slice(table, images, places)
        scored = {name: (part, part.intervals()) for name, part in parts.items()}
        measured.append(Measured(reference_set, scored))
    claim.report(len(steps), len(steps))
    return measured


def _find_problems(submission: Submission, scorers: ScorerCache) -> list[str]:
    """Return problems of the tokenizer, without the advice, which is for the owner."""
    reference_set, metrics = next(_steps(submission.challenge))
    tokenizer = scorers.get(reference_set, metrics).references.tokenizer
    found = find_script_problems({"captions": submission.captions}, tokenizer)
    return [problem.partition("; ")[0].removeprefix("captions: ") for problem in found]


def _steps(challenge: Challenge) -> Iterator[tuple[HiddenReferences, Labeled]]:
    """Yield sets of references with metrics that share their work."""
    families: dict[type[Metric], list[tuple[str, Metric]]] = defaultdict(list)
    for label, metric in challenge.labeled_metrics.items():
        families[type(metric)].append((label, metric))
    for reference_set in challenge.reference_sets.all():
        for metrics in families.values():
            yield reference_set, tuple(metrics)


def _scores_of_images(measured: list[Measured]) -> Iterator[Floats]:
    for found in measured:
        table, _ = found.parts[""]
        yield from table.each.values()


def _write_scores(
    submission: Submission,
    claim: Claim,
    measured: list[Measured],
    fingerprint: Fingerprint,
    detector: Detector | None,
    warnings: list[str],
) -> None:
    """Write all scores or none, if the claim is still valid; a constraint guarantees it.

    Scores of an earlier time are replaced. A submission that was scored before is no probe now.
    """
    with transaction.atomic():
        # Of two at once that are alike, the second must see the first, in whichever phase.
        main = Challenge.objects.select_for_update().get(pk=submission.challenge.main.pk)
        verdict = detector.judge(main) if detector else {}
        stored = {"packed_fingerprint": fingerprint.pack(), "warnings": warnings}
        claim.finish(Submission.State.SCORED, **stored, **verdict)
        submission.scores.all().delete()
        submission.rows.all().delete()
        for found in measured:
            # All labels of a step share their rows.
            shared = next(iter(found.parts[""][0].resampling.values())).rows
            rows = ImageRows.objects.create(submission=submission, packed=pack_rows(shared))
            Score.objects.bulk_create(
                Score(
                    submission=submission,
                    reference_set=found.reference_set,
                    metric=label,
                    slice=name,
                    value=table.corpus[label],
                    low=interval.low,
                    high=interval.high,
                    signature=table.signatures[label],
                    rows=rows,
                )
                for name, (table, intervals) in found.parts.items()
                for label, interval in intervals.items()
            )
        count_change(submission.challenge)


def count_change(challenge: Challenge) -> None:
    """Record that scores have changed, so that the best are compared again."""
    Challenge.objects.filter(pk=challenge.pk).update(scored_version=F("scored_version") + 1)


def fail_crashing_submissions() -> None:
    """Mark submissions as failed that have killed too many workers."""
    crashing = Submission.objects.filter(
        state=Submission.State.SCORING,
        lease_until__lt=timezone.now(),
        attempts__gte=MAX_ATTEMPTS,
    )
    challenges = list(Challenge.objects.filter(submissions__in=crashing).distinct().only("pk"))
    crashing.update(state=Submission.State.FAILED, claim=None, lease_until=None)
    for challenge in challenges:
        count_change(challenge)


def find_waiting() -> list[int]:
    """Return submissions that must be queued again, and record that they are."""
    now = timezone.now()
    forgotten = Q(state=Submission.State.QUEUED, queued__lt=now - _lease()) | Q(
        state=Submission.State.SCORING, lease_until__lt=now, queued__lt=now - _lease() / 2
    )
    found = list(
        Submission.objects.filter(forgotten).order_by("created").values_list("pk", flat=True)
    )
    return [
        number
        for number in found
        if Submission.objects.filter(forgotten, pk=number).update(queued=now)
    ]
