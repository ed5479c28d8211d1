"""A joint embedding of images and captions, for the retrieval reward.

As in Luo et al., CVPR 2018, a caption is rewarded if it is nearer to its image than to the other
images of the batch. The embedding is a GRU over words and a linear map of the image,
trained on the training images with the hardest negative of each batch (Faghri et al. 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cidery.statistics import Floats
from cidery_lab.data import EOS, PAD, LabData
from cidery_lab.models.base import pool_regions

SIZE = 256
MARGIN = 0.2
EPOCHS = 8
BATCH = 128
_TRAINED: WeakKeyDictionary[LabData, Embedding] = WeakKeyDictionary()


class Embedding(nn.Module):
    """Unit vectors of images and captions in one space."""

    def __init__(self, words: int, width: int, size: int = SIZE) -> None:
        super().__init__()
        self.projection = nn.Linear(width, size)
        self.embed = nn.Embedding(words, size, padding_idx=PAD)
        self.gru = nn.GRU(size, size, batch_first=True)
        self.scale = nn.Parameter(torch.tensor(5.0))

    @classmethod
    def make(cls, data: LabData, seed: int) -> Embedding:
        """Return an untrained embedding."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(len(data.vocabulary), data.width, min(SIZE, 4 * data.width))

    def embed_images(self, images: Tensor) -> Tensor:
        """Return [images, size]."""
        return functional.normalize(self.projection(pool_regions(images)), dim=1)

    def embed_captions(self, tokens: Tensor) -> Tensor:
        """Return [captions, size]; tokens end with the end token or padding."""
        words = tokens.masked_fill(tokens == EOS, PAD)
        lengths = (words != PAD).sum(1)
        states, _ = self.gru(self.embed(words))
        last = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, states.shape[2])
        return functional.normalize(states.gather(1, last)[:, 0], dim=1)

    @torch.no_grad()
    def log_realness(self, images: Tensor, drawn: Tensor, samples: int) -> Floats:
        """Return the log-probability that the captions are human captions of the images."""
        pairs = self.embed_images(images).repeat_interleave(samples, 0)
        scores = self.scale * (pairs * self.embed_captions(drawn)).sum(1)
        return np.asarray(functional.logsigmoid(scores).cpu(), np.float64)

    def adversarial_loss(
        self, images: Tensor, drawn: Tensor, references: Sequence[Sequence[int]]
    ) -> Tensor:
        """Return the loss of separating human captions from sampled ones and from other images'.

        Equation (7) of Dai et al., ICCV 2017, with equal weights.
        """
        longest = max(map(len, references))
        written = torch.full((len(references), longest), PAD, device=drawn.device)
        for row, words in zip(written, references, strict=True):
            row[: len(words)] = torch.tensor(words, device=drawn.device)
        seen, real = self.embed_images(images), self.embed_captions(written)
        fake = self.embed_captions(drawn)
        right = functional.logsigmoid(self.scale * (seen * real).sum(1))
        wrong = functional.logsigmoid(-self.scale * (seen * fake).sum(1))
        others = functional.logsigmoid(-self.scale * (seen * real.roll(1, 0)).sum(1))
        return -(right + wrong + others).mean()


def hardest_triplet_loss(images: Tensor, captions: Tensor, margin: float = MARGIN) -> Tensor:
    """Return the hinge loss of each pair against its hardest negatives."""
    similarity = captions @ images.T
    own = similarity.diagonal()
    wrong = similarity - 2 * torch.eye(len(similarity), device=similarity.device) - own[:, None]
    other = similarity.T - 2 * torch.eye(len(similarity), device=similarity.device) - own[:, None]
    return (margin + wrong.amax(1)).clamp(min=0) + (margin + other.amax(1)).clamp(min=0)


def get_embedding(data: LabData, device: torch.device) -> Embedding:
    """Return the embedding of these data, trained once per process."""
    if data not in _TRAINED:
        _TRAINED[data] = train_embedding(data, device)
    found: Embedding = _TRAINED[data].to(device)
    return found


def train_embedding(
    data: LabData, device: torch.device, *, epochs: int = EPOCHS, seed: int = 0
) -> Embedding:
    """Train an embedding on the training images; a caption of each image per epoch."""
    from cidery_lab.training import pad_captions

    model: Embedding = Embedding.make(data, seed).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    generator = torch.Generator().manual_seed(seed)
    captions = [[data.vocabulary.encode(w) for w in g if w] for g in data.train.captions]
    features = torch.from_numpy(data.train.features)
    for _ in range(epochs):
        for rows in torch.randperm(len(features), generator=generator).split(BATCH):
            draws = torch.rand(len(rows), generator=generator).tolist()
            chosen = [
                captions[i][int(draw * len(captions[i]))]
                for i, draw in zip(rows.tolist(), draws, strict=True)
            ]
            tokens = pad_captions(chosen)[:, 1:].to(device)
            images = model.embed_images(features[rows].to(device))
            loss = hardest_triplet_loss(images, model.embed_captions(tokens)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    return model


@torch.no_grad()
def retrieval_rewards(model: Embedding, images: Tensor, drawn: Tensor, samples: int) -> Floats:
    """Return the negative loss of each sampled caption against the images of the batch; <= 0."""
    seen, written = model.embed_images(images), model.embed_captions(drawn)
    similarity = written @ seen.T
    rows = torch.arange(len(drawn), device=drawn.device)
    own = similarity[rows, rows // samples].clone()
    similarity[rows, rows // samples] = -torch.inf
    if len(seen) == 1:
        return np.zeros(len(drawn))
    missed = (MARGIN + similarity.amax(1) - own).clamp(min=0)
    return np.asarray(-missed.cpu(), np.float64)


def find_rank(model: Embedding, images: Tensor, captions: Tensor) -> Floats:
    """Return the rank of each caption's own image among all; 1 is the best."""
    similarity = model.embed_captions(captions) @ model.embed_images(images).T
    ranks = 1 + (similarity > similarity.diagonal()[:, None]).sum(1)
    return np.asarray(ranks.cpu(), np.float64)
