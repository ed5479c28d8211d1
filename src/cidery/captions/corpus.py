"""Corpus: images, their references and the candidates to score, matched and checked.

All later steps work on flat lists and offsets and may trust them: every caption is text that UTF-8
can hold, every image has a reference, every row has an image.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse, repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from cidery.errors import InputError, MismatchError, SettingError

if TYPE_CHECKING:  # it takes as long to import as the rest of this module
    from numpy.typing import NDArray

ImageId: TypeAlias = str | int
Rows: TypeAlias = list[tuple[ImageId, str]]
"""Candidates one by one, `(id, caption)`; an image may come more than once."""
Candidates: TypeAlias = (
    Mapping[Any, str]
    | Mapping[Any, Sequence[str]]
    | Sequence[str]
    | Sequence[Sequence[str]]
    | Sequence[tuple[ImageId, str]]
)
References: TypeAlias = Mapping[Any, Sequence[str]] | Sequence[Sequence[str]]
Missing: TypeAlias = Literal["error", "skip"]

FEW_IMAGES = 100
"""Weights counted on fewer images are unreliable."""
_EXAMPLES = 3
_INTEGER = re.compile(r"-?[0-9]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Images with their references, and candidates, one per row.

    ```python
    corpus = Corpus.build({"kitchen": "a cat"}, {"kitchen": ["a black cat", "the cat"]})
    ```
    """

    images: tuple[ImageId, ...]
    """In the order of the references."""
    references: list[str]
    """Flat, image by image."""
    reference_offsets: NDArray[np.int64]
    """int64[images + 1], read-only: image i has `references[offsets[i] : offsets[i + 1]]`."""
    candidates: list[str]
    """One per row, in the order given."""
    candidate_images: NDArray[np.int64]
    """int64[rows], read-only: indexes into `images`."""
    candidate_ids: list[ImageId]
    """The id of each row, in the type that the candidates used."""

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
        integers and the other only strings that spell integers, 391895 matches "391895" (but not
        "0391895").

        Args:
            candidates: id -> caption, id -> captions, a list of captions, a list of lists of
                captions, or `(id, caption)` tuples.
            references: id -> captions, or a list of lists of captions.
            missing: What to do about images that lack candidates or references: raise
                `MismatchError`, or leave them out.
            candidates_name: What messages call the candidates, for instance their file.
            references_name: What messages call the references.
        """
        if missing not in ("error", "skip"):
            raise SettingError(f'missing is "error" or "skip", not {missing!r}')
        sides = _Sides(candidates_name, references_name)
        images, groups = _group_references(references, references_name)
        ids, rows = _list_candidates(candidates, candidates_name)
        for side, name in ((images, references_name), (ids, candidates_name)):
            if not side:
                raise InputError(f"{name}: there are no captions")
        sides.check_kinds(candidates, references)
        if missing == "error":
            sides.check_references(images, groups)

        places = _match(ids, images)
        complete = places.min() >= 0 and np.bincount(places, minlength=len(images)).all()
        if missing == "error" and not complete:
            raise sides.mismatch(ids, images, places)
        if not complete or not all(groups):
            images, groups, ids, rows, places = _leave_out(images, groups, ids, rows, places)
            if not images:
                raise sides.nothing_left()

        flat, offsets = _flatten(images, groups, references_name)
        _check_captions(rows, ids, candidates_name)
        places.setflags(write=False)
        return cls(tuple(images), flat, offsets, rows, places, ids)

    @classmethod
    def from_references(
        cls, references: References, *, references_name: str = "references"
    ) -> Corpus:
        """Check references alone; the corpus has no candidates."""
        images, groups = _group_references(references, references_name)
        _Sides("candidates", references_name).check_references(images, groups)
        flat, offsets = _flatten(images, groups, references_name)
        return cls(tuple(images), flat, offsets, [], np.zeros(0, np.int64), [])

    def only(self, images: Collection[ImageId]) -> Corpus:
        """Return the corpus of those of its images."""
        kept = [i for i, image in enumerate(self.images) if image in images]
        place = np.full(len(self.images), -1, np.int64)
        place[kept] = np.arange(len(kept))
        rows = np.flatnonzero(place[self.candidate_images] >= 0)
        groups = [
            self.references[self.reference_offsets[i] : self.reference_offsets[i + 1]] for i in kept
        ]
        flat, offsets = _flatten([self.images[i] for i in kept], groups, "references")
        places = place[self.candidate_images[rows]]
        places.setflags(write=False)
        return Corpus(
            tuple(self.images[i] for i in kept),
            flat,
            offsets,
            [self.candidates[i] for i in rows],
            places,
            [self.candidate_ids[i] for i in rows],
        )


def _flatten(
    images: list[ImageId], groups: Sequence[Sequence[str]], name: str
) -> tuple[list[str], NDArray[np.int64]]:
    """Return all captions in a row, checked, and where each image's begin."""
    flat = list(chain.from_iterable(groups))
    _check_captions(flat, chain.from_iterable(map(repeat, images, map(len, groups))), name)
    offsets = np.zeros(len(groups) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, groups), np.int64, len(groups)), out=offsets[1:])
    offsets.setflags(write=False)
    return flat, offsets


def _group_references(given: Any, name: str) -> tuple[list[ImageId], list[Sequence[str]]]:
    """Return image ids and, for each, its captions as a list or tuple."""
    ids, values = _by_id(given, name) if isinstance(given, Mapping) else _by_position(given, name)
    if not set(map(type, values)) <= {list, tuple}:
        values = [
            _as_captions(value, image, name) for image, value in zip(ids, values, strict=True)
        ]
    return ids, values


def _as_captions(value: Any, image: ImageId, name: str) -> Sequence[str]:
    """Return one image's references as a list; a bare string would be read letter by letter."""
    if isinstance(value, str):
        raise InputError(
            f"{name}: image {image!r} has a bare string, expected a list of captions; "
            f"write [{_shorten(value)!r}] if it is the only one"
        )
    if isinstance(value, list | tuple):
        return value
    if _is_array(value):
        return list(value.tolist())
    raise InputError(
        f"{name}: image {image!r} has {_shorten(value)!r}, expected a list of captions"
    )


def _list_candidates(given: Any, name: str) -> tuple[list[ImageId], list[str]]:
    """Return the id and the caption of each row."""
    if isinstance(given, Mapping):
        ids, values = _by_id(given, name)
    elif _are_rows(given):
        if set(map(type, given)) != {tuple} or set(map(len, given)) != {2}:
            raise InputError(
                f"{name}: expected every entry to be an (id, caption) tuple, as the first is"
            )
        ids, values = (
            _check_ids([image for image, _ in given], name),
            [caption for _, caption in given],
        )
    else:
        ids, values = _by_position(given, name)
    if set(map(type, values)) <= {str}:
        return ids, values
    groups = [
        value
        if isinstance(value, list | tuple)
        else value.tolist()
        if _is_array(value)
        else (value,)
        for value in values
    ]
    return list(chain.from_iterable(map(repeat, ids, map(len, groups)))), list(
        chain.from_iterable(groups)
    )


def _are_rows(given: Any) -> bool:
    """Tell `(id, caption)` tuples from lists of captions: a tuple is a row, a list is a group."""
    return isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], tuple)


def _is_array(value: Any) -> bool:
    """Tell NumPy arrays and pandas series from NumPy scalars and text."""
    return hasattr(value, "tolist") and hasattr(value, "__len__") and not isinstance(value, str)


def _by_id(given: Mapping[Any, Any], name: str) -> tuple[list[ImageId], list[Any]]:
    return _check_ids(list(given), name), list(given.values())


def _by_position(given: Any, name: str) -> tuple[list[ImageId], list[Any]]:
    if _is_array(given):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        raise InputError(
            f"{name}: expected a dict by image id or a list, not {type(given).__name__}; "
            "files are read by read_candidates and read_references"
        )
    return list(range(len(given))), list(given)


def _check_ids(ids: list[Any], name: str) -> list[ImageId]:
    """Return the ids as `str` and `int`, which is what they nearly always are."""
    if set(map(type, ids)) <= {str, int}:
        return ids
    for image in ids:
        if isinstance(image, bool) or not isinstance(image, str | int | np.integer):
            raise InputError(
                f"{name}: an image id is a string or an integer, not {_shorten(image)!r}"
            )
    return [str(image) if isinstance(image, str) else int(image) for image in ids]


def _match(ids: list[ImageId], images: list[ImageId]) -> NDArray[np.int64]:
    """Return int64[rows]: the index into `images` of every row, -1 where there is none."""
    if ids == images:
        return np.arange(len(images), dtype=np.int64)
    if _are_integers(ids) and _spell_integers(images):
        ids = list(map(str, ids))
    elif _spell_integers(ids) and _are_integers(images):
        images = list(map(str, images))
    place_of = dict(zip(images, range(len(images)), strict=True))
    return np.fromiter(map(place_of.get, ids, repeat(-1)), np.int64, len(ids))


def _are_integers(ids: list[ImageId]) -> bool:
    return set(map(type, ids)) == {int}


def _spell_integers(ids: list[ImageId]) -> bool:
    if set(map(type, ids)) != {str}:
        return False
    spelled = "".join(map(str, ids))
    return (spelled.isascii() and spelled.isdecimal()) or all(
        map(_INTEGER.fullmatch, map(str, ids))
    )


def _leave_out(
    images: list[ImageId],
    groups: list[Sequence[str]],
    ids: list[ImageId],
    rows: list[str],
    places: NDArray[np.int64],
) -> tuple[list[ImageId], list[Sequence[str]], list[ImageId], list[str], NDArray[np.int64]]:
    """Keep the images that have both candidates and references."""
    kept = [place for place in np.unique(places[places >= 0]).tolist() if groups[place]]
    kept_rows = np.flatnonzero(np.isin(places, kept))
    selected = kept_rows.tolist()
    return (
        [images[place] for place in kept],
        [groups[place] for place in kept],
        [ids[row] for row in selected],
        [rows[row] for row in selected],
        np.searchsorted(kept, places[kept_rows]).astype(np.int64),
    )


def _check_captions(captions: list[str], owners: Iterable[ImageId], name: str) -> None:
    """Refuse captions that are not text or that UTF-8 cannot hold.

    `str.isascii` raises TypeError on anything but text, so that one pass in C checks the types and
    finds the few captions that need a closer look.
    """
    try:
        "".join(filterfalse(str.isascii, captions)).encode()
    except (TypeError, UnicodeEncodeError):
        numbers: Counter[ImageId] = Counter()
        for caption, image in zip(captions, owners, strict=True):
            numbers[image] += 1
            place = f"{name}: caption {numbers[image]} of image {image!r}"
            if not isinstance(caption, str):
                raise InputError(f"{place} is {_shorten(caption)!r}, expected text") from None
            if _SURROGATE.search(caption):
                raise InputError(
                    f"{place} has half of a surrogate pair, which is no character: "
                    f"{_shorten(caption)!a}; the text was cut or decoded wrongly"
                ) from None
        raise


def _shorten(value: Any) -> Any:
    """Return a value fit to be shown in a message."""
    return value if len(repr(value)) <= 60 else f"{str(value)[:57]}…"


@dataclass(frozen=True, slots=True)
class _Sides:
    """The names of both sides, and the messages that need both."""

    candidates: str
    references: str

    def check_kinds(self, candidates: Any, references: Any) -> None:
        """Refuse lists of different length, and a list against ids."""
        by_position = not isinstance(candidates, Mapping) and not _are_rows(candidates)
        if by_position and isinstance(references, Mapping):
            raise MismatchError(
                f"{self.candidates} are a list, which matches by position, but {self.references} "
                "have ids; give both as lists or both by id"
            )
        if not by_position and not isinstance(references, Mapping):
            raise MismatchError(
                f"{self.candidates} have ids, but {self.references} are a list, which matches by "
                "position; give both as lists or both by id"
            )
        if by_position and len(candidates) != len(references):
            raise MismatchError(
                f"lists match by position, but {self.candidates} have {len(candidates)} entries "
                f"and {self.references} {len(references)}; pass dicts by image id to match by id"
            )

    def check_references(self, images: list[ImageId], groups: list[Sequence[str]]) -> None:
        """Refuse images whose list of references is empty."""
        if all(groups):
            return
        empty = [image for image, group in zip(images, groups, strict=True) if not group]
        what = _count(empty, len(images), "an empty list of references")
        raise MismatchError(f"{what} ({self.references}); {_advice(empty)}")

    def mismatch(
        self, ids: list[ImageId], images: list[ImageId], places: NDArray[np.int64]
    ) -> MismatchError:
        """Return the error for images on one side only."""
        if places.max() < 0:
            return self._nothing_matches(ids, images)
        alone = list(dict.fromkeys(ids[row] for row in np.flatnonzero(places < 0)))
        without = [images[place] for place in np.setdiff1d(np.arange(len(images)), places)]
        parts = []
        if alone:
            what = _count(alone, len(set(ids)), "candidates but no references")
            parts.append(f"{what} ({self.candidates}, row {int(places.argmin()) + 1})")
        if without:
            what = _count(without, len(images), "references but no candidates")
            parts.append(f"{what} ({self.references})")
        return MismatchError("; ".join((*parts, _advice(alone + without))))

    def _nothing_matches(self, ids: list[ImageId], images: list[ImageId]) -> MismatchError:
        return MismatchError(
            f"no image is on both sides: {self.candidates} have {_describe(ids)}, "
            f"{self.references} have {_describe(images)}; both sides must name the images alike"
        )

    def nothing_left(self) -> MismatchError:
        """Return the error for a corpus from which everything was left out."""
        return MismatchError(
            f"nothing is left to score: no image has both candidates ({self.candidates}) and "
            f"references ({self.references})"
        )


def _count(images: list[ImageId], total: int, what: str) -> str:
    """Return who has what: `image 'a' has …` or `12 of 40 images have …: 'a', 'b', 'c', …`."""
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
