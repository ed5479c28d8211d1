"""Word lists for the extraction and comparison of claims."""

from __future__ import annotations

from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FRAMES = _words(
    """
    image picture photo photograph photography shot scene view closeup close-up foreground
    background overview depiction snapshot frame video clip sound audio recording way day time
    moment atmosphere presence variety number type kind sort style
    addition appearance aspect case context detail element end example fact feature feeling focus
    impression instance manner mood overall part position sense side something thing anything
    nothing everything someone anyone everyone somebody anybody nobody one other another
    """
)
"""Nouns that are no objects: `the image shows a scene`."""

PICTURES = _words("image picture photo photograph photography shot")
"""Frames that have colors: `a black and white photo`."""

HUBS = _words("front top middle side center centre corner edge end bottom left right rest back")
"""Nouns in compound prepositions: `in front of`, `on the left side of`."""

FRAME_VERBS = _words(
    "show feature depict capture display contain include be appear seem have suggest indicate add"
)
"""Verbs without an object as subject: `there is`, `the image shows`."""

PLACES = _words(
    """
    above across against along alongside amid among around at before behind below beneath beside
    between beyond by in inside near on onto outside over past through throughout toward towards
    under underneath up upon within
    """
)
"""Prepositions of place, also as parts of `next to` and the like."""

_COUNTED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
NUMERALS = frozenset(_COUNTED.split())
NUMBERS = {word: number for number, word in enumerate(_COUNTED.split())} | {
    "single": 1,
    "both": 2,
    "couple": 2,
    "pair": 2,
    "dozen": 12,
    "hundred": 100,
    "thousand": 1000,
}

MANY_WORDS = _words(
    """
    many several multiple various numerous some few lots lot dozens plenty all most hundreds tons
    bunch group herd flock crowd team stack pile row
    """
)

EMPTY_MODIFIERS = MANY_WORDS | _words(
    "other different certain such own same various overall general visible main first last"
)
"""Modifiers without visual meaning."""

SYMMETRIC = _words("of with near beside be alongside face meet have") | {
    "next to",
    "close to",
    "across from",
    "in front of",
}
"""Symmetric relations."""

_OPPOSITES = """
big large huge giant enormous tall | small little tiny short miniature
young | old elderly
new modern | old ancient
full | empty
open | closed shut
clean | dirty messy
wet | dry
hot | cold
bright sunny | dark dim cloudy
clear sunny | cloudy foggy rainy stormy
happy smile laugh | sad cry angry
indoors inside indoor | outdoors outside outdoor
on | off under underneath below beneath
over above | under below beneath underneath
up | down
in front of | behind
left | right
near next to close to beside | far from
into | out of
asleep | awake
male man boy | female woman girl
father dad | mother mom
long | short
wide | narrow
thick | thin
high | low
crowded busy | empty deserted quiet
lit | unlit
cooked | raw
ripe | unripe rotten
whole | cut slice broken
day daytime daylight | night nighttime
summer | winter
front | back rear
same | different
push | pull
open | close
"""


def _read_opposites(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        one, other = (_read_side(side) for side in line.split("|"))
        for side, opposite in ((one, other), (other, one)):
            for word in side:
                found.setdefault(word, set()).update(opposite)
    return {word: frozenset(others) for word, others in found.items()}


def _read_side(text: str) -> Iterable[str]:
    for phrase in ("in front of", "next to", "close to", "far from", "out of"):
        text = text.replace(phrase, phrase.replace(" ", "_"))
    return [word.replace("_", " ") for word in text.split()]


OPPOSITES = _read_opposites(_OPPOSITES)
"""Mutually exclusive words."""

POSTURES = _read_opposites("sit | stand walk run jump lie\nstand | lie sleep\nwalk run | sleep lie")
"""Mutually exclusive postures of people and animals; things may `sit` and `stand` at once."""

RESTING = _words("on onto upon atop in inside into at under underneath beneath")
"""Asymmetric prepositions of place."""

ANIMALS = _words(
    "animal bear bird calf cat cow dog duck elephant giraffe goat horse kitten monkey pony puppy "
    "sheep zebra"
)
