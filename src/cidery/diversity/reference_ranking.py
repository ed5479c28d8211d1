"""rank_references(): references of each image, ranked by agreement with the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cidery.corpus import ImageId, Missing, References
from cidery.diversity.caption_sets import CaptionSets
from cidery.diversity.reference_scores import score_references
from cidery.errors import SettingError
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.tables import Column, Table, Tabular

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class RankedCaption:
    """A reference and its agreement with the others of its image."""

    score: float
    """Score against the other references of its image."""
    caption: str
    position: int
    """Index among the image's references, from 0."""


@dataclass(frozen=True, eq=False)
class RankedReferences(Tabular, Mapping[ImageId, list[RankedCaption]]):
    """image -> its references, the best first."""

    images: Mapping[ImageId, list[RankedCaption]]
    metric: str
    """Label of the metric."""
    signature: str
    """Signature of the scores."""

    def __getitem__(self, image: ImageId) -> list[RankedCaption]:
        return self.images[image]

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self.images)

    def __len__(self) -> int:
        return len(self.images)

    def table(self) -> Table:
        """Return a row per reference."""
        columns = [
            Column("image", merge=True, align="left"),
            Column("rank"),
            Column(self.metric, ".4f", key="score"),
            Column("caption"),
        ]
        rows = [
            {"image": image, "rank": rank, **asdict(found), "signature": self.signature}
            for image, group in self.items()
            for rank, found in enumerate(group, start=1)
        ]
        return Table(columns, rows, signatures=[self.signature])

    def to_dict(self) -> dict[str, Any]:
        """Return `{"metric", "signature", "images": {id: [{"score", "caption", "position"}]}}`."""
        ranked = {str(image): [asdict(found) for found in group] for image, group in self.items()}
        return {"metric": self.metric, "signature": self.signature, "images": ranked}


def rank_references(
    references: References,
    metric: PipelineLike = "cider",
    *,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> RankedReferences:
    """Rank each image's references by agreement with its other references, the best first.

    Each reference is scored against the others: Vedantam, Zitnick, Parikh 2015, Appendix II.
    `missing="skip"` skips images with fewer than two references. The settings are those of
    `score`.

    ```python
    ranking = rank_references(references, "cider", frequencies="coco-val2014")
    ranking[1][0].caption
    ```
    """
    pipeline = Pipeline.choose(metric, **settings)
    chosen = pipeline.metrics
    if len(chosen) > 1:
        raise SettingError(
            f"references are ranked by one metric; {metric!r} names {len(chosen)}: "
            f"{', '.join(chosen)}"
        )
    table = score_references(references, pipeline, missing=missing)
    ((label, scores),) = table.each.items()
    sign = 1 if chosen[label].lower_is_better else -1
    sets = CaptionSets.build(references, missing=missing, name="references")
    ranking: dict[ImageId, list[RankedCaption]] = {}
    for image, start, captions in zip(
        sets.images, sets.offsets.tolist(), sets.groups(), strict=False
    ):
        ranked = [
            RankedCaption(float(scores[start + i]), caption, i)
            for i, caption in enumerate(captions)
        ]
        ranking[image] = sorted(ranked, key=lambda r: sign * r.score)
    return RankedReferences(ranking, label, table.signatures[label])
