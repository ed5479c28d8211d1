"""Weights of cross-entropy, CIDEr and retrieval: Wang and Chan 2019, section 5.3, figure 8."""

from __future__ import annotations

from cidery.errors import SettingError
from cidery_lab.experiments.base import Findings, Lab, Verdict, assess, show_captions
from cidery_lab.experiments.drawing import draw_ranks, draw_tradeoff
from cidery_lab.stages import FAMILIES, WEIGHTS, Losses

ABOUT = "XE + λ · CIDEr and the other losses of figure 8: diversity against accuracy"
SOURCE = "Wang and Chan 2019, section 5.3"


def run(lab: Lab) -> Findings:
    """Train each family of losses with each of its weights, from the same initial model."""
    families = lab.options.get("families", ("lambda",))
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        raise SettingError(
            f"no family of losses named {unknown[0]!r}; known: {', '.join(FAMILIES)}"
        )
    findings = Findings()
    shown: dict[str, dict[str, str]] = {}
    curves: dict[str, list[str]] = {}
    for seed in lab.seeds:
        start = lab.train_cross_entropy(seed).model
        systems = {"XE": start}
        systems["CIDEr"] = lab.train_with_reward(
            "cider-d", seed, Losses(0, {"cider-d": 1.0}), start
        ).model
        for family in families:
            names = []
            for weight in lab.options.get("weights") or WEIGHTS[family]:
                name = f"{family}={weight:g}"
                losses = Losses.of_family(family, weight)
                systems[name] = lab.train_with_reward(name, seed, losses, start).model
                names.append(name)
            curves[FAMILIES[family]] = names
        for name, model in systems.items():
            scores, captions = lab.measure_system(model, seed)
            findings.rows.append({"system": name, "seed": seed, **scores})
            if seed == lab.seeds[0]:
                shown[name] = captions
    findings.captions = show_captions(lab, shown)
    findings.test_greater(
        "Training with CIDEr alone makes sets less diverse than cross-entropy",
        SOURCE,
        "self-cider",
        "XE",
        "CIDEr",
    )
    findings.test_greater(
        "Training with CIDEr alone makes sets more accurate than cross-entropy",
        SOURCE,
        "accuracy",
        "CIDEr",
        "XE",
    )
    if "lambda" in families:
        names = curves[FAMILIES["lambda"]]
        _assess_order(findings, names, "accuracy", "A larger λ gives a higher accuracy", 1)
        _assess_order(findings, names, "self-cider", "A larger λ gives a lower diversity", -1)
        findings.test_greater(
            "The balance between XE and CIDEr has the highest F: better than CIDEr alone",
            SOURCE,
            "f",
            names[len(names) // 2],
            "CIDEr",
        )
    findings.plots["tradeoff"] = draw_tradeoff(findings, curves)
    findings.plots["ranks"] = draw_ranks(findings, "self-cider", "mbleu-mix")
    return findings


def _assess_order(findings: Findings, names: list[str], score: str, claim: str, sign: int) -> None:
    """Test if a score follows the order of the weights: Kendall's τ per seed."""
    if len(names) < 3:
        findings.notes.append(f"{claim}: not tested with fewer than three weights")
        return
    by_seed = zip(*(findings.values(name, score) for name in names), strict=True)
    taus = [sign * _kendall([float(v) for v in values]) for values in by_seed]
    outcome, interval = assess(taus)
    findings.verdicts.append(
        Verdict(claim, SOURCE, outcome, f"{'minus ' if sign < 0 else ''}Kendall's τ: {interval}")
    )


def _kendall(values: list[float]) -> float:
    """Return Kendall's τ of values and their order, in [-1, 1]."""
    pairs = [(a, b) for place, a in enumerate(values) for b in values[place + 1 :]]
    return sum((b > a) - (b < a) for a, b in pairs) / len(pairs)
