"""RL trainers from PyPI, as they are, call our rewards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.rewards import CompletionReward, count_ended_frequencies

ROOT = Path(__file__).parents[2]
REFERENCES = {
    "dog": ["a dog runs on grass", "the dog runs"],
    "cat": ["a cat sleeps on a bed", "the cat sleeps"],
    "boat": ["a boat on water", "the old boat"],
    "bus": ["a red bus", "the bus on a street"],
}
CAPTIONS = ["a dog runs", "the cat sleeps", "a boat boat", "the dog"]


@pytest.fixture(scope="module")
def found(stacks: Path) -> dict[str, Any]:
    """What benchmarks/external/stack_runs.py finds: one process, since importing takes longest."""
    assert stacks
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "benchmarks" / "external" / "stack_runs.py",
            "trl",
            "verl",
            "ms-swift",
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return read


def score(metric: Any, **settings: Any) -> list[Any]:
    reward = CompletionReward(metric, frequencies=count_ended_frequencies(REFERENCES), **settings)
    return reward(CAPTIONS, references=list(REFERENCES.values()))


@pytest.mark.stack
def test_a_model_learns_in_grpo_trainer(found: dict[str, Any]) -> None:
    rewards = found["trl"]["rewards"]
    assert found["trl"]["by name"] == rewards
    assert np.mean(rewards[-10:]) > 1.3 * np.mean(rewards[:10]) > 0


@pytest.mark.stack
def test_managers_of_verl_find_our_values(found: dict[str, Any]) -> None:
    expected = score({"cider-d": 1.0, "bleu-1": 0.5}, clip=(0, 5))
    assert found["verl"]["reward loop"] == expected
    for manager in ("naive", "batch"):  # they keep float32
        np.testing.assert_array_equal(found["verl"][manager], np.float32(expected))


@pytest.mark.stack
def test_ms_swift_makes_and_calls_our_reward(found: dict[str, Any]) -> None:
    assert found["ms-swift"]["is an ORM"]
    np.testing.assert_array_equal(found["ms-swift"]["rewards"], np.float32(score("cider-d")))
