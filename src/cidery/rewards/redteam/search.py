"""Search for captions with a high reward: hill climbing over words, and a blind policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import numpy as np

from cidery.rewards.advantages import leave_one_out
from cidery.statistics import Floats

Words: TypeAlias = tuple[str, ...]
Score: TypeAlias = Callable[[Sequence[int], Sequence[Words]], Floats]
"""Function from image indices and their captions to rewards."""
Distance: TypeAlias = Callable[[int, Words], float]
"""Function from an image index and its caption to a distance; 0: it is of the required kind."""
MAX_PIECE = 4


@dataclass(frozen=True)
class Best:
    """The best caption of an image so far."""

    words: Words
    score: float
    distance: float

    def loses_to(self, other: Best) -> bool:
        """Return True if another is nearer, or as near with at least the same score."""
        return (other.distance, -other.score) <= (self.distance, -self.score)


@dataclass(eq=False)
class HillClimb:
    """Hill climbing over the words of one caption per image, all images at once.

    A round tries `tries` random changes of each caption: insert an n-gram of a reference or a
    common word; delete, replace, swap, move or repeat words. The best caption is kept.
    """

    score: Score
    distance: Distance
    references: Sequence[Sequence[Words]]
    common: Sequence[str]
    """Words that are tried for all images."""
    tries: int
    max_words: int
    seed: int
    best: list[Best]

    @classmethod
    def start(
        cls,
        score: Score,
        distance: Distance,
        references: Sequence[Sequence[Words]],
        *,
        common: Sequence[str],
        tries: int,
        max_words: int,
        seed: int,
    ) -> HillClimb:
        """Start from the reference of each image with the highest reward."""
        flat = [(image, words) for image, group in enumerate(references) for words in group]
        values = score([image for image, _ in flat], [words for _, words in flat]).tolist()
        best: dict[int, Best] = {}
        for (image, words), value in zip(flat, values, strict=True):
            found = Best(words, value, distance(image, words))
            if image not in best or best[image].loses_to(found):
                best[image] = found
        first = [best[image] for image in range(len(references))]
        return cls(score, distance, references, common, tries, max_words, seed, first)

    def run(self, rounds: int) -> Iterator[int]:
        """Run rounds, and yield their number; `best` is updated after each."""
        rngs = [Random(f"{self.seed} {image}") for image in range(len(self.best))]
        pieces = [list_pieces(group) for group in self.references]
        for done in range(rounds):
            images, captions = [], []
            for image, (rng, own) in enumerate(zip(rngs, pieces, strict=True)):
                known = self.best[image].words
                for _ in range(self.tries):
                    changed = self._change(known, own, rng)
                    if changed != known:
                        images.append(image)
                        captions.append(changed)
            values = self.score(images, captions).tolist()
            for image, words, value in zip(images, captions, values, strict=True):
                far = self.distance(image, words)
                found = Best(words, value, far)
                if self.best[image].loses_to(found):
                    self.best[image] = found
            yield done + 1

    def _change(self, words: Words, pieces: Sequence[Words], rng: Random) -> Words:
        changed = change(words, self._draw(pieces, rng), rng)
        if rng.random() < 0.3:
            changed = change(changed, self._draw(pieces, rng), rng)
        return changed[: self.max_words] or words

    def _draw(self, pieces: Sequence[Words], rng: Random) -> Words:
        if self.common and rng.random() < 0.25:
            return (rng.choice(self.common),)
        return rng.choice(pieces)


def list_pieces(references: Sequence[Words]) -> list[Words]:
    """Return the words and n-grams of an image's references, in order, each once."""
    return list(
        dict.fromkeys(
            words[begin : begin + n]
            for words in references
            for n in range(1, MAX_PIECE + 1)
            for begin in range(len(words) - n + 1)
        )
    )


def change(words: Words, piece: Words, rng: Random) -> Words:
    """Change a caption at one random position."""
    kind = rng.randrange(6)
    at = rng.randrange(len(words) + 1)
    if kind == 0 or not words:
        return words[:at] + piece + words[at:]
    end = min(len(words), at + rng.randint(1, 3))
    if kind == 1:
        return words[:at] + words[end:]
    if kind == 2:
        return words[:at] + piece + words[at + 1 :]
    if kind == 3:
        return words[:at] + words[at:end] * 2 + words[end:]
    other = rng.randrange(len(words))
    if kind == 4:
        listed = list(words)
        first = min(at, len(words) - 1)
        listed[first], listed[other] = listed[other], listed[first]
        return tuple(listed)
    rest = words[:at] + words[end:]
    place = min(other, len(rest))
    return rest[:place] + words[at:end] + rest[place:]


def list_common(references: Sequence[Sequence[Words]], most: int) -> list[str]:
    """Return the words that occur in most images, by frequency, then alphabetically."""
    counts = Counter(word for group in references for word in {w for words in group for w in words})
    return sorted(counts, key=lambda word: (-counts[word], word))[:most]


@dataclass(eq=False)
class BlindPolicy:
    """One caption for all images: a policy without image input, trained by reinforcement.

    It has a distribution over words and the end token for each position, uniform at first.
    REINFORCE with a leave-one-out baseline (Kool et al. 2019) and Adam.
    """

    score: Score
    image_count: int
    words: Sequence[str]
    max_words: int
    seed: int
    samples: int = 32
    images: int = 32
    rate: float = 0.15

    def __post_init__(self) -> None:
        self._logits = np.zeros((self.max_words, len(self.words) + 1))
        self._rng = np.random.default_rng(self.seed)
        self._sampled: dict[Words, float] = {}

    def run(self, steps: int) -> Iterator[int]:
        """Train, and yield the number of each step."""
        mean, square = np.zeros_like(self._logits), np.zeros_like(self._logits)
        for step in range(1, steps + 1):
            gradient = self._estimate()
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.99 * square + 0.01 * gradient**2
            corrected = mean / (1 - 0.9**step), square / (1 - 0.99**step)
            self._logits += self.rate * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
            yield step

    def _estimate(self) -> Floats:
        chances = np.exp(self._logits - self._logits.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        draws = self._rng.random((self.samples, self.max_words, 1))
        chosen = (draws > np.cumsum(chances, axis=1)[None, :, :-1]).sum(axis=2)
        captions = [self._spell(row) for row in chosen]
        batch = self._rng.choice(
            self.image_count, min(self.images, self.image_count), replace=False
        )
        rewards = self._mean_rewards(batch.tolist(), captions)
        for words, value in zip(captions, rewards.tolist(), strict=True):
            self._sampled[words] = value
        advantages = leave_one_out(rewards, self.samples)
        # Positions after the end have no gradient.
        ends = chosen == len(self.words)
        made = np.cumsum(ends, axis=1) - ends == 0
        gradient = np.zeros_like(self._logits)
        weights = advantages[:, None] * made / self.samples
        places = np.broadcast_to(np.arange(self.max_words), chosen.shape)
        np.add.at(gradient, (places.ravel(), chosen.ravel()), weights.ravel())
        centered: Floats = gradient - weights.sum(axis=0)[:, None] * chances
        return centered

    def _mean_rewards(self, images: Sequence[int], captions: Sequence[Words]) -> Floats:
        pairs = [(image, words) for words in captions for image in images]
        values = self.score([image for image, _ in pairs], [words for _, words in pairs])
        means: Floats = values.reshape(len(captions), len(images)).mean(axis=1)
        return means

    def _spell(self, chosen: Sequence[int]) -> Words:
        words = []
        for word in chosen:
            if word == len(self.words):
                break
            words.append(self.words[word])
        return tuple(words)

    def find_best(self, most: int = 16) -> Words:
        """Return the caption with the highest mean reward: the most likely, or a sampled one."""
        tried = sorted(self._sampled, key=lambda words: (-self._sampled[words], words))[:most]
        captions = [self._spell(self._logits.argmax(axis=1).tolist()), *tried]
        means = self._mean_rewards(range(self.image_count), captions)
        return captions[int(means.argmax())]
