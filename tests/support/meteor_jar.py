"""Run the original METEOR 1.5 jar as a black box, in bulk, for parity checks.

The jar is the one inside the PyPI package ``pycocoevalcap``; it needs Java. Everything goes through
files or one ``communicate`` call, so no pipe can fill up and block.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

STATISTICS = 23


class JarError(RuntimeError):
    """The jar answered with an error line, or with fewer lines than questions."""


def _command(jar: Path, *arguments: str) -> list[str]:
    return ["java", "-Xmx2G", "-jar", str(jar), *arguments, "-l", "en", "-norm"]


def ask(jar: Path, lines: Iterable[str], *options: str) -> list[str]:
    """Send ``-stdio`` lines to a fresh jar and return all its answer lines."""
    question = "".join(line + "\n" for line in lines).encode()
    done = subprocess.run(
        _command(jar, "-", "-", "-stdio", *options),
        input=question,
        capture_output=True,
        check=True,
        cwd=jar.parent,
    )
    # not splitlines(): the jar ends its lines with \n alone
    return done.stdout.decode().split("\n")[:-1]


def statistics(
    jar: Path, segments: Sequence[tuple[str, Sequence[str]]], *options: str
) -> list[list[float]]:
    """The 23 statistics of each (candidate, references) segment, for its best reference."""
    lines = ("SCORE ||| " + " ||| ".join([*refs, candidate]) for candidate, refs in segments)
    answers = ask(jar, lines, *options)
    if len(answers) != len(segments):
        raise JarError(f"{len(segments)} segments, {len(answers)} answers")
    rows = []
    for number, answer in enumerate(answers):
        values = answer.split()
        if len(values) != STATISTICS or answer.startswith("Error"):
            raise JarError(f"segment {number}: {answer!r}")
        rows.append([float(value) for value in values])
    return rows


def scores(jar: Path, rows: Sequence[Sequence[float]]) -> tuple[list[float], float]:
    """Score per segment and the pooled corpus score, from statistics."""
    line = " ||| ".join(["EVAL", *(" ".join(str(value) for value in row) for row in rows)])
    answers = [float(answer) for answer in ask(jar, [line])]
    if len(answers) != len(rows) + 1:
        raise JarError(f"{len(rows)} segments, {len(answers)} answers")
    return answers[:-1], answers[-1]


def alignments(jar: Path, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str, list[str]]]:
    """Normalised candidate, normalised reference and alignment lines, for each pair."""
    with tempfile.TemporaryDirectory() as folder:
        test, reference = Path(folder, "test"), Path(folder, "reference")
        test.write_bytes("".join(candidate + "\n" for candidate, _ in pairs).encode())
        reference.write_bytes("".join(ref + "\n" for _, ref in pairs).encode())
        subprocess.run(
            _command(jar, str(test), str(reference), "-writeAlignments", "-f", f"{folder}/out"),
            capture_output=True,
            check=True,
            cwd=jar.parent,
        )
        text = Path(folder, "out-align.out").read_bytes().decode()
    return [_parse_alignment(block) for block in text.split("Alignment\t")[1:]]


def _parse_alignment(block: str) -> tuple[str, str, list[str]]:
    _, candidate, reference, _, *matches = block.rstrip("\n").split("\n")
    return candidate, reference, matches
