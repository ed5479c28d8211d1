"""score() and compare(): from captions to numbers with signatures."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from cidery import _version
from cidery.captions.corpus import FEW_IMAGES, Candidates, Corpus, Missing, References
from cidery.captions.tokenizers import TokenizedCaptions, TokenizerLike, get_tokenizer
from cidery.errors import MismatchError, SettingError, UnreliableWarning
from cidery.frequencies import SHIPPED, DocumentFrequencies
from cidery.metrics import Metric, get_metrics
from cidery.metrics.base import Faithful, Prepared, ReferenceSet, find_frequencies
from cidery.scoring.tables import Resampling, ScoreTable, Signature
from cidery.statistics import (
    RESAMPLES,
    Floats,
    PairedTest,
    holm,
    paired_test,
    sum_by_group,
)
from cidery.tables import latex_table, markdown_table

FrequenciesLike: TypeAlias = str | os.PathLike[str] | DocumentFrequencies
MetricsLike: TypeAlias = "str | Metric | Iterable[str | Metric] | None"


def score(
    candidates: Candidates,
    references: References,
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike = "ptb",
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    candidates_name: str = "candidates",
    references_name: str = "references",
) -> ScoreTable:
    """Score candidate captions against reference captions.

    Args:
        candidates: id -> caption (or captions), or a list in the references' order.
        references: id -> captions, or a list of lists.
        metrics: names (`"cider-d"`, `"bleu"`, `"rouge-l:beta=1"`) or metric objects; by default
            BLEU 1-4, ROUGE-L, CIDEr-D and CIDEr-R.
        tokenizer: `"ptb"`, `"ptb-coco"`, `"whitespace"`, `"words"` or a callable.
        frequencies: what the CIDEr family's weights are counted on: `"references"` (the images
            scored), a shipped set (`"coco-val2014"`, `"coco-train2014"`), a DocumentFrequencies
            or the path of a saved one.
        faithful: `"coco"` or `"paper"` for metrics given by name; by default each metric's own.
        missing: `"skip"` leaves out images without candidates or without references, from the
            weights counted on references too.
        threads: 0 means one per core; any number gives the same bits.
        candidates_name: what messages call the candidates, for instance their file.
        references_name: what messages call the references.

    ```python
    table = cidery.score({"a": "a dog runs"}, {"a": ["a dog is running", "the dog runs"]},
                         frequencies="coco-val2014")
    table.corpus["cider-d"]
    ```
    """
    chosen = get_metrics(metrics, faithful)
    corpus = Corpus.build(
        candidates,
        references,
        missing=missing,
        candidates_name=candidates_name,
        references_name=references_name,
    )
    _warn_swapped(corpus, candidates_name, references_name)
    scorer = Scorer.build(
        corpus, chosen, tokenizer=tokenizer, frequencies=frequencies, threads=threads
    )
    return scorer.score(corpus.candidates, corpus.candidate_images, corpus.candidate_ids)


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


@dataclass(frozen=True, eq=False)
class Scorer:
    """References prepared for some metrics: scores any candidates for the same images."""

    references: ReferenceSet
    metrics: Mapping[str, Metric]
    prepared: Mapping[Hashable, Prepared]
    """By `Metric.row_key`: metrics that share rows share the work."""
    signatures: Mapping[str, str]
    threads: int

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        metrics: Mapping[str, Metric],
        *,
        tokenizer: TokenizerLike = "ptb",
        frequencies: FrequenciesLike = "references",
        threads: int = 0,
    ) -> Scorer:
        """Tokenize the references and make them ready for the metrics."""
        chosen = get_tokenizer(tokenizer)
        counted_on = read_frequencies(frequencies)
        offsets = corpus.reference_offsets.astype(np.uint64)
        if counted_on == "references" and any(m.uses_frequencies for m in metrics.values()):
            _warn_few_images(len(corpus.images))
        references = ReferenceSet(
            chosen(corpus.references, threads), offsets, chosen, counted_on, threads
        )
        per_image = np.diff(corpus.reference_offsets)
        signatures = {
            label: str(sign(metric, references, int(per_image.min()), int(per_image.max())))
            for label, metric in metrics.items()
        }
        prepared: dict[Hashable, Prepared] = {}
        for metric in metrics.values():
            if metric.row_key not in prepared:
                prepared[metric.row_key] = metric.prepare(references)
        return cls(references, metrics, prepared, signatures, threads)

    def score(self, candidates: list[str], images: Any, ids: Any) -> ScoreTable:
        """Score captions; `images[i]` is the index of the image of caption i."""
        tokenized = self.references.tokenizer(candidates, self.threads)
        rows = self.measure(tokenized, images)
        count = self.references.image_count
        # Metrics that share rows share their sums, and so the drawing of samples.
        shared = {id(measured): measured for measured in rows.values()}
        summed = {key: sum_images(measured, images, count) for key, measured in shared.items()}
        resampling = {
            label: Resampling(summed[id(rows[label])], partial(pool_counted, metric))
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

    def measure(self, candidates: TokenizedCaptions, images: Any) -> dict[str, Floats]:
        """Return each metric's rows."""
        indexes = np.ascontiguousarray(images, np.uint32)
        measured = {
            key: prepared.measure(candidates, indexes, self.threads)
            for key, prepared in self.prepared.items()
        }
        return {label: measured[m.row_key] for label, m in self.metrics.items()}


def _warn_swapped(corpus: Corpus, candidates_name: str, references_name: str) -> None:
    """Warn of references given as candidates: several for every image, against one each."""
    images = len(corpus.images)
    candidates = np.bincount(corpus.candidate_images, minlength=images)
    if len(corpus.references) == images > 1 and candidates.min() > 1:
        warnings.warn(
            f"{references_name} has one caption per image and {candidates_name} several: are they "
            "swapped? Candidates come first, then references",
            UnreliableWarning,
            stacklevel=3,
        )


def _warn_few_images(count: int) -> None:
    if count >= FEW_IMAGES:
        return
    what = "every CIDEr score is 0" if count == 1 else "CIDEr's weights are unreliable"
    warnings.warn(
        f"document frequencies are counted on only {count} image{'s' * (count != 1)}, so {what}; "
        'pass frequencies="coco-val2014" (--frequencies coco-val2014) or a set of your own',
        UnreliableWarning,
        stacklevel=4,
    )


def sign(metric: Metric, references: ReferenceSet, fewest: int, most: int) -> Signature:
    """Return the signature of a metric on images with `fewest` to `most` references."""
    settings = metric.settings() | metric.data_settings()
    settings["refs"] = str(most) if fewest == most else f"{fewest}-{most}"
    settings["tokenizer"] = references.tokenizer.id
    if metric.uses_frequencies:
        if references.frequencies == "references":
            settings["frequencies"] = f"references-{references.image_count}"
        else:
            found = find_frequencies(references.frequencies, metric.stems)
            settings["frequencies"] = f"{found.name}-{found.fingerprint}"
    settings["version"] = _version.__version__
    return Signature(metric.name, tuple(settings.items()))


def sum_images(rows: Floats, images: Any, image_count: int) -> Floats:
    """Sum each image's rows, with their number as the last column: images are the unit drawn."""
    counted = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    return sum_by_group(counted, np.asarray(images), image_count)


def pool_counted(metric: Metric, sums: Floats) -> Floats:
    """Return corpus scores from sums of rows whose last column counts them."""
    return metric.pool(sums[..., :-1], sums[..., -1])


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several systems on the same images, metric by metric."""

    tables: Mapping[str, ScoreTable]
    """system -> its scores"""
    tests: Mapping[str, Mapping[tuple[str, str], PairedTest]]
    """metric -> (system, other system) -> test"""
    resamples: int
    seed: int

    @property
    def note(self) -> str:
        """What the p-values are, and what they were corrected for."""
        count = sum(map(len, self.tests.values()))
        holm_note = (
            f"p is Holm-corrected for the {count} comparisons made here"
            if count > 1
            else "one comparison was made, so p needs no correction"
        )
        return (
            f"paired permutation test and paired bootstrap, {self.resamples} samples, seed "
            f"{self.seed}; {holm_note}. A large p means that no difference was found, not that "
            "there is none."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the captions' scores, ready for JSON."""
        first = next(iter(self.tables.values()))
        return {
            "images": first.image_count,
            "scores": {name: dict(table.corpus) for name, table in self.tables.items()},
            "signatures": dict(first.signatures),
            "tests": {
                metric: [{"systems": list(pair), **vars(test)} for pair, test in pairs.items()]
                for metric, pairs in self.tests.items()
            },
            "note": self.note,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return a row per metric and pair of systems with all digits, for CSV."""
        return [
            {
                "metric": metric,
                "system": one,
                "other": other,
                "score": self.tables[one].corpus[metric],
                "other_score": self.tables[other].corpus[metric],
                **vars(test),
            }
            for metric, pairs in self.tests.items()
            for (one, other), test in pairs.items()
        ]

    def header(self) -> list[str]:
        """Return the columns of `lines`."""
        return ["metric", *self.tables, "diff", "interval", "p", "effect", "wins"]

    def lines(self, digits: int = 4) -> list[list[str]]:
        """Return the comparison as text cells, a row per metric and pair of systems."""
        several = len(self.tables) > 2
        lines = []
        for metric, pairs in self.tests.items():
            scores = [f"{table.corpus[metric]:.{digits}f}" for table in self.tables.values()]
            for number, ((one, other), test) in enumerate(pairs.items()):
                verdict = f"{test.difference:+.{digits}f}"
                lines.append(
                    [
                        metric if number == 0 else "",
                        *(scores if number == 0 else [""] * len(scores)),
                        f"{one} - {other}: {verdict}" if several else verdict,
                        f"[{test.low:+.{digits}f}, {test.high:+.{digits}f}]",
                        format_p(test.adjusted_p),
                        f"{test.effect:+.2f}",
                        f"{100 * test.wins:.0f} %",
                    ]
                )
        return lines

    def to_markdown(self, digits: int = 4) -> str:
        """Return the comparison as a Markdown table."""
        return markdown_table(self.header(), self.lines(digits))

    def to_latex(self, digits: int = 4) -> str:
        """Return the comparison as a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.lines(digits))


def format_p(p: float) -> str:
    """Spell a p-value for people."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def compare(
    systems: Mapping[str, Candidates],
    references: References,
    metrics: MetricsLike = None,
    *,
    tokenizer: TokenizerLike = "ptb",
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    references_name: str = "references",
) -> Comparison:
    """Compare systems on the same images: every pair, every metric.

    Arguments are those of `score`, and of the resampling. With `missing="skip"`, images are kept
    that all systems describe.

    ```python
    comparison = cidery.compare({"ours": a, "theirs": b}, references)
    comparison.tests["cider-d"]["ours", "theirs"].p_permutation
    ```
    """
    if len(systems) < 2:
        raise SettingError("compare needs at least two systems")
    chosen = get_metrics(metrics, faithful)
    corpora = _common_corpora(systems, references, missing, references_name)
    scorer = Scorer.build(
        next(iter(corpora.values())),
        chosen,
        tokenizer=tokenizer,
        frequencies=frequencies,
        threads=threads,
    )
    tables = {
        name: scorer.score(c.candidates, c.candidate_images, c.candidate_ids)
        for name, c in corpora.items()
    }
    tests: dict[str, dict[tuple[str, str], PairedTest]] = {label: {} for label in chosen}
    for label in chosen:
        for one, other in combinations(tables, 2):
            first, second = tables[one].resampling[label], tables[other].resampling[label]
            tests[label][one, other] = paired_test(
                first.rows,
                second.rows,
                first.pool,
                (first.pool(first.rows), second.pool(second.rows)),
                confidence=confidence,
                resamples=resamples,
                seed=seed,
            )
    adjusted = iter(holm([t.p_permutation for p in tests.values() for t in p.values()]))
    corrected = {
        label: {pair: replace(test, adjusted_p=next(adjusted)) for pair, test in pairs.items()}
        for label, pairs in tests.items()
    }
    return Comparison(tables, corrected, resamples, seed)


def _common_corpora(
    systems: Mapping[str, Candidates],
    references: References,
    missing: Missing,
    references_name: str,
) -> dict[str, Corpus]:
    corpora = {
        name: Corpus.build(
            candidates,
            references,
            missing=missing,
            candidates_name=name,
            references_name=references_name,
        )
        for name, candidates in systems.items()
    }
    images = {name: set(corpus.images) for name, corpus in corpora.items()}
    common = set.intersection(*images.values())
    if all(found == common for found in images.values()):
        return corpora
    if not common:
        raise MismatchError(f"no image is described by all of {', '.join(systems)}")
    return {name: corpus.only(common) for name, corpus in corpora.items()}
