"""Advantages: weights of a policy gradient, from rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cidery.errors import InputError, SettingError
from cidery.statistics import Floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Loss = TypeVar("Loss")


def self_critical(sampled: ArrayLike, greedy: ArrayLike) -> Floats:
    """Return reward(sample) - reward(greedy): equation (9) of Rennie et al., CVPR 2017.

    With k samples per image, the samples of an image are adjacent, and the reward of its greedy
    caption is subtracted from each.

    ```python
    self_critical([1.0, 0.5, 0.2, 0.4], greedy=[0.6, 0.3])   # [0.4, -0.1, -0.1, 0.1]
    ```
    """
    rewards, baseline = _flat(sampled, "sampled"), _flat(greedy, "greedy")
    if len(baseline) == 0 or len(rewards) % len(baseline):
        raise InputError(
            f"{len(rewards)} sampled rewards are not a multiple of {len(baseline)} greedy ones;"
            " give every image the same number of samples"
        )
    return rewards - np.repeat(baseline, len(rewards) // len(baseline))


def leave_one_out(rewards: ArrayLike, samples: int) -> Floats:
    """Return each reward minus the mean of the image's other samples (Kool et al. 2019).

    Unbiased; needs no greedy caption. The samples of an image are adjacent.

    ```python
    leave_one_out([3.0, 1.0, 2.0], samples=3)   # [1.5, -1.5, 0.0]
    ```
    """
    groups = _groups(rewards, samples)
    others = (groups.sum(axis=1, keepdims=True) - groups) / (samples - 1)
    advantages: Floats = groups - others
    return advantages.ravel()


def group_normalize(
    rewards: ArrayLike, samples: int, *, scale: bool = True, epsilon: float = 1e-6
) -> Floats:
    """Return (reward - mean) / (standard deviation + ε) over each image's samples, as GRPO does.

    Shao et al. 2024. `scale=False` omits the division (Liu et al. 2025: it favors images whose
    samples hardly differ). Advantages are 0 if all samples have the same reward.

    ```python
    group_normalize([1.0, 3.0], samples=2)   # [-1.0, 1.0], nearly
    ```
    """
    if not epsilon > 0:
        raise SettingError(f"epsilon must be positive, not {epsilon}")
    groups = _groups(rewards, samples)
    centered: Floats = groups - groups.mean(axis=1, keepdims=True)
    centered[(groups == groups[:, :1]).all(axis=1)] = 0.0  # not the mean's rounding error
    if scale:
        centered = centered / (groups.std(axis=1, keepdims=True) + epsilon)
    return centered.ravel()


def per_token(advantages: ArrayLike, mask: ArrayLike) -> Floats:
    """Spread each caption's advantage over its tokens: float64[captions, tokens], 0 where masked.

    `mask` is true for the tokens that the model chose, as `Reward.mask` gives it.

    ```python
    per_token([0.5, -1.0], mask=[[1, 1, 0], [1, 1, 1]])   # [[0.5, 0.5, 0], [-1, -1, -1]]
    ```
    """
    values, chosen = _flat(advantages, "advantages"), np.asarray(mask, bool)
    if chosen.ndim != 2 or len(chosen) != len(values):
        raise InputError(
            f"{len(values)} advantages need a mask of the shape ({len(values)}, tokens), not "
            f"{chosen.shape}"
        )
    return np.where(chosen, values[:, None], 0.0)


def mix_rewards(rewards: ArrayLike, external: ArrayLike, weight: float) -> Floats:
    """Return rewards + weight · external, caption by caption.

    For instance a retrieval reward, weighted as β in section 5.3 of Wang and Chan, CVPR 2019.

    ```python
    mix_rewards([1.0, 2.0], external=[0.1, 0.0], weight=5.0)   # [1.5, 2.0]
    ```
    """
    own, other = _flat(rewards, "rewards"), _flat(external, "external rewards")
    if len(own) != len(other):
        raise InputError(f"{len(own)} rewards and {len(other)} external ones; one each is needed")
    return own + weight * other


def mix_losses(cross_entropy: Loss, policy: Loss, weight: float) -> Loss:
    """Return cross-entropy + λ · policy loss: tensors, arrays or numbers.

    λ is the reward's weight against the cross-entropy's 1, as in section 5.3 and figure 8 of Wang
    and Chan, CVPR 2019: the larger, the more accurate and the less diverse; they recommend 5.

    ```python
    mix_losses(2.0, -0.5, weight=5.0)   # -0.5
    ```
    """
    if weight < 0:
        raise SettingError(f"the weight of the reward must not be negative, but is {weight}")
    mixed: Any = cross_entropy + weight * policy  # type: ignore[operator]
    return mixed  # type: ignore[no-any-return]


def _flat(values: ArrayLike, name: str) -> Floats:
    """Return numbers, one per caption; [images, samples] is read row by row."""
    array = np.asarray(values, np.float64)
    if array.ndim not in (1, 2):
        raise InputError(f"{name} have the shape {array.shape}; expected one number per caption")
    return array.ravel()


def _groups(rewards: ArrayLike, samples: int) -> Floats:
    values = _flat(rewards, "rewards")
    if samples < 2:
        raise SettingError(f"a group needs at least 2 samples per image, not {samples}")
    if len(values) % samples:
        raise InputError(f"{len(values)} rewards are not a multiple of {samples} samples per image")
    return values.reshape(-1, samples)
