"""Challenges, hidden references, submissions and their scores.

Captions, references and rows lie in the database, compressed: a copy of the database is a copy of
everything, and workers on other machines need nothing else.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from cidery.corpus import Slices
from cidery.metrics import Metric, get_metrics
from cidery_server.challenges.precision import EXACT, Precision

if TYPE_CHECKING:
    from cidery.corpus import ImageId
    from cidery.statistics import Floats
    from cidery_server.web.models import Account

Packed: TypeAlias = bytes | memoryview
"""Binary column; PostgreSQL's driver may return memory views."""


MAX_SLICE_LENGTH = 80
"""Characters of the name of a slice."""
MAX_METRIC_LENGTH = 300
"""Maximum length of a metric's label, which contains its settings."""
MAX_SLUG_LENGTH = 60
MAX_PHASE_LENGTH = 30


def pack_json(content: Any) -> bytes:
    """Return a value as compressed JSON."""
    return zlib.compress(json.dumps(content, ensure_ascii=False).encode("utf-8"))


def pack_slices(slices: Slices | None) -> bytes | None:
    """Compress slices; None if there are none."""
    if slices is None:
        return None
    members = {name: places.tolist() for name, places in slices.members.items()}
    return pack_json({"by": slices.by, "members": members})


def unpack_json(packed: Packed) -> Any:
    """Return the value of compressed JSON."""
    return json.loads(zlib.decompress(packed))


def pack_rows(rows: Floats) -> bytes:
    """Compress an array; counts, which most rows are, compress well even at the fastest level."""
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    return zlib.compress(buffer.getvalue(), 1)


def unpack_rows(packed: Packed) -> Floats:
    """Return the array that `pack_rows` was given."""
    rows: Floats = np.load(io.BytesIO(zlib.decompress(packed)), allow_pickle=False)
    return rows


class ChallengeQuerySet(models.QuerySet["Challenge"]):
    """Challenges with their visibility."""

    def listed_for(self, account: Any) -> ChallengeQuerySet:
        """Return the challenges of the list: public ones, or all for the owner; no phases."""
        listed = self.filter(phase_of=None)
        if _is_owner(account):
            return listed
        return listed.filter(visibility=Challenge.Visibility.PUBLIC)

    def visible_to(self, account: Any) -> ChallengeQuerySet:
        """Return those that an account may open, including unlisted ones, by address.

        No phase of a hidden challenge does.
        """
        if _is_owner(account):
            return self
        hidden = Challenge.Visibility.HIDDEN
        return self.exclude(Q(visibility=hidden) | Q(phase_of__visibility=hidden))


class Challenge(models.Model):
    """A set of images with hidden references, and the rules for scoring on it.

    A phase is a challenge within another one, its main challenge, with images, references, dates
    and limits of its own. Teams are those of the main challenge, and probes count for all phases
    together. The main challenge is the first phase.
    """

    class Visibility(models.TextChoices):
        """Visibility of a challenge."""

        PUBLIC = "public", gettext_lazy("Public: listed for everyone")
        UNLISTED = "unlisted", gettext_lazy("Unlisted: visible to everyone who has the address")
        HIDDEN = "hidden", gettext_lazy("Hidden: visible to the owner only")

    class Entry(models.TextChoices):
        """Teams that may submit."""

        APPROVED = "approved", gettext_lazy("Teams that the owner has approved or invited")
        OPEN = "open", gettext_lazy("Every team")

    slug = models.SlugField(max_length=MAX_SLUG_LENGTH, unique=True)
    title = models.CharField(max_length=120)
    description = models.TextField(blank=True, max_length=20_000)
    metrics = models.JSONField()
    """Names, in the order of the columns; the first one ranks."""
    language = models.CharField(max_length=10, blank=True, default="")
    """A code such as `zh`, which chooses the tokenizer and the metrics' settings; empty: as for
    English."""
    frequencies = models.CharField(max_length=60, default="references")
    opens = models.DateTimeField(null=True, blank=True)
    closes = models.DateTimeField(null=True, blank=True)
    per_day = models.PositiveIntegerField(default=5)
    in_all = models.PositiveIntegerField(default=50)
    visibility = models.CharField(
        max_length=10, choices=Visibility.choices, default=Visibility.PUBLIC
    )
    entry = models.CharField(max_length=10, choices=Entry.choices, default=Entry.APPROVED)
    leaderboard_open = models.BooleanField(default=True)
    scores_hidden = models.BooleanField(default=False)
    """True if scores are hidden from teams until it closes."""
    exact_scores = models.BooleanField(default=False)
    """True if teams see digits that are not significant, too."""
    probes_shown = models.PositiveIntegerField(default=2)
    """Maximum number of probes, of all teams, whose scores are shown."""
    image_scores_open = models.BooleanField(default=False)
    packed_images = models.BinaryField()
    packed_slices = models.BinaryField(null=True)
    """Name of the slices, and the indexes of the images of each."""
    scored_version = models.PositiveIntegerField(default=0)
    """Number of changes of the scores."""
    compared_version = models.PositiveIntegerField(default=0)
    """The version whose best submissions have been tested against the others."""
    created = models.DateTimeField(auto_now_add=True)
    phase_of = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="phases"
    )
    """The main challenge; None for a main challenge."""
    phase = models.SlugField(max_length=MAX_PHASE_LENGTH, blank=True, default="")
    """Its name among the phases; empty where there are none."""
    sharing: models.ManyToManyField[Challenge, models.Model] = models.ManyToManyField(
        "self", blank=True
    )
    """Phases that share references with this one; see `phases`."""

    objects = ChallengeQuerySet.as_manager()

    class Meta:
        """Phases of a challenge differ in name."""

        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["phase_of", "phase"], name="phase_name"),
        ]

    @property
    def main(self) -> Challenge:
        """Challenge that has the teams and the entry rules: itself, unless it is a phase."""
        return self.phase_of or self

    @property
    def family(self) -> ChallengeQuerySet:
        """All phases, the main challenge first."""
        number = self.phase_of_id or self.pk
        return Challenge.objects.filter(Q(pk=number) | Q(phase_of=number)).order_by("pk")

    @property
    def full_title(self) -> str:
        """The title of the main challenge and, where there are several, the phase's name."""
        return f"{self.main.title}: {self.phase}" if self.phase else self.main.title

    @property
    def labeled_metrics(self) -> dict[str, Metric]:
        """The metrics by label, with the settings of the challenge's language."""
        return get_metrics(self.metrics, language=self.language or None)

    @property
    def images(self) -> list[ImageId]:
        """The images' ids, in the order of all per-image data."""
        images: list[ImageId] = unpack_json(self.packed_images)
        return images

    @property
    def slices(self) -> Slices | None:
        """Groups of images that are also scored separately."""
        if self.packed_slices is None:
            return None
        content = unpack_json(self.packed_slices)
        members = {name: np.array(found, np.int64) for name, found in content["members"].items()}
        return Slices(content["by"], members)

    @property
    def is_open(self) -> bool:
        """True if it takes submissions now."""
        now = timezone.now()
        return (self.opens is None or self.opens <= now) and (
            self.closes is None or now < self.closes
        )

    @property
    def is_to_come(self) -> bool:
        """True if it opens later."""
        return self.opens is not None and timezone.now() < self.opens

    @property
    def hides_scores(self) -> bool:
        """True if teams see no scores now."""
        return self.scores_hidden and (self.closes is None or timezone.now() < self.closes)

    @property
    def shows_all_digits(self) -> bool:
        """True if teams see digits that are not significant; phases with its references too."""
        return self.exact_scores and not self.sharing.filter(exact_scores=False).exists()

    @property
    def opens_images(self) -> bool:
        """True if teams see scores of single images; phases with its references too."""
        return self.image_scores_open and not self.sharing.filter(image_scores_open=False).exists()

    def shows_leaderboard_to(self, account: Any) -> bool:
        """Return True if an account may see the leaderboard."""
        return _is_owner(account) or (self.leaderboard_open and not self.hides_scores)

    def admits(self, account: Any) -> bool:
        """Return True if an account may submit for its team, as far as the owner has decided.

        Who was refused does not come back in another team.
        """
        main = self.main
        decided = dict(main.teams.values_list("team", "state").filter(team__in=_sides(account)))
        if Participation.State.REFUSED in decided.values():
            return False
        approved = decided.get(team_of(account).pk) == Participation.State.APPROVED
        return main.entry == self.Entry.OPEN or _is_owner(account) or approved

    def precision(self, account: Any, slice: str = "") -> Precision:
        """Return the precision of scores for an account, on all images or a slice."""
        if self.shows_all_digits or _is_owner(account):
            return EXACT
        slices = self.slices if slice else None
        images = self.images if slices is None else slices.members[slice]
        return Precision.of_images(len(images))

    def get_absolute_url(self) -> str:
        """Return the challenge's page."""
        return reverse("challenge", kwargs={"challenge": self.slug})


def _is_owner(account: Any) -> bool:
    return bool(account.is_authenticated and account.is_owner)


def _sides(account: Any) -> set[int]:
    """Return the keys of an account and of its team."""
    return {account.pk, team_of(account).pk}


def team_of(account: Any) -> Account:
    """Return the team of an account: the one that it has joined, or its own."""
    membership: Membership | None = getattr(account, "membership", None)
    team: Account = membership.team if membership else account
    return team


def may_submit(account: Any) -> bool:
    """Return True if an account's team lets it submit."""
    membership: Membership | None = getattr(account, "membership", None)
    return membership is None or membership.may_submit


class Membership(models.Model):
    """An account that has joined the team of another one.

    An account is in one team: in several, it would have the submissions of each.
    """

    team = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="members")
    account = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="membership"
    )
    may_submit = models.BooleanField(default=True)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Order: time of joining."""

        ordering: ClassVar[list[str]] = ["joined", "pk"]


class TeamInvite(models.Model):
    """A link by which one account can join a team; the database has only the digest of its key."""

    team = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="invites")
    digest = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()


class Participation(models.Model):
    """A team's request or approval in a challenge that requires approval."""

    class State(models.TextChoices):
        """Decisions of the owner."""

        ASKED = "asked"
        APPROVED = "approved"
        REFUSED = "refused"

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="teams")
    team = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKED)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Each team is in a challenge at most once."""

        ordering: ClassVar[list[str]] = ["created", "pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["challenge", "team"], name="team_once"),
        ]


class HiddenReferences(models.Model):
    """Hidden references for all images of a challenge, such as five or forty for each."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="reference_sets")
    name = models.SlugField(max_length=30)
    packed_references = models.BinaryField()

    class Meta:
        """A challenge's sets differ in name."""

        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["challenge", "name"], name="reference_set_name"),
        ]

    @property
    def references(self) -> list[list[str]]:
        """The references of each image, in the order of the challenge's images."""
        references: list[list[str]] = unpack_json(self.packed_references)
        return references


class SubmissionQuerySet(models.QuerySet["Submission"]):
    """Submissions with their visibility."""

    def visible_to(self, account: Any) -> SubmissionQuerySet:
        """Return those of one's team, and all of them to the owner; leaderboards show more."""
        return self if _is_owner(account) else self.of(account)

    def of(self, account: Any) -> SubmissionQuerySet:
        """Return those of an account's team, and its own from before it joined."""
        return self.filter(team__in=_sides(account)) if account.is_authenticated else self.none()

    def counted(self, account: Account, challenges: Iterable[Challenge]) -> SubmissionQuerySet:
        """Return submissions that count towards limits: all except failures of the server.

        Both what its team has submitted and what the account has, for whichever team.
        """
        mine = self.filter(
            Q(team=team_of(account)) | Q(author=account), challenge__in=list(challenges)
        )
        return mine.exclude(state=Submission.State.FAILED)

    def rankable(self) -> SubmissionQuerySet:
        """Return those that leaderboards may show, as an entry or as a run of one."""
        public = self.filter(is_private=False, withdrawn=None)
        shown = public.exclude(probe__in=Submission.HIDDEN_PROBES)
        return shown.exclude(state=Submission.State.FAILED)


class Submission(models.Model):
    """A team's captions for a challenge. Its row, not the queue, records its state.

    A worker claims it by writing its claim and a lease; the claim must still be valid when the
    scores are written.
    """

    class State(models.TextChoices):
        """States."""

        QUEUED = "queued"
        SCORING = "scoring"
        SCORED = "scored"
        FAILED = "failed"

    class Probe(models.TextChoices):
        """States of a submission that looks like a probe of hidden references."""

        NONE = ""
        SHOWN = "shown"
        """Its scores are shown, within the challenge's limit of probes."""
        WITHHELD = "withheld"
        """Its scores wait for the owner, and so does the team's next submission."""
        RELEASED = "released"
        KEPT = "kept"
        """The owner has decided that its scores stay hidden."""

    HIDDEN_PROBES = (Probe.WITHHELD, Probe.KEPT)

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="submissions")
    team = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="submissions")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    """The account that sent it."""
    is_private = models.BooleanField(default=False)
    """True if its team keeps it off the leaderboard."""
    is_chosen = models.BooleanField(default=False)
    """True if its team has chosen it for the ranking."""
    withdrawn = models.DateTimeField(null=True)
    """True if withdrawn; it still counts, and others are compared with it."""
    run_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="other_runs")
    """The submission of which it is another run, such as a training with another seed; None for
    the first run."""
    title = models.CharField(max_length=120)
    created = models.DateTimeField(default=timezone.now)
    packed_captions = models.BinaryField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    claim = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    queued = models.DateTimeField(default=timezone.now)
    """Time of the last queuing."""
    attempts = models.PositiveSmallIntegerField(default=0)
    steps_done = models.PositiveSmallIntegerField(default=0)
    steps = models.PositiveSmallIntegerField(default=0)
    scored = models.DateTimeField(null=True)
    warnings = models.JSONField(default=list, blank=True)
    """Warnings about captions that the tokenizer does not support, a sentence each."""
    packed_fingerprint = models.BinaryField(null=True)
    """Fingerprint for comparison with others, see `probes`."""
    probe = models.CharField(max_length=10, choices=Probe.choices, blank=True, default="")
    probe_reason = models.CharField(max_length=200, blank=True, default="")
    """Reason for the owner only, since it may mention other teams."""

    objects = SubmissionQuerySet.as_manager()

    class Meta:
        """Indexes for periodic jobs (states) and pages (teams, challenges)."""

        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "queued"], name="submission_state"),
            models.Index(fields=["challenge", "team", "created"], name="submission_team"),
        ]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["challenge", "team"], condition=Q(is_chosen=True), name="chosen_once"
            ),
        ]

    @property
    def captions(self) -> list[str]:
        """A caption per image, in the order of the challenge's images."""
        captions: list[str] = unpack_json(self.packed_captions)
        return captions

    @property
    def is_withheld(self) -> bool:
        """True if only the owner sees its scores."""
        return self.probe in self.HIDDEN_PROBES

    @property
    def waits_for_owner(self) -> bool:
        """True if the owner has yet to decide on its scores; its team cannot submit meanwhile."""
        return self.probe == self.Probe.WITHHELD

    def belongs_to(self, account: Any) -> bool:
        """Return True if it is one of an account's team."""
        return bool(account.is_authenticated) and self.team_id in _sides(account)

    def shows_scores_to(self, account: Any) -> bool:
        """Return True if an account that sees the submission sees its scores."""
        return _is_owner(account) or not (self.is_withheld or self.challenge.hides_scores)

    def get_absolute_url(self) -> str:
        """Return the submission's page."""
        return reverse("submission", kwargs={"submission": self.pk})


class ImageRows(models.Model):
    """Statistics per image of some metrics of a submission: float64[images, k]."""

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="rows")
    packed = models.BinaryField()

    @property
    def array(self) -> Floats:
        """The rows themselves."""
        return unpack_rows(self.packed)


class Score(models.Model):
    """A submission's score by one metric on one set of references, of all images or a slice."""

    submission = models.ForeignKey(Submission, models.CASCADE, related_name="scores")
    reference_set = models.ForeignKey(HiddenReferences, models.CASCADE, related_name="+")
    metric = models.CharField(max_length=MAX_METRIC_LENGTH)
    slice = models.CharField(max_length=MAX_SLICE_LENGTH, blank=True, default="")
    """Empty: all images."""
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    signature = models.TextField()
    rows = models.ForeignKey(ImageRows, models.CASCADE, related_name="scores")

    class Meta:
        """Each score of a submission is unique."""

        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["submission", "reference_set", "metric", "slice"], name="scored_once"
            ),
        ]


class RunsInterval(models.Model):
    """Interval of the mean score of several runs, over images and runs."""

    score = models.OneToOneField(Score, models.CASCADE, related_name="runs_interval")
    """That of the first run."""
    runs = models.TextField()
    """Numbers of the runs' scores; the interval is no longer valid if they change."""
    low = models.FloatField()
    high = models.FloatField()


class Difference(models.Model):
    """Paired test of two scores on the same images, or of the means of several runs."""

    one = models.ForeignKey(Score, models.CASCADE, related_name="+")
    other = models.ForeignKey(Score, models.CASCADE, related_name="+")
    difference = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    p = models.FloatField()
    effect = models.FloatField()
    wins = models.FloatField()
    runs = models.TextField(blank=True, default="")
    """Numbers of the runs' scores of both, see `pair_key`; the test is no longer valid if they
    change. Empty: a single run each."""

    class Meta:
        """A pair is tested once, the earlier score first."""

        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["one", "other"], name="tested_once"),
        ]


class ChallengeFile(models.Model):
    """A file that teams download, such as captions to learn from."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    about = models.CharField(max_length=300, blank=True, default="")
    for_teams = models.BooleanField(default=False)
    """True if only participating teams may download it."""
    size = models.PositiveBigIntegerField()
    content = models.BinaryField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Order: time of creation."""

        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["challenge", "name"], name="file_name"),
        ]


class Announcement(models.Model):
    """News of a challenge, in Markdown."""

    challenge = models.ForeignKey(Challenge, models.CASCADE, related_name="announcements")
    title = models.CharField(max_length=120)
    text = models.TextField(max_length=20_000, blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        """The newest first."""

        ordering: ClassVar[list[str]] = ["-created", "-pk"]
