"""Drop-in classes beside the originals: COCOEvalCap at 5,000 images, without METEOR and SPICE.

    python benchmarks/drop_in.py [ANNOTATIONS RESULTS]

Both run in this process, one after the other, tokenization included. Without files, captions are
made from the bundled examples: 5,000 images with 5 references. Needs Java and pycocoevalcap.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cidery
from cidery import coco as drop_in
from cidery.corpus import bundled

SCORERS = ("Bleu", "ROUGE_L", "CIDEr")
REPETITIONS = 5


def main() -> None:
    if len(sys.argv) == 3:
        dataset, results = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
    else:
        dataset, results = make_captions(5000)
    own = drop_in.COCO(dataset)
    images = [image["id"] for image in own.loadRes(results).imgs.values()]
    ours_time, ours = median_of(REPETITIONS, lambda: run_ours(own, results, images))
    theirs_time, theirs = median_of(1, lambda: run_original(dataset, results, images))
    for name, value in theirs.items():
        if not np.isclose(ours[name], value, rtol=1e-9, atol=0):
            raise SystemExit(f"{name}: {ours[name]!r} here, {value!r} in the original")
    print(f"cidery {cidery.__version__}, {len(images)} images, {', '.join(theirs)}: equal to 1e-9")
    print(f"pycocoevalcap {theirs_time:8.3f} s")
    print(f"cidery.coco   {ours_time:8.3f} s   (median of {REPETITIONS})")
    print(f"ratio         {theirs_time / ours_time:8.1f}")


def run_ours(coco: drop_in.COCO, results: list[Any], images: list[Any]) -> dict[str, float]:
    evaluation = drop_in.COCOEvalCap(coco, coco.loadRes(results), scorers=SCORERS)
    evaluation.params["image_id"] = images
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation.evaluate()
    return evaluation.eval


def run_original(
    dataset: dict[str, Any], results: list[Any], images: list[Any]
) -> dict[str, float]:
    """Do what the original evaluate() does, without its METEOR and SPICE."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
    from pycocotools.coco import COCO

    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"info": {}, **dataset}
        coco.createIndex()
        results_coco = coco.loadRes([dict(result) for result in results])
        tokenizer = PTBTokenizer()
        gts = tokenizer.tokenize({image: coco.imgToAnns[image] for image in images})
        res = tokenizer.tokenize({image: results_coco.imgToAnns[image] for image in images})
        scores: dict[str, float] = {}
        for k, value in enumerate(Bleu(4).compute_score(gts, res)[0], start=1):
            scores[f"Bleu_{k}"] = value
        scores["ROUGE_L"] = Rouge().compute_score(gts, res)[0]
        scores["CIDEr"] = Cider().compute_score(gts, res)[0]
    return scores


def median_of(
    repetitions: int, run: Callable[[], dict[str, float]]
) -> tuple[float, dict[str, float]]:
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        scores = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), scores


def make_captions(images: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Make captions of about ten words out of the words of the bundled examples."""
    text = bundled.path("references.json").read_text(encoding="utf-8")
    words = text.replace('"', " ").replace(",", " ").split()
    words = [word for word in words if word.isalpha()]
    rng = random.Random(0)

    def caption() -> str:
        start = rng.randrange(len(words) - 20)
        return " ".join(words[start : start + rng.randint(6, 14)]).capitalize() + "."

    annotations = [
        {"id": 5 * image + k, "image_id": image, "caption": caption()}
        for image in range(images)
        for k in range(5)
    ]
    results = [
        {"image_id": image, "caption": annotations[5 * image]["caption"][:-9]}
        for image in range(images)
    ]
    return {"images": [{"id": i} for i in range(images)], "annotations": annotations}, results


if __name__ == "__main__":
    main()
