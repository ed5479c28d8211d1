"""AoA: attention on attention, Huang et al., ICCV 2019, in a small form.

CIDEr-R was shown on this model (Santos, Colombini, Avila 2021). One refining layer instead of six.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery_lab.models.base import Captioner, ModelCard, See, State, embed_words, spread

HEADS = 4


class Refined(nn.Module):
    """Multi-head attention whose result passes a gate that the query opens: equation (6)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(size, HEADS, batch_first=True)
        self.inform = nn.Linear(2 * size, 2 * size)

    def forward(self, query: Tensor, places: Tensor) -> Tensor:
        """Take [captions, queries, size] and [captions, regions, size]."""
        found, _ = self.attend(query, places, places, need_weights=False)
        information, gate = self.inform(torch.cat([query, found], 2)).chunk(2, 2)
        return information * torch.sigmoid(gate)


class AttentionOnAttention(Captioner):
    """An encoder that refines regions, and an LSTM that asks for them through the same gate."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.refine = Refined(size)
        self.norm = nn.LayerNorm(size)
        self.embed = embed_words(card)
        self.cell = nn.LSTMCell(2 * size, size)
        self.look = Refined(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Refine the regions."""
        regions = self.drop(torch.relu(self.see(self.drop(spread(images)))))
        regions = self.norm(regions + self.drop(self.refine(regions, regions)))
        nothing = regions.new_zeros(len(images), self.card.hidden)
        return nothing, nothing, nothing, regions

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word, then look."""
        hidden, cell, context, regions = state
        read = torch.cat([self.drop(self.embed(tokens)), regions.mean(1) + context], 1)
        hidden, cell = self.cell(read, (hidden, cell))
        context = self.look(hidden[:, None], regions)[:, 0]
        return self.speak(self.drop(context)), (hidden, cell, context, regions)
