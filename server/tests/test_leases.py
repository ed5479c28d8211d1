"""A worker keeps its lease on a submission while it works, however long one step takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from server.tests.support.installations import free_port, wait_until


@pytest.fixture
def number(local_app: None) -> Iterator[int]:
    """A submission that waits, under leases of a second."""
    from django.test import override_settings

    from cidery_server.challenges.models import Challenge, pack_json
    from cidery_server.web.models import Account

    team = Account.objects.create(name="Slow", password="!")
    challenge = Challenge.objects.create(
        slug="slow", title="Slow", metrics=["rouge-l"], packed_images=pack_json([1, 2])
    )
    references = pack_json([["a cat sleeps"], ["a dog runs"]])
    challenge.reference_sets.create(name="c1", packed_references=references)
    captions = pack_json(["a cat sleeps", "a bird sings"])
    submission = challenge.submissions.create(team=team, title="try", packed_captions=captions)
    with override_settings(LEASE_SECONDS=1):
        yield submission.pk
    challenge.delete()
    team.delete()


def lease_of(number: int) -> Any:
    from cidery_server.challenges.models import Submission

    return Submission.objects.values_list("lease_until", flat=True).get(pk=number)


def test_a_step_longer_than_a_lease_is_not_taken_by_another(number: int) -> None:
    from cidery_server.challenges.models import HiddenReferences, Submission
    from cidery_server.challenges.scorer_cache import Labeled, ScorerCache
    from cidery_server.challenges.scoring import Claim, score_submission

    @dataclass
    class Slow(ScorerCache):
        """Needs until the first lease has run out."""

        def get(self, references: HiddenReferences, metrics: Labeled) -> Any:
            first = lease_of(number)
            wait_until(lambda: lease_of(number) > first, 60, what="renewing the lease")
            assert Claim.acquire(number) is None
            return super().get(references, metrics)

    score_submission(number, Slow())
    done = Submission.objects.get(pk=number)
    assert (done.state, done.attempts, done.lease_until) == ("scored", 1, None)
    assert done.scores.count() == 1


def test_a_cluster_that_is_missing_fails_the_submission(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    from django.test import override_settings

    from cidery_server.challenges.models import Submission
    from cidery_server.challenges.scorer_cache import ScorerCache
    from cidery_server.challenges.scoring import score_submission

    pytest.importorskip("ray")
    address = f"127.0.0.1:{free_port()}"
    with override_settings(ENGINE="ray", ENGINE_ADDRESS=address):
        score_submission(number, ScorerCache())
    done = Submission.objects.get(pk=number)
    assert (done.state, done.attempts, done.lease_until) == ("failed", 1, None)
    assert f"the engine ray cannot be used: no Ray cluster at '{address}'" in caplog.text


def test_a_lost_lease_is_not_renewed(number: int) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from cidery_server.challenges.models import Submission
    from cidery_server.challenges.scoring import Claim, LostClaimError

    first = Claim.acquire(number)
    assert first is not None
    past = timezone.now() - timedelta(days=1)
    Submission.objects.filter(pk=number).update(lease_until=past)
    second = Claim.acquire(number)
    assert second is not None
    Submission.objects.filter(pk=number).update(lease_until=past)
    with pytest.raises(LostClaimError), first.renewing():
        first.report(0, 1)
    assert lease_of(number) == past
    with second.renewing():
        wait_until(lambda: lease_of(number) > past, 60, what="renewing the lease")
