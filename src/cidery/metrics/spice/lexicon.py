"""Word lists of the scene graph rules."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COLORS = _words(
    """
    amber aqua beige black blond blonde blue bronze brown colored colorful colourful cream
    crimson cyan dark gold golden gray green grey indigo ivory khaki lavender light lime magenta
    maroon navy olive orange peach pink plaid purple red rose ruby rust salmon scarlet silver
    tan teal turquoise violet white yellow
    """
)

SIZES = _words(
    """
    big broad deep enormous giant gigantic great high huge immense large little long massive
    mini miniature narrow petite shallow short skinny slim small tall thick thin tiny towering
    vast wide
    """
)

COUNTS = _words(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand million dozen
    """
)

PEOPLE = _words(
    """
    adult athlete baby batter biker boarder boy bride catcher chef child clown couple cowboy
    crowd cyclist dad daughter family farmer father female fisherman gentleman girl groom group
    guy kid lady male man mom mother officer passenger people person pitcher player police
    policeman rider skateboarder skater skier snowboarder soldier son student surfer teenager
    toddler umpire vendor waiter woman worker
    """
)
"""Possible antecedents of `he`, `she` and their forms."""

NOUNS_IN_ING = _words(
    """
    awning bedding building ceiling clearing clothing covering crossing dressing earring evening
    filling frosting icing king landing lighting lightning morning nothing opening outing
    painting parking paving pudding railing ring seating serving setting siding something spring
    string stuffing swing thing topping wedding wing
    """
)
"""Nouns that look like participles."""

FUNCTION_WORDS = _words("a an and at by for from in into of on onto or the to with")
"""Words that are never nouns."""

QUANTIFIERS = _words(
    """
    all both dozen dozens each few hundreds lot lots many most none plenty several some thousands
    ton tons
    """
)
"""Quantifiers: `lots of boats`."""

GROUPS = _words("bunch couple crowd flock group herd pair team")
"""Collective nouns: `a herd of sheep grazing`."""

LEADING = _words(
    """
    across ahead along around away back close down far in inside near next off on out outside
    over past through together up
    """
)
"""First words of compound prepositions: `next to`, `out of`."""

PATHS = _words("across along around down over past through")
"""Words that are prepositions, not particles, before an object: `skiing down a slope`."""
