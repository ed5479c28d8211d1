"""Pipeline: metrics, tokenizer, document frequencies and threads, chosen once for a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypedDict

import numpy as np

from cidery import _version
from cidery.corpus import (
    FEW_IMAGES,
    LENGTH_ROBUST_METRICS,
    LENGTH_SENSITIVE_METRICS,
    Corpus,
    may_have_length_gap,
    measure_length_gap,
)
from cidery.errors import SettingError, UnreliableWarning, warn_caller
from cidery.frequencies import SHIPPED, DocumentFrequencies
from cidery.metrics import FunctionMetric, Metric, MetricsLike, get_metrics, is_built_in
from cidery.metrics.base import (
    FrequencyNeeds,
    GroupedCaptions,
    TokenizedReferences,
    find_frequencies,
)
from cidery.metrics.selection import find_metric_module
from cidery.metrics.settings import Faithful
from cidery.names import suggest_name
from cidery.plugins import find_package
from cidery.runtime import Workspace, check_threads
from cidery.scoring.score_table import Signature
from cidery.scoring.scorer import Scorer, run_metrics
from cidery.text import (
    LANGUAGES,
    Tokenizer,
    TokenizerLike,
    choose_tokenizer,
    scan_captions,
    warn_script_problems,
)

FrequenciesLike: TypeAlias = str | os.PathLike[str] | DocumentFrequencies
PipelineLike: TypeAlias = "MetricsLike | Pipeline"

RESERVED_LABELS = ("file", "groups", "image_id", "row")
"""Columns of the files and tables that hold one column per metric."""


class PipelineSettings(TypedDict, total=False):
    """Keyword arguments of `Pipeline.choose`, which `score` and other functions pass on to it."""

    preset: str | None
    tokenizer: TokenizerLike | None
    language: str | None
    frequencies: FrequenciesLike | None
    faithful: Faithful | None
    threads: int


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Metrics with the tokenizer, document frequencies and threads that they are computed with.

    Immutable and picklable. `score`, `compare` and all other functions that take metrics take a
    pipeline in their place.

    ```python
    pipeline = cidery.Pipeline.choose(["cider-d", "rouge-l"], frequencies="coco-val2014")
    table = cidery.score({"a": "a dog"}, {"a": ["a dog runs"]}, pipeline)
    ```
    """

    metrics: Mapping[str, Metric]
    """Metrics by label."""
    tokenizer: Tokenizer
    frequencies: str | DocumentFrequencies = "references"
    """`"references"`, the name of a shipped set, or a set."""
    threads: int = 0
    """Maximum number of threads; 0 means one per core."""

    def __post_init__(self) -> None:
        for label in self.metrics:
            if label in RESERVED_LABELS:
                raise SettingError(
                    f"a metric cannot be labeled {label!r}, the name of a column; rename the "
                    f'function or pass another label: metrics={{"my_{label}": …}}'
                )
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipeline, (dict(self.metrics), self.tokenizer, self.frequencies, self.threads)

    @classmethod
    def choose(
        cls,
        metrics: PipelineLike = None,
        *,
        preset: str | None = None,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        frequencies: FrequenciesLike | None = None,
        faithful: Faithful | None = None,
        threads: int = 0,
    ) -> Pipeline:
        """Return the pipeline of these settings, after checking all of them.

        Args:
            metrics: names (`"cider-d"`, `"bleu"`, `"rouge-l:beta=1"`), metric objects, functions
                `f(candidate, references) -> float`, or a dict of labels to these. Default: BLEU
                1-4, ROUGE-L, CIDEr-D and CIDEr-R. A pipeline is returned as it is.
            preset: metrics that are reported together: `"coco"`, `"nocaps"`, `"dcase"`,
                `"dense-video"`, `"vlm"`, or a TOML file; `metrics` are added to it.
            tokenizer: `"ptb"`, `"ptb-coco"`, `"whitespace"`, `"words"`, `"char"`, a segmenter such
                as `"jieba"`, the name of a tokenizer that another package adds, or a callable.
                Default: the tokenizer of the language, or `"ptb"`.
            language: a code such as `"zh"` or `"de"`, which chooses the tokenizer, the spelling
                and, for metrics given by name, the stemmer and METEOR's data. Default: English.
            frequencies: document frequencies of the CIDEr family: `"references"` (counted on the
                images scored), a shipped set (`"coco-val2014"`, `"coco-train2014"`), a
                DocumentFrequencies or the path of a saved one. Default: `"references"`, unless
                the function called says otherwise.
            faithful: `"coco"` or `"paper"` for metrics given by name. Default: each metric's own.
            threads: maximum number of threads; 0 means one per core. Scores do not depend on it.
        """
        if isinstance(metrics, Pipeline):
            others = (preset, tokenizer, language, frequencies, faithful)
            if threads or any(setting is not None for setting in others):
                raise SettingError("a Pipeline contains all settings; remove the others")
            return metrics
        chosen = get_metrics(metrics, faithful, language, preset)
        return cls(
            chosen,
            choose_tokenizer(tokenizer, language),
            read_frequencies("references" if frequencies is None else frequencies),
            check_threads(threads),
        )

    @property
    def language(self) -> str | None:
        """Code of the language that was chosen; None: not chosen, captions are in English."""
        return self.tokenizer.language

    @property
    def uses_frequencies(self) -> bool:
        """True if a metric depends on document frequencies."""
        return any(metric.needs.frequencies for metric in self.metrics.values())

    def with_shipped_frequencies(self, name: str) -> Pipeline:
        """Return the pipeline with a shipped set, which is of English, if it fits the tokenizer."""
        fits = self.tokenizer.family == "ptb" and self.language in (None, "en")
        return replace(self, frequencies=name) if fits else self

    def check(
        self,
        systems: Mapping[str, Corpus],
        references_name: str = "references",
        image_count: int | None = None,
    ) -> None:
        """Warn about captions for which this pipeline gives unreliable scores.

        Args:
            systems: captions by name, with the same references.
            references_name: name of the references in messages.
            image_count: number of images. Default: as many as the references have.
        """
        first = next(iter(systems.values()))
        captions = {name: corpus.candidates for name, corpus in systems.items()}
        count = len(first.reference_offsets) - 1 if image_count is None else image_count
        self.check_captions({**captions, references_name: first.references}, count)
        sensitive = [
            label
            for label, metric in self.metrics.items()
            if metric.name in LENGTH_SENSITIVE_METRICS
        ]
        for name, corpus in systems.items() if sensitive else ():
            if may_have_length_gap(corpus) and (gap := measure_length_gap(corpus)).is_wide:
                warn_caller(
                    f"{name}: {gap}; {' and '.join(sensitive)} is unreliable at these lengths; "
                    f"use {LENGTH_ROBUST_METRICS}, or cider-r",
                    UnreliableWarning,
                )

    def check_captions(
        self, captions: Mapping[str, Sequence[str]], image_count: int | None = None
    ) -> None:
        """Warn about scripts, languages and numbers of images that the settings do not fit.

        Args:
            captions: captions by name.
            image_count: number of images on which document frequencies are counted, if they are
                to be checked.
        """
        warn_script_problems(captions, self.tokenizer, self._list_english_only())
        counted = self.uses_frequencies and self.frequencies == "references"
        if counted and image_count is not None and image_count < FEW_IMAGES:
            others = [text for text in captions.values() if not may_be_english(text)]
            language = scan_captions(others[0]).language if others else "en"
            warn_caller(self._describe_few_images(image_count, language), UnreliableWarning)

    def _list_english_only(self) -> list[str]:
        """Return the metrics, and the document frequencies used, that support English only."""
        found = [label for label, metric in self.metrics.items() if metric.needs.language == "en"]
        if self.uses_frequencies and self.frequencies in tuple(SHIPPED):
            found.append(f"the document frequencies {self.frequencies}")
        return found

    def _describe_few_images(self, count: int, language: str | None) -> str:
        effect = "every CIDEr score is 0" if count == 1 else "CIDEr's weights are unreliable"
        remedy = 'frequencies="coco-val2014" (--frequencies coco-val2014) or a set of your own'
        if (
            self.tokenizer.family != "ptb"
            or self.language not in (None, "en")
            or not (self.language or language == "en")
        ):
            option = f"--tokenizer {self.tokenizer.id.partition('@')[0]}"
            if self.language is None and self.tokenizer.family == "ptb" and language in LANGUAGES:
                option = f"--language {language}"
            remedy = (
                "frequencies= (--frequencies) with a set of your own, which `cidery frequencies "
                f"build {option}` counts"
            )
        images = f"{count} image{'s' * (count != 1)}"
        return f"document frequencies are counted on only {images}, so {effect}; pass {remedy}"

    def sign(
        self, image_count: int, reference_counts: tuple[int, int], **others: str
    ) -> dict[str, str]:
        """Return the signature of each metric: the settings that reproduce its scores.

        Args:
            image_count: number of images.
            reference_counts: smallest and largest number of references of an image.
            others: settings beyond those of the pipeline.
        """
        fewest, most = reference_counts
        references = str(most) if fewest == most else f"{fewest}-{most}"
        signatures = {}
        for label, metric in self.metrics.items():
            settings = metric.settings() | metric.data_settings() | {"refs": references}
            if self.language is not None:
                settings["language"] = self.language
            settings["tokenizer"] = self.tokenizer.id
            if metric.needs.frequencies is not None:
                settings["frequencies"] = self._name_frequencies(
                    metric.needs.frequencies, image_count
                )
            settings |= describe_origin(metric) | others | {"version": _version.__version__}
            signatures[label] = str(Signature(metric.name, tuple(settings.items())))
        return signatures

    def _name_frequencies(self, needs: FrequencyNeeds, image_count: int) -> str:
        if self.frequencies == "references":
            return f"references-{image_count}"
        found = find_frequencies(self.frequencies, needs.stemmer)
        return f"{found.name}-{found.fingerprint}"

    def tokenize(self, corpus: Corpus) -> TokenizedReferences:
        """Tokenize the references of a corpus."""
        captions = self.tokenizer(corpus.references, self.threads)
        groups = GroupedCaptions(captions, corpus.reference_offsets.astype(np.uint64))
        return TokenizedReferences(groups, self.tokenizer, self.frequencies, corpus.images)

    def prepare(self, corpus: Corpus) -> Scorer:
        """Prepare the references of a corpus for all metrics."""
        cleaned = {"clean": "+".join(corpus.clean)} if corpus.clean else {}
        return self.prepare_tokenized(self.tokenize(corpus), **cleaned)

    def prepare_tokenized(self, references: TokenizedReferences, **others: str) -> Scorer:
        """Prepare tokenized references for all metrics; signatures get `others`."""
        work = Workspace(self.threads)
        metrics = dict.fromkeys(self.metrics.values())
        prepared = run_metrics(metrics, lambda metric: metric.prepare(references, work))
        sizes = np.diff(references.image_offsets.astype(np.int64))
        signatures = self.sign(len(sizes), (int(sizes.min()), int(sizes.max())), **others)
        return Scorer(self, references, prepared, signatures)


def may_be_english(captions: Sequence[str]) -> bool:
    """Return False for captions in another script or, as py3langid judges, another language.

    ```python
    may_be_english(["a dog"]), may_be_english(["一只狗在海滩上奔跑"])   # (True, False)
    ```
    """
    scanned = scan_captions(captions)
    if scanned.language is not None:
        return scanned.language == "en"
    return [one.script for one in scanned.script_counts[:1]] in ([], ["Latin"])


def read_frequencies(frequencies: FrequenciesLike) -> str | DocumentFrequencies:
    """Return `"references"`, the name of a shipped set, or a set; files are read."""
    if isinstance(frequencies, DocumentFrequencies):
        return frequencies
    if isinstance(frequencies, str) and frequencies in ("references", *SHIPPED):
        return frequencies
    if not isinstance(frequencies, str | os.PathLike):
        raise SettingError(
            "frequencies must be a name, a path or a DocumentFrequencies, not "
            f"{type(frequencies).__name__}"
        )
    path = Path(frequencies)
    if not path.exists():
        similar = suggest_name(str(frequencies), ("references", *SHIPPED))
        raise SettingError(
            f"no frequencies named {str(frequencies)!r}: neither 'references', a shipped set "
            f"({', '.join(SHIPPED)}) nor an existing file{similar and '; '}{similar}"
        )
    return DocumentFrequencies.load(path)


def describe_origin(metric: Metric) -> dict[str, str]:
    """Return the setting of a signature that names the package or class of a metric.

    Metrics of cidery have none: the version names them.
    """
    if is_built_in(metric):
        return {}
    module = find_metric_module(metric)
    package = find_package(module)
    if package is not None:
        return {"package": package}
    if isinstance(metric, FunctionMetric):
        return {}  # its settings name the function
    return {"class": f"{module}.{type(metric).__qualname__}"}
