"""Metrics on paragraphs with short references: right against wrong paragraphs.

    .venv/bin/python benchmarks/run.py long_captions RESULTS.json REFERENCES.json [METRIC …]

Each image's caption is scored against its references, and so is the caption of the next image. AUC
is the share of pairs (right, wrong) in which the right one scores higher; 0.5 is chance.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import cidery
from cidery.metrics import get_metrics

METRICS = ["cider-d", "cider-r", "bleu-4", "rouge-l", "meteor", "bertscore", "consensus"]
IMAGES = 400


def main() -> None:
    results, references, *names = sys.argv[1:]
    known = cidery.read_references(references)
    corpus = cidery.Corpus.build(cidery.read_candidates(results), known)
    right = corpus.candidates[:IMAGES]
    groups = [known[corpus.images[place]] for place in corpus.candidate_images[:IMAGES].tolist()]
    print("| metric | AUC | score |\n|---|---:|---:|")
    for label, metric in get_metrics(names or METRICS).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables = [
                cidery.score(captions, groups, metrics=[metric], frequencies="coco-val2014")
                for captions in (right, right[1:] + right[:1])
            ]
        sign = -1 if metric.lower_is_better else 1
        good, bad = (sign * table.each[metric.name] for table in tables)
        higher = (good[:, None] > bad) + 0.5 * (good[:, None] == bad)
        score = tables[0].corpus[metric.name]
        print(f"| `{label}` | {np.mean(higher):.3f} | {score:.4f} |", flush=True)


if __name__ == "__main__":
    main()
