"""How fast captions become scene graphs: `python benchmarks/spice.py`.

30,000 different captions are parsed by spaCy and cidery's rules in one process, then read again
from the graphs kept on disk; peaks of memory include spaCy and its pipeline. There is nothing to
compare with: the original needs a download and 8 GB.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time

import numpy as np

import cidery
from cidery.examples import NAMES, path
from cidery.formats import read_references
from cidery.scenes.pipeline import load_parser


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
        for what in ("parsed and kept", "read from disk"):
            start, worked = time.perf_counter(), time.process_time()
            loaded.parse(captions, keep=True)
            seconds, worked = time.perf_counter() - start, time.process_time() - worked
            loaded.forget()
            print(
                f"{len(captions):,} captions of {words:.1f} words {what}: {seconds:.1f} s "
                f"({worked:.1f} s of one core)"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
