"""Evaluation harnesses with and without cidery.

Prints a Markdown table. Each harness is the package that PyPI has (`make harnesses`), run as it is
in a Python of its own, once without cidery and once with it, on the same captions: a real model's
for the Karpathy test split where they are at hand. SPICE is left out on both sides: the original
downloads its parser. The time is that of scoring, Java included, without that of imports; in
parentheses that of processors, of which the ratio is: it changes less where a machine is busy.
Needs Java and pycocoevalcap.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import workloads

RUNS = Path(__file__).parents[1] / "external" / "harness_runs.py"
ROWS = (
    (
        "lmms-eval 0.7.3, `coco2014_cap_val`, 7 metrics",
        "lmms-eval",
        "lmms-eval",
        "coco2014_cap_val",
    ),
    (
        "the same by cidery's task files, with intervals",
        "lmms-eval",
        "lmms-eval-tasks",
        "coco2014_cap_val",
    ),
    ("salesforce-lavis 1.0.2, `CaptionTask`", "lavis", "lavis", ""),
    ("open-flamingo 2.0.1, `compute_cider`", "open-flamingo", "open-flamingo", ""),
    ("capevalkit 0.1.3, bleu, meteor, rouge, cider", "capevalkit", "capevalkit", ""),
    ("aac-metrics 0.6.0, `Evaluate` (cidery's class)", "aac-metrics", "aac-metrics", ""),
    ("ms-vlmeval 0.0.20, `COCO_VAL` (no tokenizer)", "vlmeval", "vlmeval", ""),
)
"""Label, the harness without and with cidery, and the task."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--only", default="", help="rows whose name has this text")
    options = parser.parse_args()
    candidates, references = workloads.small()
    images = list(references)[: options.images]
    content = json.dumps(
        {
            # aac-metrics refuses captions with line breaks; the others take them for blanks.
            "references": {
                image: [text.replace("\n", " ") for text in references[image]] for image in images
            },
            "candidates": {image: candidates[image].replace("\n", " ") for image in images},
        }
    )
    print(f"{len(images)} images, {platform.machine()}, {os.cpu_count()} processors\n")
    print("| harness | without cidery | with cidery | ratio | values |")
    print("|---|---:|---:|---:|---|")
    for title, theirs, ours, task in ROWS:
        if options.only not in title:
            continue
        without, before = run(theirs, "original", content, task)
        prefix = "cidery_" if ours == "lmms-eval-tasks" else ""
        found, after = run(ours, "cidery", content, f"{prefix}{task}" if task else "")
        values = compare(flatten(found), flatten(without))
        print(
            f"| {title} | {before[0]:.1f} s ({before[1]:.1f} s) | {after[0]:.2f} s "
            f"({after[1]:.2f} s) | {before[1] / after[1]:.0f} x | {values} |",
            flush=True,
        )


def run(harness: str, side: str, content: str, task: str) -> tuple[Any, tuple[float, float]]:
    """Return the scores of a harness, and its time by the clock and by processors."""
    names = [task] if task else []
    done = subprocess.run(
        [sys.executable, RUNS, harness, side, *names, "--without-spice"],
        input=content,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{harness} ({side}) failed:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return found["scores"][harness], (found["seconds"][harness], found["processor"][harness])


def flatten(scores: Any) -> dict[str, float]:
    """Return the numbers by name, without what stands before a metric's own."""
    found: dict[str, float] = {}
    for name, value in scores.items():
        if name == "sentences":
            continue
        if isinstance(value, dict):
            found |= flatten(value)
        elif isinstance(value, int | float) and "SPICE" not in name:
            found[name.removeprefix("coco_")] = value
    return found


def compare(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Return the largest difference of the scores as text."""
    common = [name for name in theirs if name in ours]
    apart = [name for name in common if not math.isclose(ours[name], theirs[name], rel_tol=1e-9)]
    if apart:
        return "; ".join(f"{name}: {theirs[name]!r} became {ours[name]!r}" for name in apart)
    return f"{len(common)} equal to 1e-9"


if __name__ == "__main__":
    main()
