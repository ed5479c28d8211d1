"""Settings of `evaluate` with defaults and descriptions.

They are keyword arguments of `evaluate`, options of `cidery meta`, and part of the key of cached
results. The module has few imports, which keeps `cidery meta --help` fast.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args

from cidery.errors import SettingError

ProtocolName: TypeAlias = Literal[
    "triplets",
    "preference",
    "references",
    "human",
    "disagreement",
    "wins",
    "ratings",
    "systems",
    "diversity",
    "corruption",
]
Draw: TypeAlias = Literal["own", "random", "first"]
Undecided: TypeAlias = Literal["wrong", "half", "drop"]

_LEAST = {"references": 1, "sample": 1, "draws": 1, "resamples": 0, "seed": 0}
"""Minimum of each number."""


@dataclass(frozen=True)
class Help:
    """Help text of a setting."""

    text: str
    metavar: str | None = None
    option: str | None = None
    """Option of the command line. Default: the name of the setting."""


@dataclass(frozen=True)
class Settings:
    """Settings that determine a result.

    ```python
    dataset = read_dataset("judgments", "mine.jsonl")
    evaluate(dataset, ["cider-d"], Settings(undecided="half", seed=1))
    ```
    """

    protocol: Annotated[
        ProtocolName | None,
        Help("Protocol. Default: the first that fits the data set."),
    ] = None
    references: Annotated[
        int | None,
        Help("Number of references per image. Default: all.", "COUNT", "--references-per-image"),
    ] = None
    draw: Annotated[
        Draw | None,
        Help(
            "Choice of references: own (those of the data set for each pair), random (by the "
            "seed) or first. Default: own if it has that many, otherwise random."
        ),
    ] = None
    concatenate: Annotated[bool, Help("Join the references of an image into one text.")] = False
    mean_ratings: Annotated[
        bool,
        Help("Use the mean of a caption's ratings as one rating, instead of single ratings."),
    ] = False
    undecided: Annotated[
        Undecided,
        Help("Pairs with equal scores count as wrong, as half right, or are dropped (drop)."),
    ] = "wrong"
    kind: Annotated[
        str | None,
        Help("Use only pairs of this kind, such as MM (two machine captions).", "NAME"),
    ] = None
    question: Annotated[
        str | None,
        Help(
            "Question, such as recall, if there are several. Default: the first.",
            "NAME",
        ),
    ] = None
    system: Annotated[
        tuple[str, ...],
        Help("Use only captions or pairs of this system; may be repeated.", "NAME"),
    ] = ()
    without_system: Annotated[
        tuple[str, ...],
        Help("Ignore captions or pairs of this system; may be repeated.", "NAME"),
    ] = ()
    sample: Annotated[
        int | None,
        Help("Use a random sample of pairs, ratings or sets.", "COUNT"),
    ] = None
    reference_counts: Annotated[
        tuple[int, ...],
        Help(
            "Number of references in the protocol references; may be repeated. "
            "Default: 1, 2, 3, … up to 48.",
            "COUNT",
        ),
    ] = ()
    draws: Annotated[
        int,
        Help(
            "Number of random draws: of references in the protocol references, of halves in the "
            "protocol human.",
            "COUNT",
        ),
    ] = 5
    tests: Annotated[
        bool,
        Help("Add p-values of differences between metrics, in accuracy or Pearson's r."),
    ] = False
    # Fewer than elsewhere: a bootstrap sample of 50,000 ratings takes a hundredth of a second.
    resamples: Annotated[
        int,
        Help("Bootstrap samples of images for 95 % intervals; 0: no intervals.", "COUNT"),
    ] = 200
    seed: Annotated[int, Help("Seed of draws, samples and resampling.", "NUMBER")] = 0
    tokenizer: Annotated[
        str | None,
        Help("Tokenizer, as in `score`. Default: that of the language, or ptb."),
    ] = None
    language: Annotated[
        str | None, Help("Language of the captions, such as pt; as in `score`.", "CODE")
    ] = None
    frequencies: Annotated[
        str,
        Help("Document frequencies, as in `score`; references: those of the data set."),
    ] = "references"

    def __post_init__(self) -> None:
        for several in ("reference_counts", "system", "without_system"):
            value = getattr(self, several)
            object.__setattr__(self, several, (value,) if isinstance(value, str) else tuple(value))
        _require_choice("protocol", self.protocol, (*get_args(ProtocolName), None))
        _require_choice("draw", self.draw, (*get_args(Draw), None))
        _require_choice("undecided", self.undecided, get_args(Undecided))
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SettingError(f"{name} must be at least {least}, not {value}")

    def change(self, **changes: Any) -> Settings:
        """Return settings with some values changed."""
        known = [setting.name for setting in fields(self)]
        for name in changes:
            if name not in known:
                raise SettingError(f"there is no setting {name!r}; known: {', '.join(known)}")
        return replace(self, **changes)


def _require_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        known = ", ".join(str(choice) for choice in choices if choice is not None)
        raise SettingError(f"{name} must be one of {known}, not {value!r}")
