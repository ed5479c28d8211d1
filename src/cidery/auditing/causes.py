"""Causes: known deviations from the standard pipeline, listed in `causes.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cidery.auditing.audit_data import AuditData, ImageSelection
from cidery.auditing.pipelines import (
    AuditPipeline,
    ReferenceSelection,
    TokenEdit,
)
from cidery.auditing.text_edits import CLEANABLE, TextEdit
from cidery.auditing.variants import ORDERS, SIGMAS
from cidery.errors import SettingError
from cidery.text import KINDS

BATCH_SIZES = (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000)
_COMMON_SIZES = (1, 8, 10, 16, 32, 50, 64, 100, 128, 256, 500, 1000)
_HEADS = (
    *(10, 50, 64, 100, 128, 200, 250, 256, 300, 400, 500, 512, 600, 700, 750, 800, 900, 1000, 1024),
    *(1500, 2000, 2048, 2500, 3000, 3500, 4000, 4096, 4500, 5000, 10000, 20000, 30000, 40000),
)
_REPEATED = (10, 50, 100, 200, 250, 500, 1000)
_WORD_LIMITS = range(4, 41)
_CHARACTER_LIMITS = (*range(20, 105, 5), 32, 48, 64, 77, 96, *range(110, 210, 10), 128, 250, 256)
_SHIFTS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 50, 64, 100, 500, 1000)
_STEPS = (2, 3, 4, 5, 8, 10)
_MOST_REFERENCES = 50
_MOST_ONLY = 6


@dataclass(frozen=True)
class Cause:
    """Deviation from the standard pipeline that changes scores.

    ```python
    from cidery.auditing import find_cause

    find_cause("no-tokenizer").sentence
    ```
    """

    id: str
    family: str
    """Step: captions, tokenizer, ids, images, references, weights, metric, averaging, scale or
    rounding."""
    sentence: str
    common: int
    """Rough frequency, 1 to 100; it orders equally simple explanations."""
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Fields of `AuditPipeline` that it changes."""
    options: tuple[str, ...] | None = None
    """Options of `cidery score` that do the same; None: there are none."""
    label: str | None = None
    """Metric of `cidery score` that does the same; `{}` stands for its name."""
    single_only: bool = False
    """True where the cause is too rare, or changes too little, to be combined with others."""
    factor: float | None = None
    """Factor between the claimed and the standard score, of causes of scale."""

    def apply(self, pipeline: AuditPipeline) -> AuditPipeline | None:
        """Return the pipeline with this cause; None where another has changed the same."""
        if any(getattr(pipeline, name) != getattr(_STANDARD, name) for name in self.changes):
            return None
        changed = replace(pipeline, **self.changes)
        keeps = changed.keep_case or changed.keep_punctuation
        return None if keeps and changed.splitter != "ptb" else changed


_STANDARD = AuditPipeline()
_CHOICES = {
    "texts": TextEdit,
    "tokens": TokenEdit,
    "references": ReferenceSelection,
    "images": ImageSelection,
}


def _read_causes() -> dict[str, list[Cause]]:
    """Read the causes of `causes.jsonl` by group, in its order."""
    groups: dict[str, list[Cause]] = {}
    for line in Path(__file__).with_name("causes.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        changes = {
            name: _CHOICES[name](**value) if name in _CHOICES else value
            for name, value in entry.pop("changes", {}).items()
        }
        options = tuple(entry.pop("options")) if "options" in entry else None
        group = groups.setdefault(entry.pop("group"), [])
        group.append(Cause(**entry, changes=changes, options=options))
    return groups


_GROUPS = _read_causes()
(MISSING_LEFT_OUT,) = _GROUPS["missing-left-out"]
(RANDOM_ORDER,) = _GROUPS["random-order"]
TRUNCATED, ROUNDED_BEFORE = _GROUPS["printing"]
SCALES: Mapping[Cause, float] = MappingProxyType(
    {cause: cause.factor for cause in _GROUPS["scale"] if cause.factor is not None}
)
(TIMES_100,) = (cause for cause in _GROUPS["scale"] if cause.factor is None)
_INTERPRETATIONS = (*SCALES, TIMES_100, TRUNCATED, ROUNDED_BEFORE)
_FIXED = tuple(
    cause
    for name, group in _GROUPS.items()
    if name not in ("references", "repairs", "scale", "printing")
    for cause in group
)


def _list_references(most: int) -> list[Cause]:
    """Return the causes that drop references, for up to `most` references per image."""
    causes = [
        Cause(
            f"first-{count}-references" if count > 1 else "first-reference",
            "references",
            f"Only the first {count} references of each image were used."
            if count > 1
            else "Only the first reference of each image was used.",
            {1: 44, 5: 28}.get(count, 18),
            {"references": ReferenceSelection("first", count)},
            single_only=count > 5,
        )
        for count in range(1, min(most, _MOST_REFERENCES + 1))
    ]
    causes += [
        Cause(
            f"reference-{count}-only",
            "references",
            f"Only reference number {count} of each image was used.",
            9,
            {"references": ReferenceSelection("only", count)},
        )
        for count in range(2, min(most, _MOST_ONLY) + 1)
    ]
    causes += [
        Cause(
            f"last-{count}-references",
            "references",
            f"Only the last {count} references of each image were used.",
            6,
            {"references": ReferenceSelection("last", count)},
        )
        for count in range(2, min(most, _MOST_ONLY))
    ]
    others = _GROUPS["references"]
    return causes + (others if most > 1 else others[-1:])  # the last one needs one reference


def _list_batches(count: int) -> list[Cause]:
    return [
        Cause(
            f"averaged-per-batch-of-{size}",
            "averaging",
            f"Scores were computed for {size} images at a time, with document frequencies of "
            "those, and then averaged."
            if size > 1
            else "Every image was scored separately, and the scores averaged: CIDEr's weights are "
            "all 0.",
            20 if size in _COMMON_SIZES else 8,
            {"batch": size},
            single_only=size not in _COMMON_SIZES,
        )
        for size in BATCH_SIZES
        if size < count
    ]


def _list_parts(count: int, *, has_other_order: bool = True) -> list[Cause]:
    """Return the causes that score a part of `count` images, or some images twice."""
    causes = []
    for size in _HEADS:
        if size >= count:
            continue
        common = 14 if size in _ROUND else 5
        for rows, place, where in (
            ("head", "first", "of the captions' file"),
            ("tail", "last", "of the captions' file"),
            ("references-head", "first", "of the references' file"),
            ("references-tail", "last", "of the references' file"),
        ):
            if rows.startswith("references") and not has_other_order:
                continue
            of = "-of-the-references" if rows.startswith("references") else ""
            causes.append(
                Cause(
                    f"{place}-{size}-images{of}",
                    "images",
                    f"Only the {place} {size} images {where} were scored.",
                    common - 3 * bool(of) - 2 * (place == "last"),
                    {"images": ImageSelection(rows, size)},  # type: ignore[arg-type]
                    single_only=size not in _ROUND or bool(of),
                )
            )
    for step in _STEPS:
        for start in range(min(step, 2)):
            causes.append(
                Cause(
                    f"one-image-of-{step}-from-{start + 1}",
                    "images",
                    f"Only one image of {step} was scored, from number {start + 1} on.",
                    4 if step == 2 else 3,
                    {"images": ImageSelection("every", step, start)},
                    single_only=True,
                )
            )
    for size in _REPEATED:
        if size < count:
            causes.append(
                Cause(
                    f"first-{size}-images-counted-twice",
                    "images",
                    f"The first {size} images were counted twice.",
                    4,
                    {"images": ImageSelection("repeated-head", size)},
                    single_only=True,
                )
            )
    return causes


def _list_limits(texts: Sequence[str]) -> list[Cause]:
    """Return the causes that cut captions off, where some of `texts` are longer."""
    most_words = max((len(text.split()) for text in texts), default=0)
    most_characters = max(map(len, texts), default=0)
    causes = [
        Cause(
            f"cut-at-{count}-words",
            "captions",
            f"Captions were cut off after {count} words.",
            24 if count in _COMMON_LIMITS else 12,
            {"texts": TextEdit("first-words", count)},
        )
        for count in _WORD_LIMITS
        if count < most_words
    ]
    return causes + [
        Cause(
            f"cut-at-{count}-characters",
            "captions",
            f"Captions were cut off after {count} characters.",
            10 if count in _COMMON_LIMITS else 6,
            {"texts": TextEdit("first-characters", count)},
            single_only=count not in _COMMON_LIMITS,
        )
        for count in sorted(_CHARACTER_LIMITS)
        if count < most_characters
    ]


_COMMON_LIMITS = (8, 10, 12, 15, 16, 18, 20, 24, 25, 30, 32, 40, 50, 60, 64, 80, 100, 128, 200, 256)
_ROUND = (100, 200, 500, 1000, 2000, 2500, 3000, 4000, 5000, 10000)


def _list_repairs(texts: Sequence[str]) -> list[Cause]:
    """Return the causes that repair `texts`, where this changes some of them."""
    causes = [
        Cause(
            f"{kind}-removed",
            "captions",
            f"The claim was computed without {KINDS[kind].description} that the captions have.",
            70,
            {"texts": TextEdit(kind)},
        )
        for kind in CLEANABLE
    ]
    causes += _GROUPS["repairs"]
    if not texts:
        return causes
    original = list(texts)
    return [cause for cause in causes if cause.changes["texts"].apply(original) != original]


def _is_effective(cause: Cause, texts: Sequence[str], references: Sequence[str]) -> bool:
    """Return whether a cause changes the texts of either side."""
    edit: TextEdit = cause.changes["texts"]
    if edit.name in ("append", "prepend"):
        return True
    sides = (texts if edit.is_of_candidates else [], references if edit.is_of_references else [])
    return any(edit.apply(side) != list(side) for side in sides)


def _list_shifts(count: int) -> list[Cause]:
    return [
        Cause(
            f"ids-shifted-{direction}-by-{size}",
            "ids",
            f"Ids are shifted by {size} lines: captions were compared with images of {where}.",
            7,
            {"pairing": f"shifted:{sign * size}"},
            single_only=True,
        )
        for size in _SHIFTS
        if size < count
        for direction, sign, where in (
            ("down", 1, "later lines"),
            ("up", -1, "earlier lines"),
        )
    ]


def _list_cider_settings() -> list[Cause]:
    causes = [
        Cause(
            f"cider-sigma-{sigma}",
            "metric",
            f"CIDEr-D's penalty for length has σ = {sigma}, not 6.",
            9,
            {"cider": f"sigma-{sigma}"},
            (),
            f"cider-d:sigma={sigma}",
        )
        for sigma in SIGMAS
    ]
    for n in ORDERS:
        for variant, noun, label in (
            ("d", "CIDEr-D", "cider-d"),
            ("plain", "Plain CIDEr", "cider:faithful=coco"),
        ):
            causes.append(
                Cause(
                    f"{label.partition(':')[0]}-of-{n}-grams",
                    "metric",
                    f"{noun} with n-grams of 1 to {n} words, not of 1 to 4."
                    if n > 1
                    else f"{noun} of single words, not of n-grams of 1 to 4 words.",
                    6,
                    {"cider": f"{variant}-order-{n}"},
                    (),
                    f"{label}{',' if ':' in label else ':'}n={n}",
                    single_only=variant == "plain",
                )
            )
    return causes


def _list_frequencies(names: Iterable[str]) -> list[Cause]:
    """Return the causes of weights counted on given document frequencies."""
    return [
        Cause(
            f"weights-from-{name}",
            "weights",
            f"Weights were counted on {name}, not on the references.",
            60,
            {"weights": name},
            ("--frequencies", name),
        )
        for name in names
    ]


def _list_image_counts(count: int) -> list[Cause]:
    return [
        Cause(
            f"weights-for-{size}-images",
            "weights",
            f"Weights were counted on the references, but for {size:,} images.",
            5,
            {"weights": f"count:{size}"},
            single_only=True,
        )
        for size in _IMAGE_COUNTS
        if size != count
    ]


_IMAGE_COUNTS = (1000, 5000, 40504, 82783, 113287, 123287)


def list_causes() -> tuple[Cause, ...]:
    """Return all known causes.

    ```python
    [cause.id for cause in list_causes() if cause.family == "weights"]
    ```
    """
    return (*_FIXED, *_list_numbered(5), *_INTERPRETATIONS)


def _list_numbered(references: int) -> tuple[Cause, ...]:
    """Return all causes that have a number, for up to `references` per image."""
    many = 10**9
    return (
        *_list_references(references),
        *_list_batches(many),
        *_list_parts(many),
        *_list_limits(["a " * 1000]),
        *_list_repairs(()),
        *_list_shifts(many),
        *_list_cider_settings(),
        *_list_image_counts(0),
    )


def find_cause(id: str, frequencies: Iterable[str] = ()) -> Cause:
    """Return the cause with that id; `frequencies` names further document frequencies."""
    every = (*_FIXED, *_INTERPRETATIONS, *_list_numbered(_MOST_REFERENCES + 1))
    every += tuple(_list_frequencies(frequencies))
    for cause in every:
        if cause.id == id:
            return cause
    from difflib import get_close_matches

    similar = get_close_matches(id, [cause.id for cause in every], n=1)
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    raise SettingError(f"unknown cause {id!r}{hint} (see cidery audit --list-causes)")


def list_relevant(data: AuditData, metrics: Iterable[str]) -> list[Cause]:
    """Return the causes that can change these metrics' scores on these data."""
    claimed = set(metrics)
    families = {metric.partition("-")[0] for metric in claimed}
    texts = [data.rows[row] for row in data.first_rows.tolist()]
    causes = [*_GROUPS["tokenizer"], *_GROUPS["ids"]]
    causes += [
        cause for cause in _GROUPS["captions"] if _is_effective(cause, texts, data.references)
    ]
    causes += _list_repairs(texts)
    causes += _list_limits(texts)
    causes += _list_shifts(len(data.first_rows))
    if data.has_duplicates:
        causes += _GROUPS["duplicates"]
    if len(data.missing):
        causes += _GROUPS["missing"]
    causes += _list_references(int(data.reference_counts[data.described].max()))
    causes += _list_batches(len(data.first_rows))
    causes += _list_parts(len(data.first_rows), has_other_order=not data.has_order_of_references)
    if "cider" in families:
        causes += _GROUPS["weights"]
        causes += _GROUPS["whole-file"] if len(data.missing) else []
        causes += _list_frequencies(data.frequencies)
        causes += _list_image_counts(len(data.described))
        causes += _GROUPS["cider-r"] if "cider-r" in claimed else _GROUPS["cider"]
        if "cider-r" not in claimed:
            causes += _list_cider_settings()
    if "bleu" in families:
        orders = [metric for metric in claimed if metric.startswith("bleu")]
        # With several claimed orders, none can be another under a wrong name.
        known = {f"{metric}-reported" for metric in orders}
        single = len(orders) == 1
        causes += [
            c
            for c in _GROUPS["bleu"]
            if not c.id.endswith("-reported") or (single and c.id not in known)
        ]
    if "rouge" in families:
        causes += _GROUPS["rouge"]
    if "meteor" in families:
        causes += _GROUPS["meteor"]
    if families & {"cider", "rouge"}:
        causes += _GROUPS["rounding"]
    return causes
