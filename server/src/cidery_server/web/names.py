"""Names of teams: normalized, printable, and visually distinct."""

from __future__ import annotations

import unicodedata
from functools import cache

from django.core.exceptions import ValidationError

from cidery_server.web.translation import translate as _

_UNSEEN = (
    *(0x00AD, 0x034F, 0x061C, 0x2800, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x115F, 0x1161),
    *range(0x17B4, 0x17B6),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
)
"""Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt), and Braille's empty cell."""
UNSEEN = frozenset(map(chr, _UNSEEN))


def normalize_name(name: str) -> str:
    """Return the one way to write a name that can be written in several ways (Unicode's NFKC)."""
    return unicodedata.normalize("NFKC", name)


def check_visible(name: str) -> None:
    """Refuse characters that cannot be seen: a name with one would look like another team's."""
    if not name.isprintable() or UNSEEN.intersection(name):
        raise ValidationError(_("A name must not contain invisible characters."))


def check_printable(text: str) -> None:
    """Refuse control characters of terminals and of text direction."""
    if not text.isprintable():
        raise ValidationError(_("A title must be one line without invisible characters."))


def skeleton(name: str) -> str:
    """Return the skeleton of a name, equal for names that look alike (Unicode's TR39).

    ```python
    skeleton("Оrchard") == skeleton("orchard")  # the first has a Cyrillic O
    ```
    """
    shown = "".join(
        c for c in unicodedata.normalize("NFD", normalize_name(name)) if c not in UNSEEN
    )
    alike = "".join(map(_prototype, shown)).casefold()
    return unicodedata.normalize("NFD", "".join(map(_prototype, alike)))


@cache
def _prototype(character: str) -> str:
    """Return the representative of the characters that look like this one.

    The table lists for a prototype all that look like it, for the others their prototype.
    """
    from confusable_homoglyphs.confusables import confusables_data

    def count(text: str) -> int:
        return len(confusables_data.get(text, ()))

    alike: list[str] = [found["c"] for found in confusables_data.get(character, ())]
    return min((character, *alike), key=lambda text: (-count(text), text))
