"""Labels and groups of the fields of study forms."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from cidery_server.web.pages import Group

TEXT_STYLE: dict[str, Any] = {"base_template": "textarea.html", "rows": 4}
CAPTIONED = "pairwise triplet rating"
"""Designs that show captions of systems."""
PAIRED = "pairwise triplet"
DESIGNS = (
    ("pairwise", _("Choose the better of two sentences")),
    ("triplet", _("Choose which of two sentences is closer to a third")),
    ("rating", _("Rate sentences, or sets of them, on a scale")),
    ("collection", _("Write a sentence about an image")),
)
GROUPS = (
    Group(
        _("Task"),
        [["title"], ["name"], ["design"], ["question"], ["questions"], ["language"]],
    ),
    Group(
        _("Captions and images"),
        [
            *(["results_1"], ["results_2"], ["results_more"], ["references"]),
            *(["image_files"], ["images"], ["sample"]),
        ],
        _("Result files, in any format that cidery reads."),
    ),
    Group(
        _("The scale"),
        [
            ["scale_low", "scale_high", "scale_step"],
            ["scale_low_label", "scale_high_label"],
        ],
        _("Default: 1 (worst) to 5 (best)."),
        folded=True,
        only_for="rating",
    ),
    Group(
        _("Rules for sentences"),
        [["min_words", "max_words"], ["forbidden"], ["examples"]],
        _("Default: 8 to 100 words."),
        folded=True,
        only_for="collection",
    ),
    Group(
        _("Other answers"),
        [["allow_ties"], ["allow_neither"], ["allow_skip"], ["ask_comment"]],
        _("Ties, skipping, comments. Default: none."),
        folded=True,
    ),
    Group(
        _("Instructions and consent"),
        [["instructions"], ["consent"], ["contact"]],
        _("Default: short instructions and a consent text."),
        folded=True,
    ),
    Group(
        _("Judges and dates"),
        [["judges_each", "items_per_judge"], ["timeout_minutes", "state"], ["stop_when_decided"]],
        _("Default: 3 judges per item, open immediately."),
        folded=True,
    ),
    Group(
        _("Quality"),
        [
            *(["checks"], ["training"], ["check_every", "checks_before"]),
            ["fewest_checks_right", "fewest_seconds"],
        ],
        _("Attention checks, training items and rules for exclusion."),
        folded=True,
    ),
    Group(
        _("Crowdsourcing sites"),
        [["completion_code"], ["completion_url"], ["frames"]],
        _("Settings for Prolific and Mechanical Turk."),
        folded=True,
    ),
    Group(
        _("Other items"),
        [["items"], ["items_file"], ["sets"], ["together"], ["references_each", "seed"]],
        _("Items from a file, sets of captions, random sample of images."),
        folded=True,
    ),
)
LABELS = {
    "title": _("Title"),
    "name": _("Short name"),
    "design": _("Task of the judges"),
    "question": _("Question"),
    "language": _("Language of judges' pages"),
    "results_1": _("Captions of a system"),
    "results_2": _("Captions of a second system"),
    "results_more": _("Captions of further systems"),
    "references": _("References (captions written by people)"),
    "image_files": _("Image files"),
    "images": _("Web address of the images"),
    "sample": _("Number of images"),
    "scale_low": _("Lowest rating"),
    "scale_high": _("Highest rating"),
    "scale_step": _("Step"),
    "scale_low_label": _("Label of the lowest rating"),
    "scale_high_label": _("Label of the highest rating"),
    "questions": _("Several questions"),
    "min_words": _("Minimum number of words"),
    "max_words": _("Maximum number of words"),
    "forbidden": _("Forbidden words"),
    "examples": _("Examples for judges"),
    "allow_ties": _("“Both are equally good”"),
    "allow_neither": _("“Neither fits”"),
    "allow_skip": _("“Skip this one”"),
    "ask_comment": _("Comments"),
    "instructions": _("Instructions"),
    "consent": _("Consent"),
    "contact": _("Contact for judges"),
    "judges_each": _("Judges per item"),
    "items_per_judge": _("Maximum number of items per judge"),
    "timeout_minutes": _("Minutes per item"),
    "state": _("Initial state"),
    "stop_when_decided": _("Stop when decided"),
    "checks": _("Attention checks"),
    "training": _("Training items"),
    "check_every": _("Items per attention check"),
    "checks_before": _("Minimum number of checks"),
    "fewest_checks_right": _("Minimum share of correct checks"),
    "fewest_seconds": _("Minimum time for an answer, in seconds"),
    "completion_code": _("Completion code"),
    "completion_url": _("Address after completion"),
    "frames": _("Sites that may show the study in a frame"),
    "items": _("Ready-made items"),
    "items_file": _("File of items"),
    "sets": _("Rate all captions of an image as a set"),
    "together": _("Show the sets of all systems side by side"),
    "references_each": _("References per image"),
    "seed": _("Random seed"),
}
_LONG = ("instructions", "consent", "forbidden", "frames")
_ONLY_FOR = {
    "allow_ties": PAIRED,
    "allow_neither": PAIRED,
    "stop_when_decided": CAPTIONED,
}


def field_style(name: str) -> dict[str, Any]:
    """Return the style of a form field, and the designs that have it."""
    style = TEXT_STYLE if name in _LONG else {}
    return {**style, "for": _ONLY_FOR.get(name, "")}
