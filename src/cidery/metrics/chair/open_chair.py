"""CHAIR with open vocabulary: objects of scene graphs instead of COCO's 80 categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from cidery.metrics.base import Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.chair.metric import COLUMNS, ObjectRatio
from cidery.metrics.spice.metric import Spice
from cidery.runtime import Workspace
from cidery.statistics import Floats


@dataclass(frozen=True, kw_only=True)
class OpenChair(ObjectRatio):
    """CHAIR with open vocabulary: share of objects that no reference mentions; in [0, 1].

    The ratios are CHAIR's, Rohrbach et al., EMNLP 2018; objects are those of SPICE's scene graphs,
    matched by lemma or WordNet synonym. Lower is better, except for recall. Objects that references
    do not mention count as hallucinated, so that values are far above those of `chair-i`.

    ```python
    cidery.score(candidates, references, metrics=["chair-open-i", "chair-open-recall"])
    ```
    """

    measure: Literal["i", "s", "recall"] = "i"
    """Ratio: `chair-open-i`, `chair-open-s` or `chair-open-recall`."""
    parser: str = "auto"
    """Package of a spaCy pipeline, as for SPICE."""

    paper: ClassVar[str] = "none: cidery's own, after Rohrbach et al. 2018"

    @classmethod
    def variants(cls) -> tuple[OpenChair, ...]:
        """Return CHAIR-i, CHAIR-s and recall."""
        return cls(), cls(measure="s"), cls(measure="recall")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._spice  # validates the settings

    @property
    def _spice(self) -> Spice:
        return Spice(parser=self.parser, of="object", faithful="paper")

    @property
    def name(self) -> str:
        """`chair-open-i`, `chair-open-s` or `chair-open-recall`."""
        return f"chair-open-{self.measure}"

    @property
    def needs(self) -> Needs:
        """The requirements of SPICE."""
        return self._spice.needs

    def data_settings(self) -> dict[str, str]:
        """Return the parser and the rules with their versions, and the checksum of the synonyms."""
        return self._spice.data_settings()

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Parse the references."""
        return _PreparedOpenChair(self._spice.prepare(references, work))


@dataclass(frozen=True, eq=False)
class _PreparedOpenChair(Prepared):
    spice: Prepared

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return counts, float64[captions, 5]: see `COLUMNS`."""
        rows = np.zeros((len(candidates), len(COLUMNS)))
        for place, row in enumerate(self.spice.measure(candidates, work)):
            found = Spice.counts(row, "object")
            wrong = found.candidate - found.matched
            rows[place] = wrong, found.candidate, wrong > 0, found.covered, found.reference
        return rows
