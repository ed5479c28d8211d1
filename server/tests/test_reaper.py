"""Whatever a test run starts ends with it, also where the run is interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.tests.support.installations import TIMEOUT_SECONDS, PostgreSQL, wait_until
from support.browsing import find_chromium
from support.reaper import find_marked, is_running, postgresql_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists processes so")
ROOT = Path(__file__).parents[2]
WAITING = """
import os, subprocess, time
from pathlib import Path
import pytest

def wait_for_ever():
    Path({message!r}).write_text(f"{{os.getpid()}} {{os.environ['CIDERY_TEST_RUN']}}\\n")
    while True:
        time.sleep(1)

def test_of_processes():
    subprocess.Popen(["sleep", "10000"])
    subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 10000; sleep 10000"], start_new_session=True)
    wait_for_ever()

@pytest.mark.both_databases
def test_of_services(installation, request):
    if {chromium!r}:
        request.getfixturevalue("browser").new_page()
    wait_for_ever()
"""


@contextmanager
def running_pytest(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run pytest with the suite's fixtures on a test that never ends; give its file of news."""
    message, test = folder / "message", folder / "test_waiting.py"
    test.write_text(WAITING.format(message=str(message), chromium=bool(find_chromium())))
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(ROOT / "pyproject.toml")]
    command += [
        "-q",
        "-p",
        "server.tests.conftest",
        f"--basetemp={folder / 'temporary'}",
        *options,
        str(test),
    ]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    with (folder / "log").open("wb") as log:
        run = subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=log,
            # Shells start background jobs with SIGINT ignored, which children inherit.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def waits() -> bool:
        assert run.poll() is None, (folder / "log").read_text()
        return message.exists() and message.read_text().endswith("\n")

    try:
        wait_until(waits, what="the test that never ends")
        yield run, message.read_text()
    finally:
        run.kill()
        run.wait()


def descendants_of(process: int) -> set[int]:
    """Return all processes that a process has started, and those that they have started."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return set()
    children = set(map(int, listed.split()))
    return children.union(*map(descendants_of, children))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_run(tmp_path: Path, number: signal.Signals) -> None:
    with running_pytest(tmp_path, "-k", "test_of_processes") as (run, message):
        started = descendants_of(run.pid) | find_marked(message.split()[1])
        assert len(started) >= 3  # the reaper is one of them
        run.send_signal(number)
        run.wait(TIMEOUT_SECONDS)
        wait_until(lambda: not any(map(is_running, started)), what="the end of all processes")


def test_services_end_with_an_interrupted_run(tmp_path: Path) -> None:
    """Of two processes, one of which is killed: the app, PostgreSQL and the browser all end."""
    if PostgreSQL.find() is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    options = ("-n", "1", "--dist", "loadfile", "-k", "test_of_services and postgresql")
    with running_pytest(tmp_path, *options) as (run, message):
        worker, mark = message.split()
        folder = postgresql_folder(mark)
        postmaster = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        started = {*descendants_of(run.pid), postmaster, *descendants_of(postmaster)}
        assert len(started) > 8
        os.kill(int(worker), signal.SIGKILL)
        run.send_signal(signal.SIGINT)
        run.wait(TIMEOUT_SECONDS)
        wait_until(lambda: not any(map(is_running, started)), what="the end of all services")
        assert not folder.exists()
