"""A small Transformer: Vaswani et al., NeurIPS 2017, as a decoder that looks at regions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from cidery_lab.models.base import Captioner, ModelCard, See, State, embed_words, spread

LAYERS = 2
HEADS = 8


class Layer(nn.Module):
    """Attention to the words before, attention to regions, two linear maps; norms come first."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        heads = math.gcd(HEADS, size)
        self.words = nn.MultiheadAttention(size, heads, batch_first=True)
        self.regions = nn.MultiheadAttention(size, heads, batch_first=True)
        self.think = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.drop = nn.Dropout(dropout)

    def forward(self, read: Tensor, before: Tensor, regions: Tensor, mask: Tensor | None) -> Tensor:
        """Take what stands at some positions, and what stands at all up to them."""
        query, keys = self.norms[0](read), self.norms[0](before)
        found, _ = self.words(query, keys, keys, attn_mask=mask, need_weights=False)
        read = read + self.drop(found)
        query = self.norms[1](read)
        found, _ = self.regions(query, regions, regions, need_weights=False)
        read = read + self.drop(found)
        return read + self.drop(self.think(self.norms[2](read)))


class Transformer(Captioner):
    """Layers that read all words at once in training, and one by one when they write."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.embed = embed_words(card)
        self.layers = nn.ModuleList(Layer(size, card.dropout) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Remember the regions, and for each layer the words read so far: none."""
        regions = self.drop(torch.relu(self.see(self.drop(spread(images)))))
        nothing = regions.new_zeros(len(images), 0, self.card.hidden)
        return regions, *(nothing for _ in range(LAYERS))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word after those that the state remembers."""
        regions, *before = state
        read = self.place(tokens[:, None], before[0].shape[1])
        kept = []
        for layer, known in zip(self.layers, before, strict=True):
            kept.append(torch.cat([known, read], 1))
            read = layer(read, kept[-1], regions, None)
        return self.speak(self.drop(self.norm(read[:, 0]))), (regions, *kept)

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Read all words at once; none sees those behind it."""
        regions = self.begin(images, latent)[0]
        read = self.place(tokens, 0)
        length = tokens.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        for layer in self.layers:
            read = layer(read, read, regions, mask)
        return self.speak(self.drop(self.norm(read)))

    def place(self, tokens: Tensor, first: int) -> Tensor:
        """Embed words, with waves that tell their positions."""
        size = self.card.hidden
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)[:, None]
        rates = torch.exp(
            torch.arange(0, size, 2, device=tokens.device) * (-math.log(10_000.0) / size)
        )
        waves = torch.cat([torch.sin(places * rates), torch.cos(places * rates)], 1)[:, :size]
        return self.drop(self.embed(tokens) * math.sqrt(size) + waves)
