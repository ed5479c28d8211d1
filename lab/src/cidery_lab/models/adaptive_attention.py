"""AdapAtt, "knowing when to look": Lu et al., CVPR 2017."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.attention import Attention
from cidery_lab.models.base import (
    Captioner,
    FeatureProjection,
    ModelCard,
    State,
    as_regions,
    embed_words,
)


class AdaptiveAttention(Captioner):
    """An LSTM with attention, after each word, over regions and a sentinel of its memory."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.keys = nn.Linear(size, size)
        self.embed = embed_words(card)
        self.cell = nn.LSTMCell(2 * size, size)
        self.gate = nn.Linear(3 * size, size)
        self.sentinel_key = nn.Linear(size, size)
        self.attend = Attention(size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Return a zero state and the encoded regions."""
        regions = self.drop(torch.relu(self.projection(self.drop(as_regions(images)))))
        zeros = regions.new_zeros(len(images), self.card.hidden)
        return zeros, zeros, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word, then attend."""
        previous, cell, regions, keys = state
        inputs = torch.cat([self.drop(self.embed(tokens)), regions.mean(1)], 1)
        hidden, cell = self.cell(inputs, (previous, cell))
        # Equations (9) and (10): the memory as an additional region.
        sentinel = torch.sigmoid(self.gate(torch.cat([inputs, previous], 1))) * torch.tanh(cell)
        candidates = torch.cat([regions, sentinel[:, None]], 1)
        candidate_keys = torch.cat([keys, self.sentinel_key(sentinel)[:, None]], 1)
        context = self.attend(hidden, candidates, candidate_keys)
        return self.output(self.drop(context + hidden)), (hidden, cell, regions, keys)
