"""What references say of a caption's claims: supported, unsupported or contradicted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from cidery.captions.tokenizers import STOP_WORDS
from cidery.metrics.claims.claim import Claim
from cidery.metrics.claims.faults import Faults, find_faults, read_wording
from cidery.metrics.claims.reading import Description, Statement
from cidery.metrics.claims.rules import RULES, Same, Stated, is_exact, states, to_number
from cidery.statistics import Floats

Usual: TypeAlias = Callable[[str, str], float]
"""The share of a noun's mentions in many captions that have some word right before it."""
Verdict: TypeAlias = Literal["supported", "unsupported", "contradicted", "repeated"]

_EMPTY = STOP_WORDS["english"] | {"'s"}
LOW, HIGH = 0.3, 0.8
"""Cosines of words that have nothing to do with each other, and of words that mean the same."""
UNTOLD, USUAL = 0.6, 0.02
"""What a colour or number earns that no reference tells of, and the share of a thing's mentions in
COCO's captions that must have it for that; rarer ones earn less."""
SUPPORTED = 0.5
"""The least support of a claim that is called supported."""
EXCUSED = 0.2
"""What a wrong number earns at most, the nearer it is, and a wrong colour, the more usual it is."""
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

    def own_words(self, claim: Claim) -> list[int]:
        """Return the words that say what a claim adds."""
        return list(claim.words[claim.own])

    @cached_property
    def telling_words(self) -> list[int]:
        """The words that say something by themselves."""
        return [
            place for place, word in enumerate(self.words) if word not in _EMPTY and word != ","
        ]

    def directions(self, parts: Literal["own", "all"]) -> Floats:
        """Return float64[claims, width]: the mean of each claim's words, of length 1."""
        rows = np.zeros((len(self.statements), self.vectors.shape[1]))
        for row, statement in zip(rows, self.statements, strict=True):
            claim = statement.claim
            words = self.own_words(claim) if parts == "own" else [w for p in claim.words for w in p]
            row[:] = self.vectors[words].mean(axis=0)
        return normalise(rows)

    @cached_property
    def information(self) -> Floats:
        """float64[claims]: how much each claim says."""
        return np.asarray(
            [self.weights[self.own_words(s.claim)].mean() for s in self.statements], np.float64
        )


def normalise(rows: Floats) -> Floats:
    """Return rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: Floats = rows / np.maximum(lengths, 1e-12)
    return found


def calibrate(cosines: Floats) -> Floats:
    """Return how much alike words are, in [0, 1]."""
    return np.clip((cosines - LOW) / (HIGH - LOW), 0.0, 1.0)


def rate(share: float, half: float) -> float:
    """Return how usual something is, in [0, 1]."""
    return share / (share + half)


@dataclass(frozen=True)
class Finding:
    """A claim of a caption and what the references say of it."""

    claim: Claim
    verdict: Verdict
    support: float
    """In [0, 1]; 0 for what is contradicted or repeated."""
    reason: str
    """`other colour`, or the word of a reference that is nearest."""
    reference: int | None = None
    """The number of the reference that decided, from 0."""
    evidence: tuple[int, ...] = ()
    """The words of that reference that decided."""


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
    recall: float
    """The information of the references that the caption covers, in [0, 1]."""
    faults: Faults

    @property
    def precision(self) -> float:
        """The mean support of the claims; 0 without claims."""
        return sum(found.support for found in self.findings) / max(1, self.claims)

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
        return self.faults.fluency

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
            replace(read, vectors=np.zeros((0, 0))) for read in (self.caption, *self.references)
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
        width = captions[0].vectors.shape[1] if captions else 0
        self.owners = [(n, word) for n, c in enumerate(captions) for word in c.telling_words]
        self.vectors: Floats = np.concatenate(
            [np.zeros((0, width)), *(c.vectors[c.telling_words] for c in captions)]
        )
        self.wording = read_wording([c.description.sentences for c in captions])
        self._own = [caption.directions("own") for caption in captions]

    def judge(self, caption: ReadCaption) -> Judgment:
        """Compare a caption's claims with those of the references."""
        cosines = caption.directions("all") @ self.vectors.T
        backed = self._find_backed(caption)
        faults = find_faults(caption.description.sentences, self.wording)
        findings = [
            _doubt(self._find(statement, row, caption, backed), faults)
            for statement, row in zip(caption.statements, cosines, strict=True)
        ]
        omissions = self._find_omissions(caption, findings)
        return Judgment(findings, omissions, self._recall(omissions), faults)

    def _find_backed(self, caption: ReadCaption) -> set[int]:
        """Return the words of a caption that references have words for, or that say nothing."""
        backed = set(range(len(caption.words)))
        telling = caption.telling_words
        if telling and len(self.vectors):
            nearest = calibrate((caption.vectors[telling] @ self.vectors.T).max(axis=1))
            backed -= {w for w, s in zip(telling, nearest.tolist(), strict=True) if s < SUPPORTED}
        return backed

    def _find(
        self, statement: Statement, cosines: Floats, caption: ReadCaption, backed: set[int]
    ) -> Finding:
        claim = statement.claim
        if statement.repeated:
            return Finding(claim, "repeated", 0.0, "said before")
        if statement.varied:
            return Finding(claim, "contradicted", 0.0, "said otherwise before")
        if claim.kind == "nothing" or not len(cosines):
            silent = "states nothing" if claim.kind == "nothing" else "references state nothing"
            return Finding(claim, "unsupported", 0.0, silent)
        for known in self.stated:
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
        support = float(calibrate(cosines[nearest : nearest + 1])[0])
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
        """Return what a wrong number earns that is near the right one, or a usual wrong colour."""
        if not is_exact(claim) or claim.negated:
            return 0.0
        said, told = to_number(claim.parts[1]), against.claim.number
        if claim.kind == "count":
            return EXCUSED * min(said, told) / max(said, told) if said > 0 and told > 0 else 0.0
        return EXCUSED * self._guess(claim, caption)

    def _guess(self, claim: Claim, caption: ReadCaption) -> float:
        noun, said = (caption.words[claim.words[part][-1]] for part in (0, 1))
        return UNTOLD * rate(self.usual(said, noun), USUAL)

    def _find_omissions(self, caption: ReadCaption, findings: Sequence[Finding]) -> list[Omission]:
        """Return what references state; words that are contradicted or denied cover nothing.

        Nor do the words of sentences that state nothing.
        """
        void = {
            word
            for found in findings
            if found.verdict == "contradicted"
            or found.claim.negated
            or found.claim.kind == "nothing"
            for word in caption.own_words(found.claim)
        }
        kept = [word for word in caption.telling_words if word not in void]
        said = _ExactWords([found.claim for found in findings if found.support], self.same)
        omissions = []
        for number, (reference, own) in enumerate(zip(self.captions, self._own, strict=True)):
            cosines = own @ caption.vectors[kept].T
            covered = calibrate(cosines.max(axis=1)) if kept else np.zeros(len(own))
            for place, statement in enumerate(reference.statements):
                if is_exact(statement.claim):
                    covered[place] = float(said.cover(statement.claim))
            omissions += [
                Omission(s.claim, number, share, weight)
                for s, share, weight in zip(
                    reference.statements,
                    covered.tolist(),
                    reference.information.tolist(),
                    strict=True,
                )
                if s.claim.kind != "nothing"
            ]
        return omissions

    def _recall(self, omissions: Sequence[Omission]) -> float:
        """Return the mean over references of the share of their information that is covered."""
        said, told = [0.0] * len(self.captions), [0.0] * len(self.captions)
        for omission in omissions:
            said[omission.reference] += omission.weight * omission.covered
            told[omission.reference] += omission.weight
        shares = [s / t for s, t in zip(said, told, strict=True) if t]
        return math.fsum(shares) / max(1, len(shares))  # in any order of references


class _ExactWords:
    """The colours and numbers that a caption tells, and of what."""

    def __init__(self, claims: Sequence[Claim], same: Same) -> None:
        self._same = same
        self._told = [claim for claim in claims if is_exact(claim) and not claim.negated]
        self._things = {claim.parts[0] for claim in claims}

    def cover(self, claim: Claim) -> bool:
        """Tell whether a colour or number of a reference is told, of that thing if it is named."""
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
    if any(len(words.intersection((p, p + 1, p + 2))) > 1 for p in faults.odd):
        return replace(found, support=DOUBT * found.support)
    return found


def _decide(claim: Claim, verdict: Verdict, support: float, reason: str, known: Stated) -> Finding:
    words = tuple(dict.fromkeys(word for part in known.claim.words for word in part))
    return Finding(claim, verdict, support, reason, known.reference, words)
