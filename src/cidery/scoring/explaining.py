"""explain(): contributions of words to scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cidery.corpus import Candidates, Corpus, ImageId, Missing, References
from cidery.errors import DataError, InputError, MismatchError, MissingExtraError, SettingError
from cidery.markup import fold_lines
from cidery.metrics.explanations import Explanation
from cidery.scoring.evaluation import match_systems
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.scorer import Scorer
from cidery.text import get_language

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class Explanations(Mapping[str, Explanation]):
    """Explanations of one caption's scores by label; notebooks show them in color.

    ```python
    found = cidery.explain("a dog runs", ["the dog is running"])
    found["cider-d"].spans, found.signatures["cider-d"]
    print(found)
    ```
    """

    explanations: Mapping[str, Explanation]
    signatures: Mapping[str, str]
    image: ImageId | None = None
    """Id of the image, if there are several."""

    def __getitem__(self, label: str) -> Explanation:
        return self.explanations[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        first = next(iter(self.values()))
        return {
            **({} if self.image is None else {"image_id": self.image}),
            "candidate": first.candidate,
            "references": list(first.references),
            "metrics": {
                label: {
                    key: value
                    for key, value in found.to_dict().items()
                    if key not in ("metric", "candidate", "references")
                }
                for label, found in self.items()
            },
            "signatures": dict(self.signatures),
        }

    def to_html(self) -> str:
        """Return the caption for each metric, words colored by their contribution."""
        shown = "".join(found.to_html() for found in self.values())
        return f"<div>{shown}{fold_lines('signatures', list(self.signatures.values()))}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.values()))


def explain(
    candidate: str,
    references: Sequence[str],
    metrics: PipelineLike = None,
    **settings: Unpack[PipelineSettings],
) -> Explanations:
    """Return the contribution of each word of a caption to its scores.

    Args:
        candidate: a caption.
        references: captions of the same image by people.
        metrics: as for `score`. Default: CIDEr-D, ROUGE-L and, where its data are installed,
            METEOR; with a language other than English ROUGE-L alone.
        settings: as for `score`. Frequencies cannot be counted on one image: their default is
            `"coco-val2014"` for English.

    ```python
    found = cidery.explain("a dog runs", ["the dog is running", "a dog in the park"])
    found["cider-d"].spans[1].value > found["cider-d"].spans[0].value   # True
    ```
    """
    if isinstance(references, str) or not references:
        raise InputError("expected a list of references with at least one caption")
    corpus = Corpus.build([candidate], [list(references)])
    language = settings.get("language")
    if metrics is None and settings.get("preset") is None:
        is_english = language is None or get_language(language).code == "en"
        metrics = None if is_english else "rouge-l"
    pipeline = choose_explaining(metrics, **settings)
    if settings.get("frequencies") is None and not isinstance(metrics, Pipeline):
        pipeline = pipeline.with_shipped_frequencies("coco-val2014")
    pipeline.check({"the caption": corpus})
    return replace(_explain_rows(pipeline.prepare(corpus), corpus, [0])[0], image=None)


def explain_captions(
    candidates: Candidates,
    references: References,
    images: Sequence[ImageId] | None = None,
    metrics: PipelineLike = None,
    *,
    missing: Missing = "error",
    candidates_name: str = "candidates",
    references_name: str = "references",
    **settings: Unpack[PipelineSettings],
) -> list[Explanations]:
    """Return the contributions of words to scores, for some or all captions of a set.

    Arguments are those of `score`; weights are counted on all images. `images` are the ids of those
    whose captions are explained, by default all; an image with several captions has as many
    explanations.

    ```python
    found = cidery.explain_captions(candidates, references, images=[3])
    print(found[0]["cider-d"])
    ```
    """
    pipeline = choose_explaining(metrics, **settings)
    systems = match_systems({candidates_name: candidates}, references, missing, references_name)
    corpus = systems[candidates_name]
    rows = _find_rows(corpus, images, candidates_name)
    pipeline.check(systems, references_name)
    return _explain_rows(pipeline.prepare(corpus), corpus, rows)


def _find_rows(corpus: Corpus, images: Sequence[ImageId] | None, candidates_name: str) -> list[int]:
    """Return the rows of images, in the order in which those are named."""
    if images is None:
        return list(range(len(corpus.candidates)))
    rows: dict[ImageId, list[int]] = {}
    for row, image in enumerate(corpus.candidate_ids):
        rows.setdefault(image, []).append(row)
    spelled = {str(image): image for image in rows}  # a command line knows only strings
    found = [image if image in rows else spelled.get(str(image)) for image in images]
    for wanted, known in zip(images, found, strict=True):
        if known is None:
            shown = ", ".join(map(repr, corpus.images[:3]))
            raise MismatchError(
                f"{candidates_name} has no caption of image {wanted!r}; there are "
                f"{len(corpus.images)} images, named like {shown}"
            )
    return [row for image in found if image is not None for row in rows[image]]


def _explain_rows(scorer: Scorer, corpus: Corpus, rows: Sequence[int]) -> list[Explanations]:
    found = scorer.explain_all(
        [corpus.candidates[row] for row in rows], corpus.candidate_images[list(rows)]
    )
    return [
        Explanations(
            {label: explained[place] for label, explained in found.items()},
            scorer.signatures,
            corpus.candidate_ids[row],
        )
        for place, row in enumerate(rows)
    ]


def choose_explaining(
    metrics: PipelineLike = None, **settings: Unpack[PipelineSettings]
) -> Pipeline:
    """Return a pipeline whose metrics explain their scores.

    The default metrics are those that need no language model.
    """
    if metrics is None and settings.get("preset") is None:
        metrics = ["cider-d", "rouge-l", *(["meteor"] if _has_meteor() else [])]
    pipeline = Pipeline.choose(metrics, **settings)
    for label, metric in pipeline.metrics.items():
        if metric.explanation_unit is None:
            raise SettingError(
                f"{label} cannot explain its scores; remove it, or define its `explanation_unit` "
                "and `explain` of what its `prepare` returns"
            )
    return pipeline


def _has_meteor() -> bool:
    from cidery.storage import METEOR, find_sources

    try:
        return METEOR.path.is_file() or bool(find_sources())
    except (DataError, MissingExtraError):
        return False
