"""Creation of studies from a definition, or from judgments collected elsewhere."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import IntegrityError, transaction
from django.utils import timezone

from cidery.errors import FormatError, InputError, SettingError
from cidery.files import Readable
from cidery.meta import Record, join_lines, read_judgment_records, was_answered
from cidery_server.studies.definition import Definition, Lesson, StudyFields
from cidery_server.studies.items import (
    Content,
    Design,
    Sources,
    check_content,
    get_answers,
)
from cidery_server.studies.models import Assignment, Item, Judge, Study
from cidery_server.studies.queries import Answer
from cidery_server.web.translation import translate as _

BATCH = 2000


def create_study(definition: Definition) -> Study:
    """Create a study with its items, attention checks and free slots, in shuffled order."""
    with transaction.atomic():
        study = Study(**definition.fields)
        study.translate_defaults()
        study.references = definition.used_references()
        study.item_count = len(definition.items)
        study.check_count = len(definition.checks)
        study.training_count = len(definition.training)
        save_new(study)
        items = _add_items(study, definition.items, definition.checks, definition.training)
        add_slots(study, items)
    return study


def add_slots(study: Study, items: Sequence[Item]) -> None:
    """Give every item a free slot for each of its judges, in shuffled order."""
    orders = shuffle_slots(len(items), study.judges_each, study.seed)
    Assignment.objects.bulk_create(
        [
            Assignment(study=study, item=item, slot=slot, order=orders[slot][number])
            for slot in range(study.judges_each)
            for number, item in enumerate(items)
        ],
        batch_size=BATCH,
    )


def add_references(study: Study, source: Readable) -> int:
    """Add references of a study's images; return the number of images with references.

    The answers stay as they are: judges of these designs see no references.
    """
    if study.design == Study.Design.TRIPLET:
        raise SettingError(_("triplets contain their references; references cannot be added"))
    found = Sources.read({}, source).references
    contents = study.items.filter(known_answer=None).values_list("content", flat=True)
    items = list(contents)
    fields = {"design": study.design, "question": study.asked}
    used = Definition(fields, items, references=found).used_references()
    if not used:
        raise InputError(_("none of the references belongs to an image of this study"))
    with transaction.atomic():
        locked = Study.objects.select_for_update().get(pk=study.pk)
        locked.references |= used
        locked.save(update_fields=["references"])
    return len(locked.references)


def save_new(study: Study) -> None:
    """Store a new study; raise an error if the name is taken."""
    try:
        study.save()
    except IntegrityError:  # between the check of the fields and now
        raise SettingError(
            _("there is a study {name!r} already; choose another").format(name=study.name)
        ) from None


def shuffle_slots(items: int, judges: int, seed: int) -> list[list[int]]:
    """Return an order for each slot of each item: all first slots, then all second ones, ….

    Each row of slots is shuffled by itself, so that judges who see all items do not see them in
    the same order.
    """
    rng = np.random.default_rng(seed)
    return [(rng.permutation(items) + slot * items).tolist() for slot in range(judges)]


def _add_items(
    study: Study,
    contents: Sequence[Content],
    checks: Sequence[tuple[Content, float]] = (),
    training: Sequence[Lesson] = (),
) -> list[Item]:
    """Store items, attention checks and training, and return the items.

    They get their keys, which stand in the addresses of images, in random order: were the last ones
    the checks, judges could tell them.
    """
    items = [
        Item(study=study, number=number, content=content)
        for number, content in enumerate(contents, start=1)
    ]
    mixed = items + [
        Item(study=study, number=study.item_count + number, content=content, known_answer=answer)
        for number, (content, answer) in enumerate(checks, start=1)
    ]
    mixed += [
        Item(
            study=study,
            number=study.item_count + len(checks) + number,
            content=lesson.content,
            known_answer=lesson.answer,
            training=True,
            explanation=lesson.why,
        )
        for number, lesson in enumerate(training, start=1)
    ]
    secrets.SystemRandom().shuffle(mixed)
    Item.objects.bulk_create(mixed, batch_size=BATCH)
    return items


def import_study(path: str | os.PathLike[str], name: str, title: str = "") -> Study:
    """Make a closed study of a file of judgments: its lines are items, its votes answers.

    The first vote of each line is taken for one judge's, the second for another's, and so on. A
    line without votes is an unjudged item.
    """
    records = join_lines(read_judgment_records(path))
    references: dict[str, list[str]] = {}
    judged: list[Record] = []
    for record in records:
        if "references" in record:
            references.setdefault(record.text("image"), []).extend(record.texts("references"))
        else:
            judged.append(record)
    if not any(map(was_answered, judged)):
        raise FormatError(_("{path}: no judgments found").format(path=path))
    design = _guess_design(judged[0])
    questions = _find_questions(design, judged)
    answers = [_get_some(design, record, questions) for record in judged]
    fields = check_fields(name, title or name, design, max(map(len, answers)))
    fields["questions"] = [{"name": question, "text": question} for question in questions]
    contents = [check_content(design, record) for record in judged]
    with transaction.atomic():
        study = Study(**fields, references=references, item_count=len(contents))
        study.state, study.closed = Study.State.CLOSED, timezone.now()
        save_new(study)
        _add_answers(study, _add_items(study, contents), answers)
    return study


def _guess_design(record: Record) -> Design:
    if "pair" in record:
        return "triplet" if "reference" in record else "pairwise"
    if "caption" in record or "captions" in record:
        return "rating"
    record.refuse(_("expected 'pair', 'caption', 'captions' or 'references'"))


def _find_questions(design: Design, records: Sequence[Record]) -> list[str]:
    """Return the questions, if there are several."""
    given = (record.content.get(_key(design)) for record in records)
    return list(dict.fromkeys(name for one in given if isinstance(one, dict) for name in one))


def _key(design: Design) -> str:
    return "ratings" if design == "rating" else "votes"


def _get_some(design: Design, record: Record, questions: Sequence[str]) -> list[Answer]:
    """Return the answers of each judge to all questions."""
    if not was_answered(record):
        return []
    key = _key(design)
    given: Any = record.content.get(key)
    if questions and not isinstance(given, dict):
        record.refuse(_("expected {key} by question, as in other lines").format(key=key))
    parts = [
        Record({**record.content, key: given.get(question, [])}, record.place)
        for question in questions
    ]
    columns = [get_answers(design, part) for part in parts or [record]]
    if not columns[0]:
        record.refuse(_("no votes or ratings found"))
    if len(set(map(len, columns))) > 1:
        record.refuse(_("every question must have as many answers as the others"))
    return [
        Answer(row[0], dict(zip(questions, row, strict=True)) if questions else None)
        for row in zip(*columns, strict=True)
    ]


def check_fields(name: str, title: str, design: str, judges: int) -> dict[str, Any]:
    """Return the fields of a new study; raise an error if they are invalid."""
    given = {"name": name, "title": title, "design": design, "judges_each": judges}
    form = StudyFields(data=given)
    if not form.is_valid():
        field, problems = next(iter(form.errors.items()))
        raise SettingError(f"{field}: {problems[0]}")
    return dict(form.validated_data)


def _add_answers(study: Study, items: Sequence[Item], answers: Sequence[Sequence[Answer]]) -> None:
    judges = Judge.objects.bulk_create(
        [
            Judge(study=study, worker=f"imported {number}")
            for number in range(1, study.judges_each + 1)
        ]
    )
    now = timezone.now()
    Assignment.objects.bulk_create(
        [
            Assignment(
                study=study,
                item=item,
                judge=judges[slot],
                slot=slot,
                state=Assignment.State.ANSWERED,
                given=now,
                answered=now,
                value=one.value,
                ratings=one.ratings,
            )
            for item, given in zip(items, answers, strict=True)
            for slot, one in enumerate(given)
        ],
        batch_size=BATCH,
    )
