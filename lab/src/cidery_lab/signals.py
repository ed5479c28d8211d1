"""Rewards of sampled captions: metrics, retrieval, Self-CIDEr, an evaluator."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cidery.diversity import measure_diversity
from cidery.errors import UnreliableWarning
from cidery.rewards import Reward
from cidery.statistics import Floats
from cidery_lab.data import BOS, EOS, PAD, LabData
from cidery_lab.models.base import ModelCard
from cidery_lab.retrieval import Embedding, get_embedding, retrieval_rewards
from cidery_lab.stages import Stage, read_metric


class Signals:
    """Weighted sum of a stage's rewards; `seconds` is the time spent so far."""

    def __init__(
        self,
        stage: Stage,
        data: LabData,
        reward: Reward | None,
        embedding: Embedding | None,
        evaluator: Embedding | None,
    ) -> None:
        self.stage, self.data, self.metric = stage, data, reward
        self.embedding, self.evaluator = embedding, evaluator
        self.seconds = 0.0

    @classmethod
    def build(cls, stage: Stage, data: LabData, card: ModelCard, device: torch.device) -> Signals:
        """Prepare the references, and train the embedding that retrieval needs."""
        losses = stage.losses
        reward = None
        if losses.rewards:
            reward = _prepare_reward(losses.rewards, data)
        embedding = get_embedding(data, device) if losses.retrieval else None
        evaluator = None
        if losses.adversarial:
            evaluator = Embedding.make(data, card.seed).to(device)
        return cls(stage, data, reward, embedding, evaluator)

    def parameters(self) -> Iterator[Any]:
        """Return the parameters that are trained beside the captioner's."""
        return iter(()) if self.evaluator is None else self.evaluator.parameters()

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {} if self.evaluator is None else self.evaluator.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        if self.evaluator is not None:
            self.evaluator.load_state_dict(state)

    def reward(self, rows: Sequence[int], images: Tensor, sampled: Tensor, samples: int) -> Floats:
        """Return the reward of each caption; captions of an image are adjacent."""
        begun = time.perf_counter()
        losses = self.stage.losses
        total = np.zeros(len(sampled))
        if self.metric is not None:
            names = [self.data.train.images[row] for row in rows for _ in range(samples)]
            total += self.metric(names, sampled)
        if self.embedding is not None:
            total += losses.retrieval * retrieval_rewards(self.embedding, images, sampled, samples)
        if losses.self_cider and samples > 2:
            total += losses.self_cider * self.diversity_gains(sampled, samples)
        if self.evaluator is not None:
            total += losses.adversarial * self.evaluator.log_realness(images, sampled, samples)
        self.seconds += time.perf_counter() - begun
        return total

    def diversity_gains(self, sampled: Tensor, samples: int) -> Floats:
        """Return the gain in Self-CIDEr of each caption over the others of its image."""
        captions = [self.data.vocabulary.decode(row) or "nothing" for row in sampled.tolist()]
        sets: dict[str, list[str]] = {}
        for place in range(0, len(captions), samples):
            group = captions[place : place + samples]
            sets[f"{place}"] = group
            for left in range(samples):
                sets[f"{place} {left}"] = [*group[:left], *group[left + 1 :]]
        table = measure_diversity(
            sets, "self-cider", frequencies=self.data.frequencies, tokenizer="whitespace"
        )
        values = np.asarray(table.each["self-cider"]).reshape(-1, samples + 1)
        return (values[:, :1] - values[:, 1:]).ravel()

    def evaluator_loss(
        self, images: Tensor, sampled: Tensor, references: Sequence[Sequence[int]]
    ) -> Tensor | None:
        """Return the evaluator's loss on human captions, sampled ones and those of other images."""
        if self.evaluator is None:
            return None
        return self.evaluator.adversarial_loss(images, sampled, references)


def _prepare_reward(weights: Mapping[str, float], data: LabData) -> Reward:
    """Return the reward of the training images."""
    with warnings.catch_warnings():
        # Small training sets are intended here.
        warnings.simplefilter("ignore", UnreliableWarning)
        return Reward(
            dict(data.train.references),
            {read_metric(name): weight for name, weight in weights.items()},
            frequencies="references",
            tokenizer="whitespace",
            vocabulary=list(data.vocabulary.words),
            pad=PAD,
            bos=BOS,
            eos=EOS,
        )
