"""A caption reward for ms-swift, as a class for its registry of outcome reward models.

```py
# plugin.py, for: swift rlhf --rlhf_type grpo --external_plugins plugin.py --reward_funcs cider ...
from swift.rewards import orms

from cidery.compat.ms_swift import make_orm

orms["cider"] = make_orm("cider-d", frequencies="train.df", scale=0.1)
```
"""

from __future__ import annotations

from typing import Any

from cidery.errors import MissingExtraError
from cidery.rewards.completions import CompletionReward
from cidery.rewards.reward import RewardMetric


def make_orm(metric: RewardMetric = "cider-d", **settings: Any) -> type[Any]:
    """Return a subclass of ms-swift's `ORM` whose objects are a `CompletionReward`.

    Settings are those of `CompletionReward`; they are checked here, before training begins. All
    objects of the class share one set of frequencies.
    """
    try:
        from swift.rewards import ORM
    except ImportError:
        raise MissingExtraError(
            "ms-swift is needed to make one of its reward models; install it with: pip install "
            "ms-swift",
            name="swift",
        ) from None
    reward = CompletionReward(metric, **settings)

    class CaptionReward(ORM):
        """Reward that ms-swift creates and calls with completions and columns."""

        def __call__(self, completions: Any, **columns: Any) -> list[float | None]:
            return reward(completions, **columns)

    CaptionReward.__name__ = CaptionReward.__qualname__ = reward.__name__
    return CaptionReward
