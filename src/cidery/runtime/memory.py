"""Available memory: that of the machine, or less where a control group limits this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

UNKNOWN = 1 << 62
"""Default if the system does not report its memory."""


def available_memory(root: Path = Path("/")) -> int:
    """Return the number of bytes that this process can allocate.

    The limits of control groups (containers, batch systems), version 1 and 2, count.

    Args:
        root: Root of the file system that has `proc` and `sys`.

    ```python
    available_memory() > 0   # True
    ```
    """
    return max(0, min([_machine_memory(root), *_group_memory(root)]))


def _machine_memory(root: Path) -> int:
    with suppress(OSError, StopIteration):
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("MemAvail")) * 1024
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return UNKNOWN


def _group_memory(root: Path) -> Iterator[int]:
    """Yield the available memory of this process's control groups and of all their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            base, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            base = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # Inside a container the path may be that of the host: its folders are missing, and the
        # container's own group is at the top.
        group = base / path.strip("/")
        for folder in (group, *group.parents):
            yield from _read_group(folder, *names)
            if folder == base:
                break


def _read_group(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    """Yield limit - usage, without the page cache that the system can free."""
    with suppress(OSError, ValueError):  # no such group, or the limit is "max"
        free = int((folder / limit).read_text()) - int((folder / usage).read_text())
        with suppress(OSError):
            lines = map(str.split, (folder / "memory.stat").read_text().splitlines())
            free += next((int(value) for name, value in lines if name == cache), 0)
        yield free
