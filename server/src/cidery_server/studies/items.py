"""Items for judges, made from results and references or read from a file.

An item's *content* is a line of judgments without its answers, so that a study's export is its
items with the answers added:

    triplet     {"image": …, "pair": [B, C], "reference": A, "systems": […]}
    pairwise    {"image": …, "pair": [B, C], "systems": […]}
    rating      {"image": …, "caption": …, "system": …}  or  {"image": …, "captions": […]}
                or several sets side by side, {"image": …, "sets": [[…], …], "systems": […]}
    collection  {"image": …}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from cidery.errors import CideryError, FormatError, InputError, SettingError
from cidery.files import Readable, read_candidates, read_references
from cidery.meta import Record, read_judgment_records
from cidery_server.web.translation import noop
from cidery_server.web.translation import translate as _

if TYPE_CHECKING:
    from django.core.files.base import File

Design: TypeAlias = Literal["triplet", "pairwise", "rating", "collection"]
DESIGNS: tuple[Design, ...] = get_args(Design)
Content: TypeAlias = dict[str, Any]
UNSTORABLE = noop("a NUL character or an unpaired surrogate, which databases cannot store")
MAX_TEXT_LENGTH = 2000
"""Maximum number of characters of a sentence."""
MAX_SETS = 12
"""Maximum number of sets side by side."""


@dataclass(frozen=True)
class Sources:
    """Sources of items: captions of systems and references, by image."""

    results: Mapping[str, Mapping[str, Sequence[str]]]
    """system -> image -> captions"""
    references: Mapping[str, Sequence[str]]

    @classmethod
    def read(
        cls,
        results: Mapping[str, Readable],
        references: Readable | None = None,
    ) -> Sources:
        """Read files, given as paths or open, in any format that `cidery score` reads."""
        found: dict[str, dict[str, list[str]]] = {}
        for system, source in results.items():
            captions = found.setdefault(system, {})
            for image, caption in read_candidates(source):
                captions.setdefault(str(image), []).append(caption)
        known = {} if references is None else read_references(references)
        return cls(found, {str(image): captions for image, captions in known.items()})


def make_items(
    design: Design,
    sources: Sources,
    *,
    sets: bool = False,
    together: bool = False,
    references_each: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> list[Content]:
    """Return items of a design from captions.

    Args:
        design: what is asked.
        sources: of captions.
        sets: rate all captions that a system has for an image together, as a set.
        together: show the sets of all systems side by side.
        references_each: triplets: so many references of each image, the first; all by default.
        sample: so many images, drawn by the seed; all by default.
        seed: of the sample.

    ```python
    make_items("pairwise", Sources.read({"ours": "a.json", "theirs": "b.json"}), sample=100)
    ```
    """
    images = _draw_images(sources, sample, seed)
    if design == "collection":
        return [{"image": image} for image in images]
    if design == "rating":
        return list(_side_by_side(sources, images) if together else _rated(sources, images, sets))
    pairs = list(_pairs(sources, images))
    if design == "pairwise":
        return pairs
    return list(_triplets(pairs, sources.references, references_each))


def _draw_images(sources: Sources, sample: int | None, seed: int) -> list[str]:
    images = list(dict.fromkeys(image for found in sources.results.values() for image in found))
    images = images or list(sources.references)
    if not images:
        raise InputError(_("items are made from results or references; neither has an image"))
    if sample is None or sample >= len(images):
        return images
    if sample < 1:
        raise SettingError(
            _("the sample must contain at least 1 image, not {sample}").format(sample=sample)
        )
    drawn = np.random.default_rng(seed).permutation(len(images))[:sample]
    return [images[place] for place in np.sort(drawn)]


def _pairs(sources: Sources, images: Iterable[str]) -> Iterator[Content]:
    """Yield the first captions of every two systems, where both have one and they differ."""
    if len(sources.results) < 2:
        raise InputError(
            _("pairs need the results of two systems, not of {count}").format(
                count=len(sources.results)
            )
        )
    for image in images:
        for one, other in combinations(sources.results, 2):
            first, second = (sources.results[s].get(image, [""])[0] for s in (one, other))
            if first and second and first != second:
                yield {"image": image, "pair": [first, second], "systems": [one, other]}


def _triplets(
    pairs: Iterable[Content], references: Mapping[str, Sequence[str]], count: int | None
) -> Iterator[Content]:
    for pair in pairs:
        if pair["image"] not in references:
            raise InputError(
                _("image {image!r} has no references to compare with").format(image=pair["image"])
            )
        for reference in references[pair["image"]][:count]:
            yield {**pair, "reference": reference}


def _rated(sources: Sources, images: Iterable[str], sets: bool) -> Iterator[Content]:
    for image in images:
        for system, captions in sources.results.items():
            found = captions.get(image, [])
            if sets and len(found) > 1:
                yield {"image": image, "captions": list(found), "system": system}
            elif not sets:
                for caption in found:
                    yield {"image": image, "caption": caption, "system": system}


def _side_by_side(sources: Sources, images: Iterable[str]) -> Iterator[Content]:
    """Yield the sets of all systems, of images where at least two systems have one."""
    if len(sources.results) > MAX_SETS:
        raise InputError(
            _("at most {most} sets are shown side by side, not those of {count} systems").format(
                most=MAX_SETS, count=len(sources.results)
            )
        )
    for image in images:
        sets = {s: list(found.get(image, ())) for s, found in sources.results.items()}
        sets = {system: captions for system, captions in sets.items() if len(captions) > 1}
        if len(sets) > 1:
            yield {"image": image, "sets": list(sets.values()), "systems": list(sets)}


def read_item_file(file: File[Any]) -> list[Record]:
    """Read the same from a file that was uploaded."""
    name = Path(file.name or "items").name
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"items{Path(name).suffix.lower()}"
        path.write_bytes(file.read())
        try:
            records = list(read_judgment_records(path))
        except CideryError as error:
            raise FormatError(str(error).replace(str(path), name)) from None
    return [Record(one.content, one.place.replace(str(path), name)) for one in records]


def check_content(design: Design, record: Record) -> Content:
    """Return the content of a line; raise an error if it is invalid."""
    content: Content = {"image": record.text("image")}
    if design in ("triplet", "pairwise"):
        content["pair"] = record.texts("pair", fewest=2)
        if len(content["pair"]) != 2:
            record.refuse(
                _("a pair has 2 captions, not {count}").format(count=len(content["pair"]))
            )
        if design == "triplet":
            content["reference"] = record.text("reference")
    elif design == "rating":
        if "sets" in record:
            content["sets"] = _check_sets(record)
        elif "captions" in record:
            content["captions"] = record.texts("captions", fewest=2)
        else:
            content["caption"] = record.text("caption")
    if "systems" in record:
        content["systems"] = record.texts("systems", fewest=2)
        named = content.get("sets") or content.get("pair") or content["systems"]
        if len(content["systems"]) != len(named):
            record.refuse(
                _("expected {count} systems, found {found}").format(
                    count=len(named), found=len(content["systems"])
                )
            )
    for key in ("system", "kind"):
        if key in record:
            content[key] = record.text(key)
    for text in texts_of(content):
        if len(text) > MAX_TEXT_LENGTH:
            record.refuse(
                _("a sentence has {count} characters, more than {longest}").format(
                    count=len(text), longest=MAX_TEXT_LENGTH
                )
            )
        if not is_storable(text):
            record.refuse(_("a text contains {unstorable}").format(unstorable=_(UNSTORABLE)))
    return content


def _check_sets(record: Record) -> list[list[str]]:
    given = record.content["sets"]
    if not isinstance(given, list) or not 2 <= len(given) <= MAX_SETS:
        record.refuse(
            _("expected a list of 2 to {most} sets of captions in 'sets'").format(most=MAX_SETS)
        )
    return [Record({"set": one}, record.place).texts("set", fewest=2) for one in given]


def is_storable(text: str) -> bool:
    """Return True if databases take a text: without NUL and surrogates."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def texts_of(content: Content) -> Iterator[str]:
    """Yield every text of an item."""
    for value in content.values():
        for part in [value] if isinstance(value, str) else value:
            yield from [part] if isinstance(part, str) else part


def get_answers(design: Design, record: Record) -> list[float]:
    """Return the answers of a line, possibly empty."""
    keys = ("votes", "vote") if design in ("triplet", "pairwise") else ("ratings", "rating")
    if not any(key in record for key in keys):
        return []
    answers = record.numbers(*keys)
    if keys[0] == "votes" and any(vote not in (-1, 0, 1) for vote in answers):
        record.refuse(_("a vote is 1 (the first), -1 (the second) or 0 (neither)"))
    return answers
