"""RewardPool: a reward computed by the workers of an engine, for training on many machines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cidery.engines import EngineLike, Pool, get_engine
from cidery.errors import InputError, MismatchError, SettingError
from cidery.rewards.reward import Reward
from cidery.statistics import Floats

MIN_CAPTIONS = 64
"""Minimum number of captions for each worker."""


class RewardPool:
    """A `Reward` on the workers of an engine; each prepares the references once.

    Batches are divided among the workers. Values are those of the reward, bit for bit.

    ```python
    reward = cidery.Reward({"a": ["a dog runs"]}, frequencies="coco-train2014")
    with RewardPool(reward, "local") as pool:
        pool(["a", "a"], ["a dog", "the dog runs"])   # float64[2]
    ```
    """

    def __init__(
        self, reward: Reward, engine: EngineLike = "ray", *, workers: int = 0, **settings: Any
    ) -> None:
        """Start the workers.

        Args:
            reward: the reward; metrics that are functions must be importable by the workers.
            engine: `"ray"`, `"local"` (this process only), or an Engine.
            workers: number of workers; 0 means as many as the engine has. More than the cluster
                can run are an error.
            settings: of the engine, as `get_engine` takes them: `address`, `num_cpus`, `num_gpus`.
        """
        if workers < 0:
            raise SettingError(f"workers must be >= 0, not {workers}")
        self.weights, self.signatures = reward.weights, reward.signatures
        self._reward = reward
        self._pool: Pool | None = get_engine(engine, **settings).open_pool(reward, workers)

    def __call__(self, image_ids: Any, captions: Any) -> Floats:
        """Return each caption's reward, as `Reward` does."""
        if self._pool is None:
            raise SettingError("this RewardPool is closed; make a new one")
        if len(image_ids) != len(captions):
            raise MismatchError(
                f"{len(image_ids)} image ids for {len(captions)} captions; one id per caption is "
                "needed"
            )
        parts = max(1, min(self._pool.size, len(captions) // MIN_CAPTIONS))
        bounds = [len(captions) * part // parts for part in range(parts + 1)]
        tasks = [(image_ids[begin:end], captions[begin:end]) for begin, end in pairwise(bounds)]
        try:
            return np.concatenate(self._pool.map(tasks))
        except InputError:
            # A worker counts captions from the beginning of its part, the reward from the batch's.
            return self._reward(image_ids, captions)

    def __enter__(self) -> RewardPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None
