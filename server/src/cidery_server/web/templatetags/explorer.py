"""The texts of the explorer of images, whose scripts are those of reports too."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

register = template.Library()

TEXTS = (
    _("The captions cannot be shown: {detail}"),
    _("There is nothing to show yet."),
    _("The captions cannot be loaded now. Reload the page to try again."),
    _("Show first"),
    _("Metric"),
    _("Other metric"),
    _("System"),
    _("Other system"),
    _("Text or id"),
    _("all"),
    _("Value from"),
    _("to"),
    _("Link to this view"),
    _("Images"),
    _("One image"),
    _("← Previous"),
    _("Next →"),
    _("Images to show"),
    _("Keys in the list: ↑ ↓ or j k, Page up, Page down, Home, End; / searches"),
    _("{count} image"),
    _("{count} images"),
    _("{count} of {all} images"),
    _("Value: {what}"),
    _("{metric} of {system}"),
    _("The image is not available."),
    _("No image matches. Remove a filter."),
    _("Image"),
    _("{number} of {count}"),
    _("{count} reference"),
    _("{count} references"),
    _("(caption not shown)"),
    _("best here"),
    _("earned {value}"),
    _("cost {value}"),
    _("Contributions of words to {metric} (underlined: negative):"),
    _("metric"),
    _("Scores of this image"),
    _("Biggest wins and losses"),
    _("Biggest wins of {system}"),
    _("Biggest losses of {system}"),
    _("Lowest scores of {system}"),
    _("Highest scores of {system}"),
    _("Systems differ most"),
    _("highest {metric} − lowest"),
    _("Metrics disagree most about {system}"),
    _("rank by {metric} − rank by {other}, from 0 to 1"),
    _("Order of the file"),
)
"""Texts of the explorer's scripts; a test compares them."""


@register.simple_tag
def explorer_texts() -> dict[str, str]:
    """Return the texts, each with its translation."""
    return {text: gettext(text) for text in TEXTS}
