"""FC and NIC: the image is the first input of a recurrent network.

NIC, "show and tell": Vinyals et al., CVPR 2015. FC: Rennie et al., CVPR 2017, the same with a
maxout of two units in the cell.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from cidery_lab.models.base import (
    Captioner,
    FeatureProjection,
    ModelCard,
    Recurrent,
    State,
    embed_words,
    map_words,
    pool_regions,
)

FORGET_BIAS = 1.5
"""Initial bias of forget gates, which keeps the image in memory (Jozefowicz et al. 2015)."""


class MaxoutCell(nn.Module):
    """An LSTM cell whose candidate is the larger of two linear maps, as in Rennie et al. 2017."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.recurrent = nn.Linear(hidden, 5 * hidden)
        with torch.no_grad():
            self.recurrent.bias[hidden : 2 * hidden] += FORGET_BIAS

    def forward(
        self, seen: Tensor, hidden: Tensor, cell: Tensor, context: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the next state for mapped inputs [captions, 5 · hidden].

        `context` is added to the candidate.
        """
        size = self.hidden
        mixed = seen + self.recurrent(hidden)
        inward, forget, outward = mixed[:, : 3 * size].sigmoid().chunk(3, 1)
        candidate = mixed[:, 3 * size :]
        if context is not None:
            candidate = candidate + context
        cell = forget * cell + inward * torch.maximum(candidate[:, :size], candidate[:, size:])
        return outward * cell.tanh(), cell

    def compute_states(self, seen: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Return the hidden states [words, captions, hidden] after each of [words, captions, …].

        The same values as word by word, with fewer operations.
        """
        states: Tensor = _Unrolled.apply(
            seen + self.recurrent.bias, self.recurrent.weight, hidden, cell
        )
        return states


class _Unrolled(torch.autograd.Function):
    """`MaxoutCell` over a whole caption with an explicit gradient.

    The gradient of the weights is one matrix product; autograd computes one per word.
    """

    @staticmethod
    def forward(ctx: Any, seen: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Compute the states, and save the inputs of the gradient."""
        length, count, size = len(seen), hidden.shape[0], hidden.shape[1]
        gates = seen.new_empty(length, count, 3 * size)
        candidates, tanh_cells = seen.new_empty(2, length, count, size)
        first = torch.empty(length, count, size, dtype=torch.bool, device=seen.device)
        states, cells = seen.new_empty(2, length + 1, count, size)
        states[0], cells[0] = hidden, cell
        for t in range(length):
            mixed = torch.addmm(seen[t], states[t], weight.t())
            torch.sigmoid(mixed[:, : 3 * size], out=gates[t])
            left, right = mixed[:, 3 * size : 4 * size], mixed[:, 4 * size :]
            torch.gt(left, right, out=first[t])
            torch.maximum(left, right, out=candidates[t])
            inward, forget, outward = gates[t].chunk(3, 1)
            torch.mul(forget, cells[t], out=cells[t + 1]).addcmul_(inward, candidates[t])
            torch.tanh(cells[t + 1], out=tanh_cells[t])
            torch.mul(outward, tanh_cells[t], out=states[t + 1])
        ctx.save_for_backward(weight, gates, candidates, first, states, cells, tanh_cells)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        """Compute gradients from the last word to the first; `mixed` has those of the gates."""
        weight, gates, candidates, first, states, cells, tanh_cells = ctx.saved_tensors
        size = tanh_cells.shape[2]
        mixed = gates.new_empty(*tanh_cells.shape[:2], 5 * size)
        hidden, cell = torch.zeros_like(tanh_cells[0]), torch.zeros_like(tanh_cells[0])
        for t in reversed(range(len(tanh_cells))):
            hidden = hidden + gradient[t]
            inward, forget, outward = gates[t].chunk(3, 1)
            cell = cell + hidden * outward * (1 - tanh_cells[t] * tanh_cells[t])
            to_inward, to_forget, to_outward, to_left, to_right = mixed[t].chunk(5, 1)
            torch.mul(cell, candidates[t], out=to_inward).mul_(inward - inward * inward)
            torch.mul(cell, cells[t], out=to_forget).mul_(forget - forget * forget)
            torch.mul(hidden, tanh_cells[t], out=to_outward).mul_(outward - outward * outward)
            to_candidate = cell * inward
            torch.mul(to_candidate, first[t], out=to_left)
            torch.sub(to_candidate, to_left, out=to_right)
            hidden, cell = mixed[t] @ weight, cell * forget
        to_weight = mixed.flatten(0, 1).t() @ states[:-1].flatten(0, 1)
        return mixed, to_weight, hidden, cell


class FC(Recurrent):
    """A maxout LSTM whose first input is the image (Rennie et al. 2017)."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.embed = embed_words(card)
        self.input_layer = nn.Linear(size, 5 * size)
        self.cell = MaxoutCell(size)
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def encode_image(self, images: Tensor, latent: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return the first input of the network."""
        return self.projection(self.drop(pool_regions(images)))

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:
        """Read the image."""
        seen = self.encode_image(images, latent)
        zeros = seen.new_zeros(len(images), self.card.hidden)
        hidden, cell = self.cell(self.input_layer(seen), zeros, zeros)
        return hidden, cell

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word."""
        state = self.cell(map_words(tokens, self.embed, self.drop, self.input_layer), *state)
        return self.output(self.drop(state[0])), state

    def compute_states(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Read all words; maps of inputs are computed at once."""
        inputs = map_words(tokens.t(), self.embed, self.drop, self.input_layer)
        return self.cell.compute_states(inputs, *self.init_state(images, latent))


class NIC(Captioner):
    """An LSTM whose first input is the image (Vinyals et al. 2015)."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.projection = FeatureProjection(card)
        self.embed = embed_words(card)
        self.lstm = nn.LSTM(size, size, batch_first=True)
        with torch.no_grad():
            self.lstm.bias_hh_l0[size : 2 * size] += FORGET_BIAS
        self.drop = nn.Dropout(card.dropout)
        self.output = nn.Linear(size, card.words)

    def init_state(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Read the image."""
        _, (hidden, cell) = self.lstm(self.projection(self.drop(pool_regions(images)))[:, None])
        return hidden[0], cell[0]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word."""
        before = state[0][None].contiguous(), state[1][None].contiguous()
        _, (hidden, cell) = self.lstm(self.drop(self.embed(tokens))[:, None], before)
        return self.output(self.drop(hidden[0])), (hidden[0], cell[0])

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Read all words in one call of the LSTM."""
        hidden, cell = self.init_state(images, latent)
        states, _ = self.lstm(self.drop(self.embed(tokens)), (hidden[None], cell[None]))
        return self.output(self.drop(states))
