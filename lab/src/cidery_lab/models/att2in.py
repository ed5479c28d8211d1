"""Att2in: Rennie et al., CVPR 2017."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.attention import Attention
from cidery_lab.models.base import (
    FeatureProjection,
    ModelCard,
    Recurrent,
    State,
    as_regions,
    embed_words,
    map_words,
)
from cidery_lab.models.fc import MaxoutCell


class Att2in(Recurrent):
    """A maxout LSTM whose attention context enters the cell's candidate, not its gates."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.keys = nn.Linear(size, size)
        self.embed = embed_words(card)
        self.input_layer = nn.Linear(size, 5 * size)
        self.attend = Attention(size)
        self.context_layer = nn.Linear(size, 2 * size)
        self.cell = MaxoutCell(size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Return a zero state and the encoded regions."""
        regions = self.drop(torch.relu(self.projection(self.drop(as_regions(images)))))
        zeros = regions.new_zeros(len(images), self.card.hidden)
        return zeros, zeros, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Attend, then read a word."""
        hidden, cell, regions, keys = state
        inputs = map_words(tokens, self.embed, self.drop, self.input_layer)
        hidden, cell = self.advance(inputs, hidden, cell, regions, keys)
        return self.output(self.drop(hidden)), (hidden, cell, regions, keys)

    def compute_states(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Attend and read word by word."""
        hidden, cell, regions, keys = self.init_state(images, latent)
        states = []
        for inputs in map_words(tokens.t(), self.embed, self.drop, self.input_layer):
            hidden, cell = self.advance(inputs, hidden, cell, regions, keys)
            states.append(hidden)
        return torch.stack(states)

    def advance(
        self, inputs: Tensor, hidden: Tensor, cell: Tensor, regions: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the state after attention and one word."""
        context = self.context_layer(self.attend(hidden, regions, keys))
        return self.cell(inputs, hidden, cell, context)  # type: ignore[no-any-return]
