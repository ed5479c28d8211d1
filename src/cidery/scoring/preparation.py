"""What score() and compare() do before they score: look at the captions, and prepare scorers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial

import numpy as np

from cidery.corpus import LENGTH_ROBUST_METRICS, Corpus, may_have_length_gap, measure_length_gap
from cidery.errors import UnreliableWarning
from cidery.metrics import Metric
from cidery.scoring.scorer import FrequenciesLike, Scorer, find_english, read_frequencies
from cidery.text import TokenizerLike, choose_tokenizer, warn_script_problems


def prepare_scorers(
    corpora: Mapping[str, Corpus],
    references_name: str,
    metrics: Mapping[str, Metric],
    *,
    tokenizer: TokenizerLike | None,
    language: str | None,
    frequencies: FrequenciesLike,
    threads: int,
) -> partial[Scorer]:
    """Return what makes a scorer of a corpus; captions that the settings do not fit give a warning.

    `corpora` are those of the systems, by name, with the same references.
    """
    first = next(iter(corpora.values()))
    cut, weighed = choose_tokenizer(tokenizer, language), read_frequencies(frequencies)
    captions = {name: corpus.candidates for name, corpus in corpora.items()}
    captions[references_name] = first.references
    warn_script_problems(captions, cut, find_english(metrics, weighed))
    warn_length_mismatch(corpora, metrics)
    return partial(
        Scorer.build, metrics=metrics, tokenizer=cut, frequencies=weighed, threads=threads
    )


def warn_length_mismatch(corpora: Mapping[str, Corpus], metrics: Mapping[str, Metric]) -> None:
    """Warn where a metric punishes lengths, and those of captions are far from people's."""
    punishing = [label for label, metric in metrics.items() if metric.punishes_length]
    if not punishing:
        return
    for name, corpus in corpora.items():
        if may_have_length_gap(corpus) and (gap := measure_length_gap(corpus)).is_wide:
            warnings.warn(
                f"{name}: {gap}; {' and '.join(punishing)} is unreliable at these "
                f"lengths; use {LENGTH_ROBUST_METRICS}, or cider-r",
                UnreliableWarning,
                stacklevel=4,
            )


def find_swapped(corpora: Mapping[str, Corpus]) -> str | None:
    """Return a system whose captions look like references: several for every image, against one."""
    for name, corpus in corpora.items():
        images = len(corpus.images)
        candidates = np.bincount(corpus.candidate_images, minlength=images)
        if len(corpus.references) == images > 1 and candidates.min() > 1:
            return name
    return None


def warn_swapped(corpora: Mapping[str, Corpus], references_name: str) -> None:
    """Warn of references given as candidates; to be called by what users call."""
    name = find_swapped(corpora)
    if name is not None:
        warnings.warn(
            f"{references_name} has one caption per image and {name} several: are they swapped? "
            "score takes candidates first, then references; on the command line compare and report "
            "take references first",
            UnreliableWarning,
            stacklevel=3,
        )
