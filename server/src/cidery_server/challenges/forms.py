"""Forms of challenges, settings and submissions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from cidery.client import LARGEST_UPLOAD, MEGABYTE
from cidery.errors import CideryError
from cidery.frequencies import SHIPPED
from cidery.metrics import get_metrics
from cidery.text import get_language
from cidery_server.challenges.form_labels import GROUPS, LABELS
from cidery_server.challenges.models import (
    MAX_METRIC_LENGTH,
    MAX_SLICE_LENGTH,
    Challenge,
    Submission,
)
from cidery_server.web.metric_files import refuse_files
from cidery_server.web.models import NAME_LENGTH
from cidery_server.web.names import check_printable
from cidery_server.web.pages import GroupedForm
from cidery_server.web.translation import translate as _

OF_MAIN = ("slug", "title", "entry", "probes_shown")
"""Fields of a phase that are those of its main challenge."""
LOCAL_TIME = "%Y-%m-%dT%H:%M"
"""Time format of form fields in browsers; all times are UTC."""
SET_NAME = RegexValidator(
    r"\A[-\w]{1,30}\Z", gettext_lazy("A name may contain only letters, digits, - and _.")
)


BETWEEN_METRICS = re.compile(r"\s+|,(?!\w+=)")
"""Blanks and commas, but not those in `cider-d:n=3,sigma=4`."""


class MetricNames(serializers.CharField):
    """Names of metrics, a list or words; at least one."""

    def to_internal_value(self, data: Any) -> Any:
        """Return a list of known names."""
        if isinstance(data, list) and all(isinstance(name, str) for name in data):
            data = " ".join(data)
        names = [name for name in BETWEEN_METRICS.split(super().to_internal_value(data)) if name]
        try:
            chosen = get_metrics(names)
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None
        if not self.context.get("local"):
            refuse_files(names)
        lower = [label for label, metric in chosen.items() if metric.lower_is_better]
        if lower:
            raise serializers.ValidationError(
                _(
                    "leaderboards rank the highest score first, but for {metrics} lower is better"
                ).format(metrics=", ".join(lower))
            )
        long = next((label for label in chosen if len(label) > MAX_METRIC_LENGTH), None)
        if long is not None:
            raise serializers.ValidationError(
                _(
                    "{metric}… is longer than {longest} characters; omit settings that have"
                    " their default values"
                ).format(metric=long[:40], longest=MAX_METRIC_LENGTH)
            )
        return names

    def to_representation(self, value: Any) -> str:
        """Return words."""
        return " ".join(value)


class LanguageCode(serializers.CharField):
    """The code or the English name of a language."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the code of a supported language."""
        given = super().to_internal_value(data)
        try:
            return get_language(given).code if given else ""
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None


class SettingsForm(GroupedForm, serializers.ModelSerializer[Challenge]):
    """Form of the fields that the owner may change while a challenge runs."""

    groups = GROUPS
    labels = LABELS

    opens = serializers.DateTimeField(
        required=False,
        allow_null=True,
        format=LOCAL_TIME,
        help_text=gettext_lazy("UTC. Blank: immediately."),
    )
    closes = serializers.DateTimeField(
        required=False,
        allow_null=True,
        format=LOCAL_TIME,
        help_text=gettext_lazy("UTC. Blank: never."),
    )

    class Meta:
        """The fields in the order of the form."""

        model = Challenge
        fields: tuple[str, ...] = (
            *("title", "description", "opens", "closes", "per_day", "in_all", "visibility"),
            *("entry", "leaderboard_open", "scores_hidden", "exact_scores", "probes_shown"),
            *("image_scores_open", "phase"),
        )
        extra_kwargs: Mapping[str, Any] = {  # as REST framework has it
            "description": {
                "help_text": gettext_lazy(
                    "Markdown: paragraphs, lists, **bold**, [links](https://…), tables."
                ),
                "style": {"base_template": "textarea.html"},
            },
            "per_day": {
                "label": gettext_lazy("Submissions per team and day"),
                "initial": 5,
                "min_value": 1,
                "max_value": 10**6,
            },
            "in_all": {
                "label": gettext_lazy("Submissions per team in all"),
                "initial": 50,
                "min_value": 1,
                "max_value": 10**6,
            },
            "entry": {"label": gettext_lazy("Who may submit"), "initial": "approved"},
            "leaderboard_open": {
                "label": gettext_lazy("Everyone sees the leaderboard"),
                "initial": True,
            },
            "scores_hidden": {
                "label": gettext_lazy("Teams see no scores until the challenge closes")
            },
            "exact_scores": {
                "label": gettext_lazy("Teams see all digits of scores"),
                "help_text": gettext_lazy(
                    "If not set: only the digits that are significant for this number of images."
                ),
            },
            "probes_shown": {
                "label": gettext_lazy(
                    "Number of probes whose scores are shown, all teams together"
                ),
                "initial": 2,
                "max_value": 10**6,
                "help_text": gettext_lazy(
                    "Submissions that differ from another one on few images, or score 0 on "
                    "most. Scores of further ones are withheld until you review them."
                ),
            },
            "image_scores_open": {"label": gettext_lazy("Teams see the scores of single images")},
            "phase": {
                "label": gettext_lazy("Name of this phase"),
                "help_text": gettext_lazy("For example dev, if the challenge has several phases."),
            },
        }

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; for a phase, without those of its main challenge."""
        fields = super().get_fields()
        if isinstance(self.instance, Challenge) and self.instance.phase_of_id:
            for name in (*OF_MAIN, "phase"):
                fields.pop(name, None)
        return fields

    def validate_phase(self, value: str) -> str:
        """Check that all phases have different names."""
        if isinstance(self.instance, Challenge):
            others = self.instance.family.exclude(pk=self.instance.pk)
            if not value and others.exists():
                raise serializers.ValidationError(_("Required if the challenge has phases."))
            if value and others.filter(phase=value).exists():
                raise serializers.ValidationError(_("There is another phase of this name."))
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that it closes after it opens, even if only one of the two changes."""
        opens, closes = (
            attrs.get(name, getattr(self.instance, name, None)) for name in ("opens", "closes")
        )
        if opens is not None and closes is not None and closes <= opens:
            raise serializers.ValidationError(
                {"closes": [_("The closing time must be after the opening time.")]}
            )
        return attrs


class ChallengeForm(SettingsForm):
    """A new challenge without its references."""

    metrics = MetricNames(
        initial="cider-d bleu-4 rouge-l",
        max_length=500,
        help_text=gettext_lazy("Names separated by spaces; the first one ranks the leaderboard."),
    )
    language = LanguageCode(
        required=False,
        allow_blank=True,
        default="",
        help_text=gettext_lazy(
            "Language of the captions, for example zh or de; it selects the tokenizer. "
            "Blank: English."
        ),
    )
    frequencies = serializers.ChoiceField(
        choices=("references", *SHIPPED),
        default="references",
        help_text=gettext_lazy(
            "Document frequencies for CIDEr's weights: of the references, or a shipped set."
        ),
    )

    class Meta(SettingsForm.Meta):
        """Fields, including those that cannot be changed later."""

        fields = ("slug", *SettingsForm.Meta.fields, "metrics", "language", "frequencies")


class PhaseForm(SettingsForm):
    """A new phase without its references."""

    metrics = MetricNames(
        required=False,
        max_length=500,
        help_text=gettext_lazy("Blank: those of the challenge."),
    )
    frequencies = serializers.ChoiceField(
        choices=("references", *SHIPPED),
        required=False,
        help_text=gettext_lazy("Blank: those of the challenge."),
    )

    class Meta(SettingsForm.Meta):
        """Fields, including those that cannot be changed later."""

        fields = (
            "phase",
            *(n for n in SettingsForm.Meta.fields if n not in (*OF_MAIN, "phase")),
            *("metrics", "frequencies"),
        )
        extra_kwargs: Mapping[str, Any] = {
            **SettingsForm.Meta.extra_kwargs,
            "phase": {
                "label": gettext_lazy("Name of the phase"),
                "required": True,
                "allow_blank": False,
                "help_text": gettext_lazy("For example test; part of the phase's address."),
            },
        }


class ReferencesForm(serializers.Serializer[Any]):
    """One or two files of references, and slices."""

    references = serializers.FileField(help_text=gettext_lazy("In any format that cidery reads."))
    references_name = serializers.CharField(
        initial="references",
        default="references",
        validators=[SET_NAME],
    )
    more_references = serializers.FileField(
        required=False,
        help_text=gettext_lazy(
            "A second set for the same images, for example 40 references per image."
        ),
    )
    more_references_name = serializers.CharField(
        required=False,
        allow_blank=True,
        validators=[SET_NAME],
    )

    slices = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text=gettext_lazy(
            "Groups of images that are also scored separately: a field of the references "
            "file such as domain, length, length:8,12, or a column of the file below. "
            "Blank: none."
        ),
    )
    slices_file = serializers.FileField(
        required=False,
        help_text=gettext_lazy("Slices by image, if they are not in the references' file."),
    )


FILES = (
    *("references", "references_name", "more_references", "more_references_name"),
    *("slices", "slices_file"),
)


class NewChallengeForm(ReferencesForm, ChallengeForm):
    """A new challenge with its references."""

    class Meta(ChallengeForm.Meta):
        """Fields, including the files."""

        fields = (*ChallengeForm.Meta.fields, *FILES)


class NewPhaseForm(ReferencesForm, PhaseForm):
    """A new phase with its references."""

    class Meta(PhaseForm.Meta):
        """Fields, including the files."""

        fields = (*PhaseForm.Meta.fields, *FILES)


class OwnSubmission(serializers.PrimaryKeyRelatedField[Submission]):
    """A submission of the team, of which another one is a run.

    Its page has `list_own_submissions`. Problems are found later, under the team's lock.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            queryset=Submission.objects.all(),
            pk_field=serializers.IntegerField(min_value=1, max_value=2**62),
            required=False,
            allow_null=True,
            default=None,
            **settings,
        )

    def to_internal_value(self, data: Any) -> Any:
        """Return the number."""
        assert self.pk_field is not None
        return self.pk_field.run_validation(data)

    def get_choices(self, cutoff: int | None = None) -> dict[Any, str]:
        """Return the submissions of which others can be runs, for the form."""
        view = self.context.get("view")  # None for the description of the form
        found = view.list_own_submissions() if view else Submission.objects.none()
        firsts = found.filter(run_of=None, withdrawn=None).order_by("-created")[:cutoff]
        titles = {pk: f"{title} ({pk})" for pk, title in firsts.values_list("pk", "title")}
        return {"": "–", **titles}


class SubmissionForm(serializers.Serializer[Any]):
    """A file of results."""

    title = serializers.CharField(
        label=gettext_lazy("Title"),
        max_length=120,
        validators=[check_printable],
        help_text=gettext_lazy("A description that distinguishes it from your other submissions."),
    )
    file = serializers.FileField(
        label=gettext_lazy("File"),
        max_length=200,
        help_text=format_lazy(
            gettext_lazy(
                "COCO results, [{{image_id, caption}}, …]: JSON, or one JSON file in .gz or .zip, "
                "up to {largest} MB."
            ),
            largest=LARGEST_UPLOAD // MEGABYTE,
        ),
        style={"accept": ".json,.gz,.zip"},
    )
    private = serializers.BooleanField(
        default=False,
        label=gettext_lazy("Private"),
        help_text=gettext_lazy(
            "Your team and the organizers see it; it is not on the leaderboard."
        ),
    )
    run_of = OwnSubmission(
        label=gettext_lazy("Another run of"),
        help_text=gettext_lazy(
            "If it is the same system, trained with another seed: the submission with its first "
            "run. The leaderboard shows the mean of the runs."
        ),
    )


class StandingForm(serializers.Serializer[Any]):
    """Form of an action on a submission."""

    action = serializers.ChoiceField(
        label=gettext_lazy("Action"),
        choices=[
            ("choose", gettext_lazy("rank this submission")),
            ("best", gettext_lazy("rank my team's best submission")),
            ("hide", gettext_lazy("keep it private, off the leaderboard")),
            ("publish", gettext_lazy("make it public again")),
            ("run", gettext_lazy("join it to another submission, as another run")),
            ("single", gettext_lazy("remove it from the runs of another submission")),
            ("withdraw", gettext_lazy("withdraw it permanently")),
        ],
    )
    run_of = OwnSubmission(
        label=gettext_lazy("Another run of"),
        help_text=gettext_lazy("For another run: the submission with the first run."),
    )


class AnnouncementForm(serializers.Serializer[Any]):
    """News."""

    title = serializers.CharField(
        label=gettext_lazy("Title"), max_length=120, validators=[check_printable]
    )
    text = serializers.CharField(
        label=gettext_lazy("Text"),
        max_length=20_000,
        required=False,
        allow_blank=True,
        default="",
        help_text=gettext_lazy("Markdown."),
        style={"base_template": "textarea.html"},
    )
    mail = serializers.BooleanField(
        default=False,
        label=gettext_lazy("Send it by e-mail to the participating teams"),
        help_text=gettext_lazy("To contacts that are e-mail addresses."),
    )


class FileForm(serializers.Serializer[Any]):
    """A file for teams."""

    file = serializers.FileField(
        label=gettext_lazy("File"), max_length=120, help_text=gettext_lazy("Up to 50 MB.")
    )
    name = serializers.CharField(
        label=gettext_lazy("Name"),
        max_length=120,
        required=False,
        allow_blank=True,
        default="",
        validators=[check_printable],
        help_text=gettext_lazy("Blank: the name of the file."),
    )
    about = serializers.CharField(
        label=gettext_lazy("Description"),
        max_length=300,
        required=False,
        allow_blank=True,
        default="",
        validators=[check_printable],
        help_text=gettext_lazy("Short description."),
    )
    for_teams = serializers.BooleanField(
        default=False, label=gettext_lazy("Only for teams that may submit")
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse paths and names with control characters."""
        name = attrs["name"] or attrs["file"].name
        if "/" in name or "\\" in name or not name.isprintable():
            raise serializers.ValidationError(
                {"name": [_("A name must be printable and must not contain /.")]}
            )
        return attrs


class TeamChange(serializers.Serializer[Any]):
    """Form of an action on a team."""

    action = serializers.ChoiceField(choices=("invite", "leave", "remove", "allow", "forbid"))
    member = serializers.CharField(
        max_length=NAME_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text="Member to remove, or to allow or forbid to submit.",
    )


class TeamDecision(serializers.Serializer[Any]):
    """Form of a decision on a team."""

    team = serializers.CharField(max_length=NAME_LENGTH, label=gettext_lazy("Team name"))
    action = serializers.ChoiceField(
        label=gettext_lazy("Action"),
        choices=[
            ("approve", gettext_lazy("approve or invite")),
            ("refuse", gettext_lazy("refuse")),
        ],
        default="approve",
    )


class ProbeDecision(serializers.Serializer[Any]):
    """Form of a decision on a probe."""

    action = serializers.ChoiceField(
        label=gettext_lazy("Action"),
        choices=[
            ("release", gettext_lazy("show its scores")),
            ("keep", gettext_lazy("keep them hidden")),
        ],
    )


class LeaderboardQuery(serializers.Serializer[Any]):
    """Query: column and slice of a leaderboard."""

    sort = serializers.CharField(
        required=False, max_length=120, help_text="Key of a column. Default: the first."
    )
    order = serializers.ChoiceField(("desc", "asc"), default="desc")
    slice = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_SLICE_LENGTH,
        default="",
        help_text="One of the challenge's slices. Default: all images.",
    )
    by_slice = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=120,
        default="",
        help_text="A metric: its scores in all slices are then the columns, and slice is not used.",
    )


class ImagesQuery(serializers.Serializer[Any]):
    """Query: page of images."""

    page = serializers.IntegerField(default=1, min_value=1, max_value=10**9)


class ExploreQuery(serializers.Serializer[Any]):
    """Query: another submission to compare with."""

    other = serializers.IntegerField(required=False, min_value=1, max_value=2**62)


class ComparisonQuery(serializers.Serializer[Any]):
    """Query: two submissions to compare; without them, the possible choices are shown."""

    first = serializers.IntegerField(required=False, min_value=1, max_value=2**62)
    second = serializers.IntegerField(required=False, min_value=1, max_value=2**62)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that both or none are given, and that they differ."""
        if len(attrs) == 1 or attrs.get("first", 1) == attrs.get("second", 2):
            raise serializers.ValidationError(_("Choose two different submissions."))
        return attrs
