# Written by Django.

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        error_messages={
                            "unique": "There is a study of this name already; choose another."
                        },
                        help_text="Used in addresses: lowercase letters, digits and hyphens.",
                        max_length=60,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9]+(-[a-z0-9]+)*\\Z",
                                "A name consists of lowercase letters, digits and hyphens, for example which-is-closer.",
                            )
                        ],
                    ),
                ),
                (
                    "title",
                    models.CharField(
                        help_text="Shown to judges above everything else.", max_length=200
                    ),
                ),
                (
                    "design",
                    models.CharField(
                        choices=[
                            ("triplet", "Triplet"),
                            ("pairwise", "Pairwise"),
                            ("rating", "Rating"),
                            ("collection", "Collection"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        choices=[("en", "English"), ("de", "Deutsch")],
                        default="en",
                        help_text="Language of all pages that judges see.",
                        max_length=10,
                    ),
                ),
                (
                    "question",
                    models.CharField(
                        blank=True,
                        help_text="Blank: the default question of the design.",
                        max_length=500,
                    ),
                ),
                (
                    "instructions",
                    models.TextField(
                        default="Read carefully and answer by your own judgment. There is no time limit.",
                        max_length=10000,
                    ),
                ),
                (
                    "consent",
                    models.TextField(
                        default="I take part voluntarily and may stop at any time. My answers are stored and may be published without my name.",
                        max_length=10000,
                    ),
                ),
                ("consent_version", models.PositiveIntegerField(default=1)),
                (
                    "contact",
                    models.CharField(
                        blank=True,
                        help_text="Name and address of a contact person, shown on all pages for judges.",
                        max_length=300,
                    ),
                ),
                ("withdrawn", models.PositiveIntegerField(default=0)),
                (
                    "judges_each",
                    models.PositiveSmallIntegerField(
                        default=3,
                        help_text="Number of judges, or of sentences, per item.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                    ),
                ),
                (
                    "timeout_minutes",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="After this time, an unanswered item is given to another judge.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(43200),
                        ],
                    ),
                ),
                (
                    "items_per_judge",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Maximum number of items per judge in one visit. Blank: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000000),
                        ],
                    ),
                ),
                (
                    "check_every",
                    models.PositiveSmallIntegerField(
                        default=20,
                        help_text="One in this many items is an attention check.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
                (
                    "fewest_checks_right",
                    models.FloatField(
                        blank=True,
                        help_text="Exclude judges whose share of correct checks is below this, for example 0.7. Blank: no exclusion.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(1),
                        ],
                    ),
                ),
                (
                    "checks_before",
                    models.PositiveSmallIntegerField(
                        default=3,
                        help_text="A judge is excluded only after this many checks.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
                (
                    "fewest_seconds",
                    models.FloatField(
                        blank=True,
                        help_text="Faster answers do not count, and their items are given to other judges. Blank: all answers count.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(3600),
                        ],
                    ),
                ),
                (
                    "images",
                    models.CharField(
                        blank=True,
                        help_text="https://example.org/{image}.jpg; empty: no images are shown.",
                        max_length=500,
                    ),
                ),
                (
                    "scale_low",
                    models.FloatField(default=1, help_text="Lowest rating on the scale."),
                ),
                ("scale_high", models.FloatField(default=5)),
                (
                    "scale_step",
                    models.FloatField(
                        default=1, validators=[django.core.validators.MinValueValidator(1e-06)]
                    ),
                ),
                ("scale_low_label", models.CharField(blank=True, default="worst", max_length=60)),
                ("scale_high_label", models.CharField(blank=True, default="best", max_length=60)),
                (
                    "min_words",
                    models.PositiveSmallIntegerField(
                        default=8,
                        help_text="For collected sentences.",
                        validators=[django.core.validators.MaxValueValidator(1000)],
                    ),
                ),
                (
                    "max_words",
                    models.PositiveSmallIntegerField(
                        default=100, validators=[django.core.validators.MaxValueValidator(1000)]
                    ),
                ),
                (
                    "forbidden",
                    models.TextField(
                        blank=True, help_text="Words or phrases, one per line.", max_length=10000
                    ),
                ),
                (
                    "examples",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text='[{"sentence": "A dog.", "accepted": false, "why": "too short"}]',
                    ),
                ),
                (
                    "completion_code",
                    models.CharField(
                        blank=True,
                        help_text="Blank: each judge gets a different code.",
                        max_length=60,
                    ),
                ),
                (
                    "completion_url",
                    models.URLField(
                        blank=True,
                        help_text="Address that judges are sent to at the end; {code} is replaced by their completion code.",
                        max_length=500,
                    ),
                ),
                (
                    "frames",
                    models.TextField(
                        blank=True,
                        help_text="Sites that may show the study in a frame, one per line: https://*.mturk.com",
                        max_length=2000,
                    ),
                ),
                (
                    "questions",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text='If several: [{"name": "fluency", "text": "Which is more fluent?"}]',
                    ),
                ),
                (
                    "allow_ties",
                    models.BooleanField(
                        default=False, help_text="Pairs: offer the answer “both are equally good”."
                    ),
                ),
                (
                    "allow_neither",
                    models.BooleanField(
                        default=False, help_text="Pairs: offer the answer “neither fits”."
                    ),
                ),
                (
                    "allow_skip",
                    models.BooleanField(
                        default=False,
                        help_text="Judges may skip an item; it is given to another judge.",
                    ),
                ),
                (
                    "ask_comment",
                    models.BooleanField(
                        default=False, help_text="Judges may comment on each item."
                    ),
                ),
                (
                    "stop_when_decided",
                    models.BooleanField(
                        default=False,
                        help_text="Close the study automatically once every comparison of systems is decided. Judges who have started can finish their visit.",
                    ),
                ),
                ("answers_at_last_check", models.PositiveIntegerField(default=0)),
                (
                    "seed",
                    models.BigIntegerField(
                        default=0,
                        validators=[
                            django.core.validators.MinValueValidator(0),
                            django.core.validators.MaxValueValidator(4611686018427387904),
                        ],
                    ),
                ),
                ("references", models.JSONField(blank=True, default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pilot", "Pilot"),
                            ("open", "Open"),
                            ("decided", "Decided"),
                            ("closed", "Closed"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("item_count", models.PositiveIntegerField(default=0)),
                ("check_count", models.PositiveIntegerField(default=0)),
                ("training_count", models.PositiveIntegerField(default=0)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("closed", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-created", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Judge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("worker", models.CharField(max_length=200)),
                ("joined", models.DateTimeField(auto_now_add=True)),
                ("consented", models.DateTimeField(null=True)),
                ("consent_version", models.PositiveIntegerField(null=True)),
                ("excluded", models.BooleanField(default=False)),
                ("reason", models.CharField(blank=True, max_length=200)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="judges",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.JSONField()),
                ("known_answer", models.FloatField(null=True)),
                ("training", models.BooleanField(default=False)),
                ("explanation", models.TextField(blank=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "number"],
            },
        ),
        migrations.CreateModel(
            name="Invite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("label", models.CharField(max_length=100)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("personal", models.BooleanField()),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invites",
                        to="studies.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ConsentText",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("text", models.TextField()),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consent_texts",
                        to="studies.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Visit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("assignment", models.CharField(blank=True, max_length=200)),
                ("started", models.DateTimeField(auto_now_add=True)),
                ("finished", models.DateTimeField(null=True)),
                ("stopped", models.DateTimeField(null=True)),
                ("code", models.CharField(blank=True, max_length=60)),
                ("submit_to", models.CharField(blank=True, max_length=200)),
                (
                    "judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="visits",
                        to="studies.judge",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.AddField(
            model_name="judge",
            name="visit",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="studies.visit",
            ),
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slot", models.PositiveSmallIntegerField(null=True)),
                ("order", models.PositiveIntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("free", "Free"),
                            ("given", "Given"),
                            ("answered", "Answered"),
                            ("returned", "Returned"),
                        ],
                        default="free",
                        max_length=10,
                    ),
                ),
                ("swapped", models.BooleanField(default=False)),
                ("ticket", models.BigIntegerField(default=0)),
                ("given", models.DateTimeField(null=True)),
                ("answered", models.DateTimeField(null=True)),
                ("value", models.FloatField(null=True)),
                ("ratings", models.JSONField(null=True)),
                (
                    "choice",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "None"),
                            ("tie", "Tie"),
                            ("neither", "Neither"),
                            ("skip", "Skip"),
                            ("broken", "Broken"),
                        ],
                        max_length=10,
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("pilot", models.BooleanField(default=False)),
                ("too_fast", models.BooleanField(default=False)),
                ("sentence", models.TextField(blank=True)),
                (
                    "review",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "None"),
                            ("pending", "Pending"),
                            ("accepted", "Accepted"),
                            ("rejected", "Rejected"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="studies.item",
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="studies.judge",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="studies.study",
                    ),
                ),
                (
                    "visit",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="assignments",
                        to="studies.visit",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="item",
            constraint=models.UniqueConstraint(fields=("study", "number"), name="item_number"),
        ),
        migrations.AddConstraint(
            model_name="consenttext",
            constraint=models.UniqueConstraint(fields=("study", "version"), name="consent_version"),
        ),
        migrations.AddConstraint(
            model_name="visit",
            constraint=models.UniqueConstraint(
                fields=("judge", "assignment"), name="visit_assignment"
            ),
        ),
        migrations.AddConstraint(
            model_name="judge",
            constraint=models.UniqueConstraint(fields=("study", "worker"), name="judge_worker"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", "free")), fields=["study", "order"], name="free_slots"
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["judge", "state", "given"], name="judge_assignments"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["study", "state"], name="study_assignments"),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(fields=("item", "slot"), name="assignment_slot"),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(fields=("item", "judge"), name="assignment_judge"),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("judge", None), ("state", "free")),
                    models.Q(models.Q(("state", "free"), _negated=True), ("judge__isnull", False)),
                    _connector="OR",
                ),
                name="assignment_free_without_judge",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "answered"), _negated=True),
                    ("answered__gte", models.F("given")),
                    _connector="OR",
                ),
                name="assignment_answered_after_given",
            ),
        ),
    ]
