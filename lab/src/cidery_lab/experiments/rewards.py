"""Choice of a reward: each metric as a reward, evaluated by all others."""

from __future__ import annotations

import numpy as np

from cidery_lab.experiments.base import Findings, Lab, Outcome, Verdict, assess, show_captions
from cidery_lab.experiments.drawing import draw_table
from cidery_lab.stages import Losses

ABOUT = "each metric as a reward, evaluated by all others"
REWARDS = ("cider-d", "cider-r", "cider", "bleu-4", "rouge-l")
"""Metrics without extras. --rewards adds METEOR, SPICE, `consensus` or any other metric."""


def run(lab: Lab) -> Findings:
    """Train with each reward from the same weights, and score each system with every metric."""
    from cidery_lab.evaluation import score_captions

    rewards = tuple(lab.options.get("rewards") or REWARDS)
    metrics = list(dict.fromkeys([*rewards, *lab.scores, *lab.options.get("metrics", ())]))
    findings = Findings()
    shown: dict[str, dict[str, str]] = {}
    for seed in lab.seeds:
        start = lab.train_cross_entropy(seed).model
        systems = {"cross-entropy": start}
        for metric in rewards:
            systems[metric] = lab.train_with_reward(
                metric, seed, Losses(0, {metric: 1.0}), start
            ).model
        for name, model in systems.items():
            scores, captions = lab.measure_system(model, seed)
            scores |= score_captions(captions, lab.test, metrics, lab.data)
            findings.rows.append({"system": name, "seed": seed, **scores})
            if seed == lab.seeds[0]:
                shown[name] = captions
    findings.captions = show_captions(lab, shown)
    for metric in rewards:
        _assess(findings, metric, [name for name in metrics if name != metric])
    findings.plots["cross"] = draw_table(findings, ["cross-entropy", *rewards], metrics)
    return findings


def _assess(findings: Findings, metric: str, others: list[str]) -> None:
    """Test if a reward raises itself and the other metrics."""
    findings.test_greater(
        f"Training with {metric} raises {metric}",
        "self-critical training",
        metric,
        metric,
        "cross-entropy",
    )
    found: dict[str, list[str]] = {"supported": [], "not supported": [], "contradicted": []}
    for other in others:
        trained, plain = findings.values(metric, other), findings.values("cross-entropy", other)
        found[assess(np.subtract(trained, plain).tolist())[0]].append(other)
    outcome: Outcome = "not supported" if found["not supported"] else "supported"
    findings.verdicts.append(
        Verdict(
            f"Training with {metric} raises every other metric as well",
            "this experiment",
            "contradicted" if found["contradicted"] else outcome,
            f"beyond the interval over seeds, raised: {', '.join(found['supported']) or 'none'}; "
            f"lowered: {', '.join(found['contradicted']) or 'none'}",
        )
    )
