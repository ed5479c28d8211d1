"""Seconds per step of caption rewards and of TRL's own reward functions.

    make stacks
    python benchmarks/run.py completions

A step scores 64 completions of 8 prompts, 5 references each, from the bundled example. Also
shown: four worker processes map one file of frequencies.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cidery
from cidery.compat.verl import compute_score
from cidery.corpus import bundled
from cidery.rewards import CompletionReward
from rewards import time_in_turns

ROOT = Path(__file__).parents[2]
PROMPTS, SAMPLES, WORKERS = 8, 8, 4


def find_mapped(process: str = "self") -> list[str]:
    """Return the mappings of .df files: `r--p … train.df`, whose pages the kernel shares."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return [line for line in lines if line.endswith(".df")]


def work(reward: CompletionReward, ready: Any, done: Any) -> None:
    reward(["a dog runs"], references=["a dog is running on the grass"])
    ready.put(find_mapped())
    done.wait()


def measure_sharing() -> None:
    from cidery.frequencies import list_shipped_files

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "train.df"
        file.write_bytes(list_shipped_files("coco-train2014")[0].read_bytes())
        context = multiprocessing.get_context("spawn")
        ready, done = context.Queue(), context.Event()
        reward = CompletionReward("cider-d", frequencies=file)
        workers = [context.Process(target=work, args=(reward, ready, done)) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        mapped = [ready.get() for _ in workers]
        print(f"{file.stat().st_size / 1e6:.1f} MB of frequencies, mapped by {WORKERS} processes:")
        for lines in mapped:
            print("  ", *lines)
        done.set()
        for worker in workers:
            worker.join()


def main() -> None:
    sys.path.insert(0, str(ROOT / "build" / "stacks"))
    from trl.rewards import (
        get_repetition_penalty_reward,
        get_soft_overlong_punishment,
        think_format_reward,
    )

    references = list(cidery.read_references(bundled.path("references.json")).values())[:PROMPTS]
    groups = [group for group in references for _ in range(SAMPLES)]
    texts = [group[i % len(group)] for group in references for i in range(SAMPLES)]
    messages = [[{"role": "assistant", "content": text}] for text in texts]
    words = sorted({word for text in texts for word in text.split()})
    ids = [[words.index(word) for word in text.split()] for text in texts]
    given = {"completions": messages, "completion_ids": ids, "references": groups}
    cider = CompletionReward("cider-d", frequencies="coco-train2014")
    others = {
        name: CompletionReward(name, frequencies="coco-train2014")
        for name in ("cider-r", "bleu-4", "rouge-l")
    }
    theirs = {
        "TRL think_format_reward": think_format_reward,
        "TRL repetition penalty": get_repetition_penalty_reward(),
        "TRL soft overlong punishment": get_soft_overlong_punishment(100, 20),
    }

    def one_by_one() -> list[float]:
        return [
            compute_score("captions", text, group, None, frequencies="coco-train2014")
            for text, group in zip(texts, groups, strict=True)
        ]

    assert one_by_one() == cider(**given)
    calls: dict[str, Callable[[], Any]] = {
        **{name: (lambda f=function: f(**given)) for name, function in theirs.items()},
        "cider-d": lambda: cider(**given),
        **{name: (lambda f=reward: f(**given)) for name, reward in others.items()},
        "cider-d, verl's compute_score 64 times": one_by_one,
    }
    times = time_in_turns(calls, 20)
    base = times["TRL repetition penalty"]
    print(f"{len(texts)} completions of {PROMPTS} prompts, {len(references[0])} references each")
    print("\n| | a step | beside TRL's repetition penalty |\n|---|---:|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds * 1e3:.2f} ms | {seconds / base:.1f} × |")
    print()
    measure_sharing()


if __name__ == "__main__":
    main()
