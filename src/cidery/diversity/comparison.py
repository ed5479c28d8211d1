"""compare_diversity(): diversity of several systems, and of humans, on the same images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cidery.corpus import ImageId, Missing, References
from cidery.diversity.accuracy import BETA_SQUARED, choose_accuracy, match_references
from cidery.diversity.base import Measure
from cidery.diversity.by_count import diversity_by_count
from cidery.diversity.caption_sets import SetsLike, Training, as_groups
from cidery.diversity.kernels import Kernel
from cidery.diversity.latent import CaptionMap, LatentSemantics, latent_semantics, map_captions
from cidery.diversity.measurement import measure_diversity
from cidery.diversity.measures import MeasureLike, get_measures
from cidery.diversity.self_cider import SelfCider
from cidery.diversity.word_frequencies import WordFrequencies, count_words
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import ScoreTable
from cidery.tables import Column, Table, Tabular

if TYPE_CHECKING:
    from typing_extensions import Unpack

HUMANS = "humans"
"""Name of the references in a comparison."""
MAPPED_IMAGES = 10
"""Number of images on the map of captions (Wang and Chan 2019, figure 9)."""


@dataclass(frozen=True, eq=False)
class DiversityDetails:
    """Data of figures besides the tables."""

    curves: Mapping[str, Mapping[int, ScoreTable]]
    """system -> number of captions -> table; empty without references or Self-CIDEr"""
    words: Mapping[str, WordFrequencies]
    """system -> word frequencies"""
    topics: Mapping[str, LatentSemantics]
    """system -> topics of its first image's captions"""
    map: CaptionMap
    """Captions of the first system's first images."""


@dataclass(frozen=True, eq=False)
class DiversityComparison(Tabular):
    """Diversity of several systems and of humans.

    ```python
    print(compare_diversity({"ours": sets}, references=references))
    ```
    """

    tables: Mapping[str, ScoreTable]
    """system -> its table; `humans` is the last"""
    notes: tuple[str, ...] = ()
    """Warnings, such as a reason why `humans` is missing."""
    details: DiversityDetails | None = None

    @property
    def first(self) -> ScoreTable:
        """Table of the first system."""
        return next(iter(self.tables.values()))

    def table(self) -> Table:
        """Return a row per measure and a column per system."""
        rows = [
            {"measure": measure}
            | {name: _count(measure, table) for name, table in self.tables.items()}
            for measure in self.first.corpus
        ]
        columns = [Column("measure"), *(Column(name, ".4f") for name in self.tables)]
        signatures = list(self.first.signatures.values())
        return Table(columns, rows, notes=self.notes, signatures=signatures)

    def to_dict(self) -> dict[str, Any]:
        """Return the first system's table, ready for JSON, with the others in `"systems"`."""
        name, *others = self.tables
        content = self.tables[name].to_dict()
        if others:
            content["systems"] = {other: self.tables[other].to_dict() for other in others}
        return content


def _count(measure: str, table: ScoreTable) -> float:
    """Return a corpus value; the size of a vocabulary as an integer."""
    value = table.corpus[measure]
    return int(value) if measure == "vocabulary" and value == value else value


def compare_diversity(
    systems: Mapping[str, SetsLike],
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    references: References | None = None,
    training: Training | None = None,
    details: bool = False,
    progress: Callable[[str], None] | None = None,
    kernel: Kernel = "cider",
    accuracy: PipelineLike = "cider-d",
    beta_squared: float = BETA_SQUARED,
    stop_words: str | tuple[str, ...] | None = None,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> DiversityComparison:
    """Measure the diversity of several systems, and of humans where there are references.

    Args:
        systems: name -> sets of captions, as in `measure_diversity`.
        measures: as in `measure_diversity`.
        references: add accuracy and F, and a system `humans`: the references of the first system's
            images, each scored against the others of its image.
        training: as in `measure_diversity`.
        details: also compute the data of `cidery.plots.plot_diversity`.
        progress: called with the name of each step before it begins.
        kernel: as in `measure_diversity`.
        accuracy: as in `measure_diversity`.
        beta_squared: as in `measure_diversity`.
        stop_words: as in `measure_diversity`.
        missing: as in `measure_diversity`.
        settings: as in `measure_diversity`.

    ```python
    comparison = compare_diversity({"ours": sets}, references=references)
    comparison.tables["humans"].corpus["self-cider"]
    ```
    """
    if not systems:
        raise InputError("no systems to compare")
    if references is not None and HUMANS in systems:
        raise SettingError(f"{HUMANS!r} is reserved for the references; rename that system")
    if measures is not None and not isinstance(measures, str | Measure):
        measures = list(measures)
    pipeline = choose_accuracy(accuracy, **settings)
    common: dict[str, Any] = {
        "kernel": kernel,
        "accuracy": pipeline,
        "beta_squared": beta_squared,
        "stop_words": stop_words,
        "missing": missing,
    }
    report = progress or (lambda step: None)  # noqa: ARG005
    sets = dict(systems)
    tables: dict[str, ScoreTable] = {}
    for name, captions in systems.items():
        report(f"measuring {name}")
        tables[name] = measure_diversity(
            captions, measures, references=references, training=training, **common
        )
    notes: list[str] = []
    if references is not None:
        report(f"measuring {HUMANS}")
        first = next(iter(systems.values()))
        try:
            humans = match_references(first, references, missing)
            tables[HUMANS] = measure_diversity(
                humans, measures, references="leave-one-out", training=training, **common
            )
        except InputError as error:
            notes.append(f"humans are missing: {error}")
        else:
            sets[HUMANS] = humans
    found = None
    if details:
        report("preparing figures")
        common["kernel"] = _choose_kernel(measures, kernel)
        found = _find_details(sets, tables, references, pipeline, common)
    return DiversityComparison(tables, tuple(notes), found)


def _choose_kernel(measures: Any, kernel: Kernel) -> Kernel:
    """Return the kernel of the first Self-CIDEr measure."""
    chosen = get_measures(measures, kernel=kernel)
    return next((one.kernel for one in chosen.values() if isinstance(one, SelfCider)), kernel)


def _find_details(
    sets: Mapping[str, SetsLike],
    tables: Mapping[str, ScoreTable],
    references: References | None,
    pipeline: Pipeline,
    common: dict[str, Any],
) -> DiversityDetails:
    measured = {name: _take(found, tables[name].ids) for name, found in sets.items()}
    first = next(iter(measured.values()))
    curves: dict[str, Mapping[int, ScoreTable]] = {}
    spread = all(any(label.startswith("self-cider") for label in t.corpus) for t in tables.values())
    if references is not None and spread:
        curves = {
            name: diversity_by_count(found, references, **common)
            for name, found in sets.items()
            if name != HUMANS
        }
    frequencies = pipeline.frequencies
    if frequencies == "references" and references is not None:
        frequencies = DocumentFrequencies.from_references(references, tokenizer=pipeline.tokenizer)
    shared: dict[str, Any] = {
        "kernel": common["kernel"],
        "tokenizer": pipeline.tokenizer,
        "frequencies": frequencies,
    }
    return DiversityDetails(
        curves,
        {
            name: count_words(found, tokenizer=pipeline.tokenizer)
            for name, found in measured.items()
        },
        {
            name: latent_semantics(next(iter(found.values())), **shared)
            for name, found in measured.items()
        },
        map_captions(dict(list(first.items())[:MAPPED_IMAGES]), **shared),
    )


def _take(sets: SetsLike, images: Sequence[ImageId]) -> dict[ImageId, list[str]]:
    """Return the sets of the given images."""
    groups = as_groups(sets, "captions")
    return {image: list(groups[image]) for image in images}
