"""Which words of a caption name the tuples that SPICE counts."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cidery.metrics.explanations import Shares, Span, share, share_lack
from cidery.metrics.located_captions import LocatedCaption
from cidery.metrics.spice.graph import Category, SceneTuple, categories_of, format_tuple
from cidery.metrics.spice.lemmas import Lemmatizer
from cidery.metrics.spice.matching import SceneComparison

_TAGS = ("NNS", "VBG", "VBD", "VBN", "VBZ", "VBP", "JJR", "JJS")
"""Tags of words that are not lemmas."""


@dataclass(frozen=True, eq=False)
class WordFinder:
    """Finds the words of captions that the lemmas in tuples stand for."""

    lemmatizer: Lemmatizer

    @cached_property
    def _known(self) -> dict[str, frozenset[str]]:
        return {}

    def find_lemmas(self, word: str) -> frozenset[str]:
        """Return all that a word may be a form of, itself included."""
        from cidery.metrics.spice.parser import split_words

        if word not in self._known:
            pieces = split_words([word])
            found = {self.lemmatizer.find(piece, tag) for piece in pieces for tag in _TAGS}
            self._known[word] = frozenset({*pieces, *found})
        return self._known[word]

    def find_places(
        self, caption: LocatedCaption, found: SceneTuple, known: Collection[str] = ()
    ) -> list[int]:
        """Return the places of a tuple's words; none where it names nothing here.

        Objects that are `known` are left out, if other words remain: where a dog is known, `brown`
        is what `(dog, brown)` adds.
        """
        new = [word for place, word in enumerate(found) if place == 1 or word not in known]
        for words in (new, found):
            wanted = {piece for word in words for piece in re.split(r"[\s_]+", word)}
            places = [
                place
                for place, word in enumerate(caption.words)
                if not wanted.isdisjoint(self.find_lemmas(word))
            ]
            if places:
                return places
        return []


@dataclass(frozen=True, eq=False)
class ExplainedScene:
    """A caption's SPICE score and the tuples that it follows from."""

    of: Category
    measure: str
    score: float
    comparison: SceneComparison
    finder: WordFinder

    def share(
        self,
        said: LocatedCaption,
        told: Sequence[LocatedCaption],
        stated: Sequence[Mapping[SceneTuple, SceneTuple]],
    ) -> Shares:
        """Share the score out; `stated` are each reference's tuples as all of them are united."""
        counts = self.comparison.count(self.of)
        scores = {"precision": counts.precision, "recall": counts.recall}
        parts = {name: 0.0 if math.isnan(value) else value for name, value in scores.items()}
        if math.isnan(self.score):
            return Shares(self.score, (), [()] * len(told), parts, exact=False)
        matched, extra, values = self.share_tuples()
        marks = ["matched"] * len(matched) + ["extra"] * len(extra)
        objects = {found[0] for found in self.comparison.matched if len(found) == 1}
        known: list[Collection[str]] = [()] * len(matched) + [objects] * len(extra)
        spans, whole = self._spread(said, [*matched, *extra], values, marks, known)
        lacks = self._find_lacks(told, stated, parts)
        return Shares(self.score, spans, lacks, parts, whole and bool(matched))

    def share_tuples(self) -> tuple[list[SceneTuple], list[SceneTuple], list[float]]:
        """Return the tuples that match, those that do not, and what all of these earned or cost."""
        matched = [found for found in self.comparison.matched if self._counts(found)]
        extra = [found for found in self.comparison.extra if self._counts(found)]
        recall = self.comparison.count(self.of).recall
        values = share(
            self.score,
            self._ideal(1.0, 0.0 if math.isnan(recall) else recall),
            [1.0] * len(matched) + [0.0] * len(extra),
            [0.0] * len(matched) + [float(self.measure != "recall")] * len(extra),
        )
        return matched, extra, values

    def _counts(self, found: SceneTuple) -> bool:
        return self.of in categories_of(found)

    def _ideal(self, precision: float, recall: float) -> float:
        if self.measure == "f":
            return 2 * precision * recall / (precision + recall) if precision and recall else 0.0
        return precision if self.measure == "precision" else recall

    def _find_lacks(
        self,
        told: Sequence[LocatedCaption],
        stated: Sequence[Mapping[SceneTuple, SceneTuple]],
        parts: Mapping[str, float],
    ) -> list[list[Span]]:
        """Return what each reference states and the caption does not.

        A tuple that several references state is shared among them.
        """
        missing = [found for found in self.comparison.missing if self._counts(found)]
        lacked = share_lack(self.score, self._ideal(parts["precision"], 1.0), [1.0] * len(missing))
        values = dict(zip(missing, lacked, strict=True))
        holders = [known for found in stated for known in set(found.values())]
        absent = {known for known in self.comparison.missing if len(known) == 1}
        lacks = []
        for caption, found in zip(told, stated, strict=True):
            own = {
                t: values[known] / holders.count(known)
                for t, known in found.items()
                if known in values
            }
            objects = {t[0] for t, known in found.items() if len(t) == 1 and known not in absent}
            marks, known = ["missing"] * len(own), [objects] * len(own)
            lacks.append(self._spread(caption, list(own), list(own.values()), marks, known)[0])
        return lacks

    def _spread(
        self,
        caption: LocatedCaption,
        tuples: Sequence[SceneTuple],
        values: Sequence[float],
        marks: Sequence[str],
        known: Sequence[Collection[str]],
    ) -> tuple[list[Span], bool]:
        """Return the spans of the words that tuples name, and whether each tuple has some."""
        sums: dict[int, float] = defaultdict(float)
        notes: dict[int, list[str]] = defaultdict(list)
        whole = caption.is_whole
        for found, value, mark, objects in zip(tuples, values, marks, known, strict=True):
            places = self.finder.find_places(caption, found, objects)
            whole = whole and bool(places)
            for place in places:
                sums[place] += value / len(places)
                notes[place].append(f"{mark}: {format_tuple(found)}")
        named = sorted(sums)
        located = LocatedCaption([], [caption.places[place] for place in named])
        return (
            located.spans([sums[p] for p in named], ["; ".join(notes[p]) for p in named]),
            whole,
        )
