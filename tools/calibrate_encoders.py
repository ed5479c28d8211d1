"""Choose an encoder's layer and β on data that no figure is reported on.

    python tools/calibrate_encoders.py minilm --flickr8k FOLDER     the layer, on Flickr8k-CF
    python tools/calibrate_encoders.py minilm                       β, on the bundled example

The layer is chosen by Kendall's τ-b of BERTScore's F. β is chosen by how well the 2020 metric tells
an image's fifth reference from those of other images, given the first four: d', the difference of
the means over the pooled standard deviation.
"""

import argparse

import numpy as np

from cidery import BertScore, Irv, meta, score
from cidery.corpus import bundled
from cidery.encoders import get_encoder
from cidery.files import read_references

BETAS = np.arange(0.1, 0.85, 0.05).round(2).tolist()


def judge_layers(encoder: str, folder: str, rows: int) -> None:
    dataset = meta.read_dataset("flickr8k-cf", folder)
    layers = range(get_encoder(encoder).layers + 1)
    metrics = {f"layer {n}": BertScore(encoder=encoder, layer=n) for n in layers}
    found = meta.evaluate(dataset, metrics, sample=rows, resamples=0)
    for label, statistics in found.results.items():
        print(f"{label}: tau-b {statistics['tau_b']:.4f}")


def judge_betas(encoder: str) -> None:
    captions = list(read_references(bundled.path("references.json")).values())
    known = [group[:4] for group in captions]
    own = [group[4] for group in captions]
    others = [own[(place + 1) % len(own)] for place in range(len(own))]
    metrics = [Irv(encoder=encoder, beta=beta) for beta in BETAS]
    right = score(own, known, metrics).each.values()
    wrong = score(others, known, metrics).each.values()
    for beta, one, other in zip(BETAS, right, wrong, strict=True):
        spread = np.sqrt((one.var() + other.var()) / 2)
        print(f"β {beta:.2f}: d' {(one.mean() - other.mean()) / spread:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder")
    parser.add_argument("--flickr8k", help="the folder of Flickr8k-CF; choose the layer")
    parser.add_argument("--rows", type=int, default=5000, help="judged rows, drawn by seed 0")
    chosen = parser.parse_args()
    if chosen.flickr8k:
        judge_layers(chosen.encoder, chosen.flickr8k, chosen.rows)
    else:
        judge_betas(chosen.encoder)


if __name__ == "__main__":
    main()
