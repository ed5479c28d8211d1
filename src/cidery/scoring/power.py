"""Differences that a set of references could show, estimated before any system is scored."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cidery.corpus import References, group_references
from cidery.errors import InputError, UnreliableWarning
from cidery.scoring.comparison import compare
from cidery.scoring.pipeline import PipelineLike, PipelineSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

MIN_REFERENCES = 3
"""Fewest references of an image: two are compared, the others are references."""
MAX_IMAGES = 10_000
"""Most images that are scored; the standard error is that of all images."""


def estimate_detectable(
    references: References,
    metrics: PipelineLike = None,
    **settings: Unpack[PipelineSettings],
) -> dict[str, float]:
    r"""Return by metric the smallest difference that these images show with a power of 80 %.

    $$(z_{.975} + z_{.8}) \cdot se$$

    where $se$ is the standard error of the difference between two people: the first and second
    reference of each image with three or more, scored against the others. Differences of two
    systems that describe images alike have a smaller standard error; `compare` has theirs.

    ```python
    references = {n: ["a dog runs", "the dog runs", f"a dog {n}"] for n in range(5)}
    cidery.estimate_detectable(references, ["rouge-l"])
    ```

    Args:
        references: as for `score`.
        metrics: as for `score`.
        settings: as for `score`.

    Raises:
        InputError: fewer than two images have three references.
    """
    known = dict(zip(*group_references(references, "references"), strict=True))
    usable = [image for image, group in known.items() if len(group) >= MIN_REFERENCES]
    if len(usable) < 2:
        raise InputError(
            f"{len(usable)} of {len(known)} images have {MIN_REFERENCES} references or more; at "
            "least two images are needed to estimate detectable differences"
        )
    places = np.linspace(0, len(usable) - 1, min(len(usable), MAX_IMAGES)).astype(int)
    chosen = [usable[place] for place in places]
    people = {str(n): {image: known[image][n] for image in chosen} for n in range(2)}
    others = {image: known[image][2:] for image in chosen}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        compared = compare(people, others, metrics, **settings)
    scale = math.sqrt(len(chosen) / len(known))
    return {
        metric: scale * test.detectable
        for metric, pairs in compared.tests.items()
        for test in pairs.values()
    }
