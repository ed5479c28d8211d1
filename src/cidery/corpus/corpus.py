"""Corpus: images with their references and candidates, matched and checked.

Captions are in flat lists with offsets. Every caption is valid UTF-8, every image has a reference,
every row has an image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from cidery.corpus.ids import ImageId, match_ids, translate_ids
from cidery.corpus.inputs import (
    Candidates,
    References,
    Rows,
    check_captions,
    group_references,
    list_candidates,
)
from cidery.corpus.mismatches import Sides
from cidery.corpus.notices import Notice, get_notices
from cidery.errors import InputError, SettingError
from cidery.text import ScannedCaptions, check_debris_kinds, clean_captions

if TYPE_CHECKING:  # it takes as long to import as the rest of this module
    from numpy.typing import NDArray

__all__ = ["FEW_IMAGES", "Candidates", "Corpus", "ImageId", "Missing", "References", "Rows"]

Missing: TypeAlias = Literal["error", "skip"]
"""Treatment of images without candidates or references."""

FEW_IMAGES = 100
"""Minimum number of images for reliable document frequencies."""


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Images with their references, and candidates, one per row.

    ```python
    corpus = Corpus.build({"kitchen": "a cat"}, {"kitchen": ["a black cat", "the cat"]})
    ```
    """

    images: tuple[ImageId, ...]
    """Image ids, in the order of the references."""
    references: ScannedCaptions
    """Flat, image by image."""
    reference_offsets: NDArray[np.int64]
    """int64[images + 1], read-only: image i has `references[offsets[i] : offsets[i + 1]]`."""
    candidates: ScannedCaptions
    """Candidates, one per row, in the order given."""
    candidate_images: NDArray[np.int64]
    """int64[rows], read-only: indexes into `images`."""
    candidate_ids: list[ImageId]
    """The id of each row, in the type that the candidates used."""
    notices: tuple[Notice, ...] = ()
    """Notices about how the captions were read and matched, and about those that look wrong."""
    clean: tuple[str, ...] = ()
    """Kinds of debris that were removed from the captions."""

    @classmethod
    def build(
        cls,
        candidates: Candidates,
        references: References,
        *,
        missing: Missing = "error",
        candidates_name: str = "candidates",
        references_name: str = "references",
    ) -> Corpus:
        """Match candidates to references and check both.

        Lists match by position, everything else by id. Ids match exactly; where one side has only
        integers and the other only strings that spell integers, 391895 matches "391895". Where
        these leave images unmatched, ids match as `translate_ids` describes, which is a notice.

        Args:
            candidates: id -> caption, id -> captions, a list of captions, a list of lists of
                captions, or `(id, caption)` tuples.
            references: id -> captions, or a list of lists of captions.
            missing: `"error"` raises a `MismatchError` for images without candidates or
                references; `"skip"` ignores them.
            candidates_name: Name of the candidates in messages, for instance their file.
            references_name: Name of the references in messages.
        """
        if missing not in ("error", "skip"):
            raise SettingError(f'missing is "error" or "skip", not {missing!r}')
        sides = Sides(candidates_name, references_name)
        images, groups = group_references(references, references_name)
        ids, rows = list_candidates(candidates, candidates_name)
        for side, name in ((images, references_name), (ids, candidates_name)):
            if not side:
                raise InputError(f"{name}: there are no captions")
        sides.check_kinds(candidates, references)
        if missing == "error":
            sides.check_references(images, groups)

        notices = [*get_notices(references), *get_notices(candidates)]
        places = match_ids(ids, images)
        complete = places.min() >= 0 and np.bincount(places, minlength=len(images)).all()
        if not complete and (translated := translate_ids(ids, images)) is not None:
            notices.append(sides.describe_translated(ids, translated))
            places, complete = match_ids(translated, images), True
        if missing == "error" and not complete:
            raise sides.mismatch(ids, images, places)
        if not complete or not all(groups):
            given = ids, images
            images, groups, ids, rows, places = _drop_unmatched(images, groups, ids, rows, places)
            if not images:
                raise sides.nothing_left(*given)

        flat, offsets = _flatten(images, groups, references_name)
        scanned = check_captions(rows, ids, candidates_name)
        places.setflags(write=False)
        return cls(tuple(images), flat, offsets, scanned, places, ids, tuple(notices))

    @classmethod
    def from_references(
        cls, references: References, *, references_name: str = "references"
    ) -> Corpus:
        """Return a corpus without candidates."""
        images, groups = group_references(references, references_name)
        Sides("candidates", references_name).check_references(images, groups)
        flat, offsets = _flatten(images, groups, references_name)
        return cls(tuple(images), flat, offsets, ScannedCaptions(), np.zeros(0, np.int64), [])

    def select(self, images: Collection[ImageId]) -> Corpus:
        """Return the corpus of some of its images."""
        selected_images = [i for i, image in enumerate(self.images) if image in images]
        place = np.full(len(self.images), -1, np.int64)
        place[selected_images] = np.arange(len(selected_images))
        rows = np.flatnonzero(place[self.candidate_images] >= 0)
        groups = [
            self.references[self.reference_offsets[i] : self.reference_offsets[i + 1]]
            for i in selected_images
        ]
        flat, offsets = _flatten([self.images[i] for i in selected_images], groups, "references")
        places = place[self.candidate_images[rows]]
        places.setflags(write=False)
        return Corpus(
            tuple(self.images[i] for i in selected_images),
            flat,
            offsets,
            ScannedCaptions(self.candidates[i] for i in rows),
            places,
            [self.candidate_ids[i] for i in rows],
            self.notices,
            self.clean,
        )

    def reference_images(self) -> NDArray[np.int64]:
        """Return int64[references]: the index into `images` of each reference."""
        return np.repeat(np.arange(len(self.images)), np.diff(self.reference_offsets))

    def without_debris(self, kinds: Iterable[str], references_name: str, name: str) -> Corpus:
        """Return the corpus with captions from which kinds of debris are removed.

        Args:
            kinds: kinds of `cidery.text.KINDS`.
            references_name: name of the references in notices.
            name: name of the candidates in notices.
        """
        kinds = check_debris_kinds(kinds)
        if not kinds:
            return self
        notices = list(self.notices)
        cleaned = []
        for captions, of in ((self.references, references_name), (self.candidates, name)):
            found = ScannedCaptions(clean_captions(captions, kinds))
            pairs = [(a, b) for a, b in zip(captions, found, strict=True) if a != b]
            if pairs:
                before, after = pairs[0]
                notices.append(
                    Notice(
                        "clean",
                        f"{of}: {len(pairs):,} of {len(captions):,} captions were cleaned, such as "
                        f"{before[:80]!r} to {after[:80]!r}",
                        len(pairs),
                        before,
                    )
                )
            cleaned.append(found)
        references, candidates = cleaned
        return replace(
            self,
            references=references,
            candidates=candidates,
            notices=tuple(notices),
            clean=tuple(sorted({*self.clean, *kinds})),
        )


def _flatten(
    images: list[ImageId], groups: Sequence[Sequence[str]], name: str
) -> tuple[ScannedCaptions, NDArray[np.int64]]:
    """Return all captions in one list, checked, and the offsets of images in it."""
    flat = ScannedCaptions(chain.from_iterable(groups))
    check_captions(flat, chain.from_iterable(map(repeat, images, map(len, groups))), name)
    offsets = np.zeros(len(groups) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, groups), np.int64, len(groups)), out=offsets[1:])
    offsets.setflags(write=False)
    return flat, offsets


def _drop_unmatched(
    images: list[ImageId],
    groups: list[Sequence[str]],
    ids: list[ImageId],
    rows: list[str],
    places: NDArray[np.int64],
) -> tuple[list[ImageId], list[Sequence[str]], list[ImageId], list[str], NDArray[np.int64]]:
    """Return the images with candidates and references, and their captions."""
    selected_images = [place for place in np.unique(places[places >= 0]).tolist() if groups[place]]
    matched_rows = np.flatnonzero(np.isin(places, selected_images))
    selected = matched_rows.tolist()
    return (
        [images[place] for place in selected_images],
        [groups[place] for place in selected_images],
        [ids[row] for row in selected],
        [rows[row] for row in selected],
        np.searchsorted(selected_images, places[matched_rows]).astype(np.int64),
    )
