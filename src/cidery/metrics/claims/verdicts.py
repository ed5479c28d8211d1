"""What references say of a caption's claims: supported, unsupported or contradicted."""

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
from cidery.metrics.claims.contradictions import RULES, Same, Stated, is_exact, states, to_number
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

Usual: TypeAlias = Callable[[str, str], float]
"""The share of a noun's mentions in many captions that have some word right before it."""
Verdict: TypeAlias = Literal["supported", "unsupported", "contradicted", "repeated"]

_EMPTY = STOP_WORDS["english"] | {"'s"}
LOW, HIGH = 0.2, 0.8
"""Cosines of words that have nothing to do with each other, and of words that mean the same."""
SENTENCE = 0.6
"""The share of a claim's support that its sentence decides; its own words decide the rest."""
UNTOLD, USUAL = 0.6, 0.02
"""What a color or number earns that no reference tells of, and the share of a thing's mentions in
COCO's captions that must have it for that; rarer ones earn less."""
SUPPORTED = 0.6
"""How much alike words must be for a claim to be called supported, or covered."""
EXCUSED = 0.2
"""What a wrong number earns at most, the nearer it is, and a wrong color, the more usual it is."""
DANGLING, ODDITY = 0.2, 0.5
"""Costs of a dangling end, and of a caption in which every word begins an unlikely n-gram."""
DOUBT = 0.5
"""What is left of the support of a relation that is told in words that hardly go together."""


@dataclass(frozen=True, eq=False)
class ReadCaption:
    """A caption as claims, and its words as vectors."""

    description: Description
    statements: Sequence[Statement]
    words: Sequence[str]
    vectors: Floats
    """float64[words, width]: of length 1, or 0 for a word that the encoder does not have."""
    weights: Floats
    """float64[words]: how much each word says, its idf."""
    sentences: Floats
    """float64[sentences, width]: their embeddings, of length 1."""

    def own_words(self, claim: Claim) -> list[int]:
        """Return the words that say what a claim adds."""
        return list(claim.words[claim.own])

    @cached_property
    def telling_words(self) -> list[int]:
        """The words that say something by themselves."""
        return [
            place for place, word in enumerate(self.words) if word not in _EMPTY and word != ","
        ]

    @cached_property
    def ends(self) -> list[int]:
        """Where each sentence ends: how many words there are up to there."""
        return list(accumulate(map(len, self.description.sentences)))

    def find_sentence(self, claim: Claim) -> int:
        """Return the number of the sentence that makes a claim."""
        return bisect(self.ends, self.own_words(claim)[0])

    def inform(self, words: Iterable[int]) -> dict[str, float]:
        """Return how much each different word of these says."""
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
        """float64[claims]: how much each claim says."""
        if not self.statements:
            return np.zeros(0)
        return self._average(self.weights, (self.own_words(s.claim) for s in self.statements))

    @staticmethod
    def _average(values: Floats, words: Iterable[Sequence[int]]) -> Floats:
        """Return the mean of the values of each claim's words; a claim has at least one."""
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
    """Return how much alike words are, in [0, 1]."""
    return min(1.0, max(0.0, (cosine - LOW) / (HIGH - LOW)))


def rate(share: float, half: float) -> float:
    """Return how usual something is, in [0, 1]."""
    return share / (share + half)


@dataclass(frozen=True)
class Finding:
    """A claim of a caption and what the references say of it."""

    claim: Claim
    verdict: Verdict
    support: float
    """In [0, 1]; 0 for what is repeated or denied without evidence."""
    reason: str
    """`other color`, or the word of a reference that is nearest."""
    reference: int | None = None
    """The number of the reference that decided, from 0."""
    evidence: tuple[int, ...] = ()
    """The words of that reference that decided."""
    sentence: float | None = None
    """How near its sentence is to what references say, in [0, 1]; None where that decides
    nothing."""
    weight: float = 1.0
    """What it counts among the caption's claims: the root of how much it says."""


@dataclass(frozen=True)
class Omission:
    """A claim of a reference, and how much of it the caption says."""

    claim: Claim
    reference: int
    covered: float
    weight: float


COLUMNS = ("f", "precision", "recall", "contradictions", "claims", "repetition", "fluency")
"""What a judgment comes to."""


def combine(precision: float, recall: float) -> float:
    """Return the harmonic mean."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


@dataclass(frozen=True, eq=False)
class Judgment:
    """All findings on one caption, and what follows from them."""

    findings: Sequence[Finding]
    omissions: Sequence[Omission] = field(repr=False)
    coverage: float
    """The information of the references that the caption covers, in [0, 1]."""
    amount: float
    """How much it tells that references have words for, to what one of them tells; at most 1."""
    faults: Faults

    @property
    def precision(self) -> float:
        """The mean support of the claims, by weight; 0 without claims."""
        total = sum(found.weight for found in self.findings)
        return sum(found.weight * found.support for found in self.findings) / (total or 1.0)

    @property
    def recall(self) -> float:
        """What the caption covers, and how much it tells at all: their mean."""
        return (self.coverage + self.amount) / 2

    @property
    def f(self) -> float:
        """The harmonic mean of both, less what faults of wording cost."""
        return combine(self.precision, self.recall) * (1 - self.repetition) * self.fluency

    @property
    def claims(self) -> int:
        """How many claims there are."""
        return len(self.findings)

    @property
    def contradictions(self) -> int:
        """How many claims references contradict."""
        return self.count("contradicted")

    @property
    def repetition(self) -> float:
        """The share of words that are said again."""
        return self.faults.repetition

    @property
    def fluency(self) -> float:
        """1 without faults of grammar."""
        dangling = DANGLING * (self.faults.dangling is not None)
        return (1 - dangling) * (1 - ODDITY * self.faults.oddity)

    def count(self, verdict: Verdict) -> int:
        """Return how many claims have a verdict."""
        return sum(found.verdict == verdict for found in self.findings)


@dataclass(frozen=True, eq=False)
class JudgedCaption:
    """A caption, its references, and what they say of it."""

    caption: ReadCaption
    references: Sequence[ReadCaption]
    judgment: Judgment

    def forget_vectors(self) -> JudgedCaption:
        """Return it without the words' vectors, which only judging needs."""
        caption, *references = (
            replace(read, vectors=np.zeros((0, 0)), sentences=np.zeros((0, 0)))
            for read in (self.caption, *self.references)
        )
        return replace(self, caption=caption, references=references)


class Witnesses:
    """What the references of one image state."""

    def __init__(self, captions: Sequence[ReadCaption], same: Same, usual: Usual) -> None:
        self.captions, self.same, self.usual = captions, same, usual
        self.stated = [
            Stated(statement.claim, number)
            for number, caption in enumerate(captions)
            for statement in caption.statements
            if statement.claim.kind != "nothing"
        ]
        self._heads: dict[str, list[int]] = {}  # statements by what they are about
        for number, known in enumerate(self.stated):
            self._heads.setdefault(known.claim.parts[0], []).append(number)
        width = captions[0].vectors.shape[1] if captions else 0
        self.owners = [(n, word) for n, c in enumerate(captions) for word in c.telling_words]
        self.vectors: Floats = np.concatenate(
            [np.zeros((0, width)), *(c.vectors[c.telling_words] for c in captions)]
        )
        self.wording = ReferenceWording.build([caption.words for caption in captions])
        self._own = [caption.directions("own") for caption in captions]
        self._groups = [
            np.concatenate([captions[number].sentences for number in group])
            for group in group_texts([" ".join(caption.words) for caption in captions])
            if len(group)
        ]
        told = [math.fsum(c.inform(c.telling_words).values()) for c in captions]
        self._told = math.fsum(told) / max(1, len(told))

    def judge(self, caption: ReadCaption) -> Judgment:
        """Compare a caption's claims with those of the references."""
        cosines = caption.directions("all") @ self.vectors.T
        nearest = self._find_nearest(caption)
        backed = set(range(len(caption.words)))
        backed -= {w for w, c in nearest.items() if calibrate(c) < SUPPORTED}
        close = [self._find_closeness(sentence) for sentence in caption.sentences]
        faults = find_faults(caption.description.sentences, self.wording)
        findings = []
        for place, (statement, row) in enumerate(zip(caption.statements, cosines, strict=True)):
            found = _doubt(self._find(statement, row, caption, backed), faults)
            weight = math.sqrt(max(0.0, caption.information[place]))
            findings.append(_blend(found, close[caption.find_sentence(statement.claim)], weight))
        # Words that are contradicted or denied, and those of sentences that state nothing, do not
        # count as said.
        void = {
            word
            for found in findings
            if found.verdict == "contradicted"
            or found.claim.negated
            or found.claim.kind == "nothing"
            for word in caption.own_words(found.claim)
        }
        omissions = self._find_omissions(caption, findings, void)
        # Nor do sentences of which references support nothing tell anything of the image.
        holding = {caption.find_sentence(f.claim) for f in findings if f.verdict == "supported"}
        said = {
            word: min(1.0, cosine / HIGH)
            for word, cosine in nearest.items()
            if word not in void and bisect(caption.ends, word) in holding
        }
        return Judgment(
            findings, omissions, self._cover(omissions), self._amount(caption, said), faults
        )

    def _find_nearest(self, caption: ReadCaption) -> dict[int, float]:
        """Return the highest cosine of each telling word and one of the references, at least 0."""
        telling = caption.telling_words
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

    def _amount(self, caption: ReadCaption, said: Mapping[int, float]) -> float:
        """Return how much a caption tells, each word as far as references have one like it."""
        by_word: dict[str, float] = {}
        for place, share in said.items():
            word = caption.words[place]
            by_word[word] = max(by_word.get(word, 0.0), share * float(caption.weights[place]))
        told = math.fsum(by_word.values())
        return min(1.0, told / self._told) if self._told else 0.0

    def _find(
        self, statement: Statement, cosines: Floats, caption: ReadCaption, backed: set[int]
    ) -> Finding:
        claim = statement.claim
        if statement.repeated:
            return Finding(claim, "repeated", 0.0, "said before")
        if statement.varied:
            return Finding(claim, "contradicted", 0.0, "said otherwise before")
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
                left = self._excuse(claim, caption, against)
                return _decide(claim, "contradicted", left, reason, against)
        if is_exact(claim) and not claim.negated:
            return Finding(claim, "unsupported", self._guess(claim, caption), "not told")
        nearest = int(cosines.argmax())
        support = calibrate(float(cosines[nearest]))
        number, word = self.owners[nearest]
        # The mean of its words may be near where one of them is not: `a dog on the moon`.
        holds = support >= SUPPORTED and backed.issuperset(w for part in claim.words for w in part)
        if claim.negated:
            verdict: Verdict = "contradicted" if holds else "unsupported"
            return Finding(claim, verdict, 0.0, "denied", number, (word,))
        text = self.captions[number].words[word]
        verdict = "supported" if holds else "unsupported"
        return Finding(claim, verdict, support, text, number, (word,))

    def _excuse(self, claim: Claim, caption: ReadCaption, against: Stated) -> float:
        """Return what a wrong number earns that is near the right one, or a usual wrong color."""
        if not is_exact(claim) or claim.negated:
            return 0.0
        said, told = to_number(claim.parts[1]), against.claim.number
        if claim.kind == "count":
            return EXCUSED * min(said, told) / max(said, told) if said > 0 and told > 0 else 0.0
        return EXCUSED * self._guess(claim, caption)

    def _guess(self, claim: Claim, caption: ReadCaption) -> float:
        noun, said = (caption.words[claim.words[part][-1]] for part in (0, 1))
        return UNTOLD * rate(self.usual(said, noun), USUAL)

    def _find_omissions(
        self, caption: ReadCaption, findings: Sequence[Finding], void: Collection[int]
    ) -> list[Omission]:
        """Return what references state, and how far words that are not void cover it."""
        kept = [word for word in caption.telling_words if word not in void]
        said = _ExactWords([found.claim for found in findings if found.support], self.same)
        omissions = []
        for number, (reference, own) in enumerate(zip(self.captions, self._own, strict=True)):
            cosines = own @ caption.vectors[kept].T
            covered = [calibrate(c) for c in cosines.max(axis=1, initial=0.0).tolist()]
            for place, statement in enumerate(reference.statements):
                if is_exact(statement.claim):
                    covered[place] = float(said.cover(statement.claim))
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
        """Return the mean over references of the share of their information that is covered."""
        said, told = [0.0] * len(self.captions), [0.0] * len(self.captions)
        for omission in omissions:
            said[omission.reference] += omission.weight * omission.covered
            told[omission.reference] += omission.weight
        shares = [s / t for s, t in zip(said, told, strict=True) if t]
        return math.fsum(shares) / max(1, len(shares))  # in any order of references


class _ExactWords:
    """The colors and numbers that a caption tells, and of what."""

    def __init__(self, claims: Sequence[Claim], same: Same) -> None:
        self._same = same
        self._told = [claim for claim in claims if is_exact(claim) and not claim.negated]
        self._things = {claim.parts[0] for claim in claims}

    def cover(self, claim: Claim) -> bool:
        """Tell whether a color or number of a reference is told, of that thing if it is named."""
        named = any(self._same(claim.parts[0], thing) for thing in self._things)
        return any(
            _is_equal(told, claim) and (not named or self._same(told.parts[0], claim.parts[0]))
            for told in self._told
        )


def _is_equal(one: Claim, other: Claim) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "count":
        return to_number(one.parts[1]) == to_number(other.parts[1])
    return one.parts[1] == other.parts[1]


def _doubt(found: Finding, faults: Faults) -> Finding:
    """Halve the support of a relation whose words hardly ever stand together, unless stated."""
    if len(found.claim.parts) != 3 or found.reason == "stated":
        return found
    words = {word for part in found.claim.words for word in part}
    if any(len(words.intersection((p, p + 1, p + 2))) > 1 for p in faults.unlikely):
        return replace(found, support=DOUBT * found.support)
    return found


def _blend(found: Finding, sentence: float, weight: float) -> Finding:
    """Let the sentence of a claim decide most of its support, unless its words settle it."""
    denied = found.claim.negated and found.verdict != "supported"
    if denied or found.verdict in ("contradicted", "repeated") or found.claim.kind == "nothing":
        return replace(found, weight=weight)
    support = (1 - SENTENCE) * found.support + SENTENCE * sentence
    return replace(found, support=support, sentence=sentence, weight=weight)


def _decide(claim: Claim, verdict: Verdict, support: float, reason: str, known: Stated) -> Finding:
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
