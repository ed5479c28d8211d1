"""What people send: challenges, settings and submissions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.validators import RegexValidator
from rest_framework import serializers

from cidery.app.challenges.models import LONGEST_SLICE, Challenge
from cidery.app.challenges.uploads import LARGEST_UPLOAD, MEGABYTE
from cidery.app.web.models import NAME_LENGTH
from cidery.app.web.names import check_printable
from cidery.errors import CideryError
from cidery.frequencies import SHIPPED
from cidery.metrics import get_metrics

LOCAL_TIME = "%Y-%m-%dT%H:%M"
"""As browsers want it in a field; all times are UTC."""
SET_NAME = RegexValidator(r"\A[-\w]{1,30}\Z", "A name has letters, digits, - and _ only.")


class MetricNames(serializers.CharField):
    """Names of metrics, a list or words; at least one."""

    def to_internal_value(self, data: Any) -> Any:
        """Return a list of names that there are."""
        if isinstance(data, list) and all(isinstance(name, str) for name in data):
            data = " ".join(data)
        names = super().to_internal_value(data).replace(",", " ").split()
        try:
            get_metrics(names)
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None
        return names

    def to_representation(self, value: Any) -> str:
        """Return words."""
        return " ".join(value)


class SettingsForm(serializers.ModelSerializer[Challenge]):
    """What the owner may change while a challenge runs."""

    opens = serializers.DateTimeField(
        required=False, allow_null=True, format=LOCAL_TIME, help_text="UTC; empty: at once."
    )
    closes = serializers.DateTimeField(
        required=False, allow_null=True, format=LOCAL_TIME, help_text="UTC; empty: never."
    )

    class Meta:
        """The fields in the order of the form."""

        model = Challenge
        fields: tuple[str, ...] = (
            *("title", "description", "opens", "closes", "per_day", "in_all", "visibility"),
            *("entry", "leaderboard_open", "scores_hidden", "exact_scores", "probes_shown"),
            "image_scores_open",
        )
        extra_kwargs: Mapping[str, Any] = {  # as REST framework has it
            "description": {
                "help_text": "Plain text; blank lines make paragraphs.",
                "style": {"base_template": "textarea.html"},
            },
            "per_day": {
                "label": "Submissions per team and day",
                "initial": 5,
                "min_value": 1,
                "max_value": 10**6,
            },
            "in_all": {
                "label": "Submissions per team in all",
                "initial": 50,
                "min_value": 1,
                "max_value": 10**6,
            },
            "entry": {"label": "Who may submit", "initial": "approved"},
            "leaderboard_open": {"label": "Everyone sees the leaderboard", "initial": True},
            "scores_hidden": {"label": "Teams see no scores until the challenge closes"},
            "exact_scores": {
                "label": "Teams see all digits of scores",
                "help_text": "Otherwise those that are significant for so many images.",
            },
            "probes_shown": {
                "label": "Probes whose scores are shown, of all teams together",
                "initial": 2,
                "max_value": 10**6,
                "help_text": "Submissions that differ from another one on few images, or score "
                "nothing on most. The scores of further ones wait for you.",
            },
            "image_scores_open": {"label": "Teams see the scores of single images"},
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """See that it closes after it opens, also where only one of the two is changed."""
        opens, closes = (
            attrs.get(name, getattr(self.instance, name, None)) for name in ("opens", "closes")
        )
        if opens is not None and closes is not None and closes <= opens:
            raise serializers.ValidationError({"closes": ["It must close after it opens."]})
        return attrs


class ChallengeForm(SettingsForm):
    """A new challenge, but for its references."""

    metrics = MetricNames(
        initial="cider-d bleu-4 rouge-l",
        max_length=500,
        help_text="Names separated by spaces; the first one ranks the leaderboard.",
    )
    frequencies = serializers.ChoiceField(
        choices=("references", *SHIPPED),
        default="references",
        help_text="Document frequencies for CIDEr's weights: of the references, or a shipped set.",
    )

    class Meta(SettingsForm.Meta):
        """Also what cannot be changed later."""

        fields = ("slug", *SettingsForm.Meta.fields, "metrics", "frequencies")


class NewChallengeForm(ChallengeForm):
    """A new challenge with one or two files of references."""

    references = serializers.FileField(help_text="In any format that cidery reads.")
    references_name = serializers.CharField(
        label="Name of these references",
        initial="references",
        default="references",
        validators=[SET_NAME],
    )
    more_references = serializers.FileField(
        required=False, help_text="A second set for the same images, for example forty for each."
    )
    more_references_name = serializers.CharField(
        label="Name of the other references",
        required=False,
        allow_blank=True,
        validators=[SET_NAME],
    )

    slices = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Groups of images to score apart too: a field of the references' file such as "
        "domain, length, length:8,12, or a column of the file below. Empty: none.",
    )
    slices_file = serializers.FileField(
        required=False, help_text="Slices by image, if they are not in the references' file."
    )

    class Meta(ChallengeForm.Meta):
        """Also the files."""

        fields = (
            *ChallengeForm.Meta.fields,
            *("references", "references_name", "more_references", "more_references_name"),
            *("slices", "slices_file"),
        )


class SubmissionForm(serializers.Serializer[Any]):
    """A file of results."""

    title = serializers.CharField(
        max_length=120,
        validators=[check_printable],
        help_text="What distinguishes it from your other submissions.",
    )
    file = serializers.FileField(
        max_length=200,
        help_text="COCO results, [{image_id, caption}, …]: JSON, or one JSON file in .gz or .zip, "
        f"up to {LARGEST_UPLOAD // MEGABYTE} MB.",
        style={"accept": ".json,.gz,.zip"},
    )


class TeamDecision(serializers.Serializer[Any]):
    """Which team may submit."""

    team = serializers.CharField(max_length=NAME_LENGTH, label="Team name")
    action = serializers.ChoiceField(
        choices=[("approve", "approve or invite"), ("refuse", "refuse")], default="approve"
    )


class ProbeDecision(serializers.Serializer[Any]):
    """What becomes of the scores of a submission that looks like a probe."""

    action = serializers.ChoiceField(choices=("release", "keep"))


class LeaderboardQuery(serializers.Serializer[Any]):
    """How to sort a leaderboard."""

    sort = serializers.CharField(
        required=False, max_length=120, help_text="A column's key; by default the first."
    )
    order = serializers.ChoiceField(("desc", "asc"), default="desc")
    slice = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=LONGEST_SLICE,
        default="",
        help_text="One of the challenge's slices; by default all images.",
    )


class ImagesQuery(serializers.Serializer[Any]):
    """Which hundred images to show."""

    page = serializers.IntegerField(default=1, min_value=1, max_value=10**9)


class ExploreQuery(serializers.Serializer[Any]):
    """Which other submission to show beside the one of the address."""

    other = serializers.IntegerField(required=False, min_value=1, max_value=2**62)


class ComparisonQuery(serializers.Serializer[Any]):
    """Which two submissions to compare; without them, what there is to choose from."""

    first = serializers.IntegerField(required=False, min_value=1, max_value=2**62)
    second = serializers.IntegerField(required=False, min_value=1, max_value=2**62)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Want both or none, and two different ones."""
        if len(attrs) == 1 or attrs.get("first", 1) == attrs.get("second", 2):
            raise serializers.ValidationError("Choose two different submissions.")
        return attrs
