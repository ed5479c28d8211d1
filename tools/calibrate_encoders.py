"""Choose each encoder's layer and β on Flickr8k-CF, which no other number is reported on.

    python tools/calibrate_encoders.py FLICKR8K_FOLDER minilm [--layers 3 4 5 6] [--rows 6000]

BERTScore's F chooses the layer, then the 2020 metric its β in that layer: Kendall's τ-b.
"""

import argparse

import numpy as np

from cidery import BertScore, Irv, meta
from cidery.encoders import get_encoder

BETAS = np.arange(0.1, 0.85, 0.05).round(2).tolist()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("encoder")
    parser.add_argument("--layers", type=int, nargs="*")
    parser.add_argument("--rows", type=int, default=6000, help="judged rows, drawn by seed 0")
    chosen = parser.parse_args()
    dataset = meta.read_dataset("flickr8k-cf", chosen.folder)
    layers = chosen.layers or range(get_encoder(chosen.encoder).layers + 1)

    def judge(metrics: dict) -> dict[str, float]:
        found = meta.evaluate(dataset, metrics, sample=chosen.rows, resamples=0)
        for label, statistics in found.results.items():
            print(f"{label}: tau-b {statistics['tau_b']:.4f}", flush=True)
        return {label: statistics["tau_b"] for label, statistics in found.results.items()}

    by_layer = judge(
        {str(layer): BertScore(encoder=chosen.encoder, layer=layer) for layer in layers}
    )
    best = int(max(by_layer, key=by_layer.__getitem__))
    judge({f"layer {best}, β {b}": Irv(encoder=chosen.encoder, layer=best, beta=b) for b in BETAS})


if __name__ == "__main__":
    main()
