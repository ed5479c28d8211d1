"""Rewards: metrics as training signals, and what trainers make of them.

```python
reward = cidery.Reward(references, metric="cider-d", frequencies="coco-train2014")
reward(image_ids, captions)   # float64[captions]
```
"""

from cidery.rewards.advantages import (
    group_normalize,
    leave_one_out,
    mix_losses,
    mix_rewards,
    per_token,
    self_critical,
)
from cidery.rewards.completions import CompletionReward
from cidery.rewards.credit import Credit, NgramCredit
from cidery.rewards.pool import RewardPool
from cidery.rewards.reward import Reward
from cidery.rewards.tokens import count_ended_frequencies

__all__ = [
    "CompletionReward",
    "Credit",
    "NgramCredit",
    "Reward",
    "RewardPool",
    "count_ended_frequencies",
    "group_normalize",
    "leave_one_out",
    "mix_losses",
    "mix_rewards",
    "per_token",
    "self_critical",
]
