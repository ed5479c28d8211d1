"""claims-f, claims-precision, claims-recall: a caption's statements, judged one by one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from cidery.captions.tokenizers import TokenizedCaptions
from cidery.captions.workspace import Workspace
from cidery.frequencies import load_shipped
from cidery.metrics.base import (
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    require,
    require_choice,
)
from cidery.metrics.claims.explaining import share_judgment
from cidery.metrics.claims.judging import COLUMNS, JudgedCaption, ReadCaption, Witnesses, normalise
from cidery.metrics.claims.reading import (
    Description,
    Known,
    Sentence,
    cut_sentences,
    join_sentences,
    parse_sentences,
)
from cidery.metrics.claims.rules import Same
from cidery.metrics.contextual.base import Contextual, rows_by_image
from cidery.metrics.contextual.encoders import Encoder
from cidery.metrics.explanations import Shares
from cidery.statistics import Floats
from cidery.store import current_report

if TYPE_CHECKING:
    from cidery.metrics.spice.pipeline import Parser

Measure: TypeAlias = Literal["f", "precision", "recall"]
MEASURES: tuple[Measure, ...] = ("f", "precision", "recall")
COUNTED_ON = "coco-train2014"
"""The shipped document frequencies that tell how much a word says."""
BATCH = 256
"""About how many captions are encoded at a time: vectors of all would fill the memory."""
_STEP = "judging claims"


@dataclass(frozen=True, kw_only=True)
class Claims(Contextual):
    """How many claims of a caption references support, and how many of theirs it makes; in [0, 1].

    P is the mean support of the caption's claims, R the mean over references of the information
    that the caption covers, F = 2PR/(P+R) · (1 - repetition) · (1 - 0.2·dangling). A claim is an
    object, an attribute, a count, a relation, a place or a text seen; docs/metrics/claims.md
    defines support and contradiction.

    ```python
    cidery.score(candidates, references, metrics=[Claims(), Claims(measure="recall")])
    ```
    """

    measure: Measure = "f"
    parser: str = "auto"
    """A spaCy pipeline's package, as SPICE's."""

    paper: ClassVar[str] = "none: cidery's own"
    extra: ClassVar[str | None] = "claims"
    family: ClassVar[str | None] = "claims"
    pieces: ClassVar[str] = "claim"
    data_language: ClassVar[str | None] = "en"

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
    def row_key(self) -> Hashable:
        """Precision, recall and F have the same rows."""
        return replace(self, measure="f")

    def data_settings(self) -> dict[str, str]:
        """Return what the encoder and the parser are, and the checksum of the synonyms."""
        from cidery.metrics.spice.metric import load_synonyms
        from cidery.metrics.spice.pipeline import load_parser

        return super().data_settings() | {
            "parser": load_parser(self.parser).id,
            "table": f"{load_synonyms().checksum:016x}",
            "rules": str(RULES_VERSION),
        }

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Read the references' claims."""
        from cidery.metrics.spice.pipeline import load_parser

        parser, encoder = load_parser(self.parser), self.open_encoder()
        return PreparedClaims(
            parser,
            encoder,
            work.once(_read, parser, references.captions),
            references.image_offsets.tolist(),
        )

    def each(self, rows: Floats) -> Floats:
        """Return the chosen measure."""
        return np.ascontiguousarray(rows[:, MEASURES.index(self.measure)])

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the mean of the chosen measure."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = sums[..., MEASURES.index(self.measure)] / count
            return np.where(count > 0, mean, np.nan)

    def explain(
        self,
        prepared: Prepared,
        references: TokenizedReferences,  # noqa: ARG002
        candidates: TokenizedCandidates,
        work: Workspace,
    ) -> list[Shares]:
        """Return what claims earned by their support and cost by the lack of it.

        The words that say what a claim adds share its value; references show what they state and
        the caption does not.
        """
        assert isinstance(prepared, PreparedClaims)
        judged = work.once(_judge, prepared, candidates)
        return [share_judgment(found, self.measure) for found in judged]


RULES_VERSION = 1
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


def _judge(
    work: Workspace, prepared: PreparedClaims, candidates: TokenizedCandidates
) -> list[JudgedCaption]:
    """Return what references say of each caption, for all measures; vectors are let go."""
    found = {number: judged.forget_vectors() for number, judged in prepared.judge(candidates, work)}
    return [found[number] for number in range(len(candidates))]


@dataclass(frozen=True, eq=False)
class PreparedClaims(Prepared):
    """The claims of all references; vectors are made when an image is asked for."""

    parser: Parser
    encoder: Encoder
    references: ReadTexts
    offsets: Sequence[int]

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, 7]: `COLUMNS`."""
        rows = np.zeros((len(candidates), len(COLUMNS)))
        for number, judged in self.judge(candidates, work):
            rows[number] = [getattr(judged.judgment, column) for column in COLUMNS]
        return rows

    def judge(
        self, candidates: TokenizedCandidates, work: Workspace
    ) -> Iterator[tuple[int, JudgedCaption]]:
        """Yield the number of each candidate and what its references say of it."""
        read = work.once(_read, self.parser, candidates.captions)
        same = make_same()
        report, done = current_report(), 0
        for batch in self._batch(candidates):
            numbers = [number for _, members in batch for number in members]
            images = [image for image, _ in batch]
            told = [n for i in images for n in range(self.offsets[i], self.offsets[i + 1])]
            vectors = self._encode(
                [read.descriptions[n] for n in numbers]
                + [self.references.descriptions[n] for n in told],
                work.threads,
            )
            said = _join(read, numbers, vectors)
            known = _join(self.references, told, vectors)
            for image, members in batch:
                own = [known[n] for n in range(self.offsets[image], self.offsets[image + 1])]
                witnesses = Witnesses(own, same, find_usual)
                for number in members:
                    yield number, JudgedCaption(said[number], own, witnesses.judge(said[number]))
            done += len(numbers)
            report(_STEP, done / max(1, len(candidates)))

    def _batch(self, candidates: TokenizedCandidates) -> Iterator[list[tuple[int, list[int]]]]:
        batch: list[tuple[int, list[int]]] = []
        for image, members in rows_by_image(candidates.images):
            batch.append((image, members.tolist()))
            if sum(len(found) for _, found in batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _encode(self, descriptions: Sequence[Description], threads: int) -> dict[Sentence, Floats]:
        """Return the vectors of words; each sentence is encoded once."""
        sentences = dict.fromkeys(s for found in descriptions for s in found.sentences)
        return encode_sentences(self.encoder, list(sentences), threads)


def _join(
    read: ReadTexts, numbers: Iterable[int], vectors: Mapping[Sentence, Floats]
) -> dict[int, ReadCaption]:
    """Put the sentences of captions together; captions that are equal are one."""
    width = next(iter(vectors.values())).shape[1] if vectors else 0
    captions: dict[Description, ReadCaption] = {}
    found = {}
    for number in numbers:
        description = read.descriptions[number]
        if description not in captions:
            words = [word for sentence in description.sentences for word in sentence]
            states = (vectors[sentence] for sentence in description.sentences)
            captions[description] = ReadCaption(
                description,
                join_sentences(description, read.known),
                words,
                np.concatenate([np.zeros((0, width)), *states]),
                np.asarray([weigh(word) for word in words]),
            )
        found[number] = captions[description]
    return found


def encode_sentences(
    encoder: Encoder, sentences: Sequence[Sentence], threads: int
) -> dict[Sentence, Floats]:
    """Return float64[words, width] for each sentence: the means of words' tokens, of length 1."""
    texts = [" ".join(sentence) for sentence in sentences]
    encoded = encoder.tokens(texts, None, threads)
    found: dict[Sentence, Floats] = {}
    for number, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
        states = encoded.states[encoded.rows(number)].astype(np.float64)
        ends = np.cumsum([len(word) + 1 for word in sentence])
        sums = np.zeros((len(sentence), states.shape[1]))
        for token, state in zip(encoded.cut(text), states, strict=False):
            if token.word is not None and token.end > token.start and len(sentence):
                sums[min(int(np.searchsorted(ends, token.end)), len(sentence) - 1)] += state
        found[sentence] = normalise(sums)
    return found


# It depends on the word and on shipped frequencies, which are part of the package.
@lru_cache(maxsize=1 << 16)
def weigh(word: str) -> float:
    """Return how much a word says: log(|I| / df) in COCO's captions."""
    frequencies = load_shipped(COUNTED_ON, None)
    return math.log(frequencies.image_count / max(1.0, frequencies.count([word])))


@lru_cache(maxsize=1 << 16)
def find_usual(word: str, noun: str) -> float:
    """Return the share of a noun's mentions in COCO's captions that have a word right before it."""
    count = load_shipped(COUNTED_ON, None).count
    return min(1.0, count([word, noun]) / max(1.0, count([noun])))


def make_same() -> Same:
    """Return a function that tells whether two words are the same or share a synonym set."""
    from cidery.metrics.spice.metric import load_synonyms

    table = load_synonyms()
    synsets = cache(lambda word: frozenset(table.synsets(word)))

    @cache
    def same(one: str, other: str) -> bool:
        return one == other or not synsets(one).isdisjoint(synsets(other))

    return same
