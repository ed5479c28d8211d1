"""METEOR against pycocoevalcap's, in one run.

5,000 images x 5 references. Each side starts anew in a process of its own and tells its time and
the most memory that it held, mapped pages included. The scores are compared before any figure is
printed.

- `pycocoevalcap`: Meteor() and compute_score on tokenized captions, the start of Java included.
- `cidery, tokens`: the same work: METEOR alone on tokenized captions, a fresh table opened.
- `cidery, strings`: cidery.score from raw strings, tokenizing included.
- `first use`: compiling the table into an empty cache directory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import workloads

REFERENCES = 5

Workload: TypeAlias = tuple[workloads.Candidates, workloads.References]


def tokenize(workload: Workload) -> Workload:
    """Cut captions as every side's users do, and join the words again."""
    import cidery

    def cut(captions: list[str]) -> list[str]:
        return [" ".join(words) for words in cidery.tokenize(captions)]

    candidates, references = workload
    words = cut(list(candidates.values()))
    return (
        dict(zip(candidates, words, strict=True)),
        {image: cut(group) for image, group in references.items()},
    )


def run_pycocoevalcap(folder: Path) -> dict[str, float]:
    from pycocoevalcap.meteor.meteor import Meteor

    candidates, references = workloads.read(folder / "tokens")
    single = {image: [caption] for image, caption in candidates.items()}
    start = time.perf_counter()
    meteor = Meteor()
    score, _ = meteor.compute_score(references, single)
    seconds = time.perf_counter() - start
    status = Path(f"/proc/{meteor.meteor_p.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    meteor.meteor_p.kill()
    return {"score": score, "seconds": seconds, "megabytes": int(peak.split()[1]) / 1024}


def run_cidery(folder: Path, kind: str) -> dict[str, float]:
    import cidery

    workload = workloads.read(folder / kind)
    tokenizer = "whitespace" if kind == "tokens" else "ptb"
    start = time.perf_counter()
    table = cidery.score(*workload, metrics=["meteor"], tokenizer=tokenizer)
    seconds = time.perf_counter() - start
    return {"score": table.corpus["meteor"], "seconds": seconds, "megabytes": peak_megabytes()}


def run_build(_: Path) -> dict[str, float]:
    from cidery import storage

    start = time.perf_counter()
    storage.build("meteor")
    seconds = time.perf_counter() - start
    return {"score": float("nan"), "seconds": seconds, "megabytes": peak_megabytes()}


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


RUNS: dict[str, Callable[[Path], dict[str, float]]] = {
    "first use": run_build,
    "pycocoevalcap": run_pycocoevalcap,
    "cidery, tokens": lambda folder: run_cidery(folder, "tokens"),
    "cidery, strings": lambda folder: run_cidery(folder, "strings"),
}


def run_apart(name: str, folder: Path) -> dict[str, float]:
    """Run one side in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--run", name, str(folder)],
        env=os.environ | {"CIDERY_CACHE": str(folder / "cache")},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(rounds: int) -> None:
    candidates, references = workloads.small()
    references = {image: group[:REFERENCES] for image, group in references.items()}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        workloads.write((candidates, references), folder / "strings")
        workloads.write(tokenize((candidates, references)), folder / "tokens")
        for _ in range(rounds):  # in turns, so that a busy machine slows all of them
            for name, found in results.items():
                found.append(run_apart(name, folder))
    scores = {
        round(run["score"], 12)
        for name, found in results.items()
        for run in found
        if name != "first use"
    }
    if len(scores) != 1:
        sys.exit(f"the scores differ: {scores}")
    print(f"{len(references)} images x {REFERENCES} references, METEOR {scores.pop():.6f}")
    print(f"shortest time and most memory of {rounds} rounds")
    theirs = min(run["seconds"] for run in results["pycocoevalcap"])
    for name, found in results.items():
        seconds = min(run["seconds"] for run in found)
        megabytes = max(run["megabytes"] for run in found)
        ratio = "" if name == "first use" else f"{theirs / seconds:8.1f} x"
        print(f"{name:16} {seconds:8.3f} s {megabytes:8.0f} MB {ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        name, folder = options.run
        print(json.dumps(RUNS[name](Path(folder))))
    else:
        compare(options.rounds)


if __name__ == "__main__":
    main()
