"""Captions as users pass them: dicts, lists, tuples and arrays become checked lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, TypeAlias

from cidery.corpus.ids import ImageId, check_ids
from cidery.errors import InputError
from cidery.text import ScannedCaptions, scan_captions

Rows: TypeAlias = list[tuple[ImageId, str]]
"""Candidates one by one, `(id, caption)`; an image may come more than once."""
Candidates: TypeAlias = (
    Mapping[Any, str]
    | Mapping[Any, Sequence[str]]
    | Sequence[str]
    | Sequence[Sequence[str]]
    | Sequence[tuple[ImageId, str]]
)
"""id -> caption or captions, a list of captions or of lists, or `(id, caption)` tuples."""
References: TypeAlias = Mapping[Any, Sequence[str]] | Sequence[Sequence[str]]
"""id -> captions, or a list of lists of captions."""


class Runs(tuple[Candidates, ...]):
    """Captions of one system by several runs, such as trainings with different seeds.

    ```python
    systems = {"ours": cidery.Runs([run1, run2, run3]), "theirs": captions}
    ```
    """


SystemCaptions: TypeAlias = Candidates | Runs | Sequence[Mapping[Any, Any]]
"""Captions of one system, or of its runs: `Runs`, or a list of dictionaries."""


def list_runs(given: Any, name: str) -> list[Any]:
    """Return the captions of each run; captions that are not runs are one."""
    if isinstance(given, Runs):
        if not given:
            raise InputError(f"{name}: there are no runs")
        return list(given)
    if isinstance(given, list | tuple) and given and all(isinstance(r, Mapping) for r in given):
        return list(given)
    return [given]


_SURROGATE = re.compile("[\ud800-\udfff]")


def group_references(given: Any, name: str) -> tuple[list[ImageId], list[Sequence[str]]]:
    """Return image ids and, for each, its captions as a list or tuple."""
    ids, values = _by_id(given, name) if isinstance(given, Mapping) else _by_position(given, name)
    if not set(map(type, values)) <= {list, tuple}:
        values = [
            _as_captions(value, image, name) for image, value in zip(ids, values, strict=True)
        ]
    return ids, values


def _as_captions(value: Any, image: ImageId, name: str) -> Sequence[str]:
    """Return the references of an image as a list; refuse a bare string."""
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


def list_candidates(given: Any, name: str) -> tuple[list[ImageId], list[str]]:
    """Return the id and the caption of each row."""
    if isinstance(given, Mapping):
        ids, values = _by_id(given, name)
    elif are_rows(given):
        if set(map(type, given)) != {tuple} or set(map(len, given)) != {2}:
            raise InputError(
                f"{name}: expected every entry to be an (id, caption) tuple, as the first is"
            )
        ids = check_ids([image for image, _ in given], name)
        values = [caption for _, caption in given]
    else:
        ids, values = _by_position(given, name)
    if set(map(type, values)) <= {str}:
        return ids, values
    groups = list(map(_as_group, values))
    owners = chain.from_iterable(map(repeat, ids, map(len, groups)))
    return list(owners), list(chain.from_iterable(groups))


def _as_group(value: Any) -> Sequence[str]:
    """Return the candidates of an image, which may be a single string."""
    if isinstance(value, list | tuple):
        return value
    return list(value.tolist()) if _is_array(value) else (value,)


def are_rows(given: Any) -> bool:
    """Return True for a list of `(id, caption)` tuples."""
    return isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], tuple)


def _is_array(value: Any) -> bool:
    """Return True for NumPy arrays and pandas series."""
    return hasattr(value, "tolist") and hasattr(value, "__len__") and not isinstance(value, str)


def _by_id(given: Mapping[Any, Any], name: str) -> tuple[list[ImageId], list[Any]]:
    return check_ids(list(given), name), list(given.values())


def _by_position(given: Any, name: str) -> tuple[list[ImageId], list[Any]]:
    if _is_array(given):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        raise InputError(
            f"{name}: expected a dict by image id or a list, not {type(given).__name__}; "
            "files are read by read_candidates and read_references"
        )
    return list(range(len(given))), list(given)


def check_captions(
    captions: Sequence[str], owners: Iterable[ImageId], name: str
) -> ScannedCaptions:
    """Return captions that are text and valid UTF-8; InputError names the first that is not.

    Args:
        captions: Captions to check.
        owners: The image of each caption.
        name: Name of the captions in messages.
    """
    try:
        scanned = scan_captions(captions)
        "".join(scanned.non_ascii).encode()
        return scanned
    except (TypeError, UnicodeEncodeError):
        numbers: Counter[ImageId] = Counter()
        for caption, image in zip(captions, owners, strict=True):
            numbers[image] += 1
            place = f"{name}: caption {numbers[image]} of image {image!r}"
            if not isinstance(caption, str):
                raise InputError(f"{place} is {_shorten(caption)!r}, expected text") from None
            if _SURROGATE.search(caption):
                raise InputError(
                    f"{place} has half of a surrogate pair, which is not a valid character: "
                    f"{_shorten(caption)!a}; the text was truncated or decoded wrongly"
                ) from None
        raise


def _shorten(value: Any) -> Any:
    """Return a value fit to be shown in a message."""
    return value if len(repr(value)) <= 60 else f"{str(value)[:57]}…"
