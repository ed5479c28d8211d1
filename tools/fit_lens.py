"""Learn a lens: how an encoder's vectors must change for their cosines to follow people.

    python tools/fit_lens.py minilm --data FOLDER             how well it carries over
    python tools/fit_lens.py minilm --data FOLDER --write     the lens itself, into the package

It learns from Flickr8k-CF, without the pairs of an image and a caption that Flickr8k-Expert judges
too, and from the half of PASCAL-50S whose images' names have an even SHA-256. A caption's score is
the soft maximum of its cosines with the references. Of two judged captions of Flickr8k-CF the one
that people rate higher is to score higher, whatever their images (a smooth Kendall's τ); of a pair
of PASCAL-50S the winner.

To see how well it carries over, it is learnt from judgments on two thirds of the images and two
thirds of the captions, and judged by those on the last thirds, three times; a pair of PASCAL-50S
goes with its image. A judged caption may still have been seen as somebody's reference. Needs torch.
"""

import argparse
import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import normalize, softplus

from cidery.meta import Pairs, Ratings, read_dataset
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics.contextual.encoders import Encoder, get_encoder
from cidery.metrics.contextual.encoders.lens import FOLDER
from cidery.statistics import Correlation

RANK = 32
STEPS = 150
BATCH = 1024
PAIRS = 256
RATE = 3e-3
DECAY = 1e-2
"""The weight of the change's squares."""
PAIRED = 0.6
"""The weight of PASCAL-50S."""
SOFTNESS = 8.0
"""The higher, the nearer the soft maximum is to the nearest reference."""
STEEPNESS = {"rated": 10.0, "paired": 20.0}
"""The higher, the smaller a difference of scores counts as an order."""
THIRDS = 3


def number(text: str, parts: int) -> int:
    """Return a part for a text, the same ever after."""
    return int(sha256(text.encode()).hexdigest(), 16) % parts


@dataclass
class Judged:
    """Captions with their references, as places in one table of vectors."""

    captions: torch.Tensor
    references: torch.Tensor
    is_there: torch.Tensor

    @classmethod
    def place(cls, judged: JudgedCaptions, places: dict[str, int]) -> "Judged":
        width = max(map(len, judged.references))
        references = np.zeros((len(judged.references), width), np.int64)
        is_there = np.zeros((len(judged.references), width), bool)
        for row, group in enumerate(judged.references):
            references[row, : len(group)] = [places.setdefault(c, len(places)) for c in group]
            is_there[row, : len(group)] = True
        captions = [places.setdefault(caption, len(places)) for caption in judged.captions]
        return cls(
            torch.tensor(captions),
            torch.tensor(references[judged.documents]),
            torch.tensor(is_there[judged.documents]),
        )

    def score(self, rows: torch.Tensor, vectors: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        """Return the soft maximum of each caption's cosines with its references."""
        captions, references = self.captions[rows], self.references[rows]
        used, back = torch.unique(torch.cat([captions, references.ravel()]), return_inverse=True)
        inward, outward = lens
        seen = normalize(vectors[used] + (vectors[used] @ inward) @ outward.T, dim=1)
        own, others = seen[back[: len(rows)]], seen[back[len(rows) :]].view(*references.shape, -1)
        cosines = torch.einsum("nd,nkd->nk", own, others)
        there = self.is_there[rows]
        summed = torch.logsumexp((SOFTNESS * cosines).masked_fill(~there, -torch.inf), 1)
        return (summed - there.sum(1).log()) / SOFTNESS


@dataclass
class Material:
    """What a lens is learnt from."""

    vectors: torch.Tensor
    rated: Judged
    ratings: torch.Tensor
    rated_images: np.ndarray
    """int[rows]: the third that the image of each rated caption belongs to."""
    rated_captions: np.ndarray
    """int[rows]: the third of the caption itself."""
    paired: Judged
    first: torch.Tensor
    second: torch.Tensor
    votes: torch.Tensor
    paired_images: np.ndarray
    """int[pairs]: the third of each pair's image."""

    @classmethod
    def read(cls, encoder: Encoder, folder: Path) -> "Material":
        crowd, pairs = read_crowd(folder), read_pairs(folder)
        places: dict[str, int] = {}
        rated, paired = Judged.place(crowd.judged, places), Judged.place(pairs.judged, places)
        images = [min(crowd.judged.references[d]) for d in crowd.judged.documents]
        owner = pairs.judged.image_of_caption[pairs.first]
        return cls(
            torch.tensor(encoder.embed(list(places))),
            rated,
            torch.tensor(crowd.ratings),
            np.array([number(image, THIRDS) for image in images])[crowd.rows],
            np.array([number(text, THIRDS) for text in crowd.judged.captions])[crowd.rows],
            paired,
            torch.tensor(pairs.first),
            torch.tensor(pairs.second),
            torch.tensor(pairs.votes["triplets"]),
            np.array([number(str(image), THIRDS) for image in owner]),
        )


def read_crowd(folder: Path) -> Ratings:
    """Return Flickr8k-CF without what Flickr8k-Expert judges too."""
    crowd = read_dataset("flickr8k-cf", folder)
    expert = read_dataset("flickr8k-expert", folder)
    assert isinstance(crowd, Ratings)
    known = set(zip(expert.judged.image_of_caption, expert.judged.captions, strict=True))
    names = zip(crowd.judged.image_of_caption, crowd.judged.captions, strict=True)
    fresh = np.array([pair not in known for pair in names])
    return crowd.take(np.flatnonzero(fresh[crowd.rows]))


def read_pairs(folder: Path) -> Pairs:
    """Return the half of PASCAL-50S that choices are made on, with five references a pair."""
    pairs = read_dataset("pascal-50s", folder)
    assert isinstance(pairs, Pairs)
    names = list(json.loads((folder / "pascal50s" / "refs50.json").read_text()))
    images = pairs.judged.image_of_caption[pairs.first]
    is_even = np.array([number(names[image], 2) == 0 for image in images])
    return pairs.take(np.flatnonzero(is_even)).with_own_references()


def fit(material: Material, rows: np.ndarray, pairs: np.ndarray, seed: int = 0) -> torch.Tensor:
    """Return float32[2, width, rank], learnt from those rated captions and pairs."""
    chance = torch.Generator().manual_seed(seed)
    width = material.vectors.shape[1]
    lens = (0.01 * torch.randn(2, width, RANK, generator=chance)).requires_grad_()
    optimizer = torch.optim.Adam([lens], lr=RATE)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, STEPS)
    all_rows, all_pairs = torch.tensor(rows), torch.tensor(pairs[material.votes[pairs] != 0])
    for _ in range(STEPS):
        some = all_rows[torch.randint(len(all_rows), (BATCH,), generator=chance)]
        scores = material.rated.score(some, material.vectors, lens)
        ratings = material.ratings[some]
        gains = (scores[:, None] - scores)[ratings[:, None] > ratings]
        few = all_pairs[torch.randint(len(all_pairs), (PAIRS,), generator=chance)]
        sides = [
            material.paired.score(side[few], material.vectors, lens)
            for side in (material.first, material.second)
        ]
        wins = torch.sign(material.votes[few]) * (sides[0] - sides[1])
        loss = (
            softplus(-STEEPNESS["rated"] * gains).mean()
            + PAIRED * softplus(-STEEPNESS["paired"] * wins).mean()
            + DECAY * (lens[0] @ lens[1].T).square().sum()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slower.step()
    return lens.detach()


def judge(material: Material, lens: torch.Tensor, third: int) -> tuple[float, int, int]:
    """Return Kendall's τ-b of the rated captions in that third, and its pairs won and in all."""
    rows = (material.rated_images == third) & (material.rated_captions == third)
    rated = material.rated.score(torch.tensor(np.flatnonzero(rows)), material.vectors, lens)
    tau = Correlation.build(rated.double().numpy(), material.ratings[rows].numpy())()["tau_b"]
    pairs = torch.tensor((material.paired_images == third) & (material.votes.numpy() != 0))
    one, other = (
        material.paired.score(side[pairs], material.vectors, lens)
        for side in (material.first, material.second)
    )
    won = int(((one - other) * material.votes[pairs] > 0).sum())
    return tau, won, int(pairs.sum())


def carry_over(material: Material) -> None:
    """Print how well a lens judges what it was not learnt from."""
    nothing = torch.zeros(2, material.vectors.shape[1], 1)
    found = []
    for third in range(THIRDS):
        others = (material.rated_images != third) & (material.rated_captions != third)
        lens = fit(
            material, np.flatnonzero(others), np.flatnonzero(material.paired_images != third)
        )
        found.append((judge(material, nothing, third), judge(material, lens, third)))
        print(f"third {third + 1} of {THIRDS} done", flush=True)
    for label, side in (("without", 0), ("through the lens", 1)):
        taus, won, pairs = zip(*(both[side] for both in found), strict=True)
        print(f"{label}: tau-b {np.mean(taus):.4f}, accuracy {sum(won) / sum(pairs):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder", help="minilm, mpnet, or the folder of a model")
    parser.add_argument("--data", type=Path, required=True, help="the folder of both data sets")
    parser.add_argument("--write", action="store_true", help="learn from all and write it")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    encoder = get_encoder(chosen.encoder, keep=True)
    material = Material.read(encoder, chosen.data)
    if not chosen.write:
        carry_over(material)
        return
    lens = fit(material, np.arange(len(material.ratings)), np.arange(len(material.votes)))
    name = encoder.name.removeprefix("folder:")
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}-{encoder.fingerprint}.npy"
    np.save(file, lens.numpy().astype(np.float16))
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
