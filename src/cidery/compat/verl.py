"""A caption reward for verl, by the name of this module in its settings.

```yaml
reward:
  custom_reward_function:
    path: pkg://cidery.compat.verl
    name: compute_score            # compute_scores for the batch reward manager
    reward_kwargs: {metric: cider-d, frequencies: train.df, scale: 0.1}
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from cidery.errors import InputError, SettingError
from cidery.rewards.completions import CompletionReward


def compute_score(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,
    **settings: Any,
) -> float:
    """Return the reward of one completion; `ground_truth` is a reference or a list of them.

    Settings are those of `CompletionReward`, from verl's `reward_kwargs`.

    ```python
    compute_score("coco", "a dog runs", ["a dog is running"], frequencies="coco-train2014")
    ```
    """
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], **settings)[
        0
    ]


def compute_scores(
    data_sources: Sequence[Any],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,  # noqa: ARG001
    **settings: Any,
) -> list[float]:
    """Return the rewards of a batch, for verl's batch reward manager.

    ```python
    compute_scores(["coco"], ["a dog"], [["a dog runs"]], [None], frequencies="coco-train2014")
    ```
    """
    for name in ("reward_router_address", "reward_model_tokenizer"):
        settings.pop(name, None)  # of a reward model beside this function
    rewards = _prepare(_spell(settings))(completions=solution_strs, references=ground_truths)
    floats = [reward for reward in rewards if reward is not None]
    if len(floats) != len(rewards):
        row = rewards.index(None)
        raise InputError(
            f"completion {row} of {data_sources[row]!r} has no ground_truth; verl needs a reward "
            "for each: give references to all rows"
        )
    return floats


@lru_cache(maxsize=16)
def _prepare(settings: str) -> CompletionReward:
    """Make a reward once for equal settings: verl passes them at every call."""
    return CompletionReward(**json.loads(settings))


def _spell(settings: Mapping[str, Any]) -> str:
    if "column" in settings:
        raise SettingError("verl passes references as ground_truth; remove column=")
    try:
        return json.dumps(settings, default=_as_plain, sort_keys=True)
    except TypeError as error:
        raise SettingError(f"reward_kwargs hold texts, numbers, lists and mixes: {error}") from None


def _as_plain(value: Any) -> Any:
    """Return mappings and lists of OmegaConf as plain Python objects."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{value!r} is neither")
