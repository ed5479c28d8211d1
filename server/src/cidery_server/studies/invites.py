"""Invites of judges: personal ones, and for crowdsourcing sites."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import sha256

from django.urls import reverse
from django.utils import timezone

from cidery_server.studies.models import Assignment, Invite, Judge, Study, Visit
from cidery_server.web.write_lock import writing

WORKER_PARAMETERS = ("worker", "workerId", "PROLIFIC_PID")
ASSIGNMENT_PARAMETERS = ("assignment", "assignmentId", "SESSION_ID")
"""Names of the parameter in this app, Mechanical Turk and Prolific."""
SUBMIT_PARAMETER = "turkSubmitTo"
MTURK = ("https://www.mturk.com", "https://workersandbox.mturk.com")
"""Mechanical Turk's sites: production and sandbox."""
SUBMIT_PATH = "/mturk/externalSubmit"
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""Assignment id of Mechanical Turk for previews."""
MAX_NAME_LENGTH = 190


def make_invite(study: Study, label: str, *, personal: bool) -> str:
    """Make an invite and return its key, which is not stored."""
    key = secrets.token_urlsafe(24)
    Invite.objects.create(study=study, label=label, digest=_digest(key), personal=personal)
    return key


def make_links(study: Study, whom: str, *, personal: int = 0) -> list[str]:
    """Return the paths of new invites: personal ones, or a single one for all."""
    names = [f"{whom} {number}" for number in range(1, personal + 1)] if personal > 1 else [whom]
    return [
        reverse(
            "study-join",
            kwargs={"name": study.name, "key": make_invite(study, name, personal=personal > 0)},
        )
        for name in names
    ]


def find_invite(study_name: str, key: str) -> Invite | None:
    """Return the invite of a key, if there is one in this study."""
    return (
        Invite.objects.select_related("study")
        .filter(study__name=study_name, digest=_digest(key))
        .first()
    )


def _digest(key: str) -> str:
    return sha256(key.encode(errors="replace")).hexdigest()


def read_visit(parameters: Mapping[str, str]) -> tuple[str, str]:
    """Return the worker and the assignment that a site put into the address."""
    return _first(parameters, WORKER_PARAMETERS), _first(parameters, ASSIGNMENT_PARAMETERS)


def _first(parameters: Mapping[str, str], names: tuple[str, ...]) -> str:
    found = next((parameters[name] for name in names if parameters.get(name)), "")
    # Names that are made up here hold a blank, so that no address can claim one of them.
    return "_".join(found.replace("\0", "").split())[:MAX_NAME_LENGTH]


def read_submit_to(study: Study, parameters: Mapping[str, str]) -> str:
    """Return the site whose form ends a visit in a frame: Mechanical Turk, or one that is named."""
    site = parameters.get(SUBMIT_PARAMETER, "").rstrip("/")
    known = (*MTURK, *study.frame_sites) if study.frame_sites else ()
    return site if site in known else ""


def may_join(invite: Invite, worker: str, assignment: str) -> bool:
    """Return True if a visitor may join: anyone while it is open, later those in a visit."""
    study = invite.study
    if study.is_open or study.state != Study.State.DECIDED:
        return study.is_open
    started = Visit.objects.filter(judge__study=study, judge__excluded=False, finished=None)
    if invite.personal:
        return started.filter(judge__worker=_personal_name(invite), assignment="").exists()
    return bool(worker) and started.filter(judge__worker=worker, assignment=assignment).exists()


def _personal_name(invite: Invite) -> str:
    return f"{invite.label} #{invite.pk}"


def join_study(
    invite: Invite,
    worker: str,
    assignment: str,
    before: int | None = None,
    submit_to: str = "",
) -> Judge:
    """Return the judge who joins by an invite: a new one, or the earlier one of the same person.

    A personal invite is always the same judge. By another invite a worker is known by the
    site's name for them, and without one by their browser.

    Args:
        invite: by which they come.
        worker: the site's name for them, if a site sent them.
        assignment: the site's name for this visit.
        before: the judge whom their browser remembers, who would else see items again.
        submit_to: the site that expects a form at the end.
    """
    known = invite.study.judges.filter(pk=before or 0)
    if invite.personal:
        worker = _personal_name(invite)
    elif not worker and known:
        worker = known[0].worker
    elif not worker:
        worker = f"guest {secrets.token_hex(6)}"
    # A personal link is one visit, whatever stands behind its question mark.
    assignment = "" if invite.personal else assignment
    with writing():
        judge, _ = Judge.objects.get_or_create(study=invite.study, worker=worker)
        _keep_consent(judge)
        visit, _ = judge.visits.get_or_create(
            assignment=assignment, defaults={"submit_to": submit_to}
        )
        if visit.stopped:
            visit.stopped = None
            visit.save(update_fields=["stopped"])
        if judge.visit_id != visit.pk:
            judge.visit = visit
            judge.save(update_fields=["visit"])
            # What was left unanswered is this visit's work.
            left = judge.assignments.filter(state=Assignment.State.GIVEN, item__training=False)
            left.update(visit=visit)
    return judge


def _keep_consent(judge: Judge) -> None:
    """Store the time and the version of a consent."""
    study = judge.study
    study.consent_texts.get_or_create(
        version=study.consent_version, defaults={"text": study.consent}
    )
    judge.consented, judge.consent_version = timezone.now(), study.consent_version
    judge.save(update_fields=["consented", "consent_version"])
