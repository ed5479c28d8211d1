"""Captions of a split's images, and their scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from cidery import score
from cidery.errors import UnreliableWarning
from cidery_lab.data import LabData, Split
from cidery_lab.decoding import generate_captions, search_beams
from cidery_lab.models.base import Captioner

BATCH = 250
"""Images captioned per batch."""
MIN_IMAGES = 100
"""Minimum number of images whose references give reliable document frequencies."""


def choose_device(name: str | None = None) -> torch.device:
    """Return a torch device. Default: a GPU if there is one."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def map_images(
    model: Captioner, split: Split, call: Callable[[Tensor, int], Tensor]
) -> list[Tensor]:
    """Call a function with batches of features and the index of the first image."""
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    found = []
    for place in range(0, len(split), BATCH):
        images = torch.from_numpy(split.features[place : place + BATCH]).to(device)
        found.extend(call(images, place).cpu())
    model.train(was_training)
    return found


def caption_images(
    model: Captioner, data: LabData, split: Split, *, max_words: int = 20, beams: int = 1
) -> dict[str, str]:
    """Return one caption per image: greedy, or the best of several beams.

    ```python
    caption_images(run.model, data, data.test, beams=3)
    ```
    """

    def describe(images: Tensor, _: int) -> Tensor:
        if beams == 1:
            return generate_captions(model, images, max_words)
        return search_beams(model, images, max_words, beams)[:, 0]

    rows = map_images(model, split, describe)
    words = (data.vocabulary.decode(row.tolist()) for row in rows)
    return dict(zip(split.images, words, strict=True))


def score_captions(
    captions: Mapping[str, str], split: Split, metrics: Sequence[str], data: LabData
) -> dict[str, float]:
    """Return corpus scores.

    Document frequencies are those of the split's references, as in published tables; for fewer than
    100 images, those of the training captions.
    """
    with warnings.catch_warnings():
        # Early models generate captions of any length.
        warnings.simplefilter("ignore", UnreliableWarning)
        table = score(
            dict(captions),
            {image: split.references[image] for image in captions},
            list(metrics),
            tokenizer="whitespace",
            frequencies="references" if len(captions) >= MIN_IMAGES else data.frequencies,
        )
    return {name: float(value) for name, value in table.corpus.items()}


def score_greedy(model: Captioner, data: LabData, split: Split, max_words: int) -> float:
    """Return the CIDEr-D of greedy captions."""
    captions = caption_images(model, data, split, max_words=max_words)
    return score_captions(captions, split, ["cider-d"], data)["cider-d"]
