"""choose_next(): items to judge next."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cidery.errors import SettingError
from cidery.meta.estimation.estimates import estimate_quantities
from cidery.meta.estimation.items import (
    Items,
    list_quantities,
    predict,
    read_items,
    read_scale,
)
from cidery.meta.judgments import Dataset, JudgedCaptions, Pairs, Ratings
from cidery.meta.labels import AnyMetrics
from cidery.meta.settings import Settings
from cidery.runtime import ProgressCallback, ignore_progress
from cidery.statistics import Floats, order_evenly


def choose_next(
    dataset: Dataset,
    metric: AnyMetrics = None,
    settings: Settings | None = None,
    *,
    count: int = 10,
    confidence: float = 0.95,
    horizon: int | None = None,
    scale: tuple[float, float] | None = None,
    seed: int = 0,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Return the items to judge next, as lines of a file of judgments.

    Add the judgments and append the lines to the file: they replace the lines without judgments.

    Images come in a drawn order whose every start has good, middling and bad captions (by the
    metric) as the whole has; so means stay unbiased. Of an image, all captions of systems whose
    comparisons are open come together. What is decided at all times (see `horizon` in `estimate`)
    is not judged further. The same seed continues the same order.

    Args:
        dataset: ratings or pairs, of which some were judged.
        metric: one, which predicts what people will say; default: CIDEr-D.
        settings: which references, systems and question.
        count: how many items, at least; an image is not cut in two.
        confidence: at which a comparison counts as decided.
        horizon: about how many images will be judged in all; default: all.
        scale: of the ratings, as in `estimate`.
        seed: of the order.
        threads: 0 means one per core.
        cache: True caches scores in the user's cache directory, a path in that folder.
        progress: called with what is being done, how much of it, 0 to 1, is done.
        changes: fields of `Settings`.

    ```python
    choose_next(read_dataset("judgments", "mine.jsonl"), "cider-d", count=20)
    ```
    """
    if count < 1:
        raise SettingError(f"count must be at least 1, not {count}")
    if horizon is not None and horizon < 1:
        raise SettingError(f"horizon must be at least 1, not {horizon}")
    asked = (settings or Settings()).change(**changes)
    chosen, items = read_items(dataset, asked)
    items = read_scale(items, scale)
    wanted = "cider-d" if metric is None else metric
    predictions, _ = predict(chosen, wanted, asked, threads, progress, cache)
    if len(predictions) != 1:
        raise SettingError(f"expected one metric, not {len(predictions)}")
    (predicted,) = predictions.values()
    images, place = np.unique(items.images, return_inverse=True)
    strength = np.abs(predicted) if items.are_pairs else predicted
    means = np.bincount(place, strength) / np.bincount(place)
    open_items = _find_open(
        items, predicted, confidence, len(images) if horizon is None else horizon
    )
    found: list[int] = []
    for image in order_evenly(np.asarray(means, np.float64), seed):
        found += np.flatnonzero((place == image) & open_items).tolist()
        if len(found) >= count:
            break
    return [_describe(chosen, item) for item in found]


def _describe(dataset: Pairs | Ratings, item: int) -> dict[str, Any]:
    """Return an item in the format of `docs/judgments-format.md`."""
    judged = dataset.judged
    if isinstance(dataset, Pairs):
        places = [int(dataset.first[item]), int(dataset.second[item])]
        line: dict[str, Any] = {"pair": [judged.captions[place] for place in places]}
        line |= {"systems": list(dataset.systems[item])} if dataset.systems else {}
        line |= {"kind": dataset.kinds[item]} if dataset.kinds else {}
    else:
        places = [item]
        line = {"caption": judged.captions[item]}
        line |= {"system": dataset.systems[item]} if dataset.systems else {}
    documents = judged.documents[places]
    if (documents >= _count_images_documents(judged)).any():
        own = [list(judged.references[document]) for document in documents]
        line |= {"references": own[0] if own[0] == own[-1] else own}
    image = int(judged.image_of_caption[places[0]])
    return {"image": judged.names[image] if judged.names else image} | line


def _count_images_documents(judged: JudgedCaptions) -> int:
    """Return the number of documents that are images; items with own references follow."""
    others = np.flatnonzero(judged.images != np.arange(len(judged.images)))
    return int(others[0]) if len(others) else len(judged.images)


def _find_open(
    items: Items, predicted: Floats, confidence: float, horizon: int
) -> NDArray[np.bool_]:
    """Return bool[items]: not judged, and part of an undecided comparison."""
    unjudged = items.counts == 0
    if not items.counts.any():
        return np.asarray(unjudged)
    quantities = [q for q in list_quantities(items) if len(q.systems) == 2]
    found = estimate_quantities(items, quantities, predicted, confidence, horizon)
    wanted = np.zeros(len(items.answers), np.bool_)
    for quantity in quantities:
        known = found[quantity.name]
        if known is None or not known.is_decided:
            for members, _ in quantity.parts:
                wanted[members] = True
    return np.asarray(unjudged & wanted if quantities else unjudged)
