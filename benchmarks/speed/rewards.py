"""Rewards against the usual implementation, on COCO captions.

    python benchmarks/run.py rewards captions_val2014.json [--calls 100000]

pycocoevalcap's CiderScorer, with its document frequencies preset, and cidery.Reward score the same
50 captions of 10 images against 5 references each, in turns, in one process. Both weigh n-grams by
the frequencies of all images in the file; the values are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pycocoevalcap.cider.cider_scorer import CiderScorer

import cidery

IMAGES, SAMPLES, REFERENCES = 10, 5, 5
SPECIAL = ["<pad>", "<bos>", "<eos>"]


class PresetCount(list):
    """A list for CiderScorer.crefs, whose length the scorer takes for the number of images."""

    image_count = 0

    def __len__(self) -> int:
        return self.image_count


def read_references(path: Path) -> dict[int, list[str]]:
    references: dict[int, list[str]] = defaultdict(list)
    for annotation in json.loads(path.read_text())["annotations"]:
        references[annotation["image_id"]].append(annotation["caption"])
    return dict(references)


def sample_captions(references: list[list[list[str]]], words: list[str]) -> list[list[str]]:
    """References with a quarter of the words exchanged, as a half-trained model might say."""
    rng = random.Random(0)
    captions = []
    for group in references:
        for _ in range(SAMPLES):
            caption = list(rng.choice(group))
            captions.append([rng.choice(words) if rng.random() < 0.25 else w for w in caption])
    return captions


def token_array(captions: list[list[str]], ids: dict[str, int]) -> np.ndarray:
    array = np.zeros((len(captions), max(map(len, captions)) + 2), np.int64)
    for row, caption in enumerate(captions):
        array[row, : len(caption) + 2] = [1, *(ids[word] for word in caption), 2]
    return array


def usual_call(
    frequencies: dict[Any, float], image_count: int, captions: list[str], groups: list[list[str]]
) -> Callable[[], np.ndarray]:
    """One call of the usual implementation: cook captions and references, then compare."""

    def call() -> np.ndarray:
        scorer = CiderScorer(n=4, sigma=6.0)
        scorer.document_frequency = frequencies
        for caption, group in zip(captions, groups, strict=True):
            scorer += (caption, group)
        scorer.crefs = PresetCount(scorer.crefs)
        scorer.crefs.image_count = image_count
        return np.array(scorer.compute_cider())

    return call


def count_frequencies(references: list[list[str]]) -> dict[Any, float]:
    scorer = CiderScorer()
    for group in references:
        scorer += (None, group)
    scorer.compute_doc_freq()
    return scorer.document_frequency


def time_in_turns(
    calls: dict[str, Callable[[], Any]], rounds: int, in_a_row: int = 10
) -> dict[str, float]:
    """Best seconds a call, over turns of several calls in a row.

    They take turns, so that all meet the same machine; the first call of a turn only brings back
    what the others displaced from the caches.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(in_a_row):
                call()
            times[name].append((time.perf_counter() - start) / in_a_row)
    return {name: min(values) for name, values in times.items()}


def resident_kilobytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("annotations", type=Path, help="captions_val2014.json")
    parser.add_argument("--calls", type=int, default=100_000, help="for the growth of memory")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()

    references = read_references(arguments.annotations)
    tokenized = cidery.tokenize([c for group in references.values() for c in group])
    spelled = iter(" ".join(words) for words in tokenized)
    everything = {image: [next(spelled) for _ in group] for image, group in references.items()}
    frequencies = cidery.DocumentFrequencies.from_references(references)
    counts = count_frequencies(list(everything.values()))

    images = sorted(references)[:IMAGES]
    chosen = {image: references[image][:REFERENCES] for image in images}
    words = sorted({word for words in tokenized for word in words})
    vocabulary = SPECIAL + words
    ids = {word: token for token, word in enumerate(vocabulary)}
    captions = sample_captions([cidery.tokenize(chosen[image]) for image in images], words[:2000])
    array = token_array(captions, ids)
    strings = [" ".join(caption) for caption in captions]
    image_ids = [image for image in images for _ in range(SAMPLES)]

    settings = {"frequencies": frequencies, "vocabulary": vocabulary, "pad": 0, "bos": 1, "eos": 2}
    few = cidery.Reward(chosen, "cider-d", **settings)
    many = cidery.Reward(references, "cider-d", **settings)
    groups = [everything[image][:REFERENCES] for image in image_ids]
    usual = usual_call(counts, len(references), strings, groups)

    np.testing.assert_allclose(few(image_ids, array), usual(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(few(image_ids, array), few(image_ids, strings))

    calls: dict[str, Callable[[], Any]] = {
        "usual": usual,
        "ids": lambda: few(image_ids, array),
        "strings": lambda: few(image_ids, strings),
        "tokens": lambda: few(image_ids, captions),
        "ids, references of all images": lambda: many(image_ids, array),
    }
    times = time_in_turns(calls, arguments.rounds)
    print(
        f"{len(captions)} captions, {IMAGES} images, {REFERENCES} references, "
        f"frequencies of {len(references)} images"
    )
    print("\n| | a call | |\n|---|---:|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds * 1e3:.2f} ms | {times['usual'] / seconds:.0f} × |")

    print("\n| captions | threads | ms | µs per caption |\n|---:|---:|---:|---:|")
    for size in (256, 1024, 4096):
        repeats = -(-size // len(captions))
        batch = np.tile(array, (repeats, 1))[:size]
        batch_ids = (image_ids * repeats)[:size]
        by_threads = {
            threads: cidery.Reward(chosen, "cider-d", **settings, threads=threads)
            for threads in (1, 2)
        }
        measured = time_in_turns(
            {str(t): partial(r, batch_ids, batch) for t, r in by_threads.items()}, 15
        )
        for threads, seconds in measured.items():
            milliseconds = f"{seconds * 1e3:.2f}"
            print(f"| {size} | {threads} | {milliseconds} | {seconds / size * 1e6:.3f} |")

    for _ in range(2000):
        few(image_ids, array)
        few(image_ids[:5], strings[:5])
    before = resident_kilobytes()
    for number in range(arguments.calls):
        few(image_ids, array)
        if number % 10 == 0:
            few(image_ids[:5], [f"{strings[0]} {number}", *strings[1:5]])  # always a new word
    print(f"\nmemory over {arguments.calls} calls: {resident_kilobytes() - before:+d} kB")


if __name__ == "__main__":
    main()
