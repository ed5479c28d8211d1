"""Markdown of organizers, without HTML and without remote images."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.token import Token

register = template.Library()
LEVELS_ABOVE = 2
"""Number of heading levels of the page, above those of a text."""
LOWEST = 6

# Line breaks are kept: texts that were written as plain text look as they did.
_parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "breaks": True})
_parser.enable(["table", "linkify"]).disable("image")


@register.filter
def markdown(text: str) -> SafeString:
    """Return Markdown as HTML; HTML in it is shown as text, only web and mail links are allowed."""
    tokens = _parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + LEVELS_ABOVE, LOWEST)}"
        for inner in token.children or ():
            _guard_link(inner)
    html: str = _parser.renderer.render(tokens, _parser.options, {})
    return SafeString(html)


def _guard_link(token: Token) -> None:
    if token.type == "link_open":
        token.attrSet("rel", "nofollow noopener")
