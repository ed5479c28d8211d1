"""claims-f, claims-precision, claims-recall: support of a caption's claims by its references."""

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
from cidery.metrics.base import Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.claims.contradictions import SynonymCheck
from cidery.metrics.claims.explanation import share_judgment
from cidery.metrics.claims.extraction import (
    PLAIN_COLORS,
    ClaimsBySentence,
    Description,
    Sentence,
    Statement,
    collect_statements,
    extract_claims,
    split_sentences,
)
from cidery.metrics.claims.verdicts import (
    COLUMNS,
    CaptionClaims,
    JudgedCaption,
    ReferenceStatements,
    normalize,
)
from cidery.metrics.claims.word_lists import NUMBERS, NUMERALS
from cidery.metrics.contextual.base import Contextual, rows_by_image
from cidery.metrics.explanations import Contributions
from cidery.metrics.settings import require
from cidery.runtime import Workspace, count_cores, current_progress
from cidery.statistics import Floats
from cidery.text import STOP_WORDS, TokenizedCaptions

if TYPE_CHECKING:
    from cidery.metrics.spice.parser import Parser

T = TypeVar("T")
R = TypeVar("R")
Measure: TypeAlias = Literal["f", "precision", "recall"]
MEASURES: tuple[Measure, ...] = ("f", "precision", "recall")
FREQUENCIES = "coco-train2014"
"""Shipped document frequencies from which idf is computed."""
Batch: TypeAlias = list[tuple[int, list[int]]]
"""Images, each with the indices of its captions."""
PRIOR_MENTIONS = 20
"""Number of mentions at which a noun's own share weighs as much as the overall share."""
MAX_RARITY = 1000
"""Maximum N/df: idf is at most log(1000), as rarer words may be typos."""
BATCH = 32
"""Approximate number of captions encoded at a time, to limit memory."""
PREFETCH = 2
"""Number of batches encoded concurrently."""
_STEP = "judging claims"


@dataclass(frozen=True, kw_only=True)
class Claims(Contextual):
    """Precision, recall or F of a caption's claims, compared with the references'; in [0, 1].

    P is the mean support of the caption's claims, R the mean of the share of the references'
    information that it covers and of its amount of information, F = 2PR/(P+R) · (1 - repetition) ·
    fluency. A claim is an object, an attribute, a count, a relation, a place or a visible text;
    docs/metrics/claims.md defines all terms.

    ```python
    cidery.score(candidates, references, metrics=[Claims(), Claims(measure="recall")])
    ```
    """

    measure: Measure = "f"
    parser: str = "auto"
    """Package of a spaCy pipeline, as for SPICE."""

    paper: ClassVar[str] = "none: cidery's own"
    explanation_unit = "claim"

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """Return the encoder, the parser and the checksum of the synonyms."""
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
        """Extract the claims of the references."""
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


RULES_VERSION = 3
"""Version of extraction and verdicts. Raise it when a rule changes."""


@dataclass(frozen=True, eq=False)
class ExtractedTexts:
    """Captions as sentences, and the claims of each sentence."""

    descriptions: Sequence[Description]
    known: ClaimsBySentence


def _read(work: Workspace, parser: Parser, captions: TokenizedCaptions) -> ExtractedTexts:
    distinct = {text: split_sentences(text) for text in dict.fromkeys(captions.texts)}
    sentences = (s for found in distinct.values() for s in found.sentences)
    known = extract_claims(parser, sentences, work.threads)
    return ExtractedTexts([distinct[text] for text in captions.texts], known)


@dataclass(frozen=True, eq=False)
class PreparedClaims(Prepared):
    """Claims of all references."""

    metric: Claims
    claims: ReferenceClaims

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 7]: `COLUMNS`."""
        return work.once(_measure, self.claims, candidates)

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
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
    found = {number: judged.without_vectors() for number, judged in claims.judge(candidates, work)}
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
    references: ExtractedTexts
    offsets: Sequence[int]

    def judge(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> Iterator[tuple[int, JudgedCaption]]:
        """Yield the index and the judgment of each candidate."""
        read = work.once(_read, self.parser, candidates.captions)
        same = load_synonym_check()
        progress, done = current_progress(), 0
        threads = work.threads or count_cores()
        ahead = min(PREFETCH, threads)

        def encode(batch: Batch) -> tuple[Batch, list[int], list[int], Encoded]:
            own = [number for _, members in batch for number in members]
            others = [
                number
                for image, _ in batch
                for number in range(self.offsets[image], self.offsets[image + 1])
            ]
            descriptions = [read.descriptions[number] for number in own]
            descriptions += [self.references.descriptions[number] for number in others]
            return batch, own, others, self._encode(descriptions, threads // ahead)

        for batch, own, others, encoded in prefetch(encode, self._batch(candidates), ahead):
            captions = _join(read, own, encoded)
            known = _join(self.references, others, encoded)
            for image, members in batch:
                references = [known[n] for n in range(self.offsets[image], self.offsets[image + 1])]
                statements = ReferenceStatements(references, same, find_modifier_share)
                for number in members:
                    judgment = statements.judge(captions[number])
                    yield number, JudgedCaption(captions[number], references, judgment)
            done += len(own)
            progress(_STEP, done / max(1, len(candidates)))

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
        """Return the vectors of the distinct sentences."""
        sentences = dict.fromkeys(s for found in descriptions for s in found.sentences)
        return encode_sentences(self.encoder, list(sentences), threads)


def prefetch(function: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """Yield the result of each item, computing up to `ahead` further ones concurrently."""
    with ThreadPoolExecutor(ahead) as pool:
        waiting: list[Future[R]] = []
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > ahead:
                yield waiting.pop(0).result()
        yield from (one.result() for one in waiting)


def _join(
    read: ExtractedTexts, numbers: Iterable[int], encoded: Encoded
) -> dict[int, CaptionClaims]:
    """Join the sentences of captions; equal captions share the result."""
    captions: dict[Description, CaptionClaims] = {}
    found = {}
    for number in numbers:
        description = read.descriptions[number]
        if description not in captions:
            statements = collect_statements(description, read.known)
            captions[description] = join_caption(description, statements, encoded)
        found[number] = captions[description]
    return found


def join_caption(
    description: Description, statements: Sequence[Statement], encoded: Encoded
) -> CaptionClaims:
    """Join the sentences of a caption."""
    words = [word for sentence in description.sentences for word in sentence]
    cut = [encoded[sentence] for sentence in description.sentences]
    none = np.zeros((0, next(iter(encoded.values())).whole.shape[0] if encoded else 0))
    return CaptionClaims(
        description,
        statements,
        words,
        np.concatenate([none, *(sentence.words for sentence in cut)]),
        weigh_words(words, statements),
        np.concatenate([none, *(sentence.whole[None] for sentence in cut)]),
    )


def weigh_words(words: Sequence[str], statements: Iterable[Statement]) -> Floats:
    """Return the idf of each word, at most that of its lemma: `kitchens`, `kitchen`."""
    weights = np.asarray([weigh(word) for word in words], np.float64)
    for statement in statements:
        for lemmas, places in zip(statement.claim.parts, statement.claim.words, strict=True):
            for lemma, place in zip(lemmas.split(" "), places, strict=False):
                if lemma != "have":  # `a man 's hat`
                    weights[place] = min(weights[place], weigh(lemma))
    return weights


@dataclass(frozen=True, eq=False)
class EncodedSentence:
    """Vectors of a sentence, of length 1, or 0 for words without vector."""

    words: Floats
    """float64[words, width]: mean of each word's tokens."""
    whole: Floats
    """float64[width]: mean of all tokens, mapped by the encoder's lens if it has one."""


Encoded: TypeAlias = Mapping[Sentence, EncodedSentence]


def encode_sentences(
    encoder: Encoder, sentences: Sequence[Sentence], threads: int
) -> dict[Sentence, EncodedSentence]:
    """Return the vectors of sentences and of their words.

    Colors, numbers and negations are compared as words: they are not encoded, so that they do not
    change the vectors of other words, and have fixed random vectors.
    """
    encoded_positions = {sentence: [p for p in range(len(sentence)) if not _is_exact(sentence, p)]
            for sentence in sentences}  # fmt: skip
    texts = [
        " ".join("a" if sentence[p] == "no" else sentence[p] for p in encoded_positions[sentence])
        for sentence in sentences
    ]
    encoded = encoder.tokens(texts, None, threads)
    width, lens = encoded.states.shape[1], find_lens(encoder)
    found: dict[Sentence, EncodedSentence] = {}
    for number, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
        states = encoded.states[encoded.rows(number)].astype(np.float64)
        whole = (states if lens is None else lens(states)).sum(axis=0, keepdims=True)
        sums = np.zeros((len(sentence), width))
        places = encoded_positions[sentence]
        if places:
            ends = np.cumsum([len(word) + 1 for word in text.split(" ")])
            tokens = encoded.tokenize(text)[: len(states)]
            chosen = [n for n, t in enumerate(tokens) if t.word is not None and t.end > t.start]
            owners = np.searchsorted(ends, [tokens[n].end for n in chosen])
            words = np.asarray(places)[np.minimum(owners, len(places) - 1)]
            np.add.at(sums, words, states[chosen])
        for place, word in enumerate(sentence):
            if place not in places and word in EXACT:
                sums[place] = make_fixed_vector(word, width)
        found[sentence] = EncodedSentence(normalize(sums), normalize(whole)[0])
    return found


EXACT = PLAIN_COLORS | NUMERALS
_NEGATIONS = ("not", "never")
_JOINING = STOP_WORDS["english"] | {","}


def _is_exact(sentence: Sentence, place: int) -> bool:
    """Return True for a negation, or a color or number of the next word: `a red bus`."""
    word, following = sentence[place], sentence[place + 1 : place + 2]
    if word in _NEGATIONS or word.isdecimal():
        return True
    if word not in EXACT or not following:
        return False
    joined = following[0] == "and" and sentence[place + 2 : place + 3]
    return bool(joined and joined[0] in EXACT) or following[0] not in _JOINING


@lru_cache(maxsize=1 << 10)
def make_fixed_vector(word: str, width: int) -> Floats:
    """Return a random vector, the same for the same number or color."""
    key = str(NUMBERS[word]) if word in NUMBERS else word
    vector: Floats = np.random.default_rng([*key.encode()]).standard_normal(width)
    return vector


# Depends only on the word and on frequencies that are part of the package.
@lru_cache(maxsize=1 << 16)
def weigh(word: str) -> float:
    """Return the idf of a word in COCO's captions: log(N / df), at most log(1000).

    df is that of its most frequent form, so that `stand` and `standing` have the same idf.
    """
    frequencies = load_shipped(FREQUENCIES, None)
    images = frequencies.image_count
    found = max(frequencies.count([form]) for form in inflect(word))
    return math.log(images / max(images / MAX_RARITY, found))


def inflect(word: str) -> Iterator[str]:
    """Yield a word and its possible regular forms as a noun or verb."""
    yield from (word, word + "s", word + "es", word + "ing", word + word[-1:] + "ing")
    if word.endswith("e"):
        yield word[:-1] + "ing"


@lru_cache(maxsize=1 << 16)
def find_modifier_share(word: str, noun: str) -> float:
    """Return the share of a noun's mentions in COCO's captions that follow a word.

    For rare nouns it is smoothed towards the word's share of all captions.
    """
    frequencies = load_shipped(FREQUENCIES, None)
    own = frequencies.count([word]) / frequencies.image_count
    mentions = frequencies.count([word, noun]) + PRIOR_MENTIONS * own
    return min(1.0, mentions / (frequencies.count([noun]) + PRIOR_MENTIONS))


def load_synonym_check() -> SynonymCheck:
    """Return a function that is True for equal words and for words with a common synonym set."""
    from cidery.metrics.spice.metric import load_synonyms

    table = load_synonyms()
    synsets = cache(lambda word: frozenset(table.synsets(word)))

    @lru_cache(maxsize=1 << 16)
    def same(one: str, other: str) -> bool:
        return one == other or not synsets(one).isdisjoint(synsets(other))

    return same
