"""Every judge's present visit becomes a row; earlier ones were not kept, nor were their codes."""

from typing import Any

from django.db import migrations
from django.utils.crypto import salted_hmac

BATCH = 500


def fill_visits(apps: Any, _schema_editor: Any) -> None:
    """Make the visits, and say of answers that were given since they began that they are theirs."""
    judges = apps.get_model("studies", "Judge").objects
    visits = apps.get_model("studies", "Visit").objects
    assignments = apps.get_model("studies", "Assignment").objects
    for judge in judges.select_related("study").iterator(BATCH):
        visit = visits.create(judge=judge, assignment=judge.assignment)
        visits.filter(pk=visit.pk).update(started=judge.joined)
        judge.visit = visit
        judge.save(update_fields=["visit"])
        answered = assignments.filter(judge=judge, state="answered").order_by("answered", "pk")
        here = list(answered.values_list("pk", flat=True))[judge.answered_before :]
        for start in range(0, len(here), BATCH):
            assignments.filter(pk__in=here[start : start + BATCH]).update(visit=visit)
        waiting = assignments.filter(judge=judge, state="given").update(visit=visit)
        if here and not waiting:  # they were done, and have been told their code
            last = answered.last().answered
            visits.filter(pk=visit.pk).update(finished=last, code=_make_code(judge))


def _make_code(judge: Any) -> str:
    """Return the code as it was made then."""
    named = f"{judge.study_id}-{judge.pk}-{judge.assignment}"
    made = salted_hmac("cidery.studies.code", named, algorithm="sha256").hexdigest()[:10].upper()
    return judge.study.completion_code or made


class Migration(migrations.Migration):
    dependencies = [("studies", "0002_visits")]
    operations = [migrations.RunPython(fill_visits, migrations.RunPython.noop)]
