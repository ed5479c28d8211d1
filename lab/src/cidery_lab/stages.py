"""Training stages and their losses. This module does not import torch.

```python
from cidery_lab import Losses, Stage

plan = [
    Stage("cross-entropy", epochs=10),
    Stage("cider-d", epochs=5, losses=Losses(0, {"cider-d": 1.0}), learning_rate=1e-4),
]
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from cidery.errors import SettingError

if TYPE_CHECKING:
    from cidery.metrics import MetricLike

Baseline = Literal["others", "greedy", "group"]
FAMILIES: Mapping[str, str] = {
    "lambda": "XE + λ · CIDEr",
    "beta": "CIDEr + β · retrieval",
    "alpha": "XE + α · retrieval",
    "gamma": "XE + 5 · CIDEr + γ · retrieval",
    "zeta": "XE + 10 · CIDEr + ζ · retrieval",
}
"""The five families of losses of figure 8 of Wang and Chan 2019. The paper does not give the CIDEr
weights of γ and ζ in its text; 5 and 10 are assumed here."""
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "lambda": (0, 1, 2, 3, 5, 10, 20),
    "beta": (0, 1, 2, 3, 5, 10, 15),
    "alpha": (0, 5, 10, 20, 30, 40, 50),
    "gamma": (0, 10, 20, 30, 40, 50),
    "zeta": (0, 5, 10, 20, 30, 40, 50),
}
"""Weights of figure 8."""


@dataclass(frozen=True)
class Losses:
    """Loss of a stage: cross_entropy · XE - Σ weights · rewards - entropy · H."""

    cross_entropy: float = 1.0
    rewards: Mapping[str, float] = field(default_factory=dict)
    """metric -> weight, as for `Reward`; `cider-r:0.8` is CIDEr-R with this k_r."""
    retrieval: float = 0.0
    """Weight of the retrieval reward: 5 and 10 are the paper's D5 and D10."""
    self_cider: float = 0.0
    """Weight of a sample's contribution to the Self-CIDEr of its image's samples."""
    adversarial: float = 0.0
    """Weight of an evaluator that is trained to recognize human captions."""
    entropy: float = 0.0
    """Weight of the mean entropy of the next word."""

    def __post_init__(self) -> None:
        for name in ("cross_entropy", "retrieval", "self_cider", "adversarial", "entropy"):
            if not getattr(self, name) >= 0:
                raise SettingError(f"the weight of {name} must be >= 0")
        if not self.cross_entropy and not self.samples_captions:
            raise SettingError("all weights are 0: a stage needs cross-entropy or a reward")

    @property
    def samples_captions(self) -> bool:
        """True for losses that need sampled captions."""
        return bool(self.rewards) or max(self.retrieval, self.self_cider, self.adversarial) > 0

    @classmethod
    def of_family(cls, family: str, weight: float, metric: str = "cider-d") -> Losses:
        """Return the losses of figure 8 of Wang and Chan 2019.

        ```python
        Losses.of_family("lambda", 5)   # XE + 5 · CIDEr
        ```
        """
        if family == "lambda":
            return cls(1.0, {metric: weight} if weight else {})
        if family == "beta":
            return cls(0.0, {metric: 1.0}, retrieval=weight)
        if family == "alpha":
            return cls(1.0, {}, retrieval=weight)
        if family in ("gamma", "zeta"):
            return cls(1.0, {metric: 5.0 if family == "gamma" else 10.0}, retrieval=weight)
        raise SettingError(f"no family of losses named {family!r}; known: {', '.join(FAMILIES)}")


@dataclass(frozen=True)
class Stage:
    """A training stage."""

    name: str
    epochs: int = 10
    losses: Losses = field(default_factory=Losses)
    learning_rate: float = 5e-4
    """Adam's learning rate."""
    decay: float = 1.0
    """Factor of the learning rate per epoch."""
    warmup: float = 0.0
    """Share of all steps in which the learning rate rises from 0."""
    linear_decay: bool = False
    """Decrease the learning rate linearly to 0 at the last step."""
    weight_decay: float = 0.0
    """Weight decay of AdamW."""
    logit_scale: float = 1.0
    """Factor of the word scores before the first step: above 1, sampled captions become more
    similar to greedy ones, which do not change."""
    batch_size: int = 100
    """Captions in a step of cross-entropy; images in a step with rewards."""
    samples: int = 5
    """Sampled captions per image, with rewards."""
    baseline: Baseline = "others"
    """Baseline of a sample's reward: the mean of the `others` of its image, the `greedy` caption
    (Rennie et al. 2017), or the `group` with its standard deviation, as in GRPO."""
    label_smoothing: float = 0.0
    """Label smoothing of cross-entropy."""
    word_dropout: float = 0.0
    """Share of input words that are replaced by `<unk>`."""
    scheduled_sampling: float = 0.0
    """Share of input words that the model chooses itself in the last epoch; it grows from 0 (Bengio
    et al. 2015, in two passes as in Mihaylova and Martins 2019)."""
    patience: int = 3
    """Epochs without a better validation CIDEr-D before training stops with the weights of the best
    epoch; 0 disables early stopping and selection."""
    max_gradient_norm: float = 5.0
    """Maximum norm of the gradient."""
    max_words: int = 20
    """Maximum length of generated captions."""
    max_images: int | None = None
    """Images per epoch with rewards. Default: all."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "samples", "max_words"):
            if getattr(self, name) < 1:
                raise SettingError(f"stage {self.name!r}: {name} must be at least 1")
        if self.losses.samples_captions and self.baseline != "greedy" and self.samples < 2:
            raise SettingError(
                f"stage {self.name!r}: one sample per image has no baseline; set samples=2 or "
                'more, or baseline="greedy"'
            )
        if self.losses.self_cider and self.samples < 3:
            raise SettingError(f"stage {self.name!r}: the Self-CIDEr reward needs samples=3")
        if self.baseline not in ("others", "greedy", "group"):
            raise SettingError(f"baseline must be others, greedy or group, not {self.baseline!r}")
        if not self.logit_scale > 0 or not self.weight_decay >= 0 or not 0 <= self.warmup < 1:
            raise SettingError(
                f"stage {self.name!r}: logit_scale must be > 0, weight_decay >= 0, warmup in [0, 1)"
            )
        shares = (self.word_dropout, self.scheduled_sampling)
        if not all(0 <= share <= 1 for share in shares):
            raise SettingError(
                f"stage {self.name!r}: word_dropout and scheduled_sampling must be in [0, 1]"
            )
        if not self.learning_rate > 0 or not 0 <= self.label_smoothing < 1:
            raise SettingError(
                f"stage {self.name!r}: learning_rate must be > 0, label_smoothing in [0, 1)"
            )

    def learning_rate_at(self, epoch: int, share: float) -> float:
        """Return the learning rate after this share of an epoch.

        ```python
        stage = Stage("x", epochs=2, learning_rate=1.0, warmup=0.25, linear_decay=True)
        stage.learning_rate_at(1, 0.5)   # 0.333…
        ```
        """
        rate = self.learning_rate * self.decay**epoch
        over = (epoch + share) / self.epochs
        if over < self.warmup:
            return rate * over / self.warmup
        return rate * (1 - over) / (1 - self.warmup) if self.linear_decay else rate

    def identify(self) -> str:
        """Return the settings that a checkpoint is compared by: all but the batch size."""
        return json.dumps(asdict(replace(self, batch_size=1)), sort_keys=True)

    def as_dict(self) -> dict[str, Any]:
        """Return the stage as plain values."""
        return asdict(self)


def read_metric(name: str) -> MetricLike:
    """Return a metric by name; `cider-r:0.8` is CIDEr-R with this k_r."""
    base, colon, setting = name.partition(":")
    if not colon:
        return name
    from cidery import CiderR

    if base != "cider-r":
        raise SettingError(f"{name!r}: only cider-r supports a number (k_r)")
    try:
        return CiderR(repetition=float(setting))
    except ValueError as error:
        raise SettingError(f"{name!r}: {error}") from None
