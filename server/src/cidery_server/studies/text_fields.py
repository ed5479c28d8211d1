"""Parsers of text fields: one entry per line with parts separated by bars, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext_lazy

from cidery.errors import FormatError
from cidery.files import read_json_objects
from cidery_server.web.translation import translate as _

Parts = Mapping[str, str]
KNOWN: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "pairwise": ("image", "better sentence", "worse sentence"),
        "triplet": ("image", "sentence A", "closer sentence", "other sentence"),
        "rating": ("image", "sentence", "right rating"),
    }
)
"""design -> parts of an attention check or a training item"""
QUESTION = ("name", "question")
EXAMPLE = ("accepted or rejected", "sentence")
ITEM: Mapping[str, tuple[Sequence[str], Sequence[str]]] = MappingProxyType(
    {
        "pairwise": (("image", "sentence", "other sentence"), ("system", "other system")),
        "triplet": (
            ("image", "sentence A", "sentence", "other sentence"),
            ("system", "other system"),
        ),
        "rating": (("image", "sentence"), ("system",)),
        "collection": (("image",), ()),
    }
)
"""design -> required and optional parts of an item"""
WHY = "why"
"""Last, optional part."""
NAMES = {
    "image": gettext_lazy("image"),
    "sentence": gettext_lazy("sentence"),
    "other sentence": gettext_lazy("other sentence"),
    "better sentence": gettext_lazy("better sentence"),
    "worse sentence": gettext_lazy("worse sentence"),
    "closer sentence": gettext_lazy("closer sentence"),
    "sentence A": gettext_lazy("sentence A"),
    "right rating": gettext_lazy("right rating"),
    "name": gettext_lazy("name"),
    "question": gettext_lazy("question"),
    "accepted or rejected": gettext_lazy("accepted or rejected"),
}
"""Translated names of the parts."""


def read_known_lines(design: str, text: str, source: str) -> list[dict[str, Any]]:
    """Return items whose right answer is known: attention checks, or training items.

    ```python
    read_known_lines("pairwise", "7 | A dog on a lawn. | Lawn lawn lawn.", "checks")
    ```
    """
    if design not in KNOWN and text.strip() and not _is_json(text):
        raise FormatError(
            _("{source}: written sentences have no right answer to check").format(source=source)
        )
    return _read_lines(text, source, KNOWN.get(design, ()), (WHY,), _make_known)


def read_item_lines(design: str, text: str, source: str) -> list[dict[str, Any]]:
    """Return items without their answers.

    ```python
    read_item_lines("pairwise", "7 | A dog. | A cat. | ours | theirs", "items")
    ```
    """
    needed, others = ITEM[design]
    return _read_lines(text, source, needed, others, _make_item)


def read_question_lines(text: str, source: str) -> list[dict[str, Any]]:
    """Return questions: `fluency | How fluent is it?`."""
    return _read_lines(
        text, source, QUESTION, (), lambda p: {"name": p["name"], "text": p["question"]}
    )


def read_example_lines(text: str, source: str) -> list[dict[str, Any]]:
    """Return example sentences: `rejected | A dog. | too short`."""
    return _read_lines(text, source, EXAMPLE, (WHY,), _make_example)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _read_lines(
    text: str,
    source: str,
    names: Sequence[str],
    others: Sequence[str],
    make: Callable[[Parts], dict[str, Any]],
) -> list[dict[str, Any]]:
    if _is_json(text):
        return [content for place, content in read_json_objects(text, source)]
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        allowed = (*names, *others)
        if not len(names) <= len(parts) <= len(allowed) or not all(parts[: len(names)]):
            raise FormatError(
                _("{source}, line {number}: expected {parts}, found {found!r}").format(
                    source=source,
                    number=number,
                    parts=" | ".join(str(NAMES.get(name, name)) for name in names),
                    found=line.strip(),
                )
            )
        try:
            found.append(make(dict(zip(allowed, parts, strict=False))))
        except ValueError as error:
            place = _("{source}, line {number}").format(source=source, number=number)
            raise FormatError(f"{place}: {error}") from None
    return found


def _make_known(parts: Parts) -> dict[str, Any]:
    known: dict[str, Any] = {"image": parts["image"]}
    if "right rating" in parts:
        try:
            known |= {"caption": parts["sentence"], "rating": float(parts["right rating"])}
        except ValueError:
            wrong = _("the rating {rating!r} is not a number")
            raise ValueError(wrong.format(rating=parts["right rating"])) from None
    elif "sentence A" in parts:
        pair = [parts["closer sentence"], parts["other sentence"]]
        known |= {"reference": parts["sentence A"], "pair": pair, "vote": 1}
    else:
        known |= {"pair": [parts["better sentence"], parts["worse sentence"]], "vote": 1}
    return known | ({"why": parts[WHY]} if parts.get(WHY) else {})


def _make_item(parts: Parts) -> dict[str, Any]:
    item: dict[str, Any] = {"image": parts["image"]}
    if "other sentence" in parts:
        item["pair"] = [parts["sentence"], parts["other sentence"]]
        if "sentence A" in parts:
            item["reference"] = parts["sentence A"]
        systems = [parts.get("system", ""), parts.get("other system", "")]
        if any(systems):
            if not all(systems):
                raise ValueError(_("name both systems, or none"))
            item["systems"] = systems
    elif "sentence" in parts:
        item["caption"] = parts["sentence"]
        if parts.get("system"):
            item["system"] = parts["system"]
    return item


def _make_example(parts: Parts) -> dict[str, Any]:
    verdict = parts["accepted or rejected"].casefold()
    # In the language of the page, or as files have it.
    good, bad = (("accepted", _("accepted")), ("rejected", _("rejected")))
    if verdict not in (*good, *bad):
        wrong = _("write accepted or rejected, not {verdict!r}")
        raise ValueError(wrong.format(verdict=verdict))
    accepted = verdict in good
    return {"sentence": parts["sentence"], "accepted": accepted, "why": parts.get(WHY, "")}
