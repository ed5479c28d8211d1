"""find_objects(): objects mentioned in captions, compared with those in the image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cidery.corpus import Candidates, Corpus, ImageId, Missing, References
from cidery.metrics.chair.metric import Chair
from cidery.metrics.chair.objects import Lemmatizer, find_mentions
from cidery.scoring.pipeline import Pipeline
from cidery.tables import Table, Tabular


@dataclass(frozen=True)
class MentionedObjects:
    """Objects of one caption, in COCO's 80 categories."""

    image: ImageId
    caption: str
    present: tuple[str, ...]
    """Mentioned objects that are in the image, once per mention."""
    hallucinated: tuple[str, ...]
    """Mentioned objects that are not in the image, once per mention."""
    missing: tuple[str, ...]
    """Objects in the image that are not mentioned."""


@dataclass(frozen=True)
class ObjectList(Tabular):
    """Objects of all captions, and the three ratios of CHAIR."""

    captions: Sequence[MentionedObjects]
    chair_i: float
    chair_s: float
    recall: float
    signature: str
    """Signature of `chair-i`; those of the other two differ from it only in `measure`."""

    def table(self) -> Table:
        """Return a row per caption."""
        rows = [
            (
                str(one.image),
                *(", ".join(kinds) for kinds in (one.hallucinated, one.present, one.missing)),
                one.caption,
            )
            for one in self.captions
        ]
        note = (
            f"chair-i {self.chair_i:.4f}, chair-s {self.chair_s:.4f} (lower is better), "
            f"recall {self.recall:.4f}"
        )
        return Table.of(
            ["image", "hallucinated", "present", "missing", "caption"],
            rows,
            notes=[note],
            signatures=[self.signature],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all, ready for JSON."""
        return {
            "chair-i": self.chair_i,
            "chair-s": self.chair_s,
            "chair-recall": self.recall,
            "captions": [asdict(one) for one in self.captions],
            "signature": self.signature,
        }


def find_objects(
    candidates: Candidates,
    references: References,
    *,
    instances: str | os.PathLike[str] | None = None,
    use_references: bool = True,
    lemmatizer: Lemmatizer = "wordnet",
    missing: Missing = "error",
) -> ObjectList:
    """Return the objects that each caption mentions, and which of them are in the image.

    Objects are of COCO's 80 categories, found as by CHAIR.

    Args:
        candidates: As for `score`.
        references: As for `score`.
        instances: Annotation file: COCO's `instances_*.json`, or `{image id: [categories]}`.
        use_references: Count objects in references as present.
        lemmatizer: Base forms of words, as for `Chair`.
        missing: As for `score`.

    ```python
    found = cidery.find_objects({"a": "a cat on a sofa"}, {"a": ["a dog on a couch"]})
    found.captions[0].hallucinated   # ("cat",)
    ```
    """
    corpus = Corpus.build(candidates, references, missing=missing)
    metric = Chair(
        instances=None if instances is None else os.fspath(instances),
        references=use_references,
        lemmatizer=lemmatizer,
    )
    pipeline = Pipeline.choose(metric)
    sizes = np.diff(corpus.reference_offsets)
    signature = pipeline.sign(len(sizes), (int(sizes.min()), int(sizes.max())))[metric.name]
    present = metric.find_present(pipeline.tokenize(corpus))
    listed = []
    counts = np.zeros(5)
    for image, where, caption, mentions in zip(
        corpus.candidate_ids,
        corpus.candidate_images.tolist(),
        corpus.candidates,
        find_mentions(corpus.candidates, lemmatizer),
        strict=True,
    ):
        in_image = present[where]
        named = [mention.kind for mention in mentions]
        right = tuple(kind for kind in named if kind in in_image)
        wrong = tuple(kind for kind in named if kind not in in_image)
        absent = tuple(sorted(in_image - set(named)))
        listed.append(MentionedObjects(image, caption, right, wrong, absent))
        counts += len(wrong), len(named), bool(wrong), len(set(right)), len(in_image)
    rows = np.asarray(float(len(listed)))
    chair_i, chair_s, recall = (
        float(Chair(measure=m).pool(counts, rows)) for m in ("i", "s", "recall")
    )
    return ObjectList(listed, chair_i, chair_s, recall, signature)
