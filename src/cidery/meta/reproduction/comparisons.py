"""Comparisons with papers that need code of their own."""

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
from cidery.meta.judgments import Pairs, Ratings
from cidery.meta.protocols.base import HUMAN
from cidery.meta.reproduction.published import FIRST_48, ComparedValue
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import METRICS, IrvUnigram, get_metrics
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
"""metric -> column of the CIDEr-R authors' file of scores, in percent."""
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
"""Wang and Chan 2019, Table 1: change -> changed SENTENCE."""
UNSEEN = "a group of people are watching qxzw"
"""The last of them, with an unknown word instead of TV."""
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
    """Return the verdict on a claim without numbers."""
    return "holds" if claim else "does not hold"


def compare_disagreement(dataset: Pairs, **settings: Any) -> Iterator[ComparedValue]:
    """CIDEr, Appendix III: disagreement of triplets and preferences."""
    source = "CIDEr, Appendix III"
    found = evaluate(dataset, ["cider"], protocol="disagreement", **FIRST_48, **settings).results
    people, cider = found[HUMAN], found["cider"]
    note = "The paper states this without numbers"
    for kind in sorted({*dataset.kinds}):
        share = 100 * people[f"disagreement_{kind}"]
        quantity = f"pascal-50s, {kind} pairs with different winners: share"
        if share < 10:
            yield ComparedValue(source, quantity, HUMAN, None, share, note, "rare")
            continue
        yield ComparedValue(source, quantity, HUMAN, None, share, note, _check(True))
        share = 100 * people[f"longer_{kind}"]
        quantity = f"pascal-50s, these {kind} pairs, the preferred caption is longer: share"
        yield ComparedValue(source, quantity, HUMAN, None, share, note, _check(share > 50))
        share = 100 * cider[f"human_like_{kind}"]
        quantity = f"pascal-50s, these {kind} pairs, choice of triplets: share"
        yield ComparedValue(source, quantity, "cider", None, share, note, _side(share))


def _side(share: float) -> str:
    return (
        "sides with neither" if abs(share - 50) < 5 else "human-like" if share > 50 else "preferred"
    )


def compare_unigrams(dataset: Pairs, **settings: Any) -> Iterator[ComparedValue]:
    """CIDEr, 7.1: accuracy of unigram metrics by number of references."""
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
        "The paper's pilot study (179 pairs, 120 references) is not published; cidery uses "
        "PASCAL-50S with one draw. The paper says that accuracy rises up to 50 references, "
        "except for BLEU-1"
    )
    for count, published in ((few, 63.0), (some, 77.0)):
        computed = 100 * found["rouge-1"][f"accuracy_at_{count}"]
        plural = "s" if count > 1 else ""
        quantity = f"pascal-50s, {count} reference{plural}, triplets: accuracy"
        yield ComparedValue(source, quantity, "rouge-1", published, computed, note)
    for name in names:
        gain = 100 * (found[name][f"accuracy_at_{many}"] - found[name][f"accuracy_at_{some}"])
        quantity = f"pascal-50s, {many} instead of {some} references: gain in accuracy"
        claim = gain < 0 if name == "bleu-1" else gain > 0
        yield ComparedValue(source, quantity, name, None, gain, note, _check(claim))


def rank_sentences(dataset: Pairs, threads: int, few: int = 100) -> Iterator[ComparedValue]:
    """CIDEr, section 8: rank correlation of CIDEr and CIDEr-D over sentences."""
    from cidery.diversity import score_references

    couples = (("cider", "cider-d", 94.0), ("cider:n=1", "cider-d:n=1", None))
    names = [name for *couple, _ in couples for name in couple]
    once = np.unique(dataset.judged.images, return_index=True)[1]  # pairs may be documents
    groups = [list(dataset.judged.references[document][:48]) for document in once.tolist()]
    note = (
        "The paper does not say over which sentences it ranks, and has no numbers for unigrams; "
        "each sentence is scored against the others of its image"
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
            for sentences, rho in found.items():
                yield ComparedValue(
                    "CIDEr, 8 and Appendix IV",
                    f"pascal-50s, ranks of {sentences}: spearman",
                    f"{one}, {other}",
                    published,
                    100 * rho,
                    note,
                    "" if published else _check(rho > 0.8),
                )


def _spearman(first: Floats, second: Floats) -> float:
    return Correlation.build(first, second)()["spearman"]


def compare_triplets(dataset: Pairs, path: Path, threads: int) -> Iterator[ComparedValue]:
    """CIDEr-R, Table 3: the scores of each of the 15 triplets."""
    (file,) = locate(path, "toy_candidate_classification_results.csv", folder="cider_r")
    published = _read_table(file, "key")
    for name, column in TRIPLET_COLUMNS.items():
        note = "From the authors' files"
        scores: Floats | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnreliableWarning)  # these 15 documents are meant
                scorer = CaptionScorer(Pipeline.choose(threads=threads))
                scores = scorer.score(dataset.judged, get_metrics([name])).each[name]
        except CideryError as error:
            note = str(error)
        if name == "spice":
            note += "; the original uses another parser"
        for sides, candidate in ((dataset.first, "CC"), (dataset.second, "IC")):
            for item, row in enumerate(sides):
                yield ComparedValue(
                    "CIDEr-R, Table 3",
                    f"triplet {item + 1}, {candidate}: score",
                    name,
                    float(published[item][f"{column} {candidate}"]),
                    None if scores is None else 100 * float(scores[row]),
                    note,
                )


def compare_curves(dataset: Pairs, path: Path, **settings: Any) -> Iterator[ComparedValue]:
    """CIDEr-R, Figure 3: accuracy by number of references, with their votes only, if known.

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
    drawn = "The authors draw references at random and count only their votes; cidery uses "
    whose = "references and their votes"
    note = f"{drawn}the first ones"
    if dataset.triplets is None:
        whose = "references, winner by all"
        note = (
            f"{drawn}the first ones, and the winner by all 48, since single votes are not "
            "published. The authors drop 60 tied pairs"
        )
    for count in CURVE_POINTS:
        another = dataset.triplets is None and count < max(CURVE_POINTS)
        results = evaluate(_shorten(dataset, count), names, resamples=0, **settings).results
        for statistic, curve in curves.items():
            for name in names:
                yield ComparedValue(
                    "CIDEr-R, Figure 3, authors' curves",
                    f"{dataset.name}, {whose}, {count} of them: {statistic}",
                    name,
                    100 * float(curve[count][CURVE_COLUMNS[name]]),
                    100 * results[name][statistic],
                    note,
                    "another question" if another else "",
                )


def compare_word_recall(dataset: Ratings, path: Path, **settings: Any) -> Iterator[ComparedValue]:
    """Variance, Table 3: the unigram version, if the authors' list of stop words is there."""
    try:
        (stop_words,) = locate(path, "stop_word_list.txt", folder="irv")
    except CideryError:
        return
    metric = IrvUnigram(faithful="code", stop_words=str(stop_words))
    how: dict[str, Any] = {"tokenizer": "whitespace", "mean_ratings": True, "resamples": 0}
    found = evaluate(dataset, {"irv-unigram": metric}, **how, **settings).results
    published, note = {
        "flickr8k-expert": (47.1, "As the authors' code, with their stop words"),
        "composite": (
            42.0,
            "As the authors' code, with their stop words; captions of this copy of COMPOSITE are "
            "in lower case",
        ),
    }[dataset.name]
    yield ComparedValue(
        "Variance, Table 3",
        f"{dataset.name}, unigram version: tau_b",
        "irv-unigram",
        published,
        100 * found["irv-unigram"]["tau_b"],
        note,
    )


def _shorten(dataset: Pairs, count: int) -> Pairs:
    """Return pairs with their first references, and only their votes, if known."""
    votes = dataset.votes
    if dataset.triplets is not None:
        drawn = np.asarray(dataset.triplets)[:, :count]
        votes = {"triplets": drawn.sum(axis=1, dtype=np.int64)}
    return replace(dataset, judged=dataset.judged.draw(count, None), votes=votes, own_references=())


def _read_table(file: Path, key: str) -> dict[int, Mapping[str, str]]:
    with file.open(encoding="utf-8", newline="") as opened:
        return {int(row[key]): row for row in csv.DictReader(opened)}


def compare_changes(threads: int) -> Iterator[ComparedValue]:
    """Wang and Chan 2019, Table 1: scores of changed sentences."""
    note = (
        "Candidate and reference are exchanged (except for SPICE), CIDEr-D uses the frequencies of "
        "COCO's training captions, in which TV, in capitals, is an unknown word"
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
            computed = None if scores is None else 100 * float(scores[place])
            yield ComparedValue(
                "Diversity, Table 1", f"{change}: score", name, value, computed, why
            )
