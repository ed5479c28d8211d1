"""Work shared with processes of our own: spaCy keeps to one core, and files hold many captions.

A process reads one chunk per line of JSON and writes one line back. It is started as a program is,
not forked and not by multiprocessing: so no thread's lock is copied, no script needs a guard around
its main part, and daemons may do it too. Chunks that a process does not bring back are done here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Any, Generic, TypeVar

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds to wait for the last chunks before they are done here as well."""


@dataclass(frozen=True, eq=False)
class Helper:
    """A process that answers lines, and ends with the block it is used in."""

    process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    def start(cls, code: str) -> Helper:
        """Run Python code, with the modules that are found here; what it prints is no answer."""
        setting = f"import sys; sys.stdout = sys.stderr; sys.path[:] = {sys.path!r}; {code}"
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        command = [sys.executable, "-c", setting]
        return cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing))

    def __enter__(self) -> Helper:
        return self

    def __exit__(self, *failure: object) -> None:
        self.process.kill()
        self.process.__exit__(None, None, None)  # closes pipes, and waits

    def exchange(self, question: Any) -> Any:
        """Send something that JSON can hold, and return the answer."""
        number = next(self._numbers)
        self._pipe(self.process.stdin).write(json.dumps([number, question]).encode() + b"\n")
        self._pipe(self.process.stdin).flush()
        answered, found = json.loads(self._pipe(self.process.stdout).readline())
        if answered != number:
            raise ValueError(f"an answer to question {answered}, not {number}")
        return found

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        assert stream is not None
        return stream


def answer(reply: Callable[[Any], Any]) -> None:
    """Answer the lines that come in, until none does: the part of a started process."""
    assert sys.__stdout__ is not None
    for line in sys.stdin:
        number, question = json.loads(line)
        sys.__stdout__.write(json.dumps([number, reply(question)]) + "\n")
        sys.__stdout__.flush()


@dataclass(eq=False)
class Crew(Generic[T]):
    """Chunks to be done, by us and by started processes, and those that are done."""

    chunks: Sequence[T]
    code: str
    """What a process runs: it answers a chunk with what `work` returns, ready for JSON."""
    size: int
    """How many processes, beside our own."""
    _left: deque[int] = field(default_factory=deque)
    _done: dict[int, Any] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _helpers: list[Helper] = field(default_factory=list)
    _over: bool = False

    def run(self, work: Callable[[T], Any]) -> Iterator[Any]:
        """Yield what `work` makes of each chunk, in their order, whoever did it."""
        self._left.extend(range(len(self.chunks)))
        try:
            with suppress(RuntimeError):  # no more threads are to be had
                for _ in range(self.size):
                    threading.Thread(target=self._attend, daemon=True).start()
            for number in range(len(self.chunks)):
                yield self._obtain(number, work)
        finally:
            self._over = True
            for helper in list(self._helpers):
                helper.process.kill()

    def _obtain(self, number: int, work: Callable[[T], Any]) -> Any:
        """Work on whatever is left until this chunk is done."""
        while number not in self._done:
            mine = self._take()
            if mine is None and not self._wait(number):
                mine = number
            if mine is not None:
                self._done[mine] = work(self.chunks[mine])
        return self._done.pop(number)

    def _wait(self, number: int) -> bool:
        """Wait until a chunk is done, or some work is left again; not for ever."""
        with self._changed:
            return self._changed.wait_for(
                lambda: number in self._done or bool(self._left), PATIENCE
            )

    def _take(self) -> int | None:
        try:
            return None if self._over else self._left.popleft()
        except IndexError:
            return None

    def _attend(self) -> None:
        """Keep one process busy, in a thread; where it fails, its chunk is left to others."""
        mine = None
        try:
            with Helper.start(self.code) as helper:
                self._helpers.append(helper)
                while (mine := self._take()) is not None:
                    found = helper.exchange(self.chunks[mine])
                    with self._changed:
                        self._done[mine] = found
                        mine = None
                        self._changed.notify()
        except (OSError, TypeError, ValueError):
            pass
        finally:
            if mine is not None:
                with self._changed:
                    self._left.append(mine)
                    self._changed.notify()
