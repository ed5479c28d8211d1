"""Labels and groups of the fields of challenge forms."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from cidery_server.web.pages import Group

GROUPS = (
    Group(_("Description"), [["title"], ["slug"], ["phase"], ["description"]]),
    Group(
        _("Hidden references"),
        [
            ["references", "references_name"],
            ["more_references", "more_references_name"],
            ["language"],
        ],
        _("Captions written by people. Teams never see them."),
    ),
    Group(
        _("Scores"),
        [["metrics"], ["frequencies"], ["slices"], ["slices_file"]],
        _("Metrics, and slices of images."),
        folded=True,
    ),
    Group(
        _("Dates and limits"),
        [["opens", "closes"], ["per_day", "in_all"]],
        _("Default: open immediately, without an end. Limits apply to each team."),
        folded=True,
    ),
    Group(
        _("Participation and visibility"),
        [
            *(["visibility"], ["entry"]),
            *(["leaderboard_open"], ["scores_hidden"], ["image_scores_open"]),
        ],
        _("Default: listed for everyone; teams need your approval."),
        folded=True,
    ),
    Group(
        _("Protection of the references"),
        [["exact_scores"], ["probes_shown"]],
        _("Protection of single references against reconstruction from scores. Default: strict."),
        folded=True,
    ),
)
LABELS = {
    "title": _("Title"),
    "slug": _("Short name"),
    "description": _("Description"),
    "references": _("File of references"),
    "references_name": _("Name of this set"),
    "more_references": _("Second file of references"),
    "more_references_name": _("Name of the second set"),
    "language": _("Language of the captions"),
    "metrics": _("Metrics"),
    "frequencies": _("Document frequencies"),
    "slices": _("Slices"),
    "slices_file": _("File of slices"),
    "opens": _("Opens"),
    "closes": _("Closes"),
    "visibility": _("Visibility"),
}
