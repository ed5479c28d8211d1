"""Run the original METEOR 1.5 jar as a black box, in bulk, for parity checks.

The jar is the one inside the PyPI package ``pycocoevalcap``; it needs Java. Questions are sent by a
thread of their own, so no pipe can fill up and block.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

STATISTICS = 23


class JarError(RuntimeError):
    """The jar answered with an error line, or with fewer lines than questions."""


NORMALIZED = ("en", "cs", "de", "es", "fr", "ru")
"""The jar refuses `-norm` for all others."""


def _command(jar: Path, *arguments: str, language: str = "en") -> list[str]:
    cleaned = "-norm" if language in NORMALIZED else "-lower"
    return ["java", "-Xmx2G", "-jar", str(jar), *arguments, "-l", language, cleaned]


class Session:
    """One running jar in ``-stdio`` mode: its tables are loaded once for many questions."""

    def __init__(self, jar: Path, *options: str, language: str = "en") -> None:
        self._process = subprocess.Popen(
            _command(jar, "-", "-", "-stdio", *options, language=language),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=jar.parent,
        )

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *failure: object) -> None:
        self._process.kill()
        self._process.__exit__(None, None, None)  # closes the pipes, and waits

    def ask(self, lines: Sequence[str], answers: int) -> list[str]:
        """Send lines, and return so many answer lines."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        question = "".join(line + "\n" for line in lines).encode()

        def send() -> None:
            with suppress(BrokenPipeError):  # reading tells that the jar has ended
                stdin.write(question)
                stdin.flush()

        sending = Thread(target=send)
        sending.start()
        found = [stdout.readline() for _ in range(answers)]
        sending.join()
        if not all(found):
            raise JarError(f"the jar ended after {sum(map(bool, found))} of {answers} answers")
        return [line.decode().removesuffix("\n") for line in found]


def statistics(
    session: Session, segments: Sequence[tuple[str, Sequence[str]]]
) -> list[list[float]]:
    """The 23 statistics of each (candidate, references) segment, for its best reference."""
    lines = ["SCORE ||| " + " ||| ".join([*refs, candidate]) for candidate, refs in segments]
    rows = []
    for number, answer in enumerate(session.ask(lines, len(lines))):
        values = answer.split()
        if len(values) != STATISTICS or answer.startswith("Error"):
            raise JarError(f"segment {number}: {answer!r}")
        rows.append([float(value) for value in values])
    return rows


def scores(session: Session, rows: Sequence[Sequence[float]]) -> tuple[list[float], float]:
    """Score per segment and the pooled corpus score, from statistics."""
    line = " ||| ".join(["EVAL", *(" ".join(str(value) for value in row) for row in rows)])
    answers = [float(answer) for answer in session.ask([line], len(rows) + 1)]
    return answers[:-1], answers[-1]


def alignments(
    jar: Path, pairs: Sequence[tuple[str, str]], *options: str
) -> list[tuple[str, str, list[str]]]:
    """Normalized candidate, normalized reference and alignment lines, for each pair."""
    with tempfile.TemporaryDirectory() as folder:
        test, reference = Path(folder, "test"), Path(folder, "reference")
        test.write_bytes("".join(candidate + "\n" for candidate, _ in pairs).encode())
        reference.write_bytes("".join(ref + "\n" for _, ref in pairs).encode())
        files = str(test), str(reference)
        subprocess.run(
            _command(jar, *files, "-writeAlignments", "-f", f"{folder}/out", *options),
            capture_output=True,
            check=True,
            cwd=jar.parent,
        )
        text = Path(folder, "out-align.out").read_bytes().decode()
    return [_parse_alignment(block) for block in text.split("Alignment\t")[1:]]


def _parse_alignment(block: str) -> tuple[str, str, list[str]]:
    _, candidate, reference, _, *matches = block.rstrip("\n").split("\n")
    return candidate, reference, matches
