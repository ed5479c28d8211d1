"""What owners type into boxes, a line for each thing, its parts between bars; or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cidery.captions.formats.sources import read_json_objects
from cidery.errors import FormatError

Parts = Mapping[str, str]
KNOWN: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "pairwise": ("image", "better sentence", "worse sentence"),
        "triplet": ("image", "sentence A", "closer sentence", "other sentence"),
        "rating": ("image", "sentence", "right rating"),
    }
)
"""design -> the parts of an item whose answer is known"""
QUESTION = ("name", "question")
EXAMPLE = ("accepted or rejected", "sentence")
WHY = "why"
"""The last part, which may be left out."""


def read_known_lines(design: str, text: str, source: str) -> list[dict[str, Any]]:
    """Return items whose right answer is known: attention checks, or items to learn by.

    ```python
    read_known_lines("pairwise", "7 | A dog on a lawn. | Lawn lawn lawn.", "checks")
    ```
    """
    if design not in KNOWN and text.strip() and not _is_json(text):
        raise FormatError(f"{source}: written sentences have no right answer to check")
    return _read_lines(text, source, KNOWN.get(design, ()), _make_known)


def read_question_lines(text: str, source: str) -> list[dict[str, Any]]:
    """Return questions: `fluency | How fluent is it?`."""
    return _read_lines(text, source, QUESTION, lambda p: {"name": p["name"], "text": p["question"]})


def read_example_lines(text: str, source: str) -> list[dict[str, Any]]:
    """Return example sentences: `rejected | A dog. | too short`."""
    return _read_lines(text, source, EXAMPLE, _make_example)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _read_lines(
    text: str, source: str, names: Sequence[str], make: Callable[[Parts], dict[str, Any]]
) -> list[dict[str, Any]]:
    if _is_json(text):
        return [content for _, content in read_json_objects(text, source)]
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        allowed = (*names, WHY) if names != QUESTION else names
        if not len(names) <= len(parts) <= len(allowed) or not all(parts[: len(names)]):
            raise FormatError(
                f"{source}, line {number}: expected {' | '.join(names)}, found {line.strip()!r}"
            )
        try:
            found.append(make(dict(zip(allowed, parts, strict=False))))
        except ValueError as error:
            raise FormatError(f"{source}, line {number}: {error}") from None
    return found


def _make_known(parts: Parts) -> dict[str, Any]:
    known: dict[str, Any] = {"image": parts["image"]}
    if "right rating" in parts:
        try:
            known |= {"caption": parts["sentence"], "rating": float(parts["right rating"])}
        except ValueError:
            raise ValueError(f"the rating {parts['right rating']!r} is no number") from None
    elif "sentence A" in parts:
        pair = [parts["closer sentence"], parts["other sentence"]]
        known |= {"reference": parts["sentence A"], "pair": pair, "vote": 1}
    else:
        known |= {"pair": [parts["better sentence"], parts["worse sentence"]], "vote": 1}
    return known | ({"why": parts[WHY]} if parts.get(WHY) else {})


def _make_example(parts: Parts) -> dict[str, Any]:
    verdict = parts["accepted or rejected"].lower()
    if verdict not in ("accepted", "rejected"):
        raise ValueError(f"write accepted or rejected, not {verdict!r}")
    accepted = verdict == "accepted"
    return {"sentence": parts["sentence"], "accepted": accepted, "why": parts.get(WHY, "")}
