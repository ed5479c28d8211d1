"""Settings of GRPO with a caption reward: TRL's trainer on a tiny model, three seeds.

    make stacks
    python benchmarks/run.py grpo_settings

The model has random weights and a word for a prompt; eight made-up scenes have four references
each. Printed are, over the last 20 steps' samples: CIDEr-D of the words alone, the share of samples
that reached the length limit, of those with a broken end, and of repeated words.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from cidery import DocumentFrequencies
from cidery.metrics.fluency import is_broken, measure_repetition
from cidery.rewards import CompletionReward, count_ended_frequencies

ROOT = Path(__file__).parents[2]
THINGS = ("dog", "cat", "horse", "boy", "girl", "man", "bird", "bear")
DOINGS = ("runs", "sleeps", "jumps", "sits")
PLACES = ("house", "tree", "car", "fence")
LAST = 20


def make_rows() -> list[dict[str, Any]]:
    rows = []
    for i, thing in enumerate(THINGS):
        doing, place = DOINGS[i % 4], PLACES[(i + i // 4) % 4]
        references = [
            f"a {thing} {doing} in front of a {place}",
            f"a {thing} is in front of a {place}",
            f"the {thing} {doing} near a {place}",
            f"a {thing} {doing} on the grass",
        ]
        rows.append({"prompt": thing, "references": references})
    return rows


class Watched:
    """A reward that remembers what was sampled."""

    __name__ = "watched"

    def __init__(self, reward: CompletionReward, plain: CompletionReward) -> None:
        self.reward, self.plain = reward, plain
        self.steps: list[dict[str, float]] = []

    def __call__(self, completions: list[str], completion_ids: Any, **columns: Any) -> list[Any]:
        """Score, and note what was sampled."""
        words = [text.split() for text in completions]
        self.steps.append(
            {
                "cider-d": float(
                    np.mean(self.plain(completions, references=columns["references"]))
                ),
                "cut off": float(np.mean([ids[-1] != 1 for ids in completion_ids])),
                "broken": float(np.mean([is_broken(row) for row in words])),
                "repeated": float(np.mean([measure_repetition(row) for row in words])),
                "words": float(np.mean([len(row) for row in words])),
                "different": len(set(completions)) / len(completions),
            }
        )
        return self.reward(completions, completion_ids=completion_ids, **columns)


BASE = {"metric": "cider-d", "count_eos": True, "scale": 0.1}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "base": ({}, {}),
    "count_eos=False": ({"count_eos": False}, {}),
    "metric=cider-r": ({"metric": "cider-r"}, {}),
    "metric=bleu-4": ({"metric": "bleu-4"}, {}),
    "scale=10": ({"scale": 10.0}, {}),
    "scale_rewards=none": ({}, {"scale_rewards": "none"}),
    "num_generations=2": ({}, {"num_generations": 2}),
    "num_generations=16": ({}, {"num_generations": 16}),
    "beta=0.5": ({}, {"beta": 0.5}),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--case", action="append", choices=list(CASES))
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "build" / "stacks"))
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    warnings.simplefilter("ignore")
    from stack_runs import train

    rows = make_rows()
    references = {row["prompt"]: row["references"] for row in rows}
    ended = count_ended_frequencies(references)
    plain = CompletionReward("cider-d", frequencies=DocumentFrequencies.from_references(references))
    for name in arguments.case or CASES:
        of_reward, of_trainer = CASES[name]
        ends = []
        for seed in range(arguments.seeds):
            chosen = BASE | of_reward
            watched = Watched(CompletionReward(frequencies=ended, eos=1, **chosen), plain)
            with (
                tempfile.TemporaryDirectory() as folder,
                Path(os.devnull).open("w") as nowhere,
                contextlib.redirect_stdout(nowhere),
            ):
                settings = {"max_completion_length": 12, "max_steps": arguments.steps, "seed": seed}
                train(folder, watched, rows * 8, **settings, **of_trainer)
            last = watched.steps[-LAST:]
            ends.append([float(np.mean([step[key] for step in last])) for key in last[0]])
        means, spread = np.mean(ends, axis=0), np.std(ends, axis=0, ddof=1)
        cells = [f"{mean:.2f} ± {sd:.2f}" for mean, sd in zip(means, spread, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
