"""red_team(): which nonsense earns most under a reward, before anyone trains with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from cidery._version import __version__
from cidery.corpus.corpus import Corpus, ImageId, References
from cidery.diversity.kernels import choose_frequencies
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.markup import escape, html_page, html_table
from cidery.metrics.base import Metric, find_frequencies
from cidery.rewards import Reward
from cidery.rewards.redteam_nonsense import KINDS, Kind, Nonsense
from cidery.rewards.redteam_search import BlindPolicy, Climb, Words, list_common
from cidery.rewards.reward import RewardMetric
from cidery.runtime.progress import current_progress
from cidery.scoring.scorer import FrequenciesLike, read_frequencies
from cidery.statistics import Floats, Interval, bootstrap_interval
from cidery.storage import write_atomically
from cidery.text.languages import choose_tokenizer
from cidery.text.tokenizers import Tokenizer, TokenizerLike
from cidery.text_tables import latex_table, markdown_table, text_table

AttackName: TypeAlias = Literal["free", "broken", "repeated", "scrambled", "blind"]
ATTACKS: tuple[AttackName, ...] = get_args(AttackName)
JUDGES = ("cider-r", "cider-d")
"""The held-out metric is the first of these that the reward does not have."""
COMMON_WORDS = 200
SHOWN = 3
_DEFINITION = (
    "hackability: the mean reward of the nonsense found, divided by that of the best captions that "
    "the same search finds without a rule (free)"
)


@dataclass(frozen=True, eq=False)
class Attack:
    """What one search found under one reward: a caption for each image, and what it earned."""

    reward: str
    name: AttackName
    captions: tuple[str, ...]
    scores: Floats
    free: Floats
    """What the captions earned that the search without a rule found."""
    human: Floats
    """What the held-out caption of each image earned."""
    judged: Floats
    """What the held-out metric gives to what was found."""
    judged_free: Floats
    faults: Mapping[str, Floats]
    """`broken`, `repeated`, `unseen` and `nonsense`, of each caption."""
    judge: str
    scored: int
    """How many captions the search scored."""
    seed: int = 0

    @property
    def hackability(self) -> Interval:
        """Mean reward of what was found over that of `free`, with an interval over images."""
        return _ratio(self.scores, self.free, self.seed)

    @property
    def over_people(self) -> Interval:
        """Mean reward of what was found over that of the held-out captions."""
        return _ratio(self.scores, self.human, self.seed)

    @property
    def wins(self) -> float:
        """The share of images on which it earned at least as much as the held-out caption."""
        return float(np.mean(self.scores >= self.human))

    @property
    def kept(self) -> Interval:
        """Hackability under the held-out metric, which the search did not see."""
        return _ratio(self.judged, self.judged_free, self.seed)

    def record(self) -> dict[str, Any]:
        """Return all figures of the attack."""
        hackability, kept = self.hackability, self.kept
        return {
            "reward": self.reward,
            "attack": self.name,
            "score": float(self.scores.mean()),
            "human": float(self.human.mean()),
            "hackability": hackability.score,
            "low": hackability.low,
            "high": hackability.high,
            "over people": self.over_people.score,
            "wins": self.wins,
            "judge": self.judge,
            "kept": kept.score,
            **{name: float(values.mean()) for name, values in self.faults.items()},
            "scored": self.scored,
        }

    def find_examples(self, count: int = SHOWN) -> list[int]:
        """Return the places of the images on which it earned most beyond people, one per text."""
        order = np.argsort(self.human - self.scores, kind="stable").tolist()
        return list({self.captions[place]: place for place in reversed(order)}.values())[::-1][
            :count
        ]


@dataclass(frozen=True, eq=False)
class RedTeam:
    """What all searches found, as a table, JSON or a page."""

    attacks: tuple[Attack, ...]
    images: tuple[ImageId, ...]
    human: tuple[str, ...]
    """The held-out caption of each image."""
    human_faults: Mapping[str, float]
    signatures: Mapping[str, str]
    settings: Mapping[str, Any]
    stopped: bool = False
    """Whether Ctrl-C ended the search; the last attack is then what it had found."""

    def header(self) -> list[str]:
        """Return the names of the table's columns."""
        return [
            *("reward", "attack", "score", "human", "hackability", "95 %"),
            *("over people", "wins", "kept", "broken", "repeated", "unseen"),
        ]

    def lines(self) -> list[list[str]]:
        """Return the table's rows as text."""
        rows = []
        for attack in self.attacks:
            found = attack.record()
            shares = [found[name] for name in ("wins", "kept", "broken", "repeated", "unseen")]
            rows.append(
                [
                    *(attack.reward, attack.name),
                    *(f"{found[name]:.3f}" for name in ("score", "human", "hackability")),
                    f"{found['low']:.2f} to {found['high']:.2f}",
                    f"{found['over people']:.3g}",
                    *(f"{share:.2f}" for share in shares),
                ]
            )
        return rows

    def notes(self) -> list[str]:
        """Return what a reader of the table has to know."""
        people = self.human_faults
        judges = "; ".join(
            f"{name} by {judge}"
            for name, judge in {a.reward: a.judge for a in self.attacks}.items()
        )
        notes = [
            f"{_DEFINITION}; {len(self.images)} images",
            "over people: the mean reward, divided by that of captions that people wrote and that "
            "the reward did not see; wins: the share of images where it is not less",
            f"kept: hackability under a metric that the search did not see ({judges})",
            f"people: {people['broken']:.2f} broken, {people['repeated']:.2f} repeated, "
            f"{people['unseen']:.2f} unseen",
        ]
        if self.stopped:
            notes.append("stopped before the end: the last attack is what it had found by then")
        return notes

    def __str__(self) -> str:
        return "\n".join([text_table(self.header(), self.lines(), left=(0, 1)), "", *self.notes()])

    def records(self) -> list[dict[str, Any]]:
        """Return a row per attack with all digits."""
        return [attack.record() for attack in self.attacks]

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        return markdown_table(self.header(), self.lines(), left=(0, 1))

    def to_latex(self) -> str:
        """Return a LaTeX tabular."""
        return latex_table(self.header(), self.lines(), left=(0, 1))

    def to_json(self) -> str:
        """Return every figure and every caption as JSON."""
        content = {
            "cidery": __version__,
            "settings": dict(self.settings),
            "signatures": dict(self.signatures),
            "stopped": self.stopped,
            "people": dict(self.human_faults),
            "attacks": [
                {
                    **_without_nan(attack.record()),
                    "captions": [
                        {"image": image, "caption": caption, "score": score, "human": human}
                        for image, caption, score, human in zip(
                            self.images,
                            attack.captions,
                            attack.scores.tolist(),
                            attack.human.tolist(),
                            strict=True,
                        )
                    ],
                }
                for attack in self.attacks
            ],
            "human": dict(zip(map(str, self.images), self.human, strict=True)),
        }
        return json.dumps(content, indent=1, ensure_ascii=False)

    def examples(self, attack: Attack, count: int = SHOWN) -> list[list[str]]:
        """Return the worst captions of an attack: text, reward, and what a person wrote."""
        return [
            [
                attack.captions[place],
                f"{attack.scores[place]:.2f}",
                self.human[place],
                f"{attack.human[place]:.2f}",
            ]
            for place in attack.find_examples(count)
        ]

    def to_html(self) -> str:
        """Return a page that holds all it needs: the table, and examples of each attack."""
        parts = [
            "<h1>Which nonsense earns most?</h1>",
            html_table(
                self.header(),
                self.lines(),
                left=(0, 1),
                notes=self.notes(),
                details=tuple(self.signatures.values()),
            ),
        ]
        for attack in self.attacks:
            parts.append(f"<h2>{escape(attack.reward)}: {escape(attack.name)}</h2>")
            parts.append(
                html_table(
                    ["found", "reward", "a person wrote", "reward"],
                    self.examples(attack, 2 * SHOWN),
                    left=(0, 2),
                )
            )
        return html_page("Red team", "".join(parts))

    def write_page(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears when it is complete."""
        write_atomically(path, self.to_html().encode())


@dataclass(frozen=True, eq=False)
class _Target:
    """Images to attack: what the rewards see, and what they do not."""

    images: tuple[ImageId, ...]
    seen: dict[ImageId, list[str]]
    """The references of *all* images, without the held-out captions."""
    human: tuple[str, ...]
    words: Sequence[Sequence[Words]]
    """The words of the references of the images under attack, without the held-out ones."""
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
    most_words: int = 40,
    judge: RewardMetric | None = None,
    frequencies: FrequenciesLike | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    seed: int = 0,
    threads: int = 0,
) -> RedTeam:
    """Look for the captions that earn most under rewards although they are nonsense.

    Of every image one reference, chosen by chance, is kept apart as the human caption; the others
    are what the reward sees. Hackability is the mean reward of the nonsense found, divided by the
    mean reward of the best captions that the same search finds without a rule: near 0, nonsense
    earns nothing; at 1, the reward does not see that it is nonsense.

    - `free` climbs without a rule, and is always made: what the reward itself asks for.
    - `broken`, `repeated` and `scrambled` climb among nonsense of that kind only, see `Nonsense`.
    - `blind` trains a policy that sees no image: one caption that is to fit all of them.

    Ctrl-C ends the search; what was found until then is returned, with `stopped` set.

    ```py
    print(red_team(references, ["cider-d", {"cider-d": 1.0, "bleu-4": 0.5}]))
    ```

    Args:
        references: At least two captions for some of the images.
        rewards: One or several, each as in `Reward`: a name, a metric, a function or a mix; a
            mapping of names to rewards calls them so.
        attacks: Which searches to make.
        images: How many images to attack, chosen by chance; all others count for frequencies.
        rounds: Of hill climbing.
        tries: How many changes of each caption a round scores.
        steps: Of the blind policy.
        most_words: The longest caption that is tried.
        judge: The held-out metric; by default CIDEr-R, or CIDEr-D where the reward has CIDEr-R.
        frequencies: As in `score`; by default COCO's for English, else the references'.
        tokenizer: As in `score`.
        language: As in `score`.
        seed: The same seed finds the same captions.
        threads: 0 means one per core; any number finds the same.
    """
    named = _name_rewards(rewards)
    _check(attacks, images=images, rounds=rounds, tries=tries, steps=steps, most_words=most_words)
    cutter = choose_tokenizer(tokenizer, language)
    counted_on = read_frequencies(choose_frequencies(frequencies, cutter))
    target = _choose_target(references, cutter, counted_on, images, seed)
    build = partial(
        Reward, target.seen, frequencies=counted_on, tokenizer=cutter, language=language,
        threads=threads,
    )  # fmt: skip
    known = set(target.nonsense.kinds)
    asked = {"free", *attacks}
    chosen = [name for name in ATTACKS if name in asked and (name not in KINDS or name in known)]
    prepared = {
        label: (build(metric), build(_choose_judge(metric, judge)))
        for label, metric in named.items()
    }
    found: list[Attack] = []
    stopped = False
    total = len(prepared) * len(chosen)
    for label, (reward, judging) in prepared.items():
        free: list[Words] | None = None
        for name in chosen:
            if stopped:
                break
            report = _Reporter(f"{label}: {name}", len(found) / total, 1 / total)
            search = _Search(target, reward, name, seed, rounds, tries, steps, most_words)
            try:
                for share in search.run():
                    report(share)
            except KeyboardInterrupt:
                stopped = True
            captions = search.find()
            if captions is not None:
                free = captions if free is None else free
                captioned = _Captions(captions, free, target.human_words)
                found.append(_weigh(label, name, captioned, target, reward, judging, search, seed))
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
            "most_words": most_words,
            "seed": seed,
            "attacks": chosen,
        },
        stopped,
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
    most_words: int
    scored: int = 0
    _climb: Climb | None = None
    _policy: BlindPolicy | None = None

    def _score(self, images: Sequence[int], captions: Sequence[Words]) -> Floats:
        self.scored += len(captions)
        ids = [self.target.images[image] for image in images]
        return self.reward(ids, [list(words) for words in captions])

    def run(self) -> Iterator[float]:
        """Search, and say how much of it is done."""
        if self.name == "blind":
            lengths = [len(words) for words in self.target.human_words]
            longest = min(self.most_words, int(np.percentile(lengths, 90)) + 2)
            count = len(self.target.images)
            self._policy = BlindPolicy(self._score, count, self.target.common, longest, self.seed)
            for step in self._policy.run(self.steps):
                yield step / self.steps
            return
        kind: Kind | None = None if self.name == "free" else self.name
        self._climb = Climb.begin(
            self._score,
            partial(self.target.nonsense.distance, kind),
            self.target.words,
            common=self.target.common,
            tries=self.tries,
            most_words=self.most_words,
            seed=self.seed,
        )
        for done in self._climb.run(self.rounds):
            yield done / self.rounds

    def find(self) -> list[Words] | None:
        """Return the best caption of each image; an empty one where no nonsense was found."""
        if self._policy is not None:
            return [self._policy.find_best()] * len(self.target.images)
        if self._climb is None:
            return None
        return [best.words if best.distance == 0 else () for best in self._climb.best]


@dataclass(frozen=True)
class _Captions:
    """A caption of each image, of three kinds."""

    found: Sequence[Words]
    free: Sequence[Words]
    human: Sequence[Words]

    def score(self, reward: Reward, images: Sequence[ImageId]) -> tuple[Floats, Floats, Floats]:
        """Return what they earn."""
        found, free, human = (
            reward(images, [list(words) for words in captions])
            for captions in (self.found, self.free, self.human)
        )
        return found, free, human


def _weigh(
    label: str,
    name: AttackName,
    captions: _Captions,
    target: _Target,
    reward: Reward,
    judging: Reward,
    search: _Search,
    seed: int,
) -> Attack:
    scores, free, human = captions.score(reward, target.images)
    judged, judged_free, _ = captions.score(judging, target.images)
    return Attack(
        label,
        name,
        tuple(map(" ".join, captions.found)),
        scores,
        free,
        human,
        judged,
        judged_free,
        target.nonsense.measure(range(len(target.images)), captions.found),
        "+".join(judging.weights),
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
            "no image has two references or more: one is kept apart as what a person wrote"
        )
    rng = np.random.default_rng(seed)
    places = sorted(rng.choice(len(several), min(count, len(several)), replace=False).tolist())
    chosen = tuple(several[place] for place in places)
    held_out = {image: int(rng.integers(len(groups[image]))) for image in chosen}
    seen = {
        image: [c for place, c in enumerate(group) if place != held_out.get(image)]
        for image, group in groups.items()
    }
    human = tuple(groups[image][held_out[image]] for image in chosen)
    # Cut together, as one list: a tokenizer may have to start a program.
    cut = iter(tokenizer(list(corpus.references)).captions.tokens())
    by_image = {image: [tuple(next(cut)) for _ in group] for image, group in groups.items()}
    words = [
        [w for place, w in enumerate(by_image[image]) if w and place != held_out[image]]
        for image in chosen
    ]
    empty = [image for image, group in zip(chosen, words, strict=True) if not group]
    if empty:
        raise InputError(f"image {empty[0]!r} has no reference with a word in it")
    known = None if frequencies == "references" else find_frequencies(frequencies, None)
    everything = list(by_image.values())
    order = [*chosen, *(image for image in groups if image not in held_out)]
    return _Target(
        chosen,
        seen,
        human,
        words,
        [by_image[image][held_out[image]] for image in chosen],
        Nonsense([by_image[image] for image in order], known),
        list_common(everything, COMMON_WORDS),
    )


def _name_rewards(rewards: Any) -> dict[str, RewardMetric]:
    """Return rewards by the names that the table shows."""
    listed: list[Any] = [rewards]
    if isinstance(rewards, Mapping):
        if not all(isinstance(weight, int | float | np.floating) for weight in rewards.values()):
            return dict(rewards)
    elif isinstance(rewards, list | tuple):
        listed = list(rewards)
    if not listed:
        raise SettingError("name at least one reward")
    named = {_name(metric): metric for metric in listed}
    if len(named) < len(listed):
        raise SettingError("the same reward is given twice")
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


def _choose_judge(metric: RewardMetric, judge: RewardMetric | None) -> RewardMetric:
    if judge is not None:
        return judge
    parts = list(metric) if isinstance(metric, Mapping) else [metric]
    names = {_name(part) for part in parts}
    return next((name for name in JUDGES if name not in names), JUDGES[0])


def _check(attacks: Sequence[str], **counts: int) -> None:
    unknown = [name for name in attacks if name not in ATTACKS]
    if unknown or not attacks:
        shown = repr(unknown[0]) if unknown else "none"
        raise SettingError(f"attacks are {', '.join(ATTACKS)}, not {shown}")
    for name, count in counts.items():
        if count < 1:
            raise SettingError(f"{name} must be at least 1, not {count}")


@dataclass(frozen=True)
class _Reporter:
    what: str
    begin: float
    size: float

    def __call__(self, share: float) -> None:
        current_progress()(self.what, self.begin + share * self.size)


def _ratio(found: Floats, other: Floats, seed: int) -> Interval:
    """Return mean over mean; nan where the second is not more than 0."""

    def pool(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = np.where(sums[..., 1] > 0, sums[..., 0] / sums[..., 1], np.nan)
        return ratio

    return bootstrap_interval(np.stack([found, other], axis=1), pool, seed=seed)


def _without_nan(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record that JSON can hold."""
    return {
        k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in record.items()
    }
