"""Scene graphs per second.

30,000 different captions are parsed by spaCy and cidery's rules, in one process and in as many as
there are cores (at most 4), then read again from the graphs cached on disk; memory is that of all
processes together, with spaCy and its pipeline (on Linux). There is nothing to compare with: the
original needs a download and 8 GB.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import cidery
from cidery.corpus.bundled import NAMES, path
from cidery.files import read_references
from cidery.metrics.spice.parser import load_parser


def make_captions(count: int, seed: int = 0) -> list[list[str]]:
    """Return so many different captions: halves of the example's, put together anew."""
    name = next(name for name in NAMES if name.startswith("references"))
    groups = read_references(path(name)).values()
    words = cidery.tokenize([caption for group in groups for caption in group])
    rng = np.random.default_rng(seed)
    made: dict[tuple[str, ...], None] = {}
    while len(made) < count:
        first, second = (words[place] for place in rng.integers(0, len(words), 2))
        middle = len(first) // 2
        made[(*first[:middle], *second[len(second) // 2 :])] = None
    return [list(caption) for caption in made]


@contextmanager
def watch_memory() -> Iterator[list[float]]:
    """Keep the first entry at the most megabytes that this process and its children held."""
    peak, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            listed = map(read_line, Path("/proc/self/task").glob("*/children"))
            family = ["self", *(child for line in listed for child in line.split())]
            peak[0] = max(peak[0], sum(map(resident_megabytes, family)))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def read_line(file: Path) -> str:
    """Return what a file says; nothing where its thread is over."""
    try:
        return file.read_text()
    except OSError:
        return ""


def resident_megabytes(process: str) -> float:
    """Return what a process holds; 0 where it is over, or the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", type=int, default=30_000)
    captions = make_captions(parser.parse_args().captions)
    words = sum(map(len, captions)) / len(captions)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CIDERY_CACHE"] = folder
        start = time.perf_counter()
        loaded = load_parser()
        print(f"{loaded.id}, loaded in {time.perf_counter() - start:.1f} s")
        print(f"{len(captions):,} captions of {words:.1f} words, {os.cpu_count()} cores")
        for what, keep, threads in (
            ("parsed in one process", False, 1),
            ("parsed by several processes", False, 0),
            ("the same again, processes are there", False, 0),
            ("parsed and cached", True, 0),
            ("read from disk", True, 0),
        ):
            start, worked = time.perf_counter(), time.process_time()
            with watch_memory() as peak:
                loaded.parse(captions, keep=keep, threads=threads)
            seconds, worked = time.perf_counter() - start, time.process_time() - worked
            print(f"{what}: {seconds:.1f} s ({worked:.1f} s of this process), {peak[0]:.0f} MB")


if __name__ == "__main__":
    main()
