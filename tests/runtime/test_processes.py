"""Helper processes: their results, their errors, their end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cidery.errors import ProcessError
from cidery.runtime import processes, share_work
from support.shared_work import (
    Helping,
    RefusedError,
    Result,
    Waiting,
    die,
    exhaust,
    refuse,
    square,
    tell_whether_it_can_have_helpers,
)

pytest.importorskip("loky", reason="loky is not installed")


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A file that a helper makes when it begins."""
    return tmp_path / "begun"


def test_both_sides_work_and_results_come_in_order(begun: Path) -> None:
    found = list(share_work(range(12), Waiting(begun), Helping(begun, waits=True), 1))
    assert [value for value, _ in found] == [number * number for number in range(12)]
    workers = {process for _, process in found}
    assert len(workers) == 2 and os.getpid() in workers


def test_processes_are_kept_for_the_next_call(tmp_path: Path) -> None:
    helpers = set()
    for name in ("first", "second"):
        found = share_work(range(3), Waiting(tmp_path / name), Helping(tmp_path / name), 1)
        helpers |= {process for _, process in found} - {os.getpid()}
    assert len(helpers) == 1  # the same one twice


def test_without_helpers_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_open_pool", refuse)
    assert list(share_work([1, 2], square, refuse, 0)) == [(1, os.getpid()), (4, os.getpid())]


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (refuse, RefusedError, r"^number \d+ is refused$"),
        (exhaust, MemoryError, r"^no memory for number \d+$"),
    ],
)
def test_an_error_in_a_helper_is_raised_here(
    begun: Path, work: Callable[[int], Result], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        list(share_work(range(4), Waiting(begun), Helping(begun, work), 1))
    begun.unlink()
    found = share_work(range(4), Waiting(begun), Helping(begun), 1)
    assert [value for value, _ in found] == [0, 1, 4, 9]


def test_a_killed_helper_is_named_and_the_next_call_has_another(begun: Path) -> None:
    with pytest.raises(
        ProcessError,
        match=r"^a helper process was killed, .*\(--threads 1\)",
    ):
        list(share_work(range(4), Waiting(begun), Helping(begun, die), 1))
    begun.unlink()
    found = share_work(range(4), Waiting(begun), Helping(begun), 1)
    assert [value for value, _ in found] == [0, 1, 4, 9]


def test_a_process_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def submit(self, *_: object) -> None:
            raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes, "_open_pool", lambda _: Full())
    with pytest.raises(ProcessError, match=r"^a helper process could not be started, .*Resource"):
        list(share_work(range(4), square, square, 5))


def test_daemonic_processes_have_no_helpers(tmp_path: Path) -> None:
    assert processes.can_start_processes()
    context = multiprocessing.get_context("spawn")
    answer = tmp_path / "answer"
    daemon = context.Process(target=tell_whether_it_can_have_helpers, args=(answer,), daemon=True)
    daemon.start()
    daemon.join()
    assert answer.read_text() == "False"


SCRIPT = """
import os, signal, time
from pathlib import Path
from cidery.runtime.processes import share_work

signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it

# There is no guard around this part: helpers must not run it.
print("main", flush=True)

def work(number):
    time.sleep(600)

def wait_for_helpers(number):
    while len(list(Path().glob("*.helper"))) < 2:
        time.sleep(0.01)

def there(number):
    Path(f"{os.getpid()}.helper").touch()
    time.sleep(600)

for _ in share_work(range(20), {here}, there, 2):
    pass
"""


def is_alive(process: int) -> bool:
    """Tell whether a process runs; one that has ended and was not asked for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are seen on Linux")
@pytest.mark.parametrize("whom", ["this process", "the terminal's processes"])
@pytest.mark.parametrize("here", ["work", "wait_for_helpers"])
def test_ctrl_c_ends_everything(whom: str, here: str, tmp_path: Path) -> None:
    """Without a guard around the script's main part, while it works and while it waits."""
    running, helpers = start_helpers(tmp_path, here)
    try:
        if whom == "this process":
            running.send_signal(signal.SIGINT)
        else:
            os.killpg(running.pid, signal.SIGINT)
        printed, _ = running.communicate()
    finally:
        running.kill()
        running.wait()
    assert printed == "main\n"
    assert running.returncode in (1, -signal.SIGINT)
    assert not any(map(is_alive, helpers))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are seen on Linux")
def test_helpers_end_with_a_killed_process(tmp_path: Path) -> None:
    running, helpers = start_helpers(tmp_path, "wait_for_helpers")
    running.kill()
    running.communicate()
    while any(map(is_alive, helpers)):
        time.sleep(0.05)


def start_helpers(folder: Path, here: str) -> tuple[subprocess.Popen[str], list[int]]:
    """Start the script; return it and the processes that help it, which have begun to work."""
    script = folder / "script.py"
    script.write_text(SCRIPT.replace("{here}", here))
    running = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    )
    while len(helpers := [int(path.stem) for path in folder.glob("*.helper")]) < 2:
        assert running.poll() is None
        time.sleep(0.05)
    return running, helpers
