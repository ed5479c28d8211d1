"""Comparison of generators of caption sets: Wang and Chan 2019, figures 4 to 6."""

from __future__ import annotations

from cidery.diversity import measure_diversity
from cidery_lab.experiments.base import Findings, Lab
from cidery_lab.experiments.drawing import draw_bars, draw_tradeoff
from cidery_lab.stages import Losses

ABOUT = "RS, RCI, GNC, SS, DRV, beam and diverse beam search: diversity against accuracy"
SOURCE = "Wang and Chan 2019, section 5.2"
LATENT = ("cvae", "cgan")


def run(lab: Lab) -> Findings:
    """Generate sets with all generators; DRV with a CVAE and a GAN."""
    from cidery_lab.generators import GENERATORS, generate_sets

    chosen = lab.options.get("generators") or tuple(GENERATORS)
    findings = Findings()
    has_regions = lab.data.train.features.ndim == 3
    if "rci" in chosen and not has_regions:
        findings.notes.append("RCI is skipped: these features have no regions to crop")
    for seed in lab.seeds:
        model = lab.train_cross_entropy(seed).model
        systems = [
            (f"{lab.model}-{name}", name, model)
            for name in chosen
            if name != "drv" and (name != "rci" or has_regions)
        ]
        if "drv" in chosen:
            cvae = lab.train_cross_entropy(seed, "cvae").model
            cgan = lab.train_cross_entropy(seed, "cgan").model
            losses = Losses(0, adversarial=1.0)
            systems.append(("cvae-drv", "drv", cvae))
            systems.append(
                ("cgan-drv", "drv", lab.train_with_reward("cgan", seed, losses, cgan).model)
            )
        for label, name, captioner in systems:
            sets = generate_sets(
                name,
                captioner,
                lab.data,
                lab.test,
                count=lab.scale.set_size,
                seed=seed,
                max_words=lab.scale.max_words,
            )
            findings.rows.append({"system": label, "seed": seed, **lab.measure_sets(sets)})
        findings.rows.append({"system": "humans", "seed": seed, **_measure_humans(lab)})
    _assess(findings, lab.model)
    curves = {system: [system] for system in findings.systems()}
    findings.plots["tradeoff"] = draw_tradeoff(findings, curves)
    findings.plots["figures"] = draw_bars(findings, ["self-cider", "accuracy", "f"])
    return findings


def _measure_humans(lab: Lab) -> dict[str, float]:
    """Return scores of the references, each against the others of its image."""
    sets = {image: group for image, group in lab.test.references.items() if len(group) > 1}
    table = measure_diversity(
        sets,
        ["self-cider", "lsa", "mbleu", "distinct", "vocabulary"],
        frequencies=lab.data.frequencies,
        references="leave-one-out",
        tokenizer="whitespace",
    )
    return {name: float(value) for name, value in table.corpus.items()}


def _assess(findings: Findings, model: str) -> None:
    known = findings.systems()
    claims = (
        ("RS is more diverse than switching synonyms", "self-cider", "rs", "ss"),
        ("RS is more diverse than beam search", "self-cider", "rs", "beam"),
        ("Noise on the input (GNC) is less accurate than beam search", "accuracy", "beam", "gnc"),
        ("Switching synonyms is less accurate than beam search", "accuracy", "beam", "ss"),
        ("Diverse beams are more diverse than beams", "self-cider", "diverse-beam", "beam"),
    )
    for claim, score, more, less in claims:
        names = f"{model}-{more}", f"{model}-{less}"
        if set(names) <= set(known):
            findings.test_greater(claim, SOURCE, score, *names)
    for system in ("cvae-drv", "cgan-drv"):
        if system in known:
            findings.test_greater(
                f"Human captions are more accurate than those of {system}",
                SOURCE,
                "accuracy",
                "humans",
                system,
            )
