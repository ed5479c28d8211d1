"""What all captioners have in common: a card, and words one after the other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from cidery.errors import SettingError
from cidery_lab.data import PAD

State: TypeAlias = tuple[Tensor, ...]
"""What a captioner remembers between words: tensors whose rows are captions."""


@dataclass(frozen=True)
class ModelCard:
    """All that is needed to build a captioner again; `seed` draws its first weights."""

    model: str
    words: int
    """Size of the vocabulary, special words included."""
    width: int
    """Features of an image, or of a region."""
    hidden: int = 512
    dropout: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("words", "width", "hidden"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} of a model must be 1 or more")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout is at least 0 and less than 1, not {self.dropout}")

    def as_dict(self) -> dict[str, Any]:
        """Return the card as plain values."""
        return asdict(self)


class Captioner(nn.Module):
    """A captioner: `begin` reads images, `step` takes a word and scores the next ones.

    Images are [captions, width] or [captions, regions, width]; each model takes both (see `pool`
    and `spread`).
    """

    latent: ClassVar[int] = 0
    """The size of the random vector that a caption starts from; 0 where there is none."""
    speak: nn.Linear
    """From what the model knows to scores of words."""

    def __init__(self, card: ModelCard) -> None:
        super().__init__()
        self.card = card

    def begin(self, images: Tensor, latent: Tensor | None = None) -> State:
        """Return what the model knows before the first word."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return scores [captions, words] of the words that follow, and the new state."""
        raise NotImplementedError

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Return scores [captions, tokens, words] of what follows each token."""
        state, scores = self.begin(images, latent), []
        for position in range(tokens.shape[1]):
            found, state = self.step(tokens[:, position], state)
            scores.append(found)
        return torch.stack(scores, 1)

    def score_chosen(
        self, images: Tensor, tokens: Tensor, chosen: Tensor, latent: Tensor | None = None
    ) -> Tensor:
        """Return scores [chosen, words] of what follows the tokens where `chosen` is true."""
        return self(images, tokens, latent)[chosen]

    @torch.no_grad()
    def sharpen(self, factor: float) -> None:
        """Multiply the scores of all words; 1 changes nothing."""
        for weights in self.speak.parameters():
            weights.mul_(factor)

    def loss(self, images: Tensor, tokens: Tensor, expected: Tensor, smoothing: float) -> Tensor:
        """Return the mean cross-entropy of `expected`, what follows each of `tokens`."""
        return cross_entropy(self(images, tokens), expected, smoothing)


class Recurrent(Captioner):
    """A captioner that scores words from one state per word: all of them in one product."""

    drop: nn.Dropout

    def read_all(self, images: Tensor, tokens: Tensor, latent: Tensor | None) -> Tensor:
        """Return the states [words, captions, hidden] after each token."""
        raise NotImplementedError

    def forward(self, images: Tensor, tokens: Tensor, latent: Tensor | None = None) -> Tensor:
        """Score what follows each token."""
        return self.speak(self.drop(self.read_all(images, tokens, latent).transpose(0, 1)))

    def score_chosen(
        self, images: Tensor, tokens: Tensor, chosen: Tensor, latent: Tensor | None = None
    ) -> Tensor:
        """Score words where they are asked for only: half of the work with drawn captions."""
        states = self.read_all(images, tokens, latent).transpose(0, 1)
        return self.speak(self.drop(states[chosen]))


def cross_entropy(scores: Tensor, expected: Tensor, smoothing: float) -> Tensor:
    """Return the mean cross-entropy over words that are not padding."""
    return functional.cross_entropy(
        scores.flatten(0, 1), expected.flatten(), ignore_index=PAD, label_smoothing=smoothing
    )


class See(nn.Linear):
    """From the features of an image, or of a region, to the model's size.

    Adam moves every weight by about the rate, so that a sum over thousands of features would jump
    where one over hundreds walks. Features are made smaller, and the first weights larger, by what
    makes the length of an image's features about `LENGTH`; what is seen at first is the same.
    """

    LENGTH = 5.0

    def __init__(self, card: ModelCard) -> None:
        super().__init__(card.width, card.hidden)
        self.shrink = min(1.0, self.LENGTH / card.width**0.5)
        with torch.no_grad():
            self.weight.div_(self.shrink)

    def forward(self, images: Tensor) -> Tensor:
        """Take standardized features [..., width]."""
        return super().forward(images * self.shrink)


def embed_words(card: ModelCard) -> nn.Embedding:
    """Return vectors of words that begin small, so that what is learned outweighs the draw soon."""
    vectors = nn.Embedding(card.words, card.hidden)
    nn.init.uniform_(vectors.weight, -0.1, 0.1)
    return vectors


def read_words(tokens: Tensor, embed: nn.Embedding, drop: nn.Module, read: nn.Module) -> Tensor:
    """Return read(drop(embed(tokens))), computed once for each *different* word.

    Captions of a batch share most of their words. Dropout hides the same part of a word from all.
    """
    words, places = tokens.unique(return_inverse=True)
    return functional.embedding(places, read(drop(embed(words))))


def pool(images: Tensor) -> Tensor:
    """Return one vector per image: the mean of its regions."""
    return images.mean(1) if images.ndim == 3 else images


def spread(images: Tensor) -> Tensor:
    """Return regions: an image that has one vector is its only region."""
    return images if images.ndim == 3 else images[:, None]
