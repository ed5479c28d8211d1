"""Synthetic scenes: a data set that needs no download.

A scene has a subject and details. Features show the subject, the first detail and the number of
details. References describe the subject and the details in different words, so that their lengths
vary, and depend on what a captioner can see only in part.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

THINGS = (
    *("dog", "cat", "horse", "bird", "child", "woman", "man", "boat", "bicycle", "car"),
    *("tree", "bench", "kite", "umbrella", "ball"),
)
COLORS = ("red", "blue", "green", "black", "white", "yellow", "brown")
PLACES = ("street", "beach", "park", "kitchen", "harbour", "field", "station", "garden")
DOINGS = ("standing", "waiting", "resting", "moving", "shining", "turning")
SIDES = ("left", "right", "back", "front")
MAX_DETAILS = 6
SUBJECTS = (
    "a {color} {thing} is {doing} in the {place}",
    "in the {place} a {color} {thing} is {doing}",
    "there is a {color} {thing} {doing} in the {place}",
    "a {thing} that is {color} and {doing} in a {place}",
)
DETAILS = (
    "next to it there is a {color} {thing}",
    "and on the {side} one can see a {color} {thing} which is {doing}",
    "while a {thing} is {doing} far away",
    "with some {color} things around the {thing}",
    "behind it somebody left a {thing} near the {side}",
)
WIDTH = len(THINGS) + len(COLORS) + len(PLACES) + len(DOINGS) + MAX_DETAILS + 1
REGIONS = 4
"""Subject, its place and action, first detail, number of details."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Features and references of a scene."""

    features: NDArray[np.float32]
    """float32[REGIONS, WIDTH]"""
    references: tuple[str, ...]


def make_scenes(count: int, seed: int, references: int = 3) -> dict[str, Scene]:
    """Return scenes by id, determined by the seed.

    ```python
    scenes = make_scenes(10, seed=1)
    len(scenes["scene-1-0"].references)   # 3
    ```
    """
    rng = random.Random(seed)
    return {f"scene-{seed}-{number}": _make_scene(rng, references) for number in range(count)}


def _make_scene(rng: random.Random, references: int) -> Scene:
    subject = {
        "thing": rng.choice(THINGS),
        "color": rng.choice(COLORS),
        "place": rng.choice(PLACES),
        "doing": rng.choice(DOINGS),
    }
    details = [
        {
            "thing": rng.choice(THINGS),
            "color": rng.choice(COLORS),
            "side": rng.choice(SIDES),
            "doing": rng.choice(DOINGS),
        }
        for _ in range(min(MAX_DETAILS, int(rng.expovariate(0.4))))
    ]
    captions = []
    for _ in range(references):
        clauses = [rng.choice(SUBJECTS).format(**subject)]
        clauses += [rng.choice(DETAILS).format(**words) for words in details]
        captions.append(" ".join(clauses))
    return Scene(_encode(subject, details), tuple(captions))


def _encode(subject: dict[str, str], details: list[dict[str, str]]) -> NDArray[np.float32]:
    features = np.zeros((REGIONS, WIDTH), np.float32)
    kinds = (("thing", THINGS), ("color", COLORS), ("place", PLACES), ("doing", DOINGS))
    seen = [(0, subject, ("thing", "color")), (1, subject, ("place", "doing"))]
    if details:
        seen.append((2, details[0], ("thing", "color")))
    for region, words, shown in seen:
        start = 0
        for kind, known in kinds:
            if kind in shown:
                features[region, start + known.index(words[kind])] = 1
            start += len(known)
    features[3, WIDTH - MAX_DETAILS - 1 + len(details)] = 1
    return features
