"""The owner's pages of one study: progress, state, invites and judges."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers, status

from cidery.app.studies.exporting import EXPORTS
from cidery.app.studies.invites import make_links
from cidery.app.studies.models import Judge, Study
from cidery.app.studies.moderation import exclude_judge, restore_judge, set_state
from cidery.app.studies.pages.creating import StudySummary
from cidery.app.studies.slots import count_slots
from cidery.app.studies.summaries import summarize
from cidery.app.web.pages import FormPage, Page
from cidery.app.web.roles import Role

MOST_INVITES = 200


class StudyOwnerPage(Page):
    """A page of one study, for the owner."""

    role = Role.OWNER

    def study(self) -> Study:
        """Return the study of the address."""
        return get_object_or_404(Study, name=self.kwargs["name"])


class IntervalData(serializers.Serializer[Any]):
    """A statistic with its interval; nothing where it cannot be told."""

    score = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class JudgeData(serializers.Serializer[Any]):
    """How a judge does."""

    id = serializers.IntegerField()
    worker = serializers.CharField()
    assignment = serializers.CharField()
    excluded = serializers.BooleanField()
    reason = serializers.CharField()
    codes = serializers.ListField(
        child=serializers.CharField(), help_text="Completion codes, one for each finished visit."
    )
    answers = serializers.IntegerField()
    checks = serializers.IntegerField()
    checks_right = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)
    with_majority = serializers.FloatField(allow_null=True)


class ExportData(serializers.Serializer[Any]):
    """A file that the study's answers can be had as."""

    kind = serializers.CharField()
    file = serializers.CharField()


class StudyData(serializers.Serializer[Any]):
    """How a study goes."""

    name = serializers.CharField()
    title = serializers.CharField()
    design = serializers.CharField()
    state = serializers.CharField()
    items = serializers.IntegerField()
    judges_each = serializers.IntegerField()
    asked = serializers.CharField()
    needed = serializers.IntegerField(help_text="Answers in all.")
    answered = serializers.IntegerField()
    given = serializers.IntegerField(help_text="With judges now.")
    free = serializers.IntegerField()
    alpha = IntervalData(allow_null=True, help_text="Krippendorff's alpha.")
    kappa = IntervalData(allow_null=True, help_text="Fleiss' kappa.")
    median_seconds = serializers.FloatField(allow_null=True)
    checks_right = serializers.IntegerField()
    checks = serializers.IntegerField()
    pending = serializers.IntegerField(help_text="Sentences to review.")
    judges = JudgeData(many=True)
    exports = ExportData(many=True)
    charts = serializers.ListField(child=serializers.CharField())


class ProgressData(serializers.Serializer[Any]):
    """How far a study is."""

    needed = serializers.IntegerField(help_text="Answers in all.")
    answered = serializers.IntegerField()
    given = serializers.IntegerField(help_text="With judges now.")
    free = serializers.IntegerField()


class Progress(StudyOwnerPage):
    """Shows how far a study is; quick enough to be asked every few seconds."""

    template_name = "studies/progress.html"
    shows = ProgressData

    def show(self) -> Any:
        """Count the slots."""
        slots = count_slots(self.study())
        return {"needed": sum(slots.values()), **slots}


class StudyPage(StudyOwnerPage):
    """Shows how a study goes: progress, agreement, times and judges."""

    template_name = "studies/study.html"
    shows = StudyData

    def show(self) -> Any:
        """Count everything."""
        study = self.study()
        files = {"exports": exports_of(study), "charts": charts_of(study)}
        return summarize(study).to_dict() | files


def exports_of(study: Study) -> list[dict[str, str]]:
    """Return the formats that fit a study."""
    judgments = () if study.is_collection else ("jsonl", "csv")
    sentences = ("coco",) if study.is_collection else ()
    fitting = (*judgments, "answers", "codes", *sentences)
    return [{"kind": kind, "file": EXPORTS[kind][0]} for kind in fitting]


def charts_of(study: Study) -> list[str]:
    """Return the charts that fit a study."""
    return ["progress", "times", "judges"] + ([] if study.is_collection else ["answers"])


class StateForm(serializers.Serializer[Any]):
    """Whether judges are given items."""

    state = serializers.ChoiceField(choices=Study.State.choices)


class StudyState(StudyOwnerPage, FormPage):
    """Opens or closes a study."""

    template_name = "studies/state.html"
    shows = StudySummary
    form = StateForm
    accepts = StudySummary
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Open or close it."""
        study = self.study()
        set_state(study, Study.State(values["state"]))
        message = f"The study is {study.state} now."
        return self.done("study", study, message=message, name=study.name)


class InviteForm(serializers.Serializer[Any]):
    """Whom to invite."""

    name = serializers.CharField(
        max_length=80, help_text="A label for these people; only you see it."
    )
    personal = serializers.BooleanField(
        default=False,
        required=False,
        label="A link for each person",
        help_text="Otherwise one link for all workers of a crowdsourcing site.",
    )
    count = serializers.IntegerField(
        default=1, required=False, min_value=1, max_value=MOST_INVITES, help_text="Personal links."
    )


class InviteData(serializers.Serializer[Any]):
    """An invite; its link is shown once."""

    name = serializers.CharField(source="label")
    personal = serializers.BooleanField()
    created = serializers.DateTimeField()


class InvitesData(serializers.Serializer[Any]):
    """The invites of a study."""

    study = StudySummary()
    invites = InviteData(many=True)
    links = serializers.ListField(
        child=serializers.CharField(),
        help_text="Shown once, in the answer to the request that made them.",
    )


class Invites(StudyOwnerPage, FormPage):
    """Makes links by which judges join."""

    template_name = "studies/invites.html"
    shows = InvitesData
    form = InviteForm
    accepts = InvitesData
    links: tuple[str, ...] = ()

    def show(self) -> Any:
        """Return the invites, and the links that were just made."""
        study = self.study()
        invites = study.invites.order_by("-created")[:MOST_INVITES]
        return {"study": study, "invites": invites, "links": self.links}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Make invites and show their links, this once."""
        made = make_links(
            self.study(), values["name"], personal=values["count"] if values["personal"] else 0
        )
        self.links = tuple(map(self.request.build_absolute_uri, made))
        self.filled_form = self.make_form()
        return self.render(status.HTTP_201_CREATED)


class JudgeForm(serializers.Serializer[Any]):
    """Whether a judge's answers count."""

    excluded = serializers.BooleanField()
    reason = serializers.CharField(
        max_length=200,
        allow_blank=True,
        required=False,
        default="",
        help_text="Why; for your own notes.",
    )


class JudgeStateData(serializers.ModelSerializer[Judge]):
    """A judge, and whether their answers count."""

    study: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)

    class Meta:
        """What the owner decides on."""

        model = Judge
        fields: ClassVar[list[str]] = ["id", "study", "worker", "excluded", "reason"]


class JudgeState(StudyOwnerPage, FormPage):
    """Excludes a judge, or restores one; everything is counted again."""

    template_name = "studies/judge.html"
    shows = JudgeStateData
    form = JudgeForm
    accepts = JudgeStateData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return the judge."""
        judges = Judge.objects.select_related("study")
        return get_object_or_404(judges, study__name=self.kwargs["name"], pk=self.kwargs["judge"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Exclude or restore them."""
        judge = self.show()
        if values["excluded"]:
            exclude_judge(judge.pk, values["reason"])
        else:
            restore_judge(judge.pk)
        message = f"{judge.worker} is {'excluded' if values['excluded'] else 'restored'}."
        return self.done("study", self.show(), message=message, name=self.kwargs["name"])
