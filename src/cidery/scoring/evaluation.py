"""score(): from captions to numbers with signatures."""

from __future__ import annotations

import warnings

import numpy as np

from cidery.captions.corpus import Candidates, Corpus, Missing, References
from cidery.captions.tokenizers import TokenizerLike
from cidery.errors import UnreliableWarning
from cidery.metrics import MetricsLike, get_metrics
from cidery.metrics.base import Faithful
from cidery.scoring.scorer import FrequenciesLike, Scorer
from cidery.scoring.tables import ScoreTable


def score(
    candidates: Candidates,
    references: References,
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike = "ptb",
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    candidates_name: str = "candidates",
    references_name: str = "references",
) -> ScoreTable:
    """Score candidate captions against reference captions.

    Args:
        candidates: id -> caption (or captions), or a list in the references' order.
        references: id -> captions, or a list of lists.
        metrics: names (`"cider-d"`, `"bleu"`, `"rouge-l:beta=1"`), metric objects, functions
            `f(candidate, references) -> float`, or a dict of labels to these; by default BLEU 1-4,
            ROUGE-L, CIDEr-D and CIDEr-R.
        tokenizer: `"ptb"`, `"ptb-coco"`, `"whitespace"`, `"words"`, the name of one that
            another package adds, or a callable.
        frequencies: what the CIDEr family's weights are counted on: `"references"` (the images
            scored), a shipped set (`"coco-val2014"`, `"coco-train2014"`), a DocumentFrequencies
            or the path of a saved one.
        faithful: `"coco"` or `"paper"` for metrics given by name; by default each metric's own.
        missing: `"skip"` leaves out images without candidates or without references, from the
            weights counted on references too.
        threads: 0 means one per core; any number gives the same bits.
        candidates_name: what messages call the candidates, for instance their file.
        references_name: what messages call the references.

    ```python
    table = cidery.score({"a": "a dog runs"}, {"a": ["a dog is running", "the dog runs"]},
                         frequencies="coco-val2014")
    table.corpus["cider-d"]
    ```
    """
    chosen = get_metrics(metrics, faithful)
    corpus = Corpus.build(
        candidates,
        references,
        missing=missing,
        candidates_name=candidates_name,
        references_name=references_name,
    )
    _warn_swapped(corpus, candidates_name, references_name)
    scorer = Scorer.build(
        corpus, chosen, tokenizer=tokenizer, frequencies=frequencies, threads=threads
    )
    return scorer.score(corpus.candidates, corpus.candidate_images, corpus.candidate_ids)


def _warn_swapped(corpus: Corpus, candidates_name: str, references_name: str) -> None:
    """Warn of references given as candidates: several for every image, against one each."""
    images = len(corpus.images)
    candidates = np.bincount(corpus.candidate_images, minlength=images)
    if len(corpus.references) == images > 1 and candidates.min() > 1:
        warnings.warn(
            f"{references_name} has one caption per image and {candidates_name} several: are they "
            "swapped? Candidates come first, then references",
            UnreliableWarning,
            stacklevel=3,
        )
