"""How the forms of a study are worded and grouped."""

from __future__ import annotations

from typing import Any

from cidery.app.web.pages import Group

TEXT_STYLE: dict[str, Any] = {"base_template": "textarea.html", "rows": 4}
CAPTIONED = "pairwise triplet rating"
"""Designs that show captions of systems."""
PAIRED = "pairwise triplet"
DESIGNS = (
    ("pairwise", "Choose the better of two sentences"),
    ("triplet", "Choose which of two sentences is closer to a third"),
    ("rating", "Rate sentences, or sets of them, on a scale"),
    ("collection", "Write a sentence about an image"),
)
GROUPS = (
    Group(
        "What judges do",
        [["title"], ["name"], ["design"], ["question"], ["language"]],
    ),
    Group(
        "Captions and images",
        [
            *(["results_1"], ["results_2"], ["results_more"], ["references"]),
            *(["image_files"], ["images"], ["sample"]),
        ],
        "Files that you have already, as metrics read them.",
    ),
    Group(
        "The scale",
        [
            ["scale_low", "scale_high", "scale_step"],
            ["scale_low_label", "scale_high_label"],
            ["questions"],
        ],
        "From 1, the worst, to 5, the best, if you leave it.",
        folded=True,
        only_for="rating",
    ),
    Group(
        "Rules for sentences",
        [["fewest_words", "most_words"], ["forbidden"], ["examples"]],
        "8 to 100 words, if you leave it.",
        folded=True,
        only_for="collection",
    ),
    Group(
        "Other answers",
        [["allow_ties"], ["allow_neither"], ["allow_skip"], ["ask_comment"]],
        "Ties, skipping, comments: none, if you leave it.",
        folded=True,
    ),
    Group(
        "What judges read first",
        [["instructions"], ["consent"], ["contact"]],
        "Short instructions and a consent are there.",
        folded=True,
    ),
    Group(
        "How many judges, and when",
        [["judges_each", "items_per_judge"], ["timeout_minutes", "state"]],
        "3 judges for each item, open at once.",
        folded=True,
    ),
    Group(
        "Quality",
        [
            *(["checks"], ["training"], ["check_every", "checks_before"]),
            ["fewest_checks_right", "fewest_seconds"],
        ],
        "Attention checks, items to learn by, and whom to exclude.",
        folded=True,
    ),
    Group(
        "Crowdsourcing sites",
        [["completion_code"], ["completion_url"], ["frames"]],
        "What Prolific or Mechanical Turk needs.",
        folded=True,
    ),
    Group(
        "Other items",
        [["items"], ["sets"], ["together"], ["references_each", "seed"]],
        "Ready-made items, sets of captions, which images are drawn.",
        folded=True,
    ),
)
LABELS = {
    "title": "Title",
    "name": "Short name",
    "design": "Judges …",
    "question": "Question",
    "language": "Language of judges' pages",
    "results_1": "Captions of a system",
    "results_2": "Captions of a second system",
    "results_more": "Captions of further systems",
    "references": "Captions by people (references)",
    "image_files": "Image files",
    "images": "Or: the web address of images",
    "sample": "How many images",
    "scale_low": "Lowest number",
    "scale_high": "Highest number",
    "scale_step": "Step",
    "scale_low_label": "The lowest means",
    "scale_high_label": "The highest means",
    "questions": "Several questions",
    "fewest_words": "Fewest words",
    "most_words": "Most words",
    "forbidden": "Forbidden words",
    "examples": "Examples for judges",
    "allow_ties": "“Both are equally good”",
    "allow_neither": "“Neither fits”",
    "allow_skip": "“Skip this one”",
    "ask_comment": "A comment on each item",
    "instructions": "Instructions",
    "consent": "Consent",
    "contact": "Whom judges can ask",
    "judges_each": "Judges for each item",
    "items_per_judge": "Most items for a judge",
    "timeout_minutes": "Minutes for an item",
    "state": "Begin as",
    "checks": "Attention checks",
    "training": "Items to learn by",
    "check_every": "A check every … items",
    "checks_before": "Checks before anyone is excluded",
    "fewest_checks_right": "Smallest share of checks right",
    "fewest_seconds": "Fewest seconds for an answer",
    "completion_code": "Completion code",
    "completion_url": "Where judges go when they are done",
    "frames": "Sites that may show the study in a frame",
    "items": "Ready-made items",
    "sets": "Rate all captions of an image as a set",
    "together": "Show the sets of all systems side by side",
    "references_each": "References for each image",
    "seed": "Seed of the draw",
}
_LONG = ("instructions", "consent", "forbidden", "frames")
_ONLY_FOR = {
    "allow_ties": PAIRED,
    "allow_neither": PAIRED,
}


def field_style(name: str) -> dict[str, Any]:
    """Return how a field of a study is shown: long texts in a box, and for which designs."""
    style = TEXT_STYLE if name in _LONG else {}
    return {**style, "for": _ONLY_FOR.get(name, "")}
