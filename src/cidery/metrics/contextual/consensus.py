"""consensus: similarity of a caption to its references in meaning and detail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from cidery.encoders import (
    Encoder,
    Lens,
    TokenStates,
    choose_word_layer,
    find_lens,
)
from cidery.errors import MissingExtraError
from cidery.metrics.base import Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.contextual.base import ByToken, encode, rows_by_image
from cidery.metrics.contextual.information import (
    measure_information,
    measure_shortness,
    weigh_word,
)
from cidery.metrics.contextual.word_vectors import (
    CaptionWords,
    NearestWords,
    find_beta,
    find_missing,
)
from cidery.metrics.explanations import Contributions, Span, make_spans, merge_spans, split_score
from cidery.metrics.fluency import Faults, ReferenceWording
from cidery.metrics.settings import Interval, Proportion
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import Language, TokenizedCaptions, locate_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTS = (
    "cone",
    "mean",
    "precision",
    "recall",
    "agreement",
    "short",
    "repetition",
    "dangling",
    "oddity",
)
"""Columns of the rows after the score."""
EDITION = "2"
"""Edition of the metric, in signatures: scores of different editions cannot be compared."""
CONE, MEAN, PRECISION = 0.5, 0.25, 0.25
"""Exponents of the three similarities in their weighted geometric mean, closeness."""
MAX_GROUP = 8
"""Maximum number of references in one group: with many vectors, any caption has a near one."""
GROUP_SIZE = 5
"""Approximate size of the groups of more references."""
MIN_AGREEMENT = 0.25
"""Lower limit of agreement: references that agree less are hardly of one image."""
EPSILON = 1e-6
"""Added to the weights of tokens, so that their sum is above 0."""


@dataclass(frozen=True, kw_only=True)
class Consensus(ByToken):
    """Similarity of a caption to its references in meaning and detail; in [0, 1].

    √(close·(1 + close·(1.5·recall - 0.7·short))/2.5 / agreement^0.4
    · (1 - 0.3·repetition) · (1 - 0.3·dangling) · (1 - 0.25·oddity))

    close is cone^0.5·mean^0.25·precision^0.25: the highest cosine of the caption's embedding and a
    blend of the references' embeddings, the mean of its cosines with them, and the similarity of
    its tokens to theirs. recall is the similarity of their tokens to its own, short the lack of
    information, agreement the similarity of references to each other; the others are faults of
    wording. Vectors are transformed by a lens, a map learned from human judgments.
    docs/metrics/consensus.md defines each term and the choice of constants.

    ```python
    cidery.score(candidates, references, metrics=[Consensus(), Consensus(encoder="mpnet")])
    ```
    """

    recall: Annotated[float, Interval(0, 10)] = 1.5
    """Weight of recall."""
    brevity: Proportion = 0.7
    """Weight of having less information than the references."""
    rarity: Proportion = 1.0
    """Exponent of a word's rarity in its weight; 0: all words have the same weight."""
    agreement: Proportion = 0.4
    """Exponent of the references' agreement, by which the score is divided."""
    repetition: Proportion = 0.3
    """Weight of words that occur more often than in any reference."""
    dangling: Proportion = 0.3
    """Weight of an incomplete end such as `in the`."""
    oddity: Proportion = 0.25
    """Weight of pairs of adjacent words that are rare."""
    lens: bool = True
    """True: vectors are transformed by the encoder's lens, a map learned from human judgments; only
    minilm and mpnet have one."""

    paper: ClassVar[str] = "none: cidery's own"
    name = "consensus"
    explanation_unit = "word"

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:
        """Return the settings that disable rules of English, for other languages."""
        return {} if language.code == "en" else {"rarity": 0.0, "dangling": 0.0, "oddity": 0.0}

    @property
    def needs(self) -> Needs:
        """English, unless the encoder, the rarity of words and the penalties support others."""
        uses_english = self.rarity or self.dangling or self.oddity
        is_english = uses_english or self.encoder in ("minilm", "mpnet")
        return replace(super().needs, language="en" if is_english else None)

    def data_settings(self) -> dict[str, str]:
        """Return the edition, the layers, and the digests of the weights and the lens."""
        encoder = self.open_encoder()
        lens, words = self.choose_lens(encoder), choose_word_layer(encoder, self.layer)
        return (
            {"edition": EDITION}
            | super().data_settings()
            | ({} if words == self.choose_layer(encoder) else {"words": str(words)})
            | {"lens": lens.fingerprint if lens else "none"}
        )

    def choose_lens(self, encoder: Encoder) -> Lens | None:
        """Return the encoder's lens or None; lenses are for the last layer."""
        is_last = self.choose_layer(encoder) in (None, encoder.layers)
        return find_lens(encoder) if self.lens and is_last else None

    def read(self, captions: TokenizedCaptions, work: Workspace) -> EncodedCaptions:
        """Return the vectors of captions, transformed by the lens."""
        encoder = self.open_encoder()
        words = work.once(encode, encoder, captions, choose_word_layer(encoder, self.layer))
        states = self.read_tokens(encoder, captions, work)
        return EncodedCaptions(words, states, self.choose_lens(encoder), self.rarity)

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Encode the references and collect their wording."""
        encoded = self.read(references.captions, work)
        words = references.captions.captions.tokens()
        offsets = references.image_offsets.tolist()
        spans = [range(begin, end) for begin, end in pairwise(offsets)]
        wordings, information = [], []
        for span in spans:
            own = [words[i] for i in span]
            wordings.append(ReferenceWording.build(own))
            information.append(sum(measure_information(w, self.rarity) for w in own) / len(own))
        return _PreparedConsensus(self, encoded, spans, wordings, information)

    def combine(self, likeness: Likeness, faults: Faults, short: float) -> list[float]:
        """Return the score and its parts, in the order of `PARTS`."""
        close = (
            max(0.0, likeness.cone) ** CONE
            * max(0.0, likeness.mean) ** MEAN
            * max(0.0, likeness.precision) ** PRECISION
        )
        detail = self.recall * likeness.recall - self.brevity * short
        # Detail counts in proportion to closeness: details of another image are irrelevant.
        alike = close * max(0.0, 1 + close * detail) / (1 + self.recall)
        expected = max(likeness.agreement, MIN_AGREEMENT) ** self.agreement
        # A caption can have more information than its only reference.
        score = min(1.0, math.sqrt(alike / expected)) * math.prod(self.find_factors(faults))
        return [
            score,
            likeness.cone,
            likeness.mean,
            likeness.precision,
            likeness.recall,
            likeness.agreement,
            short,
            faults.repetition,
            float(faults.dangling is not None),
            faults.oddity,
        ]

    def find_factors(self, faults: Faults) -> tuple[float, float, float]:
        """Return the factors of the score by repetition, end and rare pairs."""
        return (
            math.sqrt(1 - self.repetition * faults.repetition),
            math.sqrt(1 - self.dangling * float(faults.dangling is not None)),
            math.sqrt(1 - self.oddity * faults.oddity),
        )


@dataclass(frozen=True, eq=False)
class Likeness:
    """Similarity of a caption and its references in meaning."""

    cone: float
    """Highest cosine of the caption and a blend of references; 0 if none is positive."""
    mean: float
    """Mean of its cosines with the references."""
    precision: float
    """Weighted mean cosine of its tokens with the nearest ones of a group, in [-1, 1]."""
    recall: float
    """Weighted mean cosine of the references' tokens with the nearest ones of the caption."""
    agreement: float
    """Mean cone of each reference with the others; 1 for a single reference."""
    weights: Floats
    """float64[references]: weights of the blend."""


def measure_cone(whole: Floats, references: Floats) -> tuple[float, Floats]:
    """Return the highest cosine of a vector and Σ wᵢ·rᵢ with w ≥ 0, and w normalized.

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
    """Captions as vectors, transformed by the lens."""

    tokens: TokenStates
    """Tokens in the layer in which words are compared."""
    states: TokenStates
    """The same tokens in the layer whose mean is the embedding; may be the same object."""
    lens: Lens | None
    """Lens of that layer."""
    rarity: float
    """Exponent of a word's rarity in the weight of its tokens."""

    def __getitem__(self, caption: int) -> EncodedCaption:
        """Return a caption's embedding and tokens.

        Tokens that the encoder adds count in the embedding only. Both layers have the same rows.
        """
        rows = self.tokens.rows(caption)
        states = self.states.states[rows].astype(np.float64)
        if self.lens is not None:  # one by one: bits do not depend on other captions
            states = self.lens(states)
        whole = states.mean(axis=0)
        if self.tokens is not self.states:
            states = self.tokens.states[rows].astype(np.float64)
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        is_word = ~self.tokens.special[rows]
        return EncodedCaption(
            whole / max(float(np.linalg.norm(whole)), 1e-12),
            (states / np.maximum(lengths, 1e-12))[is_word],
            self._weigh(self.tokens.captions[caption])[is_word],
        )

    def _weigh(self, text: str) -> Floats:
        """Return the weights of a caption's tokens: those of their words."""
        tokens = self.tokens.tokenize(text)
        words: dict[int, str] = {}
        for token in tokens:
            if token.word is not None:
                piece = text[token.start : token.end]
                words[token.word] = words.get(token.word, "") + piece.lower()
        weights = {number: weigh_word(word, self.rarity) for number, word in words.items()}
        return EPSILON + np.asarray([0.0 if t.word is None else weights[t.word] for t in tokens])


@dataclass(frozen=True, eq=False)
class EncodedCaption:
    """A caption as vectors."""

    whole: Floats
    """float64[width]: embedding of length 1."""
    directions: Floats
    """float64[tokens, width]: vectors of tokens, of length 1."""
    weights: Floats
    """float64[tokens]: above 0."""


@dataclass(frozen=True, eq=False)
class _References:
    """References of one image."""

    wholes: Floats
    """float64[references, width]: embeddings of length 1."""
    groups: Sequence[NDArray[np.int64]]
    """Groups of references that are compared together."""
    directions: Floats
    """float64[tokens, width]: vectors of tokens, by reference."""
    weights: Floats
    """float64[tokens]"""
    starts: NDArray[np.int64]
    """Index of the first token of each reference with tokens."""
    worded: NDArray[np.int64]
    """References with tokens."""
    agreement: float

    @classmethod
    def read(cls, encoded: EncodedCaptions, captions: Sequence[int]) -> _References:
        read = [encoded[i] for i in captions]
        wholes = np.stack([one.whole for one in read])
        groups = group_texts([encoded.tokens.captions[i] for i in captions])
        worded = [one for one in read if len(one.directions)]
        return cls(
            wholes,
            groups,
            np.concatenate([np.zeros((0, wholes.shape[1])), *(o.directions for o in worded)]),
            np.concatenate([np.zeros(0), *(one.weights for one in worded)]),
            np.cumsum([0, *(len(one.directions) for one in worded)])[:-1],
            np.flatnonzero([len(one.directions) for one in read]),
            measure_agreement(wholes, groups),
        )

    def compare(self, encoded: EncodedCaptions, caption: int) -> Likeness:
        """Return their similarity to a caption."""
        weights = np.zeros(len(self.wholes))
        candidate = encoded[caption]
        if len(candidate.directions) == 0 or len(self.directions) == 0:
            return Likeness(0.0, 0.0, 0.0, 0.0, self.agreement, weights)
        cones = np.zeros(len(self.groups))
        for place, group in enumerate(self.groups):
            cones[place], weights[group] = measure_cone(candidate.whole, self.wholes[group])
        cosines = self.directions @ candidate.directions.T
        nearest = cosines.max(axis=1) * self.weights
        recalls = np.add.reduceat(nearest, self.starts) / np.add.reduceat(self.weights, self.starts)
        by_reference = np.maximum.reduceat(cosines, self.starts, axis=0)
        known = [np.isin(self.worded, group) for group in self.groups]
        known = [group for group in known if group.any()]
        precise = np.mean([by_reference[group].max(axis=0) for group in known], axis=0)
        return Likeness(
            float(cones.mean()),
            float((self.wholes @ candidate.whole).mean()),
            float(precise @ candidate.weights / candidate.weights.sum()),
            float(recalls.mean()),
            self.agreement,
            weights / max(weights.sum(), 1e-12),
        )


def group_texts(texts: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return groups of references that are compared together, for any order of references."""
    order = sorted(range(len(texts)), key=lambda i: texts[i])
    count = -(-len(texts) // GROUP_SIZE) if len(texts) > MAX_GROUP else 1
    return [np.asarray(order[place::count], np.int64) for place in range(count)]


def measure_agreement(wholes: Floats, groups: Sequence[NDArray[np.int64]]) -> float:
    """Return the mean cosine of references with the cone of the others in their group."""
    found = [
        measure_cone(wholes[one], wholes[group[group != one]])[0]
        for group in groups
        for one in group
        if len(group) > 1
    ]
    return float(np.mean(found)) if found else 1.0


@dataclass(frozen=True, eq=False)
class _PreparedConsensus(Prepared):
    metric: Consensus
    encoded: EncodedCaptions
    spans: Sequence[range]
    """References of each image."""
    wordings: Sequence[ReferenceWording]
    information: Sequence[float]
    """Mean information of a reference, by image."""

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return the score and its parts: float64[captions, 10]."""
        encoded = self.metric.read(candidates.captions, work)
        words = candidates.captions.captions.tokens()
        rows = np.zeros((len(candidates), 1 + len(PARTS)))
        for image, members in rows_by_image(candidates.images):
            references = _References.read(self.encoded, self.spans[image])
            for row in members.tolist():
                likeness = references.compare(encoded, row)
                rows[row] = self._combine(image, likeness, words[row])[0]
        return rows

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words, by their similarity to the nearest words.

        Words share the score without faults by cosine; the words at fault share the cost of
        repetition, an incomplete end and rare pairs. The cosines are those without the lens.
        """
        encoded = self.metric.read(candidates.captions, work)
        words = candidates.captions.captions.tokens()
        shares = []
        for row, image in enumerate(candidates.images.tolist()):
            likeness = _References.read(self.encoded, self.spans[image]).compare(encoded, row)
            (score, *values), faults = self._combine(image, likeness, words[row])
            parts = dict(zip(PARTS, values, strict=True))
            weights = likeness.weights.tolist()
            parts |= {f"blend {number}": weight for number, weight in enumerate(weights, 1)}
            candidate = CaptionWords.read(encoded.tokens, row)
            references = [CaptionWords.read(self.encoded.tokens, i) for i in self.spans[image]]
            beta = find_beta(self.metric.open_encoder())
            nearest = NearestWords.find(candidate, references)
            whole, *costs = self._find_costs(
                score, faults, candidates.captions.texts[row], words[row]
            )
            likenesses = np.maximum(0.0, nearest.similarities).tolist()
            alike = split_score(whole, whole, likenesses, [0.0] * len(likenesses))
            layers = [candidate.spans(alike, nearest.notes(beta)), *costs]
            missing = find_missing(
                candidate, references, [[0.0] * len(one.texts) for one in references], beta
            )
            exact = candidate.is_located and any(alike)
            spans = merge_spans(layers, [1.0] * len(layers))
            shares.append(Contributions(score, spans, missing, parts, exact))
        return shares

    def _combine(
        self, image: int, likeness: Likeness, words: Sequence[str]
    ) -> tuple[list[float], Faults]:
        faults = self.wordings[image].find_faults(words)
        short = measure_shortness(words, self.information[image], self.metric.rarity)
        return self.metric.combine(likeness, faults, short), faults

    def _find_costs(
        self, score: float, faults: Faults, text: str, words: Sequence[str]
    ) -> tuple[float, list[Span], list[Span], list[Span]]:
        """Return the score without faults, and the costs of each fault by word."""
        factors = self.metric.find_factors(faults)
        product = math.prod(factors)
        if not product:
            return score, [], [], []
        value = whole = score / product
        places = locate_words(text, words)
        costs = []
        for factor, guilty, note in zip(
            factors,
            (
                faults.repeated,
                [] if faults.dangling is None else [faults.dangling],
                [word for first in faults.unlikely for word in (first, first + 1)],
            ),
            ("repeated", "incomplete end", "rare pair"),
            strict=True,
        ):
            cost = value * (factor - 1)
            bearers = sorted(set(guilty))
            costs.append(
                make_spans((places[place], cost / len(bearers), note) for place in bearers)
            )
            value *= factor
        return whole, costs[0], costs[1], costs[2]
