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
    """Train with CIDEr-R of several k_r, from the same weights of a seed."""
    weights = lab.options.get("weights") or WEIGHTS
    findings = Findings()
    shown: dict[str, dict[str, str]] = {}
    for seed in lab.seeds:
        start = lab.begin(seed).model
        for weight in weights:
            # By its plain name where it is CIDEr-R's own, as other experiments train it.
            metric = "cider-r" if weight == CiderR().repetition else f"cider-r:{weight:g}"
            model = lab.reward(metric, seed, Losses(0, {metric: 1.0}), start).model
            figures, captions = lab.measure_system(model, seed)
            findings.rows.append({"system": f"k_r={weight:g}", "seed": seed, **figures})
            if seed == lab.seeds[0]:
                shown[f"k_r={weight:g}"] = captions
    findings.captions = show_captions(lab, shown)
    low, high = f"k_r={weights[0]:g}", f"k_r={weights[-1]:g}"
    best = "k_r=0.8" if 0.8 in weights else high
    if best != low:
        findings.expect_more(f"{best} repeats less than {low}", SOURCE, "repetition", low, best)
        findings.expect_more(
            f"{best} writes shorter captions than {low}", SOURCE, "words", low, best
        )
    findings.plots["figures"] = draw_bars(
        findings, ["repetition", "words", "cider-d", "cider-r", "self-cider"]
    )
    return findings
