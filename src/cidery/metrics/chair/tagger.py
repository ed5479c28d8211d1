"""Part-of-speech tagger with the output of NLTK's averaged perceptron (Honnibal 2013).

A tag depends on the word, its neighbors and the two tags before it. Many captions are tagged at
once. NLTK itself is not used because it downloads its data at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from cidery.metrics.chair.data_files import DATA
from cidery.statistics import Floats

if TYPE_CHECKING:
    from collections.abc import Mapping

START = ("-START-", "-START2-")
END = ("-END-", "-END2-")


@dataclass(frozen=True, eq=False)
class Tagger:
    """Weights of tags by features of a word and its neighbors."""

    labels: Sequence[str]
    """Labels in reverse order: of equal scores, the last label wins."""
    rows: Mapping[str, int]
    """feature -> row of the weights"""
    weights: Floats
    """float64[features + 1, labels]; the last row, for unknown features, is 0."""
    known: Mapping[str, str]
    """Words with a single tag."""

    def tag(
        self, captions: Sequence[Sequence[str]], counts: Sequence[int] | None = None
    ) -> list[list[str]]:
        """Return the tags of each caption's words, or of its first `counts` words."""
        counts = [len(words) for words in captions] if counts is None else counts
        contexts = [[*START, *map(_spell, words), *END] for words in captions]
        tags: list[list[str]] = [[] for _ in captions]
        for place in range(max(counts, default=0)):
            asked: list[int] = []
            rows: list[list[int]] = []
            for number, words in enumerate(captions):
                if place < counts[number]:
                    tag = self.known.get(words[place])
                    if tag is None:
                        asked.append(number)
                        rows.append(
                            self._describe(words[place], place + 2, contexts[number], tags[number])
                        )
                    tags[number].append(tag or "")
            if asked:
                for number, best in zip(asked, self._decide(rows), strict=True):
                    tags[number][place] = self.labels[best]
        return tags

    def _decide(self, rows: list[list[int]]) -> list[int]:
        columns = np.asarray(rows).T
        scores = self.weights[columns[0]]
        for column in columns[1:]:  # in NLTK's order: sums of floats depend on it
            scores = scores + self.weights[column]
        best: list[int] = scores.argmax(axis=1).tolist()
        return best

    def _describe(self, word: str, i: int, context: list[str], tags: list[str]) -> list[int]:
        last = tags[-1] if tags else START[0]
        before = tags[-2] if len(tags) > 1 else START[0] if tags else START[1]
        here, left, right = context[i], context[i - 1], context[i + 1]
        find, unknown = self.rows.get, len(self.weights) - 1
        return [
            find(feature, unknown)
            for feature in (
                "bias",
                f"i suffix {word[-3:]}",
                f"i pref1 {word[:1]}",
                f"i-1 tag {last}",
                f"i-2 tag {before}",
                f"i tag+i-2 tag {last} {before}",
                f"i word {here}",
                f"i-1 tag+i word {last} {here}",
                f"i-1 word {left}",
                f"i-1 suffix {left[-3:]}",
                f"i-2 word {context[i - 2]}",
                f"i+1 word {right}",
                f"i+1 suffix {right[-3:]}",
                f"i+2 word {context[i + 2]}",
            )
        ]


def _spell(word: str) -> str:
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[0].isdigit() else word.lower()


@cache
def load_tagger() -> Tagger:
    """Return the tagger with NLTK's weights for English."""
    with np.load(DATA / "tagger.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    labels = arrays["labels"].tolist()
    features = arrays["features"].tobytes().decode().split("\n")
    weights = np.zeros((len(features) + 1, len(labels)))
    rows = np.repeat(np.arange(len(features)), arrays["counts"])
    weights[rows, len(labels) - 1 - arrays["places"].astype(np.int64)] = arrays["values"] / 1000
    known = arrays["known"].tobytes().decode().split("\n")
    return Tagger(
        labels[::-1],
        {feature: row for row, feature in enumerate(features)},
        weights,
        dict(line.rsplit(" ", 1) for line in known),
    )
