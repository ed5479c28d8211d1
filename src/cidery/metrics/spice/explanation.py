"""Contributions of words to SPICE, by the tuples that they name."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cidery.metrics.explanations import Contributions, Span, split_loss, split_score
from cidery.metrics.located_captions import LocatedCaption
from cidery.metrics.spice.graph import Category, SceneTuple, categories_of, format_tuple
from cidery.metrics.spice.lemmas import Lemmatizer
from cidery.metrics.spice.matching import SceneComparison

_TAGS = ("NNS", "VBG", "VBD", "VBN", "VBZ", "VBP", "JJR", "JJS")
"""Tags of inflected words."""


@dataclass(frozen=True, eq=False)
class WordFinder:
    """Finder of the words of a caption that a tuple's lemmas come from."""

    lemmatizer: Lemmatizer

    @cached_property
    def _known(self) -> dict[str, frozenset[str]]:
        return {}

    def find_lemmas(self, word: str) -> frozenset[str]:
        """Return all possible lemmas of a word, including itself."""
        from cidery.metrics.spice.parser import split_words

        if word not in self._known:
            pieces = split_words([word])
            found = {self.lemmatizer.find(piece, tag) for piece in pieces for tag in _TAGS}
            self._known[word] = frozenset({*pieces, *found})
        return self._known[word]

    def find_places(
        self, caption: LocatedCaption, found: SceneTuple, known: Collection[str] = ()
    ) -> list[int]:
        """Return the positions of a tuple's words; empty if the caption has none of them.

        Objects in `known` are omitted if other words remain: if `dog` is known, `(dog, brown)`
        adds `brown`.
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
        candidate: LocatedCaption,
        references: Sequence[LocatedCaption],
        stated: Sequence[Mapping[SceneTuple, SceneTuple]],
    ) -> Contributions:
        """Divide the score among words; `stated` maps reference tuples to the united ones."""
        counts = self.comparison.count(self.of)
        scores = {"precision": counts.precision, "recall": counts.recall}
        parts = {name: 0.0 if math.isnan(value) else value for name, value in scores.items()}
        if math.isnan(self.score):
            return Contributions(self.score, (), [()] * len(references), parts, exact=False)
        matched, extra, values = self.share_tuples()
        marks = ["matched"] * len(matched) + ["extra"] * len(extra)
        objects = {found[0] for found in self.comparison.matched if len(found) == 1}
        known: list[Collection[str]] = [()] * len(matched) + [objects] * len(extra)
        spans, whole = self._spread(candidate, [*matched, *extra], values, marks, known)
        missing_spans = self._find_missing(references, stated, parts)
        return Contributions(self.score, spans, missing_spans, parts, whole and bool(matched))

    def share_tuples(self) -> tuple[list[SceneTuple], list[SceneTuple], list[float]]:
        """Return matched tuples, extra tuples, and the contributions of both."""
        matched = [found for found in self.comparison.matched if self._counts(found)]
        extra = [found for found in self.comparison.extra if self._counts(found)]
        recall = self.comparison.count(self.of).recall
        values = split_score(
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

    def _find_missing(
        self,
        references: Sequence[LocatedCaption],
        stated: Sequence[Mapping[SceneTuple, SceneTuple]],
        parts: Mapping[str, float],
    ) -> list[list[Span]]:
        """Return the spans of each reference's missing tuples.

        The loss of a tuple that several references have is divided among them.
        """
        missing = [found for found in self.comparison.missing if self._counts(found)]
        lacked = split_loss(self.score, self._ideal(parts["precision"], 1.0), [1.0] * len(missing))
        values = dict(zip(missing, lacked, strict=True))
        holders = [known for found in stated for known in set(found.values())]
        absent = {known for known in self.comparison.missing if len(known) == 1}
        missing_spans = []
        for caption, found in zip(references, stated, strict=True):
            own = {
                t: values[known] / holders.count(known)
                for t, known in found.items()
                if known in values
            }
            objects = {t[0] for t, known in found.items() if len(t) == 1 and known not in absent}
            marks, known = ["missing"] * len(own), [objects] * len(own)
            missing_spans.append(
                self._spread(caption, list(own), list(own.values()), marks, known)[0]
            )
        return missing_spans

    def _spread(
        self,
        caption: LocatedCaption,
        tuples: Sequence[SceneTuple],
        values: Sequence[float],
        marks: Sequence[str],
        known: Sequence[Collection[str]],
    ) -> tuple[list[Span], bool]:
        """Return the spans of the words that tuples name, and True if every tuple has some."""
        sums: dict[int, float] = defaultdict(float)
        notes: dict[int, list[str]] = defaultdict(list)
        whole = caption.is_located
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
