"""find_suspicious(): captions that are probably wrong, though they can be scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cidery.corpus.ids import ImageId
from cidery.corpus.inputs import Rows
from cidery.corpus.notices import Notice
from cidery.text.debris import KINDS, find_debris

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING_TEXTS = frozenset(("nan", "none", "null", "<na>", "n/a", "#n/a", "undefined"))
"""Texts that programs write for a missing value, in lower case."""
REPEATED_SHARE = 0.02
"""Minimum share of repeated references for a warning; people write some alike."""
WORDS_SHARE = 0.5
"""Minimum share of images whose captions are single words, for a list of words."""
MIN_WORDS = 3
"""Minimum number of single words of such an image."""
SAMPLE = 500
"""Number of captions that are looked at before a search for single words."""
MIN_IMAGES = 5
"""Minimum number of images for warnings about repeated captions and their numbers."""
RARE_SHARE = 0.01
"""Minimum share of cut endings, which people write too."""
WRITTEN_BY_PEOPLE = ("refusal", "truncated")
"""Kinds of debris that people write too, and that references are not searched for."""


def find_suspicious(
    captions: Sequence[str],
    places: NDArray[np.int64],
    images: Sequence[ImageId],
    name: str,
    side: Literal["candidates", "references"] = "candidates",
) -> list[Notice]:
    """Return warnings about captions that are probably wrong: repeated, empty, with debris, ….

    Args:
        captions: all captions.
        places: index into `images` of each caption.
        images: image ids.
        name: name of the captions in messages, for instance their file.
        side: people write refusals and some equal captions too, so fewer references are suspicious.
    """
    if not captions:
        return []
    if side == "candidates":
        return _find(captions, places, images, name)
    key = np.asarray(places, np.int64).tobytes()
    return list(_find_in_references(tuple(captions), key, tuple(images), name))


@lru_cache(maxsize=2)
def _find_in_references(
    captions: tuple[str, ...], places: bytes, images: tuple[ImageId, ...], name: str
) -> tuple[Notice, ...]:
    """Return warnings about references, which are often scored against more than once."""
    return tuple(_find(captions, np.frombuffer(places, np.int64), images, name, "references"))


def _find(
    captions: Sequence[str],
    places: NDArray[np.int64],
    images: Sequence[ImageId],
    name: str,
    side: Literal["candidates", "references"] = "candidates",
) -> list[Notice]:
    captions = list(captions)
    found = _Found(captions, places, images, name, "captions" if side == "candidates" else side)
    return [
        *found.find_repeated(side),
        *found.find_empty(),
        *found.find_missing(),
        *found.find_words(),
        *found.find_debris(side),
    ]


def inspect_references(references: Mapping[ImageId, Sequence[str]], name: str) -> list[Notice]:
    """Return warnings about references that are probably wrong.

    Args:
        references: id -> captions.
        name: name of the references in messages.
    """
    places = np.repeat(np.arange(len(references)), list(map(len, references.values())))
    captions = list(chain.from_iterable(references.values()))
    return find_suspicious(captions, places, list(references), name, "references")


def inspect_candidates(rows: Rows, name: str) -> list[Notice]:
    """Return warnings about candidates that are probably wrong.

    Args:
        rows: `(id, caption)` tuples.
        name: name of the candidates in messages.
    """
    images = {image: place for place, image in enumerate(dict.fromkeys(i for i, _ in rows))}
    places = np.fromiter((images[image] for image, _ in rows), np.int64, len(rows))
    return find_suspicious([caption for _, caption in rows], places, list(images), name)


class _Found:
    """Captions and the parts of messages about them."""

    def __init__(
        self,
        captions: list[str],
        places: NDArray[np.int64],
        images: Sequence[ImageId],
        name: str,
        noun: str,
    ) -> None:
        self.captions, self.images, self.name, self.noun = captions, images, name, noun
        self.places: list[int] = np.asarray(places).tolist()
        self.counts = np.bincount(places, minlength=len(images))

    def _warn(self, kind: str, what: str, rows: Sequence[int], remedy: str) -> Notice:
        example = _shorten(self.captions[rows[0]])
        of = f"{_count(len(rows), len(self.captions), self.noun)} {what}"
        shown = f"such as {example} of image {self.images[self.places[rows[0]]]!r}"
        message = f"{self.name}: {of}, {shown}; {remedy}"
        return Notice(kind, message, len(rows), self.captions[rows[0]], is_warning=True)

    def find_repeated(self, side: str) -> Iterator[Notice]:
        """Yield rows that are repeated, and images with more captions than others."""
        if len(self.images) < MIN_IMAGES or self.counts.max() < 2:
            return
        if side == "references" and self._count_equal() < REPEATED_SHARE * len(self.captions):
            return
        first: dict[tuple[int, str], int] = {}
        repeated = [
            row
            for row, key in enumerate(zip(self.places, self.captions, strict=True))
            if first.setdefault(key, row) != row
        ]
        if side == "references":
            if len(repeated) >= REPEATED_SHARE * len(self.captions):
                remedy = "remove repeated rows of the file; each reference counts"
                what = f"repeat{'s' * (len(repeated) == 1)} another of the same image"
                yield self._warn("repeated", what, repeated, remedy)
            return
        uneven = self.counts.min() < self.counts.max() and np.median(self.counts) == 1
        several = int((self.counts > 1).sum())
        if uneven:
            exactly = f"{len(repeated):,} of them repeated exactly" if repeated else "none repeated"
            extra = len(self.captions) - len(self.images)
            added = "1 additional caption" if extra == 1 else f"{extra:,} additional captions"
            place = int(np.argmax(self.counts > 1))
            yield Notice(
                "repeated",
                f"{self.name}: {len(self.captions):,} captions of {len(self.images):,} images: "
                f"{several:,} {'has' if several == 1 else 'have'} more than one, such as "
                f"{self.images[place]!r} ({added}, {exactly}); each counts, "
                "so remove all but one of each image",
                extra,
                str(self.images[place]),
                is_warning=True,
            )
        elif len(first) == len(self.images) and len(repeated) > 0:
            yield self._warn(
                "repeated", "repeat another of the same image", repeated, "each caption counts"
            )

    def _count_equal(self) -> int:
        """Return the number of captions that equal an earlier one, of any image."""
        return len(self.captions) - len(set(self.captions))

    def find_empty(self) -> Iterator[Notice]:
        """Yield empty captions."""
        rows = [row for row, caption in enumerate(self.captions) if not caption.strip()]
        if rows:
            of = _count(len(rows), len(self.captions), self.noun)
            image = self.images[self.places[rows[0]]]
            message = (
                f"{self.name}: {of} {'is' if len(rows) == 1 else 'are'} empty, such as that of "
                f"image {image!r}; they count as captions without words"
            )
            yield Notice("empty", message, len(rows), str(image), is_warning=True)

    def find_missing(self) -> Iterator[Notice]:
        """Yield texts that programs write for a missing value."""
        lengths = np.fromiter(map(len, self.captions), np.int64, len(self.captions))
        rows = [
            row
            for row in np.flatnonzero(lengths < 12).tolist()
            if self.captions[row].strip().lower() in MISSING_TEXTS
        ]
        if rows:
            what = "seem to be missing values" if len(rows) > 1 else "seems to be a missing value"
            remedy = "they are scored as words, so remove them from the file"
            yield self._warn("missing-text", what, rows, remedy)

    def find_words(self) -> Iterator[Notice]:
        """Yield images whose captions are single words."""
        sample = self.captions[:: max(1, len(self.captions) // SAMPLE)]
        if all(" " in caption.strip() for caption in sample):
            return  # fewer than `WORDS_SHARE`, practically certainly
        words = [
            " " not in caption and caption.isascii() for caption in map(str.strip, self.captions)
        ]
        single = np.bincount(np.asarray(self.places), weights=words, minlength=len(self.images))
        split = (single == self.counts) & (self.counts >= MIN_WORDS)
        if split.any() and split.mean() >= WORDS_SHARE:
            place = int(split.argmax())
            rows = [row for row, image in enumerate(self.places) if image == place]
            count = int(split.sum())
            yield Notice(
                "words",
                f"{self.name}: all {self.noun} of {_count(count, len(self.images), 'images')} are "
                f"single words, such as {[self.captions[row] for row in rows[:4]]} of image "
                f"{self.images[place]!r}: a list is a list of captions; join words by blanks",
                count,
                " ".join(self.captions[row] for row in rows),
                is_warning=True,
            )

    def find_debris(self, side: str) -> Iterator[Notice]:
        """Yield kinds of debris."""
        references = side == "references"
        skipped = WRITTEN_BY_PEOPLE if references else ()
        for kind, rows in find_debris(self.captions, skipped).items():
            if kind == "truncated" and len(rows) < max(3, RARE_SHARE * len(self.captions)):
                continue
            about = KINDS[kind]
            remedy = (
                f'pass clean="{kind}" (--clean {kind}) to remove them'
                if about.clean
                else ("correct them" if references else "generate them again")
            )
            has = "has" if len(rows) == 1 else "have"
            yield self._warn(kind, f"{has} {about.description}", rows, remedy)


def _count(count: int, total: int, noun: str) -> str:
    return f"{count:,} of {total:,} {noun}"


def _shorten(text: str) -> str:
    shown: Any = repr(text)
    if len(shown) <= 80:
        return str(shown)
    # Debris is at the beginning or at the end.
    return f"{text[:35]!r}…{text[-35:]!r}"
