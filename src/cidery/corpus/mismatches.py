"""Errors about candidates and references that do not match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus.ids import ImageId, count_translatable
from cidery.corpus.inputs import are_rows
from cidery.corpus.notices import Notice
from cidery.errors import MismatchError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Sides:
    """Names of candidates and references in messages."""

    candidates: str
    references: str

    def check_kinds(self, candidates: Any, references: Any) -> None:
        """Raise a MismatchError for lists of different length, and for a list against ids."""
        by_position = not isinstance(candidates, Mapping) and not are_rows(candidates)
        if by_position and isinstance(references, Mapping):
            raise MismatchError(
                f"{self.candidates} are a list, which matches by position, but {self.references} "
                "have ids; pass both as lists or both by id"
            )
        if not by_position and not isinstance(references, Mapping):
            raise MismatchError(
                f"{self.candidates} have ids, but {self.references} are a list, which matches by "
                "position; pass both as lists or both by id"
            )
        if by_position and len(candidates) != len(references):
            raise MismatchError(
                f"lists match by position, but {self.candidates} have {len(candidates)} entries "
                f"and {self.references} {len(references)}; pass dicts by image id to match by id"
            )

    def check_references(self, images: list[ImageId], groups: list[Sequence[str]]) -> None:
        """Raise a MismatchError for images with an empty list of references."""
        if all(groups):
            return
        empty = [image for image, group in zip(images, groups, strict=True) if not group]
        what = _count(empty, len(images), "an empty list of references")
        raise MismatchError(f"{what} ({self.references}); {_advice(empty)}")

    def mismatch(
        self, ids: list[ImageId], images: list[ImageId], places: NDArray[np.int64]
    ) -> MismatchError:
        """Return the error for images without candidates or references."""
        if places.max() < 0:
            return self._nothing_matches(ids, images)
        no_references = list(dict.fromkeys(ids[row] for row in np.flatnonzero(places < 0)))
        no_candidates = [images[place] for place in np.setdiff1d(np.arange(len(images)), places)]
        parts = []
        if no_references:
            what = _count(no_references, len(set(ids)), "candidates but no references")
            parts.append(f"{what} ({self.candidates}, row {int(places.argmin()) + 1})")
        if no_candidates:
            what = _count(no_candidates, len(images), "references but no candidates")
            parts.append(f"{what} ({self.references})")
        return MismatchError("; ".join((*parts, _advice(no_references + no_candidates))))

    def _nothing_matches(self, ids: list[ImageId], images: list[ImageId]) -> MismatchError:
        return MismatchError(
            f"no ids match: {self.candidates} have {_describe(ids)}, {self.references} have "
            f"{_describe(images)}; use the same ids on both sides"
            f"{_hint_at_numbers(ids, images)}"
        )

    def describe_translated(self, ids: list[ImageId], images: list[ImageId]) -> Notice:
        """Return the notice about ids that match though they are written differently."""
        pairs = dict(zip(ids, images, strict=True))
        written, image = next(pair for pair in pairs.items() if str(pair[0]) != str(pair[1]))
        return Notice(
            "ids",
            f"{self.candidates}: all {len(pairs):,} ids match those of {self.references} one to "
            f"one, written differently: {written!r} is {image!r}",
            len(pairs),
            str(written),
        )

    def nothing_left(self, ids: list[ImageId], images: list[ImageId]) -> MismatchError:
        """Return the error for a corpus without matching images."""
        return MismatchError(
            f"nothing to score: no image has both candidates ({self.candidates}) and references "
            f"({self.references}){_hint_at_numbers(ids, images)}"
        )


def _hint_at_numbers(ids: list[ImageId], images: list[ImageId]) -> str:
    """Return the hint for ids that would match by their numbers, though not all."""
    count = count_translatable(ids, images)
    if not count:
        return ""
    return (
        f" ({count:,} of {len(set(ids)):,} would match by the number at their end, which is only "
        "done where all match and are one to one)"
    )


def _count(images: list[ImageId], total: int, what: str) -> str:
    """Return `image 'a' has …` or `12 of 40 images have …: 'a', 'b', 'c', …`."""
    if len(images) == 1:
        return f"image {images[0]!r} has {what}"
    return f"{len(images)} of {total} images have {what}: {_examples(images)}"


def _examples(images: list[ImageId]) -> str:
    shown = ", ".join(map(repr, images[:_EXAMPLES]))
    return f"{shown}, …" if len(images) > _EXAMPLES else shown


def _describe(images: list[ImageId]) -> str:
    kinds = set(map(type, images))
    noun = "integers" if kinds == {int} else "strings" if kinds == {str} else "ids"
    return f"{noun} such as {_examples(images)}"


def _advice(images: list[ImageId]) -> str:
    return (
        f'pass missing="skip" (--missing skip) to leave {"it" if len(images) == 1 else "them"} out'
    )
