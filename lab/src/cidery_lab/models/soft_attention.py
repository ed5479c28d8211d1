"""SoftAtt, "show, attend and tell": Xu et al., ICML 2015."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.attention import Attention
from cidery_lab.models.base import Captioner, ModelCard, See, State, embed_words, spread


class SoftAttention(Captioner):
    """An LSTM that looks at all regions, each with a weight, before every word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.keys = nn.Linear(size, size)
        self.start = nn.Linear(size, 2 * size)
        self.embed = embed_words(card)
        self.attend = Attention(size)
        self.gate = nn.Linear(size, size)
        self.cell = nn.LSTMCell(2 * size, size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(2 * size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Start from the mean of the regions."""
        regions = self.drop(torch.relu(self.see(self.drop(spread(images)))))
        hidden, cell = torch.tanh(self.start(regions.mean(1))).chunk(2, 1)
        return hidden, cell, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Look, then read a word."""
        hidden, cell, regions, keys = state
        # The gate is the paper's β of section 4.2.1: how much of the context to take in.
        context = torch.sigmoid(self.gate(hidden)) * self.attend(hidden, regions, keys)
        read = torch.cat([self.drop(self.embed(tokens)), context], 1)
        hidden, cell = self.cell(read, (hidden, cell))
        scores = self.speak(self.drop(torch.cat([hidden, context], 1)))
        return scores, (hidden, cell, regions, keys)
