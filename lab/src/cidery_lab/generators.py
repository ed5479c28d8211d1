"""Sets of captions per image: the generators of section 4.1 of Wang and Chan, CVPR 2019.

```python
from cidery_lab import generate_sets
from cidery.diversity import measure_diversity

sets = generate_sets("rs", model, data, data.test, count=3)
measure_diversity(sets, "self-cider", frequencies=data.frequencies, tokenizer="whitespace")
```
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cidery.errors import SettingError
from cidery_lab.data import LabData, Split
from cidery_lab.decoding import generate_captions, search_beams
from cidery_lab.evaluation import caption_images, map_images
from cidery_lab.models.base import Captioner
from cidery_lab.word_vectors import find_synonyms


@dataclass(frozen=True, eq=False)
class Task:
    """Model, images and settings of a generator."""

    model: Captioner
    data: LabData
    split: Split
    count: int
    """Captions per image."""
    seed: int
    max_words: int
    options: Mapping[str, Any] = field(default_factory=dict)

    def option(self, name: str, default: Any) -> Any:
        """Return an option of the generator."""
        return self.options.get(name, default)

    def collect(self, call: Callable[[Tensor, int, torch.Generator], Tensor]) -> Sets:
        """Generate `count` captions per image, each by a call of a function."""
        rounds = []
        for number in range(self.count):
            device = next(self.model.parameters()).device
            generator = torch.Generator(device=device).manual_seed(self.seed * 1000 + number)

            def describe(images: Tensor, _: int, n: int = number, g: Any = generator) -> Tensor:
                return call(images, n, g)

            rows = map_images(self.model, self.split, describe)
            rounds.append([self.data.vocabulary.decode(row.tolist()) for row in rows])
        return self.by_image(list(map(list, zip(*rounds, strict=True))))

    def by_image(self, groups: list[list[str]]) -> Sets:
        """Return sets by image; an empty caption becomes `nothing`."""
        return {
            image: [caption or "nothing" for caption in group]
            for image, group in zip(self.split.images, groups, strict=True)
        }


Sets = dict[str, list[str]]
Generator = Callable[[Task], Sets]


def random_sampling(task: Task) -> Sets:
    """RS: draw word by word; options temperature, top_k, nucleus."""
    settings = {
        "temperature": task.option("temperature", 1.0),
        "top_k": task.option("top_k", 0),
        "nucleus": task.option("nucleus", 1.0),
    }
    return task.collect(
        lambda images, _, generator: generate_captions(
            task.model, images, task.max_words, generator, **settings
        )
    )


def random_crops(task: Task) -> Sets:
    """RCI: greedy captions of random crops.

    With the option `crops`, an array [images, crops, ...] of features of crops, in the order of the
    split and standardized like its features; otherwise squares of the grid with 7/8 of its side
    (224 of 256 pixels), rounded down.
    """
    crops = task.option("crops", None)
    if crops is not None:
        return _describe_crops(task, np.asarray(crops, np.float32))
    if task.split.features.ndim != 3 or task.split.features.shape[1] < 2:
        raise SettingError(
            "RCI needs features of a grid of regions, or of crops (option crops); these data have "
            "one vector per image"
        )
    regions = task.split.features.shape[1]

    def describe(images: Tensor, _: int, generator: torch.Generator) -> Tensor:
        chosen = [_choose_regions(regions, generator) for _ in images]
        rows = torch.arange(len(images), device=images.device)[:, None]
        return generate_captions(task.model, images[rows, torch.tensor(chosen)], task.max_words)

    return task.collect(describe)


def _choose_regions(regions: int, generator: torch.Generator) -> list[int]:
    """Return a random square of a grid, or 7/8 of other regions."""
    side = math.isqrt(regions)
    if side * side == regions and side > 2:
        size = side * 7 // 8
        device = generator.device
        top, left = torch.randint(
            side - size + 1, (2,), generator=generator, device=device
        ).tolist()
        rows = range(top, top + size)
        return [row * side + column for row in rows for column in range(left, left + size)]
    size = max(1, regions * 7 // 8)
    order = torch.randperm(regions, generator=generator, device=generator.device)
    return sorted(order[:size].tolist())


def _describe_crops(task: Task, crops: NDArray[np.float32]) -> Sets:
    if len(crops) != len(task.split) or crops.shape[1] < task.count:
        raise SettingError(
            f"crops must have {len(task.split)} images with at least {task.count} crops each, not "
            f"the shape {crops.shape}"
        )
    rounds = []
    for number in range(task.count):
        split = Split(task.split.images, crops[:, number], task.split.captions)
        found = caption_images(task.model, task.data, split, max_words=task.max_words)
        rounds.append(list(found.values()))
    return task.by_image(list(map(list, zip(*rounds, strict=True))))


def gaussian_noise(task: Task) -> Sets:
    """GNC: greedy captions of features with noise of standard deviation `deviation` · 1, 2, ….

    The paper adds noise of 1, 2, … 10 to pixels. Features here have a standard deviation of 1, and
    the default is 0.1, 0.2, … 1.
    """
    step = task.option("deviation", 0.1)

    def describe(images: Tensor, number: int, generator: torch.Generator) -> Tensor:
        noise = torch.randn(images.shape, generator=generator, device=images.device)
        return generate_captions(task.model, images + step * (number + 1) * noise, task.max_words)

    return task.collect(describe)


def synonym_switch(task: Task) -> Sets:
    """SS: the best of three beams, with words replaced by one of ten synonyms.

    The first caption is unchanged; in the others the probability of replacement rises from 0.1 to
    0.5.
    """
    best = caption_images(task.model, task.data, task.split, max_words=task.max_words, beams=3)
    synonyms = find_synonyms(task.data, task.option("synonyms", 10))
    rng = np.random.default_rng(task.seed)
    chances = np.linspace(0.1, 0.5, max(1, task.count - 1))[: task.count - 1]
    return task.by_image(
        [
            [caption, *(synonyms.switch(caption, float(chance), rng) for chance in chances)]
            for caption in best.values()
        ]
    )


def random_vectors(task: Task) -> Sets:
    """DRV: greedy captions for latent vectors of standard deviation `deviation` · 1, 2, …."""
    if not task.model.latent:
        raise SettingError(
            f"DRV needs a model with a latent vector (cvae, cgan), not {task.model.card.model!r}"
        )
    step = task.option("deviation", 1.0)

    def describe(images: Tensor, number: int, generator: torch.Generator) -> Tensor:
        latent = torch.randn(
            len(images), task.model.latent, generator=generator, device=images.device
        )
        return generate_captions(
            task.model, images, task.max_words, latent=step * (number + 1) * latent
        )

    return task.collect(describe)


def beam_search(task: Task) -> Sets:
    """Captions of a beam search."""
    return _search(task, 1, 0.0)


def diverse_beam_search(task: Task) -> Sets:
    """Captions of a diverse beam search; options `groups` and `penalty`."""
    return _search(task, task.option("groups", task.count), task.option("penalty", 0.5))


def _search(task: Task, groups: int, penalty: float) -> Sets:
    rows = map_images(
        task.model,
        task.split,
        lambda images, _: search_beams(
            task.model, images, task.max_words, task.count, groups=groups, penalty=penalty
        ),
    )
    return task.by_image(
        [[task.data.vocabulary.decode(beam) for beam in row.tolist()] for row in rows]
    )


GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "rs": random_sampling,
        "rci": random_crops,
        "gnc": gaussian_noise,
        "ss": synonym_switch,
        "drv": random_vectors,
        "beam": beam_search,
        "diverse-beam": diverse_beam_search,
    }
)
"""Generators of sets, by name."""


def generate_sets(
    name: str,
    model: Captioner,
    data: LabData,
    split: Split,
    *,
    count: int = 10,
    seed: int = 0,
    max_words: int = 20,
    **options: Any,
) -> Sets:
    """Return `count` captions for each image of a split, as `measure_diversity` reads them.

    ```python
    generate_sets("rs", run.model, data, data.test, count=10, temperature=0.8)
    ```
    """
    if name not in GENERATORS:
        raise SettingError(f"no generator named {name!r}; known: {', '.join(GENERATORS)}")
    if count < 2:
        raise SettingError(f"count must be at least 2, not {count}")
    return GENERATORS[name](Task(model, data, split, count, seed, max_words, options))
