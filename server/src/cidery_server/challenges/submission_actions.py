"""Actions of a team on its submissions: rank, make private, join as a run, withdraw."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy

from cidery.errors import InputError
from cidery_server.challenges.models import Submission
from cidery_server.challenges.runs import RunError, check_first
from cidery_server.challenges.scoring import count_change
from cidery_server.web.models import Account
from cidery_server.web.translation import translate as _

STANDINGS = {
    "choose": gettext_lazy("This submission is ranked."),
    "best": gettext_lazy("The best of your team's submissions is ranked."),
    "hide": gettext_lazy("The submission is private and not on the leaderboard."),
    "publish": gettext_lazy("The submission is no longer private."),
    "run": gettext_lazy("The submission is another run; the leaderboard shows the mean."),
    "single": gettext_lazy("The submission is not a run of another one."),
    "withdraw": gettext_lazy("The submission is withdrawn."),
}
"""Actions -> messages after them."""


def change_standing(submission: Submission, action: str, run_of: int | None = None) -> None:
    """Apply an action to a submission.

    Whatever becomes of it, it counts towards the limits, and later ones are compared with it.

    Args:
        submission: the submission.
        action: one of `STANDINGS`.
        run_of: for `run`, the number of the submission of which it is another run.

    Raises:
        InputError: it cannot be ranked or withdrawn.
        RunError: it cannot be a run of that submission.
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
            if found.run_of_id is not None:
                raise InputError(
                    _("It is a run of submission {first}; rank that one.").format(
                        first=found.run_of_id
                    )
                )
            _forget_choice(found)
            found.is_chosen = True
        elif action == "best":
            _forget_choice(found)
            found.is_chosen = False
        elif action == "hide":
            found.is_private, found.is_chosen = True, False
        elif action == "publish":
            found.is_private = False
        elif action == "run":
            found.run_of, found.is_chosen = _find_first(found, run_of), False
        elif action == "single":
            found.run_of = None
        else:
            if found.other_runs.exists():
                raise InputError(_name_runs(found))
            found.withdrawn, found.is_chosen, found.run_of = timezone.now(), False, None
        found.save(update_fields=["is_private", "is_chosen", "withdrawn", "run_of"])
        count_change(found.challenge)


def _find_first(run: Submission, number: int | None) -> Submission:
    if number is None:
        raise RunError(_("Choose the submission of which this is another run."))
    if number == run.pk:
        raise RunError(_("A submission cannot be a run of itself."))
    if run.other_runs.exists():
        raise RunError(_name_runs(run))
    return check_first(number, run.team_id, run.challenge_id)


def _name_runs(submission: Submission) -> str:
    found = submission.other_runs.order_by("pk").values_list("pk", flat=True)
    numbers = ", ".join(map(str, found))
    return _("It has other runs, submissions {numbers}: remove these from its runs first.").format(
        numbers=numbers
    )


def _forget_choice(submission: Submission) -> None:
    mine = Submission.objects.filter(challenge=submission.challenge_id, team=submission.team_id)
    mine.filter(is_chosen=True).update(is_chosen=False)
