"""Base classes of captioners."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from cidery.errors import SettingError
from cidery_lab.data import PAD

State: TypeAlias = tuple[Tensor, ...]
"""State of a captioner between words: tensors whose rows are captions."""


@dataclass(frozen=True)
class ModelCard:
    """Settings of a captioner: model, sizes, and the seed of its initial weights."""

    model: str
    words: int
    """Vocabulary size, including special tokens."""
    width: int
    """Number of features of an image or region."""
    hidden: int = 512
    dropout: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("words", "width", "hidden"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} must be at least 1")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout must be in [0, 1), not {self.dropout}")

    def as_dict(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return asdict(self)


class Captioner(nn.Module):
    """A captioner: `init_state` encodes images, `step` reads a word and scores the next one.

    Images are [captions, width] or [captions, regions, width]; each model takes both (see
    `pool_regions` and `as_regions`).
    """

    latent: ClassVar[int] = 0
    """Size of the latent vector; 0 for models without one."""
    output: nn.Linear
    """Output layer: scores of words."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__()
        self.card = card

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:
        """Return the state before the first word."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return scores [captions, words] of the next word, and the new state."""
        raise NotImplementedError

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Return scores [captions, tokens, words] of the word after each token."""
        state, scores = self.init_state(images, latent), []
        for position in range(tokens.shape[1]):
            found, state = self.step(tokens[:, position], state)
            scores.append(found)
        return torch.stack(scores, 1)

    def score_chosen(
        self, images: Tensor, tokens: Tensor, chosen: Tensor, latent: Tensor | None = None
    ) -> Tensor:
        """Return scores [chosen, words] of the words after the tokens where `chosen` is true."""
        return self(images, tokens, latent)[chosen]

    @torch.no_grad()
    def scale_logits(self, factor: float) -> None:
        """Multiply the scores of all words by a factor."""
        for weights in self.output.parameters():
            weights.mul_(factor)

    def loss(
        self, images: Tensor, tokens: Tensor, expected: Tensor, label_smoothing: float
    ) -> Tensor:
        """Return the mean cross-entropy of `expected`, the words after `tokens`."""
        return cross_entropy(self(images, tokens), expected, label_smoothing)


class Recurrent(Captioner):
    """A recurrent captioner whose output layer is applied to all states at once."""

    drop: nn.Dropout

    def compute_states(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Return the states [words, captions, hidden] after each token."""
        raise NotImplementedError

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Return scores of the word after each token."""
        return self.output(self.drop(self.compute_states(images, tokens, latent).transpose(0, 1)))

    def score_chosen(
        self, images: Tensor, tokens: Tensor, chosen: Tensor, latent: Tensor | None = None
    ) -> Tensor:
        """Return scores where `chosen` is true only, which saves half of the work."""
        states = self.compute_states(images, tokens, latent).transpose(0, 1)
        return self.output(self.drop(states[chosen]))


def cross_entropy(scores: Tensor, expected: Tensor, label_smoothing: float) -> Tensor:
    """Return the mean cross-entropy over words that are not padding."""
    return functional.cross_entropy(
        scores.flatten(0, 1), expected.flatten(), ignore_index=PAD, label_smoothing=label_smoothing
    )


class FeatureProjection(nn.Linear):
    """Linear map from image features to the model's size, scaled for Adam.

    Adam changes every weight by about the learning rate, so that a sum over thousands of features
    changes too fast. Features are divided, and initial weights multiplied, by a factor that brings
    the norm of the features to about `LENGTH`; initial outputs do not change.
    """

    LENGTH = 5.0

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card.width, card.hidden)
        self.scale = min(1.0, self.LENGTH / card.width**0.5)
        with torch.no_grad():
            self.weight.div_(self.scale)

    def forward(self, images: Tensor) -> Tensor:
        """Map standardized features [..., width]."""
        return super().forward(images * self.scale)


def embed_words(card: ModelCard) -> nn.Embedding:
    """Return word vectors with small initial weights, which training soon outweighs."""
    vectors = nn.Embedding(card.words, card.hidden)
    nn.init.uniform_(vectors.weight, -0.1, 0.1)
    return vectors


def map_words(tokens: Tensor, embed: nn.Embedding, drop: nn.Module, layer: nn.Module) -> Tensor:
    """Return layer(drop(embed(tokens))), computed once for each *distinct* word of the batch.

    Dropout is the same for all occurrences of a word.
    """
    words, positions = tokens.unique(return_inverse=True)
    return functional.embedding(positions, layer(drop(embed(words))))


def pool_regions(images: Tensor) -> Tensor:
    """Return the mean over regions: one vector per image."""
    return images.mean(1) if images.ndim == 3 else images


def as_regions(images: Tensor) -> Tensor:
    """Return [images, regions, width]; one vector per image is one region."""
    return images if images.ndim == 3 else images[:, None]
