"""Atomic writes of files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file completely, or leave the previous one in place.

    Links and permissions are preserved. An OSError names `path`.

    ```python
    write_atomically("scores.json", b"{}")
    ```
    """
    target = Path(os.path.realpath(path))
    try:
        before = target.stat().st_mode if target.exists() else None
        if before is None or stat.S_ISREG(before):
            _replace(target, content, None if before is None else stat.S_IMODE(before))
        else:
            # A device or a pipe, such as /dev/stdout, is written to and not replaced; of a
            # directory the system says that it is one.
            target.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, _explain(error, target), os.fspath(path)) from error


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    # Not by tempfile: its files may be read by their owner only, whatever the user's umask says.
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _explain(error: OSError, target: Path) -> str:
    if error.errno == errno.ENOENT and not target.parent.exists():
        return f"cannot be written: there is no folder {target.parent}"
    return f"cannot be written: {error.strerror or error}"
