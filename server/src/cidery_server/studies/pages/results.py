"""The results of a study: comparison of systems, winners of pairs, agreement of metrics."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils.translation import gettext_lazy
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound

from cidery.errors import CideryError
from cidery_server.studies.answer_counts import Count
from cidery_server.studies.creation import add_references
from cidery_server.studies.pages.creation import (
    FILE_STYLE,
    StudySummary,
    assign_errors_to,
    check_file,
)
from cidery_server.studies.pages.management import StandingsData, StudyOwnerPage
from cidery_server.studies.system_results import METRIC, rank_systems
from cidery_server.web.metric_files import refuse_files
from cidery_server.web.pages import FormPage
from cidery_server.web.translation import translate as _

SHOWN_WINNERS = 500
NO_REFERENCES = gettext_lazy(
    "This study has no references, which metrics need. Add references to evaluate metrics."
)


class ResultsData(serializers.Serializer[Any]):
    """Results by system."""

    study = StudySummary()
    metric = serializers.CharField(help_text="Metric of the request.")
    standings = StandingsData(
        many=True, help_text="From answers only (people), then with the metric's scores."
    )
    problem = serializers.CharField(help_text="Reason for missing results; otherwise empty.")


class ResultsQuery(serializers.Serializer[Any]):
    """Query: the metric whose scores refine the estimates."""

    metric = serializers.CharField(
        required=False, default=METRIC, max_length=200, validators=[refuse_files]
    )


class StudyResults(StudyOwnerPage):
    """Shows the comparison of systems with anytime-valid intervals; `?metric=cider-d`."""

    template_name = "studies/results.html"
    shows = ResultsData
    queries = ResultsQuery

    def show(self) -> Any:
        """Estimate everything from the answers that count."""
        study, metric = self.study(), self.read_query()["metric"]
        found = rank_systems(study, metric)
        standings = [one.to_dict() for one in found.standings]
        return {
            "study": study,
            "metric": metric,
            "standings": standings,
            "problem": found.problem,
        }


class WinnerData(serializers.Serializer[Any]):
    """Result of a pair."""

    image = serializers.CharField()
    first = serializers.CharField()
    second = serializers.CharField()
    votes = serializers.IntegerField()
    winner = serializers.CharField()


class AccuracyData(serializers.Serializer[Any]):
    """Agreement of metrics with the study."""

    study = StudySummary()
    question = serializers.CharField(help_text="Question of these answers, if there are several.")
    questions = serializers.ListField(child=serializers.CharField(), help_text="All of them.")
    protocol = serializers.CharField()
    header = serializers.ListField(child=serializers.CharField())
    lines = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    signatures = serializers.DictField(child=serializers.CharField())
    first_wins = serializers.IntegerField()
    second_wins = serializers.IntegerField()
    ties = serializers.IntegerField()
    winners = WinnerData(many=True, help_text=f"At most {SHOWN_WINNERS}; the export has all.")
    problem = serializers.CharField(help_text="Reason for a missing table; otherwise empty.")


class AccuracyQuery(serializers.Serializer[Any]):
    """Query: metrics to evaluate, and the question."""

    metric = serializers.ListField(
        child=serializers.CharField(max_length=200, validators=[refuse_files]), required=False
    )
    question = serializers.CharField(required=False, default="", allow_blank=True, max_length=40)


class Accuracy(StudyOwnerPage):
    """Shows winners of pairs and the accuracy of metrics; `?metric=cider-d` selects metrics."""

    template_name = "studies/accuracy.html"
    shows = AccuracyData
    queries = AccuracyQuery

    def show(self) -> Any:
        """Judge the metrics, as `cidery meta` does."""
        study, query = self.study(), self.read_query()
        names = [question["name"] for question in study.questions]
        question = query["question"] or next(iter(names), "")
        if question and question not in names:
            raise NotFound(_("The study has no such question."))
        count = Count(study, question)
        shown: dict[str, Any] = {"study": count.study, "protocol": "", "header": [], "lines": []}
        shown |= {"question": question, "questions": names}
        shown |= {"signatures": {}, "problem": "", "winners": []}
        shown |= {"first_wins": 0, "second_wins": 0, "ties": 0}
        if not count.values:
            return shown | {"problem": _("There are no answers to count yet.")}
        winners = count.winners()
        shown |= {
            "first_wins": sum(one.votes > 0 for one in winners),
            "second_wins": sum(one.votes < 0 for one in winners),
            "ties": sum(one.votes == 0 for one in winners),
            "winners": winners[:SHOWN_WINNERS],
        }
        if count.study.lacks_references:
            return shown | {"problem": NO_REFERENCES}
        try:
            results = count.evaluate([one for one in query.get("metric", []) if one] or None)
        except CideryError as error:
            return shown | {"problem": str(error)}
        table = results.table()
        return shown | {
            "protocol": results.protocol,
            "header": table.header,
            "lines": table.cells,
            "signatures": results.signatures,
        }


class ReferencesForm(serializers.Serializer[Any]):
    """Form for references."""

    references = serializers.FileField(
        label=gettext_lazy("File of references"),
        validators=[check_file],
        help_text=gettext_lazy("In any format that cidery reads."),
        style=FILE_STYLE,
    )


class References(StudyOwnerPage, FormPage):
    """Adds references to a study, so that metrics can be judged by its answers."""

    template_name = "studies/references.html"
    shows = StudySummary
    form = ReferencesForm
    accepts = StudySummary
    accepted_status = status.HTTP_200_OK
    has_files = True

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Read the file and store the references of the study's images."""
        study = self.study()
        with assign_errors_to("references"):
            count = add_references(study, values["references"])
        message = _("{count} images have references now.").format(count=count)
        return self.done("study-accuracy", study, message=message, name=study.name)
