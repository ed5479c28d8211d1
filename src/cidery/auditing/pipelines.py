"""Pipelines: every way from two files to one number that an audit knows, and how to run them.

A `Pipeline` is a choice in each of several respects; without changes it is the right one. A
`Group` runs all pipelines that prepare the references alike, so that n-gram indexes are shared.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery import _native
from cidery.auditing.material import Material, Words
from cidery.auditing.texts import SIDES, WAYS
from cidery.auditing.variants import VARIANTS, Variant
from cidery.frequencies import SHIPPED, DocumentFrequencies
from cidery.frequencies.levels import sort_levels
from cidery.metrics.base import (
    GroupedCaptions,
    Metric,
    TokenizedCandidates,
    TokenizedReferences,
)
from cidery.runtime.workspace import Workspace
from cidery.statistics import Floats
from cidery.text.tokenizers import TokenizedCaptions, Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

REPEATS = 5
"""How often an image is counted where every sample counts as an image."""
_END, _START = "\ue001", "\ue002"


_SPLIT_AT_ANY = {
    "each-blank": "split",
    "lower-each-blank": "lower-split",
    "characters-joined": "characters-without-blanks",
}


@dataclass(frozen=True)
class Pipeline:
    """From two files to a number: what is done in each respect."""

    text: str = "ptb"
    """What cuts captions into words: a name of `texts.SIDES`."""
    case: bool = False
    """Whether capitals are kept."""
    punctuation: bool = False
    """Whether punctuation is kept."""
    tokens: str = ""
    """What is added to the words or cut off: `end`, `end-candidates`, `start-end`, `limit-16`."""
    references: str = "all"
    """Which references: `first-3`, `last-1`, `joined`, `letters`, `apart`."""
    pairing: str = "id"
    """What is compared with what: `down`, `up`, `position`, …, `swapped`."""
    images: str = "first"
    """Which rows and images: `first` of each image, `all` rows, `rows` as
    images of their own, `last`, `empty`, `head-1000`."""
    weights: str = "references"
    """What document frequencies are counted on."""
    cider: str = "right"
    bleu: str = "right"
    rouge: str = "right"
    meteor: str = "right"
    batch: int = 0
    """How many images are scored at a time; 0: all."""
    rounding: int | None = None
    """To how many digits captions' scores are rounded."""

    @property
    def way(self) -> str:
        """The name of the way to cut."""
        return self.text + "+case" * self.case + "+punctuation" * self.punctuation

    @property
    def group(self) -> tuple[str, ...]:
        """Pipelines with the same group prepare the references alike."""
        swapped = self.pairing if self.pairing.startswith("swapped") else ""
        part = self.images if self.images.startswith(("head", "empty", "rows")) else ""
        return (self.way, self.tokens, self.references, swapped, part)

    def only_for(self, metric: str) -> Pipeline:
        """Return the pipeline without what does not change this metric's score."""
        family = metric.partition("-")[0]
        kept: dict[str, Any] = {
            "cider": self.cider if family == "cider" else "right",
            "bleu": self.bleu if family == "bleu" else "right",
            "rouge": self.rouge if family == "rouge" else "right",
            "meteor": self.meteor if family == "meteor" else "right",
            "weights": self.weights if family == "cider" else "references",
        }
        if family != "rouge":  # only ROUGE splits at every single blank
            kept["text"] = _SPLIT_AT_ANY.get(self.text, self.text)
        return replace(self, **kept)

    def find_variant(self, metric: str) -> Variant:
        """Return how the metric is computed."""
        return VARIANTS[metric][getattr(self, metric.partition("-")[0])]

    def list_others(self) -> list[Pipeline]:
        """Return the same as other programs do it: words cut a little differently, and so on."""
        others = [self]
        if self.text == "ptb":
            others.append(replace(self, text="ptb-coco"))
        else:
            others += [replace(self, text=other) for other in SIDES[self.text].others]
        if self.images == "all":
            others += [replace(pipeline, images="rows") for pipeline in others]
        return others[1:]


class NotPossibleError(Exception):
    """These captions cannot go through this pipeline."""


class Engine:
    """Runs pipelines on one material; threads share what is cut into words."""

    def __init__(self, material: Material) -> None:
        self.material = material
        self._words: dict[str, Words] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def words(self, way: str) -> Words:
        """Return all references, then all rows, then an empty caption, as words."""
        with self._lock:
            lock = self._locks.setdefault(way, threading.Lock())
        with lock:
            if way not in self._words:
                self._words[way] = self._cut(way)
            return self._words[way]

    def _cut(self, way: str) -> Words:
        chosen, material = SIDES[way], self.material
        rows = [*material.rows, ""]
        if chosen.candidates == chosen.references and chosen.candidates != "ptb-coco":
            return Words.cut([*material.references, *rows], WAYS[chosen.candidates])
        references = Words.cut(material.references, WAYS[chosen.references])
        return Words.join_lists(references, Words.cut(rows, WAYS[chosen.candidates]))

    def open(self, pipeline: Pipeline) -> Group:
        """Return what runs this pipeline and all others of its group."""
        return Group(self, pipeline)

    def run(self, pipeline: Pipeline, metric: str) -> float:
        """Return a metric's score by one pipeline."""
        return self.open(pipeline).score(pipeline, metric)


class _CountedReferences(TokenizedReferences):
    """References whose weights are counted on another number of images than there are."""

    counted: int

    @classmethod
    def of(cls, references: TokenizedReferences, counted: int) -> _CountedReferences:
        made = cls(references.groups, references.tokenizer, references.frequencies)
        object.__setattr__(made, "counted", counted)
        return made

    @property
    def image_count(self) -> int:
        """How many images weights are counted on."""
        return self.counted


_TOKENIZER = Tokenizer("ptb")


class _CutCaptions(TokenizedCaptions):
    """Captions that were cut at every blank already."""

    def form(self, form: str, work: Workspace | None = None) -> _native.Captions:
        """Return the captions in that form."""
        return self.captions if form in ("words", "split") else super().form(form, work)


def _tokenize(words: Words) -> TokenizedCaptions:
    return _CutCaptions(words.native())


def _group(words: Words, offsets: Places) -> TokenizedReferences:
    return TokenizedReferences(
        GroupedCaptions(_tokenize(words), offsets.astype(np.uint64)), _TOKENIZER
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """Candidates ready to be measured."""

    words: Words
    images: Places
    """The place of each caption's image among the group's images."""

    @cached_property
    def tokenized(self) -> TokenizedCandidates:
        return TokenizedCandidates(_tokenize(self.words), self.images.astype(np.uint32))


class Group:
    """References prepared once for all pipelines of a group; used by one thread."""

    def __init__(self, engine: Engine, pipeline: Pipeline) -> None:
        self.engine = engine
        self.material = engine.material
        self.key = pipeline.group
        self._pipeline = pipeline
        self._work = Workspace(1)
        self._sides: dict[tuple[str, str], _Side] = {}
        self._rows: dict[object, Floats] = {}
        self._scores: dict[tuple[Pipeline, str], float] = {}
        self._kept: dict[str, TokenizedReferences] = {}

    def score(self, pipeline: Pipeline, metric: str) -> float:
        """Return a metric's score by a pipeline of this group."""
        relevant = pipeline.only_for(metric)
        found = self._scores.get((relevant, metric))
        if found is None:
            found = self._scores[relevant, metric] = self._score(relevant, metric)
        return found

    def _score(self, pipeline: Pipeline, metric: str) -> float:
        variant = pipeline.find_variant(metric)
        if pipeline.batch:
            return self._score_batches(pipeline, variant)
        rows = self._measure(pipeline, variant)
        return _finish(variant, rows, pipeline.rounding)

    def measure_each(self, pipeline: Pipeline, metric: str) -> Floats:
        """Return each scored caption's score."""
        variant = pipeline.find_variant(metric)
        return variant.each(self._measure(pipeline, variant))

    def measure_by_row(self, pipeline: Pipeline, metric: str) -> Floats | None:
        """Return the score of each row's caption with the image that the pairing gives it."""
        rows = self._rows_of_images(pipeline.images)
        places = self._find_places(rows)
        try:
            paired, _ = _pair(pipeline.pairing, rows, places, self._describe_ids())
        except NotPossibleError:
            return None
        by_row = np.empty(len(self.material.rows))
        by_row[paired] = self.measure_each(pipeline, metric)
        return by_row[rows]

    # -- what is compared -------------------------------------------------------------------------

    @cached_property
    def _images(self) -> Places:
        """The images whose references count, in the references' order."""
        material, images = self.material, self._pipeline.images
        if images == "empty":
            return np.arange(len(material.images))
        if images == "rows":
            return material.row_images
        if images.startswith("head"):
            rows = self._rows_of_images(images)
            return np.unique(material.row_images[rows])
        return material.described

    def _rows_of_images(self, images: str) -> Places:
        """Return which rows are scored, by their number."""
        material = self.material
        if images in ("all", "rows"):
            return np.arange(len(material.rows))
        if images == "last":
            return material.last_rows
        if images.startswith("head"):
            return material.first_rows[: int(images.partition("-")[2])]
        return material.first_rows

    @cached_property
    def _words(self) -> Words:
        words = self.engine.words(self._pipeline.way)
        tokens = self._pipeline.tokens
        if tokens == "end":
            return words.add_ends(None, _END)
        if tokens == "start-end":
            return words.add_ends(_START, _END)
        return words

    @property
    def _first_row(self) -> int:
        """Where the rows begin among all captions."""
        return len(self.material.references)

    @cached_property
    def _references(self) -> tuple[Words, Places]:
        """The references' words, and where each image's begin."""
        pipeline, material = self._pipeline, self.material
        if pipeline.pairing.startswith("swapped"):
            rows = self._rows_of_images(pipeline.images)
            first = np.full(len(material.images), -1, np.int64)
            first[material.row_images[rows][::-1]] = rows[::-1]
            captions = first[self._images] + self._first_row
            return self._words.take(captions), np.arange(len(captions) + 1)
        words, offsets = self._take_references(self._images)
        if pipeline.references == "joined":
            return words.join(offsets), np.arange(len(offsets))
        if pipeline.references == "letters":
            return self._spell_first(self._images)
        limit = pipeline.tokens.partition("limit-")[2]
        return (words.limit(int(limit)) if limit else words), offsets

    def _take_references(self, images: Places) -> tuple[Words, Places]:
        """Return the chosen references of some images."""
        material = self.material
        starts, counts = material.offsets[:-1][images], material.reference_counts[images]
        which, _, number = self._pipeline.references.partition("-")
        if which == "first":
            counts = np.minimum(counts, int(number))
        elif which == "last":
            starts, counts = starts + counts - 1, np.ones_like(counts)
        offsets = np.zeros(len(images) + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        captions = np.repeat(starts - offsets[:-1], counts) + np.arange(int(offsets[-1]))
        return self._words.take(captions), offsets

    def _spell_first(self, images: Places) -> tuple[Words, Places]:
        """Return every character of the first reference as a reference of its own."""
        material = self.material
        texts = [material.references[int(material.offsets[image])] for image in images]
        signs = sorted({sign for text in texts for sign in text})
        words = Words.cut(signs, WAYS[SIDES[self._pipeline.way].references])
        place = {sign: i for i, sign in enumerate(signs)}
        captions = np.asarray([place[sign] for text in texts for sign in text], np.int64)
        offsets = np.cumsum([0, *(max(1, len(text)) for text in texts)])
        if len(captions) != offsets[-1]:
            raise NotPossibleError
        return words.take(captions), offsets

    @cached_property
    def _tokenized(self) -> TokenizedReferences:
        words, offsets = self._references
        return _group(words, offsets)

    def _side(self, pipeline: Pipeline) -> _Side:
        key = (pipeline.pairing, pipeline.images)
        if key not in self._sides:
            self._sides[key] = self._make_side(pipeline)
        return self._sides[key]

    def _make_side(self, pipeline: Pipeline) -> _Side:
        material = self.material
        rows = self._rows_of_images(pipeline.images)
        places = self._find_places(rows)
        words = self._words
        if pipeline.pairing.startswith("swapped"):
            counts = material.reference_counts[self._images]
            if pipeline.pairing == "swapped":
                counts = np.minimum(counts, 1)
            starts = material.offsets[:-1][self._images]
            ends = np.cumsum(counts)
            captions = np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]))
            places = np.repeat(np.arange(len(self._images)), counts)
        else:
            rows, places = _pair(pipeline.pairing, rows, places, self._describe_ids())
            captions = rows + self._first_row
        if pipeline.images == "empty":
            missing = np.setdiff1d(np.arange(len(self._images)), places)
            empty = self._first_row + len(material.rows)
            captions = np.concatenate([captions, np.full(len(missing), empty)])
            places = np.concatenate([places, missing])
        chosen = words.take(captions)
        if pipeline.tokens == "end-candidates":
            chosen = chosen.add_ends(None, _END)
        return _Side(chosen, places)

    def _find_places(self, rows: Places) -> Places:
        """Return where the images of rows are among the images."""
        if self._pipeline.images == "rows":
            return np.arange(len(rows))  # every row is an image of its own
        return np.searchsorted(self._images, self.material.row_images[rows])

    def _describe_ids(self) -> list[object]:
        return [self.material.images[int(image)] for image in self._images]

    # -- measuring --------------------------------------------------------------------------------

    def _measure(self, pipeline: Pipeline, variant: Variant) -> Floats:
        """Return the rows of a metric, one per scored caption."""
        metric = variant.metric
        weights = pipeline.weights if metric.uses_frequencies else "references"
        side = self._side(pipeline)
        key: tuple[object, ...] = (
            metric.row_key,
            weights,
            pipeline.pairing,
            pipeline.images,
            variant.references,
        )
        if variant.references != "together":
            key = (*key, variant.finish)
        if key not in self._rows:
            self._rows[key] = self._measure_new(side, metric, weights, variant)
        return self._rows[key]

    def _measure_new(self, side: _Side, metric: Metric, weights: str, variant: Variant) -> Floats:
        if metric.stems and weights not in ("references", *SHIPPED):
            raise NotPossibleError
        if variant.references != "together" or self._pipeline.references == "apart":
            rows, owners = self._measure_apart(side, metric)
            if self._pipeline.references == "apart":
                return rows
            scores = variant.each(rows)
            best = np.zeros(len(side.images))
            if variant.references == "best":
                np.maximum.at(best, owners, scores)
            else:
                np.add.at(best, owners, scores)
                best /= np.bincount(owners, minlength=len(best))
            return best[:, None]
        if weights == "apart":
            rows, owners = self._measure_apart(side, metric)
            summed = np.zeros((len(side.images), rows.shape[1]))
            np.add.at(summed, owners, rows)
            return summed / np.bincount(owners, minlength=len(summed))[:, None]
        references, places = self._weigh(weights, side)
        candidates = side.tokenized
        if places is not None:
            candidates = TokenizedCandidates(candidates.captions, places.astype(np.uint32))
        return metric.prepare(references, self._work).measure(candidates, self._work)

    def _measure_apart(self, side: _Side, metric: Metric) -> tuple[Floats, Places]:
        """Measure against each reference by itself; return rows and which candidate each has."""
        words, offsets = self._references
        counts = np.diff(offsets)[side.images]
        owners = np.repeat(np.arange(len(side.images)), counts)
        starts = offsets[:-1][side.images]
        ends = np.cumsum(counts)
        places = np.repeat(starts - (ends - counts), counts) + np.arange(int(ends[-1]))
        if "apart" not in self._kept:
            self._kept["apart"] = _group(words, np.arange(int(offsets[-1]) + 1))
        repeated = _Side(side.words.take(owners), places)
        prepared = metric.prepare(self._kept["apart"], self._work)
        return prepared.measure(repeated.tokenized, self._work), owners

    def _weigh(self, weights: str, side: _Side) -> tuple[TokenizedReferences, Places | None]:
        """Return references with their weights, and where images are among them if not here."""
        if weights == "references":
            return self._tokenized, None
        if weights in SHIPPED:
            return self._tokenized.weighted_by(weights), None
        if weights == "results":
            return self._tokenized.weighted_by(_count(side.words)), None
        words, offsets = self._references
        if weights == "repeated":
            if weights not in self._kept:
                count = len(offsets) - 1
                captions = np.tile(np.arange(int(offsets[-1])), REPEATS)
                sizes = np.tile(np.diff(offsets), REPEATS)
                repeated = np.concatenate([[0], np.cumsum(sizes)])
                assert len(repeated) == REPEATS * count + 1
                self._kept[weights] = _group(words.take(captions), repeated)
            return self._kept[weights], None
        if weights == "whole-file":
            if self._pipeline.pairing.startswith("swapped") or self._pipeline.references in (
                "joined",
                "letters",
            ):
                raise NotPossibleError
            if weights not in self._kept:
                every = self._take_references(np.arange(len(self.material.images)))
                self._kept[weights] = _group(*every)
            return self._kept[weights], self._images[side.images]
        raise NotPossibleError

    # -- batches ----------------------------------------------------------------------------------

    def _score_batches(self, pipeline: Pipeline, variant: Variant) -> float:
        """Return the mean of the scores of parts of so many images, in the order of the file."""
        side, size = self._side(pipeline), pipeline.batch
        metric = variant.metric
        own = metric.uses_frequencies and pipeline.weights == "references"
        if metric.uses_frequencies and not own and pipeline.weights not in SHIPPED:
            raise NotPossibleError
        if variant.references != "together" or self._pipeline.references == "apart":
            raise NotPossibleError
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

    def _measure_in_batches(self, side: _Side, metric: Metric, size: int) -> Floats:
        """Return rows with weights counted in each batch.

        Words of different batches are made different words, so that one index counts all batches
        apart; the last batch, if smaller, has an index of its own.
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
        self, side: _Side, metric: Metric, rows: Places, size: int
    ) -> Floats:
        if metric.stems or metric.name == "cider-r":
            raise NotPossibleError  # these read the letters of words
        if size == 1:
            return np.zeros((len(rows), 1))  # the only image has every n-gram: all weights are 0
        words, offsets = self._references
        batches = np.arange(len(rows)) // size
        images = side.images[rows]
        if len(np.unique(batches * (len(offsets) - 1) + images)) != len(rows):
            raise NotPossibleError  # an image comes twice in a batch
        counts = np.diff(offsets)[images]
        ends = np.cumsum(counts)
        captions = np.repeat(offsets[:-1][images] - (ends - counts), counts) + np.arange(
            int(ends[-1])
        )
        known, mine = words.take(captions), side.words.take(rows)
        if known.native_vocabulary is not mine.native_vocabulary:
            raise NotPossibleError
        batch_of_reference = np.repeat(np.repeat(batches, counts), known.lengths)
        batch_of_candidate = np.repeat(batches, mine.lengths)
        width = len(words.vocabulary)
        keys = np.concatenate(
            [batch_of_reference * width + known.words, batch_of_candidate * width + mine.words]
        )
        numbers, vocabulary = _renumber(keys, (int(batches[-1]) + 1) * width)
        split = len(batch_of_reference)
        references = Words([], numbers[:split], known.offsets, vocabulary)
        candidates = Words([], numbers[split:], mine.offsets, vocabulary)
        grouped = _group(references, np.concatenate([[0], ends]))
        counted = _CountedReferences.of(grouped, size)
        work = Workspace(1)
        ready = _Side(candidates, np.arange(len(rows)))
        return metric.prepare(counted, work).measure(ready.tokenized, work)


_SMALL_TABLE = 1 << 23


def _renumber(keys: Places, most: int) -> tuple[NDArray[np.uint32], _native.Vocabulary]:
    """Return different numbers for different keys below `most`, and words of these numbers."""
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


def _pair(pairing: str, rows: Places, places: Places, ids: list[object]) -> tuple[Places, Places]:
    """Return which row is compared with which image: as given, shifted, or by position."""
    if pairing == "id":
        return rows, places
    if pairing in ("down", "up"):
        return np.roll(rows, 1 if pairing == "down" else -1), places
    if pairing == "down-cut":
        return rows[:-1], places[1:]
    if pairing == "up-cut":
        return rows[1:], places[:-1]
    if len(rows) != len(ids):
        raise NotPossibleError
    if pairing == "position":
        return rows, np.arange(len(ids))
    if pairing == "sorted-numbers":
        try:
            numbers = sorted(range(len(ids)), key=lambda place: int(str(ids[place])))
        except ValueError:
            raise NotPossibleError from None
        return rows, np.asarray(numbers)
    if pairing == "sorted-text":
        return rows, np.asarray(sorted(range(len(ids)), key=lambda place: str(ids[place])))
    # The captions follow the references' order, of which one was lost or added at the start.
    order = np.argsort(places, kind="stable")
    turned = np.roll(order, 1 if pairing == "references-down" else -1)
    return rows[turned], places[order]


def _count(words: Words) -> DocumentFrequencies:
    """Count n-grams on captions, each as an image of its own."""
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
