"""Plan of a stream: its inputs, settings and working directory, and the steps that are done."""

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
from cidery.engines.partitions import GROUP_BITS, SplitTask, split_chunk
from cidery.errors import InputError, MismatchError, SettingError
from cidery.files import Side, find_files, fingerprint_file, get_file_size, split_file
from cidery.runtime import current_progress
from cidery.storage import write_atomically

T = TypeVar("T")
R = TypeVar("R")

PARTITION_BYTES = 4_000_000
"""Size of the input files per partition: about 20,000 captions with their references."""
LAYOUT = 4
"""Version of the files in a working directory."""
MANIFEST = "manifest.json"
WORK_PREFIX = "cidery-work-"
"""Prefix of default working directories."""


@dataclass(frozen=True)
class Input:
    """Candidates or references of a stream."""

    source: str
    """Path, folder, pattern or URL."""
    side: Side
    files: tuple[str, ...]
    caption_field: str | None = None
    id_field: str | None = None

    @classmethod
    def find(
        cls,
        source: str,
        side: Side,
        caption_field: str | None = None,
        id_field: str | None = None,
        output_folders: Sequence[str | Path | None] = (),
    ) -> Input:
        """List the files of a source, except those in output folders.

        Paths are absolute: tasks may run in processes with another current directory.
        """
        folders = [Path(folder).absolute() for folder in output_folders if folder is not None]
        folders = [folder for folder in folders if Path(source).absolute() in folder.parents]
        files = [
            file
            for file in map(_make_absolute, find_files(source))
            if not _is_within(Path(file), folders)
        ]
        if not files:
            raise InputError(f"{source}: no input files, only output of streams")
        return cls(source, side, tuple(files), caption_field, id_field)

    def describe(self) -> dict[str, Any]:
        """Return fingerprints of the files and the settings of the input."""
        return {
            "source": self.source,
            "files": {file: fingerprint_file(file) for file in self.files},
            "caption_field": self.caption_field,
            "id_field": self.id_field,
        }


@dataclass(frozen=True)
class Plan:
    """Steps on some inputs, whose results are in a working directory."""

    inputs: tuple[Input, ...]
    settings: dict[str, Any]
    """Settings that results depend on, ready for JSON."""
    folder: Path
    partitions: int
    splits: list[SplitTask] = field(default_factory=list)

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
        size = sum(get_file_size(file) for each in inputs for file in each.files)
        partitions = choose_partitions(size, partitions)
        description = {**described, "partitions": partitions}
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if manifest.exists():
            _check_manifest(json.loads(manifest.read_text()), description, folder)
        elif any(path.name != "lock" for path in folder.iterdir()):
            raise SettingError(f"{folder} is not empty and has no {MANIFEST}; pass an empty folder")
        else:
            write_atomically(manifest, json.dumps(description, indent=1).encode())
        for name in ("split", "count", "score"):
            (folder / name).mkdir(exist_ok=True)
        return cls(tuple(inputs), settings, folder, partitions)

    def split(self, engine: Engine) -> tuple[Plan, dict[Side, InputSummary]]:
        """Split the inputs into partitions; return the plan with its chunks, and summaries."""
        splits = []
        for each in self.inputs:
            chunks = [chunk for file in each.files for chunk in split_file(file)]
            splits += [
                SplitTask(
                    chunk,
                    each.side,
                    each.caption_field,
                    each.id_field,
                    self.partitions,
                    self.folder / "split" / f"{each.side}-{number:06}.arrow",
                )
                for number, chunk in enumerate(chunks)
            ]
        summaries = {each.side: InputSummary(each) for each in self.inputs}
        progress = StepProgress("reading captions")
        for side, found in progress.track(engine.map(_split, splits), len(splits)):
            summaries[side].add(found)
        for summary in summaries.values():
            summary.check()
        return Plan(self.inputs, self.settings, self.folder, self.partitions, splits), summaries

    def close(self) -> None:
        """Remove the working directory of a finished run.

        It is renamed first, so that a half-removed one is never resumed.
        """
        try:
            removed = tempfile.mkdtemp(prefix=f"{WORK_PREFIX}removed-", dir=self.folder.parent)
            self.folder.rename(Path(removed) / "work")
        except OSError:  # a mount point, or a parent folder without write access
            removed = str(self.folder)
        shutil.rmtree(removed)


def _split(task: SplitTask) -> tuple[Side, dict[str, Any]]:
    return task.side, split_chunk(task)


@dataclass
class InputSummary:
    """Numbers of rows and captions of an input, and its kinds of ids."""

    input: Input
    rows: int = 0
    captions: int = 0
    kinds: set[str] = field(default_factory=set)
    spelled: bool = True

    def add(self, found: dict[str, Any]) -> None:
        """Add the summary of a chunk."""
        self.rows += found["rows"]
        self.captions += found["captions"]
        if found["kind"]:
            self.kinds.add(found["kind"])
            self.spelled &= found["spelled"]

    def check(self) -> None:
        """Raise an InputError if there are no captions, or integers and strings as ids."""
        if not self.rows:
            raise InputError(f"{self.input.source}: there are no captions")
        if len(self.kinds) > 1:
            raise InputError(
                f"{self.input.source}: some files have integers as ids and some have strings; use "
                "one kind in all files of an input"
            )


def check_ids(candidates: InputSummary, references: InputSummary) -> None:
    """Raise a MismatchError if ids are integers on one side and names on the other."""
    alike = candidates.kinds == references.kinds or (candidates.spelled and references.spelled)
    if not alike:
        raise MismatchError(
            f"no ids match: those of {candidates.input.source} are {_name(candidates)}, those of "
            f"{references.input.source} are {_name(references)}; use the same ids on both sides"
            "; streams compare ids exactly, without --stream they match by number too"
        )


def _name(side: InputSummary) -> str:
    return "integers" if side.kinds == {"int"} else "strings"


def _make_absolute(file: str) -> str:
    return file if "://" in file else os.path.abspath(file)  # noqa: PTH100 (keeps symbolic links)


def _is_within(file: Path, folders: Sequence[Path]) -> bool:
    """Return True if a file is in one of these folders or in a default working directory."""
    return any(folder in folders or folder.name.startswith(WORK_PREFIX) for folder in file.parents)


def choose_partitions(size: int, partitions: int | None) -> int:
    """Return the number of partitions, a power of two, for inputs of `size` bytes."""
    most = 1 << GROUP_BITS
    if partitions is None:
        wanted = max(1, -(-size // PARTITION_BYTES))
        return min(most, 1 << (wanted - 1).bit_length())
    is_whole = isinstance(partitions, int) and not isinstance(partitions, bool)
    if not is_whole or not 1 <= partitions <= most or partitions & (partitions - 1):
        raise SettingError(f"partitions must be a power of two up to {most}, not {partitions!r}")
    return partitions


def _check_manifest(before: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Raise an InputError if inputs, settings, code or data differ from those of the run."""
    unfinished = f"{folder} contains an unfinished run"
    remedy = "remove that folder to start again, or pass another with work= (--work)"
    for name, reason in (*_find_unversioned(now["inputs"]), *find_unknown(now["content"])):
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


def _find_unversioned(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the inputs whose storage reports no version: name and reason."""
    for described in inputs.values():
        for file, known in described["files"].items():
            if None in known:
                yield file, "a storage that reports no time or version"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a working directory; the lock of a killed process is free."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            f"another process uses {folder}; wait for it, or pass another with work= (--work)"
        ) from None
    mine = _identify(folder / "lock")
    try:
        yield
    finally:
        # A folder without results is removed while it is locked, unless another run made it anew.
        is_bare = all(path.name == "lock" for path in folder.glob("*"))
        if is_bare and _identify(folder / "lock") == mine:
            shutil.rmtree(folder, ignore_errors=True)
        lock.release()


def _identify(file: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if it does not exist."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@dataclass
class StepProgress:
    """Progress of a step: share done, speed, remaining time."""

    step: str
    unit: str = ""
    size: Callable[[Any], int] | None = None
    """Number of units of a result."""

    def track(self, results: Iterator[R], count: int) -> Iterator[R]:
        """Yield results; call the progress callback after each."""
        progress = current_progress()
        started = time.monotonic()
        units = 0
        progress(self.step, 0.0)
        for done, result in enumerate(results, start=1):
            passed = max(time.monotonic() - started, 1e-9)
            left = passed / done * (count - done)
            text = f"{self.step}, {_spell_time(left)} left"
            if self.size is not None:
                units += self.size(result)
                text += f", {units / passed:,.0f} {self.unit}/s"
            progress(text, done / count)
            yield result


def _spell_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
