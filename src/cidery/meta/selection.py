"""Selection of judgments: kinds of pairs, systems, samples, references."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from cidery.errors import DataWarning, InputError, SettingError
from cidery.meta.judgments import Dataset, Pairs, Ratings, Systems
from cidery.meta.settings import Settings

MACHINES = "MM"
"""Kind of pairs of two systems."""


def select_judgments(dataset: Dataset, settings: Settings) -> Dataset:
    """Return the selected, judged part of a data set."""
    dataset = _drop_unjudged(select_items(dataset, settings))
    if settings.mean_ratings:
        if not isinstance(dataset, Ratings):
            raise SettingError(f"{dataset.name} has no ratings of captions")
        dataset = dataset.average()
    if settings.sample is not None and not isinstance(dataset, Systems):
        count = min(settings.sample, len(dataset))
        drawn = np.random.default_rng(settings.seed).permutation(len(dataset))[:count]
        dataset = dataset.take(np.sort(drawn))
    return dataset


def select_items(dataset: Dataset, settings: Settings) -> Dataset:
    """Return the selected part of a data set, judged or not, with drawn references."""
    if settings.question is not None:
        if isinstance(dataset, Systems):
            raise SettingError(f"{dataset.name} has no judgments of captions by question")
        dataset = dataset.ask(settings.question)
    dataset = _filter_systems(_filter_kind(dataset, settings), settings)
    if isinstance(dataset, Pairs | Ratings) and settings.protocol not in ("references", "human"):
        dataset = _draw_references(dataset, settings)
    return dataset


def _drop_unjudged(dataset: Dataset) -> Dataset:
    if not isinstance(dataset, Pairs | Ratings):
        return dataset
    judged = np.flatnonzero(dataset.was_judged)
    missing = len(dataset.was_judged) - len(judged)
    if not missing:
        return dataset
    what, key = ("pairs", "votes") if isinstance(dataset, Pairs) else ("captions", "ratings")
    if not len(judged):
        raise InputError(f"{dataset.name}: none of the {missing} {what} has {key}")
    message = f"{missing} of {missing + len(judged)} {what} are not judged and are ignored"
    warnings.warn(message, DataWarning, stacklevel=4)
    return dataset.take(judged) if isinstance(dataset, Pairs) else dataset.take_captions(judged)


def _filter_systems(dataset: Dataset, settings: Settings) -> Dataset:
    """Return the items whose systems are all selected."""
    wanted, unwanted = {*settings.system}, {*settings.without_system}
    if not wanted and not unwanted:
        return dataset
    if not isinstance(dataset, Pairs | Ratings) or not dataset.systems:
        raise SettingError(f"{dataset.name} does not contain the systems of the captions")
    writers = [{one} if isinstance(one, str) else {*one} for one in dataset.systems]
    known = set().union(*writers)
    if missing := sorted((wanted | unwanted) - known):
        raise SettingError(
            f"{dataset.name} has no system {missing[0]!r}; it has: {', '.join(sorted(known))}"
        )
    allowed = (wanted or known) - unwanted
    kept = np.flatnonzero([group <= allowed for group in writers])
    if not len(kept):
        raise SettingError(f"{dataset.name} has no items of these systems only")
    return dataset.take(kept) if isinstance(dataset, Pairs) else dataset.take_captions(kept)


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
                    f"{dataset.name} has {own.pop()} references per pair, not {count}"
                )
            dataset = dataset.with_own_references()
            count = None
    elif draw == "own":
        raise SettingError(
            f"{dataset.name} has no references per pair; set draw to random or first"
        )
    judged = dataset.judged
    if count is not None:
        judged = judged.draw(count, None if draw == "first" else settings.seed)
    if settings.concatenate:
        judged = judged.concatenate()
    return replace(dataset, judged=judged)
