"""claims-f, claims-precision, claims-recall: a caption's statements, judged one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np

from cidery.encoders import Encoder, find_lens
from cidery.frequencies import load_shipped
from cidery.metrics.base import (
    Needs,
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    require,
    require_choice,
)
from cidery.metrics.claims.contradictions import Same
from cidery.metrics.claims.explanation import share_judgment
from cidery.metrics.claims.extraction import (
    PLAIN_COLORS,
    Description,
    Known,
    Sentence,
    Statement,
    cut_sentences,
    join_sentences,
    parse_sentences,
)
from cidery.metrics.claims.verdicts import COLUMNS, JudgedCaption, ReadCaption, Witnesses, normalize
from cidery.metrics.claims.word_lists import NUMBERS, NUMERALS
from cidery.metrics.contextual.base import Contextual, rows_by_image
from cidery.metrics.explanations import Shares
from cidery.runtime.processes import count_cores
from cidery.runtime.progress import current_progress
from cidery.runtime.workspace import Workspace
from cidery.statistics import Floats
from cidery.text import STOP_WORDS, TokenizedCaptions

if TYPE_CHECKING:
    from cidery.metrics.spice.parser import Parser

T = TypeVar("T")
R = TypeVar("R")
Measure: TypeAlias = Literal["f", "precision", "recall"]
MEASURES: tuple[Measure, ...] = ("f", "precision", "recall")
COUNTED_ON = "coco-train2014"
"""The shipped document frequencies that tell how much a word says."""
Batch: TypeAlias = list[tuple[int, list[int]]]
"""Images, each with the numbers of its captions."""
MENTIONS = 20
"""So many mentions of a noun count as much as what is usual for all nouns."""
RAREST = 1000
"""A word that fewer than one in so many images have says no more: it may be none at all."""
BATCH = 32
"""About how many captions are encoded at a time: vectors of all would fill the memory."""
AHEAD = 2
"""Batches that are encoded at the same time: what one does in Python, the other does not."""
_STEP = "judging claims"


@dataclass(frozen=True, kw_only=True)
class Claims(Contextual):
    """How many claims of a caption references support, and how many of theirs it makes; in [0, 1].

    P is the mean support of the caption's claims, R the mean of how much of the references'
    information it covers and how much it tells at all, F = 2PR/(P+R) · (1 - repetition) · fluency.
    A claim is an object, an attribute, a count, a relation, a place or a text seen;
    docs/metrics/claims.md defines support, contradiction and the rest.

    ```python
    cidery.score(candidates, references, metrics=[Claims(), Claims(measure="recall")])
    ```
    """

    measure: Measure = "f"
    parser: str = "auto"
    """A spaCy pipeline's package, as SPICE's."""

    paper: ClassVar[str] = "none: cidery's own"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("measure", self.measure, MEASURES)
        require(self.parser != "", "parser must be the name of a spaCy pipeline, or auto")

    @classmethod
    def variants(cls) -> tuple[Claims, ...]:
        """Return F, precision and recall."""
        return tuple(cls(measure=measure) for measure in MEASURES)

    @property
    def name(self) -> str:
        """`claims-f`, `claims-precision` or `claims-recall`."""
        return f"claims-{self.measure}"

    @property
    def needs(self) -> Needs:
        """The extra `claims`, the encoder, and captions in English."""
        return replace(super().needs, extra="claims", language="en")

    def data_settings(self) -> dict[str, str]:
        """Return what the encoder and the parser are, and the checksum of the synonyms."""
        from cidery.metrics.spice.metric import load_synonyms
        from cidery.metrics.spice.parser import load_parser

        lens = find_lens(self.open_encoder())
        return (
            super().data_settings()
            | {
                "parser": load_parser(self.parser).id,
                "table": f"{load_synonyms().checksum:016x}",
                "rules": str(RULES_VERSION),
            }
            | ({} if lens is None else {"lens": lens.fingerprint})
        )

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Read the references' claims."""
        from cidery.metrics.spice.parser import load_parser

        parser, encoder = load_parser(self.parser), self.open_encoder()
        judge = work.once(_prepare_judge, parser, encoder, references)
        return PreparedClaims(self, judge)

    def each(self, rows: Floats) -> Floats:
        """Return the chosen measure."""
        return np.ascontiguousarray(rows[:, MEASURES.index(self.measure)])

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the mean of the chosen measure."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums[..., MEASURES.index(self.measure)] / count
            return np.where(count > 0, mean, np.nan)

    @property
    def explanation_unit(self) -> str:
        """Claims."""
        return "claim"


RULES_VERSION = 3
"""Of reading and judging. Raise it when a rule changes."""


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """Captions cut into sentences, and the claims of each sentence."""

    descriptions: Sequence[Description]
    known: Known


def _read(work: Workspace, parser: Parser, captions: TokenizedCaptions) -> ReadTexts:
    distinct = {text: cut_sentences(text) for text in dict.fromkeys(captions.texts)}
    sentences = (s for found in distinct.values() for s in found.sentences)
    known = parse_sentences(parser, sentences, work.threads)
    return ReadTexts([distinct[text] for text in captions.texts], known)


@dataclass(frozen=True, eq=False)
class PreparedClaims(Prepared):
    """Claims of all references."""

    metric: Claims
    claims: ReferenceClaims

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 7]: `COLUMNS`."""
        return work.once(_measure, self.claims, candidates)

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Shares]:
        """Return the contributions of claims: support adds to them, the lack of it subtracts.

        The words of a claim that are new in it share its value; references show the claims that
        the caption does not make.
        """
        judged = work.once(_judge, self.claims, candidates)
        return [share_judgment(found, self.metric.measure) for found in judged]


def _prepare_judge(
    work: Workspace, parser: Parser, encoder: Encoder, references: TokenizedReferences
) -> ReferenceClaims:
    read = work.once(_read, parser, references.captions)
    return ReferenceClaims(parser, encoder, read, references.image_offsets.tolist())


def _judge(
    work: Workspace, claims: ReferenceClaims, candidates: TokenizedCandidates
) -> list[JudgedCaption]:
    """Return the judgment of each caption, for all measures, without vectors."""
    found = {number: judged.forget_vectors() for number, judged in claims.judge(candidates, work)}
    return [found[number] for number in range(len(candidates))]


def _measure(work: Workspace, claims: ReferenceClaims, candidates: TokenizedCandidates) -> Floats:
    """Return rows, float64[captions, 7], which all measures share."""
    rows = np.zeros((len(candidates), len(COLUMNS)))
    for number, judged in claims.judge(candidates, work):
        rows[number] = [getattr(judged.judgment, column) for column in COLUMNS]
    return rows


@dataclass(frozen=True, eq=False)
class ReferenceClaims:
    """Claims of all references; vectors are computed for the images of candidates only."""

    parser: Parser
    encoder: Encoder
    references: ReadTexts
    offsets: Sequence[int]

    def judge(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> Iterator[tuple[int, JudgedCaption]]:
        """Yield the number of each candidate and what its references say of it."""
        read = work.once(_read, self.parser, candidates.captions)
        same = make_same()
        report, done = current_progress(), 0
        threads = work.threads or count_cores()
        ahead = min(AHEAD, threads)

        def encode(batch: Batch) -> tuple[Batch, list[int], list[int], Encoded]:
            numbers = [number for _, members in batch for number in members]
            images = [image for image, _ in batch]
            told = [n for i in images for n in range(self.offsets[i], self.offsets[i + 1])]
            described = [read.descriptions[n] for n in numbers]
            described += [self.references.descriptions[n] for n in told]
            return batch, numbers, told, self._encode(described, threads // ahead)

        for batch, numbers, told, encoded in run_ahead(encode, self._batch(candidates), ahead):
            said = _join(read, numbers, encoded)
            known = _join(self.references, told, encoded)
            for image, members in batch:
                own = [known[n] for n in range(self.offsets[image], self.offsets[image + 1])]
                witnesses = Witnesses(own, same, find_usual)
                for number in members:
                    yield number, JudgedCaption(said[number], own, witnesses.judge(said[number]))
            done += len(numbers)
            report(_STEP, done / max(1, len(candidates)))

    def _batch(self, candidates: TokenizedCandidates) -> Iterator[Batch]:
        batch: Batch = []
        for image, members in rows_by_image(candidates.images):
            batch.append((image, members.tolist()))
            if sum(len(found) for _, found in batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _encode(self, descriptions: Sequence[Description], threads: int) -> Encoded:
        """Return the vectors of sentences, each encoded once."""
        sentences = dict.fromkeys(s for found in descriptions for s in found.sentences)
        return encode_sentences(self.encoder, list(sentences), threads)


def run_ahead(function: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """Yield the function of each item; `ahead` more are computed while the last one is used."""
    with ThreadPoolExecutor(ahead) as pool:
        waiting: list[Future[R]] = []
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.pop(0).result()
        yield from (one.result() for one in waiting)


def _join(read: ReadTexts, numbers: Iterable[int], encoded: Encoded) -> dict[int, ReadCaption]:
    """Put the sentences of captions together; captions that are equal are one."""
    captions: dict[Description, ReadCaption] = {}
    found = {}
    for number in numbers:
        description = read.descriptions[number]
        if description not in captions:
            statements = join_sentences(description, read.known)
            captions[description] = read_caption(description, statements, encoded)
        found[number] = captions[description]
    return found


def read_caption(
    description: Description, statements: Sequence[Statement], encoded: Encoded
) -> ReadCaption:
    """Put the sentences of a caption together."""
    words = [word for sentence in description.sentences for word in sentence]
    cut = [encoded[sentence] for sentence in description.sentences]
    none = np.zeros((0, next(iter(encoded.values())).whole.shape[0] if encoded else 0))
    return ReadCaption(
        description,
        statements,
        words,
        np.concatenate([none, *(sentence.words for sentence in cut)]),
        weigh_words(words, statements),
        np.concatenate([none, *(sentence.whole[None] for sentence in cut)]),
    )


def weigh_words(words: Sequence[str], statements: Iterable[Statement]) -> Floats:
    """Return how much each word says: `kitchens` no more than `kitchen`, `ridden` than `ride`."""
    weights = np.asarray([weigh(word) for word in words], np.float64)
    for statement in statements:
        for lemmas, places in zip(statement.claim.parts, statement.claim.words, strict=True):
            for lemma, place in zip(lemmas.split(" "), places, strict=False):
                if lemma != "have":  # `a man 's hat`
                    weights[place] = min(weights[place], weigh(lemma))
    return weights


@dataclass(frozen=True, eq=False)
class EncodedSentence:
    """A sentence as vectors of length 1, or 0 for what the encoder does not have."""

    words: Floats
    """float64[words, width]: the means of words' tokens."""
    whole: Floats
    """float64[width]: the mean of all tokens, seen through the encoder's lens if it has one."""


Encoded: TypeAlias = Mapping[Sentence, EncodedSentence]


def encode_sentences(
    encoder: Encoder, sentences: Sequence[Sentence], threads: int
) -> dict[Sentence, EncodedSentence]:
    """Return the vectors of sentences and of their words.

    Colors, numbers and denials are compared as words. They are left out of what the encoder reads,
    so that they do not change the vectors of the other words, and have fixed vectors of their own.
    """
    kept = {sentence: [p for p in range(len(sentence)) if not _is_exact(sentence, p)]
            for sentence in sentences}  # fmt: skip
    texts = [
        " ".join("a" if sentence[p] == "no" else sentence[p] for p in kept[sentence])
        for sentence in sentences
    ]
    encoded = encoder.tokens(texts, None, threads)
    width, lens = encoded.states.shape[1], find_lens(encoder)
    found: dict[Sentence, EncodedSentence] = {}
    for number, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
        states = encoded.states[encoded.rows(number)].astype(np.float64)
        whole = (states if lens is None else lens(states)).sum(axis=0, keepdims=True)
        sums = np.zeros((len(sentence), width))
        places = kept[sentence]
        if places:
            ends = np.cumsum([len(word) + 1 for word in text.split(" ")])
            tokens = encoded.cut(text)[: len(states)]
            chosen = [n for n, t in enumerate(tokens) if t.word is not None and t.end > t.start]
            owners = np.searchsorted(ends, [tokens[n].end for n in chosen])
            words = np.asarray(places)[np.minimum(owners, len(places) - 1)]
            np.add.at(sums, words, states[chosen])
        for place, word in enumerate(sentence):
            if place not in places and word in EXACT:
                sums[place] = fix_vector(word, width)
        found[sentence] = EncodedSentence(normalize(sums), normalize(whole)[0])
    return found


EXACT = PLAIN_COLORS | NUMERALS
_DENIALS = ("not", "never")
_JOINING = STOP_WORDS["english"] | {","}


def _is_exact(sentence: Sentence, place: int) -> bool:
    """Tell whether a word is a denial, or a color or number of what follows: `a red bus`."""
    word, following = sentence[place], sentence[place + 1 : place + 2]
    if word in _DENIALS or word.isdecimal():
        return True
    if word not in EXACT or not following:
        return False
    joined = following[0] == "and" and sentence[place + 2 : place + 3]
    return bool(joined and joined[0] in EXACT) or following[0] not in _JOINING


@lru_cache(maxsize=1 << 10)
def fix_vector(word: str, width: int) -> Floats:
    """Return a vector of a word that is like no other: the same for the same number or color."""
    key = str(NUMBERS[word]) if word in NUMBERS else word
    vector: Floats = np.random.default_rng([*key.encode()]).standard_normal(width)
    return vector


# It depends on the word and on shipped frequencies, which are part of the package.
@lru_cache(maxsize=1 << 16)
def weigh(word: str) -> float:
    """Return how much a word says: log(|I| / df) in COCO's captions, at most log(1000).

    The form of it that most captions have decides: `stand` says no more than `standing`.
    """
    frequencies = load_shipped(COUNTED_ON, None)
    images = frequencies.image_count
    found = max(frequencies.count([form]) for form in inflect(word))
    return math.log(images / max(images / RAREST, found))


def inflect(word: str) -> Iterator[str]:
    """Yield a word and what may be its regular forms, if it is a noun or a verb."""
    yield from (word, word + "s", word + "es", word + "ing", word + word[-1:] + "ing")
    if word.endswith("e"):
        yield word[:-1] + "ing"


@lru_cache(maxsize=1 << 16)
def find_usual(word: str, noun: str) -> float:
    """Return the share of a noun's mentions in COCO's captions that have a word right before it.

    Of nouns that are rare it is more and more the word's own share of all captions.
    """
    frequencies = load_shipped(COUNTED_ON, None)
    own = frequencies.count([word]) / frequencies.image_count
    told = frequencies.count([word, noun]) + MENTIONS * own
    return min(1.0, told / (frequencies.count([noun]) + MENTIONS))


def make_same() -> Same:
    """Return a function that tells whether two words are the same or share a synonym set."""
    from cidery.metrics.spice.metric import load_synonyms

    table = load_synonyms()
    synsets = cache(lambda word: frozenset(table.synsets(word)))

    @lru_cache(maxsize=1 << 16)
    def same(one: str, other: str) -> bool:
        return one == other or not synsets(one).isdisjoint(synsets(other))

    return same
