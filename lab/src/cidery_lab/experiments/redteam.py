"""The red team as an experiment: which nonsense do rewards pay for, seed by seed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cidery.rewards import NONSENSE_KINDS, RedTeam, red_team
from cidery.runtime import use_progress
from cidery_lab.experiments.base import Findings, Lab, Verdict, judge
from cidery_lab.stages import read_metric

ABOUT = "the best-paid nonsense under each reward: hill climbing over words, RL from scratch"
SOURCE = "this experiment"
REWARDS = ("cider-d", "cider-r", "bleu-4", "rouge-l")
IMAGES = 40
FIGURES = (
    *("hackability", "score", "human", "human ratio", "wins", "held-out"),
    *("broken", "repeated", "unseen"),
)


def run(lab: Lab) -> Findings:
    """Attack each reward on test images; a seed chooses the images and all that is random."""
    rewards = {name: read_metric(name) for name in lab.options.get("rewards") or REWARDS}
    settings = {"images": IMAGES, "rounds": 100, "steps": 300, **lab.options.get("redteam", {})}
    findings = Findings()
    records: list[list[dict[str, Any]]] = []
    for seed in lab.seeds:
        with _watched(lab, seed):
            found = red_team(
                dict(lab.test.references),
                rewards,
                frequencies=lab.data.frequencies,
                tokenizer="whitespace",
                max_words=lab.scale.most_words,
                seed=seed,
                **settings,
            )
        if found.interrupted:
            raise KeyboardInterrupt
        records.append(found.to_records())
        for record in found.to_records():
            figures = {name: record[name] for name in FIGURES if np.isfinite(record[name])}
            system = f"{record['reward']}: {record['attack']}"
            findings.rows.append({"system": system, "seed": seed, **figures})
        if seed == lab.seeds[0]:
            findings.captions = _show(found)
    for name in rewards:
        _judge_people(findings, name)
    if {"cider-d", "cider-r"} <= set(rewards):
        findings.expect_more(
            "CIDEr-R pays less for repetition than CIDEr-D",
            "Santos, Colombini, Avila 2021, section 4",
            "hackability",
            "cider-d: repeated",
            "cider-r: repeated",
        )
    findings.plots["hackability"] = _draw(records)
    return findings


def _judge_people(findings: Findings, reward: str) -> None:
    """Judge whether the best-paid kind of nonsense earns more than people's captions."""
    kinds = [s for kind in NONSENSE_KINDS if (s := f"{reward}: {kind}") in findings.systems()]
    pairs = [(findings.values(kind, "score"), findings.values(kind, "human")) for kind in kinds]
    means = [float(np.mean(np.subtract(*pair))) for pair in pairs]
    best = int(np.argmax(means))
    outcome, interval = judge(np.subtract(*pairs[best]).tolist())
    findings.verdicts.append(
        Verdict(
            f"Nonsense earns more {reward} than captions that people wrote",
            SOURCE,
            outcome,
            f"score of {kinds[best]} less that of people: {interval} over "
            f"{len(pairs[best][0])} seeds",
        )
    )


def _show(found: RedTeam) -> list[dict[str, Any]]:
    """Return the worst example of each attack."""
    shown = []
    for attack in found.attacks:
        for place in attack.find_examples(1):
            earned = f"{attack.scores[place]:.2f}; people's {attack.human[place]:.2f}"
            caption = {f"{attack.reward}: {attack.name} ({earned})": attack.captions[place]}
            shown.append(
                {
                    "image": found.images[place],
                    "references": [found.human[place]],
                    "captions": caption,
                }
            )
    return shown


def _draw(records: list[list[dict[str, Any]]]) -> Any:
    """Draw means over seeds; the bars go from the least seed to the greatest."""
    from cidery.plots import plot_hackability

    means: list[Mapping[str, Any]] = []
    for same in zip(*records, strict=True):
        values = [record["hackability"] for record in same]
        if np.isfinite(values).all():
            spread = {"low": min(values), "high": max(values)}
            means.append({**same[0], "hackability": float(np.mean(values)), **spread})
    return plot_hackability(means)


@contextmanager
def _watched(lab: Lab, seed: int) -> Iterator[None]:
    """Show how far a search is, where somebody watches."""

    def watch(what: str, share: float) -> None:
        if lab.watch is not None:
            lab.watch({"system": what, "seed": seed, "stage": "red team", "share": share})

    with use_progress(watch):
        yield
