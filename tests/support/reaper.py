"""Ends everything that a test run has started, however the run itself ends.

The run marks its environment, which every process it starts inherits. A process of its own,
outside the run's session, waits until the run is over: done, interrupted, terminated or killed. It
then ends all processes with the mark. Linux alone lets one read the environment of others.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "CIDERY_TEST_RUN"
POLL_SECONDS = 0.2
GRACE_SECONDS = 3.0
"""After so long, what does not end by SIGTERM is killed."""


@dataclass
class Reaper:
    """The process that waits for the end of a run."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls) -> Reaper:
        """Mark this process's environment and start to watch it."""
        mark = secrets.token_hex(8)
        process = subprocess.Popen(
            [sys.executable, __file__, mark], stdin=subprocess.PIPE, start_new_session=True
        )
        os.environ[MARK] = mark  # after the reaper has started, which does not end itself
        return cls(process)

    def stop(self) -> None:
        """End everything that was started, and wait until it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        os.environ.pop(MARK, None)


def postgresql_folder(mark: str) -> Path:
    """Return where the PostgreSQL of a run lives; the reaper ends it and removes the folder."""
    return Path(tempfile.gettempdir(), f"cidery-postgresql-{mark}")


def find_marked(mark: str) -> set[int]:
    """Return the processes that a run has started, other than this one."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    with suppress(OSError, ValueError, IndexError):
        # PostgreSQL writes its title over its environment.
        written = (postgresql_folder(mark) / "data" / "postmaster.pid").read_text()
        postmaster = int(written.split()[0])
        if is_running(postmaster):
            found.add(postmaster)
    return found - {os.getpid()}


def is_running(process: int) -> bool:
    """Return True if a process is running, False if it has ended or is a zombie."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def end_marked(mark: str) -> None:
    """End the processes of a run; those that start others meanwhile are found at the next look."""
    deadline = time.monotonic() + GRACE_SECONDS
    signaled: set[int] = set()
    while found := find_marked(mark):
        is_late = time.monotonic() > deadline
        for process in found if is_late else found - signaled:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL if is_late else signal.SIGTERM)
        signaled |= found
        time.sleep(POLL_SECONDS / 4)
    shutil.rmtree(postgresql_folder(mark), ignore_errors=True)
    Path(f"{postgresql_folder(mark)}.lock").unlink(missing_ok=True)


def main() -> None:
    """Wait until the parent closes its end of the pipe or is gone, then end what it started."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    while os.getppid() == parent:
        # A copy of the pipe in a process that the run has forked would keep it open.
        readable, _, _ = select.select([sys.stdin], [], [], POLL_SECONDS)
        if readable and not os.read(sys.stdin.fileno(), 1):
            break
    end_marked(sys.argv[1])


if __name__ == "__main__":
    main()
