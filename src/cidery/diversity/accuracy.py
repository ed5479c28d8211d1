"""Accuracy of caption sets against references, and the F measure of diversity and accuracy."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from cidery.corpus import Corpus, ImageId, Missing, References
from cidery.diversity.caption_sets import CaptionSets, SetsLike
from cidery.diversity.kernels import DEFAULT_FREQUENCIES
from cidery.diversity.reference_scores import score_references
from cidery.errors import SettingError
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.statistics import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

AccuracyReferences: TypeAlias = References | Literal["leave-one-out"] | None

BETA_SQUARED = 5.0
"""β² of the F measure in the paper: accuracy has more weight than diversity."""


def f_measure(diversity: Any, accuracy: Any, beta_squared: float = BETA_SQUARED) -> Floats:
    """Combine diversity and accuracy: (1 + β²) div acc / (β² div + acc); 0 where both are 0.

    Wang and Chan 2019, section 4.2, whose printed formula has a sum in the numerator. Accuracy is
    on the scale of CIDEr-D, 0 to 10.

    ```python
    f_measure(0.8, 0.9)   # 0.8816…
    ```
    """
    div, acc = np.asarray(diversity, np.float64), np.asarray(accuracy, np.float64)
    below = beta_squared * div + acc
    above = (1 + beta_squared) * div * acc
    return np.divide(above, below, out=np.zeros(np.shape(below)), where=below > 0)


def match_references(
    sets: SetsLike, references: References, missing: Missing = "error"
) -> dict[ImageId, list[str]]:
    """Return the references of the images of the sets.

    ```python
    humans = measure_diversity(match_references(sets, references), references="leave-one-out")
    ```
    """
    corpus = Corpus.build(sets, references, missing=missing, candidates_name="captions")
    bounds = corpus.reference_offsets.tolist()
    return {
        image: corpus.references[a:b]
        for image, (a, b) in zip(corpus.images, pairwise(bounds), strict=True)
    }


def choose_accuracy(accuracy: PipelineLike, **settings: Unpack[PipelineSettings]) -> Pipeline:
    """Return the pipelines of accuracy, which is one metric, and of the kernels.

    Default frequencies: COCO's training captions, for English.
    """
    pipeline = Pipeline.choose(accuracy, **settings)
    if len(pipeline.metrics) > 1:
        raise SettingError(f"accuracy takes one metric, not {', '.join(pipeline.metrics)}")
    if settings.get("frequencies") is None and not isinstance(accuracy, Pipeline):
        pipeline = pipeline.with_shipped_frequencies(DEFAULT_FREQUENCIES)
    return pipeline


def pair_references(
    sets: SetsLike, references: AccuracyReferences, missing: Missing
) -> Corpus | None:
    """Return sets and references as one corpus; None without references."""
    if references is None or isinstance(references, str):
        if isinstance(references, str) and references != "leave-one-out":
            raise SettingError(
                f"references: expected captions or 'leave-one-out', not {references!r}"
            )
        return None
    CaptionSets.build(sets, missing=missing)  # raises for invalid sets
    return Corpus.build(sets, references, missing=missing, candidates_name="captions")


def list_rows(corpus: Corpus) -> list[tuple[Any, str]]:
    """Return the candidates of a corpus as `(id, caption)` rows."""
    return list(zip(corpus.candidate_ids, corpus.candidates, strict=True))


def measure_accuracy(
    pipeline: Pipeline, sets: CaptionSets, against: Corpus | None
) -> tuple[Floats, str]:
    """Return the accuracy of each caption, in the order of the sets, and its signature."""
    if against is None:
        groups = dict(zip(sets.images, sets.groups(), strict=True))
        table = score_references(groups, pipeline)
        (values,), (signature,) = table.each.values(), table.signatures.values()
        return values, signature
    table = pipeline.prepare(against).score_corpus(against)
    (values,), (signature,) = table.each.values(), table.signatures.values()
    # Rows of one image may be apart; sets have images in order of first occurrence.
    order: dict[Any, list[int]] = {}
    for place, image in enumerate(against.candidate_ids):
        order.setdefault(image, []).append(place)
    places = np.concatenate([np.asarray(p, np.intp) for p in order.values() if len(p) > 1])
    return values[places], signature
