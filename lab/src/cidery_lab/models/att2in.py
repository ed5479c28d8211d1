"""Att2in: Rennie et al., CVPR 2017."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.attention import Attention
from cidery_lab.models.base import ModelCard, Recurrent, See, State, embed_words, read_words, spread
from cidery_lab.models.fc import MaxoutCell


class Att2in(Recurrent):
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
        read = read_words(tokens, self.embed, self.drop, self.read)
        hidden, cell = self.look(read, hidden, cell, regions, keys)
        return self.speak(self.drop(hidden)), (hidden, cell, regions, keys)

    def read_all(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Look and read, word by word."""
        hidden, cell, regions, keys = self.begin(images, latent)
        states = []
        for read in read_words(tokens.t(), self.embed, self.drop, self.read):
            hidden, cell = self.look(read, hidden, cell, regions, keys)
            states.append(hidden)
        return torch.stack(states)

    def look(
        self, read: Tensor, hidden: Tensor, cell: Tensor, regions: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Take in what is seen before a word, and the word."""
        context = self.take_in(self.attend(hidden, regions, keys))
        return self.cell(read, hidden, cell, context)  # type: ignore[no-any-return]
