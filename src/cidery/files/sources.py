"""Sources of content: a path, bytes or an open file, and its name in messages."""

from __future__ import annotations

import codecs
import gc
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

from cidery.errors import FormatError, InputError

Readable: TypeAlias = str | os.PathLike[str] | bytes | IO[bytes] | IO[str]
"""Path (`-` is standard input), bytes, or open file."""


@dataclass(frozen=True, slots=True)
class Source:
    """Name of a file and of its records in messages."""

    name: str
    unit: str = "entry"
    first: int = 0
    """Number of records before those of this chunk."""

    def fail(self, problem: str, *, index: int | None = None) -> NoReturn:
        """Raise a FormatError with the file and the number of the record, from 1."""
        place = self.name if index is None else f"{self.name}, {self.unit} {self.place(index)}"
        raise FormatError(f"{place}: {problem}") from None

    def place(self, index: int) -> int:
        """Return the number of a record in the file, from 1."""
        return self.first + index + 1


def read_bytes(
    source: Readable, *, name: str | None = None, default: str = "the content"
) -> tuple[str, bytes]:
    """Return the name and the content of a source; gzip is decompressed.

    Args:
        source: a path, bytes or an open file.
        name: name in messages. Default: the path, or the name of the open file.
        default: name of sources without one.
    """
    name = name or _find_name(source) or default
    content = _read(source)
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            Source(name).fail(f"the gzip data is damaged or cut short ({error})")
    return name, content


def read_text(
    source: Readable, *, name: str | None = None, default: str = "the content"
) -> tuple[str, str]:
    """Return the name and the text of a source: UTF-8, or UTF-16 with a byte order mark."""
    name, content = read_bytes(source, name=name, default=default)
    return name, decode(content, Source(name))


def _find_name(source: Readable) -> str | None:
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "standard input" if path == "-" else path
    found = getattr(source, "name", None)  # a number where the file was opened by its descriptor
    return found if isinstance(found, str) else None


def _read(source: Readable) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str | os.PathLike):
        is_standard_input = os.fspath(source) == "-"
        return sys.stdin.buffer.read() if is_standard_input else Path(source).read_bytes()
    if not hasattr(source, "read"):
        raise InputError(f"expected a path, bytes or an open file, not {type(source).__name__}")
    content = source.read()
    # Half of a surrogate pair becomes bytes that `decode` refuses with the place.
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


def decode(content: bytes, source: Source) -> str:
    """Decode UTF-8 or UTF-16; raise a FormatError with the line of an invalid byte."""
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.first + content.count(b"\n", 0, error.start) + 1
        source.fail(
            f"byte {content[error.start]:#04x} in line {line} is not "
            f"{'UTF-16' if utf16 else 'UTF-8'}; convert the file, "
            "for instance with: iconv -f latin1 -t utf-8"
        )


def read_json_lines(text: str, name: str, before: int = 0) -> Iterator[tuple[int, Any]]:
    """Yield the number and the content of every line that is not blank.

    Args:
        text: JSON lines.
        name: name of the file in messages.
        before: number of lines of the file before the text.
    """
    for number, line in enumerate(
        text.split("\n"), start=before + 1
    ):  # other line breaks are JSON's text
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = error.msg if isinstance(error, json.JSONDecodeError) else error
            Source(name).fail(
                f"line {number} is not JSON: {problem}; JSON lines have one object per line"
            )


def read_json_objects(text: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place (`name, line 3`) and the object of every line."""
    for number, content in read_json_lines(text, name):
        place = f"{name}, line {number}"
        if not isinstance(content, dict):
            raise FormatError(f"{place}: expected a JSON object, found {shorten(content)}")
        yield place, content


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector while many records are parsed.

    It would take a fifth of the time to read `captions_val2014.json`; JSON makes no cycles.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def shorten(value: Any) -> str:
    """Return a value as short JSON for a message."""
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
