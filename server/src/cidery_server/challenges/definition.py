"""Files that describe challenges: JSON or TOML, with references in files beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cidery.corpus import ImageId, SlicesLike
from cidery.errors import FormatError
from cidery.files import find_slices, is_slice_file, read_references
from cidery.storage import parse_toml

ReferencesByImage: TypeAlias = Mapping[ImageId, Sequence[str]]


@dataclass(frozen=True)
class NamedSlices:
    """Slices of a challenge's images, and the name of their property."""

    name: str
    by: SlicesLike


@dataclass(frozen=True)
class Definition:
    """A challenge, or one of its phases, as a file describes it."""

    fields: Mapping[str, Any]
    reference_sets: Mapping[str, ReferencesByImage]
    slices: NamedSlices | None


def read_challenge(path: Path) -> list[Definition]:
    """Read a challenge's file, JSON or TOML; references and slices are files relative to it.

    With `phases`, a list of tables that each have a `phase`, its name, and what differs from the
    rest of the file, there is a definition for each, the main challenge's first.
    """
    text = path.read_text(encoding="utf-8")
    try:
        content = parse_toml(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected an object with slug, title, metrics and references")
    phases = content.pop("phases", None)
    if phases is None:
        return [_define(content, path)]
    if not isinstance(phases, list) or not phases or not all(isinstance(p, dict) for p in phases):
        raise FormatError(
            f'{path}: "phases" must be a list of tables, such as '
            '[{"phase": "dev", "references": {"c5": "dev.json"}}]'
        )
    return [_define(content | phase, path) for phase in phases]


def _define(content: dict[str, Any], path: Path) -> Definition:
    content = dict(content)
    files = content.pop("references", None)
    if not isinstance(files, dict) or not files:
        raise FormatError(f'{path}: "references" must name files, such as {{"c5": "c5.json"}}')
    sets: dict[str, ReferencesByImage] = {
        str(name): read_references(path.parent / str(file)) for name, file in files.items()
    }
    named = content.pop("slices", None)
    if named is None:
        return Definition(content, sets, None)
    if not isinstance(named, str):
        raise FormatError(f'{path}: "slices" must be a file, a field of the references or length')
    beside = str(path.parent / named)
    if is_slice_file(beside):
        return Definition(content, sets, NamedSlices(named, find_slices(beside, (), ())))
    first, images = next(iter(files.values())), next(iter(sets.values()))
    by = find_slices(named, [(str(path.parent / str(first)), None)], images)
    return Definition(content, sets, NamedSlices(named, by))
