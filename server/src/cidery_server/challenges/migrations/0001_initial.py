# Written by Django.

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ImageRows",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("packed", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Challenge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=60, unique=True)),
                ("title", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True, max_length=20000)),
                ("metrics", models.JSONField()),
                ("language", models.CharField(blank=True, default="", max_length=10)),
                ("frequencies", models.CharField(default="references", max_length=60)),
                ("opens", models.DateTimeField(blank=True, null=True)),
                ("closes", models.DateTimeField(blank=True, null=True)),
                ("per_day", models.PositiveIntegerField(default=5)),
                ("in_all", models.PositiveIntegerField(default=50)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Public: listed for everyone"),
                            ("unlisted", "Unlisted: visible to everyone who has the address"),
                            ("hidden", "Hidden: visible to the owner only"),
                        ],
                        default="public",
                        max_length=10,
                    ),
                ),
                (
                    "entry",
                    models.CharField(
                        choices=[
                            ("approved", "Teams that the owner has approved or invited"),
                            ("open", "Every team"),
                        ],
                        default="approved",
                        max_length=10,
                    ),
                ),
                ("leaderboard_open", models.BooleanField(default=True)),
                ("scores_hidden", models.BooleanField(default=False)),
                ("exact_scores", models.BooleanField(default=False)),
                ("probes_shown", models.PositiveIntegerField(default=2)),
                ("image_scores_open", models.BooleanField(default=False)),
                ("packed_images", models.BinaryField()),
                ("packed_slices", models.BinaryField(null=True)),
                ("scored_version", models.PositiveIntegerField(default=0)),
                ("compared_version", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("phase", models.SlugField(blank=True, default="", max_length=30)),
                (
                    "phase_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="phases",
                        to="challenges.challenge",
                    ),
                ),
                ("sharing", models.ManyToManyField(blank=True, to="challenges.challenge")),
            ],
        ),
        migrations.CreateModel(
            name="Announcement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("title", models.CharField(max_length=120)),
                ("text", models.TextField(blank=True, default="", max_length=20000)),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="announcements",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "ordering": ["-created", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="ChallengeFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("about", models.CharField(blank=True, default="", max_length=300)),
                ("for_teams", models.BooleanField(default=False)),
                ("size", models.PositiveBigIntegerField()),
                ("content", models.BinaryField()),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="HiddenReferences",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=30)),
                ("packed_references", models.BinaryField()),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reference_sets",
                        to="challenges.challenge",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("may_submit", models.BooleanField(default=True)),
                ("joined", models.DateTimeField(auto_now_add=True)),
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="membership",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="members",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["joined", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Participation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "Asked"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                        ],
                        default="asked",
                        max_length=10,
                    ),
                ),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="teams",
                        to="challenges.challenge",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["created", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("metric", models.CharField(max_length=300)),
                ("slice", models.CharField(blank=True, default="", max_length=80)),
                ("value", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                ("signature", models.TextField()),
                (
                    "reference_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="challenges.hiddenreferences",
                    ),
                ),
                (
                    "rows",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="challenges.imagerows",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
            },
        ),
        migrations.CreateModel(
            name="Difference",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("difference", models.FloatField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                ("p", models.FloatField()),
                ("effect", models.FloatField()),
                ("wins", models.FloatField()),
                (
                    "one",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="challenges.score",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="challenges.score",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Submission",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("is_private", models.BooleanField(default=False)),
                ("is_chosen", models.BooleanField(default=False)),
                ("withdrawn", models.DateTimeField(null=True)),
                ("title", models.CharField(max_length=120)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                ("packed_captions", models.BinaryField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("scoring", "Scoring"),
                            ("scored", "Scored"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("claim", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("queued", models.DateTimeField(default=django.utils.timezone.now)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("steps_done", models.PositiveSmallIntegerField(default=0)),
                ("steps", models.PositiveSmallIntegerField(default=0)),
                ("scored", models.DateTimeField(null=True)),
                ("warnings", models.JSONField(blank=True, default=list)),
                ("packed_fingerprint", models.BinaryField(null=True)),
                (
                    "probe",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "None"),
                            ("shown", "Shown"),
                            ("withheld", "Withheld"),
                            ("released", "Released"),
                            ("kept", "Kept"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                ("probe_reason", models.CharField(blank=True, default="", max_length=200)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "challenge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submissions",
                        to="challenges.challenge",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="submissions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="score",
            name="submission",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="scores",
                to="challenges.submission",
            ),
        ),
        migrations.AddField(
            model_name="imagerows",
            name="submission",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rows",
                to="challenges.submission",
            ),
        ),
        migrations.CreateModel(
            name="TeamInvite",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("expires", models.DateTimeField()),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invites",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="challenge",
            constraint=models.UniqueConstraint(fields=("phase_of", "phase"), name="phase_name"),
        ),
        migrations.AddConstraint(
            model_name="challengefile",
            constraint=models.UniqueConstraint(fields=("challenge", "name"), name="file_name"),
        ),
        migrations.AddConstraint(
            model_name="hiddenreferences",
            constraint=models.UniqueConstraint(
                fields=("challenge", "name"), name="reference_set_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="participation",
            constraint=models.UniqueConstraint(fields=("challenge", "team"), name="team_once"),
        ),
        migrations.AddConstraint(
            model_name="difference",
            constraint=models.UniqueConstraint(fields=("one", "other"), name="tested_once"),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["state", "queued"], name="submission_state"),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["challenge", "team", "created"], name="submission_team"),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_chosen", True)),
                fields=("challenge", "team"),
                name="chosen_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.UniqueConstraint(
                fields=("submission", "reference_set", "metric", "slice"), name="scored_once"
            ),
        ),
    ]
