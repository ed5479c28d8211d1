"""Texts in the reader's language.

`gettext` of Django needs its settings, which modules do without that also work outside of the app.
"""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext


def noop(message: str) -> str:
    """Mark a text for translators where it is not shown yet."""
    return message


def translate(message: str) -> str:
    """Return a text in the language of the page; unchanged without the app."""
    return gettext(message) if settings.configured else message
