"""find_objects(): the objects that each caption names, and which of them are there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cidery.corpus import Candidates, Corpus, ImageId, Missing, References
from cidery.metrics.chair.metric import Chair
from cidery.metrics.chair.objects import find_mentions
from cidery.scoring.pipeline import Pipeline
from cidery.tables import Table, Tabular


@dataclass(frozen=True)
class NamedObjects:
    """The objects of one caption, by COCO's 80 kinds."""

    image: ImageId
    caption: str
    there: tuple[str, ...]
    """Kinds that it names and that are there, each as often as it is named."""
    not_there: tuple[str, ...]
    """Kinds that it names and that are not there, each as often as it is named."""
    missing: tuple[str, ...]
    """Kinds that are there and that it does not name."""


@dataclass(frozen=True)
class ObjectList(Tabular):
    """The objects of all captions, and the three ratios of CHAIR."""

    captions: Sequence[NamedObjects]
    chair_i: float
    chair_s: float
    recall: float

    def table(self) -> Table:
        """Return a row per caption."""
        rows = [
            (
                str(one.image),
                *(", ".join(kinds) for kinds in (one.not_there, one.there, one.missing)),
                one.caption,
            )
            for one in self.captions
        ]
        note = (
            f"chair-i {self.chair_i:.4f}, chair-s {self.chair_s:.4f} (lower is better), "
            f"recall {self.recall:.4f}"
        )
        return Table.of(["image", "not there", "there", "missing", "caption"], rows, notes=[note])

    def to_dict(self) -> dict[str, Any]:
        """Return all, ready for JSON."""
        return {
            "chair-i": self.chair_i,
            "chair-s": self.chair_s,
            "chair-recall": self.recall,
            "captions": [asdict(one) for one in self.captions],
        }


def find_objects(
    candidates: Candidates,
    references: References,
    *,
    instances: str | os.PathLike[str] | None = None,
    use_references: bool = True,
    missing: Missing = "error",
) -> ObjectList:
    """Return which of COCO's 80 kinds of objects each caption names, and which are there.

    Args:
        candidates: as `score` takes them.
        references: as `score` takes them.
        instances: a file of annotated objects: COCO's `instances_*.json`, or `{image: [kinds]}`.
        use_references: whether what references name is there.
        missing: as for `score`.

    ```python
    found = cidery.find_objects({"a": "a cat on a sofa"}, {"a": ["a dog on a couch"]})
    found.captions[0].not_there   # ("cat",)
    ```
    """
    corpus = Corpus.build(candidates, references, missing=missing)
    metric = Chair(
        instances=None if instances is None else os.fspath(instances), references=use_references
    )
    present = metric.find_present(Pipeline.choose(metric, tokenizer="whitespace").tokenize(corpus))
    listed = []
    counts = np.zeros(5)
    for image, where, caption, mentions in zip(
        corpus.candidate_ids,
        corpus.candidate_images.tolist(),
        corpus.candidates,
        find_mentions(corpus.candidates),
        strict=True,
    ):
        there = present[where]
        named = [mention.kind for mention in mentions]
        right = tuple(kind for kind in named if kind in there)
        wrong = tuple(kind for kind in named if kind not in there)
        listed.append(NamedObjects(image, caption, right, wrong, tuple(sorted(there - set(named)))))
        counts += len(wrong), len(named), bool(wrong), len(set(right)), len(there)
    rows = np.asarray(float(len(listed)))
    ratios = [float(Chair(measure=m).pool(counts, rows)) for m in ("i", "s", "recall")]
    return ObjectList(listed, *ratios)
