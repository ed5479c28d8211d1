"""Self-CIDEr against pairwise calls of pycocoevalcap's Cider with preset document frequencies.

    python benchmarks/run.py diversity [SETS.json] [--images 500] [--repeats 3]

Both sides compute the same numbers (CIDEr-D kernel, each pair once) from the same frequencies, and
that is checked. They run in turn; the best time of each counts, by the clock and, for machines
that have other work, of the processors. cidery's time includes tokenizing,
the original's does not: its captions are split at blanks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocoevalcap.cider.cider_scorer import CiderScorer

import cidery
from cidery.corpus import bundled
from cidery.diversity import SelfCider
from cidery.frequencies import DocumentFrequencies, load_shipped

DEFAULT = Path(__file__).parents[3] / "shared" / "data" / "diversity" / "merge_results.json"
EXAMPLE = bundled.path("sampled_a.json")


class CountedAs(list[Any]):
    """A list that says it is longer: compute_cider takes log |I| from its length."""

    count = 1

    def __len__(self) -> int:
        return self.count


def preset(sets: list[list[str]], frequencies: DocumentFrequencies) -> dict[Any, float]:
    """Return the counts of all n-grams of the captions, as the original wants them."""
    counts: dict[Any, float] = defaultdict(float)
    for words in (caption.split() for captions in sets for caption in captions):
        for n in range(1, 5):
            for start in range(len(words) - n + 1):
                ngram = tuple(words[start : start + n])
                counts[ngram] = float(frequencies.count(ngram))
    return counts


def score_pairs(sets: list[list[str]], counts: dict[Any, float], images: int) -> list[float]:
    """Return Self-CIDEr of each set from one call per pair of captions."""
    results = []
    for captions in sets:
        m = len(captions)
        kernel = np.eye(m)
        for i in range(m):
            for j in range(i + 1, m):
                scorer = CiderScorer(captions[i], [captions[j]])
                scorer.document_frequency = counts
                scorer.crefs = CountedAs(scorer.crefs)
                scorer.crefs.count = images
                kernel[i, j] = kernel[j, i] = scorer.compute_cider()[0] / 10
        roots = np.sqrt(np.maximum(np.linalg.eigvalsh(kernel), 0))
        results.append(float(-np.log(roots[-1] / roots.sum()) / np.log(m)))
    return results


def timed(work: Callable[[], Any]) -> tuple[NDArray[np.float64], Any]:
    """Return the seconds by the clock and of all processors, and the result."""
    start = time.perf_counter(), time.process_time()
    result = work()
    return np.subtract((time.perf_counter(), time.process_time()), start), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sets", nargs="?", type=Path, default=DEFAULT if DEFAULT.exists() else EXAMPLE
    )
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    captions = {row["image_id"]: row["captions"] for row in json.loads(chosen.sets.read_text())}
    plain = {
        image: [" ".join(words) for words in cidery.tokenize(group)]
        for image, group in captions.items()
    }
    some = dict(list(captions.items())[: chosen.images])
    some_plain = [plain[image] for image in some]
    frequencies = load_shipped("coco-train2014")
    counts = preset(some_plain, frequencies)
    measure = SelfCider("cider-d", pairs="once")
    cidery.measure_diversity(some, [measure])  # the frequencies are loaded once per process

    times: dict[str, list[NDArray[np.float64]]] = {"pairs": [], "some": [], "all": []}
    for _ in range(chosen.repeats):
        seconds, table = timed(lambda: cidery.measure_diversity(some, [measure]))
        times["some"].append(seconds)
        seconds, _ = timed(lambda: cidery.measure_diversity(captions, ["self-cider"]))
        times["all"].append(seconds)
        seconds, theirs = timed(
            lambda: score_pairs(some_plain, counts, int(frequencies.image_count))
        )
        times["pairs"].append(seconds)
    worst = float(np.abs(table.each["self-cider"] - theirs).max())
    best = {name: np.min(found, axis=0) for name, found in times.items()}
    per_image = {
        "pairs": best["pairs"] / len(some),
        "some": best["some"] / len(some),
        "all": best["all"] / len(captions),
    }
    print(f"{chosen.sets.name}; largest difference of the two sides {worst:.1e}")
    print("\n| | images | seconds | ratio | CPU seconds | ratio |\n|---|---:|---:|---:|---:|---:|")
    for name, label, count in (
        ("pairs", "pycocoevalcap, pair by pair", len(some)),
        ("some", "cidery, the same images", len(some)),
        ("all", "cidery, all images, cider kernel", len(captions)),
    ):
        (wall, cpu), ratios = best[name], per_image["pairs"] / per_image[name]
        print(f"| {label} | {count} | {wall:.3f} | {ratios[0]:.0f} | {cpu:.3f} | {ratios[1]:.0f} |")


if __name__ == "__main__":
    main()
