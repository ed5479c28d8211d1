"""write_report(): scores, tests and explanations of systems in one HTML page."""

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
from cidery.auditing import audit_systems
from cidery.corpus import ALL, Corpus, Missing, References, SlicesLike, SystemCaptions
from cidery.errors import DataWarning, SettingError, SliceWarning, UnreliableWarning
from cidery.metrics import Metric
from cidery.reports import page_data as contents
from cidery.reports.citation import cite
from cidery.reports.page import find_plotly, make_page
from cidery.reports.summary import explain_scores
from cidery.reports.thumbnails import check_images, find_thumbnails, list_sources
from cidery.runtime import current_progress
from cidery.scoring.comparison import Comparison, compare_evaluation
from cidery.scoring.evaluation import Evaluation, name_runs
from cidery.scoring.pair_tests import Sampling
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.slice_scores import SliceMode
from cidery.statistics import RESAMPLES
from cidery.storage import write_atomically
from cidery.tables import without_nan

if TYPE_CHECKING:
    from typing_extensions import Unpack

LAYOUT = 1
"""Version of the JSON layout."""
LEAD_METRICS = ("cider-d", "cider-r", "cider")
"""Preferred metrics for the summary and for coloring words."""
SLOW_EXTRAS = ("claims", "contextual", "spice")
"""Extras of metrics that are too slow to explain all captions by default."""
_OWN_WARNINGS = (DataWarning, SliceWarning, UnreliableWarning)


@dataclass(frozen=True)
class Report:
    """A written report and its content."""

    path: Path
    size: int
    """Bytes of the file."""
    summary: tuple[str, ...]
    """Summary of the scores, in sentences."""
    content: Mapping[str, Any] = field(repr=False)
    """Data of the page."""

    @property
    def has_charts(self) -> bool:
        """True if the page has charts (extra `report`)."""
        return bool(self.content["charts"])


def write_report(
    path: str | os.PathLike[str],
    systems: Mapping[str, SystemCaptions],
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
    strict: bool = False,
    clean: str | Sequence[str] = (),
    references_name: str = "references",
    by_name: str | None = None,
    **settings: Unpack[PipelineSettings],
) -> Report:
    """Write one HTML file with the scores, tests, pictures and captions of one or more systems.

    The file is self-contained, except for images by URL. Scores are those of `score` and `compare`,
    and are in `<script id="data">` as JSON.

    Args:
        path: output file.
        systems: name -> captions, or several runs, as in `compare`.
        references: as in `score`.
        metrics: as in `score`; the summary is about CIDEr-D if it is among them, else the first.
        title: title of the page.
        images: a folder of images named after their ids, or a URL with `{image}` in it
            (`{image:012}`: twelve digits).
        embed_images: embed thumbnails, so that the page does not need the folder.
        explain: the metric that colors words; None: no colors. Default: CIDEr-D, or the first
            metric that explains its scores and needs no language model.
        audit: include the findings of `audit_files` for each system.
        missing: as in `compare`.
        confidence: as in `compare`.
        resamples: as in `compare`.
        seed: as in `compare`.
        by: slices, as in `score`.
        slices: as in `score`.
        strict: as in `score`.
        clean: as in `score`.
        references_name: name of the references in the page and in messages.
        by_name: name of the slices in the page and in messages.
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
            strict=strict,
            clean=clean,
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
        has_runs = any(table.runs for table in evaluation.tables.values())
    messages = _reissue(raised)
    content = {
        "title": title or _make_title(list(systems)),
        "created": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "references_name": references_name,
        "warnings": messages,
        "findings": _audit(systems, references, references_name) if audit else None,
        **_describe_scores(compared, first, pipeline.metrics),
        **_describe_captions(evaluation, explained),
        "diversity": None if has_runs else without_nan(_measure_diversity(corpora, pipeline)),
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
    """Raise errors for invalid settings before the long work."""
    if not systems:
        raise SettingError("a report needs at least one system")
    if images is not None:
        check_images(images, embed=embed)
    elif embed:
        raise SettingError("embed_images needs images; pass the folder of the images")
    if path.is_dir():
        raise SettingError(f"{path} is a folder; pass the name of a file")
    if not path.parent.is_dir():
        problem = f"cannot be written: there is no folder {path.parent}"
        raise FileNotFoundError(errno.ENOENT, problem, os.fspath(path))


def find_explained(metrics: Mapping[str, Metric], wanted: str | None) -> str | None:
    """Return the label of the metric that colors words, if any."""
    if wanted is None:
        return None
    able = [label for label, metric in metrics.items() if metric.explanation_unit]
    if wanted:
        if wanted not in metrics:
            raise SettingError(f"explain={wanted!r} is not among the metrics: {', '.join(metrics)}")
        if wanted not in able:
            raise SettingError(
                f"explain={wanted!r} does not explain words; metrics that do: "
                f"{', '.join(able) or 'none'}"
            )
        return wanted
    quick = [label for label in able if metrics[label].needs.extra not in SLOW_EXTRAS]
    return next((label for label in LEAD_METRICS if label in quick), next(iter(quick), None))


def _make_title(systems: Sequence[str]) -> str:
    if len(systems) == 1:
        return f"Captions of {systems[0]}"
    return f"Captions of {', '.join(systems[:-1])} and {systems[-1]}"


def _reissue(raised: Sequence[warnings.WarningMessage]) -> list[str]:
    """Issue recorded warnings once, and return the texts of cidery's own."""
    messages: dict[str, type[Warning]] = {str(item.message): item.category for item in raised}
    for message, category in messages.items():
        warnings.warn(message, category, stacklevel=3)
    return [
        message for message, category in messages.items() if issubclass(category, _OWN_WARNINGS)
    ]


def _describe_scores(
    compared: Comparison, corpus: Corpus, metrics: Mapping[str, Metric]
) -> dict[str, Any]:
    """Return the result of `compare` and its summary."""
    labels = list(next(iter(compared.tables.values())).corpus)
    lead = next((label for label in LEAD_METRICS if label in labels), labels[0])
    intervals = compared.intervals[ALL]
    return {
        "report": LAYOUT,
        "cidery": _version.__version__,
        "citation": cite(),
        "lead": lead,
        "lower": [label for label in labels if metrics[label].lower_is_better],
        "summary": explain_scores(compared, lead),
        "comparison": compared.to_dict(),
        "intervals": {name: contents.write_intervals(i) for name, i in intervals.items()},
        "slices": _describe_slices(compared, corpus),
    }


def _describe_slices(compared: Comparison, corpus: Corpus) -> dict[str, Any] | None:
    """Return the images of each slice, and the intervals of each system."""
    first = next(iter(compared.tables.values())).slices
    if first is None:
        return None
    places = dict(zip(corpus.candidate_ids, corpus.candidate_images.tolist(), strict=True))
    return {
        "by": first.by,
        "note": first.note,
        "members": {k: sorted({places[i] for i in part.ids}) for k, part in first.items()},
        "intervals": {
            name: {k: contents.write_intervals(i) for k, i in compared.intervals[name].items()}
            for name in first
        },
    }


def _describe_captions(evaluation: Evaluation, explained: str | None) -> dict[str, Any]:
    """Return images, references and captions, with the values of words if requested."""
    step = current_progress()
    step("describing captions", 0.4)
    corpora, scorer = evaluation.corpora, evaluation.scorer
    first = next(iter(corpora.values()))
    columns, contrasts = contents.describe_systems(corpora, evaluation.tables, scorer)
    content = {
        "images": contents.list_images(first),
        "references": contents.list_references(first),
        "names": list(columns),  # JavaScript moves integer keys to the front
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
    """Return the diversity of captions, if each image has several."""
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
    # Document frequencies of Self-CIDEr and accuracy exist for this tokenizer only.
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
    systems: Mapping[str, SystemCaptions], references: References, references_name: str
) -> dict[str, Any]:
    """Return the findings of `audit_files` for each system, or for each of its runs."""
    current_progress()("auditing captions", 0.3)
    runs = {name: run for named in name_runs(systems).values() for name, run in named.items()}
    found = audit_systems(runs, references, references_name)
    return {name: [without_nan(f.to_dict()) for f in a.findings] for name, a in found.items()}
