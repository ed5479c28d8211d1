"""FC and NIC: the image is the first word of a recurrent network.

NIC, "show and tell": Vinyals et al., CVPR 2015. FC: Rennie et al., CVPR 2017, the same with a
maxout of two units for what is written into the cell.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from cidery_lab.models.base import (
    Captioner,
    ModelCard,
    Recurrent,
    See,
    State,
    embed_words,
    pool,
    read_words,
)

KEEP = 1.5
"""Added to the first biases of forget gates, so that the image, which is seen only once, is kept
until something is learned to the contrary (Jozefowicz et al. 2015)."""


class MaxoutCell(nn.Module):
    """An LSTM cell whose candidate is the larger of two linear maps, as in Rennie et al. 2017."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.remember = nn.Linear(hidden, 5 * hidden)
        with torch.no_grad():
            self.remember.bias[hidden : 2 * hidden] += KEEP

    def forward(
        self, seen: Tensor, hidden: Tensor, cell: Tensor, context: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Take the mapped input [captions, 5 · hidden]; `context` is added to the candidate."""
        size = self.hidden
        mixed = seen + self.remember(hidden)
        inward, forget, outward = mixed[:, : 3 * size].sigmoid().chunk(3, 1)
        candidate = mixed[:, 3 * size :]
        if context is not None:
            candidate = candidate + context
        cell = forget * cell + inward * torch.maximum(candidate[:, :size], candidate[:, size:])
        return outward * cell.tanh(), cell

    def read_all(self, seen: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Return the hidden states [words, captions, hidden] after each of [words, captions, …].

        The same numbers as word by word, and several times fewer operations.
        """
        states: Tensor = _Unrolled.apply(
            seen + self.remember.bias, self.remember.weight, hidden, cell
        )
        return states


class _Unrolled(torch.autograd.Function):
    """`MaxoutCell` over a whole caption, its gradient written out.

    The gradient of the weights is one product at the end; autograd makes one for each word.
    """

    @staticmethod
    def forward(ctx: Any, seen: Tensor, weight: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        """Keep what the gradient needs: gates, candidates, cells and hidden states."""
        length, count, size = len(seen), hidden.shape[0], hidden.shape[1]
        gates = seen.new_empty(length, count, 3 * size)
        candidates, bent = seen.new_empty(2, length, count, size)
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
            torch.tanh(cells[t + 1], out=bent[t])
            torch.mul(outward, bent[t], out=states[t + 1])
        ctx.save_for_backward(weight, gates, candidates, first, states, cells, bent)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        """Go back word by word; `mixed` gathers the gradients of what went into the gates."""
        weight, gates, candidates, first, states, cells, bent = ctx.saved_tensors
        size = bent.shape[2]
        mixed = gates.new_empty(*bent.shape[:2], 5 * size)
        hidden, cell = torch.zeros_like(bent[0]), torch.zeros_like(bent[0])
        for t in reversed(range(len(bent))):
            hidden = hidden + gradient[t]
            inward, forget, outward = gates[t].chunk(3, 1)
            cell = cell + hidden * outward * (1 - bent[t] * bent[t])
            to_inward, to_forget, to_outward, to_left, to_right = mixed[t].chunk(5, 1)
            torch.mul(cell, candidates[t], out=to_inward).mul_(inward - inward * inward)
            torch.mul(cell, cells[t], out=to_forget).mul_(forget - forget * forget)
            torch.mul(hidden, bent[t], out=to_outward).mul_(outward - outward * outward)
            to_candidate = cell * inward
            torch.mul(to_candidate, first[t], out=to_left)
            torch.sub(to_candidate, to_left, out=to_right)
            hidden, cell = mixed[t] @ weight, cell * forget
        to_weight = mixed.flatten(0, 1).t() @ states[:-1].flatten(0, 1)
        return mixed, to_weight, hidden, cell


class FC(Recurrent):
    """Rennie et al. 2017: a maxout LSTM that sees the image before the first word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.embed = embed_words(card)
        self.read = nn.Linear(size, 5 * size)
        self.cell = MaxoutCell(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def look(self, images: Tensor, latent: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return what the network reads before the first word."""
        return self.see(self.drop(pool(images)))

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:
        """Read the image."""
        seen = self.look(images, latent)
        nothing = seen.new_zeros(len(images), self.card.hidden)
        hidden, cell = self.cell(self.read(seen), nothing, nothing)
        return hidden, cell

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word."""
        state = self.cell(read_words(tokens, self.embed, self.drop, self.read), *state)
        return self.speak(self.drop(state[0])), state

    def read_all(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Read all words; what does not depend on the state is computed at once."""
        read = read_words(tokens.t(), self.embed, self.drop, self.read)
        return self.cell.read_all(read, *self.begin(images, latent))


class NIC(Captioner):
    """Vinyals et al. 2015: an LSTM that sees the image before the first word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = See(card)
        self.embed = embed_words(card)
        self.lstm = nn.LSTM(size, size, batch_first=True)
        with torch.no_grad():
            self.lstm.bias_hh_l0[size : 2 * size] += KEEP
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Read the image."""
        _, (hidden, cell) = self.lstm(self.see(self.drop(pool(images)))[:, None])
        return hidden[0], cell[0]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word."""
        before = state[0][None].contiguous(), state[1][None].contiguous()
        _, (hidden, cell) = self.lstm(self.drop(self.embed(tokens))[:, None], before)
        return self.speak(self.drop(hidden[0])), (hidden[0], cell[0])

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Read all words in one call of the LSTM."""
        hidden, cell = self.begin(images, latent)
        states, _ = self.lstm(self.drop(self.embed(tokens)), (hidden[None], cell[None]))
        return self.speak(self.drop(states))
