"""Protocols: from scores and human judgments to statistics of agreement.

| protocol     | judgments | question                                                              |
|--------------|-----------|-----------------------------------------------------------------------|
| `triplets`   | pairs     | is the caption preferred that people find more like the references?   |
| `preference` | pairs     | is the caption preferred that people find better?                     |
| `references` | pairs     | how does that depend on the number of references?                     |
| `human`      | triplets  | how well do people predict each other's majority, and how well do     |
|              |           | metrics?                                                              |
| `liked`      | pairs     | where the caption that is liked is not the human-like one, which does |
|              |           | a metric choose?                                                      |
| `wins`       | pairs     | do systems win as often by the metric as by people?                   |
| `ratings`    | ratings   | do scores go with ratings, of captions and of systems?                |
| `systems`    | systems   | do systems' scores go with people's?                                  |
| `diversity`  | sets      | do measures of diversity go with ratings of sets?                     |
| `gaming`     | any       | is an intact caption preferred to a spoilt one?                       |
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cidery.errors import SettingError
from cidery.meta.judgments import Dataset, Pairs, Ratings, Sets, Systems
from cidery.meta.protocols.base import Protocol
from cidery.meta.protocols.diversity import judge_sets
from cidery.meta.protocols.gaming import judge_gaming
from cidery.meta.protocols.human import judge_human
from cidery.meta.protocols.liked import judge_liked
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
        "liked": ((Pairs,), judge_liked),
        "wins": ((Pairs,), judge_wins),
        "ratings": ((Ratings,), judge_ratings),
        "systems": ((Systems,), judge_systems),
        "diversity": ((Sets,), judge_sets),
        "gaming": ((Pairs, Ratings), judge_gaming),
    }
)
"""name -> the kinds of judgments it takes, and the function that judges"""


def choose_protocol(dataset: Dataset, asked: ProtocolName | None) -> ProtocolName:
    """Return the protocol that was asked for if it fits, by default the first that fits."""
    fitting = [name for name, (kinds, _) in PROTOCOLS.items() if isinstance(dataset, kinds)]
    if isinstance(dataset, Pairs) and "triplets" not in dataset.votes:
        fitting.remove("triplets")
    if isinstance(dataset, Pairs) and "preference" not in dataset.votes:
        fitting.remove("preference")
    if isinstance(dataset, Pairs) and not {"triplets", "preference"} <= {*dataset.votes}:
        fitting.remove("liked")
    if asked is None:
        return fitting[0]
    if asked not in fitting:
        raise SettingError(
            f"the protocol {asked!r} does not fit the judgments in {dataset.name}; "
            f"these do: {', '.join(fitting)}"
        )
    return asked


__all__ = ["PROTOCOLS", "choose_protocol"]
