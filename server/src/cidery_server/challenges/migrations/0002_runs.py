"""Runs of systems; tests by earlier versions, whose p-values differ, are made again."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def delete_tests(apps: Any, _schema_editor: Any) -> None:
    apps.get_model("challenges", "Difference").objects.all().delete()
    # Workers test all challenges whose scores have changed since the last tests.
    apps.get_model("challenges", "Challenge").objects.update(compared_version=0)


class Migration(migrations.Migration):
    dependencies = [("challenges", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="difference",
            name="runs",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="submission",
            name="run_of",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="other_runs",
                to="challenges.submission",
            ),
        ),
        migrations.CreateModel(
            name="RunsInterval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("runs", models.TextField()),
                ("low", models.FloatField()),
                ("high", models.FloatField()),
                (
                    "score",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs_interval",
                        to="challenges.score",
                    ),
                ),
            ],
        ),
        migrations.RunPython(delete_tests, migrations.RunPython.noop),
    ]
