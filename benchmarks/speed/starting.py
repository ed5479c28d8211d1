"""Seconds to install and to start.

Starting is measured on the cidery of this Python, in turns with `python -c "import numpy"`: the
best of several runs, in seconds of wall time and of a processor. With a wheel, it is installed into
an empty venv, from pip's cache, and scores the example.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path


def measure(command: Sequence[str | Path], folder: Path) -> tuple[float, float]:
    """Return seconds of wall time and of a processor that a command takes."""
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, os.times()
    own = after.children_user - before.children_user
    return wall, own + after.children_system - before.children_system


def show(name: str, wall: float, processor: float) -> None:
    print(f"| {name} | {wall:.3f} s | {processor:.3f} s |", flush=True)


def measure_start(runs: int, folder: Path) -> None:
    program = Path(sys.executable).with_name("cidery")
    commands: dict[str, list[str | Path]] = {
        'python -c "pass"': [sys.executable, "-c", "pass"],
        'python -c "import numpy"': [sys.executable, "-c", "import numpy"],
        "cidery --version": [program, "--version"],
        "cidery score, on the example": [program, "score", "system_a.json", "references.json"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            times[name].append(measure(command, folder))
    for name, found in times.items():
        show(name, min(wall for wall, _ in found), min(processor for _, processor in found))


def measure_install(wheel: Path, folder: Path) -> None:
    size = wheel.stat().st_size / 1e6
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [scripts / "python", "-m", "pip", "--disable-pip-version-check"]
    # Once for pip's cache, and away again.
    subprocess.run([*pip, "install", "--quiet", wheel], check=True)
    installed = subprocess.run(
        [*pip, "freeze"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = [line.partition(" ")[0].partition("==")[0] for line in installed]
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", *names], check=True)
    install = measure([*pip, "install", "--quiet", wheel], folder)
    score = measure([scripts / "cidery", "score", "system_a.json", "references.json"], folder)
    show(f"pip install {wheel.name} ({size:.1f} MB)", *install)
    show("its first table", *score)
    show("both", install[0] + score[0], install[1] + score[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, nargs="?", help="as `make wheels` makes it")
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody compiles modules at every start
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Path(sys.executable).with_name("cidery")
        subprocess.run([program, "demo", "--copy", folder], check=True, stdout=subprocess.DEVNULL)
        print("| what | wall | processor |\n|---|---:|---:|")
        measure_start(arguments.runs, folder)
        if arguments.wheel:
            measure_install(arguments.wheel.resolve(), folder)


if __name__ == "__main__":
    main()
