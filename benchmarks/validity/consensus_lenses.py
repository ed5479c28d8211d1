"""consensus with lenses learned from other images and captions than those judged.

    python benchmarks/run.py consensus_lenses mpnet --data FOLDER
    python benchmarks/run.py consensus_lenses mpnet --data FOLDER --sets flickr8k-cf pascal-50s

Lenses are learned as `tools/fit_lens.py` learns them, from judgments on two thirds of the images
(of Flickr8k also of the captions), and judge the last thirds, three times; then all are taken
together. Prints, without a lens and through them, in percent: Pearson's r on THumB without and with
human captions, Kendall's τ-c on Flickr8k-Expert and τ-b on Flickr8k-CF (the mean of the thirds),
and the accuracy on pairs. FOLDER has all data sets. Needs torch; takes half an hour with MPNet.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fit_lens
import numpy as np
import torch

from cidery import Consensus, Pipeline
from cidery.corpus import Corpus
from cidery.encoders import Encoder, Lens, get_encoder
from cidery.meta import Pairs, Ratings, read_dataset
from cidery.statistics import Correlation, Floats

EXPERT = "flickr8k-expert"
HUMAN = "Human"


@dataclass(frozen=True, kw_only=True)
class Through(Consensus):
    """consensus through a lens that is given."""

    given: Lens | None = None

    def choose_lens(self, encoder: Encoder) -> Lens | None:  # noqa: ARG002
        """Return the lens that was given."""
        return self.given


@dataclass(frozen=True)
class Judgments:
    """A set, and the third that each judgment belongs to; -1 for those that none is judged by."""

    found: Ratings | Pairs
    thirds: np.ndarray


def read(name: str, folder: Path) -> Judgments:
    found = read_dataset(EXPERT, folder) if name == EXPERT else fit_lens.READERS[name](folder)
    assert isinstance(found, Ratings | Pairs)
    if name == EXPERT:  # the same captions and images as Flickr8k-CF, by the same thirds
        judged = found.judged
        images = [min(judged.references[document]) for document in judged.documents]
        parts = [
            np.array([fit_lens.number(text, fit_lens.THIRDS) for text in texts])
            for texts in (images, judged.captions)
        ]
        assert isinstance(found, Ratings)
        thirds = np.where(parts[0] == parts[1], parts[0], -1)[found.rows]
        return Judgments(found, thirds)
    lesson = fit_lens.Lesson.read(found, {})
    return Judgments(found, np.where(lesson.images == lesson.captions, lesson.images, -1))


def score(encoder: str, judged: Judgments, third: int, lens: Lens | None) -> dict[int, float]:
    """Return the scores of the captions that a third of the judgments is about, by place."""
    found, some = judged.found, np.flatnonzero(judged.thirds == third)
    rows = (
        np.concatenate([found.first[some], found.second[some]])
        if isinstance(found, Pairs)
        else found.rows[some]
    )
    rows = np.unique(rows)
    captions = found.judged
    corpus = Corpus.from_references([list(group) for group in captions.references])
    metric = Through(encoder=encoder, given=lens, keep=True)
    scorer = Pipeline.choose({"metric": metric}, frequencies="coco-train2014").prepare(corpus)
    chosen = [captions.captions[row] for row in rows]
    measured = scorer.measure(chosen, captions.documents[rows])["metric"][:, 0]
    return dict(zip(rows.tolist(), measured.tolist(), strict=True))


def judge(judged: Judgments, scored: Sequence[dict[int, float]]) -> dict[str, float]:
    """Return what scores of all thirds reach."""
    found, known = judged.found, {row: value for part in scored for row, value in part.items()}
    some = np.flatnonzero(judged.thirds >= 0)
    if isinstance(found, Pairs):
        votes = fit_lens.get_main_votes(found)[some]
        first, second = (
            np.array([known[row] for row in side[some].tolist()])
            for side in (found.first, found.second)
        )
        return {"accuracy": float(((first - second) * votes > 0)[votes != 0].mean())}
    scores = np.array([known[row] for row in found.rows[some].tolist()])
    ratings = found.ratings[some]
    if found.name == "thumb":
        written = np.asarray(found.systems)[found.rows[some]] != HUMAN
        both = {"r": written, "r with human captions": np.ones(len(some), np.bool_)}
        return {name: _find(scores[rows], ratings[rows], "pearson") for name, rows in both.items()}
    if found.name == EXPERT:
        return {"tau_c": _find(scores, ratings, "tau_c")}
    parts = [judged.thirds[some] == third for third in range(fit_lens.THIRDS)]
    return {"tau_b": float(np.mean([_find(scores[p], ratings[p], "tau_b") for p in parts]))}


def _find(scores: Floats, ratings: Floats, name: str) -> float:
    return Correlation.build(scores, ratings)()[name]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("encoder", choices=fit_lens.LEARNED)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all data sets")
    parser.add_argument(
        "--sets", nargs="+", choices=fit_lens.WEIGHTS, help="what lenses learn from"
    )
    parser.add_argument(
        "--judge", nargs="+", choices=(*fit_lens.WEIGHTS, EXPERT), help="default: all sets"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    sets = options.sets or fit_lens.LEARNED[options.encoder]
    vectors, lessons = fit_lens.read_lessons(
        get_encoder(options.encoder, keep=True), options.data, sets
    )
    lenses = []
    for third in range(fit_lens.THIRDS):
        inward, outward = fit_lens.fit(vectors, lessons, left_out=third).numpy().astype(np.float64)
        lenses.append(Lens(inward, outward))
    for name in options.judge or (*fit_lens.WEIGHTS, EXPERT):
        judged = read(name, options.data)
        raw, seen = (
            judge(judged, [score(options.encoder, judged, t, lens) for t, lens in enumerate(some)])
            for some in ([None] * fit_lens.THIRDS, lenses)
        )
        for statistic, value in raw.items():
            print(
                f"{name:15} {statistic}: without {100 * value:.2f}, "
                f"through lenses {100 * seen[statistic]:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
