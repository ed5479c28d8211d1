"""Where long words may break."""

from __future__ import annotations

import re

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

register = template.Library()

PIECE = 12
"""Characters of an overlong word that stay on one line."""
_OVERLONG = re.compile(r"\S{25,}")
_PIECES = re.compile(rf"\S{{1,{PIECE}}}")


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
