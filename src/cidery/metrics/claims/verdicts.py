"""Verdicts on claims by the references: supported, unsupported or contradicted."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, chain
from typing import Literal, TypeAlias

import numpy as np

from cidery.metrics.claims.claim import Claim
from cidery.metrics.claims.contradictions import (
    RULES,
    StatedClaim,
    SynonymCheck,
    is_exact,
    states,
    to_number,
)
from cidery.metrics.claims.extraction import PLAIN_COLORS, Description, Sentence, Statement
from cidery.metrics.claims.word_lists import NUMERALS
from cidery.metrics.contextual.consensus import group_texts, measure_cone
from cidery.metrics.fluency import (
    Faults,
    ReferenceWording,
    find_repeated_phrases,
    is_unlikely,
)
from cidery.statistics import Floats
from cidery.text import STOP_WORDS

ModifierShare: TypeAlias = Callable[[str, str], float]
"""Function (word, noun) -> share of the noun's mentions that follow the word."""
Verdict: TypeAlias = Literal["supported", "unsupported", "contradicted", "repeated"]

_STOP_WORDS = STOP_WORDS["english"] | {"'s"}
MIN_COSINE, MAX_COSINE = 0.2, 0.8
"""Cosines of unrelated words, and of synonyms."""
SENTENCE_WEIGHT = 0.6
"""Weight of the sentence in a claim's support; the rest is the weight of its words."""
UNSTATED_SUPPORT, HALF_SHARE = 0.6, 0.02
"""Maximum support of a color or number that no reference mentions, and the share of an object's
mentions in COCO's captions that have it at which support is half of that."""
MIN_SUPPORT = 0.6
"""Minimum support of a claim that is called supported or covered."""
MAX_PARTIAL_CREDIT = 0.2
"""Maximum support of a wrong number (if close) or a wrong color (if common)."""
DANGLING, ODDITY = 0.2, 0.5
"""Costs of a dangling end, and of a caption in which every word begins an unlikely n-gram."""
UNLIKELY_FACTOR = 0.5
"""Factor of the support of a relation whose words form an unlikely n-gram."""


@dataclass(frozen=True, eq=False)
class CaptionClaims:
    """Claims of a caption, with vectors of its words."""

    description: Description
    statements: Sequence[Statement]
    words: Sequence[str]
    vectors: Floats
    """float64[words, width]: of length 1, or 0 for words without vector."""
    weights: Floats
    """float64[words]: idf."""
    sentences: Floats
    """float64[sentences, width]: embeddings, of length 1."""

    def own_words(self, claim: Claim) -> list[int]:
        """Return the positions of the words that a claim adds."""
        return list(claim.words[claim.own])

    @cached_property
    def content_words(self) -> list[int]:
        """Positions of words that are no stop words."""
        return [
            place
            for place, word in enumerate(self.words)
            if word not in _STOP_WORDS and word != ","
        ]

    @cached_property
    def ends(self) -> list[int]:
        """End position of each sentence."""
        return list(accumulate(map(len, self.description.sentences)))

    def find_sentence(self, claim: Claim) -> int:
        """Return the index of a claim's sentence."""
        return bisect(self.ends, self.own_words(claim)[0])

    def inform(self, words: Iterable[int]) -> dict[str, float]:
        """Return the idf of each distinct word at these positions."""
        return {self.words[word]: float(self.weights[word]) for word in words}

    def directions(self, parts: Literal["own", "all"]) -> Floats:
        """Return float64[claims, width]: the mean of each claim's words, of length 1."""
        if not self.statements:
            return np.zeros((0, self.vectors.shape[1]))
        claims = [statement.claim for statement in self.statements]
        if parts == "own":
            return normalize(self._average(self.vectors, map(self.own_words, claims)))
        words = ([word for part in claim.words for word in part] for claim in claims)
        return normalize(self._average(self.vectors, words))

    @cached_property
    def information(self) -> Floats:
        """float64[claims]: mean idf of the words that each claim adds."""
        if not self.statements:
            return np.zeros(0)
        return self._average(self.weights, (self.own_words(s.claim) for s in self.statements))

    @staticmethod
    def _average(values: Floats, words: Iterable[Sequence[int]]) -> Floats:
        """Return the mean value of each claim's words; a claim has at least one."""
        listed = list(words)
        starts = [0, *accumulate(map(len, listed[:-1]))]
        sums = np.add.reduceat(values[[*chain.from_iterable(listed)]], starts)
        counts = np.asarray([len(found) for found in listed], np.float64)
        means: Floats = sums / counts.reshape(-1, *[1] * (values.ndim - 1))
        return means


def normalize(rows: Floats) -> Floats:
    """Return rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = rows / np.maximum(lengths, 1e-12)
    return found


def calibrate(cosine: float) -> float:
    """Return the similarity of words from their cosine, in [0, 1]."""
    return min(1.0, max(0.0, (cosine - MIN_COSINE) / (MAX_COSINE - MIN_COSINE)))


def rate(share: float, half: float) -> float:
    """Return share / (share + half), in [0, 1]."""
    return share / (share + half)


@dataclass(frozen=True)
class Finding:
    """A claim of a caption with its verdict."""

    claim: Claim
    verdict: Verdict
    support: float
    """Support in [0, 1]; 0 for repeated claims and negations without evidence."""
    reason: str
    """`other color`, or the nearest word of a reference."""
    reference: int | None = None
    """Index of the deciding reference."""
    evidence: tuple[int, ...] = ()
    """Positions of the deciding words of that reference."""
    sentence: float | None = None
    """Similarity of its sentence and the references' sentences, in [0, 1]; None if unused."""
    weight: float = 1.0
    """Weight among the caption's claims: the square root of its mean idf."""


@dataclass(frozen=True)
class Omission:
    """A claim of a reference, and the share of it that the caption covers."""

    claim: Claim
    reference: int
    covered: float
    weight: float


COLUMNS = ("f", "precision", "recall", "contradictions", "claims", "repetition", "fluency")
"""Scores of a judgment."""


def combine(precision: float, recall: float) -> float:
    """Return the harmonic mean."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


@dataclass(frozen=True, eq=False)
class Judgment:
    """Findings on one caption, and the resulting scores."""

    findings: Sequence[Finding]
    omissions: Sequence[Omission] = field(repr=False)
    coverage: float
    """Share of the references' information that the caption covers, in [0, 1]."""
    amount: float
    """Ratio of its supported information to that of a reference; at most 1."""
    faults: Faults

    @property
    def precision(self) -> float:
        """Weighted mean support of the claims; 0 without claims."""
        total = sum(found.weight for found in self.findings)
        return sum(found.weight * found.support for found in self.findings) / (total or 1.0)

    @property
    def recall(self) -> float:
        """Mean of coverage and amount."""
        return (self.coverage + self.amount) / 2

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall, reduced by repetition and fluency."""
        return combine(self.precision, self.recall) * (1 - self.repetition) * self.fluency

    @property
    def claims(self) -> int:
        """Number of claims."""
        return len(self.findings)

    @property
    def contradictions(self) -> int:
        """Number of contradicted claims."""
        return self.count("contradicted")

    @property
    def repetition(self) -> float:
        """Share of repeated words."""
        return self.faults.repetition

    @property
    def fluency(self) -> float:
        """Factor for a dangling end and unlikely n-grams; 1 without faults."""
        dangling = DANGLING * (self.faults.dangling is not None)
        return (1 - dangling) * (1 - ODDITY * self.faults.oddity)

    def count(self, verdict: Verdict) -> int:
        """Return the number of claims with a verdict."""
        return sum(found.verdict == verdict for found in self.findings)


@dataclass(frozen=True, eq=False)
class JudgedCaption:
    """A caption, its references, and the judgment."""

    caption: CaptionClaims
    references: Sequence[CaptionClaims]
    judgment: Judgment

    def without_vectors(self) -> JudgedCaption:
        """Return a copy without vectors, which only judging needs."""
        caption, *references = (
            replace(read, vectors=np.zeros((0, 0)), sentences=np.zeros((0, 0)))
            for read in (self.caption, *self.references)
        )
        return replace(self, caption=caption, references=references)


class ReferenceStatements:
    """Claims of the references of one image."""

    def __init__(
        self, captions: Sequence[CaptionClaims], same: SynonymCheck, modifier_share: ModifierShare
    ) -> None:
        self.captions, self.same, self.modifier_share = captions, same, modifier_share
        self.stated = [
            StatedClaim(statement.claim, number)
            for number, caption in enumerate(captions)
            for statement in caption.statements
            if statement.claim.kind != "nothing"
        ]
        self._heads: dict[str, list[int]] = {}  # positions in `stated` by object
        for number, known in enumerate(self.stated):
            self._heads.setdefault(known.claim.parts[0], []).append(number)
        width = captions[0].vectors.shape[1] if captions else 0
        self.owners = [(n, word) for n, c in enumerate(captions) for word in c.content_words]
        self.vectors: Floats = np.concatenate(
            [np.zeros((0, width)), *(c.vectors[c.content_words] for c in captions)]
        )
        self.wording = ReferenceWording.build([caption.words for caption in captions])
        self._own = [caption.directions("own") for caption in captions]
        self._groups = [
            np.concatenate([captions[number].sentences for number in group])
            for group in group_texts([" ".join(caption.words) for caption in captions])
            if len(group)
        ]
        amounts = [math.fsum(c.inform(c.content_words).values()) for c in captions]
        self._mean_amount = math.fsum(amounts) / max(1, len(amounts))

    def judge(self, caption: CaptionClaims) -> Judgment:
        """Compare a caption's claims with those of the references."""
        cosines = caption.directions("all") @ self.vectors.T
        nearest = self._find_nearest(caption)
        backed = set(range(len(caption.words)))
        backed -= {w for w, c in nearest.items() if calibrate(c) < MIN_SUPPORT}
        close = [self._find_closeness(sentence) for sentence in caption.sentences]
        faults = find_faults(caption.description.sentences, self.wording)
        findings = []
        for place, (statement, row) in enumerate(zip(caption.statements, cosines, strict=True)):
            found = _discount_unlikely(self._find(statement, row, caption, backed), faults)
            weight = math.sqrt(max(0.0, caption.information[place]))
            findings.append(_blend(found, close[caption.find_sentence(statement.claim)], weight))
        # Words of contradicted or negated claims, and of sentences without claims, do not count.
        void = {
            word
            for found in findings
            if found.verdict == "contradicted"
            or found.claim.negated
            or found.claim.kind == "nothing"
            for word in caption.own_words(found.claim)
        }
        omissions = self._find_omissions(caption, findings, void)
        # Nor do sentences without any supported claim.
        holding = {caption.find_sentence(f.claim) for f in findings if f.verdict == "supported"}
        matched = {
            word: min(1.0, cosine / MAX_COSINE)
            for word, cosine in nearest.items()
            if word not in void and bisect(caption.ends, word) in holding
        }
        return Judgment(
            findings, omissions, self._cover(omissions), self._amount(caption, matched), faults
        )

    def _find_nearest(self, caption: CaptionClaims) -> dict[int, float]:
        """Return the highest cosine of each content word and a reference's, at least 0."""
        telling = caption.content_words
        if not telling or not len(self.vectors) or not self.stated:
            return dict.fromkeys(telling, 0.0)
        highest = (caption.vectors[telling] @ self.vectors.T).max(axis=1)
        return dict(zip(telling, np.maximum(0.0, highest).tolist(), strict=True))

    def _find_closeness(self, sentence: Floats) -> float:
        """Return the highest cosine of a sentence and a blend of the references' sentences."""
        if not self.stated:
            return 0.0
        cones = [measure_cone(sentence, group)[0] for group in self._groups if len(group)]
        return math.fsum(cones) / max(1, len(cones))

    def _amount(self, caption: CaptionClaims, matched: Mapping[int, float]) -> float:
        """Return the caption's information, each word weighted by its best cosine; at most 1."""
        by_word: dict[str, float] = {}
        for place, share in matched.items():
            word = caption.words[place]
            by_word[word] = max(by_word.get(word, 0.0), share * float(caption.weights[place]))
        amount = math.fsum(by_word.values())
        return min(1.0, amount / self._mean_amount) if self._mean_amount else 0.0

    def _find(
        self, statement: Statement, cosines: Floats, caption: CaptionClaims, backed: set[int]
    ) -> Finding:
        claim = statement.claim
        if statement.repeated:
            return Finding(claim, "repeated", 0.0, "repeated")
        if statement.varied:
            return Finding(claim, "contradicted", 0.0, "contradicts an earlier sentence")
        if claim.kind == "nothing" or not self.stated:
            silent = "states nothing" if claim.kind == "nothing" else "references state nothing"
            return Finding(claim, "unsupported", 0.0, silent)
        alike = [n for head in self._heads if self.same(head, claim.parts[0])
                 for n in self._heads[head]]  # fmt: skip
        for known in (self.stated[number] for number in sorted(alike)):
            if known.claim.negated == claim.negated and states(known.claim, claim, self.same):
                return _decide(claim, "supported", 1.0, "stated", known)
        for reason, rule in RULES.items():
            against = rule(claim, self.stated, self.same)
            if against is not None:
                left = self._partial_credit(claim, caption, against)
                return _decide(claim, "contradicted", left, reason, against)
        if is_exact(claim) and not claim.negated:
            return Finding(
                claim, "unsupported", self._prior_support(claim, caption), "not mentioned"
            )
        nearest = int(cosines.argmax())
        support = calibrate(float(cosines[nearest]))
        number, word = self.owners[nearest]
        # The mean of its words may be similar although one word is not: `a dog on the moon`.
        holds = support >= MIN_SUPPORT and backed.issuperset(
            w for part in claim.words for w in part
        )
        if claim.negated:
            verdict: Verdict = "contradicted" if holds else "unsupported"
            return Finding(claim, verdict, 0.0, "denied", number, (word,))
        text = self.captions[number].words[word]
        verdict = "supported" if holds else "unsupported"
        return Finding(claim, verdict, support, text, number, (word,))

    def _partial_credit(self, claim: Claim, caption: CaptionClaims, against: StatedClaim) -> float:
        """Return the support of a wrong number that is close, or a wrong color that is common."""
        if not is_exact(claim) or claim.negated:
            return 0.0
        own, other = to_number(claim.parts[1]), against.claim.number
        if claim.kind == "count":
            return (
                MAX_PARTIAL_CREDIT * min(own, other) / max(own, other)
                if own > 0 and other > 0
                else 0.0
            )
        return MAX_PARTIAL_CREDIT * self._prior_support(claim, caption)

    def _prior_support(self, claim: Claim, caption: CaptionClaims) -> float:
        noun, modifier = (caption.words[claim.words[part][-1]] for part in (0, 1))
        return UNSTATED_SUPPORT * rate(self.modifier_share(modifier, noun), HALF_SHARE)

    def _find_omissions(
        self, caption: CaptionClaims, findings: Sequence[Finding], void: Collection[int]
    ) -> list[Omission]:
        """Return the references' claims, and the share of each that the caption covers."""
        valid = [word for word in caption.content_words if word not in void]
        exact = _ExactWords([found.claim for found in findings if found.support], self.same)
        omissions = []
        for number, (reference, own) in enumerate(zip(self.captions, self._own, strict=True)):
            cosines = own @ caption.vectors[valid].T
            covered = [calibrate(c) for c in cosines.max(axis=1, initial=0.0).tolist()]
            for place, statement in enumerate(reference.statements):
                if is_exact(statement.claim):
                    covered[place] = float(exact.cover(statement.claim))
            omissions += [
                Omission(s.claim, number, share, weight)
                for s, share, weight in zip(
                    reference.statements,
                    covered,
                    reference.information.tolist(),
                    strict=True,
                )
                if s.claim.kind != "nothing"
            ]
        return omissions

    def _cover(self, omissions: Sequence[Omission]) -> float:
        """Return the mean over references of the covered share of their information."""
        covered, total = [0.0] * len(self.captions), [0.0] * len(self.captions)
        for omission in omissions:
            covered[omission.reference] += omission.weight * omission.covered
            total[omission.reference] += omission.weight
        shares = [s / t for s, t in zip(covered, total, strict=True) if t]
        return math.fsum(shares) / max(1, len(shares))  # in any order of references


class _ExactWords:
    """Colors and numbers of a caption with their objects."""

    def __init__(self, claims: Sequence[Claim], same: SynonymCheck) -> None:
        self._same = same
        self._claims = [claim for claim in claims if is_exact(claim) and not claim.negated]
        self._things = {claim.parts[0] for claim in claims}

    def cover(self, claim: Claim) -> bool:
        """Return True if the caption has a color or number, of the same object if it is named."""
        named = any(self._same(claim.parts[0], thing) for thing in self._things)
        return any(
            _is_equal(own, claim) and (not named or self._same(own.parts[0], claim.parts[0]))
            for own in self._claims
        )


def _is_equal(one: Claim, other: Claim) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "count":
        return to_number(one.parts[1]) == to_number(other.parts[1])
    return one.parts[1] == other.parts[1]


def _discount_unlikely(found: Finding, faults: Faults) -> Finding:
    """Halve the support of a relation with an unlikely n-gram, unless stated."""
    if len(found.claim.parts) != 3 or found.reason == "stated":
        return found
    words = {word for part in found.claim.words for word in part}
    if any(len(words.intersection((p, p + 1, p + 2))) > 1 for p in faults.unlikely):
        return replace(found, support=UNLIKELY_FACTOR * found.support)
    return found


def _blend(found: Finding, sentence: float, weight: float) -> Finding:
    """Blend the support of a claim with that of its sentence, unless the verdict decides it."""
    negated = found.claim.negated and found.verdict != "supported"
    if negated or found.verdict in ("contradicted", "repeated") or found.claim.kind == "nothing":
        return replace(found, weight=weight)
    support = (1 - SENTENCE_WEIGHT) * found.support + SENTENCE_WEIGHT * sentence
    return replace(found, support=support, sentence=sentence, weight=weight)


def _decide(
    claim: Claim, verdict: Verdict, support: float, reason: str, known: StatedClaim
) -> Finding:
    words = tuple(dict.fromkeys(word for part in known.claim.words for word in part))
    return Finding(claim, verdict, support, reason, known.reference, words)


def find_faults(sentences: Sequence[Sentence], wording: ReferenceWording) -> Faults:
    """Return repeated phrases, a dangling end and unlikely bigrams and trigrams of a caption."""
    unlikely: list[int] = []
    first, dangling = 0, None
    for sentence in sentences:
        pairs = wording.find_unlikely(sentence)
        for position in range(len(sentence) - 1):
            triple = sentence[position : position + 3]
            if position in pairs or (len(triple) == 3 and is_unlikely(*triple)):
                unlikely.append(first + position)
        end = wording.find_dangling(sentence)
        dangling = dangling if end is None else first + end
        first += len(sentence)
    return Faults(find_repeated_phrases(sentences, _normalize), dangling, tuple(unlikely), first)


def _normalize(word: str) -> str | None:
    """Ignore numbers, colors, articles and negations, in which repeated phrases may differ."""
    if word in ("not", "never"):
        return None
    if word in NUMERALS or word.isdecimal():
        return "#"
    if word in PLAIN_COLORS:
        return "@"
    return "a" if word in ("no", "an", "the") else word
