"""CHAIR (Rohrbach et al. 2018): share of mentioned objects that are not in the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cidery.errors import SettingError
from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.chair.instances import Instances, read_instances
from cidery.metrics.chair.objects import (
    Lemmatizer,
    find_mentions,
    locate_mentions,
    unite_categories,
)
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats

if TYPE_CHECKING:
    from cidery.metrics.explanations import Contributions

COLUMNS = ("wrong", "named", "has wrong", "found", "there")
"""Columns of the rows: numbers of mentions and categories."""
_RATIOS = {"i": (0, 1), "s": (2, None), "recall": (3, 4)}
"""Columns of numerator and denominator; None: number of captions."""


class ObjectRatio(Metric):
    """Ratios of the numbers of mentioned, hallucinated, present and found objects."""

    measure: Literal["i", "s", "recall"]

    @property
    def lower_is_better(self) -> bool:
        """True except for recall."""
        return self.measure != "recall"

    def each(self, rows: Floats) -> Floats:
        """Return each caption's ratio; without mentions 0, recall without present objects 1."""
        part, whole = _RATIOS[self.measure]
        counts = np.ones(len(rows)) if whole is None else rows[:, whole]
        return self._divide(rows[:, part], counts)

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the ratio of the sums."""
        part, whole = _RATIOS[self.measure]
        values = self._divide(sums[..., part], count if whole is None else sums[..., whole])
        return np.where(count > 0, values, np.nan)

    def _divide(self, part: Floats, whole: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, float(self.measure == "recall"))


@dataclass(frozen=True, kw_only=True)
class Chair(ObjectRatio):
    """CHAIR: share of hallucinated objects; in [0, 1], lower is better.

    CHAIR-i = hallucinated mentions / mentions, CHAIR-s = captions with a hallucinated mention /
    captions, recall = mentioned categories / present categories (higher is better): Rohrbach et
    al., EMNLP 2018, section 2. Objects are COCO's 80 categories; present are those that references
    mention, and those of an annotation file.

    ```python
    cidery.score(candidates, references, metrics=["chair-i", Chair(measure="recall")])
    ```
    """

    measure: Literal["i", "s", "recall"] = "i"
    """Ratio: `chair-i`, `chair-s` or `chair-recall`."""
    instances: str | None = None
    """COCO's `instances_*.json`, or `{image id: [categories]}`; None: references only."""
    references: bool = True
    """Count objects in references as present, as in the original, in addition to annotations."""
    lemmatizer: Lemmatizer = "wordnet"
    """Base forms of words: `wordnet` as in lmms-eval and most papers on vision-language models,
    `pattern` as in the authors' code."""

    paper: ClassVar[str] = "Rohrbach et al. 2018"

    @classmethod
    def variants(cls) -> tuple[Chair, ...]:
        """Return CHAIR-i, CHAIR-s and recall."""
        return cls(), cls(measure="s"), cls(measure="recall")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.references or self.instances is not None,
            "CHAIR needs references=True or a file of instances",
        )

    @property
    def name(self) -> str:
        """`chair-i`, `chair-s` or `chair-recall`."""
        return f"chair-{self.measure}"

    @property
    def needs(self) -> Needs:
        """The file of annotations, and captions in English."""
        return Needs(
            files={} if self.instances is None else {"instances": self.instances}, language="en"
        )

    def data_settings(self) -> dict[str, str]:
        """Return the digest of the annotation file."""
        if self.instances is None:
            return {}
        return {"instances": read_instances(self.instances).fingerprint}

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:  # noqa: ARG002
        """Find the objects present in each image."""
        return _PreparedChair(self, references, self.find_present(references))

    def find_present(self, references: TokenizedReferences) -> list[frozenset[str]]:
        """Return the categories present, by image."""
        named: list[frozenset[str]] = [frozenset()] * references.image_count
        if self.references:
            mentions = find_mentions(references.captions.texts, self.lemmatizer)
            offsets = references.image_offsets.tolist()
            named = [unite_categories(mentions[begin:end]) for begin, end in pairwise(offsets)]
        if self.instances is not None:
            labeled = _find_annotated(read_instances(self.instances), references)
            named = [one | other for one, other in zip(named, labeled, strict=True)]
        return named

    @property
    def explanation_unit(self) -> str | None:
        """Words; only CHAIR-i is a sum over them."""
        return "word" if self.measure == "i" else None


@dataclass(frozen=True, eq=False)
class _PreparedChair(Prepared):
    metric: Chair
    references: TokenizedReferences
    kinds: Sequence[frozenset[str]]
    """Categories present, by image."""

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:  # noqa: ARG002
        """Return counts, float64[captions, 5]: see `COLUMNS`."""
        rows = np.zeros((len(candidates), len(COLUMNS)))
        mentions = find_mentions(candidates.captions.texts, self.metric.lemmatizer)
        for row, (image, named) in enumerate(
            zip(candidates.images.tolist(), mentions, strict=True)
        ):
            present = self.kinds[image]
            wrong = sum(mention.kind not in present for mention in named)
            found = len(present.intersection(mention.kind for mention in named))
            rows[row] = wrong, len(named), bool(wrong), found, len(present)
        return rows

    def explain(
        self,
        candidates: TokenizedCandidates,
        work: Workspace,
    ) -> Sequence[Contributions]:
        """Return the words that name objects, with their contributions: 0 if it is present."""
        from cidery.metrics.explanations import Contributions, make_spans

        offsets = self.references.image_offsets.tolist()
        shares = []
        texts = candidates.captions.texts
        images = candidates.images.tolist()
        rows = self.measure(candidates, work)
        scores = self.metric.each(rows).tolist()
        found = find_mentions(texts, self.metric.lemmatizer)
        for score, text, image, mentions in zip(scores, texts, images, found, strict=True):
            present = self.kinds[image]
            spans = make_spans(
                (
                    place,
                    0.0 if m.kind in present else 1 / len(mentions),
                    f"{m.kind}: {'present' if m.kind in present else 'hallucinated'}",
                )
                for m, place in zip(mentions, locate_mentions(text, mentions), strict=True)
            )
            missing = [()] * (offsets[image + 1] - offsets[image])
            shares.append(Contributions(score, spans, missing, {"objects": float(len(mentions))}))
        return shares


def _find_annotated(instances: Instances, references: TokenizedReferences) -> list[frozenset[str]]:
    if references.images is None:
        raise SettingError(
            "instances= needs image ids, and these captions have none; remove instances="
        )
    return [instances.find(image) for image in references.images]
