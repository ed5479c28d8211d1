"""FC and NIC: the image is the first word of a recurrent network.

NIC, "show and tell": Vinyals et al., CVPR 2015. FC: Rennie et al., CVPR 2017, the same with a
maxout of two units for what is written into the cell.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cidery.lab.models.base import Captioner, ModelCard, State, embed_words, pool


class MaxoutCell(nn.Module):
    """An LSTM cell whose candidate is the larger of two linear maps, as in Rennie et al. 2017."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.remember = nn.Linear(hidden, 5 * hidden)

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


class FC(Captioner):
    """Rennie et al. 2017: a maxout LSTM that sees the image before the first word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = nn.Linear(card.width, size)
        self.embed = embed_words(card)
        self.read = nn.Linear(size, 5 * size)
        self.cell = MaxoutCell(size)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def look(self, images: Tensor, latent: Tensor | None) -> Tensor:  # noqa: ARG002
        """Return what the network reads before the first word."""
        return self.drop(self.see(self.drop(pool(images))))

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:
        """Read the image."""
        seen = self.look(images, latent)
        nothing = seen.new_zeros(len(images), self.card.hidden)
        hidden, cell = self.cell(self.read(seen), nothing, nothing)
        return hidden, cell

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Read a word."""
        state = self.cell(self.read(self.drop(self.embed(tokens))), *state)
        return self.speak(self.drop(state[0])), state

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Read all words; what does not depend on the state is computed at once."""
        hidden, cell = self.begin(images, latent)
        read = self.read(self.drop(self.embed(tokens)))
        states = []
        for position in range(tokens.shape[1]):
            hidden, cell = self.cell(read[:, position], hidden, cell)
            states.append(hidden)
        return self.speak(self.drop(torch.stack(states, 1)))


class NIC(Captioner):
    """Vinyals et al. 2015: an LSTM that sees the image before the first word."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card)
        size = card.hidden
        self.see = nn.Linear(card.width, size)
        self.embed = embed_words(card)
        self.lstm = nn.LSTM(size, size, batch_first=True)
        self.drop = nn.Dropout(card.dropout)
        self.speak = nn.Linear(size, card.words)

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:  # noqa: ARG002
        """Read the image."""
        _, (hidden, cell) = self.lstm(self.drop(self.see(self.drop(pool(images))))[:, None])
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
