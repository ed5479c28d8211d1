"""Rankings of systems by tested differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_letters

import numpy as np

from cidery.statistics import Interval, PairedTest

PairTests = Mapping[tuple[str, str], PairedTest]
"""(system, other system) -> test"""

KENDALL = {
    "bleu-4": 30.8,
    "rouge-l": 32.3,
    "meteor": 41.8,
    "cider-d": 43.9,
    "spice": 45.3,
    "bertscore": 54.7,
    "consensus": 56.9,
}
"""Agreement of metrics with experts' ratings of Flickr8k captions: Kendall's τ-c in percent, from
docs/which-number.md."""


MAX_CLUSTER_LENGTH = 10
"""Most letters of a cluster in tables; with more, they show ranges of ranks."""


@dataclass(frozen=True)
class RankedSystem:
    """A system's place in the ranking by one metric."""

    system: str
    score: float
    low: float
    high: float
    spread: float | None
    """Standard deviation of the runs' scores; None for a single run."""
    rank: int | None
    """1 + the number of systems that are significantly better; None without a score."""
    last_rank: int | None
    """Number of systems that are not significantly worse; None without a score."""
    cluster: str
    """Letters: systems that share one could not be told apart."""
    against: str
    """A sign for each system in the order of the ranking: `>` significantly better than it, `<`
    worse, `=` not told apart, `·` itself, `?` not tested."""

    @property
    def rank_range(self) -> str:
        """First and last rank, such as `2–4`."""
        if self.rank is None or self.rank == self.last_rank:
            return "" if self.rank is None else str(self.rank)
        return f"{self.rank}–{self.last_rank}"


def rank_systems(
    scores: Mapping[str, float],
    intervals: Mapping[str, Interval | None],
    spreads: Mapping[str, float | None],
    tests: PairTests,
    *,
    lower_is_better: bool = False,
) -> list[RankedSystem]:
    """Rank systems by score, the best first; those without a score last.

    Args:
        scores: by system.
        intervals: by system.
        spreads: standard deviation over runs, by system.
        tests: of every pair of systems.
        lower_is_better: the lowest score is the best.
    """
    sign = 1 if lower_is_better else -1
    order = sorted(scores, key=lambda name: (np.isnan(scores[name]), sign * scores[name]))
    signs = {pair: mark for test in tests.items() for pair, mark in _sign(*test, lower_is_better)}
    clusters = name_clusters(order, {pair for pair, mark in signs.items() if mark in "<>"})
    found = []
    for name in order:
        against = "".join(signs[name, other] if other != name else "·" for other in order)
        interval, known = intervals.get(name), not np.isnan(scores[name])
        found.append(
            RankedSystem(
                name,
                scores[name],
                interval.low if interval else np.nan,
                interval.high if interval else np.nan,
                spreads.get(name),
                1 + against.count("<") if known else None,
                len(order) - against.count(">") if known else None,
                clusters[name] if known else "",
                against,
            )
        )
    return found


def _sign(
    pair: tuple[str, str], test: PairedTest, lower_is_better: bool
) -> Iterator[tuple[tuple[str, str], str]]:
    one, other = pair
    if np.isnan(test.adjusted_p):
        signs = "??"
    elif not test.is_different:
        signs = "=="
    else:
        signs = "><" if (test.difference > 0) != lower_is_better else "<>"
    yield (one, other), signs[0]
    yield (other, one), signs[1]


def name_clusters(order: Sequence[str], different: set[tuple[str, str]]) -> dict[str, str]:
    """Return letters by system: two systems share a letter exactly if they are not different.

    Compact letter display by inserting and absorbing (Piepho 2004).

    ```python
    name_clusters(["a", "b", "c"], {("a", "c")})   # {"a": "a", "b": "ab", "c": "b"}
    ```

    Args:
        order: systems, the best first.
        different: pairs that were told apart, in either order.
    """
    groups = [frozenset(order)]
    for pair in combinations(order, 2):
        if pair not in different and pair[::-1] not in different:
            continue
        split = []
        for group in groups:
            parts = [group - {one} for one in pair] if group.issuperset(pair) else [group]
            split += parts
        split = sorted(set(split), key=len, reverse=True)
        groups = []
        for group in split:
            if not any(group <= larger for larger in groups):
                groups.append(group)
    places = {name: place for place, name in enumerate(order)}
    groups.sort(key=lambda group: sorted(places[name] for name in group))
    letters = [_name_letter(number) for number in range(len(groups))]
    return {
        name: "".join(
            letter for letter, group in zip(letters, groups, strict=True) if name in group
        )
        for name in order
    }


def _name_letter(number: int) -> str:
    return ascii_letters[number] if number < len(ascii_letters) else f"({number + 1})"


def describe_disagreement(
    tests: Mapping[str, PairTests], lower: frozenset[str] = frozenset()
) -> list[str]:
    """Return a sentence for each pair of systems that metrics order differently, significantly.

    Args:
        tests: metric -> pair -> test.
        lower: metrics for which lower is better.
    """
    sentences = []
    for pair in next(iter(tests.values()), {}):
        preferred: dict[str, list[str]] = {name: [] for name in pair}
        for metric, pairs in tests.items():
            test = pairs[pair]
            if test.is_different:
                better = pair[(test.difference < 0) != (metric in lower)]
                preferred[better].append(metric)
        one, other = pair
        if preferred[one] and preferred[other]:
            sentences.append(
                f"metrics disagree: {', '.join(preferred[one])} prefer{_s(preferred[one])} {one}, "
                f"{', '.join(preferred[other])} prefer{_s(preferred[other])} {other}"
            )
    if sentences:
        involved = [metric for metric in tests if metric in KENDALL]
        known = ", ".join(f"{metric} {KENDALL[metric]}" for metric in involved)
        if known:
            sentences.append(
                f"agreement with experts' ratings of Flickr8k captions (Kendall's τ-c, percent): "
                f"{known}; see docs/which-number.md#agreement-with-human-judgments"
            )
    return sentences


def _s(metrics: Sequence[str]) -> str:
    return "s" * (len(metrics) == 1)
