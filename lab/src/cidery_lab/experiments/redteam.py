"""Red team: nonsense with a high reward, for several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from cidery.rewards import NONSENSE_KINDS, RedTeam, red_team
from cidery.runtime import use_progress
from cidery_lab.experiments.base import Findings, Lab, Verdict, assess
from cidery_lab.stages import read_metric

ABOUT = "nonsense with the highest reward: hill climbing over words, reinforcement learning"
SOURCE = "this experiment"
REWARDS = ("cider-d", "cider-r", "bleu-4", "rouge-l")
IMAGES = 40
SCORE_NAMES = (
    *("hackability", "score", "human", "human ratio", "wins", "held-out"),
    *("broken", "repeated", "unseen"),
)


def run(lab: Lab) -> Findings:
    """Attack each reward on test images."""
    rewards = {name: read_metric(name) for name in lab.options.get("rewards") or REWARDS}
    settings = {"images": IMAGES, "rounds": 100, "steps": 300, **lab.options.get("redteam", {})}
    findings = Findings()
    records: list[list[dict[str, Any]]] = []
    for seed in lab.seeds:
        with _report_progress(lab, seed):
            found = red_team(
                dict(lab.test.references),
                rewards,
                frequencies=lab.data.frequencies,
                tokenizer="whitespace",
                max_words=lab.scale.max_words,
                seed=seed,
                **settings,
            )
        if found.interrupted:
            raise KeyboardInterrupt
        records.append(found.to_records())
        for record in found.to_records():
            scores = {name: record[name] for name in SCORE_NAMES if np.isfinite(record[name])}
            system = f"{record['reward']}: {record['attack']}"
            findings.rows.append({"system": system, "seed": seed, **scores})
        if seed == lab.seeds[0]:
            findings.captions = _show(found)
    for name in rewards:
        _assess_people(findings, name)
    if {"cider-d", "cider-r"} <= set(rewards):
        findings.test_greater(
            "Repetition has a lower hackability under CIDEr-R than under CIDEr-D",
            "Santos, Colombini, Avila 2021, section 4",
            "hackability",
            "cider-d: repeated",
            "cider-r: repeated",
        )
    findings.plots["hackability"] = _draw(records)
    return findings


def _assess_people(findings: Findings, reward: str) -> None:
    """Test if the nonsense with the highest reward exceeds human captions."""
    kinds = [s for kind in NONSENSE_KINDS if (s := f"{reward}: {kind}") in findings.systems()]
    pairs = [(findings.values(kind, "score"), findings.values(kind, "human")) for kind in kinds]
    means = [float(np.mean(np.subtract(*pair))) for pair in pairs]
    best = int(np.argmax(means))
    outcome, interval = assess(np.subtract(*pairs[best]).tolist())
    findings.verdicts.append(
        Verdict(
            f"Nonsense has a higher {reward} than human captions",
            SOURCE,
            outcome,
            f"score of {kinds[best]} minus that of human captions: {interval} over "
            f"{len(pairs[best][0])} seeds",
        )
    )


def _show(found: RedTeam) -> list[dict[str, Any]]:
    """Return the worst example of each attack."""
    shown = []
    for attack in found.attacks:
        for place in attack.find_examples(1):
            earned = f"{attack.scores[place]:.2f}; human {attack.human[place]:.2f}"
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
    """Plot means over seeds; bars show the range of seeds."""
    from cidery.plots import plot_hackability

    means: list[Mapping[str, Any]] = []
    for same in zip(*records, strict=True):
        values = [record["hackability"] for record in same]
        if np.isfinite(values).all():
            spread = {"low": min(values), "high": max(values)}
            means.append({**same[0], "hackability": float(np.mean(values)), **spread})
    return plot_hackability(means)


@contextmanager
def _report_progress(lab: Lab, seed: int) -> Iterator[None]:
    """Report progress to the lab's callback."""

    def callback(what: str, share: float) -> None:
        if lab.callback is not None:
            lab.callback({"system": what, "seed": seed, "stage": "red team", "share": share})

    with use_progress(callback):
        yield
