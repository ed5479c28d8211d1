"""Names as people type them: other spellings of a name, and suggestions for mistyped ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_SEPARATORS = re.compile(r"[-_@. ]")


def find_spelling(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs in case and separators only; None if none or several do.

    ```python
    find_spelling("Bleu_4", ["bleu-4", "bleu-1"])   # "bleu-4"
    ```
    """
    names = list(known)
    if given in names:
        return given
    found = [name for name in names if _simplify(name) == _simplify(given)]
    return found[0] if len(found) == 1 else None


def find_similar(given: str, known: Iterable[str]) -> str | None:
    """Return the most similar name, None where none is similar.

    ```python
    find_similar("rogue-l", ["rouge-l", "bleu-4"])   # "rouge-l"
    ```
    """
    names = {_simplify(name): name for name in known}
    similar = get_close_matches(_simplify(given), names, n=1, cutoff=0.7)
    return names[similar[0]] if similar else None


def suggest_name(given: str, known: Iterable[str]) -> str:
    """Return `did you mean 'NAME'?` for a similar name, or else the empty string.

    ```python
    suggest_name("rogue-l", ["rouge-l", "bleu-4"])   # "did you mean 'rouge-l'?"
    ```
    """
    similar = find_similar(given, known)
    return f"did you mean {similar!r}?" if similar else ""


def _simplify(name: str) -> str:
    return _SEPARATORS.sub("", name).casefold()
