"""A small Transformer: Vaswani et al., NeurIPS 2017, as a decoder over regions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cidery_lab.models.base import (
    Captioner,
    FeatureProjection,
    ModelCard,
    State,
    as_regions,
    embed_words,
)

LAYERS = 2
HEADS = 8


class Layer(nn.Module):
    """Self-attention, attention over regions, feed-forward network; pre-norm."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        heads = math.gcd(HEADS, size)
        self.words = nn.MultiheadAttention(size, heads, batch_first=True)
        self.regions = nn.MultiheadAttention(size, heads, batch_first=True)
        self.feed_forward = nn.Sequential(
            nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(
        self, inputs: Tensor, previous: Tensor, regions: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Return the layer's output for some positions, given all positions up to them."""
        query, keys = self.norms[0](inputs), self.norms[0](previous)
        found, _ = self.words(query, keys, keys, attn_mask=mask, need_weights=False)
        inputs = inputs + self.drop(found)
        query = self.norms[1](inputs)
        found, _ = self.regions(query, regions, regions, need_weights=False)
        inputs = inputs + self.drop(found)
        return inputs + self.drop(self.feed_forward(self.norms[2](inputs)))


class Transformer(Captioner):
    """A decoder that reads all words at once in training, and one by one in generation."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.embed = embed_words(card)
        self.layers = nn.ModuleList(Layer(size, card.dropout) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Return the regions, and the empty history of each layer."""
        regions = self.drop(torch.relu(self.projection(self.drop(as_regions(images)))))
        empty = regions.new_zeros(len(images), 0, self.card.hidden)
        return regions, *(empty for _ in range(LAYERS))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word after those of the state."""
        regions, *previous = state
        inputs = self.embed_positions(tokens[:, None], previous[0].shape[1])
        history = []
        for layer, known in zip(self.layers, previous, strict=True):
            history.append(torch.cat([known, inputs], 1))
            inputs = layer(inputs, history[-1], regions, None)
        return self.output(self.drop(self.norm(inputs[:, 0]))), (regions, *history)

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Read all words at once with a causal mask."""
        regions = self.init_state(images, latent)[0]
        inputs = self.embed_positions(tokens, 0)
        length = tokens.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        for layer in self.layers:
            inputs = layer(inputs, inputs, regions, mask)
        return self.output(self.drop(self.norm(inputs)))

    def embed_positions(self, tokens: Tensor, first: int) -> Tensor:
        """Return word vectors with sinusoidal position encodings."""
        size = self.card.hidden
        positions = torch.arange(first, first + tokens.shape[1], device=tokens.device)[:, None]
        rates = torch.exp(
            torch.arange(0, size, 2, device=tokens.device) * (-math.log(10_000.0) / size)
        )
        encodings = torch.cat([torch.sin(positions * rates), torch.cos(positions * rates)], 1)[
            :, :size
        ]
        return self.drop(self.embed(tokens) * math.sqrt(size) + encodings)
