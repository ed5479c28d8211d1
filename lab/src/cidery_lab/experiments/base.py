"""Shared parts of experiments: systems per seed, scores, verdicts.

An experiment is a module of this package with `ABOUT`, one line, and `run(lab) -> Findings`; its
name is listed in `EXPERIMENTS`.
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

Outcome = Literal["supported", "not supported", "contradicted"]
SCORES = ("cider-d", "cider-r", "bleu-4", "rouge-l")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Scale:
    """Sizes of models and of training."""

    hidden: int = 512
    dropout: float = 0.5
    epochs: int = 7
    """Epochs of cross-entropy."""
    reward_epochs: int = 8
    learning_rate: float = 3e-3
    """Learning rate of cross-entropy: it rises in the first 5 % of the steps, then falls to 0."""
    label_smoothing: float = 0.1
    word_dropout: float = 0.15
    patience: int = 5
    """Early stopping of cross-entropy; stages with rewards have none."""
    reward_learning_rate: float = 3e-4
    """Learning rate with rewards; it falls to 0."""
    batch_size: int = 128
    """Captions per step of cross-entropy."""
    reward_images: int = 20
    """Images per step with a reward; at most a quarter of `batch_size`."""
    samples: int = 5
    max_words: int = 20
    test_images: int | None = None
    set_size: int = 10
    """Captions per image for diversity."""

    def cross_entropy(self) -> Stage:
        """Return the cross-entropy stage, the first of all systems."""
        return Stage(
            "cross-entropy",
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            warmup=0.05,
            linear_decay=True,
            label_smoothing=self.label_smoothing,
            word_dropout=self.word_dropout,
            batch_size=self.batch_size,
            max_words=self.max_words,
            patience=self.patience,
        )

    def rewarded(self, name: str, losses: Losses) -> Stage:
        """Return a stage with these losses."""
        return Stage(
            name,
            epochs=self.reward_epochs,
            losses=losses,
            learning_rate=self.reward_learning_rate,
            linear_decay=True,
            batch_size=max(1, min(self.reward_images, self.batch_size // 4)),
            samples=self.samples,
            max_words=self.max_words,
            patience=0,
        )


SCENES_SCALE = Scale(
    hidden=128,
    dropout=0.0,
    epochs=14,
    reward_epochs=8,
    learning_rate=4e-3,
    label_smoothing=0.0,
    word_dropout=0.0,
    patience=0,
    reward_learning_rate=1e-3,
    batch_size=80,
    samples=5,
    max_words=64,
)
"""Scale for synthetic scenes: a minute or two per system on one core."""


@dataclass(frozen=True)
class Verdict:
    """Outcome of an experiment for one claim."""

    claim: str
    source: str
    outcome: Outcome
    evidence: str


@dataclass(eq=False)
class Findings:
    """Results of an experiment."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    """One row per system and seed: `system`, `seed` and scores."""
    verdicts: list[Verdict] = field(default_factory=list)
    captions: list[dict[str, Any]] = field(default_factory=list)
    """Example images: `image`, `references` and the caption of each system."""
    plots: dict[str, Figure] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def values(self, system: str, score: str) -> list[float]:
        """Return a score of a system for each seed."""
        return [row[score] for row in self.rows if row["system"] == system]

    def systems(self) -> list[str]:
        """Return the names of the systems, in order."""
        return list(dict.fromkeys(row["system"] for row in self.rows))

    def score_names(self) -> list[str]:
        """Return the names of the scores."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in names if name not in ("system", "seed")]

    def test_greater(self, claim: str, source: str, score: str, greater: str, less: str) -> None:
        """Test the claim that `score` of system `greater` exceeds that of `less`."""
        pairs = list(zip(self.values(greater, score), self.values(less, score), strict=True))
        outcome, interval = assess([a - b for a, b in pairs])
        evidence = (
            f"{score} of {greater} minus that of {less}: {interval} over {len(pairs)} seeds "
            f"({', '.join(f'{a:.3f} and {b:.3f}' for a, b in pairs)})"
        )
        self.verdicts.append(Verdict(claim, source, outcome, evidence))


def assess(differences: Sequence[float]) -> tuple[Outcome, str]:
    """Return the outcome of the claim that differences of paired runs, one per seed, are > 0.

    The 95 % confidence interval is Student's; a single seed has none.

    ```python
    assess([0.10, 0.12, 0.11])[0]   # "supported"
    ```
    """
    mean = statistics.fmean(differences)
    if len(differences) < 2:
        return "not supported", f"{mean:+.4f}, no interval for one seed"
    from scipy.special import stdtrit

    error = statistics.stdev(differences) / len(differences) ** 0.5
    reach = float(stdtrit(len(differences) - 1, (1 + CONFIDENCE) / 2)) * error
    text = f"{mean:+.4f} [{mean - reach:+.4f}, {mean + reach:+.4f}]"
    if mean - reach > 0:
        return "supported", text
    return ("contradicted" if mean + reach < 0 else "not supported"), text


@dataclass(frozen=True, eq=False)
class Lab:
    """Data, model, seeds and settings of an experiment."""

    data: LabData
    model: str = "fc"
    seeds: tuple[int, ...] = (0, 1, 2)
    scale: Scale = SCENES_SCALE
    folder: Path | None = None
    device: str | None = None
    spice: bool = False
    """Compute SPICE, which needs the extra `spice` and takes minutes."""
    callback: Callable[[dict[str, Any]], None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the experiment: `weights`, `families`, `rewards`, `generators`."""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise SettingError(f"seeds must be distinct, not {self.seeds}")

    @property
    def test(self) -> Split:
        """Test images."""
        return self.data.test.head(self.scale.test_images)

    @property
    def scores(self) -> list[str]:
        """Metrics of all systems."""
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
        """Train a system, or resume its training from the folder of its name."""
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

        def callback(row: dict[str, Any]) -> None:
            if self.callback is not None:
                self.callback({"system": name, "seed": seed, **row})

        return train(
            card,
            self.data,
            stages,
            folder=folder,
            start=start,
            device=self.device,
            callback=callback,
        )

    def train_cross_entropy(self, seed: int, model: str | None = None) -> Run:
        """Train with cross-entropy, from which all systems of a seed start."""
        return self.train("cross-entropy", seed, [self.scale.cross_entropy()], model=model)

    def train_with_reward(self, name: str, seed: int, losses: Losses, start: Captioner) -> Run:
        """Continue training of a model with these losses."""
        stage = self.scale.rewarded(name, losses)
        return self.train(name, seed, [stage], start=start, model=start.card.model)

    def caption_test_images(self, model: Captioner) -> dict[str, str]:
        """Return a greedy caption per test image."""
        from cidery_lab.evaluation import caption_images

        return caption_images(model, self.data, self.test, max_words=self.scale.max_words)

    def measure(self, captions: Mapping[str, str]) -> dict[str, float]:
        """Return scores, mean length and repetition of captions."""
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
        """Return all scores of a model, and its greedy captions; sets are sampled by RS."""
        from cidery_lab.generators import generate_sets

        captions = self.caption_test_images(model)
        sets = generate_sets(
            "rs",
            model,
            self.data,
            self.test,
            count=self.scale.set_size,
            seed=seed,
            max_words=self.scale.max_words,
        )
        return {**self.measure(captions), **self.measure_sets(sets)}, captions


def repeated_share(
    captions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> float:
    """Return the share of words that a caption uses more often than any of its references.

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
    """Return images for which systems differ, with all captions."""
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
    """Return the mean of a score over seeds, for each system that has it."""
    found = {}
    for system in findings.systems():
        values = [row[figure] for row in findings.rows if row["system"] == system and figure in row]
        if values:
            found[system] = float(np.mean(values))
    return found
