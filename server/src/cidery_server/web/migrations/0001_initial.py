# Written by Django.

import django.core.validators
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Attempts",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("times", models.JSONField()),
                ("expires", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Account",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=60,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A\\S(.*\\S)?\\Z",
                                "A name must not contain line breaks, or begin or end with a space.",
                            )
                        ],
                    ),
                ),
                ("skeleton", models.CharField(max_length=1200, null=True, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[("owner", "Owner"), ("team", "Team")],
                        default="team",
                        max_length=10,
                    ),
                ),
                ("contact", models.CharField(blank=True, max_length=200)),
                (
                    "language",
                    models.CharField(blank=True, db_default="", default="", max_length=10),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"), name="account_name"
                    )
                ],
            },
        ),
    ]
