"""Protocols: from scores and human judgments to statistics of agreement.

| protocol       | judgments | statistic                                                          |
|----------------|-----------|--------------------------------------------------------------------|
| `triplets`     | pairs     | accuracy: choice of the caption that is more like the references   |
| `preference`   | pairs     | accuracy: choice of the caption that people prefer                 |
| `references`   | pairs     | accuracy by number of references                                   |
| `human`        | triplets  | accuracy of people, and of metrics, in predicting a majority       |
| `disagreement` | pairs     | choices where triplets and preferences differ                      |
| `wins`         | pairs     | correlation of the shares of wins of systems                       |
| `ratings`      | ratings   | correlation with ratings, of captions and of systems               |
| `systems`      | systems   | correlation with human scores of systems                           |
| `diversity`    | sets      | correlation of diversity with ratings of sets                      |
| `corruption`   | any       | accuracy: choice of intact captions over corrupted ones            |
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cidery.errors import SettingError
from cidery.meta.judgments import Dataset, Pairs, Ratings, Sets, Systems
from cidery.meta.protocols.base import Protocol
from cidery.meta.protocols.corruption import judge_corruption
from cidery.meta.protocols.disagreement import judge_disagreement
from cidery.meta.protocols.diversity import judge_sets
from cidery.meta.protocols.human import judge_human
from cidery.meta.protocols.pairs import judge_pairs
from cidery.meta.protocols.ratings import judge_ratings
from cidery.meta.protocols.references import judge_by_references
from cidery.meta.protocols.systems import judge_systems, judge_wins
from cidery.meta.settings import ProtocolName

PROTOCOLS: Mapping[ProtocolName, tuple[tuple[type, ...], Protocol]] = MappingProxyType(
    {
        "triplets": ((Pairs,), judge_pairs),
        "preference": ((Pairs,), judge_pairs),
        "references": ((Pairs,), judge_by_references),
        "human": ((Pairs,), judge_human),
        "disagreement": ((Pairs,), judge_disagreement),
        "wins": ((Pairs,), judge_wins),
        "ratings": ((Ratings,), judge_ratings),
        "systems": ((Systems,), judge_systems),
        "diversity": ((Sets,), judge_sets),
        "corruption": ((Pairs, Ratings), judge_corruption),
    }
)
"""name -> supported kinds of judgments, and the function that computes the verdicts"""


def choose_protocol(dataset: Dataset, requested: ProtocolName | None) -> ProtocolName:
    """Return the requested protocol after a check, or the first that fits the data set."""
    fitting = [name for name, (kinds, _) in PROTOCOLS.items() if isinstance(dataset, kinds)]
    if isinstance(dataset, Pairs) and "triplets" not in dataset.votes:
        fitting.remove("triplets")
    if isinstance(dataset, Pairs) and "preference" not in dataset.votes:
        fitting.remove("preference")
    if isinstance(dataset, Pairs) and not {"triplets", "preference"} <= {*dataset.votes}:
        fitting.remove("disagreement")
    if requested is None:
        return fitting[0]
    if requested not in fitting:
        raise SettingError(
            f"the protocol {requested!r} does not fit the judgments in {dataset.name}; "
            f"use {', '.join(fitting)}"
        )
    return requested


__all__ = ["PROTOCOLS", "choose_protocol"]
