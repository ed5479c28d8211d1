"""METEOR side by side with pycocoevalcap's, in one run.

    python benchmarks/meteor.py RESULTS REFERENCES [--rounds 3]

RESULTS and REFERENCES are what `cidery score` takes; of an image's references the first five are
kept. Each side starts anew in a process of its own and tells its time and the most memory that it
held, mapped pages included. The scores are compared before any figure is printed.

- `pycocoevalcap`: Meteor() and compute_score on tokenized captions, the start of Java included.
- `cidery, tokens`: the same work: METEOR alone on tokenized captions, a fresh table opened.
- `cidery, strings`: cidery.score from raw strings, tokenizing included.
- `first use`: compiling the table into an empty cache directory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

REFERENCES = 5


def read_captions(results: str, references: str) -> tuple[list[str], list[list[str]]]:
    """Return a candidate and at most five references for each image."""
    from cidery.formats import read_candidates, read_references

    candidates = dict(read_candidates(results))
    known = read_references(references)
    return [str(candidates[image]) for image in known], [g[:REFERENCES] for g in known.values()]


def tokenize(captions: list[str]) -> list[str]:
    import cidery

    return [" ".join(words) for words in cidery.tokenize(captions)]


def run_pycocoevalcap(content: dict[str, Any]) -> dict[str, float]:
    import time

    candidates = {i: [text] for i, text in enumerate(content["candidate_tokens"])}
    references = dict(enumerate(content["reference_tokens"]))
    from pycocoevalcap.meteor.meteor import Meteor

    start = time.perf_counter()
    meteor = Meteor()
    score, _ = meteor.compute_score(references, candidates)
    seconds = time.perf_counter() - start
    status = Path(f"/proc/{meteor.meteor_p.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    meteor.meteor_p.kill()
    return {"score": score, "seconds": seconds, "megabytes": int(peak.split()[1]) / 1024}


def run_cidery(content: dict[str, Any], *, tokens: bool) -> dict[str, float]:
    import resource
    import time

    import cidery

    kind = "_tokens" if tokens else "s"
    candidates, references = content[f"candidate{kind}"], content[f"reference{kind}"]
    tokenizer = "whitespace" if tokens else "ptb"
    start = time.perf_counter()
    table = cidery.score(candidates, references, metrics=["meteor"], tokenizer=tokenizer)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"score": table.corpus["meteor"], "seconds": seconds, "megabytes": peak}


def run_build(_: dict[str, Any]) -> dict[str, float]:
    import resource
    import time

    from cidery import data

    start = time.perf_counter()
    data.build("meteor")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"score": float("nan"), "seconds": seconds, "megabytes": peak}


RUNS = {
    "first use": run_build,
    "pycocoevalcap": run_pycocoevalcap,
    "cidery, tokens": lambda content: run_cidery(content, tokens=True),
    "cidery, strings": lambda content: run_cidery(content, tokens=False),
}


def run_apart(name: str, captions: Path, cache: Path) -> dict[str, float]:
    """Run one side in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--run", name, str(captions)],
        env=os.environ | {"CIDERY_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(candidates: list[str], references: list[list[str]], rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        captions = Path(folder, "captions.json")
        content = {
            "candidates": candidates,
            "references": references,
            "candidate_tokens": tokenize(candidates),
            "reference_tokens": [tokenize(group) for group in references],
        }
        captions.write_text(json.dumps(content))
        results: dict[str, list[dict[str, float]]] = {name: [] for name in RUNS}
        for _ in range(rounds):  # in turns, so that a busy machine slows all of them
            for name, found in results.items():
                found.append(run_apart(name, captions, Path(folder, "cache")))
    scores = {
        round(run["score"], 12)
        for name, found in results.items()
        for run in found
        if name != "first use"
    }
    if len(scores) != 1:
        sys.exit(f"the scores differ: {scores}")
    images, captions_kept = len(references), sum(map(len, references))
    print(f"{images} images, {captions_kept} references, METEOR {scores.pop():.6f}")
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
    parser.add_argument("results", nargs="?")
    parser.add_argument("references", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", nargs=2, metavar=("NAME", "CAPTIONS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        name, captions = options.run
        print(json.dumps(RUNS[name](json.loads(Path(captions).read_text()))))
    elif options.references is None:
        parser.error("RESULTS and REFERENCES are needed")
    else:
        compare(*read_captions(options.results, options.references), options.rounds)


if __name__ == "__main__":
    main()
