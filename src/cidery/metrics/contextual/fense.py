"""FENSE (Zhou et al. 2022): similarity of embeddings, with a penalty for broken captions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from cidery.encoders import Encoder, Lens, find_lens
from cidery.metrics.base import Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.contextual.base import Contextual, rows_by_image
from cidery.metrics.fluency import (
    RULES_VERSION,
    measure_excess_faults,
    measure_reference_faults,
    penalize,
)
from cidery.metrics.settings import Proportion
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import TokenizedCaptions

PARTS = ("cosine", "broken", "repeated")
"""Columns of the rows after the score."""


@dataclass(frozen=True, kw_only=True)
class Fense(Contextual):
    """FENSE: mean cosine of a caption and its references, with a fluency penalty; in [-1, 1].

    mean_r cos(c, r)·(1 - 0.9·broken)·(1 - 0.25·repeated), after Zhou et al., ICASSP 2022,
    section 3. Embeddings are transformed by the encoder's lens, a map learned from human
    judgments; rules detect broken captions, not the authors' model.

    ```python
    cidery.score(candidates, references, metrics=[Fense(), Fense(penalty=0, repetition=0)])
    ```
    """

    penalty: Proportion = 0.9
    """Penalty of a caption that ends in the middle of a sentence."""
    repetition: Proportion = 0.25
    """Penalty of repetition, multiplied by the share of repeated content words."""
    lens: bool = True
    """True: vectors are transformed by the encoder's lens; only minilm and mpnet have one."""

    paper: ClassVar[str] = "Zhou et al. 2022"
    name = "fense"
    range = -1.0, 1.0

    @property
    def needs(self) -> Needs:
        """Captions in English."""
        return replace(super().needs, language="en")

    def choose_lens(self, encoder: Encoder) -> Lens | None:
        """Return the encoder's lens, or None."""
        return find_lens(encoder) if self.lens else None

    def data_settings(self) -> dict[str, str]:
        """Return the digests of the weights and the lens, and the version of the rules."""
        lens = self.choose_lens(self.open_encoder())
        return super().data_settings() | {
            "lens": lens.fingerprint if lens else "none",
            "fluency": f"rules-{RULES_VERSION}",
        }

    def read(self, captions: TokenizedCaptions, work: Workspace) -> Floats:
        """Return embeddings of length 1: float64[captions, width]."""
        encoder = self.open_encoder()
        return work.once(_embed, encoder, captions, self.choose_lens(encoder))

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Encode the references."""
        spans = pairwise(references.image_offsets.tolist())
        vectors = self.read(references.captions, work)
        reference_faults = work.once(measure_reference_faults, references)
        return _PreparedFense(self, [vectors[start:end] for start, end in spans], reference_faults)


@dataclass(frozen=True, eq=False)
class _PreparedFense(Prepared):
    metric: Fense
    vectors: list[Floats]
    """Vectors of the references of each image."""
    reference_faults: Floats
    """float64[images, 2]: maximum faults of the references."""

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return the score and its parts: float64[captions, 4]."""
        vectors = self.metric.read(candidates.captions, work)
        rows = np.zeros((len(candidates), 1 + len(PARTS)))
        for image, members in rows_by_image(candidates.images):
            for row in members.tolist():  # one by one: bits do not depend on other captions
                rows[row, 1] = np.sort(self.vectors[image] @ vectors[row]).mean()
        rows[:, 2:] = measure_excess_faults(candidates, self.reference_faults, work)
        left = penalize(rows[:, 2:], self.metric.penalty, self.metric.repetition)
        rows[:, 0] = rows[:, 1] * left
        return rows


def _embed(
    work: Workspace, encoder: Encoder, captions: TokenizedCaptions, lens: Lens | None
) -> Floats:
    if lens is None:
        return encoder.embed(captions.texts, work.threads).astype(np.float64)
    tokens = encoder.tokens(captions.texts, None, work.threads)
    wholes = np.zeros((len(tokens), tokens.states.shape[1]))
    for caption in range(len(tokens)):
        wholes[caption] = lens(tokens.states[tokens.rows(caption)].astype(np.float64)).mean(axis=0)
    lengths = np.linalg.norm(wholes, axis=1, keepdims=True)
    embedded: Floats = wholes / np.maximum(lengths, 1e-12)
    return embedded
