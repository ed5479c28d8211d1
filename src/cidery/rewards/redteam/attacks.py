"""red_team(): search for nonsense captions with a high reward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cidery.corpus import Corpus, ImageId, References
from cidery.diversity.kernels import choose_frequencies
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.metrics.base import Metric, find_frequencies
from cidery.rewards.redteam.nonsense import NONSENSE_KINDS, Nonsense, NonsenseKind
from cidery.rewards.redteam.results import ATTACKS, Attack, AttackName, RedTeam
from cidery.rewards.redteam.search import BlindPolicy, HillClimb, Words, list_common
from cidery.rewards.reward import Reward, RewardMetric
from cidery.runtime import (
    current_progress,
    ignore_progress,
    report_part,
    split_progress,
    use_progress,
)
from cidery.scoring.pipeline import FrequenciesLike, read_frequencies
from cidery.statistics import Floats
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer

HELD_OUT_METRICS = ("cider-r", "cider-d")
"""Candidates for the held-out metric: the first that is not part of the reward."""
COMMON_WORDS = 200
PREPARING = 0.1
"""Share of the duration for preparing rewards, for progress; the rest is for searches."""


@dataclass(frozen=True, eq=False)
class _Target:
    """Attacked images, their references and their held-out captions."""

    images: tuple[ImageId, ...]
    references: dict[ImageId, list[str]]
    """References of *all* images, without the held-out captions."""
    human: tuple[str, ...]
    words: Sequence[Sequence[Words]]
    """Tokens of the references of the attacked images, without the held-out captions."""
    human_words: Sequence[Words]
    nonsense: Nonsense
    common: Sequence[str]


def red_team(
    references: References,
    rewards: RewardMetric | Mapping[str, RewardMetric] | Sequence[RewardMetric] = "cider-d",
    *,
    attacks: Sequence[str] = ATTACKS,
    images: int = 50,
    rounds: int = 100,
    tries: int = 16,
    steps: int = 300,
    max_words: int = 40,
    held_out: RewardMetric | None = None,
    frequencies: FrequenciesLike | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    seed: int = 0,
    threads: int = 0,
) -> RedTeam:
    """Search for nonsense captions with a high reward.

    One reference of each image, drawn at random, is held out as the human caption; the reward uses
    the others. Hackability is the mean reward of the nonsense found, divided by the mean reward of
    the best captions of any kind: 0 where nonsense has no reward, 1 where the reward does not
    distinguish nonsense from captions.

    - `free` searches captions of any kind by hill climbing. It is always run.
    - `broken`, `repeated` and `scrambled` search nonsense of one kind only, see `Nonsense`.
    - `blind` trains a policy without image input: one caption for all images.

    Ctrl-C ends the search and returns the result so far, with `interrupted` set.

    ```py
    print(red_team(references, ["cider-d", {"cider-d": 1.0, "bleu-4": 0.5}]))
    ```

    Args:
        references: At least two captions for some of the images.
        rewards: One or several rewards, each as in `Reward`: a name, a metric, a function or a
            mix; or a mapping of labels to rewards.
        attacks: Names of the searches.
        images: Number of attacked images, drawn at random; all images count for frequencies.
        rounds: Rounds of hill climbing.
        tries: Changes of each caption that a round scores.
        steps: Training steps of the blind policy.
        max_words: Maximum length of a caption.
        held_out: Metric that the search does not optimize. Default: CIDEr-R, or CIDEr-D where the
            reward contains CIDEr-R.
        frequencies: As in `score`. Default: COCO's for English, else the references'.
        tokenizer: As in `score`.
        language: As in `score`.
        seed: Seed of all random choices.
        threads: 0 means one per core; results do not depend on it.
    """
    named = _name_rewards(rewards)
    _check(attacks, images=images, rounds=rounds, tries=tries, steps=steps, max_words=max_words)
    tokenize = choose_tokenizer(tokenizer, language)
    counts = read_frequencies(choose_frequencies(frequencies, tokenize))
    target = _choose_target(references, tokenize, counts, images, seed)
    build = partial(
        Reward, target.references, frequencies=counts, tokenizer=tokenize, language=language,
        threads=threads,
    )  # fmt: skip
    kinds = set(target.nonsense.kinds)
    wanted = {"free", *attacks}
    chosen = [
        name for name in ATTACKS if name in wanted and (name not in NONSENSE_KINDS or name in kinds)
    ]
    prepared = {}
    with report_part(0.0, PREPARING):
        for (label, metric), part in zip(
            named.items(), split_progress([1] * len(named)), strict=True
        ):
            with part:
                prepared[label] = build(metric), build(_choose_held_out(metric, held_out))
    found: list[Attack] = []
    interrupted = False
    total = len(prepared) * len(chosen)
    progress, done = current_progress(), 0
    for label, (reward, other) in prepared.items():
        free: list[Words] | None = None
        for name in chosen:
            if interrupted:
                break
            step = f"searching {name} captions for {label}"
            search = _Search(target, reward, name, seed, rounds, tries, steps, max_words)
            progress(step, PREPARING + (1 - PREPARING) * done / total)
            with use_progress(ignore_progress):  # rewards report their own work each time
                try:
                    for share in search.run():
                        progress(step, PREPARING + (1 - PREPARING) * (done + share) / total)
                except KeyboardInterrupt:
                    interrupted = True
                done += 1
                captions = search.find()
                if captions is not None:
                    free = captions if free is None else free
                    captioned = _Captions(captions, free, target.human_words)
                    found.append(
                        _measure(label, name, captioned, target, reward, other, search, seed)
                    )
    if not found:
        raise KeyboardInterrupt
    places = range(len(target.images))
    faults = target.nonsense.measure(places, target.human_words)
    return RedTeam(
        tuple(found),
        target.images,
        target.human,
        {name: float(values.mean()) for name, values in faults.items()},
        {
            f"{label} {part}": signature
            for label, (reward, _) in prepared.items()
            for part, signature in reward.signatures.items()
        },
        {
            "images": len(target.images),
            "rounds": rounds,
            "tries": tries,
            "steps": steps,
            "max_words": max_words,
            "seed": seed,
            "attacks": chosen,
        },
        interrupted,
    )


@dataclass(eq=False)
class _Search:
    """One attack on one reward."""

    target: _Target
    reward: Reward
    name: AttackName
    seed: int
    rounds: int
    tries: int
    steps: int
    max_words: int
    scored: int = 0
    _climb: HillClimb | None = None
    _policy: BlindPolicy | None = None

    def _score(self, images: Sequence[int], captions: Sequence[Words]) -> Floats:
        self.scored += len(captions)
        ids = [self.target.images[image] for image in images]
        return self.reward(ids, [list(words) for words in captions])

    def run(self) -> Iterator[float]:
        """Search, and yield the share that is done."""
        if self.name == "blind":
            lengths = [len(words) for words in self.target.human_words]
            longest = min(self.max_words, int(np.percentile(lengths, 90)) + 2)
            count = len(self.target.images)
            self._policy = BlindPolicy(self._score, count, self.target.common, longest, self.seed)
            for step in self._policy.run(self.steps):
                yield step / self.steps
            return
        kind: NonsenseKind | None = None if self.name == "free" else self.name
        self._climb = HillClimb.start(
            self._score,
            partial(self.target.nonsense.distance, kind),
            self.target.words,
            common=self.target.common,
            tries=self.tries,
            max_words=self.max_words,
            seed=self.seed,
        )
        for done in self._climb.run(self.rounds):
            yield done / self.rounds

    def find(self) -> list[Words] | None:
        """Return the best caption of each image; empty where no nonsense was found."""
        if self._policy is not None:
            return [self._policy.find_best()] * len(self.target.images)
        if self._climb is None:
            return None
        return [best.words if best.distance == 0 else () for best in self._climb.best]


@dataclass(frozen=True)
class _Captions:
    """Captions of each image: found, found without a rule, and human."""

    found: Sequence[Words]
    free: Sequence[Words]
    human: Sequence[Words]

    def score(self, reward: Reward, images: Sequence[ImageId]) -> tuple[Floats, Floats, Floats]:
        """Return the reward of each caption."""
        found, free, human = (
            reward(images, [list(words) for words in captions])
            for captions in (self.found, self.free, self.human)
        )
        return found, free, human


def _measure(
    label: str,
    name: AttackName,
    captions: _Captions,
    target: _Target,
    reward: Reward,
    held_out: Reward,
    search: _Search,
    seed: int,
) -> Attack:
    scores, free, human = captions.score(reward, target.images)
    held_out_scores, held_out_free, _ = captions.score(held_out, target.images)
    return Attack(
        label,
        name,
        tuple(map(" ".join, captions.found)),
        scores,
        free,
        human,
        held_out_scores,
        held_out_free,
        target.nonsense.measure(range(len(target.images)), captions.found),
        "+".join(held_out.weights),
        search.scored,
        seed,
    )


def _choose_target(
    references: References,
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
    count: int,
    seed: int,
) -> _Target:
    corpus = Corpus.from_references(references)
    bounds = corpus.reference_offsets.tolist()
    groups = {
        image: corpus.references[bounds[place] : bounds[place + 1]]
        for place, image in enumerate(corpus.images)
    }
    several = [image for image, group in groups.items() if len(group) > 1]
    if not several:
        raise InputError(
            "at least one image must have two references: one is held out as the human caption"
        )
    rng = np.random.default_rng(seed)
    places = sorted(rng.choice(len(several), min(count, len(several)), replace=False).tolist())
    chosen = tuple(several[place] for place in places)
    held_out = {image: int(rng.integers(len(groups[image]))) for image in chosen}
    remaining = {
        image: [c for place, c in enumerate(group) if place != held_out.get(image)]
        for image, group in groups.items()
    }
    human = tuple(groups[image][held_out[image]] for image in chosen)
    # One call, since a tokenizer may start a program.
    tokens = iter(tokenizer(list(corpus.references)).captions.tokens())
    by_image = {image: [tuple(next(tokens)) for _ in group] for image, group in groups.items()}
    words = [
        [w for place, w in enumerate(by_image[image]) if w and place != held_out[image]]
        for image in chosen
    ]
    empty = [image for image, group in zip(chosen, words, strict=True) if not group]
    if empty:
        raise InputError(f"image {empty[0]!r}: all references are empty")
    known = None if frequencies == "references" else find_frequencies(frequencies, None)
    everything = list(by_image.values())
    order = [*chosen, *(image for image in groups if image not in held_out)]
    return _Target(
        chosen,
        remaining,
        human,
        words,
        [by_image[image][held_out[image]] for image in chosen],
        Nonsense([by_image[image] for image in order], known),
        list_common(everything, COMMON_WORDS),
    )


def _name_rewards(rewards: Any) -> dict[str, RewardMetric]:
    """Return rewards by label."""
    listed: list[Any] = [rewards]
    if isinstance(rewards, Mapping):
        if not all(isinstance(weight, int | float | np.floating) for weight in rewards.values()):
            return dict(rewards)
    elif isinstance(rewards, list | tuple):
        listed = list(rewards)
    if not listed:
        raise SettingError("rewards must contain at least one reward")
    named = {_name(metric): metric for metric in listed}
    if len(named) < len(listed):
        raise SettingError("rewards contains the same reward twice")
    return named


def _name(metric: RewardMetric) -> str:
    if isinstance(metric, Mapping):
        terms = [
            _name(part) if weight == 1 else f"{weight:g}*{_name(part)}"
            for part, weight in metric.items()
        ]
        return " + ".join(terms)
    if isinstance(metric, str):
        return metric
    if isinstance(metric, Metric):
        return metric.name
    name: str = getattr(metric, "__name__", type(metric).__name__)
    return name


def _choose_held_out(metric: RewardMetric, held_out: RewardMetric | None) -> RewardMetric:
    if held_out is not None:
        return held_out
    parts = list(metric) if isinstance(metric, Mapping) else [metric]
    names = {_name(part) for part in parts}
    return next((name for name in HELD_OUT_METRICS if name not in names), HELD_OUT_METRICS[0])


def _check(attacks: Sequence[str], **counts: int) -> None:
    unknown = [name for name in attacks if name not in ATTACKS]
    if unknown or not attacks:
        shown = repr(unknown[0]) if unknown else "none"
        raise SettingError(f"attacks must be some of {', '.join(ATTACKS)}, not {shown}")
    for name, count in counts.items():
        if count < 1:
            raise SettingError(f"{name} must be at least 1, not {count}")
