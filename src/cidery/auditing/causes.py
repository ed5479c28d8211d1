"""Causes: known deviations from the standard pipeline, listed in `causes.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cidery.auditing.audit_data import AuditData
from cidery.auditing.pipelines import (
    AuditPipeline,
    ImageSelection,
    ReferenceSelection,
    TokenEdit,
)
from cidery.errors import SettingError

BATCH_SIZES = (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000)
_COMMON_SIZES = (1, 8, 10, 16, 32, 50, 64, 100, 128, 256, 500, 1000)
_HEADS = (10, 50, 100, 200, 500, 1000, 2000, 2500, 3000, 4000)
_MOST_REFERENCES = 50


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
    """Step: tokenizer, ids, references, weights, metric, averaging, scale or rounding."""
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
_CHOICES = {"tokens": TokenEdit, "references": ReferenceSelection, "images": ImageSelection}


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
TRUNCATED, ROUNDED_BEFORE = _GROUPS["printing"]
SCALES: Mapping[Cause, float] = MappingProxyType(
    {cause: cause.factor for cause in _GROUPS["scale"] if cause.factor is not None}
)
(TIMES_100,) = (cause for cause in _GROUPS["scale"] if cause.factor is None)
_INTERPRETATIONS = (*SCALES, TIMES_100, TRUNCATED, ROUNDED_BEFORE)
_FIXED = tuple(
    cause
    for name, group in _GROUPS.items()
    if name not in ("references", "scale", "printing")
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


def _list_heads(count: int) -> list[Cause]:
    return [
        Cause(
            f"first-{size}-images",
            "images",
            f"Only the first {size} images were scored.",
            6,
            {"images": ImageSelection("head", size)},
            single_only=True,
        )
        for size in _HEADS
        if size < count
    ]


def list_causes() -> tuple[Cause, ...]:
    """Return all known causes.

    ```python
    [cause.id for cause in list_causes() if cause.family == "weights"]
    ```
    """
    numbered = (*_list_references(6), *_list_batches(10**9), *_list_heads(10**9))
    return (*_FIXED, *numbered, *_INTERPRETATIONS)


def find_cause(id: str) -> Cause:
    """Return the cause with that id."""
    every = (*_FIXED, *_INTERPRETATIONS, *_list_references(_MOST_REFERENCES + 1))
    every += (*_list_batches(10**9), *_list_heads(10**9))
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
    causes = [*_GROUPS["tokenizer"], *_GROUPS["ids"]]
    if data.has_duplicates:
        causes += _GROUPS["duplicates"]
    if len(data.missing):
        causes += _GROUPS["missing"]
    causes += _list_references(int(data.reference_counts[data.described].max()))
    causes += _list_batches(len(data.first_rows))
    causes += _list_heads(len(data.first_rows))
    if "cider" in families:
        causes += _GROUPS["weights"]
        causes += _GROUPS["whole-file"] if len(data.missing) else []
        causes += _GROUPS["cider-r"] if "cider-r" in claimed else _GROUPS["cider"]
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
