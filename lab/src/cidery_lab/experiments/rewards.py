"""Which reward should I train with? Every metric as a reward, judged by all others."""

from __future__ import annotations

import numpy as np

from cidery_lab.experiments.base import Findings, Lab, Outcome, Verdict, judge, show_captions
from cidery_lab.experiments.drawing import draw_table
from cidery_lab.stages import Losses

ABOUT = "each metric as a reward, judged by all others: a cross table of who games whom"
REWARDS = ("cider-d", "cider-r", "cider", "bleu-4", "rouge-l")
"""What runs without other extras. METEOR, SPICE, `consensus` and any other metric by --rewards."""


def run(lab: Lab) -> Findings:
    """Train with each reward from the same weights, and score each system with every metric."""
    from cidery_lab.evaluation import score_captions

    rewards = tuple(lab.options.get("rewards") or REWARDS)
    judges = list(dict.fromkeys([*rewards, *lab.scores, *lab.options.get("judges", ())]))
    findings = Findings()
    shown: dict[str, dict[str, str]] = {}
    for seed in lab.seeds:
        start = lab.begin(seed).model
        systems = {"cross-entropy": start}
        for metric in rewards:
            systems[metric] = lab.reward(metric, seed, Losses(0, {metric: 1.0}), start).model
        for name, model in systems.items():
            figures, captions = lab.measure_system(model, seed)
            scores = score_captions(captions, lab.test, judges, lab.data)
            findings.rows.append({"system": name, "seed": seed, **figures, **scores})
            if seed == lab.seeds[0]:
                shown[name] = captions
    findings.captions = show_captions(lab, shown)
    for metric in rewards:
        _judge(findings, metric, [name for name in judges if name != metric])
    findings.plots["cross"] = draw_table(findings, ["cross-entropy", *rewards], judges)
    return findings


def _judge(findings: Findings, metric: str, others: list[str]) -> None:
    """Judge whether a reward raises itself, and the others too; those it lowers it games."""
    findings.expect_more(
        f"Training with {metric} raises {metric}",
        "self-critical training",
        metric,
        metric,
        "cross-entropy",
    )
    found: dict[str, list[str]] = {"shows": [], "does not show": [], "opposite": []}
    for other in others:
        trained, plain = findings.values(metric, other), findings.values("cross-entropy", other)
        found[judge(np.subtract(trained, plain).tolist())[0]].append(other)
    outcome: Outcome = "does not show" if found["does not show"] else "shows"
    findings.verdicts.append(
        Verdict(
            f"Training with {metric} raises every other metric as well",
            "this experiment",
            "opposite" if found["opposite"] else outcome,
            f"beyond the interval over seeds, raised: {', '.join(found['shows']) or 'none'}; "
            f"lowered: {', '.join(found['opposite']) or 'none'}",
        )
    )
