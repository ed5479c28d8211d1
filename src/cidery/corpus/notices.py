"""Notices about captions: how they were read and matched, and which look wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cidery.corpus.ids import ImageId
from cidery.errors import InputError, InputNote, InputWarning, warn_caller


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark about captions: how they were read or matched, or that some look wrong."""

    kind: str
    """`"list-text"`, `"ids"`, `"empty"`, … or the name of a kind of debris."""
    message: str
    """Sentence that begins with the name of the file."""
    count: int = 0
    """Number of captions, images or rows that it is about."""
    example: str | None = None
    is_warning: bool = False
    """True where captions look wrong; an error with `strict`."""

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        level = "warning" if self.is_warning else "note"
        found = {"kind": self.kind, "level": level, "message": self.message, "count": self.count}
        return found | ({} if self.example is None else {"example": self.example})


class ReadReferences(dict[ImageId, list[str]]):
    """References as they were read, with notices about the reading."""

    notices: tuple[Notice, ...] = ()


class ReadCandidates(list[tuple[ImageId, str]]):
    """Rows of candidates as they were read, with notices about the reading."""

    notices: tuple[Notice, ...] = ()


def get_notices(given: Any) -> tuple[Notice, ...]:
    """Return the notices of captions that were read from a file; none of others."""
    found = getattr(given, "notices", ())
    return found if isinstance(found, tuple) else ()


def issue_notices(notices: Iterable[Notice], *, strict: bool = False) -> None:
    """Warn of notices at the line that called cidery; raise an InputError if `strict` is True.

    Args:
        notices: notices that have not been issued.
        strict: raise an error for those that are warnings.
    """
    notices = list(dict.fromkeys(notices))
    wrong = [notice.message for notice in notices if notice.is_warning]
    if strict and wrong:
        raise InputError(f"{'; '.join(wrong)} (an error because of strict=True, --strict)")
    for notice in notices:
        warn_caller(notice.message, InputWarning if notice.is_warning else InputNote)
