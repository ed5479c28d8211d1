"""Sets of captions, one per image: checked, flattened, tokenized once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cidery.corpus import Corpus, ImageId, Missing, References
from cidery.errors import InputError, SettingError
from cidery.metrics.base import TokenizedReferences
from cidery.text import SPLIT, Tokenizer

SetsLike: TypeAlias = (
    Mapping[Any, Sequence[str]] | Sequence[Sequence[str]] | Sequence[tuple[ImageId, str]]
)
Training: TypeAlias = References | Iterable[str]


@dataclass(frozen=True, eq=False)
class CaptionSets:
    """Sets of at least two captions per image."""

    images: tuple[ImageId, ...]
    captions: list[str]
    """Flat, image by image."""
    offsets: NDArray[np.int64]
    """int64[images + 1]: image i has `captions[offsets[i] : offsets[i + 1]]`."""

    @classmethod
    def build(
        cls, sets: SetsLike, *, missing: Missing = "error", name: str = "captions"
    ) -> CaptionSets:
        """Check sets given by id, as lists, or as `(id, caption)` rows with repeated ids."""
        if missing not in ("error", "skip"):
            raise SettingError(f'missing must be "error" or "skip", not {missing!r}')
        groups = as_groups(sets, name)
        if not groups:
            raise InputError(f"{name}: there are no captions")
        small = {image: len(group) for image, group in groups.items() if _is_small(group)}
        if small and missing == "error":
            raise InputError(_explain_small(small, len(groups), name))
        groups = {image: group for image, group in groups.items() if image not in small}
        if not groups:
            raise InputError(f"{name}: no image has two {name} or more")
        corpus = Corpus.from_references(groups, references_name=name)
        return cls(corpus.images, corpus.references, corpus.reference_offsets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[images]: number of captions of each image."""
        return np.asarray(np.diff(self.offsets), np.int64)

    def groups(self) -> list[list[str]]:
        """Return each image's captions."""
        bounds = self.offsets.tolist()
        return [self.captions[a:b] for a, b in pairwise(bounds)]


@dataclass(frozen=True, eq=False)
class TokenizedSets:
    """Tokenized caption sets. Every caption is both a candidate and a reference of its image."""

    captions: TokenizedReferences
    sizes: NDArray[np.int64]
    training: frozenset[tuple[str, ...]] | None = None
    """Tokenized captions of the training set."""

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean over each image's captions: float64[captions] -> float64[images]."""
        starts = self.captions.image_offsets[:-1].astype(np.int64)
        return np.asarray(np.add.reduceat(values, starts) / self.sizes, np.float64)


def group_rows(rows: Sequence[tuple[ImageId, str]]) -> dict[ImageId, list[str]]:
    """Group `(id, caption)` rows by id, in order of first occurrence."""
    groups: dict[ImageId, list[str]] = {}
    for image, caption in rows:
        groups.setdefault(image, []).append(caption)
    return groups


def tokenize_training(training: Training, tokenizer: Tokenizer) -> frozenset[tuple[str, ...]]:
    """Return the tokenized captions of a training set, given by image or as a list."""
    groups = training.values() if isinstance(training, Mapping) else training
    captions = list(
        chain.from_iterable([group] if isinstance(group, str) else group for group in groups)
    )
    return frozenset(map(tuple, tokenizer(captions).form(SPLIT).tokens()))


def as_groups(sets: Any, name: str) -> dict[Any, Any]:
    """Return captions by image; tuples are `(id, caption)` rows, lists are sets."""
    if isinstance(sets, Mapping):
        return dict(sets)
    if not isinstance(sets, list | tuple):
        raise InputError(
            f"{name}: expected captions by image id, a list of lists of captions or a list of "
            f"(id, caption) tuples, not {type(sets).__name__}; read files with read_candidates"
        )
    if len(sets) > 0 and all(isinstance(row, tuple) and len(row) == 2 for row in sets):
        return group_rows(sets)
    return dict(enumerate(sets))


def _is_small(group: Any) -> bool:
    return not isinstance(group, str) and hasattr(group, "__len__") and len(group) < 2


def _explain_small(small: Mapping[Any, int], total: int, name: str) -> str:
    image, count = next(iter(small.items()))
    has = f"one {name.removesuffix('s')}" if count == 1 else f"no {name}"
    others = f" (and {len(small) - 1} more of {total} images)" if len(small) > 1 else ""
    why = (
        "each reference is scored against the others of its image, which needs"
        if name == "references"
        else "diversity compares an image's captions with each other and needs"
    )
    return (
        f"{name}: image {image!r} has {has}{others}; {why} at least two; "
        'pass missing="skip" (--missing skip) to skip such images'
    )
