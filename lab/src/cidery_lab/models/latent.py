"""Captioners with a latent vector: a CVAE, and the generator of a conditional GAN.

CVAE: Wang, Schwing, Lazebnik, NIPS 2017 (its plain form, with one Gaussian). CGAN: Dai et al., ICCV
2017; its evaluator is `Losses(adversarial=...)`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from cidery_lab.data import PAD
from cidery_lab.models.base import ModelCard, cross_entropy, pool_regions
from cidery_lab.models.fc import FC

LATENT = 64
FREE_NATS = 4.0
"""Free nats of the divergence (Kingma et al. 2016): without them the network ignores the vector."""


class CGAN(FC):
    """FC whose first input is the image and a latent vector."""

    latent: ClassVar[int] = LATENT

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self.latent_layer = nn.Linear(LATENT, card.hidden)

    def encode_image(self, images: Tensor, latent: Tensor | None) -> Tensor:
        """Return the sum of image and latent vector; without one, its mean, 0."""
        seen = self.projection(self.drop(pool_regions(images)))
        return self.drop(seen if latent is None else seen + self.latent_layer(latent))

    def loss(
        self, images: Tensor, tokens: Tensor, expected: Tensor, label_smoothing: float
    ) -> Tensor:
        """Return the cross-entropy with random latent vectors."""
        latent = torch.randn(len(images), LATENT, device=images.device)
        return cross_entropy(self(images, tokens, latent), expected, label_smoothing)


class CVAE(CGAN):
    """CGAN with a posterior of the latent vector given the reference: equation (1)."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        self.posterior_gru = nn.GRU(card.hidden, card.hidden, batch_first=True)
        self.posterior = nn.Linear(2 * card.hidden, 2 * LATENT)

    def loss(
        self, images: Tensor, tokens: Tensor, expected: Tensor, label_smoothing: float
    ) -> Tensor:
        """Return cross-entropy plus, per word, the divergence of posterior and prior."""
        words = (expected != PAD).sum(1)
        states, _ = self.posterior_gru(self.embed(expected))
        last = (words - 1).clamp(min=0)[:, None, None].expand(-1, 1, states.shape[2])
        known = torch.cat([states.gather(1, last)[:, 0], self.projection(pool_regions(images))], 1)
        mean, log_variance = self.posterior(known).chunk(2, 1)
        log_variance = log_variance.clamp(-6, 6)
        latent = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
        divergence = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(1).mean()
        known_words = cross_entropy(self(images, tokens, latent), expected, label_smoothing)
        return known_words + (divergence - FREE_NATS).clamp(min=0) / words.float().mean()
