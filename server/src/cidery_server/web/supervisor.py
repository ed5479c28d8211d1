"""Runs the web server and the workers as processes, and starts each again when it dies."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
MAX_PAUSE = 5.0
STEADY_SECONDS = 5.0
"""Seconds after which the death of a process is not a start-up failure."""
GRACE_SECONDS = 20.0


@dataclass
class SupervisedProcess:
    """A command that should always be running."""

    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0

    def restart_if_dead(self) -> None:
        """Start it if it does not run; with increasing delays if it dies immediately."""
        if self.process is not None:
            status = self.process.poll()
            if status is None:
                return
            lifetime = time.monotonic() - self.started
            if lifetime < self.pause:
                return
            log.warning("process %d ended with status %d", self.process.pid, status)
            steady = lifetime > STEADY_SECONDS
            self.pause = 0.0 if steady else min(1 + 2 * self.pause, MAX_PAUSE)
        self.process = subprocess.Popen(self.command)
        self.started = time.monotonic()


@dataclass
class Supervisor:
    """Keeps processes running until SIGTERM or SIGINT."""

    supervised: list[SupervisedProcess] = field(default_factory=list)
    stopping: bool = False

    def run(self) -> None:
        """Restart processes that die until a signal to stop, then stop them all."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        try:
            while not self.stopping:
                for one in self.supervised:
                    one.restart_if_dead()
                time.sleep(POLL_SECONDS)
        finally:
            self._end()

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _end(self) -> None:
        running = [one.process for one in self.supervised if one.process is not None]
        for process in running:
            process.terminate()
        deadline = time.monotonic() + GRACE_SECONDS
        for process in running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def web_command(host: str, port: int, processes: int) -> list[str]:
    """Return the command that starts the web server."""
    bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    configuration = "python:cidery_server.web.gunicorn_config"
    return [
        *(sys.executable, "-m", "gunicorn", "--config", configuration),
        *("--bind", bind, "--workers", str(processes)),
    ]


def worker_command() -> list[str]:
    """Return the command that starts a worker."""
    return [sys.executable, "-m", "cidery_server.web.worker"]


def serve(*, host: str, port: int, processes: int, workers: int) -> None:
    """Run the web server and the workers with these numbers of processes; 0: none."""
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    commands = [web_command(host, port, processes)] if processes else []
    commands += [worker_command() for _ in range(workers)]
    Supervisor([SupervisedProcess(command) for command in commands]).run()
