"""Error of CIDEr-D caused by common mistakes in evaluation code.

    python benchmarks/run.py mistakes REFERENCES RESULTS [RESULTS ...]

Prints a Markdown table, CIDEr-D times 100; without files, for the bundled example. Files may have
any format that `cidery score` reads.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import cidery
from cidery.corpus import bundled

Candidates = Mapping[str, str]
References = Mapping[str, list[str]]
PART = 10
LABELS = {
    "m2_transformer": "M² Transformer",
    "blip2": "BLIP-2",
    "llava_brief": "LLaVA-1.5, asked briefly",
    "llava_default": "LLaVA-1.5",
}
"""Names of published systems, by the names of their files."""


def score(candidates: Candidates, references: References, tokenizer: object = "ptb-coco") -> float:
    return (
        100
        * cidery.score(candidates, references, ["cider-d"], tokenizer=tokenizer).corpus["cider-d"]
    )


def split_lower(caption: str) -> list[str]:
    return caption.lower().split()


def score_parts(size: int) -> Callable[[Candidates, References], float]:
    def score_in_parts(candidates: Candidates, references: References) -> float:
        images = list(candidates)
        parts = [images[start : start + size] for start in range(0, len(images), size)]
        return float(
            np.mean(
                [
                    score({i: candidates[i] for i in part}, {i: references[i] for i in part})
                    for part in parts
                ]
            )
        )

    return score_in_parts


MISTAKES: Mapping[str, Callable[[Candidates, References], float]] = {
    "right: Penn Treebank words of all images": score,
    "no tokenizer, split at blanks (VLMEvalKit)": lambda c, r: score(c, r, "whitespace"),
    "lower case, split at blanks": lambda c, r: score(c, r, split_lower),
    f"{PART} images at a time, then the mean (lmms-eval's `youcook2`, by video)": score_parts(PART),
    "one image at a time, then the mean (VLMEvalKit's MMSci)": score_parts(1),
    "one reference of each image": lambda c, r: score(c, {i: texts[:1] for i, texts in r.items()}),
}


def main(paths: list[str]) -> None:
    warnings.simplefilter("ignore")
    if not paths:
        paths = [
            str(bundled.path(n)) for n in ("references.json", "system_a.json", "system_b.json")
        ]
    references = {str(i): texts for i, texts in cidery.read_references(paths[0]).items()}
    systems = {
        Path(path).stem: {str(i): text for i, text in cidery.read_candidates(path)}
        for path in paths[1:]
    }
    print(f"| | {' | '.join(LABELS.get(name, name) for name in systems)} |")
    print(f"|---|{'---:|' * len(systems)}")
    for name, measure in MISTAKES.items():
        values = []
        for candidates in systems.values():
            values.append(f"{measure(candidates, {i: references[i] for i in candidates}):.1f}")
        print(f"| {name} | {' | '.join(values)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
