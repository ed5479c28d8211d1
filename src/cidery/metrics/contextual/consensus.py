"""consensus: is a caption something that people say, and does it say what they say?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cidery.captions.languages import Language
from cidery.captions.locating import locate_words
from cidery.captions.tokenizers import TokenizedCaptions
from cidery.captions.workspace import Workspace
from cidery.errors import MissingExtraError
from cidery.metrics.base import (
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    require_between,
)
from cidery.metrics.contextual.base import ByToken, rows_by_image
from cidery.metrics.contextual.encoders import Encoder, Lens, TokenStates, find_lens
from cidery.metrics.contextual.wording import Faults, Wording, find_repeated
from cidery.metrics.contextual.words import CaptionWords, NearestWords, find_beta, find_missing
from cidery.metrics.explanations import Shares, Span, join_spans, make_spans, share
from cidery.statistics import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    @classmethod
    def fit_language(cls, language: Language) -> dict[str, Any]:
        """Return the penalties that know English, turned off for other languages."""
        return {} if language.code == "en" else {"dangling": 0.0, "oddity": 0.0}

    @property
    def made_for(self) -> str | None:
        """English, where the encoder or a penalty knows no other language."""
        is_english = self.dangling or self.oddity or self.encoder in ("minilm", "mpnet")
        return self.data_language if is_english else None

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
        prepared: Prepared,
        references: TokenizedReferences,  # noqa: ARG002
        candidates: TokenizedCandidates,
        work: Workspace,
    ) -> list[Shares]:
        """Return what words earned by their likeness with the nearest ones, and faults cost.

        The score without faults is shared by cosine; what repetition, a dangling end and odd
        neighbours take from it, one after the other, is borne by the words at fault. Similarities
        of words are without the lens.
        """
        assert isinstance(prepared, _PreparedConsensus)
        return prepared.explain(candidates, work)


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

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Shares]:
        """Return what the words of each caption earned and cost."""
        encoded = self.metric.read(candidates.captions, work)
        words = candidates.captions.captions.tokens()
        shares = []
        for row, image in enumerate(candidates.images.tolist()):
            likeness = _References.read(self.encoded, self.spans[image]).compare(encoded, row)
            faults = self.wordings[image].find_faults(words[row])
            score, *values = self.metric.combine(likeness, faults)
            parts = dict(zip(PARTS, values, strict=True))
            weights = likeness.weights.tolist()
            parts |= {f"blend {number}": weight for number, weight in enumerate(weights, 1)}
            said = CaptionWords.read(encoded.tokens, row)
            told = [CaptionWords.read(self.encoded.tokens, i) for i in self.spans[image]]
            beta = find_beta(self.metric.open_encoder())
            nearest = NearestWords.find(said, told)
            whole, *costs = self._find_costs(
                score, faults, candidates.captions.texts[row], words[row]
            )
            likenesses = np.maximum(0.0, nearest.similarities).tolist()
            alike = share(whole, whole, likenesses, [0.0] * len(likenesses))
            layers = [said.spans(alike, nearest.notes(beta)), *costs]
            missing = find_missing(said, told, [[0.0] * len(one.texts) for one in told], beta)
            exact = said.is_whole and any(alike)
            shares.append(Shares(join_spans(layers, [1.0] * len(layers)), missing, parts, exact))
        return shares

    def _find_costs(
        self, score: float, faults: Faults, text: str, words: Sequence[str]
    ) -> tuple[float, list[Span], list[Span], list[Span]]:
        """Return the score without faults, and the words that repetition, end and oddity cost."""
        metric = self.metric
        factors = (
            1 - metric.repetition * faults.repetition,
            1 - metric.dangling * float(faults.dangling is not None),
            1 - metric.oddity * faults.oddity,
        )
        product = math.prod(factors)
        if not product:
            return score, [], [], []
        value = whole = score / product
        places = locate_words(text, words)
        costs = []
        for factor, guilty, note in zip(
            factors,
            (
                find_repeated(words, faults.repeated),
                [len(words) - 1] if faults.dangling is not None else [],
                [
                    p
                    for p, pair in enumerate(pairwise(words))
                    if pair in faults.odd
                    for p in (p, p + 1)
                ],
            ),
            ("said too often", "no end", "odd neighbours"),
            strict=True,
        ):
            cost = value * (factor - 1)
            bearers = sorted(set(guilty))
            costs.append(
                make_spans((places[place], cost / len(bearers), note) for place in bearers)
            )
            value *= factor
        return whole, costs[0], costs[1], costs[2]
