"""The page that compares two submissions."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ParseError

from cidery_server.challenges.forms import ComparisonQuery
from cidery_server.challenges.models import Submission
from cidery_server.challenges.pages.challenges import get_challenge
from cidery_server.challenges.pages.submissions import submissions_seen_by
from cidery_server.challenges.ranking import contrast
from cidery_server.challenges.serializers import ComparisonData
from cidery_server.challenges.tasks import ask_to_compare, is_being_compared
from cidery_server.web.limits import CompareLimit
from cidery_server.web.pages import Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

MAX_CHOICES = 500


class CompareSubmissions(Page):
    """Compares two submissions by paired tests on the same images."""

    role = Role.ANYONE
    template_name = "challenges/compare.html"
    shows = ComparisonData
    queries = ComparisonQuery

    def show(self) -> Any:
        """Return the submissions and, for a pair, every column's difference."""
        challenge = get_challenge(self)
        account = self.request.user
        visible = (
            submissions_seen_by(account, challenge)
            .filter(scores__isnull=False)
            .distinct()
            .select_related("team", "challenge", "author")
            .defer("packed_captions", "packed_fingerprint")
        )
        if not Role.OWNER.admits(account):
            hidden = Submission.HIDDEN_PROBES
            visible = (
                visible.none() if challenge.hides_scores else visible.exclude(probe__in=hidden)
            )
        shown: dict[str, Any] = {
            "challenge": challenge,
            "choices": visible.order_by("-created")[:MAX_CHOICES],
            "first": None,
            "second": None,
            "first_runs": 1,
            "second_runs": 1,
            "is_ready": True,
            "contrasts": [],
            "decimals": challenge.precision(account).shown,
        }
        query = self.read_query()
        if not query:
            return shown
        first, second = (get_object_or_404(visible, pk=query[n]) for n in ("first", "second"))
        if first.pk == second.run_of_id or second.pk == first.run_of_id:
            raise ParseError(_("One of the two is another run of the other one."))
        contrasts = contrast(first, second)
        if contrasts is None and not is_being_compared(first, second):
            CompareLimit().check(self.request, self)
            ask_to_compare(first, second)
        return shown | {
            "first": first,
            "second": second,
            "first_runs": max((len(found.first_runs) for found in contrasts or ()), default=1),
            "second_runs": max((len(found.second_runs) for found in contrasts or ()), default=1),
            "is_ready": contrasts is not None,
            "contrasts": [
                found.rounded(challenge.precision(account, found.column.slice))
                for found in contrasts or ()
            ],
            "decimals": challenge.precision(account).shown,
        }
