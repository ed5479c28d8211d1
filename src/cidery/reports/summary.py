"""Summary of scores in sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cidery.corpus import ALL
from cidery.scoring.comparison import Comparison
from cidery.scoring.score_table import ScoreTable
from cidery.statistics import Interval, PairedTest
from cidery.tables import format_p


def explain_scores(compared: Comparison, lead: str) -> list[str]:
    """Return sentences on the ranking by the leading metric, its significance and other metrics."""
    tables, intervals, lower = compared.tables, compared.intervals[ALL], compared.lower_is_better
    if len(tables) == 1:
        return _explain_one(tables, intervals, lead)
    ranked = _rank(tables, lead, lower)
    extreme = "lowest, which is best" if lead in lower else "highest"
    sentences = [
        f"By {lead}, {ranked[0]} scores {extreme}, {_spell(tables, intervals, ranked[0], lead)}, "
        f"then {ranked[1]}, {_spell(tables, intervals, ranked[1], lead)}."
        if tables[ranked[0]].corpus[lead] != tables[ranked[1]].corpus[lead]
        else f"By {lead}, {ranked[0]} and {ranked[1]} have the same score, "
        f"{_spell(tables, intervals, ranked[0], lead)}."
    ]
    tests = compared.tests[lead]
    sentences.append(_explain_pair(ranked[0], ranked[1], tests, compared.family_size))
    sentences += _explain_others(ranked[0], ranked[2:], tests)
    return [*sentences, *_compare_metrics(tables, lead, lower)]


def _explain_one(
    tables: Mapping[str, ScoreTable],
    intervals: Mapping[str, Mapping[str, Interval]],
    lead: str,
) -> list[str]:
    [(name, table)] = tables.items()
    images = f"{table.image_count} image{'s' * (table.image_count != 1)}"
    return [
        f"{name} scores {_spell(tables, intervals, name, lead)} by {lead} on {images}.",
        "A score is hard to interpret alone: add a second system for comparison.",
    ]


def _rank(tables: Mapping[str, ScoreTable], metric: str, lower: Collection[str]) -> list[str]:
    sign = 1 if metric in lower else -1
    return sorted(tables, key=lambda name: sign * tables[name].corpus[metric])


def _spell(
    tables: Mapping[str, ScoreTable],
    intervals: Mapping[str, Mapping[str, Interval]],
    name: str,
    metric: str,
) -> str:
    found = intervals[name].get(metric)
    score = f"{tables[name].corpus[metric]:.4f}"
    if found is None:
        return score
    return f"{score} ({100 * found.confidence:g} % interval {found.low:.4f} to {found.high:.4f})"


def _explain_pair(
    one: str,
    other: str,
    tests: Mapping[tuple[str, str], PairedTest],
    count: int,
) -> str:
    turned = (one, other) not in tests
    test = tests[(other, one) if turned else (one, other)]
    wins = 1 - test.wins if turned else test.wins
    p = _write_p(test.adjusted_p)
    if not test.is_different:
        return (
            f"No difference between {one} and {other} was found ({p}); that does not mean that "
            "there is none."
        )
    corrected = f", corrected for {count} comparisons" if count > 1 else ""
    low, high = sorted((-test.low, -test.high)) if turned else (test.low, test.high)
    return (
        f"The difference, {abs(test.difference):.4f} ({100 * test.confidence:g} % interval "
        f"{low:.4f} to {high:.4f}), is unlikely to be chance ({p}{corrected}); {one} is better on "
        f"{100 * wins:.0f} % of the images."
    )


def _explain_others(
    best: str, others: list[str], tests: Mapping[tuple[str, str], PairedTest]
) -> list[str]:
    """Return sentences on the systems that the best differs from, and those that it does not."""
    pairs = {other: tests.get((best, other)) or tests[other, best] for other in others}
    worse = [other for other, test in pairs.items() if test.is_different]
    alike = [other for other, test in pairs.items() if not test.is_different]
    sentences = []
    if worse:
        p = _write_p(max(pairs[other].adjusted_p for other in worse))
        p = p.replace("=", "≤") if len(worse) > 1 else p
        sentences.append(f"{best} is significantly better than {_join(worse)} ({p}).")
    if alike:
        sentences.append(
            f"No difference between {best} and {_join(alike)} was found; that does not mean that "
            "there is none."
        )
    return sentences


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _write_p(p: float) -> str:
    written = format_p(p)
    return f"p {written}" if written.startswith("<") else f"p = {written}"


def _compare_metrics(
    tables: Mapping[str, ScoreTable], lead: str, lower: Collection[str]
) -> list[str]:
    metrics = list(next(iter(tables.values())).corpus)
    best = _rank(tables, lead, lower)[0]
    others = [metric for metric in metrics if metric != lead]
    against = [
        metric
        for metric in others
        if tables[_rank(tables, metric, lower)[0]].corpus[metric] != tables[best].corpus[metric]
    ]
    if not others:
        return []
    if not against:
        if all(len({t.corpus[metric] for t in tables.values()}) == 1 for metric in metrics):
            return []  # tie
        return [f"All {len(metrics)} metrics put {best} first."]
    firsts = "; ".join(f"by {metric}, {_rank(tables, metric, lower)[0]} is" for metric in against)
    return [f"Not all metrics put {best} first: {firsts}."]
