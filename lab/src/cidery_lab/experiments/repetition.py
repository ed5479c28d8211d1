"""CIDEr-D against CIDEr-R as the reward: Santos, Colombini, Avila 2021, Table 2, figures 1, 4."""

from __future__ import annotations

from cidery_lab.experiments.base import Findings, Lab, show_captions
from cidery_lab.experiments.drawing import draw_bars
from cidery_lab.stages import Losses

ABOUT = "CIDEr-D against CIDEr-R as reward: repetition, length, scores (Santos et al. 2021)"
SOURCE = "Santos, Colombini, Avila 2021"


def run(lab: Lab) -> Findings:
    """Train with cross-entropy, then with either reward, from the same weights."""
    findings = Findings()
    shown = {}
    for seed in lab.seeds:
        start = lab.train_cross_entropy(seed).model
        systems = {"cross-entropy": start}
        for metric in ("cider-d", "cider-r"):
            systems[metric] = lab.train_with_reward(
                metric, seed, Losses(0, {metric: 1.0}), start
            ).model
        for name, model in systems.items():
            scores, captions = lab.measure_system(model, seed)
            findings.rows.append({"system": name, "seed": seed, **scores})
            if seed == lab.seeds[0]:
                shown[name] = captions
    findings.captions = show_captions(lab, shown)
    findings.test_greater(
        "Optimizing CIDEr-D makes captions more repetitive than cross-entropy",
        f"{SOURCE}, section 5",
        "repetition",
        "cider-d",
        "cross-entropy",
    )
    findings.test_greater(
        "Optimizing CIDEr-R makes captions less repetitive than CIDEr-D",
        f"{SOURCE}, section 6.2",
        "repetition",
        "cider-d",
        "cider-r",
    )
    findings.test_greater(
        "Optimizing CIDEr-R makes captions shorter than CIDEr-D",
        f"{SOURCE}, section 5",
        "words",
        "cider-d",
        "cider-r",
    )
    findings.test_greater(
        "Optimizing CIDEr-D gives a higher CIDEr-D than optimizing CIDEr-R",
        f"{SOURCE}, Table 2",
        "cider-d",
        "cider-d",
        "cider-r",
    )
    findings.test_greater(
        "Optimizing CIDEr-R gives a higher CIDEr-R than optimizing CIDEr-D",
        f"{SOURCE}, Table 2",
        "cider-r",
        "cider-r",
        "cider-d",
    )
    findings.test_greater(
        "Optimizing CIDEr-D raises CIDEr-D above cross-entropy",
        "Rennie et al. 2017",
        "cider-d",
        "cider-d",
        "cross-entropy",
    )
    findings.plots["figures"] = draw_bars(
        findings, ["repetition", "words", "cider-d", "cider-r", "self-cider"]
    )
    return findings
