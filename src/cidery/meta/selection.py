"""What is judged: pairs of one kind, a sample, fewer references."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Dataset, Pairs, Ratings, Systems
from cidery.meta.settings import Settings

MACHINES = "MM"
"""The kind of pairs in which systems are compared with each other."""


def select_judgments(dataset: Dataset, settings: Settings) -> Dataset:
    """Return the part of a data set that the settings ask for."""
    dataset = _filter_kind(dataset, settings)
    if isinstance(dataset, Pairs | Ratings) and settings.protocol not in ("references", "human"):
        dataset = _draw_references(dataset, settings)
    if settings.sample is not None and not isinstance(dataset, Systems):
        count = min(settings.sample, len(dataset))
        drawn = np.random.default_rng(settings.seed).permutation(len(dataset))[:count]
        dataset = dataset.take(np.sort(drawn))
    return dataset


def _filter_kind(dataset: Dataset, settings: Settings) -> Dataset:
    kind = settings.kind
    if not isinstance(dataset, Pairs):
        if kind is not None:
            raise SettingError(f"{dataset.name} has no kinds of pairs")
        return dataset
    if kind is None and settings.protocol == "wins" and MACHINES in dataset.kinds:
        kind = MACHINES
    if kind is None:
        return dataset
    kept = np.flatnonzero([found == kind for found in dataset.kinds])
    if len(kept) == 0:
        known = ", ".join(sorted({*dataset.kinds})) or "none"
        raise SettingError(f"{dataset.name} has no pairs of kind {kind!r}; it has: {known}")
    return dataset.take(kept)


def _draw_references(dataset: Pairs | Ratings, settings: Settings) -> Pairs | Ratings:
    count, draw = settings.references, settings.draw
    if isinstance(dataset, Pairs) and dataset.own_references:
        own = {len(group) for group in dataset.own_references}
        if draw == "own" or (draw is None and own == {count}):
            if count is not None and own != {count}:
                raise SettingError(
                    f"{dataset.name} names {own.pop()} references for each pair, not {count}"
                )
            dataset = dataset.with_own_references()
            count = None
    elif draw == "own":
        raise SettingError(
            f"{dataset.name} does not name references for each pair; draw random or first ones"
        )
    judged = dataset.judged
    if count is not None:
        judged = judged.draw(count, None if draw == "first" else settings.seed)
    if settings.concatenate:
        judged = judged.concatenate()
    return replace(dataset, judged=judged)
