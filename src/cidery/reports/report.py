"""write_report(): score, test, explain, and put everything into one page."""

from __future__ import annotations

import datetime
import errno
import os
import warnings
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cidery import _version
from cidery.auditing import audit_files
from cidery.corpus import Candidates, Corpus, Missing, References, SlicesLike
from cidery.errors import DataWarning, SettingError, SliceWarning, UnreliableWarning
from cidery.metrics import Metric
from cidery.reports import page_data as contents
from cidery.reports.citation import cite
from cidery.reports.page import find_plotly, make_page
from cidery.reports.summary import explain_scores
from cidery.reports.thumbnails import check_images, find_thumbnails, list_sources
from cidery.runtime import current_progress
from cidery.scoring.comparison import Comparison, Sampling, compare_evaluation
from cidery.scoring.evaluation import Evaluation
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.slices import SliceMode
from cidery.scoring.tables import ScoreTable
from cidery.statistics import RESAMPLES
from cidery.storage import write_atomically
from cidery.tables import without_nan

if TYPE_CHECKING:
    from typing_extensions import Unpack

LAYOUT = 1
"""Version of the JSON in a page."""
LEADS = ("cider-d", "cider-r", "cider")
"""Metrics that a page begins with, and that color words, if they are among those chosen."""
SLOW = ("claims", "contextual", "spice")
"""Extras of metrics that take too long to explain thousands of captions, unless asked to."""
_OURS = (DataWarning, SliceWarning, UnreliableWarning)


@dataclass(frozen=True)
class Report:
    """A page that was written, and what is in it."""

    path: Path
    size: int
    """Bytes of the file."""
    summary: tuple[str, ...]
    """What the scores mean, a sentence each."""
    content: Mapping[str, Any] = field(repr=False)
    """The JSON of the page."""

    @property
    def has_charts(self) -> bool:
        """Whether Plotly was there to draw."""
        return bool(self.content["charts"])


def write_report(
    path: str | os.PathLike[str],
    systems: Mapping[str, Candidates],
    references: References,
    metrics: PipelineLike = None,
    *,
    title: str | None = None,
    images: str | os.PathLike[str] | None = None,
    embed_images: bool = False,
    explain: str | None = "",
    audit: bool = True,
    missing: Missing = "error",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    by: SlicesLike | None = None,
    slices: SliceMode = "whole",
    references_name: str = "references",
    by_name: str | None = None,
    **settings: Unpack[PipelineSettings],
) -> Report:
    """Write one HTML file with the scores, tests, pictures and captions of one or more systems.

    The file opens from disk and loads nothing from elsewhere, but for images by address. Its
    numbers are those of `score` and `compare`; they are in one JSON, `<script id="data">`.

    Args:
        path: the file to write.
        systems: name -> captions, as `score` takes them.
        references: as `score` takes them.
        metrics: as `score` takes them; the page begins with CIDEr-D, or else with the first.
        title: what the page is called.
        images: a folder of images, named after their ids, or an address with `{image}` in it
            (`{image:012}`: twelve digits).
        embed_images: put small pictures into the page, so that it can be sent without the folder.
        explain: the metric by which words are colored; None: no colors; by default CIDEr-D, or
            else the first of those chosen that explains its scores and needs no language model.
        audit: also show what `audit_files` finds in each system's captions.
        missing: as in `compare`: with `"skip"`, images are kept that all systems describe.
        confidence: of intervals.
        resamples: of intervals and tests, as in `compare`.
        seed: of the samples.
        by: slices, as in `score`.
        slices: as in `score`.
        references_name: what the page and messages call the references.
        by_name: what the page and messages call the slices.
        settings: as in `score`.

    ```python
    report = cidery.write_report("report.html", {"ours": a, "theirs": b}, references)
    print(*report.summary)
    ```
    """
    target = Path(path)
    _check_settings(target, systems, images, embed_images)
    pipeline = Pipeline.choose(metrics, **settings)
    explained = find_explained(pipeline.metrics, explain)
    sampling = Sampling(confidence, resamples, seed)
    step = current_progress()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        step("scoring", 0.0)
        evaluation = Evaluation.run(
            systems,
            references,
            pipeline,
            missing=missing,
            by=by,
            slices=slices,
            references_name=references_name,
            by_name=by_name,
        )
        corpora = evaluation.corpora
        first = next(iter(corpora.values()))
        thumbnails = None
        if images is not None:
            step("finding images", 0.2)
            thumbnails = find_thumbnails(images, first.images, target, embed=embed_images)
        step("resampling", 0.25)
        compared = compare_evaluation(evaluation, sampling)
    told = _tell_again(raised)
    content = {
        "title": title or _make_title(list(systems)),
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "references_name": references_name,
        "warnings": told,
        "findings": _audit(systems, references, references_name) if audit else None,
        **_describe_scores(compared, sampling, first, pipeline.metrics),
        **_describe_captions(evaluation, explained),
        "diversity": without_nan(_measure_diversity(corpora, pipeline)),
        "thumbnails": thumbnails,
    }
    step("writing", 0.9)
    plotly = find_plotly()
    content["charts"] = plotly is not None
    page = make_page(content, plotly, list_sources(thumbnails))
    write_atomically(target, page)
    return Report(target, len(page), tuple(content["summary"]), MappingProxyType(content))


def _check_settings(
    path: Path, systems: Sized, images: str | os.PathLike[str] | None, embed: bool
) -> None:
    """Refuse, before long work, what cannot be done, and a file that cannot be written."""
    if not systems:
        raise SettingError("a report needs at least one system")
    if images is not None:
        check_images(images, embed=embed)
    elif embed:
        raise SettingError("there are no images to put into the page: name their folder")
    if path.is_dir():
        raise SettingError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        problem = f"cannot be written: there is no folder {path.parent}"
        raise FileNotFoundError(errno.ENOENT, problem, os.fspath(path))


def find_explained(metrics: Mapping[str, Metric], wanted: str | None) -> str | None:
    """Return the label of the metric that colors words; None where none is wanted or can."""
    if wanted is None:
        return None
    able = [label for label, metric in metrics.items() if metric.explanation_unit]
    if wanted:
        if wanted not in metrics:
            raise SettingError(
                f"words cannot be colored by {wanted!r}, which is not among the metrics: "
                f"{', '.join(metrics)}"
            )
        if wanted not in able:
            raise SettingError(
                f"words cannot be colored by {wanted!r}, which explains no words; these do: "
                f"{', '.join(able) or 'none of those chosen'}"
            )
        return wanted
    quick = [label for label in able if metrics[label].needs.extra not in SLOW]
    return next((label for label in LEADS if label in quick), next(iter(quick), None))


def _make_title(systems: Sequence[str]) -> str:
    if len(systems) == 1:
        return f"Captions of {systems[0]}"
    return f"Captions of {', '.join(systems[:-1])} and {systems[-1]}"


def _tell_again(raised: Sequence[warnings.WarningMessage]) -> list[str]:
    """Warn of what was recorded, once, and return the texts of our own warnings."""
    told: dict[str, type[Warning]] = {str(item.message): item.category for item in raised}
    for message, category in told.items():
        warnings.warn(message, category, stacklevel=3)
    return [message for message, category in told.items() if issubclass(category, _OURS)]


def _describe_scores(
    compared: Comparison, sampling: Sampling, corpus: Corpus, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Return what `compare` found, and what it means."""
    labels = list(next(iter(compared.tables.values())).corpus)
    lead = next((label for label in LEADS if label in labels), labels[0])
    lower = [label for label in labels if metrics[label].lower_is_better]
    intervals = {name: table.intervals(**vars(sampling)) for name, table in compared.tables.items()}
    return {
        "report": LAYOUT,
        "cidery": _version.__version__,
        "citation": cite(),
        "lead": lead,
        "lower": lower,
        "summary": explain_scores(compared.tables, compared.tests, intervals, lead, lower),
        "comparison": compared.to_dict(),
        "intervals": {name: contents.write_intervals(i) for name, i in intervals.items()},
        "slices": _describe_slices(compared.tables, sampling, corpus),
    }


def _describe_slices(
    tables: Mapping[str, ScoreTable], sampling: Sampling, corpus: Corpus
) -> dict[str, Any] | None:
    """Return which images are in which slice, and the intervals of each system there."""
    first = next(iter(tables.values())).slices
    if first is None:
        return None
    places = dict(zip(corpus.candidate_ids, corpus.candidate_images.tolist(), strict=True))
    intervals: dict[str, dict[str, Any]] = {name: {} for name in first}
    for system, table in tables.items():
        for name, part in (table.slices or {}).items():
            intervals[name][system] = contents.write_intervals(part.intervals(**vars(sampling)))
    return {
        "by": first.by,
        "note": first.note,
        "members": {k: sorted({places[i] for i in part.ids}) for k, part in first.items()},
        "intervals": intervals,
    }


def _describe_captions(evaluation: Evaluation, explained: str | None) -> dict[str, Any]:
    """Return images, references and captions, with what words earned if they are explained."""
    step = current_progress()
    step("describing captions", 0.4)
    corpora, scorer = evaluation.corpora, evaluation.scorer
    first = next(iter(corpora.values()))
    columns, contrasts = contents.describe_systems(corpora, evaluation.tables, scorer)
    content = {
        "images": contents.list_images(first),
        "references": contents.list_references(first),
        "names": list(columns),  # browsers put names that are whole numbers first
        "systems": columns,
        "contrasts": contrasts,
        "explained": None,
    }
    if explained is None:
        return content
    step("explaining words", 0.6)
    words, unit = contents.color_words(corpora, scorer, explained)
    for name, values in words.items():
        columns[name]["words"] = values
    return content | {"explained": {"metric": explained, "step": unit}}


def _measure_diversity(corpora: Mapping[str, Corpus], pipeline: Pipeline) -> dict[str, Any] | None:
    """Return how varied the captions are, where each image has several."""
    if not contents.has_sets(corpora.values()):
        return None
    from cidery.diversity import compare_diversity

    sets: dict[str, dict[Any, list[str]]] = {}
    for name, corpus in corpora.items():
        found = sets.setdefault(name, {image: [] for image in corpus.images})
        for caption, place in zip(corpus.candidates, corpus.candidate_images.tolist(), strict=True):
            found[corpus.images[place]].append(caption)
    first = next(iter(corpora.values()))
    references = dict(zip(first.images, contents.list_references(first), strict=True))
    # The frequencies that Self-CIDEr and accuracy weigh with count the words of this tokenizer.
    weighed = pipeline.tokenizer.family == "ptb"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        compared = compare_diversity(
            sets,
            None if weighed else ["mbleu", "distinct", "unique"],
            references=references if weighed and "humans" not in sets else None,
            tokenizer=pipeline.tokenizer,
            threads=pipeline.threads,
        )
    return {
        "scores": {name: dict(table.corpus) for name, table in compared.tables.items()},
        "signatures": dict(next(iter(compared.tables.values())).signatures),
        "notes": list(compared.notes),
    }


def _audit(
    systems: Mapping[str, Candidates], references: References, references_name: str
) -> dict[str, Any]:
    """Return what is suspicious about each system's captions."""
    current_progress()("auditing captions", 0.3)
    found = {
        name: audit_files(
            captions, references, candidates_name=name, references_name=references_name
        )
        for name, captions in systems.items()
    }
    return {name: [without_nan(f.to_dict()) for f in a.findings] for name, a in found.items()}
