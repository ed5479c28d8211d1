"""evaluate(): agreement of metrics with human judgments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from cidery.errors import UnreliableWarning
from cidery.meta.agreement import Agreement
from cidery.meta.cache import CachedResult, can_be_cached, make_key, open_cache
from cidery.meta.judgments import Dataset
from cidery.meta.labels import AnyMetrics, label_for
from cidery.meta.protocols import PROTOCOLS, choose_protocol
from cidery.meta.protocols.base import HUMAN, Verdict
from cidery.meta.scoring import CaptionScorer
from cidery.meta.selection import select_judgments
from cidery.meta.settings import Settings
from cidery.meta.significance import compare_verdicts
from cidery.runtime import ProgressCallback, ignore_progress
from cidery.text import choose_tokenizer

PROTOCOLS_WITH_HUMAN = ("triplets", "preference", "human", "disagreement", "wins", "ratings")
"""Protocols that may give the agreement of people among themselves."""


def evaluate(
    dataset: Dataset,
    metrics: AnyMetrics = None,
    settings: Settings | None = None,
    *,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
    **changes: Any,
) -> Agreement:
    """Measure the agreement of metrics with human judgments.

    Args:
        dataset: from `read_dataset`.
        metrics: names, metric objects, functions `f(candidate, references) -> float`, or a dict of
            these by label; for sets, measures of diversity or functions `f(captions) -> float`.
        settings: protocol, references, statistics. Default: `Settings()`.
        threads: 0 means one per core; results do not depend on it.
        cache: True caches results and scores in the user's cache directory, a path in that folder.
        progress: progress callback: step, and the share that is done.
        changes: fields of `Settings`, such as `protocol="wins"` or `seed=1`.

    ```python
    evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"], seed=1)
    ```
    """
    asked = (settings or Settings()).change(**changes)
    chosen = asked.change(protocol=choose_protocol(dataset, asked.protocol))
    labeled = label_for(dataset, metrics, chosen.language)
    store = open_cache(cache, chosen)
    keys = find_keys(dataset, labeled, chosen) if store else {}
    known = store.load_results(keys) if store else {}
    if HUMAN in keys and HUMAN not in known:
        known = {}
    missing = {label: metric for label, metric in labeled.items() if label not in known}
    verdicts: dict[str, Verdict] = {}
    if missing:
        scorer = CaptionScorer.build(chosen, threads, progress, store)
        verdicts = judge_dataset(dataset, missing, chosen, scorer)
        if store:
            store.save_results(_list_results(keys, verdicts))
    return _tabulate(dataset, chosen, labeled, known, verdicts)


def find_keys(dataset: Dataset, metrics: Mapping[str, Any], settings: Settings) -> dict[str, bytes]:
    """Return label -> key of the results that may be cached."""
    if settings.tests:  # tests need the scores of all captions
        return {}
    # The settings name a tokenizer; its id has the version of its segmenter.
    tokenizer = choose_tokenizer(settings.tokenizer, settings.language).id
    described = asdict(settings) | {"tokenizer": tokenizer}
    keys = {
        label: make_key("result", dataset.fingerprint, metric, described)
        for label, metric in metrics.items()
        if can_be_cached(metric)
    }
    if keys and settings.protocol in PROTOCOLS_WITH_HUMAN:
        keys[HUMAN] = make_key("result", dataset.fingerprint, None, described)
    return keys


def judge_dataset(
    dataset: Dataset, metrics: Mapping[str, Any], settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the verdict on each metric by the protocol of the settings, which must be set."""
    assert settings.protocol is not None
    _, judge = PROTOCOLS[settings.protocol]
    with _expected_few_documents(dataset):
        return judge(select_judgments(dataset, settings), metrics, settings, scorer)


@contextmanager
def _expected_few_documents(dataset: Dataset) -> Iterator[None]:
    """Ignore the warning about few documents where the published protocol has only these."""
    with warnings.catch_warnings():
        if dataset.name == "cider-r-triplets":
            warnings.simplefilter("ignore", UnreliableWarning)
        yield


def _list_results(
    keys: Mapping[str, bytes], verdicts: Mapping[str, Verdict]
) -> dict[bytes, CachedResult]:
    """Return key -> result; without annotator agreement, that of people is empty."""
    return {
        key: CachedResult(verdict.statistics, verdict.signature)
        for label, key in keys.items()
        if (verdict := verdicts.get(label, Verdict({}) if label == HUMAN else None))
    }


def _tabulate(
    dataset: Dataset,
    settings: Settings,
    metrics: Mapping[str, Any],
    known: Mapping[str, CachedResult],
    verdicts: Mapping[str, Verdict],
) -> Agreement:
    """Join cached and new results: first the agreement of people, then metrics in their order."""
    found: dict[str, Verdict | CachedResult] = {**verdicts, **known}
    people = [label for label in found if label not in metrics and found[label].statistics]
    results = {label: dict(found[label].statistics) for label in (*people, *metrics)}
    tested = ""
    if settings.tests:
        for label, p_values in compare_verdicts(verdicts, settings).items():
            results[label] |= p_values
        tested = next((verdict.tested for verdict in verdicts.values() if verdict.tested), "")
    return Agreement(
        dataset.name,
        str(settings.protocol),
        results,
        {label: found[label].signature for label in metrics},
        {
            label: (verdict.scores, verdict.human)
            for label, verdict in verdicts.items()
            if verdict.scores is not None and verdict.human is not None
        },
        tested,
    )
