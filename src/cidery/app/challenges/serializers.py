"""What pages show. A field that is not here reaches no client."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from cidery.app.challenges.models import Challenge, Participation, Submission
from cidery.app.challenges.ranking import Mark
from cidery.metrics import get_metrics


class ChallengeData(serializers.ModelSerializer[Challenge]):
    """A challenge, as everyone may see it."""

    metrics = serializers.SerializerMethodField()
    reference_sets: serializers.SlugRelatedField[Any] = serializers.SlugRelatedField(
        slug_field="name", many=True, read_only=True
    )
    image_count = serializers.SerializerMethodField()
    slices_by = serializers.CharField(
        source="slices.by", default="", help_text="What the slices are called together."
    )
    slices = serializers.SerializerMethodField(
        help_text="Groups of images that are scored apart too, and how many images each has."
    )

    class Meta:
        """The rules; references and images' ids are not among them."""

        model = Challenge
        fields = (
            *("slug", "title", "description", "metrics", "frequencies", "reference_sets"),
            *("image_count", "opens", "closes", "is_open", "is_to_come", "per_day", "in_all"),
            *("visibility", "entry", "leaderboard_open", "image_scores_open", "scores_hidden"),
            *("hides_scores", "exact_scores", "slices_by", "slices"),
        )

    def get_slices(self, challenge: Challenge) -> dict[str, int]:
        """Return the number of images by slice."""
        found = challenge.slices
        return {name: len(places) for name, places in found.members.items()} if found else {}

    def get_metrics(self, challenge: Challenge) -> list[str]:
        """Return the metrics' names, families spelt out."""
        return list(get_metrics(challenge.metrics))

    def get_image_count(self, challenge: Challenge) -> int:
        """Return the number of images."""
        return len(challenge.images)


class ListedChallenge(serializers.ModelSerializer[Challenge]):
    """A challenge in the list."""

    class Meta:
        """What helps to choose."""

        model = Challenge
        fields = ("slug", "title", "opens", "closes", "is_open", "is_to_come", "visibility")


class ChallengesData(serializers.Serializer[Any]):
    """The list of challenges."""

    challenges = ListedChallenge(many=True)


class ColumnData(serializers.Serializer[Any]):
    """A column of a leaderboard."""

    reference_set = serializers.CharField()
    metric = serializers.CharField()
    key = serializers.CharField(help_text="For `sort`.")


class CellData(serializers.Serializer[Any]):
    """A score on a leaderboard."""

    value = serializers.FloatField()
    low = serializers.FloatField(help_text="Of the 95 % bootstrap interval.")
    high = serializers.FloatField()
    mark = serializers.ChoiceField(
        [mark.value for mark in Mark],
        help_text="tied: no significant difference from the best was found.",
    )
    p = serializers.FloatField(allow_null=True)


class EntryData(serializers.Serializer[Any]):
    """A team's line."""

    rank = serializers.IntegerField()
    team = serializers.CharField(source="submission.team.name")
    submission = serializers.IntegerField(source="submission.pk")
    title = serializers.CharField(source="submission.title")
    created = serializers.DateTimeField(source="submission.created")
    cells = CellData(source="scores", many=True, help_text="In the order of the columns.")


class LeaderboardData(serializers.Serializer[Any]):
    """Teams by score."""

    columns = ColumnData(many=True)
    sort = serializers.CharField()
    descending = serializers.BooleanField()
    slice = serializers.CharField(help_text="Whose images the scores are of; empty: all.")
    decimals = serializers.IntegerField(
        source="precision.shown", help_text="To which scores are written."
    )
    entries = EntryData(many=True)


class ChallengePageData(serializers.Serializer[Any]):
    """A challenge with its leaderboard."""

    challenge = ChallengeData()
    participation = serializers.CharField(
        help_text="Where teams need approval: asked, approved or refused; empty before one asks."
    )
    leaderboard = LeaderboardData(allow_null=True)


class ImagesData(serializers.Serializer[Any]):
    """The images to describe."""

    images = serializers.ListField(help_text="Their ids.")


class ScoreData(serializers.Serializer[Any]):
    """A score of a submission, with the digits that are shown."""

    reference_set = serializers.CharField()
    metric = serializers.CharField()
    value = serializers.FloatField()
    low = serializers.FloatField(help_text="Of the 95 % bootstrap interval.")
    high = serializers.FloatField()
    decimals = serializers.IntegerField(help_text="To which it is written.")
    signature = serializers.CharField(help_text="How it was computed.")


class SliceScoreData(ScoreData):
    """A score of a submission in a slice of the images."""

    slice = serializers.CharField()


class SubmissionData(serializers.ModelSerializer[Submission]):
    """A submission and how far it is."""

    challenge = serializers.CharField(source="challenge.slug")
    team = serializers.CharField(source="team.name")

    class Meta:
        """Its captions stay inside."""

        model = Submission
        fields: tuple[str, ...] = (
            *("id", "challenge", "team", "title", "created", "state", "steps_done", "steps"),
            *("scored", "is_withheld", "waits_for_owner"),
        )


class OwnersSubmission(SubmissionData):
    """A submission as the owner sees it."""

    class Meta(SubmissionData.Meta):
        """Also whether it looks like a probe, and why."""

        fields = (*SubmissionData.Meta.fields, "probe", "probe_reason")


class SubmissionPageData(serializers.Serializer[Any]):
    """A submission with its scores."""

    submission = SubmissionData()
    challenge_title = serializers.CharField()
    scores = ScoreData(many=True)
    slice_scores = SliceScoreData(many=True)
    shows_images = serializers.BooleanField(help_text="Whether you may see single images' scores.")
    hides_scores = serializers.BooleanField(
        help_text="Whether its scores are hidden: until the challenge closes, or for the owner."
    )


class TeamData(serializers.ModelSerializer[Participation]):
    """A team that takes part in a challenge, or wants to."""

    team = serializers.CharField(source="team.name")
    contact = serializers.CharField(source="team.contact")
    submissions = serializers.SerializerMethodField()

    class Meta:
        """What the owner decides by."""

        model = Participation
        fields = ("id", "team", "contact", "state", "created", "submissions")

    def get_submissions(self, found: Participation) -> int:
        """Return how many submissions it has made."""
        return found.challenge.submissions.filter(team=found.team_id).count()


class TeamsData(serializers.Serializer[Any]):
    """The teams of a challenge, and submissions that look like probes."""

    challenge = ChallengeData()
    teams = TeamData(many=True)
    probes = OwnersSubmission(many=True)


class SubmissionsData(serializers.Serializer[Any]):
    """A team's submissions to a challenge; to the owner, everyone's."""

    challenge = ChallengeData()
    participation = serializers.CharField(
        help_text="Where teams need approval: asked, approved or refused; empty before one asks."
    )
    admitted = serializers.BooleanField(help_text="Whether you may submit.")
    submissions = SubmissionData(many=True)


class ImageScoreData(serializers.Serializer[Any]):
    """An image's scores, in the order of the columns."""

    image = serializers.JSONField()
    values = serializers.ListField(child=serializers.FloatField())


class ImageScoresData(serializers.Serializer[Any]):
    """Scores of single images, some at a time."""

    submission = SubmissionData()
    columns = serializers.ListField(child=serializers.CharField())
    images = ImageScoreData(many=True)
    page = serializers.IntegerField()
    pages = serializers.IntegerField()


class ExploreData(serializers.Serializer[Any]):
    """Captions and scores image by image, in the columns of a report's JSON."""

    submission = SubmissionData()
    others = SubmissionData(many=True, help_text="What can be shown beside it.")
    other = SubmissionData(allow_null=True)
    content = serializers.JSONField(help_text="images, systems, slices.")


class ContrastData(serializers.Serializer[Any]):
    """How two submissions differ in one column."""

    reference_set = serializers.SerializerMethodField()
    metric = serializers.SerializerMethodField()
    slice = serializers.CharField(help_text="Empty: all images.")
    first = serializers.FloatField()
    second = serializers.FloatField()
    difference = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    p = serializers.FloatField(help_text="Holm-corrected for all columns, slices apart.")
    wins = serializers.FloatField(help_text="Share of images on which the first is better.")

    def get_reference_set(self, contrast: Any) -> str:
        """Return the set's name."""
        return str(contrast.column[0])

    def get_metric(self, contrast: Any) -> str:
        """Return the metric's name."""
        return str(contrast.column[1])


class ComparisonData(serializers.Serializer[Any]):
    """Two submissions compared, and which there are to choose from."""

    challenge = ChallengeData()
    choices = SubmissionData(many=True)
    first = SubmissionData(allow_null=True)
    second = SubmissionData(allow_null=True)
    is_ready = serializers.BooleanField(help_text="False while they are being compared.")
    contrasts = ContrastData(many=True)
    decimals = serializers.IntegerField(help_text="To which numbers are written.")
