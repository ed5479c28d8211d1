"""SoftAtt, "show, attend and tell": Xu et al., ICML 2015."""

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


class SoftAttention(Captioner):
    """An LSTM with attention over regions before every word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.keys = nn.Linear(size, size)
        self.start = nn.Linear(size, 2 * size)
        self.embed = embed_words(card)
        self.attend = Attention(size)
        self.gate = nn.Linear(size, size)
        self.cell = nn.LSTMCell(2 * size, size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(2 * size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Start from the mean of the regions."""
        regions = self.drop(torch.relu(self.projection(self.drop(as_regions(images)))))
        hidden, cell = torch.tanh(self.start(regions.mean(1))).chunk(2, 1)
        return hidden, cell, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend, then read a word."""
        hidden, cell, regions, keys = state
        # The gate is the paper's β of section 4.2.1: the weight of the context.
        context = torch.sigmoid(self.gate(hidden)) * self.attend(hidden, regions, keys)
        inputs = torch.cat([self.drop(self.embed(tokens)), context], 1)
        hidden, cell = self.cell(inputs, (hidden, cell))
        scores = self.output(self.drop(torch.cat([hidden, context], 1)))
        return scores, (hidden, cell, regions, keys)
