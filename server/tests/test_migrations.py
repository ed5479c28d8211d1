"""A database of an earlier version: what is in it keeps its meaning, and its rules."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from server.tests.support.installations import PostgreSQL

OLD = [("web", "0001_initial"), ("studies", "0001_initial"), ("challenges", "0002_slices")]
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

SCORE = {"metric": "rouge-l", "slice": "near", "value": 0.1 + 0.2, "low": 0.25, "high": 0.5} | {
    "signature": "rouge-l|beta:1.2|refs:5|tokenizer:ptb|version:0.2.0"
}


def fill(apps: Any) -> None:
    """Store what version 0.2 would have stored."""
    accounts = apps.get_model("web", "Account").objects
    for name in ("Orchard", "Оrchard"):  # the second O is Cyrillic
        accounts.create(name=name, password="!")
    challenges = apps.get_model("challenges", "Challenge").objects
    old = challenges.create(slug="old", title="Old", metrics=["rouge-l"], packed_images=b"")
    submission = old.submissions.create(
        team=accounts.get(name="Orchard"), title="first", packed_captions=b"", state="scored"
    )
    submission.scores.create(
        reference_set=old.reference_sets.create(name="c5", packed_references=b""),
        rows=submission.rows.create(packed=b"rows"),
        **SCORE,
    )
    study = apps.get_model("studies", "Study").objects.create(
        name="old", title="x", design="rating"
    )
    judges = apps.get_model("studies", "Judge").objects
    done = judges.create(study=study, worker="done", assignment="second", answered_before=1)
    busy = judges.create(study=study, worker="busy")
    for number in range(3):
        item = apps.get_model("studies", "Item").objects.create(
            study=study, number=number, content={"image": "x", "caption": "a dog"}
        )
        then = NOON + timedelta(minutes=number)
        item.assignments.create(
            study=study,
            judge=done,
            slot=0,
            state="answered",
            given=then,
            answered=then,
            value=number,
        )
        state = {"state": "answered", "answered": then} if number == 0 else {"state": "given"}
        if number < 2:
            item.assignments.create(study=study, judge=busy, slot=1, given=then, **state)


def test_an_older_database_goes_on(local_app: None) -> None:
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    from cidery_server.challenges.models import Challenge, Score
    from cidery_server.studies.models import Judge, Study
    from cidery_server.web.models import Account

    executor = MigrationExecutor(connection)
    executor.migrate(OLD)
    fill(executor.loader.project_state(OLD).apps)
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())
    try:
        first, second = Account.objects.filter(name__in=("Orchard", "Оrchard")).order_by("pk")
        assert (first.skeleton, second.skeleton) == ("orchard", None)
        old = Challenge.objects.get(slug="old")
        score = Score.objects.get(submission__challenge=old)
        assert {name: getattr(score, name) for name in SCORE} == SCORE
        assert (bytes(score.rows.packed), score.reference_set.name) == (b"rows", "c5")
        assert (old.entry, old.exact_scores, old.probes_shown) == ("open", True, 10**6)
        done, busy = Judge.objects.filter(study__name="old").select_related("visit").order_by("pk")
        assert done.visit and busy.visit
        assert (done.visit.assignment, done.visit.finished) == (
            "second",
            NOON + timedelta(minutes=2),
        )
        assert len(done.visit.code) == 10
        values = done.assignments.filter(visit=done.visit).values_list("value", flat=True)
        assert set(values) == {1, 2}  # the first was of an earlier visit
        assert (busy.visit.finished, busy.visit.code) == (None, "")
        assert busy.assignments.filter(visit=busy.visit).count() == 2
    finally:
        Study.objects.filter(name="old").delete()
        Challenge.objects.filter(slug="old").delete()
        Account.objects.filter(name__in=("Orchard", "Оrchard")).delete()


MIGRATING = """
from pathlib import Path
import sys
from cidery_server.web.environment import Environment, set_up
set_up(Environment(data=Path(sys.argv[1]), database=sys.argv[2]))
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

def go(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())
    return MigrationExecutor(connection).loader

before = ("challenges", "0003_teams_and_probes")
go()
apps = go(before).project_state([before]).apps
team = apps.get_model("web", "Account").objects.create(name="Old", password="!")
challenge = apps.get_model("challenges", "Challenge").objects.create(
    slug="old", title="Old", metrics=["rouge-l"], packed_images=b""
)
challenge.submissions.create(team=team, title="first", packed_captions=b"")
for _ in range(2):
    go()
    from cidery_server.challenges.models import Challenge, Submission
    made = Submission.objects.get()
    assert made.author_id == made.team_id and not made.is_private
    assert Challenge.objects.get().family.get().slug == "old"
    go(before)
call_command("migrate", verbosity=0)
call_command("makemigrations", check=True, dry_run=True, verbosity=0)
print("there and back")
"""


def test_the_newest_migrations_apply_and_reverse_on_postgresql(
    postgresql: PostgreSQL, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", MIGRATING, str(tmp_path), postgresql.new_database()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "there and back\n", done.stderr
