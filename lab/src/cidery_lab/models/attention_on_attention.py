"""AoA: attention on attention, Huang et al., ICCV 2019, in a small form.

Santos, Colombini, Avila 2021 evaluate CIDEr-R with this model. One encoder layer instead of six.
"""

from __future__ import annotations

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

HEADS = 4


class GatedAttention(nn.Module):
    """Multi-head attention with an output gate that depends on the query: equation (6)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(size, HEADS, batch_first=True)
        self.gate_layer = nn.Linear(2 * size, 2 * size)

    def forward(self, query: Tensor, regions: Tensor) -> Tensor:
        """Take [captions, queries, size] and [captions, regions, size]."""
        found, _ = self.attend(query, regions, regions, need_weights=False)
        information, gate = self.gate_layer(torch.cat([query, found], 2)).chunk(2, 2)
        return information * torch.sigmoid(gate)


class AttentionOnAttention(Captioner):
    """An encoder of regions, and an LSTM that attends to them, both with gated attention."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.refine = GatedAttention(size)
        self.norm = nn.LayerNorm(size)
        self.embed = embed_words(card)
        self.cell = nn.LSTMCell(2 * size, size)
        self.attend_regions = GatedAttention(size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Encode the regions."""
        regions = self.drop(torch.relu(self.projection(self.drop(as_regions(images)))))
        regions = self.norm(regions + self.drop(self.refine(regions, regions)))
        zeros = regions.new_zeros(len(images), self.card.hidden)
        return zeros, zeros, zeros, regions

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word, then attend."""
        hidden, cell, context, regions = state
        inputs = torch.cat([self.drop(self.embed(tokens)), regions.mean(1) + context], 1)
        hidden, cell = self.cell(inputs, (hidden, cell))
        context = self.attend_regions(hidden[:, None], regions)[:, 0]
        return self.output(self.drop(context)), (hidden, cell, context, regions)
