"""What experiments share: systems trained once per seed, figures of each, verdicts.

An experiment is a module of this package with `ABOUT`, one line, and `run(lab) -> Findings`; its
name stands in `EXPERIMENTS`.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cidery.errors import SettingError
from cidery_lab.data import LabData, Split
from cidery_lab.stages import Losses, Stage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cidery_lab.models.base import Captioner
    from cidery_lab.training import Run

Outcome = Literal["shows", "does not show", "opposite"]
SCORES = ("cider-d", "cider-r", "bleu-4", "rouge-l")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Scale:
    """How much is trained, and how large the models are."""

    hidden: int = 512
    dropout: float = 0.5
    epochs: int = 7
    """Of cross-entropy."""
    reward_epochs: int = 8
    rate: float = 3e-3
    """It rises in the first twentieth of cross-entropy and falls to 0 until its end."""
    smoothing: float = 0.1
    hidden_words: float = 0.15
    patience: int = 5
    """Of cross-entropy; rewards are always trained to the end."""
    reward_rate: float = 3e-4
    """It falls to 0."""
    batch: int = 128
    """Captions in a step of cross-entropy."""
    reward_images: int = 20
    """Images in a step with a reward; at most a quarter of `batch`."""
    samples: int = 5
    most_words: int = 20
    test_images: int | None = None
    set_size: int = 10
    """Captions per image where diversity is measured."""

    def cross_entropy(self) -> Stage:
        """Return the first stage of all systems."""
        return Stage(
            "cross-entropy",
            epochs=self.epochs,
            rate=self.rate,
            warm_up=0.05,
            cool_down=True,
            smoothing=self.smoothing,
            hidden_words=self.hidden_words,
            batch=self.batch,
            most_words=self.most_words,
            patience=self.patience,
        )

    def rewarded(self, name: str, losses: Losses) -> Stage:
        """Return a stage with these losses, which starts from the first."""
        return Stage(
            name,
            epochs=self.reward_epochs,
            losses=losses,
            rate=self.reward_rate,
            cool_down=True,
            batch=max(1, min(self.reward_images, self.batch // 4)),
            samples=self.samples,
            most_words=self.most_words,
            patience=0,
        )


SCENES_SCALE = Scale(
    hidden=128,
    dropout=0.0,
    epochs=14,
    reward_epochs=8,
    rate=4e-3,
    smoothing=0.0,
    hidden_words=0.0,
    patience=0,
    reward_rate=1e-3,
    batch=80,
    samples=5,
    most_words=64,
)
"""For the invented scenes: a minute or two per system on one core."""


@dataclass(frozen=True)
class Verdict:
    """What a run says about one claim."""

    claim: str
    source: str
    outcome: Outcome
    evidence: str


@dataclass(eq=False)
class Findings:
    """What an experiment found."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """One per system and seed: `system`, `seed` and figures."""
    verdicts: list[Verdict] = field(default_factory=list)
    captions: list[dict[str, Any]] = field(default_factory=list)
    """Some images: `image`, `references` and the caption of each system."""
    plots: dict[str, Figure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def values(self, system: str, figure: str) -> list[float]:
        """Return a figure of a system, seed by seed."""
        return [row[figure] for row in self.rows if row["system"] == system]

    def systems(self) -> list[str]:
        """Return the names of the systems, in the order of the rows."""
        return list(dict.fromkeys(row["system"] for row in self.rows))

    def figures(self) -> list[str]:
        """Return the names of the figures."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in names if name not in ("system", "seed")]

    def expect_more(self, claim: str, source: str, figure: str, more: str, less: str) -> None:
        """Judge a claim: `figure` of the system `more` is greater than that of `less`."""
        pairs = list(zip(self.values(more, figure), self.values(less, figure), strict=True))
        outcome, interval = judge([a - b for a, b in pairs])
        evidence = (
            f"{figure} of {more} less that of {less}: {interval} over {len(pairs)} seeds "
            f"({', '.join(f'{a:.3f} and {b:.3f}' for a, b in pairs)})"
        )
        self.verdicts.append(Verdict(claim, source, outcome, evidence))


def judge(differences: Sequence[float]) -> tuple[Outcome, str]:
    """Return what differences between paired runs, one per seed, say of a claim that they are > 0.

    The interval is Student's, at 95 %. One seed has none, and shows nothing.

    ```python
    judge([0.10, 0.12, 0.11])[0]   # "shows"
    ```
    """
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return "does not show", f"{mean:+.4f}, one seed and no interval"
    from scipy.special import stdtrit

    error = statistics.stdev(differences) / len(differences) ** 0.5
    reach = float(stdtrit(len(differences) - 1, (1 + CONFIDENCE) / 2)) * error
    text = f"{mean:+.4f} [{mean - reach:+.4f}, {mean + reach:+.4f}]"
    if mean - reach > 0:
        return "shows", text
    return ("opposite" if mean + reach < 0 else "does not show"), text


@dataclass(frozen=True, eq=False)
class Lab:
    """The data, model and seeds of an experiment, and the folder of its runs."""

    data: LabData
    model: str = "fc"
    seeds: tuple[int, ...] = (0, 1, 2)
    scale: Scale = SCENES_SCALE
    folder: Path | None = None
    device: str | None = None
    spice: bool = False
    """Whether SPICE is measured too, which needs its extra and takes minutes."""
    watch: Callable[[dict[str, Any]], None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """What an experiment takes beside: `weights`, `families`, `rewards`, `generators`."""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise SettingError(f"seeds must be different numbers, not {self.seeds}")

    @property
    def test(self) -> Split:
        """The images that systems are compared on."""
        return self.data.test.take(self.scale.test_images)

    @property
    def scores(self) -> list[str]:
        """The metrics of every system."""
        return [*SCORES, *(["spice"] if self.spice else [])]

    def train(
        self,
        name: str,
        seed: int,
        stages: Sequence[Stage],
        *,
        model: str | None = None,
        start: Captioner | None = None,
    ) -> Run:
        """Train a system, or go on with one that was interrupted; its folder is its name."""
        from cidery_lab.models.base import ModelCard
        from cidery_lab.training import train

        kind = model or self.model
        card = ModelCard(
            kind,
            len(self.data.vocabulary),
            self.data.width,
            hidden=self.scale.hidden,
            dropout=self.scale.dropout,
            seed=seed,
        )
        safe = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
        folder = None if self.folder is None else self.folder / "runs" / f"{kind}-{safe}-{seed}"

        def watch(row: dict[str, Any]) -> None:
            if self.watch is not None:
                self.watch({"system": name, "seed": seed, **row})

        return train(
            card,
            self.data,
            stages,
            folder=folder,
            start=start,
            device=self.device,
            watch=watch,
        )

    def begin(self, seed: int, model: str | None = None) -> Run:
        """Train with cross-entropy: where all systems of a seed start."""
        return self.train("cross-entropy", seed, [self.scale.cross_entropy()], model=model)

    def reward(self, name: str, seed: int, losses: Losses, start: Captioner) -> Run:
        """Train on from a model with these losses."""
        stage = self.scale.rewarded(name, losses)
        return self.train(name, seed, [stage], start=start, model=start.card.model)

    def describe(self, model: Captioner) -> dict[str, str]:
        """Return a greedy caption for each test image."""
        from cidery_lab.evaluation import describe_images

        return describe_images(model, self.data, self.test, most_words=self.scale.most_words)

    def measure(self, captions: Mapping[str, str]) -> dict[str, float]:
        """Return scores, length and repetition of captions."""
        from cidery_lab.evaluation import score_captions

        words = [caption.split() for caption in captions.values()]
        references = [[text.split() for text in self.test.references[image]] for image in captions]
        return {
            **score_captions(captions, self.test, self.scores, self.data),
            "words": statistics.fmean(map(len, words)),
            "repetition": repeated_share(words, references),
        }

    def measure_sets(self, sets: Mapping[str, list[str]]) -> dict[str, float]:
        """Return diversity, mean accuracy and F of sets of captions."""
        from cidery.diversity import measure_diversity

        table = measure_diversity(
            dict(sets),
            ["self-cider", "lsa", "mbleu", "distinct", "vocabulary"],
            frequencies=self.data.frequencies,
            references=dict(self.test.references),
            tokenizer="whitespace",
        )
        return {name: float(value) for name, value in table.corpus.items()}

    def measure_system(
        self, model: Captioner, seed: int
    ) -> tuple[dict[str, float], dict[str, str]]:
        """Return all figures of a model, and its greedy captions; sets are drawn by RS."""
        from cidery_lab.generators import generate_sets

        captions = self.describe(model)
        sets = generate_sets(
            "rs",
            model,
            self.data,
            self.test,
            count=self.scale.set_size,
            seed=seed,
            most_words=self.scale.most_words,
        )
        return {**self.measure(captions), **self.measure_sets(sets)}, captions


def repeated_share(
    captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """Return the share of words that a caption uses oftener than any of its references does.

    Long references repeat `a` and `the` themselves; only what goes beyond them counts.

    ```python
    repeated_share([["a", "dog", "dog", "dog"]], [[["a", "dog"]]])   # 0.5
    ```
    """
    excess = words = 0
    for caption, group in zip(captions, references, strict=True):
        allowed: Counter[str] = Counter()
        for reference in group:
            allowed |= Counter(reference)
        excess += sum(max(0, n - max(1, allowed[w])) for w, n in Counter(caption).items())
        words += len(caption)
    return excess / max(1, words)


def show_captions(
    lab: Lab, captions: Mapping[str, Mapping[str, str]], count: int = 12
) -> list[dict[str, Any]]:
    """Return images whose systems say different things, with all that they say."""
    different = [
        image
        for image in lab.test.images
        if len({by_image[image] for by_image in captions.values()}) > 1
    ]
    return [
        {
            "image": image,
            "references": lab.test.references[image],
            "captions": {system: by_image[image] for system, by_image in captions.items()},
        }
        for image in different[:count]
    ]


def mean_by_system(findings: Findings, figure: str) -> dict[str, float]:
    """Return the mean of a figure over seeds, for each system that has it."""
    found = {}
    for system in findings.systems():
        values = [row[figure] for row in findings.rows if row["system"] == system and figure in row]
        if values:
            found[system] = float(np.mean(values))
    return found
