"""The owner's pages of one study: progress, state, invites and judges."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy
from rest_framework import serializers, status

from cidery_server.studies.charts import describe_charts
from cidery_server.studies.exports import EXPORTS
from cidery_server.studies.form_labels import LABELS
from cidery_server.studies.invites import make_links
from cidery_server.studies.models import Judge, Study
from cidery_server.studies.moderation import exclude_judge, restore_judge, set_state
from cidery_server.studies.pages.creation import StudySummary, assign_errors_to
from cidery_server.studies.quality import apply_to_study
from cidery_server.studies.slots import count_slots
from cidery_server.studies.summaries import summarize
from cidery_server.studies.system_results import rank_systems
from cidery_server.studies.withdrawal import forget_judge
from cidery_server.web.pages import FormPage, LabeledForm, Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

MAX_INVITES = 200


class StudyOwnerPage(Page):
    """A page of one study, for the owner."""

    role = Role.OWNER

    def study(self) -> Study:
        """Return the study of the address."""
        return get_object_or_404(Study, name=self.kwargs["name"])


class IntervalData(serializers.Serializer[Any]):
    """A statistic with its interval; null if it cannot be computed."""

    score = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class JudgeData(serializers.Serializer[Any]):
    """Summary of a judge."""

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
    flags = serializers.ListField(
        child=serializers.CharField(), help_text="Suspicious behavior, such as median 0.4 s."
    )


class StandingData(serializers.Serializer[Any]):
    """Estimate for one system."""

    system = serializers.CharField()
    value = serializers.FloatField(help_text="Share of pairs won, or mean rating.")
    low = serializers.FloatField(help_text="Lower end of an anytime-valid interval.")
    high = serializers.FloatField()
    fixed_low = serializers.FloatField(
        help_text="Lower end of an interval for a number of answers fixed in advance."
    )
    fixed_high = serializers.FloatField()
    judged = serializers.IntegerField(help_text="Items with an answer.")


class ContestData(serializers.Serializer[Any]):
    """Two systems compared."""

    first = serializers.CharField()
    second = serializers.CharField()
    value = serializers.FloatField(help_text="Share of wins of the first, or difference of means.")
    low = serializers.FloatField()
    high = serializers.FloatField()
    p = serializers.FloatField(help_text="Valid at all times; Holm-corrected.")
    fixed_low = serializers.FloatField()
    fixed_high = serializers.FloatField()
    fixed_p = serializers.FloatField()
    judged = serializers.IntegerField()
    decided = serializers.BooleanField()
    ahead = serializers.CharField()
    needed = serializers.IntegerField(
        allow_null=True,
        help_text="Answers that would decide it as it looks now; none if it is decided, or if all "
        "that there can be do not suffice.",
    )
    images = serializers.IntegerField(
        help_text="Images with answers; comparisons need at least 30 to be decided."
    )


class StandingsData(serializers.Serializer[Any]):
    """Results by system."""

    question = serializers.CharField()
    kind = serializers.CharField(help_text="wins or mean.")
    metric = serializers.CharField(help_text="Metric whose scores were used; people: none.")
    systems = StandingData(many=True)
    contests = ContestData(many=True)
    judged = serializers.IntegerField()
    items = serializers.IntegerField()
    saved = serializers.FloatField(help_text="Share of answers that the metric's scores replace.")
    signature = serializers.CharField()
    confidence = serializers.FloatField()
    leader = serializers.CharField()
    needed = serializers.IntegerField(help_text="Number of answers still needed.")
    verdict = serializers.ListField(
        child=serializers.CharField(), help_text="Leading system, p-value, answers still needed."
    )


class ExportData(serializers.Serializer[Any]):
    """An export format of the study."""

    kind = serializers.CharField()
    file = serializers.CharField()


class AgreementData(serializers.Serializer[Any]):
    """Annotator agreement on one of several questions."""

    question = serializers.CharField()
    alpha = IntervalData(allow_null=True, help_text="Krippendorff's alpha.")
    kappa = IntervalData(allow_null=True, help_text="Fleiss' kappa.")


class StudyData(serializers.Serializer[Any]):
    """Summary of a study."""

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
    choices = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Number of responses tie, neither, skip and broken.",
    )
    broken = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Images that judges could not see, with the number of reports.",
    )
    withdrawn = serializers.IntegerField(help_text="People whose answers were erased.")
    judges = JudgeData(many=True)
    stop_when_decided = serializers.BooleanField(help_text="True if it closes automatically.")
    agreement = AgreementData(
        many=True, help_text="Agreement for each question, if there are several."
    )
    results = StandingsData(many=True, help_text="Comparison of systems so far, for each question.")
    results_problem = serializers.CharField(
        help_text="Reason for missing results; empty if there are results."
    )
    exports = ExportData(many=True)
    charts = serializers.DictField(
        child=serializers.CharField(), help_text="Descriptions of the charts, by name."
    )


class ProgressData(serializers.Serializer[Any]):
    """Progress of a study."""

    needed = serializers.IntegerField(help_text="Answers in all.")
    answered = serializers.IntegerField()
    given = serializers.IntegerField(help_text="With judges now.")
    free = serializers.IntegerField()


class Progress(StudyOwnerPage):
    """Shows the progress of a study; fast enough to be polled every few seconds."""

    template_name = "studies/progress.html"
    shows = ProgressData

    def show(self) -> Any:
        """Count the slots."""
        slots = count_slots(self.study())
        return {"needed": sum(slots.values()), **slots}


class StudyPage(StudyOwnerPage):
    """Shows the state of a study: progress, agreement, times and judges."""

    template_name = "studies/study.html"
    shows = StudyData

    def show(self) -> Any:
        """Count everything."""
        study = self.study()
        summary = summarize(study)
        files = {"exports": exports_of(study), "charts": describe_charts(study, summary)}
        found = rank_systems(study)
        results = {
            "results": [one.to_dict() for one in found.best],
            "results_problem": found.problem,
        }
        return summary.to_dict() | results | files


def exports_of(study: Study) -> list[dict[str, str]]:
    """Return the formats that fit a study."""
    judgments = () if study.is_collection else ("results", "jsonl", "csv")
    sentences = ("coco",) if study.is_collection else ()
    fitting = (*judgments, "answers", "codes", "consents", *sentences)
    return [{"kind": kind, "file": EXPORTS[kind][0]} for kind in fitting]


class StateForm(serializers.Serializer[Any]):
    """True if judges are given items."""

    state = serializers.ChoiceField(label=gettext_lazy("State"), choices=Study.State.choices)


STATE_MESSAGES = {
    Study.State.PILOT: gettext_lazy("The study is a pilot now."),
    Study.State.OPEN: gettext_lazy("The study is open now."),
    Study.State.DECIDED: gettext_lazy("The study accepts no new judges."),
    Study.State.CLOSED: gettext_lazy("The study is closed now."),
}
"""Messages after a change of state."""


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
        with assign_errors_to("state"):
            set_state(study, Study.State(values["state"]))
        message = str(STATE_MESSAGES[Study.State(study.state)])
        return self.done("study", study, message=message, name=study.name)


class QualityForm(LabeledForm, serializers.ModelSerializer[Study]):
    """Rules for answers that do not count."""

    labels = LABELS

    class Meta:
        """The rules; they apply to all answers, earlier ones too."""

        model = Study
        fields: ClassVar[list[str]] = ["fewest_checks_right", "checks_before", "fewest_seconds"]


class QualityData(QualityForm):
    """Rules for answers that do not count, and their numbers."""

    study = StudySummary(source="*")
    excluded = serializers.SerializerMethodField(
        help_text="Judges excluded by rule or by the owner."
    )
    too_fast = serializers.SerializerMethodField(help_text="Answers.")

    class Meta(QualityForm.Meta):
        """Fields of the rules, and the number of excluded answers."""

        fields: ClassVar[list[str]] = [*QualityForm.Meta.fields, "study", "excluded", "too_fast"]

    def get_excluded(self, study: Study) -> int:
        """Count judges whose answers do not count."""
        return study.judges.filter(excluded=True).count()

    def get_too_fast(self, study: Study) -> int:
        """Count answers that were too fast."""
        return study.assignments.filter(too_fast=True).count()


class Quality(StudyOwnerPage, FormPage):
    """Sets the rules by which answers do not count, and applies them to all answers."""

    template_name = "studies/quality.html"
    shows = QualityData
    form = QualityForm
    accepts = QualityData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def make_form(self, data: Any = None) -> serializers.Serializer[Any]:
        """Return the form with the current rules."""
        if data is None:
            return self.form(self.study())
        return self.form(self.study(), data=data, partial=not self.is_html)

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Store the rules and count again."""
        study = self.study()
        for name, value in values.items():
            setattr(study, name, value)
        study.revision += 1
        study.save(update_fields=[*values, "revision"])
        apply_to_study(study)
        return self.done("study", study, message=_("The rules are applied."), name=study.name)


class InviteForm(serializers.Serializer[Any]):
    """Form for new invites."""

    name = serializers.CharField(
        label=gettext_lazy("For whom"),
        max_length=80,
        help_text=gettext_lazy("Label for this group of judges; only visible to you."),
    )
    personal = serializers.BooleanField(
        default=False,
        required=False,
        label=gettext_lazy("Personal links"),
        help_text=gettext_lazy("If not set: one link for all workers of a crowdsourcing site."),
    )
    count = serializers.IntegerField(
        label=gettext_lazy("Number of links"),
        default=1,
        required=False,
        min_value=1,
        max_value=MAX_INVITES,
        help_text=gettext_lazy("Personal links."),
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
        help_text="Shown once, in the response to the request that created them.",
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
        invites = study.invites.order_by("-created")[:MAX_INVITES]
        return {"study": study, "invites": invites, "links": self.links}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Create invites and show their links once."""
        made = make_links(
            self.study(), values["name"], personal=values["count"] if values["personal"] else 0
        )
        self.links = tuple(map(self.request.build_absolute_uri, made))
        self.filled_form = self.make_form()
        return self.render(status.HTTP_201_CREATED)


class EraseJudgeForm(serializers.Serializer[Any]):
    """Confirmation."""

    sure = serializers.BooleanField(label=gettext_lazy("Permanently erase this person's answers."))

    def validate_sure(self, value: bool) -> bool:
        """Require confirmation."""
        if not value:
            raise serializers.ValidationError(_("Please confirm."))
        return value


class JudgeForm(serializers.Serializer[Any]):
    """True if a judge's answers count."""

    excluded = serializers.BooleanField()
    reason = serializers.CharField(
        max_length=200,
        allow_blank=True,
        required=False,
        default="",
        help_text=gettext_lazy("Reason, for your own notes."),
    )


class JudgeStateData(serializers.ModelSerializer[Judge]):
    """A judge, and whether their answers count."""

    study: Any = serializers.SlugRelatedField(slug_field="name", read_only=True)

    class Meta:
        """Fields for the decision of the owner."""

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
        message = _("{judge} is excluded.") if values["excluded"] else _("{judge} is restored.")
        message = message.format(judge=judge.worker)
        return self.done("study", self.show(), message=message, name=self.kwargs["name"])


class EraseJudge(StudyOwnerPage, FormPage):
    """Erases a person from a study, with all their data."""

    template_name = "studies/erase_judge.html"
    shows = JudgeStateData
    form = EraseJudgeForm

    def show(self) -> Any:
        """Return the judge."""
        judges = Judge.objects.select_related("study")
        return get_object_or_404(judges, study__name=self.kwargs["name"], pk=self.kwargs["judge"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Erase them."""
        forget_judge(self.show().pk)
        return self.done("study", message=_("The person is erased."), name=self.kwargs["name"])
