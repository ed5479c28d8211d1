"""Invented scenes with one long, uneven description each: what self_critical.py trains on.

A scene's features tell its subject, the first detail and how many details its describer mentions.
What the other details are cannot be seen in them, as much of a long caption cannot be guessed from
an image: a captioner can know how long the reference is without knowing what it says.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

THINGS = (
    *("dog", "cat", "horse", "bird", "child", "woman", "man", "boat", "bicycle", "car"),
    *("tree", "bench", "kite", "umbrella", "ball"),
)
COLOURS = ("red", "blue", "green", "black", "white", "yellow", "brown")
PLACES = ("street", "beach", "park", "kitchen", "harbour", "field", "station", "garden")
DOINGS = ("standing", "waiting", "resting", "moving", "shining", "turning")
SIDES = ("left", "right", "back", "front")
MOST_DETAILS = 6
DETAILS = (
    "next to it there is a {colour} {thing}",
    "and on the {side} one can see a {colour} {thing} which is {doing}",
    "while a {thing} is {doing} far away",
    "with some {colour} things around the {thing}",
    "behind it somebody left a {thing} near the {side}",
)
FEATURES = 2 * len(THINGS) + 2 * len(COLOURS) + len(PLACES) + len(DOINGS) + MOST_DETAILS + 1


@dataclass(frozen=True)
class Scene:
    """What a captioner sees, and what somebody wrote."""

    features: list[float]
    reference: str


def make_scenes(count: int, seed: int) -> dict[str, Scene]:
    """Return scenes by id; the same seed gives the same scenes."""
    rng = random.Random(seed)
    return {f"scene-{seed}-{number}": _make_scene(rng) for number in range(count)}


def _make_scene(rng: random.Random) -> Scene:
    thing, colour = rng.choice(THINGS), rng.choice(COLOURS)
    place, doing = rng.choice(PLACES), rng.choice(DOINGS)
    detail_count = min(MOST_DETAILS, int(rng.expovariate(0.4)))
    clauses = [f"a {colour} {thing} is {doing} in the {place}"]
    seen_thing = seen_colour = ""
    for number in range(detail_count):
        words = {
            "thing": rng.choice(THINGS),
            "colour": rng.choice(COLOURS),
            "side": rng.choice(SIDES),
            "doing": rng.choice(DOINGS),
        }
        if number == 0:
            seen_thing, seen_colour = words["thing"], words["colour"]
        clauses.append(rng.choice(DETAILS).format(**words))
    features = [
        *_one_hot(thing, THINGS),
        *_one_hot(colour, COLOURS),
        *_one_hot(place, PLACES),
        *_one_hot(doing, DOINGS),
        *_one_hot(seen_thing, THINGS),
        *_one_hot(seen_colour, COLOURS),
        *(float(detail_count == n) for n in range(MOST_DETAILS + 1)),
    ]
    return Scene(features, " ".join(clauses))


def _one_hot(word: str, words: tuple[str, ...]) -> list[float]:
    return [float(word == other) for other in words]
