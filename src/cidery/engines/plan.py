"""The plan of a stream: its inputs and settings, its folder, and how far it is."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cidery._version import __version__
from cidery.engines.base import Engine
from cidery.engines.content import find_unknown
from cidery.engines.spill import GROUP_BITS, Split, split_piece
from cidery.errors import InputError, MismatchError, SettingError
from cidery.files.chunks import cut_file, describe_file, find_files, measure_file
from cidery.files.fields import Side
from cidery.runtime.progress import current_progress
from cidery.storage import write_atomically

T = TypeVar("T")
R = TypeVar("R")

PARTITION_BYTES = 4_000_000
"""Of the inputs' files; some twenty thousand captions with their references."""
LAYOUT = 4
"""Of the files in a plan's folder; raised when they change, so that no run goes on with others."""
MANIFEST = "manifest.json"
WORK = "cidery-work-"
"""What names of folders begin with that nobody named."""


@dataclass(frozen=True)
class Input:
    """One side of a stream."""

    given: str
    side: Side
    files: tuple[str, ...]
    caption_field: str | None = None
    id_field: str | None = None

    @classmethod
    def find(
        cls,
        given: str,
        side: Side,
        caption_field: str | None = None,
        id_field: str | None = None,
        written: Sequence[str | Path | None] = (),
    ) -> Input:
        """Look which files there are, without folders in the given one that are written into.

        Paths are absolute: tasks may run in processes that work in another folder.
        """
        folders = [Path(folder).absolute() for folder in written if folder is not None]
        folders = [folder for folder in folders if Path(given).absolute() in folder.parents]
        files = [
            file
            for file in map(_make_absolute, find_files(given))
            if not _is_within(Path(file), folders)
        ]
        if not files:
            raise InputError(f"{given}: there is no file of captions here but what runs write")
        return cls(given, side, tuple(files), caption_field, id_field)

    def describe(self) -> dict[str, Any]:
        """Return what tells whether the input has changed."""
        return {
            "given": self.given,
            "files": {file: describe_file(file) for file in self.files},
            "caption_field": self.caption_field,
            "id_field": self.id_field,
        }


@dataclass(frozen=True)
class Plan:
    """What is done with some inputs, in a folder that keeps what is done."""

    inputs: tuple[Input, ...]
    settings: dict[str, Any]
    """Everything that results depend on, ready for JSON."""
    folder: Path
    partitions: int
    splits: list[Split] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        inputs: Sequence[Input],
        settings: dict[str, Any],
        content: Mapping[str, str],
        folder: Path,
        partitions: int | None = None,
    ) -> Plan:
        """Start in a new folder, or resume the same run in its folder.

        Args:
            inputs: Both sides of a stream, or references.
            settings: Settings of the run, ready for JSON.
            content: `describe_content` of the run.
            folder: Working directory.
            partitions: Number of partitions. Default: by the size of the inputs.
        """
        described = {
            "version": __version__,
            "layout": LAYOUT,
            "inputs": {each.side: each.describe() for each in inputs},
            "settings": settings,
            "content": dict(content),
        }
        size = sum(measure_file(file) for each in inputs for file in each.files)
        partitions = choose_partitions(size, partitions)
        description = {**described, "partitions": partitions}
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if manifest.exists():
            _check_manifest(json.loads(manifest.read_text()), description, folder)
        elif any(path.name != "lock" for path in folder.iterdir()):
            raise SettingError(
                f"{folder} holds other files, but no {MANIFEST}; name an empty folder"
            )
        else:
            write_atomically(manifest, json.dumps(description, indent=1).encode())
        for name in ("split", "count", "score"):
            (folder / name).mkdir(exist_ok=True)
        return cls(tuple(inputs), settings, folder, partitions)

    def split(self, engine: Engine, report: Progress) -> tuple[Plan, dict[Side, Counts]]:
        """Cut the inputs into partitions; return the plan that knows the pieces, and counts."""
        splits = []
        for each in self.inputs:
            pieces = [piece for file in each.files for piece in cut_file(file)]
            splits += [
                Split(
                    piece,
                    each.side,
                    each.caption_field,
                    each.id_field,
                    self.partitions,
                    self.folder / "split" / f"{each.side}-{number:06}.arrow",
                )
                for number, piece in enumerate(pieces)
            ]
        counts = {each.side: Counts(each) for each in self.inputs}
        # Results come in any order, so each says whose it is.
        for side, found in report.follow(engine.map(_split, splits), len(splits)):
            counts[side].add(found)
        for count in counts.values():
            count.check()
        return Plan(self.inputs, self.settings, self.folder, self.partitions, splits), counts

    def close(self) -> None:
        """Remove the folder of a plan that is done.

        It gets another name first: what is half removed must not be gone on with.
        """
        try:
            leaving = Path(tempfile.mkdtemp(prefix=f"{WORK}removed-", dir=self.folder.parent))
            self.folder.rename(leaving / "work")
        except OSError:  # a disk of its own, or a folder that only this one can be removed from
            leaving = self.folder
        shutil.rmtree(leaving)


def _split(task: Split) -> tuple[Side, dict[str, Any]]:
    return task.side, split_piece(task)


@dataclass
class Counts:
    """What is known of one side after it was cut."""

    input: Input
    rows: int = 0
    captions: int = 0
    kinds: set[str] = field(default_factory=set)
    spelled: bool = True

    def add(self, found: dict[str, Any]) -> None:
        """Take in what a piece holds."""
        self.rows += found["rows"]
        self.captions += found["captions"]
        if found["kind"]:
            self.kinds.add(found["kind"])
            self.spelled &= found["spelled"]

    def check(self) -> None:
        """Refuse a side without captions or with ids of two kinds."""
        if not self.rows:
            raise InputError(f"{self.input.given}: there are no captions")
        if len(self.kinds) > 1:
            raise InputError(
                f"{self.input.given}: some files have integers as ids and some have strings; in a "
                "stream all ids of a side are integers or all are strings"
            )


def check_ids(candidates: Counts, references: Counts) -> None:
    """Refuse integers against strings that do not spell integers, as no image would match."""
    alike = candidates.kinds == references.kinds or (candidates.spelled and references.spelled)
    if not alike:
        raise MismatchError(
            f"no image is on both sides: the ids of {candidates.input.given} are "
            f"{_name(candidates)}, those of {references.input.given} are {_name(references)}; both "
            "sides must name the images alike"
        )


def _name(side: Counts) -> str:
    return "integers" if side.kinds == {"int"} else "strings"


def _make_absolute(file: str) -> str:
    return file if "://" in file else os.path.abspath(file)  # noqa: PTH100 (keeps symbolic links)


def _is_within(file: Path, folders: Sequence[Path]) -> bool:
    """Tell whether a file is a run's own, in one of these folders or in one that nobody named."""
    return any(folder in folders or folder.name.startswith(WORK) for folder in file.parents)


def choose_partitions(size: int, partitions: int | None) -> int:
    """Return how many partitions inputs of so many bytes have: a power of two."""
    most = 1 << GROUP_BITS
    if partitions is None:
        wanted = max(1, -(-size // PARTITION_BYTES))
        return min(most, 1 << (wanted - 1).bit_length())
    is_whole = isinstance(partitions, int) and not isinstance(partitions, bool)
    if not is_whole or not 1 <= partitions <= most or partitions & (partitions - 1):
        raise SettingError(
            f"the number of partitions is a power of two up to {most}, not {partitions!r}"
        )
    return partitions


def _check_manifest(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse to resume a run with other inputs, settings, code or data."""
    unfinished = f"{folder} contains an unfinished run"
    remedy = "remove that folder to start again, or pass another with work= (--work)"
    for name, reason in find_unknown(now["content"]):
        raise InputError(
            f"{unfinished}, which cannot be resumed: {name} uses {reason}, whose content cannot be "
            f"compared with the first run's; {remedy}"
        )
    if before == now:
        return
    known = before.get("content", {})
    other = [
        name for name in {**known, **now["content"]} if known.get(name) != now["content"].get(name)
    ]
    changed = [
        file
        for side, known in before.get("inputs", {}).items()
        for file, status in known["files"].items()
        if now["inputs"].get(side, {}).get("files", {}).get(file, status) != status
    ]
    if before["settings"] == now["settings"]:
        changed += other
    problem = (
        f"{changed[0]} changed after it started"
        if changed
        else "it has other inputs, other settings or another version of cidery"
    )
    raise InputError(f"{unfinished}, but {problem}; {remedy}")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep others from working in a folder; a killed process holds no lock."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            f"another process is working in {folder}; wait for it, or name another folder with "
            "work= (--work)"
        ) from None
    mine = _identify(folder / "lock")
    try:
        yield
    finally:
        # Nothing was begun: removed while it is locked, since another may begin right after, or
        # may have begun where a plan that is done has left the folder.
        is_bare = all(path.name == "lock" for path in folder.glob("*"))
        if is_bare and _identify(folder / "lock") == mine:
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _identify(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that has its name later; None where there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@dataclass
class Progress:
    """Reports how far a step is, how fast it goes and when it will be done."""

    what: str
    unit: str = ""
    size: Callable[[Any], int] | None = None
    """How many units a result is worth."""

    def follow(self, results: Iterator[R], count: int) -> Iterator[R]:
        """Yield results, and report after each."""
        progress = current_progress()
        begun = time.monotonic()
        units = 0
        progress(self.what, 0.0)
        for done, result in enumerate(results, start=1):
            passed = max(time.monotonic() - begun, 1e-9)
            left = passed / done * (count - done)
            text = f"{self.what}, {_spell_time(left)} left"
            if self.size is not None:
                units += self.size(result)
                text += f", {units / passed:,.0f} {self.unit}/s"
            progress(text, done / count)
            yield result


def _spell_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
