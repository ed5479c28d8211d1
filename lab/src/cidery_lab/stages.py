"""What a captioner is trained with: stages, each with its losses. No torch is needed to say it.

```python
from cidery_lab import Losses, Stage

plan = [
    Stage("cross-entropy", epochs=10),
    Stage("cider-d", epochs=5, losses=Losses(0, {"cider-d": 1.0}), rate=1e-4),
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
"""The five families of figure 8 of Wang and Chan 2019. The text of the paper gives the weights and
says that β, γ and ζ weigh the retrieval reward; which CIDEr weight γ and ζ stand beside is in the
figure's legend only, and 5 and 10 are this kit's choice."""
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "lambda": (0, 1, 2, 3, 5, 10, 20),
    "beta": (0, 1, 2, 3, 5, 10, 15),
    "alpha": (0, 5, 10, 20, 30, 40, 50),
    "gamma": (0, 10, 20, 30, 40, 50),
    "zeta": (0, 5, 10, 20, 30, 40, 50),
}
"""The weights of figure 8."""


@dataclass(frozen=True)
class Losses:
    """cross_entropy · XE - Σ weights · rewards - entropy · H, the sum that a stage minimizes."""

    cross_entropy: float = 1.0
    rewards: Mapping[str, float] = field(default_factory=dict)
    """metric -> weight, as for `Reward`; `cider-r` may be given as `cider-r:0.8` with its k_r."""
    retrieval: float = 0.0
    """Weight of the retrieval reward: 5 and 10 are the paper's D5 and D10."""
    self_cider: float = 0.0
    """Weight of what a sample adds to the Self-CIDEr of its image's samples."""
    adversarial: float = 0.0
    """Weight of an evaluator that learns, beside the captioner, to tell people's captions."""
    entropy: float = 0.0
    """Weight of the mean entropy of the next word."""

    def __post_init__(self) -> None:
        for name in ("cross_entropy", "retrieval", "self_cider", "adversarial", "entropy"):
            if not getattr(self, name) >= 0:
                raise SettingError(f"the weight of {name} must not be negative")
        if not self.cross_entropy and not self.samples_captions:
            raise SettingError("a stage needs cross-entropy or a reward; all weights are 0")

    @property
    def samples_captions(self) -> bool:
        """Whether captions have to be drawn."""
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
    """One stage of training."""

    name: str
    epochs: int = 10
    losses: Losses = field(default_factory=Losses)
    rate: float = 5e-4
    """Adam's learning rate."""
    decay: float = 1.0
    """The rate of each epoch is that of the one before times this."""
    warm_up: float = 0.0
    """The share of all steps in which the rate rises from 0."""
    cool_down: bool = False
    """Whether the rate then falls to 0, reached with the last step, on a straight line."""
    weight_decay: float = 0.0
    """Of AdamW: what a weight loses in a step, times the rate."""
    sharpen: float = 1.0
    """Scores of words are multiplied by it before the first step: drawn captions come nearer to
    the likeliest ones, which stay what they are."""
    batch: int = 100
    """Captions in a step of cross-entropy; images in a step with rewards."""
    samples: int = 5
    """Captions drawn per image, with rewards."""
    baseline: Baseline = "others"
    """What a sample's reward is compared with: the mean of the `others` of its image, its `greedy`
    caption (Rennie et al. 2017), or the `group` with its standard deviation, as GRPO does."""
    smoothing: float = 0.0
    """Label smoothing of cross-entropy."""
    hidden_words: float = 0.0
    """The share of words of a reference that are read as `<unk>`, so that the image is needed."""
    scheduled: float = 0.0
    """Scheduled sampling: the share of words read that the model chose itself, in the last epoch;
    it grows from 0 (Bengio et al. 2015, in two passes as in Mihaylova and Martins 2019)."""
    patience: int = 3
    """Stop after so many epochs without a better CIDEr-D on the validation images, and keep
    the weights of the best; 0 never stops and keeps the last, which favors no metric."""
    clip: float = 5.0
    """The largest norm of the gradient."""
    most_words: int = 20
    """Where drawn captions are cut off."""
    most_images: int | None = None
    """Images in an epoch with rewards; all by default."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "samples", "most_words"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} of the stage {self.name!r} must be 1 or more")
        if self.losses.samples_captions and self.baseline != "greedy" and self.samples < 2:
            raise SettingError(
                f"stage {self.name!r}: one sample per image has no others to be compared with; "
                'take samples=2 or more, or baseline="greedy"'
            )
        if self.losses.self_cider and self.samples < 3:
            raise SettingError(f"stage {self.name!r}: Self-CIDEr as a reward needs samples=3")
        if self.baseline not in ("others", "greedy", "group"):
            raise SettingError(f"baseline is others, greedy or group, not {self.baseline!r}")
        if not self.sharpen > 0 or not self.weight_decay >= 0 or not 0 <= self.warm_up < 1:
            raise SettingError(
                f"stage {self.name!r}: sharpen must be greater than 0, weight_decay not negative, "
                "warm_up in [0, 1)"
            )
        shares = (self.hidden_words, self.scheduled)
        if not all(0 <= share <= 1 for share in shares):
            raise SettingError(f"stage {self.name!r}: hidden_words and scheduled are in [0, 1]")
        if not self.rate > 0 or not 0 <= self.smoothing < 1:
            raise SettingError(
                f"stage {self.name!r}: rate must be greater than 0, smoothing in [0, 1)"
            )

    def rate_at(self, epoch: int, share: float) -> float:
        """Return the learning rate in an epoch of which this share is over.

        ```python
        Stage("x", epochs=2, rate=1.0, warm_up=0.25, cool_down=True).rate_at(1, 0.5)   # 0.333…
        ```
        """
        rate = self.rate * self.decay**epoch
        over = (epoch + share) / self.epochs
        if over < self.warm_up:
            return rate * over / self.warm_up
        return rate * (1 - over) / (1 - self.warm_up) if self.cool_down else rate

    def identify(self) -> str:
        """Return what a checkpoint is compared by: all but the size of a batch."""
        return json.dumps(asdict(replace(self, batch=1)), sort_keys=True)

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
        raise SettingError(f"{name!r}: only cider-r takes a number, its k_r")
    try:
        return CiderR(repetition=float(setting))
    except ValueError as error:
        raise SettingError(f"{name!r}: {error}") from None
