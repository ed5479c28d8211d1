"""Agreement of CIDEr-R and CIDEr-D with judges by difference of lengths, PASCAL-50S.

    python benchmarks/run.py length_gaps FOLDER [--draws 10]

One reference is drawn for each image, several times. Pairs are grouped by how far the length of
one of their captions is from that of the reference, in words; intervals are of a bootstrap over
images.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from cidery import meta
from cidery.errors import UnreliableWarning
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import get_metrics
from cidery.text import get_tokenizer

GAPS = ((0, 4), (4, 7), (7, 10), (10, 15), (15, 10**6))
RESAMPLES = 2000


def main() -> None:
    """Print a line for each group of pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UnreliableWarning)
    pairs = meta.read_dataset("pascal-50s", options.folder)
    assert isinstance(pairs, meta.Pairs)
    votes = np.sign(pairs.votes["triplets"])
    images = pairs.judged.image_of_caption[pairs.first]
    gaps, right = [], []
    for seed in range(options.draws):
        drawn = pairs.judged.draw(1, seed)
        scored = CaptionScorer().score(drawn, get_metrics(["cider-d", "cider-r"]))
        lengths = count_words(list(drawn.captions))
        reference_lengths = count_words([group[0] for group in drawn.references])[drawn.documents]
        apart = np.abs(lengths - reference_lengths)
        gaps.append(np.maximum(apart[pairs.first], apart[pairs.second]))
        right.append(
            [np.sign(s[pairs.first] - s[pairs.second]) == votes for s in scored.each.values()]
        )
    hits = np.asarray(right, float)  # [draws, metrics, pairs]
    rng = np.random.default_rng(0)
    print("| words apart | pairs | CIDEr-D | CIDEr-R | difference, 95 % interval |")
    print("|---|---:|---:|---:|---:|")
    for low, high in GAPS:
        chosen = (np.asarray(gaps) >= low) & (np.asarray(gaps) < high) & (votes != 0)
        counts = np.bincount(images, chosen.sum(axis=0))
        sums = [np.bincount(images, (hits[:, m] * chosen).sum(axis=0), len(counts)) for m in (0, 1)]
        drawn = rng.integers(0, len(counts), (RESAMPLES, len(counts)))
        differences = (sums[1] - sums[0])[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
        d, r = (100 * total.sum() / counts.sum() for total in sums)
        bounds = 100 * np.quantile(differences, (0.025, 0.975))
        name = f"{low} to {high - 1}" if high < 100 else f"{low} or more"
        pairs_each = counts.sum() / options.draws
        interval = f"{r - d:+.1f} [{bounds[0]:+.1f}, {bounds[1]:+.1f}]".replace("-", "−")
        print(f"| {name} | {pairs_each:,.0f} | {d:.1f} | {r:.1f} | {interval} |")


def count_words(captions: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many words each caption has."""
    return np.array([len(words) for words in get_tokenizer("ptb")(captions).captions.tokens()])


if __name__ == "__main__":
    main()
