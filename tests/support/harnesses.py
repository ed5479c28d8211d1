"""Evaluation harnesses from PyPI, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[2]


Captions: TypeAlias = tuple[dict[int, str], dict[int, list[str]]]
"""Candidates and references."""


def run_harness(harness: str, side: str, captions: Captions, *names: str) -> dict[str, Any]:
    """Return the scores of harnesses, with cidery or with their own code."""
    candidates, references = captions
    content = {"references": references, "candidates": candidates}
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "benchmarks" / "external" / "harness_runs.py",
            harness,
            side,
            *names,
        ],
        input=json.dumps(content),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])["scores"]
    return found
