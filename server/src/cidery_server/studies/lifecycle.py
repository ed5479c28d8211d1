"""Copying, editing, closing and erasing of studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from cidery.errors import SettingError
from cidery_server.studies.creation import add_slots, save_new
from cidery_server.studies.images import drop_images
from cidery_server.studies.models import Assignment, Item, Study
from cidery_server.studies.moderation import set_state
from cidery_server.studies.system_results import rank_systems
from cidery_server.web.translation import translate as _

ANY_TIME = frozenset(
    {
        *(
            "title",
            "instructions",
            "consent",
            "contact",
            "timeout_minutes",
            "items_per_judge",
            "completion_code",
        ),
        *("completion_url", "frames", "allow_skip", "ask_comment", "stop_when_decided"),
    }
)
"""Fields that change at any time: answers before and after can still be counted together."""
NEVER = frozenset({"name", "design", "images", "seed", "state"})
"""Fields that are not edited: addresses, items and files depend on them."""


def copy_study(study: Study, name: str, title: str) -> Study:
    """Create a study with the same questions and items, without answers."""
    with transaction.atomic():
        items = list(study.items.order_by("number"))
        made = Study.objects.get(pk=study.pk)
        made.pk, made.name, made.title, made.closed, made.revision = None, name, title, None, 0
        made.state, made.answers_at_last_check = Study.State.OPEN, 0
        made.consent_version, made.withdrawn = 1, 0
        made._state.adding = True
        save_new(made)
        copies = [
            Item(
                study=made,
                number=item.number,
                content=item.content,
                known_answer=item.known_answer,
                training=item.training,
                explanation=item.explanation,
            )
            # Their keys, in addresses of images, are in the random order of the first study's.
            for item in sorted(items, key=lambda item: item.pk)
        ]
        Item.objects.bulk_create(copies, batch_size=2000)
        ordered = sorted(copies, key=lambda item: item.number)
        add_slots(made, [item for item in ordered if item.known_answer is None])
    return made


def has_answers(study: Study) -> bool:
    """Return True if anyone has answered, in a pilot too."""
    return study.assignments.filter(state=Assignment.State.ANSWERED).exists()


def edit_study(study: Study, fields: Mapping[str, Any]) -> Study:
    """Change a study: after the first answer, only fields that do not affect answers."""
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        changed = {k: v for k, v in fields.items() if getattr(locked, k) != v}
        refused = sorted(set(changed) & NEVER)
        if not refused and has_answers(locked):
            refused = sorted(set(changed) - ANY_TIME)
            if refused:
                raise SettingError(
                    _(
                        "{field} cannot change after the first answer; copy the study instead"
                    ).format(field=refused[0])
                )
        if refused:
            raise SettingError(
                _("{field} cannot change; make another study").format(field=refused[0])
            )
        for name, value in changed.items():
            setattr(locked, name, value)
        if "consent" in changed:  # later judges agree to another text
            locked.consent_version += 1
        _check_known(locked)
        locked.revision += 1
        locked.save(update_fields=[*changed, "revision", "consent_version"])
        if "judges_each" in changed:
            locked.assignments.all().delete()
            items = locked.items.filter(known_answer=None).order_by("number")
            add_slots(locked, list(items))
    return locked


def stop_if_decided(study: Study) -> bool:
    """Close a study to new judges once all comparisons are decided; return True then.

    Intervals hold at all times, so that looking again and again does no harm.
    """
    answered = study.assignments.filter(state=Assignment.State.ANSWERED, pilot=False).count()
    if answered == study.answers_at_last_check:
        return False
    best = rank_systems(study).best
    decided = bool(best) and all(standings.is_decided for standings in best)
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        locked.answers_at_last_check = answered
        locked.save(update_fields=["answers_at_last_check"])
        decided &= locked.state == Study.State.OPEN and locked.stop_when_decided
        if decided:
            set_state(locked, Study.State.DECIDED)
    return decided


def _check_known(study: Study) -> None:
    """Refuse a scale that the right answers of checks and training are not on."""
    if study.design != Study.Design.RATING:
        return
    known = study.items.filter(known_answer__isnull=False).values_list("known_answer", flat=True)
    if set(known) - set(study.scale):
        raise SettingError(_("the right answers of checks or training are not on this scale"))


def erase_study(study: Study) -> None:
    """Remove a study with all its answers and uploaded images, permanently."""
    images = study.images
    with transaction.atomic():
        study.delete()
    drop_images(images)
