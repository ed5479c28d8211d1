"""Train a small captioner with cross-entropy, then self-critically with CIDEr-D and with CIDEr-R.

    pip install 'cidery[train]'
    python examples/self_critical.py            # three seeds; under two minutes on two cores

Santos, Colombini and Avila (2021) say that optimising CIDEr-D on long, uneven references makes a
model repeat words to reach the references' length, and that CIDEr-R does so less. This prints what
happens here: for each seed and way of training, on held-out scenes, how long the greedy captions
are, how many of their words are repetitions beyond the reference's, how many different bigrams
sampled captions have, and scores. The last lines say whether the claim shows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from scenes import FEATURES, Scene, make_scenes
from torch import Tensor, nn

import cidery
from cidery.rewards import leave_one_out, mix_losses, per_token, self_critical

PAD, BOS, EOS = 0, 1, 2
WAYS = ("cross-entropy", "cider-d", "cider-r")


@dataclass(frozen=True)
class Settings:
    """How much is trained."""

    scenes: int = 800
    held_out: int = 200
    hidden: int = 64
    batch: int = 40
    epochs: int = 14
    images: int = 16
    """For each step of reward training, with `samples` captions each."""
    samples: int = 4
    steps: int = 120
    most_words: int = 64
    cross_entropy_rate: float = 4e-3
    reward_rate: float = 1e-3
    baseline: str = "others"
    """What a sample's reward is compared with: the `greedy` caption's, or the `others`' mean."""
    reward_weight: float = 0.0
    """λ of cross-entropy + λ · policy loss; 0 trains with the reward alone."""


QUICK = Settings(scenes=120, held_out=40, hidden=48, epochs=4, steps=4, most_words=48)


@dataclass(frozen=True)
class Data:
    """Scenes, with all that is counted on the training references alone."""

    train: dict[str, Scene]
    test: dict[str, Scene]
    vocabulary: list[str]
    frequencies: cidery.DocumentFrequencies

    @classmethod
    def make(cls, settings: Settings) -> Data:
        """Make training and held-out scenes; every seed of training sees the same ones."""
        train, test = make_scenes(settings.scenes, 1), make_scenes(settings.held_out, 2)
        words = sorted({w for scene in train.values() for w in scene.reference.split()})
        frequencies = cidery.DocumentFrequencies.from_references(
            {image: [scene.reference] for image, scene in train.items()}, tokenizer="whitespace"
        )
        return cls(train, test, ["<pad>", "<bos>", "<eos>", *words], frequencies)

    def tokens(self, most: int) -> Tensor:
        """Return int64[scenes, most + 2]: the references, between begin and end."""
        ids = {word: token for token, word in enumerate(self.vocabulary)}
        rows = torch.full((len(self.train), most + 2), PAD)
        for row, scene in zip(rows, self.train.values(), strict=True):
            words = [ids[word] for word in scene.reference.split()[:most]]
            row[: len(words) + 2] = torch.tensor([BOS, *words, EOS])
        return rows


class Captioner(nn.Module):
    """A recurrent network that reads a scene's features at every step."""

    def __init__(self, words: int, hidden: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, hidden)
        self.see = nn.Linear(FEATURES, hidden)
        self.cell = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.speak = nn.Linear(hidden, words)

    def forward(self, features: Tensor, tokens: Tensor) -> Tensor:
        """Return log-probabilities of what follows each token: [captions, tokens, words]."""
        seen = torch.tanh(self.see(features))
        every = seen[:, None].expand(-1, tokens.shape[1], -1)
        states, _ = self.cell(torch.cat([self.embed(tokens), every], 2), seen[None].contiguous())
        return self.speak(states).log_softmax(-1)

    @torch.no_grad()
    def write(self, features: Tensor, most: int, generator: torch.Generator | None) -> Tensor:
        """Return int64[captions, most]: sampled tokens, or, without a generator, the likeliest."""
        seen = torch.tanh(self.see(features))
        state = seen[None].contiguous()
        token = torch.full((len(features), 1), BOS)
        done = torch.zeros(len(features), dtype=torch.bool)
        written = torch.full((len(features), most), PAD)
        for position in range(most):
            step = torch.cat([self.embed(token), seen[:, None]], 2)
            states, state = self.cell(step, state)
            scores = self.speak(states[:, 0])
            if generator is None:
                token = scores.argmax(1, keepdim=True)
            else:
                token = scores.softmax(1).multinomial(1, generator=generator)
            written[:, position] = torch.where(done, PAD, token[:, 0])
            done |= token[:, 0] == EOS
            if done.all():
                break
        return written


def cross_entropy(model: Captioner, features: Tensor, tokens: Tensor) -> Tensor:
    """Return the mean negative log-probability of the references' tokens."""
    expected = tokens[:, 1:]
    chosen = model(features, tokens[:, :-1]).gather(2, expected[:, :, None])[:, :, 0]
    return -chosen[expected != PAD].mean()


def policy_loss(model: Captioner, features: Tensor, written: Tensor, weights: Tensor) -> Tensor:
    """Return -Σ advantage · log-probability over the tokens that the model chose."""
    before = torch.cat([torch.full((len(written), 1), BOS), written[:, :-1]], 1)
    chosen = model(features, before).gather(2, written[:, :, None])[:, :, 0]
    return -(weights * chosen).sum() / (weights != 0).sum().clamp(min=1)


def train_with_references(model: Captioner, data: Data, settings: Settings, seed: int) -> None:
    """Minimise cross-entropy."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.tensor([scene.features for scene in data.train.values()])
    tokens = data.tokens(settings.most_words)
    optimizer = torch.optim.Adam(model.parameters(), settings.cross_entropy_rate)
    for _ in range(settings.epochs):
        for rows in torch.randperm(len(features), generator=generator).split(settings.batch):
            optimizer.zero_grad()
            cross_entropy(model, features[rows], tokens[rows]).backward()
            optimizer.step()


def train_with_reward(
    model: Captioner, data: Data, metric: str, settings: Settings, seed: int
) -> None:
    """Maximise a reward by self-critical sequence training.

    The baseline is the model's own: its greedy caption (Rennie et al. 2017), or, with several
    samples per image, the mean of the others, which needs no second decoding and varies less.
    """
    generator = torch.Generator().manual_seed(seed)
    reward = cidery.Reward(
        {image: [scene.reference] for image, scene in data.train.items()},
        metric,
        frequencies=data.frequencies,
        tokenizer="whitespace",
        vocabulary=data.vocabulary,
        pad=PAD,
        bos=BOS,
        eos=EOS,
    )
    images = np.array(list(data.train))
    features = torch.tensor([scene.features for scene in data.train.values()])
    tokens = data.tokens(settings.most_words)
    optimizer = torch.optim.Adam(model.parameters(), settings.reward_rate)
    for _ in range(settings.steps):
        rows = torch.randint(len(images), (settings.images,), generator=generator)
        repeated = rows.repeat_interleave(settings.samples)
        sampled = model.write(features[repeated], settings.most_words, generator)
        rewards = reward(images[repeated].tolist(), sampled)
        if settings.baseline == "greedy":
            greedy = model.write(features[rows], settings.most_words, None)
            advantages = self_critical(rewards, reward(images[rows].tolist(), greedy))
        else:
            advantages = leave_one_out(rewards, settings.samples)
        weights = torch.tensor(per_token(advantages, reward.mask(sampled)), dtype=torch.float32)
        loss = policy_loss(model, features[repeated], sampled, weights)
        if settings.reward_weight > 0:
            known = cross_entropy(model, features[rows], tokens[rows])
            loss = mix_losses(known, loss, settings.reward_weight)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def spell(written: Tensor, vocabulary: list[str]) -> list[list[str]]:
    """Return rows of token ids as words."""
    captions = []
    for row in written.tolist():
        end = row.index(EOS) if EOS in row else len(row)
        captions.append([vocabulary[token] for token in row[:end] if token not in (PAD, BOS)])
    return captions


def repeated_share(captions: list[list[str]], references: list[list[str]]) -> float:
    """Return the share of words that the caption has already used oftener than its reference does.

    Long references repeat `a` and `the` themselves; only what goes beyond them counts.
    """
    excess = words = 0
    for caption, reference in zip(captions, references, strict=True):
        allowed = Counter(reference)
        excess += sum(
            n - max(1, allowed[w]) for w, n in Counter(caption).items() if n > max(1, allowed[w])
        )
        words += len(caption)
    return excess / max(1, words)


def distinct_bigrams(captions: list[list[str]]) -> float:
    """Return different bigrams per bigram, over all captions."""
    bigrams = [pair for caption in captions for pair in pairwise(caption)]
    return len(set(bigrams)) / max(1, len(bigrams))


def evaluate(model: Captioner, data: Data, settings: Settings, seed: int) -> dict[str, float]:
    """Return what is printed, on the held-out scenes."""
    features = torch.tensor([scene.features for scene in data.test.values()])
    greedy = spell(model.write(features, settings.most_words, None), data.vocabulary)
    generator = torch.Generator().manual_seed(seed)
    sampled = spell(model.write(features, settings.most_words, generator), data.vocabulary)
    references = [scene.reference.split() for scene in data.test.values()]
    table = cidery.score(
        {image: " ".join(words) for image, words in zip(data.test, greedy, strict=True)},
        {image: [scene.reference] for image, scene in data.test.items()},
        metrics=["cider-d", "cider-r", "bleu-4"],
        tokenizer="whitespace",
        frequencies=data.frequencies,
    )
    return {
        "repetition": repeated_share(greedy, references),
        "length": statistics.mean(map(len, greedy)),
        "too long/short": statistics.mean(
            abs(len(c) - len(r)) for c, r in zip(greedy, references, strict=True)
        ),
        "diversity": distinct_bigrams(sampled),
        **table.corpus,
    }


def train_all(data: Data, settings: Settings, seed: int) -> dict[str, dict[str, float]]:
    """Return the figures of each way of training; both rewards start from the same model."""
    torch.manual_seed(seed)
    model = Captioner(len(data.vocabulary), settings.hidden)
    train_with_references(model, data, settings, seed)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    figures = {WAYS[0]: evaluate(model, data, settings, seed)}
    for metric in WAYS[1:]:
        model.load_state_dict(start)
        train_with_reward(model, data, metric, settings, seed)
        figures[metric] = evaluate(model, data, settings, seed)
    return figures


def verdict(results: list[dict[str, dict[str, float]]]) -> list[str]:
    """Count the seeds in which rewards rise, and in which the paper's claim shows."""
    repeated = [{way: figures[way]["repetition"] for way in WAYS} for figures in results]
    more = sum(r["cider-d"] > r["cross-entropy"] for r in repeated)
    less = sum(r["cider-r"] < r["cider-d"] for r in repeated)
    seeds = len(results)
    shows = "shows" if more == less == seeds else "does not show"
    rises = [
        f"optimising {metric} raises it on held-out scenes in "
        f"{sum(r[metric][metric] > r[WAYS[0]][metric] for r in results)} of {seeds} seeds"
        for metric in WAYS[1:]
    ]
    return [
        *rises,
        f"optimising CIDEr-D repeats more than cross-entropy in {more} of {seeds} seeds",
        f"optimising CIDEr-R repeats less than CIDEr-D in {less} of {seeds} seeds",
        f"the paper's claim {shows} in all seeds of this run",
    ]


def print_rows(label: str, figures: dict[str, dict[str, float]]) -> None:
    """Print one line per way of training."""
    for way, values in figures.items():
        print(f"{label:>5}  {way:14}" + "".join(f"{value:16.4f}" for value in values.values()))


def main() -> None:
    """Train over several seeds and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see it run")
    parser.add_argument(
        "--baseline",
        choices=("greedy", "others"),
        default="others",
        help="compare samples with the greedy caption (Rennie et al. 2017) or with each other",
    )
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    arguments = parser.parse_args()
    settings = replace(QUICK if arguments.quick else Settings(), baseline=arguments.baseline)
    torch.set_num_threads(1)  # a step is too small to share out

    started = time.perf_counter()
    data = Data.make(settings)
    lengths = [len(scene.reference.split()) for scene in data.train.values()]
    print(
        f"{len(lengths)} scenes with one reference each of {statistics.mean(lengths):.1f} words on "
        f"average, standard deviation {statistics.stdev(lengths):.1f}"
    )
    results = []
    for seed in range(arguments.seeds):
        figures = train_all(data, settings, seed)
        if not results:
            print(" seed  trained with  " + "".join(f"{n:>16}" for n in figures[WAYS[0]]))
        print_rows(str(seed), figures)
        results.append(figures)
    names = results[0][WAYS[0]]
    print_rows(
        "mean",
        {
            way: {name: statistics.mean(r[way][name] for r in results) for name in names}
            for way in WAYS
        },
    )
    print("\n".join(verdict(results)))
    print(f"{time.perf_counter() - started:.0f} seconds")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
