"""Actions of a team on its submissions: rank, make private, withdraw."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from cidery.errors import InputError
from cidery_server.challenges.models import Submission
from cidery_server.challenges.scoring import count_change
from cidery_server.web.models import Account
from cidery_server.web.translation import translate as _

STANDINGS = {
    "choose": gettext_lazy("This submission is ranked."),
    "best": gettext_lazy("The best of your team's submissions is ranked."),
    "hide": gettext_lazy("The submission is private and not on the leaderboard."),
    "publish": gettext_lazy("The submission is no longer private."),
    "withdraw": gettext_lazy("The submission is withdrawn."),
}
"""Actions -> messages after them."""


def change_standing(submission: Submission, action: str) -> None:
    """Apply an action to a submission.

    Whatever becomes of it, it counts towards the limits, and later ones are compared with it.

    Raises:
        InputError: it cannot be ranked.
    """
    with transaction.atomic():
        Account.objects.select_for_update().get(pk=submission.team_id)  # one change at a time
        found = Submission.objects.defer("packed_captions", "packed_fingerprint").get(
            pk=submission.pk
        )
        if found.withdrawn:
            raise InputError(_("The submission is withdrawn."))
        if action == "choose":
            if found.is_private or found.is_withheld:
                raise InputError(_("A submission that is private, or withheld, is not ranked."))
            _forget_choice(found)
            found.is_chosen = True
        elif action == "best":
            _forget_choice(found)
            found.is_chosen = False
        elif action == "hide":
            found.is_private, found.is_chosen = True, False
        elif action == "publish":
            found.is_private = False
        else:
            found.withdrawn, found.is_chosen = timezone.now(), False
        found.save(update_fields=["is_private", "is_chosen", "withdrawn"])
        count_change(found.challenge)


def _forget_choice(submission: Submission) -> None:
    mine = Submission.objects.filter(challenge=submission.challenge_id, team=submission.team_id)
    mine.filter(is_chosen=True).update(is_chosen=False)
