"""How the forms of a challenge are worded and grouped."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from cidery_server.web.pages import Group

GROUPS = (
    Group(_("What it is"), [["title"], ["slug"], ["phase"], ["description"]]),
    Group(
        _("Hidden references"),
        [
            ["references", "references_name"],
            ["more_references", "more_references_name"],
            ["language"],
        ],
        _("Captions by people. They never leave the server."),
    ),
    Group(
        _("Scores"),
        [["metrics"], ["frequencies"], ["slices"], ["slices_file"]],
        _("Metrics, and groups of images that are scored apart too."),
        folded=True,
    ),
    Group(
        _("When, and how often"),
        [["opens", "closes"], ["per_day", "in_all"]],
        _("Open at once and without an end, if you leave it; limits for each team."),
        folded=True,
    ),
    Group(
        _("Who takes part, and what is seen"),
        [
            *(["visibility"], ["entry"]),
            *(["leaderboard_open"], ["scores_hidden"], ["image_scores_open"]),
        ],
        _("Listed for everyone, for teams that you approve, if you leave it."),
        folded=True,
    ),
    Group(
        _("Protection of the references"),
        [["exact_scores"], ["probes_shown"]],
        _("What scores may tell about single references: little, if you leave it."),
        folded=True,
    ),
)
LABELS = {
    "title": _("Title"),
    "slug": _("Short name"),
    "description": _("Description"),
    "references": _("File of references"),
    "references_name": _("Name of these references"),
    "more_references": _("A second file of references"),
    "more_references_name": _("Name of the second ones"),
    "language": _("Language of the captions"),
    "metrics": _("Metrics"),
    "frequencies": _("Document frequencies"),
    "slices": _("Slices"),
    "slices_file": _("File of slices"),
    "opens": _("Opens"),
    "closes": _("Closes"),
    "visibility": _("Who finds it"),
}
