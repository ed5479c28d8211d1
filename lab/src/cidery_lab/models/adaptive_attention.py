"""AdapAtt, "knowing when to look": Lu et al., CVPR 2017."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.attention import Attention
from cidery_lab.models.base import Captioner, ModelCard, See, State, embed_words, spread


class AdaptiveAttention(Captioner):
    """An LSTM that looks after each word, at regions or at a sentinel: what it knows already."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.keys = nn.Linear(size, size)
        self.embed = embed_words(card)
        self.cell = nn.LSTMCell(2 * size, size)
        self.gate = nn.Linear(3 * size, size)
        self.sentinel_key = nn.Linear(size, size)
        self.attend = Attention(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Nothing is known yet."""
        regions = self.drop(torch.relu(self.see(self.drop(spread(images)))))
        nothing = regions.new_zeros(len(images), self.card.hidden)
        return nothing, nothing, regions, self.keys(regions)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word, then look."""
        before, cell, regions, keys = state
        read = torch.cat([self.drop(self.embed(tokens)), regions.mean(1)], 1)
        hidden, cell = self.cell(read, (before, cell))
        # Equations (9) and (10): what the memory holds, as one more region.
        sentinel = torch.sigmoid(self.gate(torch.cat([read, before], 1))) * torch.tanh(cell)
        places = torch.cat([regions, sentinel[:, None]], 1)
        place_keys = torch.cat([keys, self.sentinel_key(sentinel)[:, None]], 1)
        context = self.attend(hidden, places, place_keys)
        return self.speak(self.drop(context + hidden)), (hidden, cell, regions, keys)
