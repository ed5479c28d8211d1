"""explain(): what the words of captions earned and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cidery.corpus import Candidates, Corpus, ImageId, Missing, References
from cidery.errors import DataError, InputError, MismatchError, MissingExtraError, SettingError
from cidery.markup import fold_lines
from cidery.metrics import Metric, MetricsLike, get_metrics
from cidery.metrics.base import Faithful
from cidery.metrics.explanations import Explanation
from cidery.scoring.scorer import FrequenciesLike, Scorer, find_english, read_frequencies
from cidery.text import TokenizerLike, choose_tokenizer, warn_script_problems


@dataclass(frozen=True, eq=False)
class Explanations(Mapping[str, Explanation]):
    """What several metrics say of one caption, by label; notebooks show it in color.

    ```python
    found = cidery.explain("a dog runs", ["the dog is running"])
    found["cider-d"].spans, found.signatures["cider-d"]
    print(found)
    ```
    """

    explanations: Mapping[str, Explanation]
    signatures: Mapping[str, str]
    image: ImageId | None = None
    """Which image the caption describes, where it is one of several."""

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
        """Return the captions once for each metric, their words colored by what they earned."""
        shown = "".join(found.to_html() for found in self.values())
        return f"<div>{shown}{fold_lines('signatures', list(self.signatures.values()))}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.values()))


def explain(
    candidate: str,
    references: Sequence[str],
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike | None = None,
    faithful: Faithful | None = None,
    threads: int = 0,
) -> Explanations:
    """Say what each word of a caption earned or cost in its scores.

    Args:
        candidate: a caption.
        references: what people said of the same image.
        metrics: as for `score`; by default CIDEr-D, ROUGE-L and, where its data are installed,
            METEOR; with a language other than English ROUGE-L alone.
        tokenizer: as for `score`.
        language: as for `score`.
        frequencies: as for `score`; one image alone has no weights of its own to count, so that
            `"coco-val2014"` is the default for English.
        faithful: as for `score`.
        threads: as for `score`.

    ```python
    found = cidery.explain("a dog runs", ["the dog is running", "a dog in the park"])
    found["cider-d"].spans[1].value > found["cider-d"].spans[0].value   # True
    ```
    """
    if isinstance(references, str) or not references:
        raise InputError("expected a list of references with at least one caption")
    corpus = Corpus.build([candidate], [list(references)])
    cut = choose_tokenizer(tokenizer, language)
    foreign = language is not None and cut.language != "en"
    wanted = "rouge-l" if foreign and metrics is None else metrics
    chosen = choose_metrics(wanted, faithful, language)
    weighed = read_frequencies(
        ("coco-val2014" if cut.family == "ptb" and not foreign else "references")
        if frequencies is None
        else frequencies
    )
    captions = {"the caption": corpus.candidates, "references": corpus.references}
    warn_script_problems(captions, cut, find_english(chosen, weighed))
    scorer = Scorer.build(corpus, chosen, tokenizer=cut, frequencies=weighed, threads=threads)
    return replace(_explain_rows(scorer, corpus, [0])[0], image=None)


def explain_captions(
    candidates: Candidates,
    references: References,
    images: Sequence[ImageId] | None = None,
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    candidates_name: str = "candidates",
    references_name: str = "references",
) -> list[Explanations]:
    """Say what the words of some captions of a set earned or cost, as they are scored in it.

    Arguments are those of `score`; weights are counted on all images. `images` are the ids of those
    whose captions are explained, by default all; an image with several captions has as many
    explanations.

    ```python
    found = cidery.explain_captions(candidates, references, images=[3])
    print(found[0]["cider-d"])
    ```
    """
    chosen = choose_metrics(metrics, faithful, language)
    corpus = Corpus.build(
        candidates,
        references,
        missing=missing,
        candidates_name=candidates_name,
        references_name=references_name,
    )
    rows = _find_rows(corpus, images, candidates_name)
    captions = {candidates_name: corpus.candidates, references_name: corpus.references}
    english = find_english(chosen, read_frequencies(frequencies))
    cut = choose_tokenizer(tokenizer, language)
    warn_script_problems(captions, cut, english)
    scorer = Scorer.build(corpus, chosen, tokenizer=cut, frequencies=frequencies, threads=threads)
    return _explain_rows(scorer, corpus, rows)


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


def choose_metrics(
    metrics: MetricsLike, faithful: Faithful | None = None, language: str | None = None
) -> dict[str, Metric]:
    """Return metrics that explain their scores; by default those that need no language model."""
    if metrics is None:
        chosen = get_metrics(["cider-d", "rouge-l"], faithful, language)
        return chosen | (get_metrics(["meteor"], faithful, language) if _has_meteor() else {})
    chosen = get_metrics(metrics, faithful, language)
    for label, metric in chosen.items():
        if metric.explanation_unit is None:
            raise SettingError(
                f"{label} cannot explain its scores; remove it, or define its `explanation_unit` "
                "and `explain` of what its `prepare` returns"
            )
    return chosen


def _has_meteor() -> bool:
    from cidery.storage import METEOR
    from cidery.storage.meteor_table import find_sources

    try:
        return METEOR.path.is_file() or bool(find_sources())
    except (DataError, MissingExtraError):
        return False
