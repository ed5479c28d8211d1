"""reproduce(): the papers' numbers beside ours, for whatever data there are."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import CideryError, UnreliableWarning
from cidery.meta.datasets import read_dataset
from cidery.meta.datasets.files import locate
from cidery.meta.evaluation import evaluate
from cidery.meta.judging.base import HUMAN
from cidery.meta.judgments import Dataset, Pairs
from cidery.meta.published import ABSENT, EXPERIMENTS, Experiment
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import METRICS, get_metrics
from cidery.statistics import Correlation
from cidery.store import Report, no_report
from cidery.text_tables import latex_table, markdown_table

TRIPLET_COLUMNS = {
    "cider-r": "CIDEr-R",
    "cider-d": "CIDEr-D",
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


@dataclass(frozen=True)
class Line:
    """A published number and ours."""

    source: str
    what: str
    metric: str
    published: float
    ours: float | None
    """None where it could not be computed; the note says why."""
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        return None if self.ours is None else self.ours - self.published


@dataclass(frozen=True)
class Reproduction:
    """All lines, and what the data do not allow."""

    lines: tuple[Line, ...]
    absent: tuple[tuple[str, str], ...] = ABSENT

    def header(self) -> list[str]:
        """Return the columns of `cells`."""
        return ["source", "what", "metric", "published", "ours", "difference", "note"]

    def cells(self) -> list[list[str]]:
        """Return text cells; a note is told once for the lines that share it, by its number."""
        numbers = {note: place for place, note in enumerate(self.notes(), start=1)}
        return [
            [
                line.source,
                line.what,
                line.metric,
                f"{line.published:.1f}",
                "–" if line.ours is None else f"{line.ours:.1f}",
                "" if line.difference is None else f"{line.difference:+.1f}",
                str(numbers.get(line.note, "")),
            ]
            for line in self.lines
        ]

    def notes(self) -> list[str]:
        """Return the notes, each once."""
        return list(dict.fromkeys(line.note for line in self.lines if line.note))

    def records(self) -> list[dict[str, Any]]:
        """Return a row per number with all digits, for CSV."""
        return [vars(line) | {"difference": line.difference} for line in self.lines]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "lines": self.records(),
            "absent": [{"source": source, "reason": reason} for source, reason in self.absent],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_markdown(self) -> str:
        """Return a Markdown table, the notes and what is absent."""
        table = markdown_table(self.header(), self.cells(), left=range(3))
        notes = [f"{number}. {note}." for number, note in enumerate(self.notes(), start=1)]
        absent = [f"- {source}: {reason}." for source, reason in self.absent]
        return "\n".join([table, "", "Notes:", "", *notes, "", "Not here:", "", *absent])

    def to_latex(self) -> str:
        """Return a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.cells(), left=range(3))


def reproduce(
    path: str | os.PathLike[str],
    *,
    cache: bool | str | os.PathLike[str] = False,
    threads: int = 0,
    progress: Report = no_report,
) -> Reproduction:
    """Compute every number of the papers that the data sets in a folder allow.

    Args:
        path: a folder with the data sets' folders in it; those that are not there are left out.
        cache: as in `evaluate`.
        threads: 0 means one per core.
        progress: as in `evaluate`.

    ```python
    print(reproduce("data").to_markdown())
    ```
    """
    datasets = _read_all(path)
    lines: list[Line] = []
    for done, experiment in enumerate(EXPERIMENTS):
        progress(f"{experiment.source}: {experiment.dataset}", done / len(EXPERIMENTS))
        if experiment.dataset in datasets:
            dataset = datasets[experiment.dataset]
            lines += _run(experiment, dataset, cache=cache, threads=threads)
    if "pascal-50s" in datasets:
        lines += _rank_sentences(datasets["pascal-50s"], threads)
    if "cider-r-triplets" in datasets:
        lines += _compare_triplets(datasets["cider-r-triplets"], Path(path), threads)
    if "abstract-50s" in datasets:
        lines += _compare_curve(datasets["abstract-50s"], Path(path), threads)
    return Reproduction(tuple(lines))


def _read_all(path: str | os.PathLike[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(experiment.dataset for experiment in EXPERIMENTS):
        try:
            found[name] = read_dataset(name, path)
        except CideryError:
            continue
    if not found:
        # Let the first reader say what it looked for.
        read_dataset(EXPERIMENTS[0].dataset, path)
    return found


def _run(experiment: Experiment, dataset: Dataset, **settings: Any) -> Iterator[Line]:
    """Yield a line per number; a metric that cannot run says why in its note."""
    names = [name for name in experiment.published if name != HUMAN]
    results: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    # METEOR may lack its data, SPICE its parser: one by one, so that others still run.
    for name in names:
        if name not in METRICS and experiment.dataset != "coco-2015":
            reasons[name] = f"{name} is not built in"
            continue
        try:
            agreement = evaluate(dataset, [name], **(dict(experiment.settings) | settings))
        except CideryError as error:
            reasons[name] = str(error)
            continue
        results |= agreement.results
    for metric, published in experiment.published.items():
        for statistic, value in published.items():
            found = results.get(metric, {}).get(statistic)
            yield Line(
                experiment.source,
                f"{experiment.dataset}, {experiment.what}: {statistic}",
                metric,
                value,
                None if found is None else 100 * found,
                reasons.get(metric, experiment.note),
            )


def _rank_sentences(dataset: Pairs, threads: int, images: int = 100) -> Iterator[Line]:
    """CIDEr, section 8: CIDEr and CIDEr-D rank an image's own sentences nearly alike."""
    from cidery.diversity import score_references

    references = {
        image: list(group[:48]) for image, group in enumerate(dataset.judged.references[:images])
    }
    each = score_references(references, ["cider", "cider-d"], threads=threads).each
    sizes = np.cumsum([len(group) for group in references.values()])[:-1]
    pairs = zip(*(np.split(each[name], sizes) for name in ("cider", "cider-d")), strict=True)
    found = [Correlation.build(one, other)()["spearman"] for one, other in pairs]
    yield Line(
        "CIDEr, 8 and Appendix IV",
        f"pascal-50s, ranks of 48 sentences of an image, mean of {images} images: spearman",
        "cider, cider-d",
        94.0,
        100 * float(np.mean(found)),
        "Over which sentences the paper ranks is not said; here each image's own, each against the "
        "others",
    )


def _compare_triplets(dataset: Pairs, path: Path, threads: int) -> Iterator[Line]:
    """CIDEr-R, Table 3: the scores of each of the 15 triplets."""
    (file,) = locate(path, "toy_candidate_classification_results.csv", folder="cider_r")
    with file.open(encoding="utf-8", newline="") as opened:
        published = {int(row["key"]): row for row in csv.DictReader(opened)}
    names = [name for name in TRIPLET_COLUMNS if name in METRICS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)  # these 15 documents are meant
        each = CaptionScorer(threads=threads).score(dataset.judged, get_metrics(names)).each
    for name in names:
        for sides, candidate in ((dataset.first, "CC"), (dataset.second, "IC")):
            for item, row in enumerate(sides):
                yield Line(
                    "CIDEr-R, Table 3",
                    f"triplet {item + 1}, {candidate}: score",
                    name,
                    float(published[item][f"{TRIPLET_COLUMNS[name]} {candidate}"]),
                    100 * float(each[name][row]),
                    "Published to all digits in the authors' files",
                )


def _compare_curve(dataset: Pairs, path: Path, threads: int) -> Iterator[Line]:
    """CIDEr-R, Figure 3's protocol on ABSTRACT-50S: fewer references, and only their votes."""
    try:
        (file,) = locate(path, "abstract_50S.csv", folder="cider_r")
    except CideryError:
        return
    with file.open(encoding="utf-8", newline="") as opened:
        published = {int(row["n_ref"]): row for row in csv.DictReader(opened)}
    names = [name for name in CURVE_COLUMNS if name in METRICS]
    for count in CURVE_POINTS:
        votes = np.asarray(dataset.triplets)[:, :count].sum(axis=1, dtype=np.int64)
        shortened = replace(
            dataset, judged=dataset.judged.draw(count, None), votes={"triplets": votes}
        )
        found = evaluate(shortened, names, threads=threads, resamples=0).results
        for name in names:
            yield Line(
                "CIDEr-R, authors' curves",
                f"abstract-50s, references and their votes, {count} of them: accuracy",
                name,
                100 * float(published[count][CURVE_COLUMNS[name]]),
                100 * found[name]["accuracy"],
                "The authors draw references at random and count only the drawn ones' votes; here "
                "the first ones",
            )
