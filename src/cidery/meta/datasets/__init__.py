"""Readers of human judgments, by the names of the data sets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType

from cidery.errors import SettingError
from cidery.meta.datasets.audio import read_audiocaps_eval, read_clotho_eval
from cidery.meta.datasets.cider_r_triplets import read_cider_r_triplets
from cidery.meta.datasets.coco_challenge import read_coco_2015
from cidery.meta.datasets.composite import read_composite
from cidery.meta.datasets.flickr8k import read_flickr8k_crowd, read_flickr8k_expert
from cidery.meta.datasets.foil import read_foil
from cidery.meta.datasets.judgment_files import build_judgments, read_judgments
from cidery.meta.datasets.pascal50s import read_abstract_50s, read_pascal_50s
from cidery.meta.datasets.polaris import read_nebula, read_polaris
from cidery.meta.datasets.pracegover import read_pracegover_triplets
from cidery.meta.datasets.thumb import read_thumb
from cidery.meta.datasets.vatex import read_vatex_eval
from cidery.meta.judgments import Dataset
from cidery.plugins import list_names, load_plugin

DATASETS: Mapping[str, Callable[[str | os.PathLike[str]], Dataset]] = MappingProxyType(
    {
        "pascal-50s": read_pascal_50s,
        "abstract-50s": read_abstract_50s,
        "flickr8k-expert": read_flickr8k_expert,
        "flickr8k-cf": read_flickr8k_crowd,
        "composite": read_composite,
        "coco-2015": read_coco_2015,
        "cider-r-triplets": read_cider_r_triplets,
        "pracegover-triplets": read_pracegover_triplets,
        "thumb": read_thumb,
        "polaris": read_polaris,
        "nebula": read_nebula,
        "audiocaps-eval": read_audiocaps_eval,
        "clotho-eval": read_clotho_eval,
        "vatex-eval": read_vatex_eval,
        "foil": read_foil,
        "judgments": read_judgments,
    }
)
"""name -> reader; a reader takes the data set's folder, one of its files, or the folder above."""


def read_dataset(
    name: str, path: str | os.PathLike[str], **fields: str | os.PathLike[str] | None
) -> Dataset:
    """Read human judgments; other packages may add names (`cidery.plugins`).

    Args:
        name: one of `DATASETS`.
        path: the data set's folder, one of its files, or the folder above.
        fields: for `"judgments"`, `references` (a file), `id_field`, `caption_field`,
            `reference_field` and `rating_field`.

    ```python
    read_dataset("judgments", "mine.jsonl")
    ```
    """
    if name == "judgments":
        return read_judgments(path, **fields)  # type: ignore[arg-type]
    if any(field is not None for field in fields.values()):
        raise SettingError(f"fields and references are only valid for judgments, not {name}")
    if name in DATASETS:
        return DATASETS[name](path)
    loaded = load_plugin("dataset", name)
    if loaded is None:
        known = ", ".join(list_names("dataset", DATASETS))
        raise SettingError(f"unknown data set {name!r}; known: {known}")
    dataset = loaded.value(path)
    if not isinstance(dataset, Dataset):
        raise loaded.plugin.fail(
            f"returned {type(dataset).__name__}, expected Pairs, Ratings, Sets or Systems"
        )
    return dataset


__all__ = ["DATASETS", "build_judgments", "read_dataset"]
