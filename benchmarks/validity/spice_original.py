"""Correlation of SPICE with the Java tool, and the effect of each parser error.

`python benchmarks/run.py spice_original SYSTEM.jsonl …`: one file for each system, all for the same
images, with lines of `image_id`, `candidate`, `references` and `spice`, the original's score.

Pearson and means, by system and by half of the images; what each error adds to Pearson; what
errors that were chosen by one system give for another; and which numbers differ: F is twice
the tuples that match, over those of the caption (c) and its references (r). Two systems share r, so
that their scores tell it nearly always. With the original's numbers in place of ours, one at a
time, Pearson and means show which of them matters.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import cidery
from cidery.metrics.spice import tree_repairs
from cidery.metrics.spice.matching import ReferenceScene, SceneCounts
from cidery.metrics.spice.metric import _read_synsets, load_synonyms
from cidery.metrics.spice.parser import load_parser, split_words
from cidery.metrics.spice.parser_errors import PARSER_ERRORS
from cidery.metrics.spice.tree import Token, Tree
from cidery.metrics.spice.tree_edits import Repair
from cidery.metrics.spice.tuple_rules import read_graph
from cidery.statistics import Floats

REACH = 12
"""Range in which the original's number of reference tuples is searched."""


class Systems:
    """Captions and scores of some systems for the same images, parsed once."""

    def __init__(self, paths: Sequence[Path], parser: str) -> None:
        from spacy.tokens import Doc

        self.rows = [[json.loads(line) for line in path.open()] for path in paths]
        self.names = [path.stem for path in paths]
        self.scores = np.array([[row["spice"] for row in rows] for rows in self.rows])
        ids = [row["image_id"] for row in self.rows[0]]
        digests = [hashlib.sha256(str(image).encode()).hexdigest() for image in ids]
        self.held_out = np.array([int(digest, 16) % 2 == 1 for digest in digests])
        loaded = load_parser(parser)
        self.lemmatize, correct = cache(loaded.lemmatizer.find), cache(loaded.lemmatizer.correct)
        self.synsets = _read_synsets(load_synonyms())
        texts = {text for rows in self.rows for row in rows for text in _texts(row)}
        ordered = sorted(texts)
        self.words = dict(zip(ordered, map(split_words, cidery.tokenize(ordered)), strict=True))
        distinct = sorted(set(self.words.values()))
        docs = (Doc(loaded.language.vocab, words=list(words)) for words in distinct)
        parsed = loaded.language.pipe(docs, batch_size=256, disable=["lemmatizer"])
        self.tokens = {
            words: [Token(t.text, correct(t.text, t.tag_), t.dep_, t.head.i) for t in doc]
            for words, doc in zip(distinct, parsed, strict=True)
        }

    def count(self, errors: Sequence[Repair]) -> list[list[SceneCounts]]:
        """Return the numbers of tuples, by system and image."""
        graphs = {}
        for words, tokens in self.tokens.items():
            mended = list(tokens)
            for step in (*tree_repairs.REPAIRS, *errors, *tree_repairs.JOININGS):
                step(mended)
            graphs[words] = read_graph(Tree(mended, self.lemmatize), as_original=True)
        counts: list[list[SceneCounts]] = [[] for _ in self.rows]
        for place, row in enumerate(self.rows[0]):
            known = [graphs[self.words[text]] for text in row["references"]]
            scene = ReferenceScene.build(known, self.synsets)
            for found, rows in zip(counts, self.rows, strict=True):
                graph = graphs[self.words[rows[place]["candidate"]]]
                found.append(scene.compare(graph, self.synsets).count())
        return counts

    def correlate(self, errors: Sequence[Repair]) -> Floats:
        """Return Pearson, float64[systems, 3]: all images, those held out, the others."""
        ours = np.array([[c.f for c in counts] for counts in self.count(errors)])
        parts = (slice(None), self.held_out, ~self.held_out)
        return np.array(
            [
                [pearson(one[part], other[part]) for part in parts]
                for one, other in zip(ours, self.scores, strict=True)
            ]
        )


def _texts(row: dict[str, Any]) -> list[str]:
    return [row["candidate"], *row["references"]]


def pearson(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def draw(one: Floats, other: Floats) -> tuple[float, float]:
    """Return a 95 % interval of Pearson by 2,000 bootstrap draws of images."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(one), (2000, len(one)))
    found = [pearson(one[p], other[p]) for p in places]
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def show_closeness(systems: Systems) -> None:
    counts = systems.count(PARSER_ERRORS)
    for name, found, theirs in zip(systems.names, counts, systems.scores, strict=True):
        ours = np.array([c.f for c in found])
        for label, part in (
            ("all", slice(None)),
            ("held out", systems.held_out),
            ("looked at", ~systems.held_out),
        ):
            one, other = ours[part], theirs[part]
            low, high = draw(one, other)
            print(
                f"{name:14} {label:9} r {pearson(one, other):.3f} [{low:.3f}, {high:.3f}]  "
                f"difference {np.abs(one - other).mean():.4f}  "
                f"means {one.mean():.4f} {other.mean():.4f} ({one.mean() / other.mean() - 1:+.1%})"
            )


def show_errors(systems: Systems) -> None:
    whole, none = systems.correlate(PARSER_ERRORS), systems.correlate(())
    gains = {}
    print(f"\n{'what each adds':22} " + "  ".join(f"{n:>14}" for n in systems.names) + "  held out")
    for left_out in PARSER_ERRORS:
        rest = [error for error in PARSER_ERRORS if error is not left_out]
        gains[left_out] = gain = whole - systems.correlate(rest)
        cells = "  ".join(f"{value:+14.4f}" for value in gain[:, 0])
        print(f"{left_out.__name__:22} {cells}  {gain[:, 1].mean():+8.4f}")
    print("\nchosen by one system, measured on another")
    for one, other in product(range(len(systems.names)), repeat=2):
        if one != other:
            useful = [error for error in PARSER_ERRORS if gains[error][one, 0] > 0]
            r = systems.correlate(useful)[other, 0]
            print(
                f"{systems.names[one]} -> {systems.names[other]}: {len(useful)} useful, r {r:.3f}; "
                f"none {none[other, 0]:.3f}, all {whole[other, 0]:.3f}"
            )


def find_original(
    scores: Sequence[float], counts: Sequence[SceneCounts]
) -> list[tuple[int, int, int]] | None:
    """Return matched, c and r of each system that give its score, as close to ours as can be."""
    known = counts[0].reference
    best: tuple[float, list[tuple[int, int, int]]] | None = None
    for r in range(max(1, known - REACH), known + REACH + 1):
        cost, found = abs(r - known) * 0.25, []
        for score, ours in zip(scores, counts, strict=True):
            options = [
                (abs(c - ours.candidate) + 1.2 * abs(matched - ours.matched), matched, c)
                for c in range(max(1, ours.candidate - 3), ours.candidate + 4)
                for matched in [round(score * (c + r) / 2)]
                if abs(2 * matched / (c + r) - score) < 1e-6
            ]
            if not options:
                break
            nearest = min(options)
            cost += nearest[0]
            found.append((nearest[1], nearest[2], r))
        if len(found) == len(counts) and (best is None or cost < best[0]):
            best = cost, found
    return None if best is None else best[1]


def show_limits(systems: Systems) -> None:
    counts = systems.count(PARSER_ERRORS)
    found = [
        find_original(systems.scores[:, place].tolist(), [c[place] for c in counts])
        for place in range(systems.scores.shape[1])
    ]
    print("\nPearson and mean with the original's numbers in place of ours")
    for number, (name, ours) in enumerate(zip(systems.names, counts, strict=True)):
        known = [
            (c, original[number], score)
            for c, original, score in zip(ours, found, systems.scores[number], strict=True)
            if original is not None
        ]
        theirs = np.array([score for *_, score in known])
        cells = []
        for label in ("none", "r", "c", "matched", "matched and r"):
            values = [
                2
                * (m if "matched" in label else own.matched)
                / (
                    (c if label == "c" else own.candidate)
                    + (r if label.endswith("r") else own.reference)
                )
                for own, (m, c, r), _ in known
            ]
            off_mean = np.mean(values) / theirs.mean() - 1
            cells.append(f"{label} {pearson(np.array(values), theirs):.3f} {off_mean:+.1%}")
        off = [m - own.matched for own, (m, _, _), _ in known]
        print(f"{name:14} " + "  ".join(cells))
        print(
            f"{'':14} matched: the same {np.mean(np.equal(off, 0)):.0%}, "
            f"fewer {np.mean(np.less(off, 0)):.0%}, more {np.mean(np.greater(off, 0)):.0%}"
        )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("systems", nargs="+", type=Path)
    words.add_argument("--parser", default="auto")
    given = words.parse_args()
    systems = Systems(given.systems, given.parser)
    show_closeness(systems)
    show_limits(systems)
    show_errors(systems)


if __name__ == "__main__":
    main()
