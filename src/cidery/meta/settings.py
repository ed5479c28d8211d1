"""How metrics are judged: each setting with its default and its description.

`evaluate` takes these settings as keyword arguments, `cidery meta` as options, and results are kept
by them. The module imports nothing heavy, so that `cidery meta --help` stays quick.
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
"""The smallest value of each number."""


@dataclass(frozen=True)
class Help:
    """What a setting does, for documentation and for the command line."""

    text: str
    metavar: str | None = None


@dataclass(frozen=True)
class Settings:
    """How metrics are judged; everything that changes a result is here.

    ```python
    dataset = read_dataset("judgments", "mine.jsonl")
    evaluate(dataset, ["cider-d"], Settings(undecided="half", seed=1))
    ```
    """

    protocol: Annotated[
        ProtocolName | None,
        Help("How to judge. Default: the first protocol that fits the data set."),
    ] = None
    references: Annotated[
        int | None, Help("How many references of each image to use. Default: all.", "COUNT")
    ] = None
    draw: Annotated[
        Draw | None,
        Help(
            "Which references to use: own takes those that the data set names for each pair, "
            "random draws by the seed, first takes the first ones. Default: own where it has as "
            "many as asked for, otherwise random."
        ),
    ] = None
    concatenate: Annotated[bool, Help("Join the references of an image into one text.")] = False
    undecided: Annotated[
        Undecided,
        Help(
            "How to count a pair whose two captions get the same score: as wrong, as half right, "
            "or not at all (drop)."
        ),
    ] = "wrong"
    kind: Annotated[
        str | None,
        Help("Use only pairs of this kind, such as MM (two machine captions).", "NAME"),
    ] = None
    question: Annotated[
        str | None,
        Help(
            "Where people were asked several things, which answers to use, such as recall. "
            "Default: those to the first.",
            "NAME",
        ),
    ] = None
    system: Annotated[
        tuple[str, ...],
        Help("Use only captions, or pairs of captions, of this system; may be repeated.", "NAME"),
    ] = ()
    without_system: Annotated[
        tuple[str, ...],
        Help("Leave out captions, or pairs of captions, of this system; may be repeated.", "NAME"),
    ] = ()
    sample: Annotated[
        int | None,
        Help("Use only this many pairs, ratings or sets, drawn by the seed.", "COUNT"),
    ] = None
    reference_counts: Annotated[
        tuple[int, ...],
        Help(
            "A number of references to try in the protocol references; may be repeated. "
            "Default: 1, 2, 3, … up to 48.",
            "COUNT",
        ),
    ] = ()
    draws: Annotated[
        int,
        Help(
            "How many random draws to average: of references in the protocol references, of "
            "halves in the protocol human.",
            "COUNT",
        ),
    ] = 5
    tests: Annotated[
        bool,
        Help(
            "Add p-values: for each two metrics, whether they agree with people equally, by the "
            "accuracy of preferences or by Pearson's r with ratings."
        ),
    ] = False
    # Fewer than elsewhere: a bootstrap sample of 50,000 ratings takes a hundredth of a second.
    resamples: Annotated[
        int,
        Help("Bootstrap samples of images for 95 % intervals; 0 leaves intervals out.", "COUNT"),
    ] = 200
    seed: Annotated[int, Help("Seed of draws, samples and resampling.", "NUMBER")] = 0
    tokenizer: Annotated[
        str | None,
        Help(
            "How captions are split into words; as in `score`. Default: that of the language, or "
            "ptb."
        ),
    ] = None
    language: Annotated[
        str | None, Help("The captions' language, such as pt; as in `score`.", "CODE")
    ] = None
    frequencies: Annotated[
        str,
        Help("What CIDEr's weights are counted on, as in `score`; references: the data set's own."),
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
        """Return the settings with some of them changed; an unknown name is an error."""
        known = [setting.name for setting in fields(self)]
        for name in changes:
            if name not in known:
                raise SettingError(f"there is no setting {name!r}; known: {', '.join(known)}")
        return replace(self, **changes)


def _require_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        known = ", ".join(str(choice) for choice in choices if choice is not None)
        raise SettingError(f"{name} must be one of {known}, not {value!r}")
