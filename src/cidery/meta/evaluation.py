"""evaluate(): judge metrics by human judgments."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cidery.errors import UnreliableWarning
from cidery.meta.agreement import Agreement
from cidery.meta.cache import KeptResult, ResultCache, open_cache, open_score_cache
from cidery.meta.judgments import Dataset
from cidery.meta.labels import AnyMetrics, label_for
from cidery.meta.protocols import PROTOCOLS, choose_protocol
from cidery.meta.protocols.base import HUMAN, Verdict
from cidery.meta.scoring import CaptionScorer
from cidery.meta.selection import select_judgments
from cidery.meta.settings import Settings
from cidery.meta.significance import compare_verdicts
from cidery.runtime.progress import ProgressCallback, ignore_progress

WITH_PEOPLE = ("triplets", "preference", "human", "liked", "wins", "ratings")
"""Protocols that may say what people themselves reach."""


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
    """Judge metrics by human judgments.

    Args:
        dataset: what `read_dataset` returns.
        metrics: names, metric objects, functions `f(candidate, references) -> float`, or a dict of
            these by label; for sets, measures of diversity or functions `f(captions) -> float`.
        settings: how to judge; by default the defaults of `Settings`.
        threads: 0 means one per core; any number gives the same bits.
        cache: True keeps results and scores in the user's cache folder, a path keeps them there.
        progress: called with what is being done, how much of it, 0 to 1, is done.
        changes: fields of `Settings`, such as `protocol="wins"` or `seed=1`.

    ```python
    evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"], seed=1)
    ```
    """
    asked = (settings or Settings()).change(**changes)
    chosen = asked.change(protocol=choose_protocol(dataset, asked.protocol))
    labeled = label_for(dataset, metrics, chosen.language)
    store = open_cache(cache, chosen)
    keys = store.find_keys(dataset, labeled, chosen)
    known = {label: found for label, key in keys.items() if (found := store.load(key))}
    if chosen.protocol in WITH_PEOPLE and keys:
        keys[HUMAN] = store.make_people_key(dataset, chosen)
        if people := store.load(keys[HUMAN]):
            known[HUMAN] = people
        else:
            known = {}
    missing = {label: metric for label, metric in labeled.items() if label not in known}
    verdicts: dict[str, Verdict] = {}
    if missing:
        kept = open_score_cache(cache, chosen)
        scorer = CaptionScorer.build(chosen, threads, progress, kept)
        verdicts = judge_dataset(dataset, missing, chosen, scorer)
        _keep(store, keys, verdicts)
    return _tabulate(dataset, chosen, labeled, known, verdicts)


def judge_dataset(
    dataset: Dataset, metrics: Mapping[str, Any], settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return what each metric reaches by the protocol of the settings, which must be named."""
    assert settings.protocol is not None
    _, judge = PROTOCOLS[settings.protocol]
    with _expected_few_documents(dataset):
        return judge(select_judgments(dataset, settings), metrics, settings, scorer)


@contextmanager
def _expected_few_documents(dataset: Dataset) -> Iterator[None]:
    """Silence the warning of few documents where the published protocol has just these."""
    with warnings.catch_warnings():
        if dataset.name == "cider-r-triplets":
            warnings.simplefilter("ignore", UnreliableWarning)
        yield


def _keep(store: ResultCache, keys: Mapping[str, str], verdicts: Mapping[str, Verdict]) -> None:
    nobody = Verdict({})
    for label, key in keys.items():
        if label in verdicts or (label == HUMAN and verdicts):
            verdict = verdicts.get(label, nobody)
            store.save(key, KeptResult(verdict.statistics, verdict.signature))


def _tabulate(
    dataset: Dataset,
    settings: Settings,
    metrics: Mapping[str, Any],
    known: Mapping[str, KeptResult],
    verdicts: Mapping[str, Verdict],
) -> Agreement:
    """Put kept and new results together: first what people reach, then metrics in their order."""
    found: dict[str, Verdict | KeptResult] = {**verdicts, **known}
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
