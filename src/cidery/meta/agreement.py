"""evaluate(): judge metrics by human judgments, and the table that comes of it."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from cidery.captions.tokenizers import TOKENIZERS
from cidery.errors import SettingError, UnreliableWarning
from cidery.frequencies import SHIPPED
from cidery.meta.cache import ResultCache, default_folder
from cidery.meta.gaming import judge_gaming
from cidery.meta.judgments import Dataset, Pairs, Ratings, Sets, Systems
from cidery.meta.protocols import (
    RESAMPLES,
    Protocol,
    Settings,
    Verdict,
    judge_pairs,
    judge_ratings,
    judge_sets,
    judge_systems,
    judge_wins,
    label_measures,
)
from cidery.meta.scoring import CaptionScorer, Progress, no_progress
from cidery.meta.splits import judge_by_references, judge_human
from cidery.metrics import MetricsLike, get_metrics, is_built_in
from cidery.scoring.comparison import format_p
from cidery.scoring.tables import latex_table
from cidery.statistics import Floats, paired_test, williams_test

PROTOCOLS: Mapping[str, tuple[tuple[type, ...], Protocol]] = MappingProxyType(
    {
        "consensus": ((Pairs,), judge_pairs),
        "preference": ((Pairs,), judge_pairs),
        "references": ((Pairs,), judge_by_references),
        "human": ((Pairs,), judge_human),
        "wins": ((Pairs,), judge_wins),
        "ratings": ((Ratings,), judge_ratings),
        "systems": ((Systems,), judge_systems),
        "diversity": ((Sets,), judge_sets),
        "gaming": ((Pairs, Ratings), judge_gaming),
    }
)
"""name -> the kinds of judgments it takes, and what it does"""

MACHINES = "MM"
"""The kind of pairs in which systems are compared with each other."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well metrics agree with people on one data set.

    ```python
    agreement = evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"])
    agreement.results["cider-d"]["accuracy"]
    ```
    """

    dataset: str
    protocol: str
    results: Mapping[str, Mapping[str, float]]
    """metric -> statistic -> value; shares and coefficients are fractions, counts are int"""
    signatures: Mapping[str, str] = field(default_factory=dict)
    points: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)
    """metric -> scores and what people said, for correlation plots; not of cached results"""

    def to_dict(self) -> dict[str, Any]:
        """Return `{"dataset", "protocol", "results"}`, ready for JSON."""
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "results": {label: dict(found) for label, found in self.results.items()},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; a value that is no number (nan) becomes null."""
        content = self.to_dict()
        for found in content["results"].values():
            for name, value in found.items():
                found[name] = value if math.isfinite(value) else None
        return json.dumps(content, indent=indent, ensure_ascii=False)

    def header(self) -> list[str]:
        """Return the columns of `lines`; bounds stand in their statistic's column."""
        names = dict.fromkeys(name for found in self.results.values() for name in found)
        bounds = {f"{name}_{side}" for name in names for side in ("low", "high")}
        return ["metric", *(name for name in names if name not in bounds)]

    def lines(self) -> list[list[str]]:
        """Return the results as text cells, a row per metric, in percent."""
        columns = self.header()[1:]
        return [
            [label, *(_format(found, name) for name in columns)]
            for label, found in self.results.items()
        ]

    def to_markdown(self) -> str:
        """Return the results as a Markdown table."""
        rows = [self.header(), ["---"] + ["---:"] * (len(self.header()) - 1), *self.lines()]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def to_latex(self) -> str:
        """Return the results as a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.lines())

    def __str__(self) -> str:
        return self.to_markdown()


def _format(found: Mapping[str, float], name: str) -> str:
    if name not in found:
        return ""
    value = found[name]
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if name.endswith("_p") or name.startswith("p_"):
        return format_p(value)
    text = f"{100 * value:.1f}"
    if f"{name}_low" in found:
        text += f" [{100 * found[f'{name}_low']:.1f}, {100 * found[f'{name}_high']:.1f}]"
    return text


def evaluate(
    dataset: Dataset,
    metrics: MetricsLike = None,
    *,
    protocol: str | None = None,
    references: int | None = None,
    draw: Literal["own", "random", "first"] | None = None,
    seed: int = 0,
    concatenate: bool = False,
    undecided: Literal["wrong", "half", "drop"] = "wrong",
    kind: str | None = None,
    sample: int | None = None,
    resamples: int = RESAMPLES,
    points: Sequence[int] = (),
    draws: int = 5,
    tests: bool = False,
    tokenizer: str = "ptb",
    frequencies: str = "references",
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: Progress = no_progress,
) -> Agreement:
    """Judge metrics by human judgments.

    Args:
        dataset: what `read_dataset` returns.
        metrics: names, metric objects, functions `f(candidate, references) -> float`, or a dict of
            these by label; for sets, measures of diversity or functions `f(captions) -> float`.
        protocol: one of `PROTOCOLS`; by default the data set's first.
        references: how many per image; by default all.
        draw: which: each pair's `own` (where the data set has a draw of that size, the default),
            `random` by the seed, or the `first`.
        seed: of draws, samples and resampling.
        concatenate: join each image's references into one.
        undecided: what equal scores of a pair count: `wrong`, `half` or `drop`.
        kind: judge pairs of this kind only.
        sample: judge only so many pairs, ratings or sets, drawn by the seed.
        resamples: bootstrap samples of images; 0 leaves intervals out.
        points: numbers of references for the protocol `references`.
        draws: of references for `references`, of halves for `human`.
        tests: add p-values between metrics, `p_permutation_OTHER` and, where the statistic is
            Pearson's r, `p_williams_OTHER`.
        tokenizer: as in `score`.
        frequencies: as in `score`; `references` counts the data set's own documents.
        threads: 0 means one per core; any number gives the same bits.
        cache: True keeps results in the user's cache folder, a path keeps them there.
        progress: called with what is being done, how much of it is done, and of how much.

    ```python
    evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"], seed=1)
    ```
    """
    chosen = protocol or _default_protocol(dataset)
    settings = Settings(
        chosen, references, draw, seed, concatenate, undecided, kind, sample, resamples,
        tuple(points), draws, tokenizer, frequencies,
    )  # fmt: skip
    judge = _get_judge(dataset, chosen)
    labelled: dict[str, Any] = (
        label_measures(metrics) if isinstance(dataset, Sets) else _label(dataset, metrics)
    )
    # What is not cidery's own may change under its name, and tests need every caption's score.
    own = tokenizer in TOKENIZERS and frequencies in ("references", *SHIPPED)
    keep = own and not tests
    store = _open_cache(cache if keep else False)
    keys = {
        label: store.key(dataset, metric, settings)
        for label, metric in labelled.items()
        if store.folder is not None and hasattr(metric, "settings") and is_built_in(metric)
    }
    known = {label: found for label, key in keys.items() if (found := store.load(key))}
    missing = {label: metric for label, metric in labelled.items() if label not in known}
    scorer = CaptionScorer(tokenizer, frequencies, threads, progress)
    verdicts: dict[str, Verdict] = {}
    signatures: dict[str, str] = {}
    if missing or not known:
        with _expected_few_documents(dataset):
            prepared = _prepare(dataset, settings)
            verdicts = judge(prepared, missing, settings, scorer)
            signatures = _sign(prepared, missing, scorer)
        for label in missing:
            if label in keys:
                store.save(keys[label], verdicts[label].statistics, signatures[label])
    results: dict[str, dict[str, float]] = {
        label: dict(verdict.statistics)
        for label, verdict in verdicts.items()
        if label not in labelled
    }
    for label in labelled:
        kept = known.get(label)
        results[label] = kept["statistics"] if kept else dict(verdicts[label].statistics)
        signatures[label] = kept["signature"] if kept else signatures[label]
    if tests:
        _add_tests(results, verdicts, settings)
    drawn = {
        label: (verdict.scores, verdict.human)
        for label, verdict in verdicts.items()
        if verdict.scores is not None and verdict.human is not None
    }
    return Agreement(
        dataset.name, chosen, results, {label: signatures[label] for label in labelled}, drawn
    )


def _default_protocol(dataset: Dataset) -> str:
    if isinstance(dataset, Pairs):
        return "consensus" if "consensus" in dataset.votes else "preference"
    return {Ratings: "ratings", Sets: "diversity", Systems: "systems"}[type(dataset)]


def _get_judge(dataset: Dataset, protocol: str) -> Protocol:
    fitting = [name for name, (kinds, _) in PROTOCOLS.items() if isinstance(dataset, kinds)]
    if protocol not in fitting:
        raise SettingError(
            f"{dataset.name} cannot be judged by {protocol!r}; it can by: {', '.join(fitting)}"
        )
    return PROTOCOLS[protocol][1]


def _label(dataset: Dataset, metrics: MetricsLike) -> dict[str, Any]:
    if isinstance(dataset, Systems):
        known = next(iter(dataset.scores.values()))
        if metrics is None:
            return dict.fromkeys(known)
        if not isinstance(metrics, str) and all(metric in known for metric in metrics):  # type: ignore[union-attr]
            return dict.fromkeys(metrics)  # type: ignore[arg-type]
        if isinstance(metrics, str) and metrics in known:
            return {metrics: None}
    return dict(get_metrics(metrics))


def _open_cache(cache: bool | str | os.PathLike[str]) -> ResultCache:
    if isinstance(cache, bool):
        return ResultCache(default_folder() if cache else None)
    return ResultCache(Path(cache))


@contextmanager
def _expected_few_documents(dataset: Dataset) -> Any:
    """Silence the warning of few documents where the protocol wants just these."""
    with warnings.catch_warnings():
        if dataset.name == "cider-r-triplets":
            warnings.simplefilter("ignore", UnreliableWarning)
        yield


def _prepare(dataset: Dataset, settings: Settings) -> Dataset:
    """Return what is to be judged: pairs of a kind, a sample, fewer references."""
    dataset = _filter_kind(dataset, settings)
    if isinstance(dataset, Pairs | Ratings) and settings.protocol not in ("references", "human"):
        dataset = _draw_references(dataset, settings)
    if settings.sample is not None and not isinstance(dataset, Systems):
        if settings.sample < 1:
            raise SettingError(f"the sample must hold at least 1, not {settings.sample}")
        count = min(settings.sample, len(dataset))
        drawn = np.random.default_rng(settings.seed).permutation(len(dataset))[:count]
        dataset = dataset.take(np.sort(drawn))
    return dataset


def _filter_kind(dataset: Dataset, settings: Settings) -> Dataset:
    kind = settings.kind
    if not isinstance(dataset, Pairs):
        if kind is not None:
            raise SettingError(f"{dataset.name} has no kinds of pairs")
        return dataset
    if kind is None and settings.protocol == "wins" and MACHINES in dataset.kinds:
        kind = MACHINES
    if kind is None:
        return dataset
    kept = np.flatnonzero([found == kind for found in dataset.kinds])
    if len(kept) == 0:
        known = ", ".join(sorted({*dataset.kinds})) or "none"
        raise SettingError(f"{dataset.name} has no pairs of kind {kind!r}; it has: {known}")
    return dataset.take(kept)


def _draw_references(dataset: Pairs | Ratings, settings: Settings) -> Pairs | Ratings:
    count, draw = settings.references, settings.draw
    if isinstance(dataset, Pairs) and dataset.own_references:
        own = {len(group) for group in dataset.own_references}
        if draw == "own" or (draw is None and own == {count}):
            if count is not None and own != {count}:
                raise SettingError(f"{dataset.name} comes with draws of {own.pop()}, not {count}")
            dataset = dataset.with_own_references()
            count = None
    elif draw == "own":
        raise SettingError(f"{dataset.name} comes with no draw of references; draw random or first")
    judged = dataset.judged
    if count is not None:
        judged = judged.draw(count, None if draw == "first" else settings.seed)
    if settings.concatenate:
        judged = judged.concatenate()
    return replace(dataset, judged=judged)


def _sign(dataset: Dataset, metrics: Mapping[str, Any], scorer: CaptionScorer) -> dict[str, str]:
    if isinstance(dataset, Systems):
        return {label: dataset.signatures.get(label, label) for label in metrics}
    if isinstance(dataset, Sets):
        return {
            label: "|".join([label, *(f"{k}:{v}" for k, v in metric.settings().items())])
            if hasattr(metric, "settings")
            else f"{label}|function"
            for label, metric in metrics.items()
        }
    return scorer.signatures(dataset.judged, metrics)


def _add_tests(
    results: dict[str, dict[str, float]], verdicts: Mapping[str, Verdict], settings: Settings
) -> None:
    """Add p-values of every metric against every other; no difference found is not equality."""
    for one, other in permutations((label for label in results if label in verdicts), 2):
        first, second = verdicts[one], verdicts[other]
        pool = first.pool
        if first.rows is None or second.rows is None or pool is None:
            continue
        each = (pool(first.rows), pool(second.rows))
        found = paired_test(
            first.rows,
            second.rows,
            pool,
            each,
            resamples=settings.resamples or RESAMPLES,
            seed=settings.seed,
        )
        results[one][f"p_permutation_{other}"] = found.p_permutation
        if first.scores is not None and second.scores is not None and first.human is not None:
            p = williams_test(first.scores, second.scores, first.human)
            results[one][f"p_williams_{other}"] = p
