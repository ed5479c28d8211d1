"""Numbers and claims of the papers that take more than a row of one evaluation."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import CideryError, UnreliableWarning
from cidery.meta.datasets.files import locate
from cidery.meta.evaluation import evaluate
from cidery.meta.judgments import Pairs
from cidery.meta.protocols.base import HUMAN
from cidery.meta.reproduction.published import FIRST_48, Line
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import METRICS, get_metrics
from cidery.scoring.pipeline import Pipeline
from cidery.statistics import Correlation, Floats

TRIPLET_COLUMNS = {
    "cider-r": "CIDEr-R",
    "cider-d": "CIDEr-D",
    "spice": "SPICE",
    "meteor": "METEOR",
    "rouge-l": "ROUGE",
    "bleu-4": "BLEU4",
}
"""Ours -> the CIDEr-R authors' file of scores; they print CIDEr times 100, ours is at most 10."""
CURVE_COLUMNS = {
    "cider-r": "CIDEr-R",
    "cider-d": "CIDEr",
    "meteor": "METEOR",
    "rouge-l": "ROUGE_L",
    "bleu-4": "Bleu_4",
}
CURVE_POINTS = (1, 5, 48)

SENTENCE = "a group of people are playing football on a grass covered field"
CHANGED = {
    "word-level": "a couple of boys are playing soccer on a grass covered field",
    "phrase-level": "some guys are playing football on a grassy ground",
    "sentence-level": "on a grass covered field a group of people are playing football",
    "redundancy": (
        "a group of people in red soccer suits are playing football on a grass covered field"
    ),
    "conciseness": "a group of people are playing football",
    "semantic change": "a group of people are watching TV",
}
"""Wang and Chan 2019, Table 1: what is changed in SENTENCE -> the changed sentence."""
UNSEEN = "a group of people are watching qxzw"
"""The last of them, with a word that no caption has in the place of TV."""
SIMILARITIES = {
    "bleu-1": (75.0, 41.7, 100.0, 71.6, 58.3, 41.7),
    "bleu-2": (58.4, 38.9, 95.3, 68.3, 56.4, 38.9),
    "bleu-3": (46.8, 35.7, 89.9, 64.4, 54.2, 35.7),
    "bleu-4": (38.8, 31.7, 83.4, 59.8, 51.6, 31.7),
    "meteor": (38.7, 31.0, 58.1, 42.9, 52.6, 27.0),
    "rouge-l": (75.0, 48.9, 58.3, 83.6, 77.4, 55.3),
    "cider-d": (26.1, 44.1, 67.6, 49.6, 48.2, 7.2),
    "spice": (33.3, 13.3, 94.1, 81.8, 71.4, 42.9),
}
"""metric -> the table's values of CHANGED, in percent; CIDEr is divided by 10."""


def _check(claim: bool) -> str:
    """Return the verdict on a claim in words."""
    return "holds" if claim else "does not hold"


def compare_disagreement(dataset: Pairs, **settings: Any) -> Iterator[Line]:
    """CIDEr, Appendix III: what is human-like and what humans like."""
    source = "CIDEr, Appendix III"
    found = evaluate(dataset, ["cider"], protocol="disagreement", **FIRST_48, **settings).results
    people, cider = found[HUMAN], found["cider"]
    note = (
        "In words: the caption that is called better is often not the one that triplets choose, "
        "and is often the longer one. The second is so for two human captions; of two machine "
        "captions people like the shorter one"
    )
    for kind in sorted({*dataset.kinds}):
        share = 100 * people[f"disagreement_{kind}"]
        what = f"pascal-50s, {kind} pairs with another winner by each question: share"
        if share < 10:
            yield Line(source, what, HUMAN, None, share, note, "rare")
            continue
        yield Line(source, what, HUMAN, None, share, note, _check(True))
        share = 100 * people[f"longer_{kind}"]
        what = f"pascal-50s, these {kind} pairs, the liked caption is longer: share"
        yield Line(source, what, HUMAN, None, share, note, _check(share > 50))
        share = 100 * cider[f"human_like_{kind}"]
        what = f"pascal-50s, these {kind} pairs, a metric chooses as triplets do: share"
        yield Line(source, what, "cider", None, share, note, _side(share))


def _side(share: float) -> str:
    return (
        "sides with neither" if abs(share - 50) < 5 else "human-like" if share > 50 else "preferred"
    )


def compare_unigrams(dataset: Pairs, **settings: Any) -> Iterator[Line]:
    """CIDEr, 7.1: unigram metrics by number of references."""
    source = "CIDEr, 7.1"
    names = ["rouge-1", "cider:n=1", "bleu-1"]
    few, some, many = CURVE_POINTS
    how: dict[str, Any] = {
        "protocol": "references",
        "reference_counts": CURVE_POINTS,
        "draws": 1,
        "resamples": 0,
    }
    found = evaluate(dataset, names, **how, **settings).results
    note = (
        "The paper's pilot has 179 pairs and up to 120 references that are not among the data; in "
        "words, accuracy rises up to 50 references, but that of BLEU-1 falls. Here PASCAL-50S with "
        "one draw of references"
    )
    for count, published in ((few, 63.0), (some, 77.0)):
        ours = 100 * found["rouge-1"][f"accuracy_at_{count}"]
        plural = "s" if count > 1 else ""
        what = f"pascal-50s, {count} reference{plural}, triplets: accuracy"
        yield Line(source, what, "rouge-1", published, ours, note)
    for name in names:
        gain = 100 * (found[name][f"accuracy_at_{many}"] - found[name][f"accuracy_at_{some}"])
        what = f"pascal-50s, {many} instead of {some} references: gain in accuracy"
        claim = gain < 0 if name == "bleu-1" else gain > 0
        yield Line(source, what, name, None, gain, note, _check(claim))


def rank_sentences(dataset: Pairs, threads: int, few: int = 100) -> Iterator[Line]:
    """CIDEr, section 8: CIDEr and CIDEr-D rank an image's own sentences nearly alike."""
    from cidery.diversity import score_references

    couples = (("cider", "cider-d", 94.0), ("cider:n=1", "cider-d:n=1", None))
    names = [name for *couple, _ in couples for name in couple]
    once = np.unique(dataset.judged.images, return_index=True)[1]  # pairs may be documents
    groups = [list(dataset.judged.references[document][:48]) for document in once.tolist()]
    note = (
        "Over which sentences the paper ranks is not said. Three ways: the mean over images of "
        "ρ among an image's own sentences, ρ of all sentences of the same images together, and "
        "ρ of all sentences of the data set; each sentence is scored against the others of its "
        "image. Of unigrams the paper says in words that the ranks are very similar"
    )
    for images in dict.fromkeys((min(few, len(groups)), len(groups))):
        references = dict(enumerate(groups[:images]))
        each = score_references(references, names, threads=threads).each
        edges = np.cumsum([len(group) for group in groups[:images]])[:-1]
        for one, other, published in couples:
            first, second = each[one], each[other]
            found = {f"all sentences of {images} images": _spearman(first, second)}
            if images == few:
                by_image = zip(np.split(first, edges), np.split(second, edges), strict=True)
                mean = float(np.mean([_spearman(*pair) for pair in by_image]))
                found = {f"48 sentences of an image, mean of {images} images": mean} | found
            for what, rho in found.items():
                yield Line(
                    "CIDEr, 8 and Appendix IV",
                    f"pascal-50s, ranks of {what}: spearman",
                    f"{one}, {other}",
                    published,
                    100 * rho,
                    note,
                    "" if published else _check(rho > 0.8),
                )


def _spearman(first: Floats, second: Floats) -> float:
    return Correlation.build(first, second)()["spearman"]


def compare_triplets(dataset: Pairs, path: Path, threads: int) -> Iterator[Line]:
    """CIDEr-R, Table 3: the scores of each of the 15 triplets."""
    (file,) = locate(path, "toy_candidate_classification_results.csv", folder="cider_r")
    published = _read_table(file, "key")
    for name, column in TRIPLET_COLUMNS.items():
        note = "Published to all digits in the authors' files"
        scores: Floats | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreliableWarning)  # these 15 documents are meant
                scorer = CaptionScorer(Pipeline.choose(threads=threads))
                scores = scorer.score(dataset.judged, get_metrics([name])).each[name]
        except CideryError as error:
            note = str(error)
        if name == "spice":
            note += "; the original is a Java tool with another parser"
        for sides, candidate in ((dataset.first, "CC"), (dataset.second, "IC")):
            for item, row in enumerate(sides):
                yield Line(
                    "CIDEr-R, Table 3",
                    f"triplet {item + 1}, {candidate}: score",
                    name,
                    float(published[item][f"{column} {candidate}"]),
                    None if scores is None else 100 * float(scores[row]),
                    note,
                )


def compare_curves(dataset: Pairs, path: Path, **settings: Any) -> Iterator[Line]:
    """CIDEr-R, Figure 3's protocol: fewer references, and only their votes where these are known.

    The authors publish the curves of PASCAL-50S, of its MM pairs and of ABSTRACT-50S.
    """
    files = {
        "pascal-50s": {"accuracy": "pascal_50S.csv", "accuracy_MM": "pascal_50S_only_MM.csv"},
        "abstract-50s": {"accuracy": "abstract_50S.csv"},
    }[dataset.name]
    try:
        found = locate(path, *files.values(), folder="cider_r")
    except CideryError:
        return
    curves = {name: _read_table(f, "n_ref") for name, f in zip(files, found, strict=True)}
    names = [name for name in CURVE_COLUMNS if name in METRICS]
    drawn = "The authors draw references at random and count only the drawn ones' votes; here "
    whose = "references and their votes"
    note = f"{drawn}the first ones"
    if dataset.triplets is None:
        whose = "references, winner by all"
        note = (
            f"{drawn}the first ones, and always the winner by all 48, as single votes are not "
            "among the data: only with 48 references is it the same question. The authors leave "
            "out 60 pairs that are tied among 48, which here have a winner"
        )
    for count in CURVE_POINTS:
        another = dataset.triplets is None and count < max(CURVE_POINTS)
        results = evaluate(_shorten(dataset, count), names, resamples=0, **settings).results
        for statistic, curve in curves.items():
            for name in names:
                yield Line(
                    "CIDEr-R, Figure 3, authors' curves",
                    f"{dataset.name}, {whose}, {count} of them: {statistic}",
                    name,
                    100 * float(curve[count][CURVE_COLUMNS[name]]),
                    100 * results[name][statistic],
                    note,
                    "another question" if another else "",
                )


def _shorten(dataset: Pairs, count: int) -> Pairs:
    """Return pairs with their first references, and only their votes where these are known."""
    votes = dataset.votes
    if dataset.triplets is not None:
        told = np.asarray(dataset.triplets)[:, :count]
        votes = {"triplets": told.sum(axis=1, dtype=np.int64)}
    return replace(dataset, judged=dataset.judged.draw(count, None), votes=votes, own_references=())


def _read_table(file: Path, key: str) -> dict[int, Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return {int(row[key]): row for row in csv.DictReader(opened)}


def compare_changes(threads: int) -> Iterator[Line]:
    """Wang and Chan 2019, Table 1: how metrics see changes that keep or alter the meaning."""
    note = (
        "The printed values come out with candidate and reference exchanged (but for SPICE) and "
        "with CIDEr-D on the frequencies of COCO's training captions, where TV, in capitals, "
        "counts as a word that no caption has; in lower case CIDEr-D of that caption is 9.3"
    )
    for name, published in SIMILARITIES.items():
        changed = dict(CHANGED)
        if name == "cider-d":
            changed["semantic change"] = UNSEEN
        whole = [SENTENCE] * len(changed)
        exchanged = name != "spice"
        candidates = whole if exchanged else [*changed.values()]
        references = [[text] for text in ([*changed.values()] if exchanged else whole)]
        why, scores = note, None
        try:
            pipeline = Pipeline.choose(name, frequencies="coco-train2014", threads=threads)
            scorer = pipeline.prepare(Corpus.from_references(references))
            rows = scorer.measure(candidates, np.arange(len(candidates)))
            scores = METRICS[name].each(rows[name]) / METRICS[name].range[1]
        except CideryError as error:
            why = str(error)
        for place, (change, value) in enumerate(zip(changed, published, strict=True)):
            ours = None if scores is None else 100 * float(scores[place])
            yield Line("Diversity, Table 1", f"{change}: score", name, value, ours, why)
