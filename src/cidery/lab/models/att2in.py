"""Att2in: Rennie et al., CVPR 2017."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery.lab.models.attention import Attention
from cidery.lab.models.base import Captioner, ModelCard, See, State, embed_words, spread
from cidery.lab.models.fc import MaxoutCell


class Att2in(Captioner):
    """A maxout LSTM; what it sees goes into the cell's candidate alone, not into its gates."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.keys = nn.Linear(size, size)
        self.embed = embed_words(card)
        self.read = nn.Linear(size, 5 * size)
        self.attend = Attention(size)
        self.take_in = nn.Linear(size, 2 * size)
        self.cell = MaxoutCell(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Nothing is known yet."""
        regions = self.drop(torch.relu(self.see(self.drop(spread(images)))))
        nothing = regions.new_zeros(len(images), self.card.hidden)
        return nothing, nothing, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Look, then read a word."""
        hidden, cell, regions, keys = state
        context = self.take_in(self.attend(hidden, regions, keys))
        read = self.read(self.drop(self.embed(tokens)))
        hidden, cell = self.cell(read, hidden, cell, context)
        return self.speak(self.drop(hidden)), (hidden, cell, regions, keys)
