"""Captioners that start from a random vector: a CVAE, and the generator of a conditional GAN.

CVAE: Wang, Schwing, Lazebnik, NIPS 2017 (its plain form, with one Gaussian). CGAN: Dai et al., ICCV
2017; its evaluator is `Losses(adversarial=...)`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from cidery_lab.data import PAD
from cidery_lab.models.base import ModelCard, cross_entropy, pool
from cidery_lab.models.fc import FC

LATENT = 64
FREE = 4.0
"""Nats of information about a caption that cost nothing (Kingma et al. 2016): without them the
recurrent network learns to do without the vector."""


class CGAN(FC):
    """FC that also reads a random vector before the first word."""

    latent: ClassVar[int] = LATENT

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self.imagine = nn.Linear(LATENT, card.hidden)

    def look(self, images: Tensor, latent: Tensor | None) -> Tensor:
        """Return the image and the random vector, as one input; without one, the mean: 0."""
        seen = self.see(self.drop(pool(images)))
        return self.drop(seen if latent is None else seen + self.imagine(latent))

    def loss(self, images: Tensor, tokens: Tensor, expected: Tensor, smoothing: float) -> Tensor:
        """Return the cross-entropy, with vectors drawn at random."""
        latent = torch.randn(len(images), LATENT, device=images.device)
        return cross_entropy(self(images, tokens, latent), expected, smoothing)


class CVAE(CGAN):
    """The same, trained to guess the vector from the reference: equation (1) of the paper."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self.guess = nn.GRU(card.hidden, card.hidden, batch_first=True)
        self.posterior = nn.Linear(2 * card.hidden, 2 * LATENT)

    def loss(self, images: Tensor, tokens: Tensor, expected: Tensor, smoothing: float) -> Tensor:
        """Return cross-entropy and, per word, the divergence of the guess from the prior."""
        words = (expected != PAD).sum(1)
        states, _ = self.guess(self.embed(expected))
        last = (words - 1).clamp(min=0)[:, None, None].expand(-1, 1, states.shape[2])
        known = torch.cat([states.gather(1, last)[:, 0], self.see(pool(images))], 1)
        mean, spread = self.posterior(known).chunk(2, 1)
        spread = spread.clamp(-6, 6)
        latent = mean + torch.exp(spread / 2) * torch.randn_like(mean)
        divergence = 0.5 * (mean.square() + spread.exp() - spread - 1).sum(1).mean()
        known_words = cross_entropy(self(images, tokens, latent), expected, smoothing)
        return known_words + (divergence - FREE).clamp(min=0) / words.float().mean()
