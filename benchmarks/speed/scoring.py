"""Scoring against pycocoevalcap, in one run.

Prints a Markdown table. Peers do the same work on the same captions in the same process kind; times
are the best of several runs for cidery and of one or more for pycocoevalcap (a JVM start included,
as its users have it).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import workloads

ALL = ["bleu", "rouge-l", "cider-d"]


def best(work: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def quietly(work: Callable[[], object]) -> object:
    with contextlib.redirect_stdout(io.StringIO()):
        return work()


def peer_tokens(candidates: dict[int, str], references: dict[int, list[str]]) -> tuple[dict, dict]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    wrapped = {i: [{"caption": c} for c in captions] for i, captions in references.items()}
    single = {i: [{"caption": c}] for i, c in candidates.items()}
    return PTBTokenizer().tokenize(wrapped), PTBTokenizer().tokenize(single)


def peer_cider(candidates: dict[int, str], references: dict[int, list[str]]) -> None:
    from pycocoevalcap.cider.cider import Cider

    Cider().compute_score(*peer_tokens(candidates, references))


def peer_all(candidates: dict[int, str], references: dict[int, list[str]]) -> None:
    """BLEU, ROUGE-L and CIDEr-D."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    tokens = peer_tokens(candidates, references)
    Bleu(4).compute_score(*tokens, verbose=0)
    for scorer in (Rouge(), Cider()):
        scorer.compute_score(*tokens)


def ours(metrics: list[str], workload: tuple) -> Callable[[], object]:
    import cidery

    return lambda: cidery.score(*workload, metrics=metrics)


def peak_megabytes() -> float:
    """Return the most memory this process held; getrusage would tell its parent's too."""
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(side: str, path: Path, what: str, runs: int) -> dict[str, float]:
    """Run one side of one row in a process of its own, for its memory."""
    command = [sys.executable, __file__, "--one", side, str(path), what, str(runs)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def run_one(side: str, path: str, what: str, runs: int) -> None:
    workload = workloads.read(Path(path))
    if side == "cidery":
        seconds = best(ours(["cider-d"] if what == "cider-d" else ALL, workload), runs)
    else:
        peer = peer_cider if what == "cider-d" else peer_all
        seconds = best(lambda: quietly(lambda: peer(*workload)), runs)
    print(json.dumps({"seconds": seconds, "megabytes": peak_megabytes()}))


def process_times(runs: int) -> tuple[float, float, float]:
    """Return wall times of `cidery score`, `import numpy` and `import cidery` as processes."""
    candidates, references = workloads.small()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def wall(command: list[str]) -> float:
        run = lambda: subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: E731
        return best(run, runs)

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    with tempfile.TemporaryDirectory() as folder:
        results, annotations = Path(folder, "results.json"), Path(folder, "references.json")
        results.write_text(
            json.dumps([{"image_id": i, "caption": c} for i, c in candidates.items()])
        )
        listed = [{"image_id": i, "caption": c} for i, group in references.items() for c in group]
        annotations.write_text(json.dumps({"annotations": listed}))
        program = Path(sys.executable).with_name("cidery")
        score = wall([str(program), "score", str(results), str(annotations), "--format", "json"])
    numpy, cidery = [], []
    for _ in range(4 * runs):  # in turns, so that both meet the same machine
        numpy.append(best(lambda: start("import numpy"), 1))
        cidery.append(best(lambda: start("import cidery"), 1))
    return score, min(numpy), min(cidery)


def resampling_time() -> float:
    import cidery

    table = cidery.score(*workloads.small(), metrics=["bleu-4"])
    return best(lambda: table.interval("bleu-4", resamples=10_000), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="runs of cidery; the best counts")
    parser.add_argument("--small-only", action="store_true", help="leave val2014 out")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        side, path, what, runs = options.one
        run_one(side, path, what, int(runs))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| work | pycocoevalcap | cidery | ratio | memory |")
    print("|---|---:|---:|---:|---:|")
    rows = [
        ("CIDEr-D, 5,000 images, from strings", "small", "cider-d", 2),
        ("BLEU 1-4, ROUGE-L, CIDEr-D, 5,000 images", "small", "all", 2),
        ("the same, 40,504 images", "large", "all", 1),
    ]
    seconds: dict[tuple[str, str], float] = {}
    folder = Path(tempfile.mkdtemp())
    workloads.write(workloads.small(), folder / "small")
    if not options.small_only:
        workloads.write(workloads.large(), folder / "large")
    for title, size, what, peer_runs in rows[: 2 if options.small_only else 3]:
        peer = measure("pycocoevalcap", folder / size, what, peer_runs)
        mine = measure("cidery", folder / size, what, options.runs)
        seconds[size, what] = mine["seconds"]
        print(
            f"| {title} | {peer['seconds']:.2f} s | {1000 * mine['seconds']:.1f} ms | "
            f"{peer['seconds'] / mine['seconds']:.0f} x | "
            f"{peer['megabytes']:.0f} MB (and a JVM) / {mine['megabytes']:.0f} MB |",
            flush=True,
        )
    if not options.small_only:
        growth = seconds["large", "all"] / seconds["small", "all"]
        print(f"\n40,504 images take {growth:.1f} x the time of 5,000 (8.1 x the captions).")
    print(f"\n10,000 bootstrap samples of pooled BLEU-4, 5,000 images: {resampling_time():.3f} s.")
    score, numpy, cidery = process_times(5)
    print(f"\n`cidery score` as a process, 5,000 images from JSON files: {score:.3f} s wall.")
    print(f"`import cidery` takes {cidery - numpy:+.3f} s beside `import numpy` ({numpy:.3f} s).")


if __name__ == "__main__":
    main()
