"""rank_references(): each image's references, from what most people say to what only one says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cidery.corpus import ImageId, Missing, References
from cidery.diversity.references import score_references
from cidery.diversity.sets import CaptionSets
from cidery.errors import SettingError
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.text_tables import latex_table, markdown_table

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class RankedCaption:
    """A reference and how well it agrees with the others of its image."""

    score: float
    """Against the other references of its image."""
    caption: str
    position: int
    """Where it stood among the image's references, from 0."""


@dataclass(frozen=True, eq=False)
class RankedReferences(Mapping[ImageId, list[RankedCaption]]):
    """image -> its references, the best first."""

    images: Mapping[ImageId, list[RankedCaption]]
    metric: str
    """The label of the metric that ranked them."""
    signature: str
    """How its scores were computed."""

    def __getitem__(self, image: ImageId) -> list[RankedCaption]:
        return self.images[image]

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self.images)

    def __len__(self) -> int:
        return len(self.images)

    def header(self) -> list[str]:
        """Return the columns of `lines`."""
        return ["image", "rank", self.metric, "caption"]

    def lines(self) -> list[list[str]]:
        """Return text cells, a row per reference; an image is named in its first row."""
        return [
            [str(image) if rank == 1 else "", str(rank), f"{found.score:.4f}", found.caption]
            for image, group in self.items()
            for rank, found in enumerate(group, start=1)
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return a row per reference with all digits, for CSV."""
        return [
            {"image": image, "rank": rank, **asdict(found), "signature": self.signature}
            for image, group in self.items()
            for rank, found in enumerate(group, start=1)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return `{"metric", "signature", "images": {id: [{"score", "caption", "position"}]}}`."""
        ranked = {str(image): [asdict(found) for found in group] for image, group in self.items()}
        return {"metric": self.metric, "signature": self.signature, "images": ranked}

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        return markdown_table(self.header(), self.lines(), left=(0, 3))

    def to_latex(self) -> str:
        """Return a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.lines(), left=(0, 3))


def rank_references(
    references: References,
    metric: PipelineLike = "cider",
    *,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> RankedReferences:
    """Rank each image's references by agreement with its other references, the best first.

    Each reference is scored against the others: Vedantam, Zitnick, Parikh 2015, Appendix II.
    `missing="skip"` leaves out images with fewer than two references. The settings are those of
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
