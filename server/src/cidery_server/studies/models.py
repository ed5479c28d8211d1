"""Models: studies, items, judges and assignments.

Every item has as many *slots* as it needs judges. A slot is an Assignment: free at first, then
given to a judge, then answered. That an item has exactly so many different judges is not computed
but constrained: an item has each slot once, and each judge once.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext, gettext_lazy, override
from django.utils.translation import gettext_noop as _

from cidery_server.studies.items import Content
from cidery_server.studies.sentences import SentenceRules

UPLOADED = "uploads:"
"""Prefix of `Study.images` for uploaded images."""
MAX_STEPS = 21
"""Maximum number of steps of a scale; each is a button."""
QUESTIONS: dict[str, str] = {
    "triplet": _("Which of the two sentences, B or C, is more similar to A?"),
    "pairwise": _("Which sentence describes the image better?"),
    "rating": _("How good is this description of the image?"),
    "collection": _("Describe the image in one sentence."),
}
SET_QUESTION = _("How diverse are these captions of the image: how much do they differ?")
SEVERAL = _("Please answer all questions.")
SETS_QUESTION = _("How diverse is each set of captions: how much do its captions differ?")
INSTRUCTIONS = _("Read carefully and answer by your own judgment. There is no time limit.")
CONSENT = _(
    "I take part voluntarily and may stop at any time. My answers are stored and may be "
    "published without my name."
)
WORST, BEST = _("worst"), _("best")
DEFAULTS = {
    "instructions": INSTRUCTIONS,
    "consent": CONSENT,
    "scale_low_label": WORST,
    "scale_high_label": BEST,
}
"""Default texts of studies."""


def translate_to_all(text: str) -> set[str]:
    """Return one of the texts above in all languages."""
    found = set()
    for code, _name in settings.LANGUAGES:
        with override(code):
            found.add(gettext(text))
    return found


def write_number(step: float) -> str:
    """Return the shortest text of a number."""
    short = f"{step:g}"
    return short if float(short) == step else repr(step)


class Study(models.Model):
    """One question, asked about many items."""

    class State(models.TextChoices):
        """True if judges are given items."""

        PILOT = "pilot", gettext_lazy("Pilot")
        """Judges test the study; their answers will not count."""
        OPEN = "open", gettext_lazy("Open")
        DECIDED = "decided", gettext_lazy("Decided")
        """Closed automatically: no new judges; those who have started can finish."""
        CLOSED = "closed", gettext_lazy("Closed")

    class Design(models.TextChoices):
        """Tasks of judges."""

        TRIPLET = "triplet"
        PAIRWISE = "pairwise"
        RATING = "rating"
        COLLECTION = "collection"

    name = models.CharField(
        max_length=60,
        unique=True,
        validators=[
            RegexValidator(
                r"\A[a-z0-9]+(-[a-z0-9]+)*\Z",
                gettext_lazy(
                    "A name consists of lowercase letters, digits and hyphens, for example "
                    "which-is-closer."
                ),
            )
        ],
        help_text=gettext_lazy("Used in addresses: lowercase letters, digits and hyphens."),
        error_messages={
            "unique": gettext_lazy("There is a study of this name already; choose another.")
        },
    )
    title = models.CharField(
        max_length=200, help_text=gettext_lazy("Shown to judges above everything else.")
    )
    design = models.CharField(max_length=20, choices=Design.choices)
    language = models.CharField(
        max_length=10,
        choices=settings.LANGUAGES,
        default="en",
        help_text=gettext_lazy("Language of all pages that judges see."),
    )
    question = models.CharField(
        max_length=500,
        blank=True,
        help_text=gettext_lazy("Blank: the default question of the design."),
    )
    instructions = models.TextField(max_length=10_000, default=INSTRUCTIONS)
    consent = models.TextField(max_length=10_000, default=CONSENT)
    consent_version = models.PositiveIntegerField(default=1)
    """Raised whenever the text of the consent changes."""
    contact = models.CharField(
        max_length=300,
        blank=True,
        help_text=gettext_lazy(
            "Name and address of a contact person, shown on all pages for judges."
        ),
    )
    withdrawn = models.PositiveIntegerField(default=0)
    """Number of judges whose answers were erased, by themselves or by the owner."""
    judges_each = models.PositiveSmallIntegerField(
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=gettext_lazy("Number of judges, or of sentences, per item."),
    )
    timeout_minutes = models.PositiveIntegerField(
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(60 * 24 * 30)],
        help_text=gettext_lazy("After this time, an unanswered item is given to another judge."),
    )
    items_per_judge = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
        help_text=gettext_lazy("Maximum number of items per judge in one visit. Blank: no limit."),
    )
    check_every = models.PositiveSmallIntegerField(
        default=20,
        validators=[MinValueValidator(2), MaxValueValidator(1000)],
        help_text=gettext_lazy("One in this many items is an attention check."),
    )
    fewest_checks_right = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=gettext_lazy(
            "Exclude judges whose share of correct checks is below this, for example 0.7. "
            "Blank: no exclusion."
        ),
    )
    checks_before = models.PositiveSmallIntegerField(
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text=gettext_lazy("A judge is excluded only after this many checks."),
    )
    fewest_seconds = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(3600)],
        help_text=gettext_lazy(
            "Faster answers do not count, and their items are given to other judges. Blank:"
            " all answers count."
        ),
    )
    images = models.CharField(
        max_length=500,
        blank=True,
        help_text=gettext_lazy("https://example.org/{image}.jpg; empty: no images are shown."),
    )
    scale_low = models.FloatField(default=1, help_text=gettext_lazy("Lowest rating on the scale."))
    scale_high = models.FloatField(default=5)
    scale_step = models.FloatField(default=1, validators=[MinValueValidator(1e-6)])
    scale_low_label = models.CharField(max_length=60, blank=True, default=WORST)
    scale_high_label = models.CharField(max_length=60, blank=True, default=BEST)
    min_words = models.PositiveSmallIntegerField(
        default=8,
        validators=[MaxValueValidator(1000)],
        help_text=gettext_lazy("For collected sentences."),
    )
    max_words = models.PositiveSmallIntegerField(default=100, validators=[MaxValueValidator(1000)])
    forbidden = models.TextField(
        max_length=10_000, blank=True, help_text=gettext_lazy("Words or phrases, one per line.")
    )
    examples = models.JSONField(
        default=list,
        blank=True,
        help_text='[{"sentence": "A dog.", "accepted": false, "why": "too short"}]',
    )
    completion_code = models.CharField(
        max_length=60,
        blank=True,
        help_text=gettext_lazy("Blank: each judge gets a different code."),
    )
    completion_url = models.URLField(
        max_length=500,
        blank=True,
        help_text=gettext_lazy(
            "Address that judges are sent to at the end; {code} is replaced by their "
            "completion code."
        ),
    )
    frames = models.TextField(
        max_length=2000,
        blank=True,
        help_text=gettext_lazy(
            "Sites that may show the study in a frame, one per line: https://*.mturk.com"
        ),
    )
    questions = models.JSONField(
        default=list,
        blank=True,
        help_text='If several: [{"name": "fluency", "text": "Which is more fluent?"}]',
    )
    allow_ties = models.BooleanField(
        default=False,
        help_text=gettext_lazy("Pairs: offer the answer “both are equally good”."),
    )
    allow_neither = models.BooleanField(
        default=False,
        help_text=gettext_lazy("Pairs: offer the answer “neither fits”."),
    )
    allow_skip = models.BooleanField(
        default=False,
        help_text=gettext_lazy("Judges may skip an item; it is given to another judge."),
    )
    ask_comment = models.BooleanField(
        default=False, help_text=gettext_lazy("Judges may comment on each item.")
    )
    stop_when_decided = models.BooleanField(
        default=False,
        help_text=gettext_lazy(
            "Close the study automatically once every comparison of systems is decided. "
            "Judges who have started can finish their visit."
        ),
    )
    answers_at_last_check = models.PositiveIntegerField(default=0)
    """Number of answers when the decision was last checked."""
    seed = models.BigIntegerField(
        default=0, validators=[MinValueValidator(0), MaxValueValidator(2**62)]
    )
    references = models.JSONField(default=dict, blank=True)
    """image -> captions, for the judgments' lines of references."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    item_count = models.PositiveIntegerField(default=0)
    """Without attention checks."""
    check_count = models.PositiveIntegerField(default=0)
    training_count = models.PositiveIntegerField(default=0)
    revision = models.PositiveIntegerField(default=0)
    """Number of changes; processes reload the study if it differs."""
    created = models.DateTimeField(auto_now_add=True)
    closed = models.DateTimeField(null=True, blank=True)

    class Meta:
        """The newest first."""

        ordering: ClassVar[list[str]] = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def asked(self) -> str:
        """The question, the usual one if there is no other."""
        return self.question or self.translate(
            SEVERAL if self.questions else QUESTIONS[self.design]
        )

    def translate(self, text: str) -> str:
        """Return one of the texts above in the language of the study."""
        with override(self.language):
            return gettext(text) if text else ""

    def translate_defaults(self) -> None:
        """Translate default texts into the language of the study."""
        for name, text in DEFAULTS.items():
            if getattr(self, name) in translate_to_all(text):
                setattr(self, name, self.translate(text))

    def ask_about(self, content: Content) -> str:
        """Return the question that fits an item, where the owner has written none."""
        asked = self.question or self.questions
        if asked or ("captions" not in content and "sets" not in content):
            return self.asked
        return self.translate(SETS_QUESTION if "sets" in content else SET_QUESTION)

    @property
    def is_open(self) -> bool:
        """True if judges may join and receive items: open, or a pilot."""
        return self.state in (self.State.PILOT, self.State.OPEN)

    @property
    def is_pairwise(self) -> bool:
        """True if the answer is one of two sentences."""
        return self.design in (self.Design.TRIPLET, self.Design.PAIRWISE)

    @property
    def is_collection(self) -> bool:
        """True if the answer is a sentence."""
        return self.design == self.Design.COLLECTION

    @property
    def rules(self) -> SentenceRules:
        """Rules for collected sentences."""
        lines = (line.strip() for line in self.forbidden.splitlines())
        return SentenceRules(self.min_words, self.max_words, tuple(filter(None, lines)))

    @property
    def scale(self) -> list[float]:
        """The steps of a rating, from the lowest."""
        width = (self.scale_high - self.scale_low) / self.scale_step
        # One more than are allowed tells as much as a billion more.
        count = round(min(width, MAX_STEPS)) + 1
        return [round(self.scale_low + step * self.scale_step, 6) for step in range(count)]

    @property
    def labels(self) -> dict[str, float]:
        """Labels and values of the rating buttons, with their steps."""
        return {write_number(step): step for step in self.scale}

    @property
    def lacks_references(self) -> bool:
        """True if there is nothing that metrics could compare captions with."""
        return self.design != self.Design.TRIPLET and not self.references

    @property
    def frame_sites(self) -> list[str]:
        """The sites that may show the study in a frame."""
        return self.frames.split()

    @property
    def visit_length(self) -> int:
        """About how many answers a judge gives in a visit, attention checks included."""
        checks = min(self.check_count, self.item_count // (self.check_every - 1))
        everything = self.item_count + checks
        return min(self.items_per_judge or everything, everything)

    @property
    def has_local_images(self) -> bool:
        """True if its images are files of this machine."""
        return bool(self.images) and not self.images.startswith(("https://", "http://"))

    @property
    def has_rules(self) -> bool:
        """True if rules exclude some answers automatically."""
        return bool(self.fewest_seconds) or self.fewest_checks_right is not None

    @property
    def choices(self) -> list[str]:
        """Choices offered besides the answers."""
        pairs = self.is_pairwise
        offered = {
            # Of several questions, each has these answers.
            "tie": pairs and self.allow_ties and not self.questions,
            "neither": pairs and self.allow_neither and not self.questions,
            "skip": self.allow_skip,
            "broken": bool(self.images),
        }
        return [name for name, is_offered in offered.items() if is_offered]

    @property
    def part_choices(self) -> list[str]:
        """Choices offered besides the sentences for one of several questions on a pair."""
        offered = {"tie": self.allow_ties, "neither": self.allow_neither}
        return [name for name, is_offered in offered.items() if is_offered and self.is_pairwise]

    def image_source(self, content: Content) -> str:
        """Return the URL or the file of an item's image, nothing without images."""
        return self.images.replace("{image}", content["image"])


class Item(models.Model):
    """Item to judge; an attention check if its answer is known."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="items")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    known_answer = models.FloatField(null=True)
    training = models.BooleanField(default=False)
    """True if it comes first, with its answer shown afterwards."""
    explanation = models.TextField(blank=True)
    """Explanation of the right answer, for training."""

    class Meta:
        """Order: time of creation."""

        ordering: ClassVar[list[str]] = ["study", "number"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["study", "number"], name="item_number"),
        ]

    def __str__(self) -> str:
        return f"item {self.number}"


class Invite(models.Model):
    """A link by which judges join; only its digest is stored."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="invites")
    label = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    personal = models.BooleanField()
    """True for one person; otherwise for all workers of a crowdsourcing site."""
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.label


class ConsentText(models.Model):
    """Consent text in each of its versions."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="consent_texts")
    version = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        """Each version has one text."""

        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["study", "version"], name="consent_version"),
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Judge(models.Model):
    """Someone who agreed to answer in one study."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="judges")
    worker = models.CharField(max_length=200)
    """Id of the worker at the crowdsourcing site; random for others."""
    visit: models.ForeignKey[Visit | None, Visit | None] = models.ForeignKey(
        "Visit", models.SET_NULL, null=True, related_name="+"
    )
    """The present one."""
    joined = models.DateTimeField(auto_now_add=True)
    consented = models.DateTimeField(null=True)
    """Time of the last consent."""
    consent_version = models.PositiveIntegerField(null=True)
    """Version of the consent text."""
    excluded = models.BooleanField(default=False)
    reason = models.CharField(max_length=200, blank=True)

    class Meta:
        """Each worker is one judge of a study."""

        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["study", "worker"], name="judge_worker"),
        ]

    def __str__(self) -> str:
        return self.worker


class Visit(models.Model):
    """A judge's visit, for which a crowdsourcing site pays once: it has one completion code."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="visits")
    assignment = models.CharField(max_length=200, blank=True)
    """The site's name for it."""
    started = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)
    """Time of completion: no items left, and at least one answered."""
    stopped = models.DateTimeField(null=True)
    """Time of an early stop; the judge receives no items until they continue."""
    code = models.CharField(max_length=60, blank=True)
    """Completion code; empty before completion."""
    submit_to = models.CharField(max_length=200, blank=True)
    """Site that expects a form at the end, as Mechanical Turk does; empty: none."""

    class Meta:
        """Each assignment of a site is one visit."""

        ordering: ClassVar[list[str]] = ["pk"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["judge", "assignment"], name="visit_assignment"),
        ]

    def __str__(self) -> str:
        return self.assignment


class Assignment(models.Model):
    """A slot of an item: free, given to a judge, answered, or given up."""

    class State(models.TextChoices):
        """States."""

        FREE = "free"
        GIVEN = "given"
        ANSWERED = "answered"
        RETURNED = "returned"
        """Timed out; its slot was given to another judge."""

    class Choice(models.TextChoices):
        """Responses other than an answer or a vote."""

        NONE = ""
        TIE = "tie"
        NEITHER = "neither"
        SKIP = "skip"
        BROKEN = "broken"
        """The image is not there, or cannot be seen."""

    class Review(models.TextChoices):
        """Review states of a collected sentence."""

        NONE = ""
        PENDING = "pending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"

    study = models.ForeignKey(Study, models.CASCADE, related_name="assignments")
    item = models.ForeignKey(Item, models.CASCADE, related_name="assignments")
    judge = models.ForeignKey(Judge, models.CASCADE, null=True, related_name="assignments")
    visit = models.ForeignKey(Visit, models.SET_NULL, null=True, related_name="assignments")
    """Visit in which the judge was given it."""
    slot = models.PositiveSmallIntegerField(null=True)
    """Slot of the item; None for attention checks and assignments that do not count."""
    order = models.PositiveIntegerField(default=0)
    """Order in which free slots are assigned."""
    state = models.CharField(max_length=10, choices=State.choices, default=State.FREE)
    swapped = models.BooleanField(default=False)
    """True if the judge saw the second sentence of a pair first."""
    ticket = models.BigIntegerField(default=0)
    """Random id for the judge's browser; the primary key would reveal attention checks."""
    given = models.DateTimeField(null=True)
    answered = models.DateTimeField(null=True)
    value = models.FloatField(null=True)
    """1 for the first sentence of a pair, -1 for the second, 0 for neither; or the rating."""
    ratings = models.JSONField(null=True)
    """Several answers: question -> rating or vote (`tie` and `neither` differ), or place of
    a set -> rating."""
    choice = models.CharField(max_length=10, choices=Choice.choices, blank=True)
    comment = models.TextField(blank=True)
    pilot = models.BooleanField(default=False)
    """True if it was answered in the pilot, and so does not count."""
    too_fast = models.BooleanField(default=False)
    """True if it was answered faster than the study allows, and so does not count."""
    sentence = models.TextField(blank=True)
    review = models.CharField(max_length=10, choices=Review.choices, blank=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        """Slots and judges of an item are unique."""

        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["item", "slot"], name="assignment_slot"),
            models.UniqueConstraint(fields=["item", "judge"], name="assignment_judge"),
            models.CheckConstraint(
                condition=Q(state="free", judge=None) | (~Q(state="free") & Q(judge__isnull=False)),
                name="assignment_free_without_judge",
            ),
            models.CheckConstraint(
                condition=~Q(state="answered") | Q(answered__gte=F("given")),
                name="assignment_answered_after_given",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["study", "order"], condition=Q(state="free"), name="free_slots"),
            models.Index(fields=["judge", "state", "given"], name="judge_assignments"),
            models.Index(fields=["study", "state"], name="study_assignments"),
        ]

    def __str__(self) -> str:
        return f"{self.item} for {self.judge}"
