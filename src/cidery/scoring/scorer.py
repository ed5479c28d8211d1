"""Scorer: references prepared for some metrics, ready for any candidates of the same images."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery import _version
from cidery.corpus import FEW_IMAGES, Corpus
from cidery.errors import SettingError, UnreliableWarning
from cidery.frequencies import SHIPPED, CountedFrequencies, DocumentFrequencies
from cidery.metrics import FunctionMetric, Metric, is_built_in
from cidery.metrics.base import (
    GroupedCaptions,
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    find_frequencies,
)
from cidery.plugins import find_package
from cidery.runtime.workspace import Workspace
from cidery.scoring.tables import Resampling, ScoreTable, Signature
from cidery.statistics import Floats, sum_by_group
from cidery.text import TokenizerLike, get_tokenizer

if TYPE_CHECKING:
    from cidery.metrics.explanations import Explanation

FrequenciesLike: TypeAlias = str | os.PathLike[str] | DocumentFrequencies


def read_frequencies(frequencies: FrequenciesLike) -> str | DocumentFrequencies:
    """Return `"references"`, a shipped set's name, or the set: what metrics take."""
    if isinstance(frequencies, DocumentFrequencies):
        return frequencies
    if isinstance(frequencies, str) and frequencies in ("references", *SHIPPED):
        return frequencies
    path = Path(frequencies)
    if not path.exists():
        raise SettingError(
            f"no frequencies named {str(frequencies)!r}: neither 'references', a shipped set "
            f"({', '.join(SHIPPED)}) nor an existing file"
        )
    return DocumentFrequencies.load(path)


def tokenize_references(
    corpus: Corpus,
    tokenizer: TokenizerLike = "ptb",
    frequencies: FrequenciesLike | CountedFrequencies = "references",
    threads: int = 0,
) -> TokenizedReferences:
    """Tokenize the references of a corpus, and note what weights are counted on."""
    chosen = get_tokenizer(tokenizer)
    if not isinstance(frequencies, CountedFrequencies):
        frequencies = read_frequencies(frequencies)
    captions = chosen(corpus.references, threads)
    groups = GroupedCaptions(captions, corpus.reference_offsets.astype(np.uint64))
    return TokenizedReferences(groups, chosen, frequencies, corpus.images)


def prepare_metrics(
    metrics: Mapping[str, Metric], references: TokenizedReferences, work: Workspace
) -> dict[Metric, Prepared]:
    """Prepare references for each metric."""
    return {metric: metric.prepare(references, work) for metric in dict.fromkeys(metrics.values())}


@dataclass(frozen=True, eq=False)
class Scorer:
    """References prepared for some metrics: scores any candidates for the same images."""

    references: TokenizedReferences
    metrics: Mapping[str, Metric]
    prepared: Mapping[Metric, Prepared]
    signatures: Mapping[str, str]
    threads: int

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        metrics: Mapping[str, Metric],
        *,
        tokenizer: TokenizerLike = "ptb",
        frequencies: FrequenciesLike | CountedFrequencies = "references",
        threads: int = 0,
    ) -> Scorer:
        """Tokenize the references and make them ready for the metrics."""
        references = tokenize_references(corpus, tokenizer, frequencies, threads)
        warn_few_images(metrics, references, stacklevel=3)
        return cls.prepare(references, metrics, threads)

    @classmethod
    def prepare(
        cls, references: TokenizedReferences, metrics: Mapping[str, Metric], threads: int = 0
    ) -> Scorer:
        """Make references ready for the metrics."""
        signatures = sign_metrics(metrics, references)
        prepared = prepare_metrics(metrics, references, Workspace(threads))
        return cls(references, metrics, prepared, signatures, threads)

    def score(self, candidates: list[str], images: Any, ids: Any) -> ScoreTable:
        """Score captions; `images[i]` is the index of the image of caption i."""
        rows = self.measure(candidates, images)
        count = self.references.image_count
        # Metrics that share rows share their sums, and so the drawing of samples.
        shared = {id(measured): measured for measured in rows.values()}
        summed = {key: sum_images(measured, images, count) for key, measured in shared.items()}
        resampling = {
            label: Resampling(
                summed[id(rows[label])],
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
            )
            for label, metric in self.metrics.items()
        }
        return ScoreTable(
            ids=ids,
            image_count=count,
            corpus={k: m.reduce(rows[k]) for k, m in self.metrics.items()},
            each={k: m.each(rows[k]) for k, m in self.metrics.items()},
            signatures=self.signatures,
            resampling=resampling,
        )

    def explain(self, label: str, candidates: list[str], images: Any) -> list[Explanation]:
        """Return, for each caption, what its words earned or cost in one metric's score."""
        return self.explain_all(candidates, images, [label])[label]

    def explain_all(
        self, candidates: list[str], images: Any, labels: Sequence[str] | None = None
    ) -> dict[str, list[Explanation]]:
        """Return the explanations of several metrics, which share their work; by default of all."""
        from cidery.metrics.explanations import Explanation

        chosen = list(self.metrics if labels is None else labels)
        for label in chosen:
            if label not in self.metrics:
                raise SettingError(f"no metric {label!r} here; there are {', '.join(self.metrics)}")
            if self.metrics[label].explanation_unit is None:
                raise SettingError(f"{label} cannot explain its scores; leave it out")
        if not candidates:
            return {label: [] for label in chosen}
        tokenized = self.tokenize(candidates, images)
        work = Workspace(self.threads)
        texts = self.references.captions.texts
        offsets = self.references.image_offsets.tolist()
        groups = [tuple(texts[offsets[i] : offsets[i + 1]]) for i in tokenized.images.tolist()]
        explained = {}
        with _no_garbage():
            for label in chosen:
                shares = self.prepared[self.metrics[label]].explain(tokenized, work)
                explained[label] = [
                    Explanation.build(label, *one)
                    for one in zip(candidates, groups, shares, strict=True)
                ]
        return explained

    def credit_pieces(
        self, label: str, candidates: list[str], images: Any
    ) -> Sequence[Mapping[str, float]]:
        """Return the contributions to each caption's score by the metric's `explanation_unit`."""
        tokenized = self.tokenize(candidates, images)
        with _no_garbage():
            return self.prepared[self.metrics[label]].credit_pieces(
                tokenized, Workspace(self.threads)
            )

    def tokenize(self, candidates: list[str], images: Any) -> TokenizedCandidates:
        """Cut captions as the references are cut; `images[i]` is the index of the image of one."""
        return TokenizedCandidates(
            self.references.tokenizer(candidates, self.threads),
            np.ascontiguousarray(images, np.uint32),
        )

    def measure(self, candidates: list[str], images: Any) -> dict[str, Floats]:
        """Return each metric's rows; metrics that share rows share one array."""
        return self.measure_tokenized(self.tokenize(candidates, images))

    def measure_tokenized(self, tokenized: TokenizedCandidates) -> dict[str, Floats]:
        """The same for captions that are cut as the references are."""
        work = Workspace(self.threads)
        rows = {metric: p.measure(tokenized, work) for metric, p in self.prepared.items()}
        return {label: rows[metric] for label, metric in self.metrics.items()}


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Pause the search for garbage: going through millions of new spans takes a third of the time.

    Nothing that is made meanwhile refers to itself, so there is nothing to find.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def warn_few_images(
    metrics: Mapping[str, Metric], references: TokenizedReferences, stacklevel: int
) -> None:
    """Warn where weights are counted on too few images; `stacklevel` as for `warnings.warn`."""
    count = references.image_count
    counted = references.frequencies == "references"
    if isinstance(references.frequencies, CountedFrequencies):
        count, counted = references.frequencies.image_count, True
    weighed = any(metric.uses_frequencies for metric in metrics.values())
    if not counted or not weighed or count >= FEW_IMAGES:
        return
    what = "every CIDEr score is 0" if count == 1 else "CIDEr's weights are unreliable"
    shipped = 'frequencies="coco-val2014" (--frequencies coco-val2014) or a set of your own'
    if references.tokenizer.family != "ptb" or references.tokenizer.language not in (None, "en"):
        name = references.tokenizer.id.partition("@")[0]
        shipped = (
            "frequencies= (--frequencies) with a set of your own, which `cidery frequencies build "
            f"--tokenizer {name}` counts"
        )
    warnings.warn(
        f"document frequencies are counted on only {count} image{'s' * (count != 1)}, so {what}; "
        f"pass {shipped}",
        UnreliableWarning,
        stacklevel=stacklevel + 1,
    )


def find_english(
    metrics: Mapping[str, Metric], frequencies: str | DocumentFrequencies
) -> list[str]:
    """Return which of the metrics, and of the frequencies that they use, are of English alone."""
    found = [label for label, metric in metrics.items() if metric.made_for == "en"]
    weighed = any(metric.uses_frequencies for metric in metrics.values())
    if weighed and isinstance(frequencies, str) and frequencies in SHIPPED:
        found.append(f"the document frequencies {frequencies}")
    return found


def sign_metrics(
    metrics: Mapping[str, Metric], references: TokenizedReferences, **others: str
) -> dict[str, str]:
    """Return what a stranger needs to compute the same scores, by label."""
    return {
        label: str(sign(metric, references, others=others)) for label, metric in metrics.items()
    }


def sign(
    metric: Metric,
    references: TokenizedReferences,
    reference_counts: tuple[int, int] | None = None,
    others: Mapping[str, str] = MappingProxyType({}),
) -> Signature:
    """Return the signature of a metric; by default the fewest and most references are counted.

    `others` are settings beyond those of the metric and the references.
    """
    sizes = np.diff(references.image_offsets.astype(np.int64))
    fewest, most = reference_counts or (int(sizes.min()), int(sizes.max()))
    settings = metric.settings() | metric.data_settings()
    settings["refs"] = str(most) if fewest == most else f"{fewest}-{most}"
    if references.tokenizer.language is not None:
        settings["language"] = references.tokenizer.language
    settings["tokenizer"] = references.tokenizer.id
    if metric.uses_frequencies:
        if isinstance(references.frequencies, CountedFrequencies):
            settings["frequencies"] = f"references-{references.frequencies.image_count}"
        elif references.frequencies == "references":
            settings["frequencies"] = f"references-{references.image_count}"
        else:
            found = find_frequencies(references.frequencies, metric.stems)
            settings["frequencies"] = f"{found.name}-{found.fingerprint}"
    settings |= describe_origin(metric) | dict(others)
    settings["version"] = _version.__version__
    return Signature(metric.name, tuple(settings.items()))


def describe_origin(metric: Metric) -> dict[str, str]:
    """Return what the signature says about a metric that is not cidery's own.

    That is the installed package and its version, or else the name of its class.
    """
    if is_built_in(metric):
        return {}
    package = find_package(metric.module)
    if package is not None:
        return {"package": package}
    if isinstance(metric, FunctionMetric):
        return {}  # its settings say which function it is
    return {"class": f"{metric.module}.{type(metric).__qualname__}"}


def sum_images(rows: Floats, images: Any, image_count: int) -> Floats:
    """Sum each image's rows, with their number as the last column: images are the unit drawn."""
    counted = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    return sum_by_group(counted, np.asarray(images), image_count)


def pool_counted(metric: Metric, sums: Floats) -> Floats:
    """Return corpus scores from sums of rows whose last column counts them."""
    return metric.pool(sums[..., :-1], sums[..., -1])
