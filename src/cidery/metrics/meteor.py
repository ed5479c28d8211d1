"""METEOR 1.5 (Denkowski and Lavie 2014), as pycocoevalcap runs it, without Java."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from cidery import _native
from cidery.errors import DataError, SettingError
from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.explanations import Contributions, Span, split_loss, split_score
from cidery.metrics.located_captions import LocatedCaption
from cidery.metrics.meteor_languages import (
    METEOR_LANGUAGES,
    MeteorLanguage,
    get_meteor_language,
)
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.storage import (
    METEOR,
    METEOR_WORDS,
    FunctionWords,
    Resource,
    load,
    open_language_table,
    open_own_table,
)
from cidery.tables import Table, Tabular
from cidery.text import (
    TOKENS,
    WITHOUT_BARS,
    Language,
    TokenForm,
    TokenizedCaptions,
    TokenizerLike,
    choose_tokenizer,
    locate_words,
)

if TYPE_CHECKING:
    pass

Stage: TypeAlias = Literal["exact", "stem", "synonym", "paraphrase"]
"""The matcher that found a match, in the order in which METEOR tries them."""

# Columns of the rows: METEOR's 23 statistics, in its own order.
_CANDIDATE_WORDS, _REFERENCE_WORDS = 0, 1
_CHUNKS, _CANDIDATE_MATCHED, _REFERENCE_MATCHED = 20, 21, 22


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR: F of words matched exactly, by stem, synonym or paraphrase, less for gaps; in [0, 1].

    F·(1 - γ·frag^β), F = P·R/(α·P + (1-α)·R), frag = chunks/matches: Denkowski and Lavie, WMT 2014,
    with METEOR 1.5's parameters for the language (English: α 0.85, β 0.2, γ 0.6, δ 0.75). The
    corpus score pools the statistics of all captions; it is not the mean of the captions' scores.
    Each caption is compared with the reference that gives it the highest score, on a tie with the
    first.

    ```python
    cidery.score(candidates, references, metrics=[Meteor(), Meteor(paraphrases=False)])
    ```
    """

    paraphrases: bool | None = None
    """False leaves out the fourth matcher, and needs a much smaller table; None: True for English,
    and for other languages where `table` has them."""
    table: str | os.PathLike[str] | None = None
    """A table file of your own; None: the one compiled from pycocoevalcap's files."""
    language: str = "en"
    """One of those that METEOR knows: its code."""
    function_words: FunctionWords = "english"
    """The words that weigh 1-δ: `english`, which METEOR takes whatever the language is, or `own`,
    its list for the language (`-s`). A table of your own has those it was compiled with."""

    paper: ClassVar[str] = "Denkowski and Lavie 2014"
    name = "meteor"
    explanation_unit = "word"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table is not None:
            object.__setattr__(self, "table", os.fspath(self.table))
        require(self.table != "", "table must be the path of a file, not an empty string")
        knows = get_meteor_language(self.language)
        object.__setattr__(self, "language", knows.code)
        if self.function_words == "own":
            self._require_own_words(knows)
        if self.paraphrases is None:
            object.__setattr__(self, "paraphrases", knows.code == "en" or self.table is not None)
        if knows.code != "en":
            self._require_paraphrases(knows)

    def _require_own_words(self, knows: MeteorLanguage) -> None:
        require(
            knows.function_words,
            f"METEOR has no function words for {knows.code!r}; with its δ of 0.5 they would not "
            "matter",
        )
        require(
            self.table is None,
            "a table of your own has the function words that it was compiled with; leave "
            "function_words out, and pass it to store.write_meteor_table",
        )
        if knows.code == "en":
            object.__setattr__(self, "function_words", "english")

    def _require_paraphrases(self, knows: MeteorLanguage) -> None:
        """Say how to come by paraphrases, which pycocoevalcap has for English alone."""
        require(
            "paraphrase" in knows.weights or not (self.paraphrases or self.table),
            f"METEOR has no paraphrases for {knows.code!r}; leave out paraphrases and table",
        )
        require(
            not self.paraphrases or self.table is not None,
            f"pycocoevalcap has no paraphrases for {knows.code!r}; compile METEOR's own "
            f"paraphrase file with: cidery data build meteor --language {knows.code} "
            "--paraphrases FILE -o own.table, and pass table='own.table'",
        )

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:
        """Return the language, if METEOR knows it."""
        return {"language": language.code} if language.code in METEOR_LANGUAGES else {}

    @property
    def needs(self) -> Needs:
        """The extra `meteor`, the table, and captions in its language."""
        return Needs(
            extra="meteor",
            files={} if self.table is None else {"table": os.fspath(self.table)},
            language=self.language,
        )

    def settings(self) -> dict[str, str]:
        """Return what the signature says; of English, only what it always said."""
        settings = super().settings()
        language, functions = settings.pop("language"), settings.pop("function_words")
        if language == "en":
            return settings
        own = {} if self.table else {"functions": functions}
        return {"data": language, **own, **settings}

    def data_settings(self) -> dict[str, str]:
        """Return the checksum of the table, whatever its path."""
        return {"table": f"{self._open_table().checksum:016x}"}

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready; the table is opened, and compiled if this is its first use."""
        asked = references.tokenizer.language
        require(
            self.language == "en" or asked in (None, self.language),
            f"METEOR is set to the language {self.language!r}, but the language asked for is "
            f"{asked!r}; give both the same",
        )
        table = self._open_table()
        with self._naming_table():
            captions = self._captions(table, references.captions, TOKENS, work)
        return _PreparedMeteor(self, table, references, captions)

    def each(self, rows: Floats) -> Floats:
        """Return METEOR of each caption by itself."""
        return _native.meteor_scores(np.ascontiguousarray(rows), self._knows.parameters)

    def pool(self, sums: Floats, count: Floats) -> Floats:  # noqa: ARG002
        """Return METEOR of the pooled statistics."""
        flat = np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])
        return _native.meteor_scores(flat, self._knows.parameters).reshape(sums.shape[:-1])

    def align(
        self, candidate: str, reference: str, tokenizer: TokenizerLike | None = None
    ) -> MeteorAlignment:
        """Return which words METEOR matches, how, and in which chunks.

        The tokenizer is that of the language, unless another one is given.

        ```python
        alignment = Meteor().align("two dogs are running", "a pair of dogs run")
        print(alignment)
        alignment.matches[0].stage
        ```
        """
        table = self._open_table()
        cut = choose_tokenizer(tokenizer, self.language)
        with self._naming_table():
            candidates = self._captions(table, cut([candidate], 1), WITHOUT_BARS, Workspace(1))
            references = self._captions(table, cut([reference], 1), TOKENS, Workspace(1))
            return MeteorAlignment.find(candidates, 0, references, 0, self._knows)

    @property
    def _knows(self) -> MeteorLanguage:
        return METEOR_LANGUAGES[self.language]

    @property
    def _resource(self) -> Resource[_native.MeteorTable]:
        return METEOR if self.paraphrases else METEOR_WORDS

    @contextmanager
    def _naming_table(self) -> Iterator[None]:
        """Say which table is wrong inside, although its checksum fits."""
        try:
            yield
        except RuntimeError as error:
            place = self.table or (self._resource.path if self.language == "en" else "METEOR")
            raise DataError(f"{place}: {error}") from error

    def _open_table(self) -> _native.MeteorTable:
        if self.table is None:
            if self.language != "en":
                return open_language_table(self.language, self.function_words)
            return load(self._resource)
        table = open_own_table(self.table)
        if table.language not in METEOR_LANGUAGES:
            raise DataError(f"{self.table}: METEOR table is damaged: METEOR has no such language")
        if table.language != self.language:
            raise SettingError(
                f"{self.table} was compiled for the language {table.language!r}, not for "
                f"{self.language!r}; pass language={table.language!r}"
            )
        if self.paraphrases and not table.has_paraphrases:
            raise SettingError(f"{self.table} holds no paraphrases; pass paraphrases=False")
        return table

    def _captions(
        self,
        table: _native.MeteorTable,
        captions: TokenizedCaptions,
        form: TokenForm,
        work: Workspace,
    ) -> _native.MeteorCaptions:
        words = captions.form(form, work)
        return _native.MeteorCaptions.from_tokens(
            table, words, self._knows.stem, bool(self.paraphrases), work.threads
        )


@dataclass(frozen=True, eq=False)
class _PreparedMeteor(Prepared):
    """References in METEOR's words, each looked up in the table."""

    metric: Meteor
    table: _native.MeteorTable
    references: TokenizedReferences
    captions: _native.MeteorCaptions

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Find the words that pycocoevalcap changes."""
        captions.word_source.form(WITHOUT_BARS, work)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return METEOR's 23 statistics, float64[captions, 23], ready to be summed."""
        with self.metric._naming_table():
            captions = work.once(_read_candidates, self.metric, self.table, candidates)
            rows = _native.meteor_measure(
                self.captions,
                self.references.image_offsets,
                captions,
                candidates.images,
                self.metric._knows.parameters,
                work.threads,
            )
        # METEOR adds no chunk to the sum for a perfect caption. Its own score stays the same: a
        # single chunk that covers everything counts as no fragmentation.
        perfect = (
            (rows[:, _CHUNKS] == 1)
            & (rows[:, _CANDIDATE_MATCHED] == rows[:, _CANDIDATE_WORDS])
            & (rows[:, _REFERENCE_MATCHED] == rows[:, _REFERENCE_WORDS])
        )
        rows[perfect, _CHUNKS] = 0
        return rows

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words in the alignment with the best reference.

        Words that match share the score of a precision of 1, by the weight of the matcher and of
        the word; the others, and the weight that later matchers lose, share the difference.
        """
        metric, language = self.metric, self.metric._knows
        scores = metric.each(self.measure(candidates, work)).tolist()
        with metric._naming_table():
            captions = work.once(_read_candidates, metric, self.table, candidates)
            offsets = self.references.image_offsets.tolist()
            texts, reference_texts = candidates.captions.texts, self.references.captions.texts
            shares = []
            for number, image in enumerate(candidates.images.tolist()):
                group = range(offsets[image], offsets[image + 1])
                found = [
                    MeteorAlignment.find(captions, number, self.captions, place, language)
                    for place in group
                ]
                best = max(range(len(found)), key=lambda place: found[place].score)
                nearest = group[best]
                sides = (
                    _Side.read(captions, number, texts[number], found[best], 0, language),
                    _Side.read(
                        self.captions, nearest, reference_texts[nearest], found[best], 1, language
                    ),
                )
                lacks: list[list[Span]] = [[] for _ in group]
                one, lacks[best] = _share_alignment(
                    scores[number], found[best], *sides, language.alpha
                )
                parts = {**one.parts, "reference": best + 1.0}
                shares.append(replace(one, reference_spans=lacks, parts=parts))
        return shares


def _read_candidates(
    work: Workspace, metric: Meteor, table: _native.MeteorTable, candidates: TokenizedCandidates
) -> _native.MeteorCaptions:
    """Return candidates in METEOR's words."""
    return metric._captions(table, candidates.captions, WITHOUT_BARS, work)


@dataclass(frozen=True, eq=False)
class _Side:
    """One caption of an alignment, word by word."""

    caption: LocatedCaption
    weights: list[float]
    gains: list[float]
    notes: list[str]

    @classmethod
    def read(
        cls,
        captions: _native.MeteorCaptions,
        number: int,
        text: str,
        alignment: MeteorAlignment,
        side: Literal[0, 1],
        knows: MeteorLanguage,
    ) -> _Side:
        words = captions.words(number)
        weights = [
            1 - knows.delta if function else knows.delta
            for function in captions.are_function_words(number)
        ]
        gains = [0.0] * len(words)
        notes = ["missing" if side else "no match"] * len(words)
        for chunk, matches in enumerate(alignment.chunks, 1):
            for match in matches:
                starts = match.candidate_start, match.reference_start
                phrases = match.candidate, match.reference
                for place in range(starts[side], starts[side] + len(phrases[side])):
                    gains[place] = weights[place] * knows.weights[match.stage]
                    notes[place] = f"{match.stage}: {' '.join(phrases[1 - side])}, chunk {chunk}"
        return cls(LocatedCaption(words, locate_words(text, words)), weights, gains, notes)

    @property
    def share(self) -> float:
        """The part of its weight that matches: precision, or recall."""
        total = math.fsum(self.weights)
        return math.fsum(self.gains) / total if total else 0.0

    @property
    def losses(self) -> list[float]:
        return [weight - gain for weight, gain in zip(self.weights, self.gains, strict=True)]


def _share_alignment(
    score: float, alignment: MeteorAlignment, said: _Side, told: _Side, alpha: float
) -> tuple[Contributions, list[Span]]:
    """Return what a caption's words earned and cost, and what its best reference has beyond it."""
    precision, recall = said.share, told.share
    mean = _mean(precision, recall, alpha)
    parts = {
        "precision": precision,
        "recall": recall,
        "mean": mean,
        "penalty": 1 - score / mean if mean else 0.0,
        "chunks": float(len(alignment.chunks)),
    }
    kept = score / mean if mean else 0.0
    values = split_score(score, _mean(1.0, recall, alpha) * kept, said.gains, said.losses)
    exact = said.caption.is_located and any(said.gains)
    lacked = split_loss(score, _mean(precision, 1.0, alpha) * kept, told.losses)
    missing = [gain == 0 for gain in told.gains]
    return (
        Contributions(score, said.caption.spans(values, said.notes), (), parts, exact),
        told.caption.missing_spans(lacked, missing),
    )


def _mean(precision: float, recall: float, alpha: float) -> float:
    """METEOR's F."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 1 / ((1 - alpha) / precision + alpha / recall)


@dataclass(frozen=True)
class MeteorMatch:
    """A phrase of the candidate and the phrase of the reference that it was matched with."""

    stage: Stage
    candidate: tuple[str, ...]
    reference: tuple[str, ...]
    candidate_start: int
    """Where it begins in the candidate, counted in words."""
    reference_start: int

    def precedes(self, other: MeteorMatch) -> bool:
        """Tell whether the other follows at once, on both sides."""
        return (
            self.candidate_start + len(self.candidate) == other.candidate_start
            and self.reference_start + len(self.reference) == other.reference_start
        )

    def __str__(self) -> str:
        return f"{' '.join(self.candidate)} = {' '.join(self.reference)} ({self.stage})"


@dataclass(frozen=True)
class MeteorAlignment(Tabular):
    """What METEOR makes of one candidate and one reference."""

    candidate: tuple[str, ...]
    """In METEOR's own words: it cuts tokens further, `t-shirt` into two."""
    reference: tuple[str, ...]
    matches: tuple[MeteorMatch, ...]
    """By their place in the reference."""
    score: float

    @classmethod
    def find(
        cls,
        candidates: _native.MeteorCaptions,
        candidate: int,
        references: _native.MeteorCaptions,
        reference: int,
        knows: MeteorLanguage = METEOR_LANGUAGES["en"],
    ) -> MeteorAlignment:
        """Align one of some candidates with one of some references."""
        matches, statistics = _native.meteor_align(candidates, candidate, references, reference)
        words, reference_words = (
            tuple(candidates.words(candidate)),
            tuple(references.words(reference)),
        )
        return cls(
            words,
            reference_words,
            tuple(
                MeteorMatch(
                    cast(Stage, stage),
                    words[start : start + length],
                    reference_words[reference_start : reference_start + reference_length],
                    start,
                    reference_start,
                )
                for start, length, reference_start, reference_length, stage in matches
            ),
            float(_native.meteor_scores(statistics[None], knows.parameters)[0]),
        )

    @property
    def chunks(self) -> tuple[tuple[MeteorMatch, ...], ...]:
        """Matches that follow each other on both sides; the fewer chunks, the higher the score."""
        breaks = [
            place
            for place, (match, following) in enumerate(pairwise(self.matches), 1)
            if not match.precedes(following)
        ]
        edges = [0, *breaks, len(self.matches)]
        return tuple(self.matches[start:end] for start, end in pairwise(edges) if end > start)

    @property
    def unmatched_candidate(self) -> tuple[str, ...]:
        """The candidate's words that nothing matches."""
        return _leave_out(
            self.candidate, [(m.candidate_start, len(m.candidate)) for m in self.matches]
        )

    @property
    def unmatched_reference(self) -> tuple[str, ...]:
        """The reference's words that nothing matches."""
        return _leave_out(
            self.reference, [(m.reference_start, len(m.reference)) for m in self.matches]
        )

    def table(self) -> Table:
        """Return a row per match, in order of chunks."""
        rows = [
            (str(number), " ".join(match.candidate), " ".join(match.reference), match.stage)
            for number, chunk in enumerate(self.chunks, 1)
            for match in chunk
        ]
        notes = [f"score {self.score:.4f}, chunks {len(self.chunks)}"]
        if self.unmatched_candidate:
            notes.append(f"only in the candidate: {' '.join(self.unmatched_candidate)}")
        if self.unmatched_reference:
            notes.append(f"only in the reference: {' '.join(self.unmatched_reference)}")
        return Table.of(["chunk", "candidate", "reference", "stage"], rows, notes=notes)


def _leave_out(words: tuple[str, ...], spans: list[tuple[int, int]]) -> tuple[str, ...]:
    matched = {place for start, length in spans for place in range(start, start + length)}
    return tuple(word for place, word in enumerate(words) if place not in matched)
