"""METEOR 1.5 (Denkowski and Lavie 2014), as pycocoevalcap runs it, without Java."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, cast

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

Stage: TypeAlias = Literal["exact", "stem", "synonym", "paraphrase"]
"""Matcher that found a match, in the order in which METEOR applies them."""

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
    """False disables the fourth matcher and uses a much smaller table. Default: True for English,
    and for other languages if `table` has paraphrases."""
    table: str | os.PathLike[str] | None = None
    """Path of a custom table; None: the table compiled from pycocoevalcap's files."""
    language: str = "en"
    """Code of a language that METEOR supports."""
    function_words: FunctionWords = "english"
    """Words with the weight 1-δ: `english`, METEOR's default for all languages, or `own`, its list
    for the language (`-s`). A custom table has those it was compiled with."""

    paper: ClassVar[str] = "Denkowski and Lavie 2014"
    name = "meteor"
    explanation_unit = "word"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table is not None:
            object.__setattr__(self, "table", os.fspath(self.table))
        require(self.table != "", "table must be the path of a file, not an empty string")
        language = get_meteor_language(self.language)
        object.__setattr__(self, "language", language.code)
        if self.function_words == "own":
            self._require_own_words(language)
        if self.paraphrases is None:
            object.__setattr__(self, "paraphrases", language.code == "en" or self.table is not None)
        if language.code != "en":
            self._require_paraphrases(language)

    def _require_own_words(self, language: MeteorLanguage) -> None:
        require(
            language.function_words,
            f"METEOR has no function words for {language.code!r}; with its δ of 0.5 they would not "
            "matter",
        )
        require(
            self.table is None,
            "function_words cannot be combined with table: the table has those it was compiled "
            "with; pass function_words to write_meteor_table",
        )
        if language.code == "en":
            object.__setattr__(self, "function_words", "english")

    def _require_paraphrases(self, language: MeteorLanguage) -> None:
        """Raise a SettingError unless paraphrases are available; pycocoevalcap has English ones."""
        require(
            "paraphrase" in language.weights or not (self.paraphrases or self.table),
            f"METEOR has no paraphrases for {language.code!r}; remove paraphrases and table",
        )
        require(
            not self.paraphrases or self.table is not None,
            f"pycocoevalcap has no paraphrases for {language.code!r}; compile METEOR's own "
            f"paraphrase file with: cidery data build meteor --language {language.code} "
            "--paraphrases FILE -o own.table, and pass table='own.table'",
        )

    @classmethod
    def language_settings(cls, language: Language) -> dict[str, Any]:
        """Return the language, if METEOR supports it."""
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
        """Return the settings for signatures, without the language if it is English."""
        settings = super().settings()
        language, functions = settings.pop("language"), settings.pop("function_words")
        if language == "en":
            return settings
        own = {} if self.table else {"functions": functions}
        return {"data": language, **own, **settings}

    def data_settings(self) -> dict[str, str]:
        """Return the checksum of the table."""
        return {"table": f"{self._open_table().checksum:016x}"}

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references; the table is compiled at first use."""
        chosen = references.tokenizer.language
        require(
            self.language == "en" or chosen in (None, self.language),
            f"METEOR has the language {self.language!r}, but the pipeline has {chosen!r}; use the "
            "same language for both",
        )
        table = self._open_table()
        with self._table_errors():
            captions = self._captions(table, references.captions, TOKENS, work)
        return _PreparedMeteor(self, table, references, captions)

    def each(self, rows: Floats) -> Floats:
        """Return METEOR of each caption."""
        return _native.meteor_scores(np.ascontiguousarray(rows), self._language.parameters)

    def pool(self, sums: Floats, count: Floats) -> Floats:  # noqa: ARG002
        """Return METEOR of the pooled statistics."""
        flat = np.ascontiguousarray(sums).reshape(-1, sums.shape[-1])
        return _native.meteor_scores(flat, self._language.parameters).reshape(sums.shape[:-1])

    def align(
        self, candidate: str, reference: str, tokenizer: TokenizerLike | None = None
    ) -> MeteorAlignment:
        """Return the matches of METEOR, with their matchers and chunks.

        Default of the tokenizer: that of the language.

        ```python
        alignment = Meteor().align("two dogs are running", "a pair of dogs run")
        print(alignment)
        alignment.matches[0].stage
        ```
        """
        table = self._open_table()
        tokenize = choose_tokenizer(tokenizer, self.language)
        with self._table_errors():
            candidates = self._captions(table, tokenize([candidate], 1), WITHOUT_BARS, Workspace(1))
            references = self._captions(table, tokenize([reference], 1), TOKENS, Workspace(1))
            return MeteorAlignment.find(candidates, 0, references, 0, self._language)

    @property
    def _language(self) -> MeteorLanguage:
        return METEOR_LANGUAGES[self.language]

    @property
    def _resource(self) -> Resource[_native.MeteorTable]:
        return METEOR if self.paraphrases else METEOR_WORDS

    @contextmanager
    def _table_errors(self) -> Iterator[None]:
        """Name the table in errors about its content."""
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
            table, words, self._language.stem, bool(self.paraphrases), work.threads
        )


@dataclass(frozen=True, eq=False)
class _PreparedMeteor(Prepared):
    """References as METEOR's words, looked up in the table."""

    metric: Meteor
    table: _native.MeteorTable
    references: TokenizedReferences
    captions: _native.MeteorCaptions

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Normalize words as pycocoevalcap does."""
        captions.word_source.form(WITHOUT_BARS, work)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return METEOR's 23 statistics, float64[captions, 23], which can be summed."""
        with self.metric._table_errors():
            captions = work.once(_read_candidates, self.metric, self.table, candidates)
            rows = _native.meteor_measure(
                self.captions,
                self.references.image_offsets,
                captions,
                candidates.images,
                self.metric._language.parameters,
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
        metric, language = self.metric, self.metric._language
        scores = metric.each(self.measure(candidates, work)).tolist()
        with metric._table_errors():
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
                missing: list[list[Span]] = [[] for _ in group]
                one, missing[best] = _explain_alignment(
                    scores[number], found[best], *sides, language.alpha
                )
                parts = {**one.parts, "reference": best + 1.0}
                shares.append(replace(one, reference_spans=missing, parts=parts))
        return shares


def _read_candidates(
    work: Workspace, metric: Meteor, table: _native.MeteorTable, candidates: TokenizedCandidates
) -> _native.MeteorCaptions:
    """Return candidates as METEOR's words."""
    return metric._captions(table, candidates.captions, WITHOUT_BARS, work)


@dataclass(frozen=True, eq=False)
class _Side:
    """Words of one caption of an alignment."""

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
        language: MeteorLanguage,
    ) -> _Side:
        words = captions.words(number)
        weights = [
            1 - language.delta if function else language.delta
            for function in captions.are_function_words(number)
        ]
        gains = [0.0] * len(words)
        notes = ["missing" if side else "no match"] * len(words)
        for chunk, matches in enumerate(alignment.chunks, 1):
            for match in matches:
                starts = match.candidate_start, match.reference_start
                phrases = match.candidate, match.reference
                for place in range(starts[side], starts[side] + len(phrases[side])):
                    gains[place] = weights[place] * language.weights[match.stage]
                    notes[place] = f"{match.stage}: {' '.join(phrases[1 - side])}, chunk {chunk}"
        return cls(LocatedCaption(words, locate_words(text, words)), weights, gains, notes)

    @property
    def share(self) -> float:
        """Proportion of its weight that matches: precision or recall."""
        total = math.fsum(self.weights)
        return math.fsum(self.gains) / total if total else 0.0

    @property
    def losses(self) -> list[float]:
        return [weight - gain for weight, gain in zip(self.weights, self.gains, strict=True)]


def _explain_alignment(
    score: float, alignment: MeteorAlignment, candidate: _Side, reference: _Side, alpha: float
) -> tuple[Contributions, list[Span]]:
    """Return the contributions of words, and the words that only the best reference has."""
    precision, recall = candidate.share, reference.share
    mean = _mean(precision, recall, alpha)
    parts = {
        "precision": precision,
        "recall": recall,
        "mean": mean,
        "penalty": 1 - score / mean if mean else 0.0,
        "chunks": float(len(alignment.chunks)),
    }
    factor = score / mean if mean else 0.0
    values = split_score(
        score, _mean(1.0, recall, alpha) * factor, candidate.gains, candidate.losses
    )
    exact = candidate.caption.is_located and any(candidate.gains)
    losses = split_loss(score, _mean(precision, 1.0, alpha) * factor, reference.losses)
    missing = [gain == 0 for gain in reference.gains]
    return (
        Contributions(score, candidate.caption.spans(values, candidate.notes), (), parts, exact),
        reference.caption.missing_spans(losses, missing),
    )


def _mean(precision: float, recall: float, alpha: float) -> float:
    """Return METEOR's F."""
    if precision <= 0 or recall <= 0:
        return 0.0
    return 1 / ((1 - alpha) / precision + alpha / recall)


@dataclass(frozen=True)
class MeteorMatch:
    """Matching phrases of the candidate and the reference."""

    stage: Stage
    candidate: tuple[str, ...]
    reference: tuple[str, ...]
    candidate_start: int
    """Index of its first word in the candidate."""
    reference_start: int

    def precedes(self, other: MeteorMatch) -> bool:
        """Return True if the other match follows directly in both captions."""
        return (
            self.candidate_start + len(self.candidate) == other.candidate_start
            and self.reference_start + len(self.reference) == other.reference_start
        )

    def __str__(self) -> str:
        return f"{' '.join(self.candidate)} = {' '.join(self.reference)} ({self.stage})"


@dataclass(frozen=True)
class MeteorAlignment(Tabular):
    """Alignment of a candidate and a reference by METEOR."""

    candidate: tuple[str, ...]
    """Words of METEOR, which splits tokens further: `t-shirt` into two."""
    reference: tuple[str, ...]
    matches: tuple[MeteorMatch, ...]
    """Matches, in the order of the reference."""
    score: float

    @classmethod
    def find(
        cls,
        candidates: _native.MeteorCaptions,
        candidate: int,
        references: _native.MeteorCaptions,
        reference: int,
        language: MeteorLanguage = METEOR_LANGUAGES["en"],
    ) -> MeteorAlignment:
        """Align a candidate with a reference, both given by index."""
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
            float(_native.meteor_scores(statistics[None], language.parameters)[0]),
        )

    @property
    def chunks(self) -> tuple[tuple[MeteorMatch, ...], ...]:
        """Runs of matches that are adjacent in both captions; fewer chunks give a higher score."""
        breaks = [
            place
            for place, (match, following) in enumerate(pairwise(self.matches), 1)
            if not match.precedes(following)
        ]
        edges = [0, *breaks, len(self.matches)]
        return tuple(self.matches[start:end] for start, end in pairwise(edges) if end > start)

    @property
    def unmatched_candidate(self) -> tuple[str, ...]:
        """Words of the candidate without a match."""
        return _leave_out(
            self.candidate, [(m.candidate_start, len(m.candidate)) for m in self.matches]
        )

    @property
    def unmatched_reference(self) -> tuple[str, ...]:
        """Words of the reference without a match."""
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
