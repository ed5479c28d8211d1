"""Slices: subsets of images by a property, such as the domains of nocaps.

An image may be in several slices, or in none. Ids match as those of candidates and references do.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus.ids import ImageId, check_ids, match_ids
from cidery.errors import InputError, MismatchError, SettingError, SliceWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

SlicesLike: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any] | Sequence[Any]
"""id -> slice or slices, a list in the images' order, a file, or the name of a grouping."""

ALL = "(all)"
"""Label of all images in tables."""
NONE = "(none)"
"""Slice of images without a slice."""
MAX_SLICES = 100
"""Maximum number of slices."""
GROUPINGS = ("length", "references")
"""Properties by which images can be grouped without a file."""
_GROUPING = re.compile(rf"({'|'.join(GROUPINGS)})(?::(.*))?")
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class Slices:
    """Images by slice."""

    by: str
    """Name of the property, such as `domain` or the name of a file."""
    members: Mapping[str, NDArray[np.int64]]
    """slice -> indexes of its images, sorted"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", MappingProxyType(dict(self.members)))


@dataclass(frozen=True, eq=False)
class GroupingData:
    """Numbers per image by which images can be grouped, computed on demand."""

    lengths: Callable[[], NDArray[np.float64]]
    """Mean number of words of the references of each image."""
    reference_counts: Callable[[], NDArray[np.int64]]


def read_slice_names(value: Any, place: str) -> tuple[str, ...]:
    """Return the names of slices in a value; none for null and blanks."""
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return tuple(dict.fromkeys(n for part in parts for n in _name(part, place)))
    return _name(value, place)


def _name(value: Any, place: str) -> tuple[str, ...]:
    value = value.item() if hasattr(value, "item") else value  # NumPy's numbers
    if value is None or value != value:  # nan, as data frames have it
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, str | int | float):
        text = f"{value:.12g}" if isinstance(value, float) else str(value)
        return (" ".join(text.split()),) if text.strip() else ()
    raise InputError(f"{place}: a slice is {value!r:.60}, expected text, a number or a list")


def is_grouping(text: str) -> bool:
    """Return True if a text names a grouping, such as `length` or `length:8,12`."""
    return _GROUPING.fullmatch(text) is not None


def _as_mapping(by: Any, images: Sequence[ImageId]) -> Mapping[Any, Any]:
    if isinstance(by, Mapping):
        return by
    if hasattr(by, "to_dict"):  # a pandas series, by its index
        return dict(by.to_dict())
    given = by.tolist() if hasattr(by, "tolist") else by
    if not isinstance(given, list | tuple):
        raise InputError(
            f"slices are a dict by image id, a list, a file or one of {', '.join(GROUPINGS)}, "
            f"not {type(by).__name__}"
        )
    if not all(isinstance(image, int) and 0 <= image < len(given) for image in images):
        raise MismatchError(
            f"slices are a list of {len(given)}, which matches by position, but the images have "
            "ids, or there are more of them; give slices as a dict by image id"
        )
    return dict(enumerate(given))


def match_slices(by: Any, images: Sequence[ImageId], name: str) -> Slices:
    """Return the slices of images by a mapping or a list; warn about unmatched ids.

    Args:
        by: id -> slice or slices, a list in the order of the images, or a pandas series.
        images: ids of the images.
        name: name of the slices in messages.
    """
    given = _as_mapping(by, images)
    ids = check_ids(list(given), name)
    if not ids:
        raise InputError(f"{name}: there are no slices")
    places = match_ids(ids, list(images))
    if places.max() < 0:
        raise MismatchError(
            f"no image is in a slice: {name} has ids such as {_examples(ids)}, the scored images "
            f"{_examples(images)}; use the same ids for both"
        )
    members: dict[str, list[int]] = {}
    left = set(range(len(images)))
    for place, value in zip(places.tolist(), given.values(), strict=True):
        if place < 0:
            continue
        for slice_name in read_slice_names(value, name):
            members.setdefault(slice_name, []).append(place)
            left.discard(place)
    if left:
        members.setdefault(NONE, []).extend(left)
    if ALL in members:
        raise InputError(f"{name}: the name {ALL!r} is reserved for all images; rename the slice")
    if len(members) > MAX_SLICES:
        raise InputError(
            f"{name}: too many slices ({len(members)} for {len(images)} images; the maximum is "
            f"{MAX_SLICES}); choose a column with fewer values"
        )
    for problem in _list_unmatched(ids, places, sorted(left), images, name):
        warnings.warn(problem, SliceWarning, stacklevel=5)
    return Slices(name, {key: np.unique(members[key]) for key in _sort_names(members)})


def _list_unmatched(
    ids: Sequence[ImageId],
    places: NDArray[np.int64],
    left: Sequence[int],
    images: Sequence[ImageId],
    name: str,
) -> Iterator[str]:
    unknown = [ids[index] for index in np.flatnonzero(places < 0).tolist()]
    if unknown:
        verb = "is" if len(unknown) == 1 else "are"
        yield (
            f"{name}: {len(unknown)} of {len(ids)} ids {verb} not among the scored images: "
            f"{_examples(unknown)}"
        )
    if left:
        verb = "has no slice and forms" if len(left) == 1 else "have no slice and form"
        found = [images[place] for place in left]
        yield f"{name}: {len(left)} of {len(images)} images {verb} {NONE!r}: {_examples(found)}"


def group_images(grouping: str, data: GroupingData) -> Slices:
    """Return the slices of a grouping: `length`, `length:8,12` or `references`."""
    property_name, _, given_edges = grouping.partition(":")
    edges = given_edges if ":" in grouping else None
    if property_name == "references":
        if edges is not None:
            raise SettingError("slices by references have no edges; write: references")
        counts = data.reference_counts()
        members = {
            f"{count} reference{'s' * (count != 1)}": np.flatnonzero(counts == count)
            for count in np.unique(counts).tolist()
        }
        if len(members) > MAX_SLICES:
            raise InputError(
                f"too many slices: images have {len(members)} different numbers of references (the "
                f"maximum is {MAX_SLICES})"
            )
        return Slices("references", members)
    lengths = data.lengths()
    given = _read_edges(edges) if edges is not None else np.quantile(lengths, (0.25, 0.5, 0.75))
    bounds = np.unique(given)
    place = np.searchsorted(bounds, lengths, side="left")  # an edge belongs to the slice below
    members = {
        _name_lengths(bounds, number): np.flatnonzero(place == number)
        for number in range(len(bounds) + 1)
    }
    return Slices("length", {key: found for key, found in members.items() if len(found)})


def _read_edges(text: str) -> NDArray[np.float64]:
    try:
        edges = np.array([float(edge) for edge in text.split(",")])
    except ValueError:
        edges = np.array([np.nan])
    if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any() or len(edges) >= MAX_SLICES:
        raise SettingError(
            f"edges of slices must be increasing numbers, as in length:8,12, not {text!r}"
        )
    return edges


def _name_lengths(edges: NDArray[np.float64], number: int) -> str:
    if number == 0:
        return f"up to {edges[0]:g} words"
    if number == len(edges):
        return f"over {edges[-1]:g} words"
    return f"over {edges[number - 1]:g} to {edges[number]:g} words"


def _sort_names(names: Iterable[str]) -> list[str]:
    """Sort by the numbers inside names, then by letters; `(none)` comes last."""

    def key(name: str) -> tuple[bool, list[tuple[int, int, str]]]:
        parts = filter(None, re.split(r"([0-9]{1,18})", name))
        numbers = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
        return name == NONE, numbers

    return sorted(names, key=key)


def _examples(ids: Sequence[ImageId]) -> str:
    shown = ", ".join(map(repr, ids[:_EXAMPLES]))
    return f"{shown}, …" if len(ids) > _EXAMPLES else shown
