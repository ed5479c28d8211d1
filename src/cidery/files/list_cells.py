"""Lists that are written as text in the cells of a table, such as `"['a cat', 'the cat']"`."""

from __future__ import annotations

import ast
import io
import itertools
import json
import re
import token as token_types
import tokenize
import warnings
from collections.abc import Sequence
from typing import Any

from cidery.files.sources import Source, shorten

JOINED = "|||"
"""Separator of several captions in a cell."""
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_NUMPY_GAP = re.compile(r"""(?<=['"])\s+(?=['"])""")


def split_cells(values: Sequence[Any], field: str, source: Source) -> tuple[list[Any], str] | None:
    """Return cells with lists in place of text, and the form of these; None for captions.

    All cells with text must be lists: one that begins as a list but is none is an error. Captions
    are joined in tables only, whose records are rows.

    Args:
        values: cells of a column.
        field: name of the column, for messages.
        source: source, for messages.
    """
    is_table = source.unit == "row"
    first_text = next((v.strip() for v in values if isinstance(v, str) and v.strip()), "")
    if not first_text or not (is_table or first_text[0] in "[("):
        return None
    texts = [value.strip() for value in values if isinstance(value, str) and value.strip()]
    if all(text[0] in "[(" and text[-1] == _BRACKETS[text[0]] for text in texts):
        # A caption in brackets is none that Python or JSON reads.
        first = parse_list(texts[0])
        if first is None and parse_list(texts[-1]) is None:
            return None
        return [
            _parse_cell(value, field, index, source) if isinstance(value, str) else value
            for index, value in enumerate(values)
        ], "lists in text"
    if is_table and any(JOINED in text for text in texts):
        return [
            [part for part in map(str.strip, value.split(JOINED)) if part]
            if isinstance(value, str)
            else value
            for value in values
        ], f"captions joined by {JOINED}"
    return None


def _parse_cell(value: str, field: str, index: int, source: Source) -> list[Any]:
    if not value.strip():
        return []
    found = parse_list(value)
    if found is None:
        source.fail(
            f"the cell of {field!r} begins like a list, as those of the other rows are, but is "
            f"none: {shorten(value)}; write it as JSON",
            index=index,
        )
    return found


def parse_list(text: str) -> list[Any] | None:
    """Return a list of texts that JSON, Python or NumPy wrote; None for other text.

    ```python
    parse_list("['a cat', 'the cat']")   # ["a cat", "the cat"]
    ```
    """
    text = text.strip()
    if text[:1] not in ("[", "("):
        return None
    found: Any = None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of escapes such as "\d"
                found = ast.literal_eval(_add_commas(text))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
    if isinstance(found, str):
        found = [found]  # parentheses around one text
    if not isinstance(found, list | tuple):
        return None
    captions = [one for one in found if isinstance(one, str | dict) and not isinstance(one, bool)]
    return captions if len(captions) == len(found) else None


def _add_commas(text: str) -> str:
    """Return text with commas between texts that follow each other, as NumPy writes lists.

    Python would join them.
    """
    if not _NUMPY_GAP.search(text):
        return text
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except tokenize.TokenError as error:
        raise SyntaxError(str(error)) from None
    words = [token for token in tokens if token.type not in (token_types.NL, token_types.COMMENT)]
    strings = token_types.STRING
    return " ".join(
        f"{one.string}," if one.type == other.type == strings else one.string
        for one, other in itertools.pairwise(words)
        if one.string.strip()
    )
