"""Serializers of pages. A field that is not here reaches no client."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from cidery_server.challenges.models import (
    Announcement,
    Challenge,
    ChallengeFile,
    Membership,
    Participation,
    Submission,
)
from cidery_server.challenges.ranking import Mark
from cidery_server.web.roles import Role


class PhaseData(serializers.ModelSerializer[Challenge]):
    """A phase of a challenge, which is a challenge with an address of its own."""

    class Meta:
        """Fields of the overview."""

        model = Challenge
        fields = ("slug", "phase", "opens", "closes", "is_open", "is_to_come")


class ChallengeData(serializers.ModelSerializer[Challenge]):
    """A challenge, or a phase of one, as everyone may see it."""

    title = serializers.CharField(source="full_title")
    main = serializers.CharField(
        source="main.slug", help_text="Challenge that has the teams, if this is a phase."
    )
    entry = serializers.CharField(source="main.entry")
    exact_scores = serializers.BooleanField(source="shows_all_digits")
    image_scores_open = serializers.BooleanField(source="opens_images")
    phases = serializers.SerializerMethodField(help_text="All phases, if there are several.")
    metrics = serializers.SerializerMethodField()
    reference_sets: serializers.SlugRelatedField[Any] = serializers.SlugRelatedField(
        slug_field="name", many=True, read_only=True
    )
    image_count = serializers.SerializerMethodField()
    slices_by = serializers.CharField(
        source="slices.by", default="", help_text="Name of the property that defines the slices."
    )
    slices = serializers.SerializerMethodField(
        help_text="Groups of images that are also scored separately, with their numbers of images."
    )

    class Meta:
        """Fields; references and images' ids are not included."""

        model = Challenge
        fields = (
            *("slug", "title", "description", "metrics", "language", "frequencies"),
            *("reference_sets", "image_count", "opens", "closes", "is_open", "is_to_come"),
            *("per_day", "in_all"),
            *("visibility", "entry", "leaderboard_open", "image_scores_open", "scores_hidden"),
            *("hides_scores", "exact_scores", "slices_by", "slices", "main", "phase", "phases"),
        )

    @extend_schema_field(PhaseData(many=True))
    def get_phases(self, challenge: Challenge) -> Any:
        """Return the phases that one may see."""
        return list_phases(challenge, self.context["request"].user)

    def get_slices(self, challenge: Challenge) -> dict[str, int]:
        """Return the number of images by slice."""
        found = challenge.slices
        return {name: len(places) for name, places in found.members.items()} if found else {}

    def get_metrics(self, challenge: Challenge) -> list[str]:
        """Return the metrics' names, families spelled out."""
        return list(challenge.labeled_metrics)

    def get_image_count(self, challenge: Challenge) -> int:
        """Return the number of images."""
        return len(challenge.images)


def list_phases(challenge: Challenge, account: Any) -> Any:
    """Return the phases that an account may see, where there are several."""
    if not challenge.phase:
        return []
    found = challenge.family.visible_to(account).defer("packed_images", "packed_slices")
    return PhaseData(found, many=True).data


class ListedChallenge(serializers.ModelSerializer[Challenge]):
    """A challenge in the list."""

    phases = serializers.SerializerMethodField(help_text="All phases, if there are several.")

    @extend_schema_field(PhaseData(many=True))
    def get_phases(self, challenge: Challenge) -> Any:
        """Return the phases that one may see."""
        return list_phases(challenge, self.context["request"].user)

    class Meta:
        """Fields of the overview."""

        model = Challenge
        fields = (
            *("slug", "title", "opens", "closes", "is_open", "is_to_come", "visibility"),
            "phases",
        )


class ChallengesData(serializers.Serializer[Any]):
    """The list of challenges."""

    challenges = ListedChallenge(many=True)


class ColumnData(serializers.Serializer[Any]):
    """A column of a leaderboard."""

    reference_set = serializers.CharField()
    metric = serializers.CharField()
    slice = serializers.CharField(help_text="Slice of the scores; empty: all images.")
    key = serializers.CharField(help_text="For `sort`.")
    decimals = serializers.IntegerField(help_text="Number of decimals of its scores.")
    title = serializers.CharField(help_text="Title below that of its group.")


class ColumnGroup(serializers.Serializer[Any]):
    """Columns that are side by side under a common title."""

    title = serializers.CharField()
    count = serializers.IntegerField(help_text="Number of its columns.")


class CellData(serializers.Serializer[Any]):
    """A score on a leaderboard."""

    value = serializers.FloatField(help_text="Mean, with several runs.")
    sd = serializers.FloatField(
        allow_null=True, help_text="Standard deviation over runs; null for a single run."
    )
    low = serializers.FloatField(
        allow_null=True,
        help_text="Lower end of the 95 % interval, over images and runs; null until it is computed "
        "for several runs.",
    )
    high = serializers.FloatField(allow_null=True)
    mark = serializers.ChoiceField(
        [mark.value for mark in Mark],
        help_text="tied: no significant difference from the best was found.",
    )
    p = serializers.FloatField(allow_null=True)
    decimals = serializers.IntegerField(help_text="Number of decimals.")


class EntryData(serializers.Serializer[Any]):
    """A team's line."""

    rank = serializers.IntegerField()
    team = serializers.CharField(source="submission.team.name")
    submission = serializers.IntegerField(source="submission.pk")
    title = serializers.CharField(source="submission.title")
    created = serializers.DateTimeField(source="submission.created")
    runs = serializers.IntegerField(help_text="Number of runs of the system.")
    cells = CellData(source="scores", many=True, help_text="In the order of the columns.")


class ChartData(serializers.Serializer[Any]):
    """The chart of a leaderboard."""

    text = serializers.CharField(help_text="Description in words.")
    width = serializers.IntegerField()
    height = serializers.IntegerField()


class LeaderboardData(serializers.Serializer[Any]):
    """Teams by score."""

    columns = ColumnData(many=True)
    groups = ColumnGroup(many=True, help_text="Groups of columns, if there are several.")
    sort = serializers.CharField()
    descending = serializers.BooleanField()
    slice = serializers.CharField(help_text="Slice of the scores; empty: all images.")
    by_slice = serializers.CharField(
        help_text="Metric whose scores in all slices are the columns; empty: none."
    )
    decimals = serializers.IntegerField(help_text="Number of decimals of the scores.")
    entries = EntryData(many=True)
    has_runs = serializers.BooleanField(help_text="True if some systems have several runs.")
    chart = ChartData()


class QuotaData(serializers.Serializer[Any]):
    """Limits of the team's submissions, and the number left."""

    per_day = serializers.IntegerField()
    in_all = serializers.IntegerField()
    left_today = serializers.IntegerField()
    left = serializers.IntegerField()
    shared_with = serializers.CharField(
        help_text="Phases with the same references, whose submissions count too."
    )


class AnnouncementData(serializers.ModelSerializer[Announcement]):
    """News of a challenge."""

    class Meta:
        """The text is Markdown."""

        model = Announcement
        fields = ("id", "title", "text", "created")


class FileData(serializers.ModelSerializer[ChallengeFile]):
    """A file to download, from …/files/ID."""

    title = serializers.CharField(source="name")

    class Meta:
        """All fields except the content."""

        model = ChallengeFile
        fields = ("id", "title", "about", "for_teams", "size", "created")


class ChallengePageData(serializers.Serializer[Any]):
    """A challenge with its leaderboard."""

    challenge = ChallengeData()
    team = serializers.CharField(help_text="Your team; empty without an account.")
    quota = QuotaData(allow_null=True)
    announcements = AnnouncementData(many=True, help_text="The newest ones.")
    files = FileData(many=True, help_text="To download.")
    participation = serializers.CharField(
        help_text="If teams need approval: asked, approved or refused; empty without a request."
    )
    leaderboard = LeaderboardData(allow_null=True)


class AnnouncementsData(serializers.Serializer[Any]):
    """All news of a challenge."""

    challenge = ChallengeData()
    announcements = AnnouncementData(many=True)


class FilesData(serializers.Serializer[Any]):
    """A challenge's files."""

    challenge = ChallengeData()
    files = FileData(many=True)


class ImagesData(serializers.Serializer[Any]):
    """The images to describe."""

    images = serializers.ListField(help_text="Their ids.")


class ScoreData(serializers.Serializer[Any]):
    """A score of a submission, with the digits that are shown."""

    reference_set = serializers.CharField()
    metric = serializers.CharField()
    value = serializers.FloatField(
        help_text="To its team and the owner, of this submission; to others the mean of its runs."
    )
    sd = serializers.FloatField(
        allow_null=True, help_text="Standard deviation over runs; null for a single run."
    )
    runs = serializers.IntegerField(help_text="Number of runs.")
    low = serializers.FloatField(
        allow_null=True, help_text="Lower end of the 95 % interval; null until it is computed."
    )
    high = serializers.FloatField(allow_null=True)
    decimals = serializers.IntegerField(help_text="Number of decimals.")
    signature = serializers.CharField(help_text="Settings of the score.")


class SliceScoreData(ScoreData):
    """A score of a submission in a slice of the images."""

    slice = serializers.CharField()


class SubmissionData(serializers.ModelSerializer[Submission]):
    """A submission and its progress."""

    challenge = serializers.CharField(source="challenge.slug")
    team = serializers.CharField(source="team.name")
    author = serializers.SerializerMethodField(
        help_text="The account that sent it; shown to its team and the owner."
    )
    run_of = serializers.IntegerField(
        source="run_of_id",
        allow_null=True,
        help_text="Submission of which it is another run; null for a first or only run.",
    )

    def get_author(self, submission: Submission) -> str:
        """Return the name if the reader may see it."""
        account = self.context["request"].user
        seen = submission.belongs_to(account) or Role.OWNER.admits(account)
        return submission.author.name if seen and submission.author else ""

    class Meta:
        """Its captions stay inside."""

        model = Submission
        fields: tuple[str, ...] = (
            *("id", "challenge", "team", "title", "created", "state", "steps_done", "steps"),
            *("scored", "is_withheld", "waits_for_owner", "author", "is_private", "is_chosen"),
            *("withdrawn", "run_of"),
        )


class OwnersSubmission(SubmissionData):
    """A submission as the owner sees it."""

    class Meta(SubmissionData.Meta):
        """Fields, including the probe state and its reason."""

        fields = (*SubmissionData.Meta.fields, "probe", "probe_reason")


class SubmissionPageData(serializers.Serializer[Any]):
    """A submission with its scores."""

    submission = SubmissionData()
    challenge_title = serializers.CharField()
    scores = ScoreData(many=True)
    slice_scores = SliceScoreData(many=True)
    shows_images = serializers.BooleanField(
        help_text="True if you may see scores of single images."
    )
    can_change = serializers.BooleanField(
        help_text="True if you may rank it, keep it private or withdraw it."
    )
    other_runs = SubmissionData(
        many=True, help_text="Submissions that are other runs of it; for team and owner."
    )
    hides_scores = serializers.BooleanField(
        help_text="True if its scores are hidden until the challenge closes, or from teams."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(),
        help_text="Problems of the tokenizer with the captions; for team and owner.",
    )


class TeamData(serializers.ModelSerializer[Participation]):
    """A team that participates in a challenge or has requested approval."""

    team = serializers.CharField(source="team.name")
    contact = serializers.CharField(source="team.contact")
    submissions = serializers.SerializerMethodField()

    class Meta:
        """Fields for the decision of the owner."""

        model = Participation
        fields = ("id", "team", "contact", "state", "created", "submissions")

    def get_submissions(self, found: Participation) -> int:
        """Return how many submissions it has made."""
        made = Submission.objects.filter(challenge__in=found.challenge.family)
        return made.filter(team=found.team_id).count()


class MemberData(serializers.ModelSerializer[Membership]):
    """Someone in a team."""

    name = serializers.CharField(source="account.name")

    class Meta:
        """Fields visible to the team."""

        model = Membership
        fields = ("name", "may_submit", "joined")


class OwnTeam(serializers.Serializer[Any]):
    """The team of the account."""

    team = serializers.CharField()
    is_mine = serializers.BooleanField(help_text="True if you created it and can invite members.")
    members = MemberData(many=True)
    link = serializers.CharField(required=False, help_text="New invite; it works once, for a week.")


class InvitedTeam(serializers.Serializer[Any]):
    """The team of an invite."""

    team = serializers.CharField(source="team.name")


class TeamsData(serializers.Serializer[Any]):
    """The teams of a challenge, and submissions that look like probes."""

    challenge = ChallengeData()
    teams = TeamData(many=True)
    probes = OwnersSubmission(many=True)


class SubmissionsData(serializers.Serializer[Any]):
    """A team's submissions to a challenge; to the owner, everyone's."""

    challenge = ChallengeData()
    participation = serializers.CharField(
        help_text="If teams need approval: asked, approved or refused; empty without a request."
    )
    admitted = serializers.BooleanField(help_text="True if your team may submit.")
    may_submit = serializers.BooleanField(help_text="True if your team allows you to submit.")
    quota = QuotaData(allow_null=True)
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
    others = SubmissionData(many=True, help_text="Submissions that can be shown beside it.")
    other = SubmissionData(allow_null=True)
    content = serializers.JSONField(help_text="images, systems, slices.")


class ContrastData(serializers.Serializer[Any]):
    """Comparison of two submissions in one column."""

    reference_set = serializers.SerializerMethodField()
    metric = serializers.SerializerMethodField()
    slice = serializers.CharField(source="column.slice", help_text="Empty: all images.")
    first = serializers.FloatField()
    second = serializers.FloatField()
    difference = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    p = serializers.FloatField(help_text="Holm-corrected for all columns, separately for slices.")
    wins = serializers.FloatField(help_text="Share of images on which the first is better.")

    def get_reference_set(self, contrast: Any) -> str:
        """Return the set's name."""
        return str(contrast.column[0])

    def get_metric(self, contrast: Any) -> str:
        """Return the metric's name."""
        return str(contrast.column[1])


class ComparisonData(serializers.Serializer[Any]):
    """Comparison of two submissions, and the possible choices."""

    challenge = ChallengeData()
    choices = SubmissionData(many=True)
    first = SubmissionData(allow_null=True)
    second = SubmissionData(allow_null=True)
    first_runs = serializers.IntegerField(help_text="Number of its runs; scores are their means.")
    second_runs = serializers.IntegerField()
    is_ready = serializers.BooleanField(help_text="False while they are being compared.")
    contrasts = ContrastData(many=True)
    decimals = serializers.IntegerField(help_text="Number of decimals.")
