"""Results of a red team: attacks, and tables, JSON and HTML of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from cidery._version import __version__
from cidery.corpus import ImageId
from cidery.markup import escape, html_page
from cidery.statistics import Floats, Interval, bootstrap_interval
from cidery.storage import write_atomically
from cidery.tables import Column, Table, Tabular

AttackName: TypeAlias = Literal["free", "broken", "repeated", "scrambled", "blind"]
ATTACKS: tuple[AttackName, ...] = get_args(AttackName)
"""Names of the attacks."""
EXAMPLES = 3
_DEFINITION = (
    "hackability: the mean reward of the nonsense found, divided by that of the best captions of "
    "any kind (free)"
)


@dataclass(frozen=True, eq=False)
class Attack:
    """Result of one search under one reward: a caption per image, and its rewards."""

    reward: str
    name: AttackName
    captions: tuple[str, ...]
    scores: Floats
    free: Floats
    """Rewards of the best captions of any kind."""
    human: Floats
    """Reward of the human caption of each image."""
    held_out_scores: Floats
    """Scores of the captions by the held-out metric."""
    held_out_free: Floats
    """Scores of the best captions of any kind by the held-out metric."""
    faults: Mapping[str, Floats]
    """`broken`, `repeated`, `unseen` and `nonsense`, of each caption."""
    held_out: str
    """Name of the held-out metric."""
    scored: int
    """Number of captions that the search scored."""
    seed: int = 0

    @property
    def hackability(self) -> Interval:
        """Mean reward divided by that of `free`, with an interval over images."""
        return _ratio(self.scores, self.free, self.seed)

    @property
    def human_ratio(self) -> Interval:
        """Mean reward divided by that of the human captions."""
        return _ratio(self.scores, self.human, self.seed)

    @property
    def wins(self) -> float:
        """Share of images whose reward is at least that of the human caption."""
        return float(np.mean(self.scores >= self.human))

    @property
    def held_out_hackability(self) -> Interval:
        """Hackability under the held-out metric, which the search does not optimize."""
        return _ratio(self.held_out_scores, self.held_out_free, self.seed)

    def record(self) -> dict[str, Any]:
        """Return all statistics of the attack."""
        hackability = self.hackability
        return {
            "reward": self.reward,
            "attack": self.name,
            "score": float(self.scores.mean()),
            "human": float(self.human.mean()),
            "hackability": hackability.score,
            "low": hackability.low,
            "high": hackability.high,
            "human ratio": self.human_ratio.score,
            "wins": self.wins,
            "held-out metric": self.held_out,
            "held-out": self.held_out_hackability.score,
            **{name: float(values.mean()) for name, values in self.faults.items()},
            "scored": self.scored,
        }

    def find_examples(self, count: int = EXAMPLES) -> list[int]:
        """Return the indices of the images with the largest gain over the human caption.

        Each caption occurs once.
        """
        order = np.argsort(self.human - self.scores, kind="stable").tolist()
        return list({self.captions[place]: place for place in reversed(order)}.values())[::-1][
            :count
        ]


@dataclass(frozen=True, eq=False)
class RedTeam(Tabular):
    """Results of all searches: a table, JSON or an HTML page."""

    attacks: tuple[Attack, ...]
    images: tuple[ImageId, ...]
    human: tuple[str, ...]
    """Held-out caption of each image."""
    human_faults: Mapping[str, float]
    signatures: Mapping[str, str]
    settings: Mapping[str, Any]
    interrupted: bool = False
    """True after Ctrl-C; the last attack is then incomplete."""

    def table(self) -> Table:
        """Return a row per attack."""
        shares = ("wins", "held-out", "broken", "repeated", "unseen")
        columns = [
            *(Column("reward"), Column("attack")),
            *(Column(name, ".3f") for name in ("score", "human", "hackability")),
            Column("95 %", "{low:.2f} to {high:.2f}"),
            Column("human ratio", ".3g"),
            *(Column(name, ".2f") for name in shares),
        ]
        rows = [attack.record() for attack in self.attacks]
        signatures = list(self.signatures.values())
        return Table(columns, rows, notes=self.notes(), signatures=signatures)

    def notes(self) -> list[str]:
        """Return the notes below the table."""
        people = self.human_faults
        metrics = "; ".join(
            f"{held_out} for {name}"
            for name, held_out in {a.reward: a.held_out for a in self.attacks}.items()
        )
        notes = [
            f"{_DEFINITION}; {len(self.images)} images",
            "human ratio: the mean reward, divided by that of held-out human captions; wins: the "
            "share of images where the reward is at least that of the human caption",
            f"held-out: hackability under a metric that the search does not optimize ({metrics})",
            f"human captions: {people['broken']:.2f} broken, {people['repeated']:.2f} repeated, "
            f"{people['unseen']:.2f} unseen",
        ]
        if self.interrupted:
            notes.append("interrupted: the last attack is incomplete")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return all scores and captions, ready for JSON."""
        return {
            "cidery": __version__,
            "settings": dict(self.settings),
            "signatures": dict(self.signatures),
            "interrupted": self.interrupted,
            "human_faults": dict(self.human_faults),
            "attacks": [
                {
                    **attack.record(),
                    "captions": [
                        {"image": image, "caption": caption, "score": score, "human": human}
                        for image, caption, score, human in zip(
                            self.images,
                            attack.captions,
                            attack.scores.tolist(),
                            attack.human.tolist(),
                            strict=True,
                        )
                    ],
                }
                for attack in self.attacks
            ],
            "human": dict(zip(map(str, self.images), self.human, strict=True)),
        }

    def examples(self, attack: Attack, count: int = EXAMPLES) -> Table:
        """Return the worst captions of an attack, with rewards and human captions."""
        rows = [
            (
                attack.captions[place],
                float(attack.scores[place]),
                self.human[place],
                float(attack.human[place]),
            )
            for place in attack.find_examples(count)
        ]
        reward = Column("reward", ".2f")
        return Table.of(["caption found", reward, "human caption", reward], rows)

    def to_html(self) -> str:
        """Return a self-contained page: the table, and examples of each attack."""
        parts = ["<h1>Nonsense with a high reward</h1>", self.table().to_html()]
        for attack in self.attacks:
            parts.append(f"<h2>{escape(attack.reward)}: {escape(attack.name)}</h2>")
            parts.append(self.examples(attack, 2 * EXAMPLES).to_html())
        return html_page("Red team", "".join(parts))

    def _repr_html_(self) -> str:
        return self.table().to_html()

    def write_page(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        write_atomically(path, self.to_html().encode())


def _ratio(found: Floats, other: Floats, seed: int) -> Interval:
    """Return the ratio of means; NaN where the second is not positive."""

    def pool(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)
        return ratio

    return bootstrap_interval(np.stack([found, other], axis=1), pool, seed=seed)
