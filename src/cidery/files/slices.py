"""Slices: groups of images, such as nocaps' domains, whose scores are looked at apart.

An image may be in several slices, or in none. Ids match as those of candidates and references do.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus import ImageId, check_ids, match_ids
from cidery.errors import InputError, MismatchError, SettingError, SliceWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

SlicesLike: TypeAlias = str | os.PathLike[str] | Mapping[Any, Any] | Sequence[Any]
"""id -> slice or slices, a list in the images' order, a file, or the name of a grouping."""

ALL = "(all)"
"""What tables call all images."""
NONE = "(none)"
"""The slice of images that are in no other."""
MOST_SLICES = 100
GROUPINGS = ("length", "references")
"""What images can be grouped by without a file."""
_GROUPING = re.compile(rf"({'|'.join(GROUPINGS)})(?::(.*))?")
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class Slices:
    """Which images are in which slice."""

    by: str
    """What they are called together, such as `domain` or the name of a file."""
    members: Mapping[str, NDArray[np.int64]]
    """slice -> indexes of its images, rising"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", MappingProxyType(dict(self.members)))


@dataclass(frozen=True, eq=False)
class Described:
    """What images are grouped by where no file says it: numbers per image, made when asked for."""

    lengths: Callable[[], NDArray[np.float64]]
    """The mean number of words of each image's references."""
    reference_counts: Callable[[], NDArray[np.int64]]


def read_slice_names(value: Any, place: str) -> tuple[str, ...]:
    """Return the names of the slices that a value stands for; none for null and blanks."""
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
    """Tell whether a text names a grouping, such as `length` or `length:8,12`."""
    return _GROUPING.fullmatch(text) is not None


def slice_images(
    by: SlicesLike, images: Sequence[ImageId], described: Described, name: str | None = None
) -> Slices:
    """Group images by a mapping, a list, a file or the name of a grouping.

    Args:
        by: id -> slice or slices, a list in the images' order, `length` (quartiles of the
            references' words), `length:8,12` (with these edges), `references` (how many there are),
            or a file as `read_slices` takes it, also as `FILE:COLUMN`.
        images: the images' ids.
        described: what the groupings need.
        name: what messages call the slices.
    """
    if isinstance(by, str) and (match := _GROUPING.fullmatch(by)):
        return _group(match[1], match[2], described)
    if isinstance(by, str) and not is_file_of_slices(by):
        raise SettingError(
            f"no slices named {by!r}: neither {', '.join(GROUPINGS)}, an existing file nor "
            "FILE:COLUMN; give a dict by image id, or read a field with read_slices"
        )
    if isinstance(by, str | os.PathLike):
        return _match(read_named_slices(by), images, name or os.fspath(by))
    return _match(_as_mapping(by, images), images, name or "slices")


def find_slices(
    text: str, files: Sequence[tuple[str, str | None]], images: Collection[ImageId]
) -> SlicesLike:
    """Return what a text names: a grouping, a file, `FILE:COLUMN`, or a field of one of `files`.

    Args:
        text: what someone typed.
        files: of references, then of candidates, each with the field of its ids, if named.
        images: that the references have: the other records of the first file are left out.
    """
    if is_grouping(text):
        return text
    if is_file_of_slices(text):
        return read_named_slices(text)
    from cidery.files.slice_files import NoColumnError, read_slices

    looked = []
    for number, (file, id_field) in enumerate(files):
        if file == "-":
            looked.append("standard input can be read once only")
            continue
        try:
            kept = images if number == 0 else None
            return read_slices(file, text, id_field=id_field, images=kept)
        except NoColumnError as error:
            looked.append(error.found)
    raise SettingError(
        f"no slices named {text!r}: neither {', '.join(GROUPINGS)}, an existing file, FILE:COLUMN "
        f"nor a field; {'; '.join(looked)}"
    )


def is_file_of_slices(text: str) -> bool:
    """Tell whether a text is a file, or a file and a column as `FILE:COLUMN`."""
    return _is_file(text) or _is_file(text.rpartition(":")[0])


def read_named_slices(text: str | os.PathLike[str]) -> dict[ImageId, tuple[str, ...]]:
    """Read a file, or one column of it where the text is `FILE:COLUMN`."""
    # Reading files takes longer to import than the rest of scoring does.
    from cidery.files import read_slices

    path = os.fspath(text)
    if _is_file(path) or ":" not in path:
        return read_slices(path)
    file, _, column = path.rpartition(":")
    return read_slices(file, column)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long a name, a null byte
        return False


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


def _match(given: Mapping[Any, Any], images: Sequence[ImageId], name: str) -> Slices:
    """Find the images of each slice; say what does not fit."""
    ids = check_ids(list(given), name)
    if not ids:
        raise InputError(f"{name}: there are no slices")
    places = match_ids(ids, list(images))
    if places.max() < 0:
        raise MismatchError(
            f"no image is in a slice: {name} has ids such as {_examples(ids)}, the images scored "
            f"are {_examples(images)}; both must name the images alike"
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
        raise InputError(f"{name}: no slice may be called {ALL!r}, which stands for all images")
    if len(members) > MOST_SLICES:
        raise InputError(
            f"{name}: {len(members)} different values for {len(images)} images are too many "
            f"slices, of which there may be {MOST_SLICES}; choose a column with fewer values"
        )
    for problem in _find_misfits(ids, places, sorted(left), images, name):
        warnings.warn(problem, SliceWarning, stacklevel=5)
    return Slices(name, {key: np.unique(members[key]) for key in _in_order(members)})


def _find_misfits(
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
            f"{name}: {len(unknown)} of {len(ids)} ids {verb} not among the images scored: "
            f"{_examples(unknown)}"
        )
    if left:
        verb = "has no slice and forms" if len(left) == 1 else "have no slice and form"
        found = [images[place] for place in left]
        yield f"{name}: {len(left)} of {len(images)} images {verb} {NONE!r}: {_examples(found)}"


def _group(grouping: str, edges: str | None, described: Described) -> Slices:
    if grouping == "references":
        if edges is not None:
            raise SettingError("slices by references have no edges; write: references")
        counts = described.reference_counts()
        members = {
            f"{count} reference{'s' * (count != 1)}": np.flatnonzero(counts == count)
            for count in np.unique(counts).tolist()
        }
        if len(members) > MOST_SLICES:
            raise InputError(
                f"images have {len(members)} different numbers of references: too many"
            )
        return Slices("references", members)
    lengths = described.lengths()
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
    if not np.isfinite(edges).all() or (np.diff(edges) <= 0).any() or len(edges) >= MOST_SLICES:
        raise SettingError(
            f"the edges of slices by length are rising numbers of words, as in length:8,12, "
            f"not {text!r}"
        )
    return edges


def _name_lengths(edges: NDArray[np.float64], number: int) -> str:
    if number == 0:
        return f"up to {edges[0]:g} words"
    if number == len(edges):
        return f"over {edges[-1]:g} words"
    return f"over {edges[number - 1]:g} to {edges[number]:g} words"


def _in_order(names: Iterable[str]) -> list[str]:
    """Sort by the numbers inside names, then by letters; `(none)` comes last."""

    def key(name: str) -> tuple[bool, list[tuple[int, int, str]]]:
        parts = filter(None, re.split(r"([0-9]{1,18})", name))
        numbers = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]
        return name == NONE, numbers

    return sorted(names, key=key)


def _examples(ids: Sequence[ImageId]) -> str:
    shown = ", ".join(map(repr, ids[:_EXAMPLES]))
    return f"{shown}, …" if len(ids) > _EXAMPLES else shown
