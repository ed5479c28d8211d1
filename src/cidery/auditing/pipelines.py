"""Pipelines that an audit can run: every known path from two files to one score.

An `AuditPipeline` is a choice for each step; its defaults are the standard pipeline. A `Group` runs
all pipelines that prepare the references in the same way, so that n-gram indexes are shared.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cidery import _native
from cidery.auditing.audit_data import ALL_IMAGES, PARTS, AuditData, ImageSelection, TokenIds
from cidery.auditing.splitters import PTB_PAIRS, SPLITTER_PAIRS, SPLITTERS, SplitterPair
from cidery.auditing.text_edits import NO_EDIT, TextEdit
from cidery.auditing.variants import VARIANTS, Variant
from cidery.frequencies import SHIPPED, DocumentFrequencies, sort_levels
from cidery.metrics.base import (
    GroupedCaptions,
    Metric,
    TokenizedCandidates,
    TokenizedReferences,
)
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT, TOKENS, TokenForm, TokenizedCaptions, Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

REPEATS = 5
"""Number of times each image is counted where every sample counts as an image."""
_END, _START = "\ue001", "\ue002"

_SPLIT_AT_ANY = {
    "each-blank": "split",
    "lower-each-blank": "lower-split",
    "characters-joined": "characters-without-blanks",
}


@dataclass(frozen=True)
class TokenEdit:
    """Tokens that are added to captions, and the maximum length of references."""

    start: bool = False
    end: bool = False
    candidates_only: bool = False
    limit: int | None = None
    """Maximum length of candidates."""
    reference_limit: int | None = None


@dataclass(frozen=True)
class ReferenceSelection:
    """References that are used, and how they are combined."""

    use: Literal[
        "all",
        "first",
        "last",
        "only",
        "without-first",
        "shortest",
        "longest",
        "distinct",
        "joined",
        "characters",
        "separate",
    ] = "all"
    """`characters`: each character of the first one; `separate`: each as an image of its own;
    `distinct`: without repetitions."""
    count: int = 0
    """Number of references for `first` and `last`, the place of the one for `only`."""


@dataclass(frozen=True)
class AuditPipeline:
    """Path from two files to a score: one choice for each step."""

    splitter: str = "ptb"
    """Name in `SPLITTER_PAIRS`."""
    keep_case: bool = False
    keep_punctuation: bool = False
    texts: TextEdit = NO_EDIT
    """Change of texts before tokenization."""
    tokens: TokenEdit = TokenEdit()
    references: ReferenceSelection = ReferenceSelection()
    pairing: str = "id"
    """Pairs of captions and images: by `id`, shifted `down` or `up`, `shifted:3` (by three rows),
    by `position`, `swapped`, …"""
    images: ImageSelection = ALL_IMAGES
    weights: str = "references"
    """Source of the document frequencies."""
    cider: str = "standard"
    bleu: str = "standard"
    rouge: str = "standard"
    meteor: str = "standard"
    batch: int = 0
    """Number of images that are scored at a time; 0: all."""
    rounding: int | None = None
    """Number of digits to which per-caption scores are rounded."""

    @property
    def splitter_pair(self) -> SplitterPair:
        """Splitters of both sides."""
        if self.keep_case or self.keep_punctuation:
            return PTB_PAIRS[self.splitter, self.keep_case, self.keep_punctuation]
        return SPLITTER_PAIRS[self.splitter]

    @property
    def is_swapped(self) -> bool:
        """True where candidates and references are exchanged."""
        return self.pairing in ("swapped", "swapped-all")

    @property
    def group(self) -> tuple[object, ...]:
        """Key of all pipelines that prepare the references in the same way."""
        swapped = self.pairing if self.is_swapped else ""
        own = (*PARTS, "empty", "separate", "repeated-head")
        part = self.images if self.images.rows in own else None
        texts = self.texts if self.texts.is_of_references or self.is_swapped else None
        return (self.splitter_pair, texts, self.tokens, self.references, swapped, part)

    def only_for(self, metric: str) -> AuditPipeline:
        """Return the pipeline without the choices that do not change this metric's score."""
        family = metric.partition("-")[0]
        kept: dict[str, Any] = {
            name: getattr(self, name) if family == name else "standard"
            for name in ("cider", "bleu", "rouge", "meteor")
        }
        kept["weights"] = self.weights if family == "cider" else "references"
        if family != "rouge":  # only ROUGE splits at every single blank
            kept["splitter"] = _SPLIT_AT_ANY.get(self.splitter, self.splitter)
        return replace(self, **kept)

    def find_variant(self, metric: str) -> Variant:
        """Return the definition of the metric."""
        return VARIANTS[metric][getattr(self, metric.partition("-")[0])]

    def list_similar(self) -> list[AuditPipeline]:
        """Return pipelines of other programs that do nearly the same."""
        similar = [self]
        if self.splitter == "ptb":
            similar.append(replace(self, splitter="ptb-coco"))
        else:
            others = SPLITTER_PAIRS[self.splitter].similar
            similar += [replace(self, splitter=other) for other in others]
        if self.images.rows == "all":
            separate = ImageSelection("separate")
            similar += [replace(pipeline, images=separate) for pipeline in similar]
        if self.images.is_part and self.weights == "references":
            similar += [replace(pipeline, weights="whole-file") for pipeline in similar]
        if self.texts.name == "append" and self.texts.text.startswith(" "):
            joined = replace(self.texts, text=self.texts.text.lstrip())
            similar += [replace(pipeline, texts=joined) for pipeline in similar]
        if self.texts.name == "first-words":
            limit = TokenEdit(limit=self.texts.count)
            similar.append(replace(self, texts=NO_EDIT, tokens=limit))
        return similar[1:]


class NotApplicableError(Exception):
    """Raised where a pipeline cannot score these captions."""


class Engine:
    """Runner of pipelines on the same data; threads share tokenized captions."""

    def __init__(self, data: AuditData) -> None:
        self.data = data
        self._tokenized: dict[tuple[SplitterPair, TextEdit], TokenIds] = {}
        self._rows: dict[tuple[SplitterPair, TextEdit], TokenIds] = {}
        self._locks: dict[tuple[SplitterPair, TextEdit], threading.Lock] = {}
        self._lock = threading.Lock()

    def tokenize(self, pair: SplitterPair, texts: TextEdit = NO_EDIT) -> TokenIds:
        """Return the tokens of all references, then of all rows, then of an empty caption."""
        key = (pair, texts)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._tokenized:
                self._tokenized[key] = self._tokenize(pair, texts)
            return self._tokenized[key]

    def _tokenize(self, pair: SplitterPair, texts: TextEdit) -> TokenIds:
        candidates, references = SPLITTERS[pair.candidates], SPLITTERS[pair.references]
        rows, known = [*self.data.rows, ""], self.data.references
        if texts.is_of_candidates:
            rows = texts.apply(rows)
        if texts.is_of_references:
            known = texts.apply(known)
        if pair.candidates == pair.references and pair.candidates != "ptb-coco":
            return TokenIds.split([*known, *rows], candidates)
        return TokenIds.concatenate(
            TokenIds.split(known, references), TokenIds.split(rows, candidates)
        )

    def tokenize_rows(self, pair: SplitterPair, texts: TextEdit) -> TokenIds:
        """Return the tokens of all rows after an edit, then of an empty caption."""
        key = (pair, texts)
        found = self._rows.get(key)
        if found is None:
            edited = texts.apply([*self.data.rows, ""])
            found = self._rows[key] = TokenIds.split(edited, SPLITTERS[pair.candidates])
        return found

    def open(self, pipeline: AuditPipeline) -> Group:
        """Return the runner of this pipeline and of all others of its group."""
        return Group(self, pipeline)

    def run(self, pipeline: AuditPipeline, metric: str) -> float:
        """Return a metric's score by one pipeline."""
        return self.open(pipeline).score(pipeline, metric)


class _CountedReferences(TokenizedReferences):
    """References with document frequencies of another number of images than there are."""

    counted: int

    @classmethod
    def of(cls, references: TokenizedReferences, counted: int) -> _CountedReferences:
        made = cls(references.groups, references.tokenizer, references.frequencies)
        object.__setattr__(made, "counted", counted)
        return made

    @property
    def image_count(self) -> int:
        """Number of images that document frequencies are counted on."""
        return self.counted


_TOKENIZER = Tokenizer("ptb")


class _SplitCaptions(TokenizedCaptions):
    """Captions that are tokenized already."""

    def form(self, form: TokenForm, work: Workspace | None = None) -> _native.Captions:
        """Return the captions in that form."""
        return self.captions if form in (TOKENS, SPLIT) else super().form(form, work)


def _tokenize(words: TokenIds) -> TokenizedCaptions:
    return _SplitCaptions(words.native())


def _group(words: TokenIds, offsets: Places) -> TokenizedReferences:
    return TokenizedReferences(
        GroupedCaptions(_tokenize(words), offsets.astype(np.uint64)), _TOKENIZER
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Tokenized candidates with their images."""

    words: TokenIds
    images: Places
    """Index of each caption's image among the group's images."""

    @cached_property
    def tokenized(self) -> TokenizedCandidates:
        return TokenizedCandidates(_tokenize(self.words), self.images.astype(np.uint32))


class Group:
    """References prepared once for all pipelines of a group; used by one thread."""

    def __init__(self, engine: Engine, pipeline: AuditPipeline) -> None:
        self.engine = engine
        self.data = engine.data
        self.key = pipeline.group
        self._pipeline = pipeline
        self._work = Workspace(1)
        self._candidates: dict[object, _Candidates] = {}
        self._rows: dict[object, Floats] = {}
        self._scores: dict[tuple[AuditPipeline, str], float] = {}
        self._grouped: dict[str, TokenizedReferences] = {}

    def score(self, pipeline: AuditPipeline, metric: str) -> float:
        """Return a metric's score by a pipeline of this group."""
        relevant = pipeline.only_for(metric)
        found = self._scores.get((relevant, metric))
        if found is None:
            found = self._scores[relevant, metric] = self._score(relevant, metric)
        return found

    def _score(self, pipeline: AuditPipeline, metric: str) -> float:
        variant = pipeline.find_variant(metric)
        if pipeline.batch:
            return self._score_batches(pipeline, variant)
        rows = self._measure(pipeline, variant)
        return _finish(variant, rows, pipeline.rounding)

    def score_part(self, standard: AuditPipeline, metric: str, pipeline: AuditPipeline) -> float:
        """Return the score of a part of the images, with the weights of all of them."""
        variant = standard.find_variant(metric)
        rows = self._measure(standard.only_for(metric), variant)
        return variant.reduce(rows[self.data.find_part(pipeline.images)])

    # -- selection -------------------------------------------------------------------------

    @cached_property
    def _images(self) -> Places:
        """Images whose references are used, in the references' order."""
        data, images = self.data, self._pipeline.images
        if images.rows == "empty":
            return np.arange(len(data.images))
        if images.rows == "separate":
            return data.row_images
        if images.is_part:
            return np.unique(data.row_images[self._rows_of_images(images)])
        if images.rows == "repeated-head":
            return np.concatenate([data.described, self._repeated(images)])
        return data.described

    def _repeated(self, images: ImageSelection) -> Places:
        """Return the images of the first rows, which are scored twice."""
        return self.data.row_images[self.data.first_rows[: images.count]]

    def _rows_of_images(self, images: ImageSelection) -> Places:
        """Return the indexes of the rows that are scored."""
        data = self.data
        if images.rows in ("all", "separate"):
            return np.arange(len(data.rows))
        if images.rows == "last":
            return data.last_rows
        first = data.first_rows
        if images.is_part:
            return first[data.find_part(images)]
        if images.rows == "repeated-head":
            return np.concatenate([first, first[: images.count]])
        return first

    @cached_property
    def _words(self) -> TokenIds:
        texts = self._pipeline.texts
        is_own = texts.is_of_references or self._pipeline.is_swapped
        words = self.engine.tokenize(self._pipeline.splitter_pair, texts if is_own else NO_EDIT)
        return words if self._pipeline.tokens.candidates_only else self._add_tokens(words)

    def _add_tokens_to_candidates(self, words: TokenIds) -> TokenIds:
        return words if self._pipeline.tokens.candidates_only else self._add_tokens(words)

    def _add_tokens(self, words: TokenIds) -> TokenIds:
        edit = self._pipeline.tokens
        if not (edit.start or edit.end):
            return words
        return words.add_ends(_START if edit.start else None, _END if edit.end else None)

    @property
    def _first_row(self) -> int:
        """Index of the first row among all captions."""
        return len(self.data.references)

    @cached_property
    def _references(self) -> tuple[TokenIds, Places]:
        """Tokens of the references, and the offsets of each image's references."""
        pipeline, data = self._pipeline, self.data
        if pipeline.is_swapped:
            rows = self._rows_of_images(pipeline.images)
            first = np.full(len(data.images), -1, np.int64)
            first[data.row_images[rows][::-1]] = rows[::-1]
            captions = first[self._images] + self._first_row
            return self._words.take(captions), np.arange(len(captions) + 1)
        words, offsets = self._take_references(self._images)
        if pipeline.references.use == "joined":
            return words.join(offsets), np.arange(len(offsets))
        if pipeline.references.use == "characters":
            return self._spell_first(self._images)
        limit = pipeline.tokens.reference_limit
        return (words if limit is None else words.limit(limit)), offsets

    def _take_references(self, images: Places) -> tuple[TokenIds, Places]:
        """Return the chosen references of some images."""
        data = self.data
        starts, counts = data.offsets[:-1][images], data.reference_counts[images]
        selection = self._pipeline.references
        if selection.use == "first":
            counts = np.minimum(counts, selection.count)
        elif selection.use == "last":
            kept = np.minimum(counts, max(1, selection.count))
            starts, counts = starts + counts - kept, kept
        elif selection.use == "only":
            if int(counts.min()) < selection.count:
                raise NotApplicableError
            starts, counts = starts + selection.count - 1, np.ones_like(counts)
        elif selection.use == "without-first":
            if int(counts.min()) < 2:
                raise NotApplicableError
            starts, counts = starts + 1, counts - 1
        elif selection.use in ("shortest", "longest", "distinct"):
            return self._choose_references(starts, counts)
        offsets = np.zeros(len(images) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        captions = np.repeat(starts - offsets[:-1], counts) + np.arange(int(offsets[-1]))
        return self._words.take(captions), offsets

    def _choose_references(self, starts: Places, counts: Places) -> tuple[TokenIds, Places]:
        """Return the shortest, longest or distinct references of images."""
        texts, use = self.data.references, self._pipeline.references.use
        chosen: list[int] = []
        sizes: list[int] = []
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            own = range(start, start + count)
            if use == "distinct":
                kept = list({texts[i].strip().lower(): i for i in reversed(own)}.values())[::-1]
            else:
                choose = min if use == "shortest" else max
                kept = [choose(own, key=lambda i: len(texts[i].split()))]
            chosen += kept
            sizes.append(len(kept))
        offsets = np.cumsum([0, *sizes])
        return self._words.take(np.asarray(chosen, np.int64)), offsets

    def _spell_first(self, images: Places) -> tuple[TokenIds, Places]:
        """Return each character of the first reference as a reference of its own."""
        data = self.data
        texts = [data.references[int(data.offsets[image])] for image in images]
        signs = sorted({sign for text in texts for sign in text})
        words = TokenIds.split(signs, SPLITTERS[self._pipeline.splitter_pair.references])
        place = {sign: i for i, sign in enumerate(signs)}
        captions = np.asarray([place[sign] for text in texts for sign in text], np.int64)
        offsets = np.cumsum([0, *(max(1, len(text)) for text in texts)])
        if len(captions) != offsets[-1]:
            raise NotApplicableError
        return words.take(captions), offsets

    @cached_property
    def _tokenized(self) -> TokenizedReferences:
        words, offsets = self._references
        return _group(words, offsets)

    def _find_candidates(self, pipeline: AuditPipeline) -> _Candidates:
        key = (pipeline.pairing, pipeline.images, pipeline.texts)
        if key not in self._candidates:
            self._candidates[key] = self._tokenize_candidates(pipeline)
        return self._candidates[key]

    def _tokenize_candidates(self, pipeline: AuditPipeline) -> _Candidates:
        data = self.data
        rows = self._rows_of_images(pipeline.images)
        places = self._find_places(rows)
        words, first_row = self._words, self._first_row
        if pipeline.texts.is_of_candidates and not (
            pipeline.texts.is_of_references or pipeline.is_swapped
        ):
            # The references stay as they are prepared.
            words = self.engine.tokenize_rows(pipeline.splitter_pair, pipeline.texts)
            words, first_row = self._add_tokens_to_candidates(words), 0
        if pipeline.is_swapped:
            counts = data.reference_counts[self._images]
            if pipeline.pairing == "swapped":
                counts = np.minimum(counts, 1)
            starts = data.offsets[:-1][self._images]
            ends = np.cumsum(counts)
            captions = np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]))
            places = np.repeat(np.arange(len(self._images)), counts)
        else:
            rows, places = pair_rows(pipeline.pairing, rows, places, self._describe_ids())
            captions = rows + first_row
        if pipeline.images.rows == "empty":
            missing = np.setdiff1d(np.arange(len(self._images)), places)
            empty = first_row + len(data.rows)
            captions = np.concatenate([captions, np.full(len(missing), empty)])
            places = np.concatenate([places, missing])
        chosen = words.take(captions)
        if pipeline.tokens.limit is not None:
            chosen = chosen.limit(pipeline.tokens.limit)
        if pipeline.tokens.candidates_only:
            chosen = self._add_tokens(chosen)
        return _Candidates(chosen, places)

    def _find_places(self, rows: Places) -> Places:
        """Return the indexes of the rows' images among the selected images."""
        images = self._pipeline.images
        if images.rows == "separate":
            return np.arange(len(rows))  # every row is an image of its own
        if images.rows == "repeated-head":
            own = np.searchsorted(self.data.described, self.data.row_images[rows])
            first = len(self.data.first_rows)
            again = len(self.data.described) + np.arange(len(rows) - first)
            return np.concatenate([own[:first], again])
        return np.searchsorted(self._images, self.data.row_images[rows])

    def _describe_ids(self) -> list[object]:
        return [self.data.images[int(image)] for image in self._images]

    # -- measuring --------------------------------------------------------------------------------

    def _measure(self, pipeline: AuditPipeline, variant: Variant) -> Floats:
        """Return the rows of a metric, one per scored caption."""
        metric = variant.metric
        weights = pipeline.weights if metric.needs.frequencies else "references"
        side = self._find_candidates(pipeline)
        key: tuple[object, ...] = (
            metric,
            weights,
            pipeline.pairing,
            pipeline.images,
            pipeline.texts,
            variant.references,
        )
        if variant.references != "together":
            key = (*key, variant.finish)
        if key not in self._rows:
            self._rows[key] = self._measure_new(side, metric, weights, variant)
        return self._rows[key]

    def _measure_new(
        self, side: _Candidates, metric: Metric, weights: str, variant: Variant
    ) -> Floats:
        if _stems(metric) and weights not in ("references", *SHIPPED):
            raise NotApplicableError
        if variant.references != "together" or self._pipeline.references.use == "separate":
            rows, owners = self._measure_separately(side, metric)
            if self._pipeline.references.use == "separate":
                return rows
            scores = variant.each(rows)
            best = np.zeros(len(side.images))
            if variant.references == "best":
                np.maximum.at(best, owners, scores)
            else:
                np.add.at(best, owners, scores)
                best /= np.bincount(owners, minlength=len(best))
            return best[:, None]
        if weights == "separate":
            rows, owners = self._measure_separately(side, metric)
            summed = np.zeros((len(side.images), rows.shape[1]))
            np.add.at(summed, owners, rows)
            return summed / np.bincount(owners, minlength=len(summed))[:, None]
        references, places = self._weigh(weights, side)
        candidates = side.tokenized
        if places is not None:
            candidates = TokenizedCandidates(candidates.captions, places.astype(np.uint32))
        return metric.prepare(references, self._work).measure(candidates, self._work)

    def _measure_separately(self, side: _Candidates, metric: Metric) -> tuple[Floats, Places]:
        """Measure against each reference separately; return rows and the candidate of each."""
        words, offsets = self._references
        counts = np.diff(offsets)[side.images]
        owners = np.repeat(np.arange(len(side.images)), counts)
        starts = offsets[:-1][side.images]
        ends = np.cumsum(counts)
        places = np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]))
        if "separate" not in self._grouped:
            self._grouped["separate"] = _group(words, np.arange(int(offsets[-1]) + 1))
        repeated = _Candidates(side.words.take(owners), places)
        prepared = metric.prepare(self._grouped["separate"], self._work)
        return prepared.measure(repeated.tokenized, self._work), owners

    def _weigh(self, weights: str, side: _Candidates) -> tuple[TokenizedReferences, Places | None]:
        """Return weighted references, and the images' indexes among them where these differ."""
        if weights == "references":
            return self._tokenized, None
        if weights in SHIPPED:
            return self._tokenized.weighted_by(weights), None
        if weights in self.data.frequencies:
            return self._tokenized.weighted_by(self.data.frequencies[weights]), None
        if weights.startswith("count:"):
            return _CountedReferences.of(self._tokenized, int(weights.partition(":")[2])), None
        if weights == "results":
            return self._tokenized.weighted_by(_count(side.words)), None
        words, offsets = self._references
        if weights == "repeated":
            if weights not in self._grouped:
                count = len(offsets) - 1
                captions = np.tile(np.arange(int(offsets[-1])), REPEATS)
                sizes = np.tile(np.diff(offsets), REPEATS)
                repeated = np.concatenate([[0], np.cumsum(sizes)])
                assert len(repeated) == REPEATS * count + 1
                self._grouped[weights] = _group(words.take(captions), repeated)
            return self._grouped[weights], None
        if weights == "whole-file":
            if self._pipeline.is_swapped or self._pipeline.references.use in (
                "joined",
                "characters",
            ):
                raise NotApplicableError
            if weights not in self._grouped:
                every = self._take_references(np.arange(len(self.data.images)))
                self._grouped[weights] = _group(*every)
            return self._grouped[weights], self._images[side.images]
        raise NotApplicableError

    # -- batches ----------------------------------------------------------------------------------

    def _score_batches(self, pipeline: AuditPipeline, variant: Variant) -> float:
        """Return the mean of the scores of batches, in the order of the file."""
        side, size = self._find_candidates(pipeline), pipeline.batch
        metric = variant.metric
        own = metric.needs.frequencies and pipeline.weights == "references"
        if metric.needs.frequencies and not own and pipeline.weights not in SHIPPED:
            raise NotApplicableError
        if variant.references != "together" or self._pipeline.references.use == "separate":
            raise NotApplicableError
        rows = self._measure_in_batches(side, metric, size) if own else None
        if rows is None:
            rows = self._measure(pipeline, variant)
        starts = np.arange(0, len(rows), size)
        counts = np.diff([*starts, len(rows)]).astype(np.float64)
        if variant.is_mean or pipeline.rounding is not None:
            scores = variant.each(rows)
            if pipeline.rounding is not None:
                scores = np.round(scores, pipeline.rounding)
            return float((np.add.reduceat(scores, starts) / counts).mean())
        return float(variant.pool_sums(np.add.reduceat(rows, starts, axis=0), counts).mean())

    def _measure_in_batches(self, side: _Candidates, metric: Metric, size: int) -> Floats:
        """Return rows with document frequencies of each batch.

        Words of different batches get different ids, so that one index counts every batch
        separately; the last batch, if smaller, has its own index.
        """
        key = (metric, "batches", size, id(side))
        if key in self._rows:
            return self._rows[key]
        count = len(side.images)
        whole = count - count % size
        parts = [
            self._measure_equal_batches(side, metric, np.arange(start, end), size_here)
            for start, end, size_here in ((0, whole, size), (whole, count, count - whole))
            if end > start
        ]
        self._rows[key] = rows = np.concatenate(parts)
        return rows

    def _measure_equal_batches(
        self, side: _Candidates, metric: Metric, rows: Places, size: int
    ) -> Floats:
        if _stems(metric) or metric.name == "cider-r":
            raise NotApplicableError  # these read the letters of words
        if size == 1:
            return np.zeros((len(rows), 1))  # the only image has every n-gram: all weights are 0
        words, offsets = self._references
        batches = np.arange(len(rows)) // size
        images = side.images[rows]
        if len(np.unique(batches * (len(offsets) - 1) + images)) != len(rows):
            raise NotApplicableError  # an image comes twice in a batch
        counts = np.diff(offsets)[images]
        ends = np.cumsum(counts)
        captions = np.repeat(offsets[:-1][images] - (ends - counts), counts) + np.arange(
            int(ends[-1])
        )
        known, mine = words.take(captions), side.words.take(rows)
        if known.native_vocabulary is not mine.native_vocabulary:
            both = TokenIds.concatenate(known, mine)
            count = len(known.offsets) - 1
            known, mine = both.slice(0, count), both.slice(count, len(both.offsets) - 1)
            words = known
        batch_of_reference = np.repeat(np.repeat(batches, counts), known.lengths)
        batch_of_candidate = np.repeat(batches, mine.lengths)
        width = len(words.vocabulary)
        keys = np.concatenate(
            [batch_of_reference * width + known.words, batch_of_candidate * width + mine.words]
        )
        numbers, vocabulary = _renumber(keys, (int(batches[-1]) + 1) * width)
        split = len(batch_of_reference)
        references = TokenIds([], numbers[:split], known.offsets, vocabulary)
        candidates = TokenIds([], numbers[split:], mine.offsets, vocabulary)
        grouped = _group(references, np.concatenate([[0], ends]))
        counted = _CountedReferences.of(grouped, size)
        work = Workspace(1)
        ready = _Candidates(candidates, np.arange(len(rows)))
        return metric.prepare(counted, work).measure(ready.tokenized, work)


def _stems(metric: Metric) -> bool:
    needed = metric.needs.frequencies
    return needed is not None and needed.stemmer is not None


_SMALL_TABLE = 1 << 23


def _renumber(keys: Places, most: int) -> tuple[NDArray[np.uint32], _native.Vocabulary]:
    """Return consecutive ids for keys below `most`, and a vocabulary of these ids."""
    if most > _SMALL_TABLE:
        found, renamed = np.unique(keys, return_inverse=True)
        return renamed.astype(np.uint32), _number_words(_round_up(len(found)))
    table = np.zeros(most, np.bool_)
    table[keys] = True
    numbers = np.cumsum(table, dtype=np.uint32)
    return numbers[keys] - np.uint32(1), _number_words(_round_up(int(numbers[-1])))


def _round_up(count: int) -> int:
    step = 1 << 15
    return -(-count // step) * step


@lru_cache(maxsize=8)
def _number_words(count: int) -> _native.Vocabulary:
    return _native.Vocabulary(list(map(str, range(count))))


def _finish(variant: Variant, rows: Floats, rounding: int | None) -> float:
    if variant.references != "together":
        scores = rows[:, 0]
    elif rounding is None:
        return variant.reduce(rows)
    else:
        scores = variant.each(rows)
    return float((scores if rounding is None else np.round(scores, rounding)).mean())


def pair_rows(
    pairing: str, rows: Places, places: Places, ids: list[object]
) -> tuple[Places, Places]:
    """Return pairs of rows and images: as given, shifted, or by position."""
    if pairing == "id":
        return rows, places
    if pairing.startswith("shifted:"):
        return np.roll(rows, int(pairing.partition(":")[2])), places
    if pairing.startswith("random:"):
        return np.random.default_rng(int(pairing.partition(":")[2])).permutation(rows), places
    if pairing == "reversed":
        return rows[::-1], places
    if pairing in ("down", "up"):
        return np.roll(rows, 1 if pairing == "down" else -1), places
    if pairing == "down-cut":
        return rows[:-1], places[1:]
    if pairing == "up-cut":
        return rows[1:], places[:-1]
    if len(rows) != len(ids):
        raise NotApplicableError
    if pairing == "position":
        return rows, np.arange(len(ids))
    if pairing == "sorted-numbers":
        try:
            numbers = sorted(range(len(ids)), key=lambda place: int(str(ids[place])))
        except ValueError:
            raise NotApplicableError from None
        return rows, np.asarray(numbers)
    if pairing == "sorted-text":
        return rows, np.asarray(sorted(range(len(ids)), key=lambda place: str(ids[place])))
    # The captions follow the references' order, of which one was lost or added at the start.
    order = np.argsort(places, kind="stable")
    turned = np.roll(order, 1 if pairing == "references-down" else -1)
    return rows[turned], places[order]


def _count(words: TokenIds) -> DocumentFrequencies:
    """Return the document frequencies of captions, each as an image of its own."""
    captions = words.native()
    index = _native.NgramIndex(captions, np.arange(len(words.offsets), dtype=np.uint64), 4, 1)
    found, levels = sort_levels(words.vocabulary, [index.level(n) for n in range(1, 5)], 1)
    return DocumentFrequencies(
        found,
        levels,
        len(words.offsets) - 1,
        tokenizer="unknown",
        stemmer=None,
        min_count=1,
        name="results",
        source="",
    )
