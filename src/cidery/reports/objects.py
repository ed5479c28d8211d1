"""Objects that captions name: the 80 kinds of things that COCO labels.

The kinds are those of Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014. Next to
each stand words that people use for it; plurals in -s, -es and -ies are found by themselves.
Of oranges only the plural counts: `orange` is a colour more often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

_KINDS = """
person: man men woman women boy girl child children kid people guy lady baby toddler player
person: skier surfer skateboarder snowboarder gentleman crowd
bicycle: bike; car: automobile taxi sedan; motorcycle: motorbike
airplane: plane aircraft jet airliner; bus:; train: locomotive; truck: pickup
boat: ship sailboat canoe kayak ferry; traffic light: stoplight; fire hydrant: hydrant
stop sign:; parking meter:; bench:; bird: duck pigeon seagull parrot owl swan goose geese
cat: kitten; dog: puppy; horse: pony foal; sheep: lamb; cow: cattle calf bull; elephant:; bear:
zebra:; giraffe:; backpack: rucksack; umbrella: parasol; handbag: purse; tie: necktie
suitcase: luggage; frisbee:; skis: ski; snowboard:; sports ball: ball; kite:
baseball bat: bat; baseball glove: mitt; skateboard:; surfboard:; tennis racket: racket racquet
bottle:; wine glass: wineglass; cup: mug; fork:; knife: knives; spoon:; bowl:; banana:; apple:
sandwich: burger hamburger panini; oranges:; broccoli:; carrot:; hot dog: hotdog; pizza:
donut: doughnut; cake: cupcake; chair: armchair stool; couch: sofa; potted plant: houseplant
bed:; dining table: table desk; toilet:; tv: television; laptop:; mouse:; remote:; keyboard:
cell phone: phone cellphone smartphone; microwave:; oven: stove; toaster:; sink:
refrigerator: fridge; book:; clock:; vase:; scissors:; teddy bear: teddy; hair drier: hairdryer
toothbrush:
"""


def _read_kinds() -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _KINDS.replace("\n", ";").split(";"):
        kind, _, words = entry.strip().partition(":")
        for word in filter(None, (kind, *words.split())):
            found[word] = kind
    return found


KINDS = _read_kinds()
"""word, or two words -> kind"""
_FIRSTS = frozenset(name.split()[0] for name in KINDS if " " in name)


def name_objects(words: Sequence[str]) -> list[str]:
    """Return the kinds of things that a caption names.

    ```python
    name_objects(["two", "puppies", "near", "traffic", "lights"])   # ["dog", "traffic light"]
    ```
    """
    return list(dict.fromkeys(_find(words)))


def _find(words: Sequence[str]) -> Iterator[str]:
    used = -1
    for place, word in enumerate(words):
        if place == used:
            continue
        kind = None
        if word in _FIRSTS and place + 1 < len(words):
            kind = _look_up(f"{word} {words[place + 1]}")
            used = place + 1 if kind else used
        kind = kind or _look_up(word)
        if kind:
            yield kind


@lru_cache(maxsize=1 << 17)
def _look_up(word: str) -> str | None:
    singles = [word]
    if word.endswith("s"):
        singles.append(word[:-1])
    if word.endswith("es"):
        singles.append(word[:-2])
    if word.endswith("ies"):
        singles.append(word[:-3] + "y")
    return next((KINDS[single] for single in singles if single in KINDS), None)
