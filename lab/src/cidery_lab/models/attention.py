"""Additive attention over regions."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """a_i = softmax_i(w · tanh(V v_i + H h)), the attention of Bahdanau et al. 2015."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(size, size)
        self.score = nn.Linear(size, 1)

    def forward(self, hidden: Tensor, regions: Tensor, keys: Tensor) -> Tensor:
        """Return the weighted mean of regions [captions, regions, size]; keys are V v_i."""
        scores = self.score((keys + self.query(hidden)[:, None]).tanh_())
        return torch.bmm(scores.softmax(1).transpose(1, 2), regions)[:, 0]
