"""What drawn captions are rewarded with: metrics, retrieval, Self-CIDEr, an evaluator."""

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
    """The rewards of a stage, weighted and summed; `seconds` is what they took so far."""

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
        """What is trained beside the captioner."""
        return iter(()) if self.evaluator is None else self.evaluator.parameters()

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {} if self.evaluator is None else self.evaluator.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what a checkpoint kept."""
        if self.evaluator is not None:
            self.evaluator.load_state_dict(state)

    def reward(self, rows: Sequence[int], images: Tensor, drawn: Tensor, samples: int) -> Floats:
        """Return the reward of each caption; those of an image stand together."""
        begun = time.perf_counter()
        losses = self.stage.losses
        total = np.zeros(len(drawn))
        if self.metric is not None:
            names = [self.data.train.images[row] for row in rows for _ in range(samples)]
            total += self.metric(names, drawn)
        if self.embedding is not None:
            total += losses.retrieval * retrieval_rewards(self.embedding, images, drawn, samples)
        if losses.self_cider and samples > 2:
            total += losses.self_cider * self.add_to_diversity(drawn, samples)
        if self.evaluator is not None:
            total += losses.adversarial * self.evaluator.judge(images, drawn, samples)
        self.seconds += time.perf_counter() - begun
        return total

    def add_to_diversity(self, drawn: Tensor, samples: int) -> Floats:
        """Return what each caption adds to the Self-CIDEr of the others of its image."""
        captions = [self.data.vocabulary.decode(row) or "nothing" for row in drawn.tolist()]
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
        self, images: Tensor, drawn: Tensor, references: Sequence[Sequence[int]]
    ) -> Tensor | None:
        """Return the evaluator's loss on people's captions, drawn ones and those of others."""
        if self.evaluator is None:
            return None
        return self.evaluator.adversarial_loss(images, drawn, references)


def _prepare_reward(weights: Mapping[str, float], data: LabData) -> Reward:
    """Return the reward of the training images; some metrics count words, others stems."""
    with warnings.catch_warnings():
        # Frequencies of few images weigh words badly; who trains on few images knows.
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
