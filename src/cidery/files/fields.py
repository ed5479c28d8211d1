"""Fields of records that contain the image id and the captions.

Well-known names are read by default. If several fields may contain captions, none is guessed: the
error lists them and the option that chooses one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from cidery.files.sources import Source

Side: TypeAlias = Literal["candidates", "references"]
"""Candidates or references."""

ID_FIELDS = (
    *("image_id", "cocoid", "imgid", "id", "image", "image_name", "file_name", "filename"),
    *("audio", "audio_id", "video", "video_id"),
)
OWN_FIELDS: dict[Side, tuple[str, ...]] = {
    "candidates": ("candidates", "candidate"),
    "references": ("references", "refs"),
}
SHARED_FIELDS = ("captions", "caption", "sentences")
"""Fields of candidates in files of candidates, of references in files of references."""
CAPTION_FIELDS = (*OWN_FIELDS["candidates"], *OWN_FIELDS["references"], *SHARED_FIELDS)

_NUMBER = r"[ _.\-]?(?:([0-9]+)|\[([0-9]+)\])"
_NUMBERED = re.compile(rf"(?:caption|sentence)s?{_NUMBER}", re.IGNORECASE)
_OWN_NUMBERED: dict[Side, re.Pattern[str]] = {
    "candidates": re.compile(rf"candidates?{_NUMBER}", re.IGNORECASE),
    "references": re.compile(rf"(?:ref|reference)s?{_NUMBER}", re.IGNORECASE),
}
"""Numbered fields, such as `caption_1`, `ref1` and `references[0]`."""
_RIVAL_WORDS: dict[Side, frozenset[str]] = {
    "candidates": frozenset(
        (
            *("candidate", "candidates", "completion", "completions", "decoded", "gen"),
            *("generated", "generation", "generations", "hyp", "hyps", "hypotheses", "hypothesis"),
            *("answer", "answers", "output", "outputs", "pred", "preds", "predicted"),
            *("prediction", "predictions", "response", "responses", "result", "results"),
        )
    ),
    "references": frozenset(
        (
            *("reference", "references", "ref", "refs", "gold", "gt", "gts", "ground", "truth"),
            *("truths", "groundtruth", "groundtruths", "human", "target", "targets"),
        )
    ),
}
"""Words in names of fields that may contain captions, but are not read by default."""
_PLAIN_WORDS = frozenset(
    ("caption", "captions", "image", "model", "sentence", "sentences", "string", "text", "texts")
)
OPTIONS: dict[Side, str] = {"candidates": "--caption-field", "references": "--reference-field"}
"""Options of the command line."""
_CALLED: dict[Side, str] = {"candidates": "the captions to score", "references": "the references"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Fields that the user chose; None: well-known names."""

    id: str | None = None
    captions: str | None = None


@dataclass(frozen=True, slots=True)
class Fields:
    """Field of the id, and field or numbered fields of the captions."""

    id: str
    captions: tuple[str, ...]
    numbered: bool = False


def find_fields(present: Mapping[str, bool], side: Side, chosen: Chosen, source: Source) -> Fields:
    """Return the fields to read.

    Args:
        present: fields of the first record, and True if the value may be captions.
        side: candidates or references.
        chosen: fields that the user chose.
        source: source, for messages.
    """
    id_field = _find_id(present, side, chosen.id, source)
    if chosen.captions is not None:
        if chosen.captions not in present:
            source.fail(
                f"there is no field {chosen.captions!r}, which caption_field= ({OPTIONS[side]}) "
                f"names; found {spell_fields(present)}"
            )
        return Fields(id_field, (chosen.captions,))
    own = [name for name in OWN_FIELDS[side] if name in present]
    if numbered := () if own else _find_numbered(present, _OWN_NUMBERED[side]):
        return Fields(id_field, numbered, numbered=True)
    numbered = _find_numbered(present, _NUMBERED)
    possible = _find_possible(present, side, numbered)
    if len(possible) > 1:
        source.fail(explain_ambiguous(possible, side))
    known = [name for name in (*OWN_FIELDS[side], *SHARED_FIELDS) if name in present]
    known = [name for name in known if name in possible] or known
    if known:
        return Fields(id_field, (known[0],))
    if not numbered:
        source.fail(
            f"no field has {side}; expected one of "
            f"{', '.join((*OWN_FIELDS[side], *SHARED_FIELDS))} or caption_1, caption_2, …, found "
            f"{spell_fields(present)}; name one with caption_field= ({OPTIONS[side]})"
        )
    return Fields(id_field, numbered, numbered=True)


def find_rivals(names: Sequence[str], side: Side, read: Fields) -> list[str]:
    """Return the fields that may contain the captions instead of the one that is read."""
    clear = side == "references" and read.captions[0] in OWN_FIELDS[side]
    shared = () if clear else SHARED_FIELDS
    return [name for name in names if name in shared or _is_rival(name, side)]


def explain_ambiguous(names: Sequence[str], side: Side) -> str:
    """Return the message about several fields that may contain captions."""
    listed = f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
    both = "both" if len(names) == 2 else "all"
    return (
        f"{listed} may {both} hold {_CALLED[side]}; name one with caption_field= ({OPTIONS[side]})"
    )


def may_be_captions(value: Any) -> bool:
    """Return True for text, lists and null."""
    return value is None or isinstance(value, str | list)


_MAX_SHOWN = 20


def spell_fields(names: Mapping[str, Any] | Sequence[str]) -> str:
    """Return names of fields for a message."""
    shown = ", ".join(name[:60] for name in list(names)[:_MAX_SHOWN]) or "none"
    return f"{shown}, …" if len(names) > _MAX_SHOWN else shown


def _find_id(present: Mapping[str, bool], side: Side, chosen: str | None, source: Source) -> str:
    if chosen is not None:
        if chosen not in present:
            hint = "; --reference-id-field names that of the references alone"
            source.fail(
                f"there is no field {chosen!r}, which id_field= (--id-field) names; found "
                f"{spell_fields(present)}{hint if side == 'references' else ''}"
            )
        return chosen
    found = next((field for field in ID_FIELDS if field in present), None)
    if found is None:
        source.fail(
            f"no field names the image; expected one of {', '.join(ID_FIELDS)}, found "
            f"{spell_fields(present)}; name one with id_field= (--id-field)"
        )
    return found


def _find_numbered(present: Mapping[str, bool], pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Return caption_1, caption_2, … in the order of their numbers."""
    numbered = {
        int(match[1] or match[2]): name for name in present if (match := pattern.fullmatch(name))
    }
    return tuple(numbered[number] for number in sorted(numbered))


def _find_possible(present: Mapping[str, bool], side: Side, numbered: Sequence[str]) -> list[str]:
    """Return the fields that may contain the captions, well-known names first."""
    own = [name for name in OWN_FIELDS[side] if present.get(name)]
    shared = [name for name in SHARED_FIELDS if present.get(name)]
    rivals = [
        name
        for name, may_be in present.items()
        if may_be and name not in own and _is_rival(name, side)
    ]
    if own and side == "references":
        # Beside `references`, other captions of a record are candidates.
        return [*own, *rivals]
    if not own and numbered:
        shared = [*shared, numbered[0]]
    return [*own, *shared, *rivals]


def _is_rival(name: str, side: Side) -> bool:
    """Return True for names such as `prediction` or `model_output`."""
    if side == "candidates" and name == "text":
        return True
    parted = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()  # modelOutput
    words = set(re.split(r"[_\-. ]+", parted))
    return bool(words & _RIVAL_WORDS[side]) and words <= _RIVAL_WORDS[side] | _PLAIN_WORDS
