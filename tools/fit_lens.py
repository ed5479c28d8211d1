"""Learn a lens: how an encoder's vectors must change for their cosines to follow people.

    python tools/fit_lens.py minilm --data FOLDER             how well it carries over
    python tools/fit_lens.py minilm --data FOLDER --write     the lens itself, into the package

It learns from Flickr8k-CF, without the pairs of an image and a caption that Flickr8k-Expert judges
too, and from the half of PASCAL-50S whose images' names have an even SHA-256. MPNet's learns
from the half of THumB, too, whose images' names have an even first byte of it. `--sets` chooses,
also the halves of AudioCaps-Eval and Clotho-Eval whose sounds' first reference by the alphabet has
one. A caption's score is the soft maximum of its cosines with the references. Of two rated
captions the one that people rate higher is to score higher, whatever their images (a smooth
Kendall's τ); of a pair the winner.

To see how well it carries over, it is learned from judgments on two thirds of the images, of
Flickr8k-CF also two thirds of the captions, and judged by those on the last thirds, three times. A
judged caption may still have been seen as somebody's reference. The benchmark `consensus_lenses`
judges consensus itself in this way. Needs torch.
"""

import argparse
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import normalize, softplus

from cidery.encoders import Encoder, get_encoder
from cidery.encoders.lens import FOLDER
from cidery.meta import Pairs, Ratings, read_dataset
from cidery.meta.judgments import JudgedCaptions
from cidery.meta.protocols.base import get_main_votes
from cidery.statistics import Correlation

RANK = 32
STEPS = 150
RATE = 3e-3
DECAY = 1e-2
"""The weight of the change's squares."""
SOFTNESS = 8.0
"""The higher, the nearer the soft maximum is to the nearest reference."""
STEEPNESS = {"rated": 10.0, "paired": 20.0}
"""The higher, the smaller a difference of scores counts as an order."""
WEIGHTS = {  # in the order in which they are read
    "flickr8k-cf": 1.0,
    "pascal-50s": 0.6,
    "thumb": 0.5,
    "audiocaps-eval": 0.3,
    "clotho-eval": 0.3,
}
LEARNED = {"minilm": ("flickr8k-cf", "pascal-50s"), "mpnet": ("flickr8k-cf", "pascal-50s", "thumb")}
"""What the shipped lenses were learned from."""
BATCHES = {"flickr8k-cf": 1024}
"""How many captions or pairs are drawn for a step."""
BATCH = 256
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
class Lesson:
    """The judgments of one set."""

    name: str
    judged: Judged
    rows: tuple[torch.Tensor, ...]
    """One, int[judgments], of rated captions; the first and the second of pairs."""
    goals: torch.Tensor
    """[judgments]: ratings, or votes for the first minus those for the second."""
    images: np.ndarray
    """int[judgments]: the third that the image belongs to."""
    captions: np.ndarray
    """int[judgments]: the third of the caption; of pairs, that of their image."""

    @classmethod
    def read(cls, found: Ratings | Pairs, places: dict[str, int]) -> "Lesson":
        judged = Judged.place(found.judged, places)
        thirds = np.array([number(str(i), THIRDS) for i in found.judged.image_of_caption])
        if isinstance(found, Pairs):
            votes = torch.tensor(get_main_votes(found))
            sides = (torch.tensor(found.first), torch.tensor(found.second))
            images = thirds[found.first]
            return cls(found.name, judged, sides, votes, images, images)
        captions = thirds  # THumB's captions are of one image each
        if found.name == "flickr8k-cf":
            names = [min(found.judged.references[d]) for d in found.judged.documents]
            thirds = np.array([number(name, THIRDS) for name in names])
            captions = np.array([number(text, THIRDS) for text in found.judged.captions])
        rows, ratings = (torch.tensor(found.rows),), torch.tensor(found.ratings)
        return cls(found.name, judged, rows, ratings, thirds[found.rows], captions[found.rows])

    def choose(self, kept: np.ndarray) -> torch.Tensor:
        """Return the places of those judgments; ties of pairs teach nothing."""
        if len(self.rows) == 2:
            kept = kept & (self.goals.numpy() != 0)
        return torch.tensor(np.flatnonzero(kept))

    def score(self, some: torch.Tensor, vectors: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        """Return scores of captions, or the first's of a pair minus the second's."""
        scores = [self.judged.score(rows[some], vectors, lens) for rows in self.rows]
        return scores[0] - scores[1] if len(scores) == 2 else scores[0]

    def cost(self, some: torch.Tensor, vectors: torch.Tensor, lens: torch.Tensor) -> torch.Tensor:
        """Return how far scores are from people's order."""
        scores, goals = self.score(some, vectors, lens), self.goals[some]
        if len(self.rows) == 2:
            return softplus(-STEEPNESS["paired"] * torch.sign(goals) * scores).mean()
        gains = (scores[:, None] - scores)[goals[:, None] > goals]
        return softplus(-STEEPNESS["rated"] * gains).mean()

    def judge(self, some: torch.Tensor, vectors: torch.Tensor, lens: torch.Tensor) -> float:
        """Return Kendall's τ-b with ratings, or the share of pairs won."""
        scores, goals = self.score(some, vectors, lens), self.goals[some]
        if len(self.rows) == 2:
            return float((scores * goals > 0).double().mean())
        return Correlation.build(scores.double().numpy(), goals.numpy())()["tau_b"]


def read_lessons(
    encoder: Encoder, folder: Path, names: Collection[str]
) -> tuple[torch.Tensor, list[Lesson]]:
    """Return the vectors of all captions, and the judgments of those sets."""
    places: dict[str, int] = {}
    lessons = [Lesson.read(READERS[name](folder), places) for name in WEIGHTS if name in names]
    return torch.tensor(encoder.embed(list(places))), lessons


def read_crowd(folder: Path) -> Ratings:
    """Return Flickr8k-CF without what Flickr8k-Expert judges too."""
    crowd = read_dataset("flickr8k-cf", folder)
    expert = read_dataset("flickr8k-expert", folder)
    assert isinstance(crowd, Ratings)
    assert isinstance(expert, Ratings)
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


def read_thumb(folder: Path) -> Ratings:
    """Return the half of THumB that choices are made on."""
    thumb = read_dataset("thumb", folder)
    assert isinstance(thumb, Ratings)
    is_even = np.array([is_first_byte_even(name) for name in thumb.judged.names])
    return thumb.take_captions(np.flatnonzero(is_even[thumb.judged.image_of_caption]))


def read_sounds(name: str, folder: Path) -> Pairs:
    """Return the half of a set of sounds that choices are made on."""
    pairs = read_dataset(name, folder)
    assert isinstance(pairs, Pairs)
    # A sound's name is its references, one in a line.
    names = [min(sound.split("\n")) for sound in pairs.judged.names]
    is_even = np.array([is_first_byte_even(text) for text in names])
    return pairs.take(np.flatnonzero(is_even[pairs.judged.image_of_caption[pairs.first]]))


def is_first_byte_even(text: str) -> bool:
    return sha256(text.encode()).digest()[0] % 2 == 0


READERS: dict[str, Callable[[Path], Ratings | Pairs]] = {
    "flickr8k-cf": read_crowd,
    "pascal-50s": read_pairs,
    "thumb": read_thumb,
    "audiocaps-eval": partial(read_sounds, "audiocaps-eval"),
    "clotho-eval": partial(read_sounds, "clotho-eval"),
}


def fit(
    vectors: torch.Tensor, lessons: list[Lesson], left_out: int | None = None, seed: int = 0
) -> torch.Tensor:
    """Return float32[2, width, rank], learned from all but one third of images and captions."""
    chance = torch.Generator().manual_seed(seed)
    lens = (0.01 * torch.randn(2, vectors.shape[1], RANK, generator=chance)).requires_grad_()
    optimizer = torch.optim.Adam([lens], lr=RATE)
    slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, STEPS)
    known = [one.choose((one.images != left_out) & (one.captions != left_out)) for one in lessons]
    for _ in range(STEPS):
        costs = []
        for lesson, places in zip(lessons, known, strict=True):
            count = BATCHES.get(lesson.name, BATCH)
            some = places[torch.randint(len(places), (count,), generator=chance)]
            costs.append(WEIGHTS[lesson.name] * lesson.cost(some, vectors, lens))
        loss = sum(costs) + DECAY * (lens[0] @ lens[1].T).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slower.step()
    return lens.detach()


def carry_over(vectors: torch.Tensor, lessons: list[Lesson]) -> None:
    """Print how well a lens judges what it was not learned from, beside none at all."""
    nothing = torch.zeros(2, vectors.shape[1], 1)
    found = np.zeros((THIRDS, 2, len(lessons)))
    for third in range(THIRDS):
        lens = fit(vectors, lessons, left_out=third)
        for place, lesson in enumerate(lessons):
            some = lesson.choose((lesson.images == third) & (lesson.captions == third))
            found[third, :, place] = [lesson.judge(some, vectors, a) for a in (nothing, lens)]
        print(f"third {third + 1} of {THIRDS} done", flush=True)
    for lesson, (without, through) in zip(lessons, found.mean(axis=0).T, strict=True):
        print(f"{lesson.name:15} without {without:.4f}, through the lens {through:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoder", help="minilm, mpnet, or the folder of a model")
    parser.add_argument("--data", type=Path, required=True, help="the folder of all data sets")
    parser.add_argument(
        "--sets", nargs="+", choices=WEIGHTS, help="what to learn from; default: as the shipped one"
    )
    parser.add_argument("--write", action="store_true", help="learn from all and write it")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    encoder = get_encoder(chosen.encoder, keep=True)
    names = chosen.sets or LEARNED.get(chosen.encoder, LEARNED["minilm"])
    vectors, lessons = read_lessons(encoder, chosen.data, names)
    if not chosen.write:
        carry_over(vectors, lessons)
        return
    lens = fit(vectors, lessons)
    name = encoder.name.removeprefix("folder:")
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}-{encoder.fingerprint}.npy"
    np.save(file, lens.numpy().astype(np.float16))
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
