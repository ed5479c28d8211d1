"""k_r of CIDEr-R as a reward: Santos, Colombini, Avila 2021, section 5."""

from __future__ import annotations

from cidery import CiderR
from cidery_lab.experiments.base import Findings, Lab, show_captions
from cidery_lab.experiments.drawing import draw_bars
from cidery_lab.stages import Losses

ABOUT = "CIDEr-R's k_r, the weight of repetition against length, from 0 to 1"
SOURCE = "Santos, Colombini, Avila 2021, section 5"
WEIGHTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def run(lab: Lab) -> Findings:
    """Train with CIDEr-R for several k_r, from the same initial model."""
    weights = lab.options.get("weights") or WEIGHTS
    findings = Findings()
    shown: dict[str, dict[str, str]] = {}
    for seed in lab.seeds:
        start = lab.train_cross_entropy(seed).model
        for weight in weights:
            # The default k_r has the plain name, which other experiments share.
            metric = "cider-r" if weight == CiderR().repetition else f"cider-r:{weight:g}"
            model = lab.train_with_reward(metric, seed, Losses(0, {metric: 1.0}), start).model
            scores, captions = lab.measure_system(model, seed)
            findings.rows.append({"system": f"k_r={weight:g}", "seed": seed, **scores})
            if seed == lab.seeds[0]:
                shown[f"k_r={weight:g}"] = captions
    findings.captions = show_captions(lab, shown)
    low, high = f"k_r={weights[0]:g}", f"k_r={weights[-1]:g}"
    best = "k_r=0.8" if 0.8 in weights else high
    if best != low:
        findings.test_greater(f"{best} repeats less than {low}", SOURCE, "repetition", low, best)
        findings.test_greater(
            f"{best} writes shorter captions than {low}", SOURCE, "words", low, best
        )
    findings.plots["figures"] = draw_bars(
        findings, ["repetition", "words", "cider-d", "cider-r", "self-cider"]
    )
    return findings
