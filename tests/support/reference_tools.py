"""pycocoevalcap, run as its users run it: PTBTokenizer (Java), then Bleu, Rouge and Cider."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def tokenize(captions: Mapping[Any, list[str]]) -> dict[Any, list[str]]:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    return PTBTokenizer().tokenize(
        {image: [{"caption": c} for c in listed] for image, listed in captions.items()}
    )


def score_tokens(
    references: dict[Any, list[str]], candidates: dict[Any, list[str]]
) -> dict[str, tuple[float, np.ndarray]]:
    """Return metric -> (corpus score, score per image), under cidery's names."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    corpus, each = Bleu(4).compute_score(references, candidates, verbose=0)
    found = {f"bleu-{n + 1}": (corpus[n], np.asarray(each[n])) for n in range(4)}
    for name, scorer in (("rouge-l", Rouge()), ("cider-d", Cider())):
        score, values = scorer.compute_score(references, candidates)
        found[name] = (float(score), np.asarray(values))
    return found


def score(
    candidates: Mapping[Any, str], references: Mapping[Any, list[str]]
) -> dict[str, tuple[float, np.ndarray]]:
    return score_tokens(
        tokenize(references), tokenize({image: [c] for image, c in candidates.items()})
    )


def coco_captions(part: str) -> dict[int, list[str]]:
    """Return the captions of COCO `train2014` or `val2014`, which lie inside the package."""
    import pycocoevalcap

    jar = Path(next(iter(pycocoevalcap.__path__))) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        content = json.loads(archive.read(f"coco/annotations/captions_{part}.json"))
    captions: dict[int, list[str]] = {}
    for annotation in content["annotations"]:
        captions.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return captions
