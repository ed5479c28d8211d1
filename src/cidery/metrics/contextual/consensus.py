"""consensus: is a caption something that people say, and does it say what they say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cidery.captions.tokenizers import TokenizedCaptions, TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.errors import MissingExtraError
from cidery.metrics.base import (
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    require_between,
)
from cidery.metrics.contextual.base import ByToken, rows_by_image
from cidery.metrics.contextual.encoders import Encoder, Lens, TokenStates, choose_beta, find_lens
from cidery.metrics.contextual.wording import Faults, Wording
from cidery.statistics import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cidery.metrics.contextual.explanation import Explanation

PARTS = ("cone", "recall", "short", "repetition", "dangling", "oddity")
"""The columns of the rows after the score."""
MOST_TOGETHER = 8
"""More references than this are cut into groups: a cone of many vectors holds nearly all."""
GROUP = 5
"""About how many references a group has."""


@dataclass(frozen=True, kw_only=True)
class Consensus(ByToken):
    """How near a caption is to some blend of its references, and how much of them it says; [0, 1].

    cone·(1 + cone·(recall - 0.6·short))/2 · (1 - 0.5·repetition) · (1 - 0.2·dangling)
    · (1 - 0.5·oddity)

    cone is the highest cosine of the caption's embedding and a sum of the references' with weights
    that are not negative; recall how near the references' tokens are to the caption's; the others
    are faults of wording. Vectors are changed by a lens, a map learnt from people's judgments.
    docs/metrics/consensus.md defines each and tells how they were chosen.

    ```python
    cidery.score(candidates, references, metrics=[Consensus(), Consensus(encoder="mpnet")])
    ```
    """

    recall: float = 1.0
    """The weight of recall."""
    brevity: float = 0.6
    """The weight of being shorter than the references."""
    repetition: float = 0.5
    """The weight of words said more often than in any reference."""
    dangling: float = 0.2
    """The weight of an end like `in the`."""
    oddity: float = 0.5
    """The weight of neighbours that hardly ever stand side by side."""
    lens: bool = True
    """Whether vectors are changed by their encoder's lens, a map learnt from people's judgments;
    only minilm and mpnet have one."""

    paper: ClassVar[str] = "none: cidery's own"
    data_language: ClassVar[str | None] = "en"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between("recall", self.recall, 0, 10)
        for name in ("brevity", "repetition", "dangling", "oddity"):
            require_between(name, getattr(self, name), 0, 1)

    @property
    def name(self) -> str:
        """`consensus`."""
        return "consensus"

    def data_settings(self) -> dict[str, str]:
        """Return the digests of the encoder's weights and of its lens, and the layer."""
        lens = self.choose_lens(self.open_encoder())
        return super().data_settings() | {"lens": lens.fingerprint if lens else "none"}

    def choose_lens(self, encoder: Encoder) -> Lens | None:
        """Return the encoder's lens, None without one; lenses are for the last layer."""
        is_last = self.choose_layer(encoder) in (None, encoder.layers)
        return find_lens(encoder) if self.lens and is_last else None

    def read(self, captions: TokenizedCaptions, work: Workspace) -> EncodedCaptions:
        """Return the captions as vectors of the encoder, changed by its lens."""
        encoder = self.open_encoder()
        return EncodedCaptions(self.read_tokens(encoder, captions, work), self.choose_lens(encoder))

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Encode the references and read their wording."""
        encoded = self.read(references.captions, work)
        words = references.captions.captions.tokens()
        offsets = references.image_offsets.tolist()
        spans = [range(begin, end) for begin, end in pairwise(offsets)]
        return _PreparedConsensus(
            self, encoded, spans, [Wording.read([words[i] for i in span]) for span in spans]
        )

    def combine(self, likeness: Likeness, faults: Faults) -> list[float]:
        """Return the score and its parts, in the order of `PARTS`."""
        dangling = float(faults.dangling is not None)
        cone = max(0.0, likeness.cone)
        detail = self.recall * likeness.recall - self.brevity * faults.short
        score = (
            cone
            * max(0.0, 1 + cone * detail)
            / (1 + self.recall)
            * (1 - self.repetition * faults.repetition)
            * (1 - self.dangling * dangling)
            * (1 - self.oddity * faults.oddity)
        )
        return [
            score,
            likeness.cone,
            likeness.recall,
            faults.short,
            faults.repetition,
            dangling,
            faults.oddity,
        ]

    def explain(
        self,
        candidate: str,
        references: Sequence[str],
        tokenizer: TokenizerLike = "ptb",
        beta: float | None = None,
    ) -> ConsensusExplanation:
        """Return what the score of one caption is made of, word by word; `beta` as for `explain`.

        Similarities of words are without the lens.

        ```python
        found = Consensus().explain("a puppy sleeps on the", ["a dog is sleeping on a sofa"])
        found.words.missing[0].word   # "sofa"
        found.faults.dangling         # "the"
        ```
        """
        from cidery.metrics.contextual.explanation import check_captions, explain_states

        check_captions(candidate, references)
        beta = choose_beta(self.open_encoder(), beta)
        captions = get_tokenizer(tokenizer)([candidate, *references])
        encoded = self.read(captions, Workspace())
        likeness = _References.read(encoded, range(1, len(captions))).compare(encoded, 0)
        said, *told = captions.captions.tokens()
        faults = Wording.read(told).find_faults(said)
        score, *parts = self.combine(likeness, faults)
        return ConsensusExplanation(
            score,
            dict(zip(PARTS, parts, strict=True)),
            tuple(likeness.weights.tolist()),
            faults,
            explain_states(encoded.tokens, beta),
        )


@dataclass(frozen=True)
class ConsensusExplanation:
    """What the score of a caption is made of."""

    score: float
    parts: dict[str, float]
    """By name: `cone`, `recall`, `short`, `repetition`, `dangling`, `oddity`."""
    weights: tuple[float, ...]
    """The share of each reference in the blend that is nearest to the caption."""
    faults: Faults
    words: Explanation
    """The nearest reference word of each word, what is missing, what is extra."""

    def header(self) -> list[str]:
        """Return the columns of `lines`."""
        return self.words.header()

    def lines(self) -> list[list[str]]:
        """Return the candidate's words as text cells, a row each."""
        return self.words.lines()

    def notes(self) -> list[str]:
        """Return what the words do not say."""
        parts = ", ".join(f"{name} {value:.2f}" for name, value in self.parts.items())
        weights = ", ".join(f"{weight:.2f}" for weight in self.weights)
        notes = [
            f"score {self.score:.4f}: {parts}",
            f"blend of the references: {weights}",
            *self.words.notes(),
        ]
        if self.faults.repeated:
            notes.append(f"said too often: {', '.join(self.faults.repeated)}")
        if self.faults.dangling:
            notes.append(f"ends on: {self.faults.dangling}")
        if self.faults.odd:
            notes.append(f"odd neighbours: {', '.join(map(' '.join, self.faults.odd))}")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        faults = {f.name: getattr(self.faults, f.name) for f in fields(self.faults)}
        return vars(self) | {"faults": faults, "words": self.words.to_dict()}

    def __str__(self) -> str:
        table, _, _ = str(self.words).rpartition("\n\n")
        return "\n".join([table, "", *self.notes()])


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike a caption and its references are in meaning."""

    cone: float
    """The highest cosine of the caption and a blend of references; 0 where none is positive."""
    recall: float
    """How near the references' tokens are to their nearest of the caption, in [-1, 1]."""
    weights: Floats
    """float64[references]: the blend's shares."""


def measure_cone(whole: Floats, references: Floats) -> tuple[float, Floats]:
    """Return the highest cosine of a vector and Σ wᵢ·rᵢ with w ≥ 0, and the shares of w.

    The nearest point of the cone that the references span is found by non-negative least squares;
    its direction has the highest cosine.
    """
    try:
        from scipy.optimize import nnls
    except ImportError:
        raise MissingExtraError.to("blend", package="SciPy", extra="contextual") from None
    weights, _ = nnls(references.T, whole)
    blend = weights @ references
    length = float(np.linalg.norm(blend))
    if length == 0:
        return 0.0, weights
    return min(1.0, float(whole @ blend) / length), weights / weights.sum()


@dataclass(frozen=True, eq=False)
class EncodedCaptions:
    """Captions as vectors: an encoder's, changed by its lens."""

    tokens: TokenStates
    lens: Lens | None

    def __getitem__(self, caption: int) -> tuple[Floats, Floats]:
        """Return a caption's embedding, float64[width] of length 1, and its tokens' directions.

        Tokens that the encoder adds count in the embedding alone.
        """
        rows = self.tokens.rows(caption)
        states = self.tokens.states[rows].astype(np.float64)
        if self.lens is not None:  # caption by caption, so that bits depend on no other
            states = self.lens(states)
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        whole = states.mean(axis=0)
        directions = (states / np.maximum(lengths, 1e-12))[~self.tokens.special[rows]]
        return whole / max(float(np.linalg.norm(whole)), 1e-12), directions


@dataclass(frozen=True, eq=False)
class _References:
    """The references of one image."""

    wholes: Floats
    """float64[references, width]: embeddings of length 1."""
    groups: Sequence[NDArray[np.int64]]
    """Which of them span a cone together."""
    directions: Floats
    """float64[tokens, width]: of one reference after another."""
    starts: NDArray[np.int64]
    """Where the tokens of each reference that has any begin."""

    @classmethod
    def read(cls, encoded: EncodedCaptions, captions: Sequence[int]) -> _References:
        # Groups must not depend on the order in which references were given.
        order = sorted(range(len(captions)), key=lambda i: encoded.tokens.captions[captions[i]])
        count = -(-len(captions) // GROUP) if len(captions) > MOST_TOGETHER else 1
        wholes, directions = zip(*(encoded[i] for i in captions), strict=True)
        worded = [found for found in directions if len(found)]
        return cls(
            np.stack(wholes),
            [np.asarray(order[place::count]) for place in range(count)],
            np.concatenate([np.zeros((0, wholes[0].size)), *worded]),
            np.cumsum([0, *map(len, worded)])[:-1],
        )

    def compare(self, encoded: EncodedCaptions, caption: int) -> Likeness:
        """Return how alike they and a caption are."""
        weights = np.zeros(len(self.wholes))
        whole, directions = encoded[caption]
        if len(directions) == 0 or len(self.directions) == 0:
            return Likeness(0.0, 0.0, weights)
        cones = np.zeros(len(self.groups))
        for place, group in enumerate(self.groups):
            cones[place], weights[group] = measure_cone(whole, self.wholes[group])
        nearest = (self.directions @ directions.T).max(axis=1)
        counts = np.diff([*self.starts, len(self.directions)])
        recalls = np.add.reduceat(nearest, self.starts) / counts
        return Likeness(
            float(cones.mean()), float(recalls.mean()), weights / max(weights.sum(), 1e-12)
        )


@dataclass(frozen=True, eq=False)
class _PreparedConsensus(Prepared):
    metric: Consensus
    encoded: EncodedCaptions
    spans: Sequence[range]
    """By image: its references."""
    wordings: Sequence[Wording]

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return the score and its parts: float64[captions, 7]."""
        encoded = self.metric.read(candidates.captions, work)
        words = candidates.captions.captions.tokens()
        rows = np.zeros((len(candidates), 1 + len(PARTS)))
        for image, members in rows_by_image(candidates.images):
            references = _References.read(self.encoded, self.spans[image])
            for row in members.tolist():
                faults = self.wordings[image].find_faults(words[row])
                rows[row] = self.metric.combine(references.compare(encoded, row), faults)
        return rows
