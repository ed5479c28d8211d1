"""Data of an audit: rows of candidates in the order of their file, and references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cidery import _native
from cidery.auditing.splitters import Splitter
from cidery.corpus import Candidates, Corpus, ImageId, References, group_references, list_candidates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cidery.frequencies import DocumentFrequencies

_BLOCK = 50
COMPLETE = 0.6
"""Minimum share of images with captions; below it, only the images with captions are scored."""


PARTS = ("head", "tail", "references-head", "references-tail", "every")
"""Selections that leave out images."""


@dataclass(frozen=True)
class ImageSelection:
    """Rows and images that are scored."""

    rows: Literal[
        "first",
        "last",
        "all",
        "separate",
        "empty",
        "head",
        "tail",
        "references-head",
        "references-tail",
        "every",
        "repeated-head",
    ] = "first"
    """`first` or `last` row of each image, `all` rows, each row `separate` as an image of its own,
    `empty` captions for missing images, the `head` or `tail` of the file or of the references,
    `every` second, third, … row, or the file with its head repeated at the end."""
    count: int = 0
    """Number of images."""
    start: int = 0
    """First row for `every`."""

    @property
    def is_part(self) -> bool:
        """True where some images are left out."""
        return self.rows in PARTS


ALL_IMAGES = ImageSelection()


@dataclass(frozen=True, eq=False)
class AuditData:
    """Candidates row by row and references, matched by image id."""

    images: tuple[ImageId, ...]
    """All images of the references, in their order."""
    references: list[str]
    offsets: NDArray[np.int64]
    """int64[images + 1]: image i has `references[offsets[i] : offsets[i + 1]]`."""
    rows: list[str]
    """The captions of all rows whose image has references, in the order of the file."""
    row_images: NDArray[np.int64]
    """int64[rows]: indexes into `images`."""
    unmatched_ids: tuple[ImageId, ...]
    """Ids of rows whose image has no references."""
    candidates_name: str = "candidates"
    references_name: str = "references"
    frequencies: Mapping[str, DocumentFrequencies] = field(default_factory=dict)
    """Further document frequencies by name, on which weights may have been counted."""

    @classmethod
    def build(
        cls,
        candidates: Candidates,
        references: References,
        candidates_name: str = "candidates",
        references_name: str = "references",
        frequencies: Mapping[str, DocumentFrequencies] | None = None,
    ) -> AuditData:
        """Match rows with images and validate both sides; unmatched rows are recorded."""
        corpus = Corpus.build(
            candidates,
            references,
            missing="skip",
            candidates_name=candidates_name,
            references_name=references_name,
        )
        known = dict.fromkeys(corpus.candidate_ids)
        ids, _ = list_candidates(candidates, candidates_name)
        unmatched_ids = tuple(dict.fromkeys(image for image in ids if image not in known))
        images, groups = group_references(references, references_name)
        if len(corpus.images) == len(images):
            return cls(
                corpus.images,
                corpus.references,
                corpus.reference_offsets,
                corpus.candidates,
                corpus.candidate_images,
                unmatched_ids,
                candidates_name,
                references_name,
                frequencies or {},
            )
        whole = Corpus.from_references(
            {image: group for image, group in zip(images, groups, strict=True) if group},
            references_name=references_name,
        )
        place = {image: i for i, image in enumerate(whole.images)}
        moved = np.asarray([place[image] for image in corpus.images], np.int64)
        return cls(
            whole.images,
            whole.references,
            whole.reference_offsets,
            corpus.candidates,
            moved[corpus.candidate_images],
            unmatched_ids,
            candidates_name,
            references_name,
            frequencies or {},
        )

    @cached_property
    def rows_per_image(self) -> NDArray[np.int64]:
        """Number of rows of each image."""
        return np.bincount(self.row_images, minlength=len(self.images))

    @cached_property
    def is_sampled(self) -> bool:
        """True where every image has the same number of captions, greater than one."""
        counts = self.rows_per_image[self.rows_per_image > 0]
        return bool(counts.min() == counts.max() > 1)

    @cached_property
    def has_duplicates(self) -> bool:
        """True where some images have more captions than others."""
        return not self.is_sampled and bool(self.rows_per_image.max() > 1)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """Rows to score: the first of each image, or all where `is_sampled`."""
        if not self.has_duplicates:
            return np.arange(len(self.rows))
        _, first = np.unique(self.row_images, return_index=True)
        return np.sort(first)

    @cached_property
    def last_rows(self) -> NDArray[np.int64]:
        """Last row of each image, in the order of the first rows."""
        last = {int(image): row for row, image in enumerate(self.row_images)}
        return np.asarray([last[int(self.row_images[row])] for row in self.first_rows], np.int64)

    def find_part(self, images: ImageSelection) -> NDArray[np.int64]:
        """Return the places of a part of the images among the first rows."""
        first, count = self.first_rows, images.count
        places = np.arange(len(first))
        if images.rows == "head":
            return places[:count]
        if images.rows == "tail":
            return places[-count:]
        if images.rows == "every":
            return places[images.start :: count]
        described = self.described
        chosen = described[:count] if images.rows == "references-head" else described[-count:]
        return np.flatnonzero(np.isin(self.row_images[first], chosen))

    @cached_property
    def has_order_of_references(self) -> bool:
        """True where the rows have the order of the references."""
        return bool((np.diff(self.row_images[self.first_rows]) >= 0).all())

    @cached_property
    def described(self) -> NDArray[np.int64]:
        """Images with captions, in the references' order."""
        return np.flatnonzero(self.rows_per_image)

    @property
    def missing(self) -> NDArray[np.int64]:
        """Images without captions."""
        return np.flatnonzero(self.rows_per_image == 0)

    @property
    def is_part(self) -> bool:
        """True if only a subset of the references' images is scored."""
        return len(self.described) < COMPLETE * len(self.images)

    @cached_property
    def lacks_images(self) -> bool:
        """True where some images have no caption."""
        return not self.is_part and len(self.described) < len(self.images)

    @cached_property
    def reference_counts(self) -> NDArray[np.int64]:
        """Number of references of each image."""
        return np.diff(self.offsets)

    def sample(self, count: int) -> AuditData:
        """Return a sample of about `count` images, in blocks of consecutive images."""
        order = self.row_images[self.first_rows] if len(self.first_rows) else self.described
        order = np.asarray(list(dict.fromkeys(order.tolist())), np.int64)
        blocks = max(1, count // _BLOCK)
        starts = np.linspace(0, max(0, len(order) - _BLOCK), blocks).astype(np.int64)
        chosen = np.unique(starts[:, None] + np.arange(_BLOCK))
        share = count / len(order)
        missing = self.missing[: round(share * len(self.missing))]
        kept = np.sort(np.concatenate([order[chosen[chosen < len(order)]], missing]))
        place = np.full(len(self.images), -1, np.int64)
        place[kept] = np.arange(len(kept))
        rows = np.flatnonzero(place[self.row_images] >= 0)
        texts = [self.references[self.offsets[i] : self.offsets[i + 1]] for i in kept.tolist()]
        return replace(
            self,
            images=tuple(self.images[i] for i in kept.tolist()),
            references=[text for group in texts for text in group],
            offsets=np.concatenate([[0], np.cumsum([len(group) for group in texts])]),
            rows=[self.rows[row] for row in rows.tolist()],
            row_images=place[self.row_images[rows]],
            unmatched_ids=(),
        )

    def standard_input(self) -> tuple[list[tuple[ImageId, str]], dict[ImageId, list[str]]]:
        """Return the input of the standard pipeline: one caption per image, with references."""
        candidates = [
            (self.images[int(self.row_images[row])], self.rows[int(row)]) for row in self.first_rows
        ]
        references = {
            self.images[i]: self.references[self.offsets[i] : self.offsets[i + 1]]
            for i in self.described.tolist()
        }
        return candidates, references


@dataclass(frozen=True, eq=False)
class TokenIds:
    """Captions as token ids of one vocabulary."""

    vocabulary: list[str]
    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    native_vocabulary: _native.Vocabulary

    @classmethod
    def split(cls, texts: list[str], splitter: Splitter) -> TokenIds:
        """Split texts into tokens."""
        prepared = texts if splitter.preprocess is None else splitter.preprocess(texts)
        captions = _native.tokenize(prepared, "whitespace", 1)
        if splitter.split is None:
            return cls.of(captions)
        pieces = splitter.split(captions.vocabulary())
        return cls.of(captions.expand(_native.Expansion(pieces)))

    @classmethod
    def of(cls, captions: _native.Captions) -> TokenIds:
        """Return native captions as arrays."""
        vocabulary = captions.vocabulary()
        offsets = captions.offsets().astype(np.int64)
        return cls(vocabulary, captions.words(), offsets, _native.Vocabulary(vocabulary))

    @classmethod
    def concatenate(cls, first: TokenIds, second: TokenIds) -> TokenIds:
        """Return the captions of both, with one vocabulary."""
        known = {word: number for number, word in enumerate(first.vocabulary)}
        numbers = np.asarray(
            [known.setdefault(word, len(known)) for word in second.vocabulary], np.uint32
        )
        vocabulary = list(known)
        return cls(
            vocabulary,
            np.concatenate([first.words, numbers[second.words]]),
            np.concatenate([first.offsets, second.offsets[1:] + first.offsets[-1]]),
            _native.Vocabulary(vocabulary),
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each caption."""
        return np.diff(self.offsets)

    def take(self, captions: NDArray[np.integer[Any]]) -> TokenIds:
        """Return the captions with these indexes."""
        starts, lengths = self.offsets[:-1][captions], self.lengths[captions]
        return replace(self, words=self.words[_ranges(starts, lengths)], offsets=_ends(lengths))

    def join(self, groups: NDArray[np.int64]) -> TokenIds:
        """Return one caption for each group of consecutive captions."""
        return replace(self, offsets=self.offsets[groups])

    def slice(self, start: int, end: int) -> TokenIds:
        """Return the captions from one index to another."""
        first, last = int(self.offsets[start]), int(self.offsets[end])
        return replace(
            self,
            words=self.words[first:last],
            offsets=self.offsets[start : end + 1] - self.offsets[start],
        )

    def limit(self, most: int) -> TokenIds:
        """Return the first tokens of each caption."""
        lengths = np.minimum(self.lengths, most)
        words = self.words[_ranges(self.offsets[:-1], lengths)]
        return replace(self, words=words, offsets=_ends(lengths))

    def add_ends(self, first: str | None, last: str | None) -> TokenIds:
        """Return the captions with a token before and a token after each."""
        added = [word for word in (first, last) if word is not None]
        vocabulary = [*self.vocabulary, *added]
        lengths = self.lengths + len(added)
        offsets = _ends(lengths)
        words = np.empty(int(offsets[-1]), np.uint32)
        inner = _ranges(offsets[:-1] + (first is not None), self.lengths)
        words[inner] = self.words
        if first is not None:
            words[offsets[:-1]] = len(self.vocabulary)
        if last is not None:
            words[offsets[1:] - 1] = len(vocabulary) - 1
        return TokenIds(vocabulary, words, offsets, _native.Vocabulary(vocabulary))

    def native(self) -> _native.Captions:
        """Return the captions for the native core."""
        return _native.Captions.from_ids(
            self.native_vocabulary,
            np.ascontiguousarray(self.words, np.uint32),
            np.ascontiguousarray(self.offsets, np.uint64),
        )


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all ranges [start, start + length), one after another."""
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(total) + np.repeat(starts - before, lengths)
    return places


def _ends(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
