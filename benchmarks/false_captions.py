"""Captions made wrong by rule: numbers, colors, negations, roles, inventions, padding.

Each rule takes a right caption and returns a wrong or worse one, or None where it does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COLORS = ("red", "blue", "green", "yellow", "black", "white", "brown", "orange", "pink", "purple")
TRUISMS = (
    "The sky is above the ground.",
    "There is light in the scene.",
    "People have two eyes.",
    "The picture was taken with a camera.",
    "Things can be seen in the image.",
    "Water is wet and fire is hot.",
    "Every moment is special in its own way.",
    "The image is interesting to look at.",
)
ROLES = re.compile(
    r"\b(a|an|the) ((?:\w+ )?\w+) "
    r"((?:is |are )?\w+(?:ing|s) (?:on |at |in |with )?)(a|an|the) (\w+)\b",
    re.IGNORECASE,
)
VERB = re.compile(r"\b(is|are)\b(?! no)", re.IGNORECASE)
PARTICIPLE = re.compile(
    r"\b(sitting|standing|riding|holding|walking|wearing|playing|eating|flying)\b"
)
ARTICLE = re.compile(r"\b(a|an)\b (?=\w)", re.IGNORECASE)

Rule = Callable[[str, np.random.Generator, Sequence[str]], str | None]


def change_number(text: str, rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """`two dogs` -> `six dogs`."""
    return _replace(text, NUMBERS, rng)


def change_color(text: str, rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """`a red bus` -> `a green bus`."""
    return _replace(text, COLORS, rng)


def negate(text: str, rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """`a dog is sitting` -> `a dog is not sitting`; `a dog` -> `no dog`."""
    kinds = [
        (VERB, r"\1 not"),
        (PARTICIPLE, r"not \1"),
        (ARTICLE, "no "),
    ]
    for place in rng.permutation(len(kinds)):
        pattern, by = kinds[place]
        if pattern.search(text):
            return pattern.sub(by, text, count=1)
    return None


def swap_roles(text: str, _rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """`a man riding a horse` -> `a horse riding a man`."""
    found = ROLES.search(text)
    if not found or found[2].split()[-1].lower() == found[5].lower():
        return None
    swapped = f"{found[1]} {found[5]} {found[3]}{found[4]} {found[2]}"
    return text[: found.start()] + swapped + text[found.end() :]


def invent(text: str, rng: np.random.Generator, things: Sequence[str]) -> str | None:
    """`a dog on a sofa` -> `a dog on a sofa next to a zebra`."""
    how = ("next to a {}", "and a {}", "with a {}")[int(rng.integers(3))]
    return f"{_bare(text)} {how.format(things[int(rng.integers(len(things)))])}."


def replace_thing(text: str, rng: np.random.Generator, things: Sequence[str]) -> str | None:
    """`a dog on a sofa` -> `a dog on a giraffe`."""
    found = list(
        re.finditer(r"\b(a|an|the) (\w+)(?=[ .,]*(?:$|\b(?:on|in|with|and|at)\b))", text, re.I)
    )
    if not found:
        return None
    chosen = found[int(rng.integers(len(found)))]
    thing = things[int(rng.integers(len(things)))]
    return f"{text[: chosen.start(2)]}{thing}{text[chosen.end(2) :]}"


def repeat(text: str, rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """Repeat a sentence, or the whole, once or twice."""
    sentences = re.findall(r"[^.]+\.?", text.strip())
    again = sentences[int(rng.integers(len(sentences)))].strip().rstrip(".")
    return f"{_bare(text)}." + f" {again}." * int(rng.integers(1, 3))


def pad(text: str, rng: np.random.Generator, _things: Sequence[str]) -> str | None:
    """Add one to three sentences that are true of any image."""
    chosen = rng.choice(len(TRUISMS), int(rng.integers(1, 4)), replace=False)
    return " ".join([f"{_bare(text)}.", *(TRUISMS[n] for n in chosen)])


RULES: dict[str, Rule] = {
    "numbers": change_number,
    "colors": change_color,
    "negations": negate,
    "roles swapped": swap_roles,
    "objects invented": invent,
    "objects replaced": replace_thing,
    "sentences repeated": repeat,
    "truisms added": pad,
}


@dataclass(frozen=True)
class FalseCaption:
    """A right caption, a worse one made of it, and the other references of the image."""

    rule: str
    right: str
    wrong: str
    references: tuple[str, ...]


def make_false(
    groups: Sequence[Sequence[str]], each: int, seed: int = 0, sentences: int = 1
) -> Iterator[FalseCaption]:
    """Yield up to `each` captions of every rule; the right one is `sentences` references joined."""
    rng = np.random.default_rng(seed)
    nouns = [_last_words(group) for group in groups]
    for rule, make in RULES.items():
        left = each
        for place in rng.permutation(len(groups)):
            captions = [_bare(caption) + "." for caption in groups[place]]
            right = " ".join(captions[:sentences])
            others = tuple(captions[sentences:])
            known = set(re.findall(r"\w+", " ".join(captions).lower()))
            other = nouns[int(rng.integers(len(nouns)))]
            things = [noun for noun in other if noun not in known] or ["zebra"]
            wrong = make(right, rng, things)
            if wrong is not None and wrong != right:
                yield FalseCaption(rule, right, wrong, others)
                left -= 1
            if not left:
                break


def _last_words(captions: Sequence[str]) -> list[str]:
    """Return words that two captions of an image end on: mostly things."""
    ends = [re.findall(r"\w+", caption.lower())[-1:] for caption in captions]
    words = [word for end in ends for word in end]
    return sorted({word for word in words if words.count(word) > 1 and not word.endswith("ing")})


def _bare(text: str) -> str:
    return " ".join(text.split()).rstrip(" .")


def _replace(text: str, words: Sequence[str], rng: np.random.Generator) -> str | None:
    found = re.search(rf"\b({'|'.join(words)})\b", text, re.IGNORECASE)
    if not found:
        return None
    others = [word for word in words if word not in text.lower()]
    return text[: found.start()] + others[int(rng.integers(len(others)))] + text[found.end() :]
