"""Template filters for text: translated codes, and line breaks within long words."""

from __future__ import annotations

import re

from django import template
from django.utils.formats import get_format
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from cidery_server.web.translation import noop

register = template.Library()

PIECE = 12
"""Characters of an overlong word that stay on one line."""
_OVERLONG = re.compile(r"\S{25,}")
_PIECES = re.compile(rf"\S{{1,{PIECE}}}")
WORDS = {
    "owner": gettext_lazy("owner"),
    "team": gettext_lazy("team"),
    "pilot": gettext_lazy("pilot"),
    "open": pgettext_lazy("state", "open"),
    "decided": gettext_lazy("decided"),
    "closed": pgettext_lazy("state", "closed"),
    "pairwise": gettext_lazy("pairs"),
    "triplet": gettext_lazy("triplets"),
    "rating": gettext_lazy("ratings"),
    "collection": gettext_lazy("sentences"),
    "tie": gettext_lazy("tie"),
    "neither": gettext_lazy("neither"),
    "skip": gettext_lazy("skipped"),
    "broken": gettext_lazy("image not visible"),
    "first": gettext_lazy("first"),
    "second": gettext_lazy("second"),
    "queued": gettext_lazy("queued"),
    "scoring": gettext_lazy("being scored"),
    "scored": gettext_lazy("scored"),
    "failed": gettext_lazy("failed"),
    "asked": gettext_lazy("asked"),
    "approved": gettext_lazy("approved"),
    "refused": gettext_lazy("refused"),
    "shown": gettext_lazy("shown"),
    "withheld": gettext_lazy("withheld"),
    "released": gettext_lazy("released"),
    "kept": gettext_lazy("kept hidden"),
    "public": gettext_lazy("public"),
    "unlisted": gettext_lazy("unlisted"),
    "hidden": gettext_lazy("hidden"),
    "ok": gettext_lazy("ok"),
}
"""Names of the JSON codes on pages."""
REASONS = (
    noop("by rule: {right} of {count} checks right"),
    noop("scores 0 on more than {share} of the {count} images of {slice}"),
    noop("scores 0 on more than {share} of the {count} images"),
    noop("differs from submission {number} on {changes} of {count} images of {slice}"),
    noop("differs from submission {number} on {changes} of {count} images"),
)
"""Reasons of automatic decisions; the database has them in English."""
_PATTERNS = [
    (re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+)", re.escape(reason))), reason)
    for reason in REASONS
]


@register.filter
def spoken(code: str) -> str:
    """Return the text of a code in the JSON; other values are unchanged."""
    return str(WORDS.get(code, code))


@register.filter
def retold(reason: str) -> str:
    """Return a stored reason in the reader's language; other texts are unchanged."""
    for pattern, known in _PATTERNS:
        if found := pattern.fullmatch(reason):
            return gettext(known).format(**found.groupdict())
    return reason


@register.filter
def written(number: str) -> str:
    """Return a number that is text already with the reader's decimal separator."""
    return str(number).replace(".", get_format("DECIMAL_SEPARATOR"))


@register.filter
def breakable(text: object) -> SafeString:
    """Let overlong words break inside a table's cell; all others stay whole."""
    written = str(text)
    pieces: list[str] = []
    end = 0
    for word in _OVERLONG.finditer(written):
        pieces.append(conditional_escape(written[end : word.start()]))
        pieces.append("<wbr>".join(map(conditional_escape, _PIECES.findall(word[0]))))
        end = word.end()
    pieces.append(conditional_escape(written[end:]))
    return SafeString("".join(pieces))
