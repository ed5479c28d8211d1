"""Human judgments: pairs, ratings, ratings of sets, scores of systems.

| kind       | a judgment                                                                        |
|------------|-----------------------------------------------------------------------------------|
| `Pairs`    | choice between two captions of an image: the better one, or the more similar one  |
| `Ratings`  | rating of one caption                                                             |
| `Sets`     | rating of the diversity of a set of captions of an image                          |
| `Systems`  | human score of a system, beside scores of metrics                                 |
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cidery.errors import InputError, SettingError
from cidery.statistics import Floats

Indexes: TypeAlias = NDArray[np.int64]


class _Fingerprinted:
    """Data with a digest of their content."""

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all fields: 32 hexadecimal digits."""
        digest = hashlib.sha256()
        for one in fields(self):  # type: ignore[arg-type]
            for part in _encode(getattr(self, one.name)):
                digest.update(part)
        return digest.hexdigest()[:32]


def _encode(value: Any) -> Iterator[bytes]:
    """Yield the content of a value; different contents have different encodings."""
    if isinstance(value, np.ndarray):
        yield f"array {value.dtype.str} {value.shape} ".encode()
        yield value.tobytes()
    elif isinstance(value, _Fingerprinted):
        yield value.fingerprint.encode()
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)} ".encode()
        for item in value.items():
            yield from _encode(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield f"sequence {len(value)} ".encode()
        for item in value:
            yield from _encode(item)
    else:
        text = repr(value).encode(errors="surrogatepass")
        yield f"value {len(text)} ".encode() + text


@dataclass(frozen=True, eq=False)
class JudgedCaptions(_Fingerprinted):
    """Captions, each with the document whose references it is scored against.

    A document is the unit of document frequencies: an image, or a row of judgments where published
    results count an image once per row.
    """

    captions: Sequence[str]
    documents: Indexes
    """int64[captions]"""
    references: Sequence[Sequence[str]]
    """References of each document, at least one."""
    images: Indexes
    """int64[documents]: index of the image, the unit of the bootstrap."""
    names: Sequence[str] = ()
    """Image ids; empty if unknown."""

    def __post_init__(self) -> None:
        for document, references in enumerate(self.references):
            if not references:
                raise InputError(
                    f"document {document + 1} of the judged captions has no references"
                )

    @property
    def image_of_caption(self) -> Indexes:
        """int64[captions]."""
        return self.images[self.documents]

    @property
    def fewest_references(self) -> int:
        """Minimum number of references of a document."""
        return min(map(len, self.references))

    def take(self, rows: Indexes) -> JudgedCaptions:
        """Return a subset of captions; documents and their frequencies do not change."""
        return replace(
            self, captions=[self.captions[i] for i in rows], documents=self.documents[rows]
        )

    def draw(self, count: int, seed: int | None) -> JudgedCaptions:
        """Return `count` references of each document: random by the seed, or the first for None."""
        if count < 1:
            raise SettingError(f"references must be at least 1, not {count}")
        if count > self.fewest_references:
            raise SettingError(
                f"references={count}, but an image has only {self.fewest_references}"
            )
        if seed is None:
            return replace(self, references=[group[:count] for group in self.references])
        rng = np.random.default_rng(seed)
        drawn = [
            [group[i] for i in np.sort(rng.permutation(len(group))[:count])]
            for group in self.references
        ]
        return replace(self, references=drawn)

    def concatenate(self) -> JudgedCaptions:
        """Return the references of each document, joined into one."""
        return replace(self, references=[[" ".join(group)] for group in self.references])


def count_votes(votes: Iterable[Sequence[float]]) -> Indexes:
    """Return int64[pairs, 2]: votes for the first (> 0) and for the second (< 0)."""
    counted = [(sum(v > 0 for v in found), sum(v < 0 for v in found)) for found in votes]
    return np.asarray(counted, np.int64).reshape(-1, 2)


def _check_question(name: str, what: str, question: str, known: Collection[str]) -> None:
    if question not in known:
        asked = f"its questions: {', '.join(known)}" if known else "it has one question, unnamed"
        raise SettingError(f"{name} has no {what} {question!r}; {asked}")


@dataclass(frozen=True, eq=False)
class Pairs(_Fingerprinted):
    """Choices between two captions of one image."""

    name: str
    judged: JudgedCaptions
    first: Indexes
    """int64[pairs]: index of the caption."""
    second: Indexes
    votes: Mapping[str, Indexes]
    """question -> int64[pairs], votes for the first minus votes for the second: `triplets` is the
    similarity to a reference, `preference` the quality."""
    kinds: Sequence[str] = ()
    """Kind of each pair, such as HC, HI, HM, MM; empty if unknown."""
    systems: Sequence[tuple[str, str]] = ()
    """Systems of the two captions; empty if unknown."""
    own_references: Sequence[Sequence[str]] = ()
    """Fixed draw of references for each pair, if published results use one."""
    triplets: NDArray[np.int8] | None = None
    """int8[pairs, references]: votes for each reference; needs one document per pair."""
    answers: Indexes | None = None
    """int64[pairs]: number of votes; 0: not judged yet. None: all pairs are judged."""
    vote_counts: Mapping[str, Indexes] = field(default_factory=dict)
    """question -> int64[pairs, 2]: votes for the first and for the second, if known."""
    questions: Mapping[str, Pairs] = field(default_factory=dict)
    """With several questions: question -> pairs with its votes; `votes` are those of the first."""

    def __len__(self) -> int:
        return len(self.first)

    @property
    def was_judged(self) -> NDArray[np.bool_]:
        """bool[pairs]: judged pairs."""
        return np.ones(len(self), np.bool_) if self.answers is None else self.answers > 0

    def take(self, pairs: Indexes) -> Pairs:
        """Return a subset of pairs; frequencies do not change."""
        rows, places = np.unique(
            np.stack([self.first[pairs], self.second[pairs]]), return_inverse=True
        )
        first, second = places.reshape(2, -1).astype(np.int64)
        return replace(
            self,
            judged=self.judged.take(rows),
            first=first,
            second=second,
            votes={question: found[pairs] for question, found in self.votes.items()},
            kinds=[self.kinds[i] for i in pairs] if self.kinds else (),
            systems=[self.systems[i] for i in pairs] if self.systems else (),
            own_references=[self.own_references[i] for i in pairs] if self.own_references else (),
            triplets=None if self.triplets is None else self.triplets[pairs],
            answers=None if self.answers is None else self.answers[pairs],
            vote_counts={question: found[pairs] for question, found in self.vote_counts.items()},
            questions={question: found.take(pairs) for question, found in self.questions.items()},
        )

    def ask(self, question: str) -> Pairs:
        """Return the pairs with the votes on one question."""
        _check_question(self.name, "votes on", question, self.questions)
        found = self.questions[question]
        return replace(
            self,
            votes=found.votes,
            triplets=found.triplets,
            answers=found.answers,
            vote_counts=found.vote_counts,
            questions={},
        )

    def with_own_references(self) -> Pairs:
        """Return the pairs, each as a document with its own draw of references."""
        count = len(self)
        judged = JudgedCaptions(
            [self.judged.captions[i] for i in (*self.first, *self.second)],
            np.tile(np.arange(count), 2),
            self.own_references,
            self.judged.image_of_caption[self.first],
        )
        return replace(
            self, judged=judged, first=np.arange(count), second=np.arange(count, 2 * count)
        )


@dataclass(frozen=True, eq=False)
class Ratings(_Fingerprinted):
    """Ratings of captions, one number per judge."""

    name: str
    judged: JudgedCaptions
    rows: Indexes
    """int64[ratings]: index of the caption, which may have any number of ratings."""
    ratings: Floats
    systems: Sequence[str] = ()
    """System of each caption; empty if unknown."""
    questions: Mapping[str, tuple[Indexes, Floats]] = field(default_factory=dict)
    """With several questions: question -> its `rows` and `ratings`."""

    def __len__(self) -> int:
        return len(self.ratings)

    @property
    def was_judged(self) -> NDArray[np.bool_]:
        """bool[captions]: rated captions."""
        return np.bincount(self.rows, minlength=len(self.judged.captions)) > 0

    def ask(self, question: str) -> Ratings:
        """Return the ratings of one question."""
        _check_question(self.name, "ratings of", question, self.questions)
        rows, ratings = self.questions[question]
        return replace(self, rows=rows, ratings=ratings)

    def average(self) -> Ratings:
        """Return one rating for each rated caption, the mean of its ratings."""
        rows, places = np.unique(self.rows, return_inverse=True)
        means = np.bincount(places, self.ratings) / np.bincount(places)
        return replace(self, rows=rows, ratings=means, questions={})

    def take_captions(self, captions: Indexes) -> Ratings:
        """Return a subset of captions, rated or not; frequencies do not change."""
        place = np.full(len(self.judged.captions), -1, np.int64)
        place[captions] = np.arange(len(captions))

        def keep(rows: Indexes, ratings: Floats) -> tuple[Indexes, Floats]:
            kept = place[rows] >= 0
            return place[rows[kept]], ratings[kept]

        rows, ratings = keep(self.rows, self.ratings)
        return replace(
            self,
            judged=self.judged.take(captions),
            rows=rows,
            ratings=ratings,
            systems=[self.systems[i] for i in captions] if self.systems else (),
            questions={question: keep(*found) for question, found in self.questions.items()},
        )

    def take(self, ratings: Indexes) -> Ratings:
        """Return a subset of ratings and their captions; frequencies do not change."""
        rows, places = np.unique(self.rows[ratings], return_inverse=True)
        return replace(
            self,
            judged=self.judged.take(rows),
            rows=places.astype(np.int64),
            ratings=self.ratings[ratings],
            systems=[self.systems[i] for i in rows] if self.systems else (),
            questions={},  # indices are those of the first question
        )


@dataclass(frozen=True, eq=False)
class Sets(_Fingerprinted):
    """Ratings of the diversity of sets of captions."""

    name: str
    images: Sequence[str]
    """Image of each set."""
    captions: Sequence[Sequence[str]]
    ratings: Floats
    """float64[sets]: mean ratings."""
    questions: Mapping[str, Floats] = field(default_factory=dict)
    """With several questions: question -> its `ratings`."""

    def __len__(self) -> int:
        return len(self.ratings)

    def ask(self, question: str) -> Sets:
        """Return the ratings of one question."""
        _check_question(self.name, "ratings of", question, self.questions)
        return replace(self, ratings=self.questions[question], questions={})

    def take(self, sets: Indexes) -> Sets:
        """Return a subset of sets."""
        return replace(
            self,
            images=[self.images[i] for i in sets],
            captions=[self.captions[i] for i in sets],
            ratings=self.ratings[sets],
            questions={question: found[sets] for question, found in self.questions.items()},
        )


@dataclass(frozen=True, eq=False)
class Systems(_Fingerprinted):
    """Human scores of systems, and scores of metrics; there are no captions."""

    name: str
    systems: Sequence[str]
    human: Mapping[str, Floats]
    """question -> float64[systems]"""
    scores: Mapping[int, Mapping[str, Floats]]
    """number of references -> metric -> float64[systems]"""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """metric -> signature"""

    def __len__(self) -> int:
        return len(self.systems)


Dataset: TypeAlias = Pairs | Ratings | Sets | Systems
"""Judgments of `read_dataset`."""
