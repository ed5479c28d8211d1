"""How the forms of a study are worded and grouped."""

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
        _("What judges do"),
        [["title"], ["name"], ["design"], ["question"], ["questions"], ["language"]],
    ),
    Group(
        _("Captions and images"),
        [
            *(["results_1"], ["results_2"], ["results_more"], ["references"]),
            *(["image_files"], ["images"], ["sample"]),
        ],
        _("Files that you have already, as metrics read them."),
    ),
    Group(
        _("The scale"),
        [
            ["scale_low", "scale_high", "scale_step"],
            ["scale_low_label", "scale_high_label"],
        ],
        _("From 1, the worst, to 5, the best, if you leave it."),
        folded=True,
        only_for="rating",
    ),
    Group(
        _("Rules for sentences"),
        [["fewest_words", "most_words"], ["forbidden"], ["examples"]],
        _("8 to 100 words, if you leave it."),
        folded=True,
        only_for="collection",
    ),
    Group(
        _("Other answers"),
        [["allow_ties"], ["allow_neither"], ["allow_skip"], ["ask_comment"]],
        _("Ties, skipping, comments: none, if you leave it."),
        folded=True,
    ),
    Group(
        _("What judges read first"),
        [["instructions"], ["consent"], ["contact"]],
        _("Short instructions and a consent are there."),
        folded=True,
    ),
    Group(
        _("How many judges, and when"),
        [["judges_each", "items_per_judge"], ["timeout_minutes", "state"], ["stop_when_decided"]],
        _("3 judges for each item, open at once."),
        folded=True,
    ),
    Group(
        _("Quality"),
        [
            *(["checks"], ["training"], ["check_every", "checks_before"]),
            ["fewest_checks_right", "fewest_seconds"],
        ],
        _("Attention checks, items to learn by, and whom to exclude."),
        folded=True,
    ),
    Group(
        _("Crowdsourcing sites"),
        [["completion_code"], ["completion_url"], ["frames"]],
        _("What Prolific or Mechanical Turk needs."),
        folded=True,
    ),
    Group(
        _("Other items"),
        [["items"], ["items_file"], ["sets"], ["together"], ["references_each", "seed"]],
        _("Ready-made items, sets of captions, which images are drawn."),
        folded=True,
    ),
)
LABELS = {
    "title": _("Title"),
    "name": _("Short name"),
    "design": _("Judges …"),
    "question": _("Question"),
    "language": _("Language of judges' pages"),
    "results_1": _("Captions of a system"),
    "results_2": _("Captions of a second system"),
    "results_more": _("Captions of further systems"),
    "references": _("Captions by people (references)"),
    "image_files": _("Image files"),
    "images": _("Or: the web address of images"),
    "sample": _("How many images"),
    "scale_low": _("Lowest number"),
    "scale_high": _("Highest number"),
    "scale_step": _("Step"),
    "scale_low_label": _("The lowest means"),
    "scale_high_label": _("The highest means"),
    "questions": _("Or: several questions"),
    "fewest_words": _("Fewest words"),
    "most_words": _("Most words"),
    "forbidden": _("Forbidden words"),
    "examples": _("Examples for judges"),
    "allow_ties": _("“Both are equally good”"),
    "allow_neither": _("“Neither fits”"),
    "allow_skip": _("“Skip this one”"),
    "ask_comment": _("A comment on each item"),
    "instructions": _("Instructions"),
    "consent": _("Consent"),
    "contact": _("Whom judges can ask"),
    "judges_each": _("Judges for each item"),
    "items_per_judge": _("Most items for a judge"),
    "timeout_minutes": _("Minutes for an item"),
    "state": _("Begin as"),
    "stop_when_decided": _("Stop when decided"),
    "checks": _("Attention checks"),
    "training": _("Items to learn by"),
    "check_every": _("A check every … items"),
    "checks_before": _("Checks before anyone is excluded"),
    "fewest_checks_right": _("Smallest share of checks right"),
    "fewest_seconds": _("Fewest seconds for an answer"),
    "completion_code": _("Completion code"),
    "completion_url": _("Where judges go when they are done"),
    "frames": _("Sites that may show the study in a frame"),
    "items": _("Ready-made items"),
    "items_file": _("File of items"),
    "sets": _("Rate all captions of an image as a set"),
    "together": _("Show the sets of all systems side by side"),
    "references_each": _("References for each image"),
    "seed": _("Seed of the draw"),
}
_LONG = ("instructions", "consent", "forbidden", "frames")
_ONLY_FOR = {
    "allow_ties": PAIRED,
    "allow_neither": PAIRED,
    "stop_when_decided": CAPTIONED,
}


def field_style(name: str) -> dict[str, Any]:
    """Return how a field of a study is shown: long texts in a box, and for which designs."""
    style = TEXT_STYLE if name in _LONG else {}
    return {**style, "for": _ONLY_FOR.get(name, "")}
