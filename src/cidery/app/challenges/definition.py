"""Files that describe challenges: JSON or TOML, with references in files beside them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cidery.captions.corpus import ImageId
from cidery.captions.formats import read_references
from cidery.captions.slices import SlicesLike, find_slices, is_file_of_slices
from cidery.errors import FormatError, MissingExtraError

ReferencesByImage: TypeAlias = Mapping[ImageId, Sequence[str]]


@dataclass(frozen=True)
class NamedSlices:
    """Slices of a challenge's images, and what they are called together."""

    name: str
    by: SlicesLike


def read_challenge(
    path: Path,
) -> tuple[dict[str, Any], dict[str, ReferencesByImage], NamedSlices | None]:
    """Read a challenge's file, JSON or TOML; references and slices are files relative to it."""
    text = path.read_text(encoding="utf-8")
    try:
        content = parse_toml(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None
    files = content.pop("references", None) if isinstance(content, dict) else None
    if not isinstance(files, dict) or not files:
        raise FormatError(f'{path}: "references" must name files, such as {{"c5": "c5.json"}}')
    sets: dict[str, ReferencesByImage] = {
        str(name): read_references(path.parent / str(file)) for name, file in files.items()
    }
    named = content.pop("slices", None)
    if named is None:
        return content, sets, None
    if not isinstance(named, str):
        raise FormatError(f'{path}: "slices" must be a file, a field of the references or length')
    beside = str(path.parent / named)
    if is_file_of_slices(beside):
        return content, sets, NamedSlices(named, find_slices(beside, (), ()))
    first, images = next(iter(files.values())), next(iter(sets.values()))
    by = find_slices(named, [(str(path.parent / str(first)), None)], images)
    return content, sets, NamedSlices(named, by)


def parse_toml(text: str) -> Any:
    """Parse TOML, which Python itself reads from 3.11 on."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise MissingExtraError.to(
                "read a challenge from TOML with Python 3.10", package="tomli", extra="server"
            ) from None
    return tomllib.loads(text)
