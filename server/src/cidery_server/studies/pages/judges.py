"""Pages for judges: invitation, items, end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError

from cidery_server.studies.assignment import (
    RefusedAnswerError,
    Task,
    get_task,
    letters_of,
    record_answer,
    shown_order,
    undo_answer,
)
from cidery_server.studies.definition import WEB, ExampleData
from cidery_server.studies.frames import (
    TOKEN_PARAMETER,
    FramedPage,
    make_token,
    read_token,
    task_address,
)
from cidery_server.studies.invites import (
    PREVIEW,
    SUBMIT_PATH,
    find_invite,
    join_study,
    may_join,
    read_submit_to,
    read_visit,
)
from cidery_server.studies.items import MAX_TEXT_LENGTH, is_storable
from cidery_server.studies.models import Assignment, Invite, Judge, Study
from cidery_server.studies.withdrawal import forget_judge, go_on, stop_visit
from cidery_server.web.accounts import NoFields
from cidery_server.web.limits import WriteLimit
from cidery_server.web.pages import FormPage, Page
from cidery_server.web.roles import Role

COOKIE_AGE = 90 * 24 * 60 * 60
NO_CONSENT = gettext_lazy("You can take part only if you agree.")
NOT_JOINED = gettext_lazy("Please open the link by which you were invited.")
CHOICES = {
    "tie": gettext_lazy("Both are equally good"),
    "neither": gettext_lazy("Neither fits"),
}


def judge_cookie(study_name: str) -> str:
    """Return the name of the cookie of a study's judge; it is part of the signature."""
    return f"judge-{study_name}"


class JoinData(serializers.Serializer[Any]):
    """Information before participation."""

    title = serializers.CharField()
    asked = serializers.CharField()
    instructions = serializers.CharField()
    consent = serializers.CharField()
    contact = serializers.CharField()
    is_open = serializers.BooleanField()
    is_preview = serializers.BooleanField()
    examples = ExampleData(many=True)


class JoinForm(serializers.Serializer[Any]):
    """Consent."""

    agree = serializers.BooleanField(
        label=gettext_lazy("I have read this and agree to take part."),
        error_messages={"required": NO_CONSENT},
    )

    def validate_agree(self, value: bool) -> bool:
        """Require consent."""
        if not value:
            raise serializers.ValidationError(NO_CONSENT)
        return value


class Join(FramedPage, FormPage):
    """Invites a judge: instructions and consent come first."""

    role = Role.ANYONE
    template_name = "studies/join.html"
    shows = JoinData
    form = JoinForm
    throttle_classes = (WriteLimit,)
    throttle_scope = "join"

    def show(self) -> Any:
        """Return the description of the study."""
        invite = self._invite()
        study = invite.study
        first = study.items.filter(known_answer=None).first()
        worker, assignment = read_visit(self.request.query_params)
        return {
            "title": study.title,
            "asked": study.ask_about(first.content) if first else study.asked,
            "instructions": study.instructions,
            "consent": study.consent,
            "contact": study.contact,
            "is_open": may_join(invite, worker, assignment),
            "is_preview": assignment == PREVIEW,
            "examples": study.examples,
        }

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Make the visitor a judge, known by a signed cookie."""
        invite = self._invite()
        worker, assignment = read_visit(self.request.query_params)
        if not may_join(invite, worker, assignment) or assignment == PREVIEW:
            raise ValidationError({"agree": [_("The study accepts no judges now.")]})
        study = invite.study
        before = None if self.is_framed else find_judge_key(self)
        submit_to = read_submit_to(study, self.request.query_params)
        judge = join_study(invite, worker, assignment, before, submit_to)
        if self.is_framed:
            address = task_address(study.name, make_token(study.name, judge.pk))
            response = self.done(address)
            response["Location"] = address  # for programs, too
            return response
        response = self.done("study-task", name=study.name)
        response.set_signed_cookie(
            judge_cookie(study.name),
            str(judge.pk),
            max_age=COOKIE_AGE,
            httponly=True,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )
        return response

    def _invite(self) -> Invite:
        invite = find_invite(self.kwargs["name"], self.kwargs["key"])
        if invite is None:
            raise Http404(_("There is no such invitation."))
        return invite


class StepData(serializers.Serializer[Any]):
    """A step of a scale."""

    value = serializers.CharField(help_text="Text of its button, and value of the answer.")
    meaning = serializers.CharField(
        help_text="Label of the lowest and of the highest step; otherwise empty."
    )


class OptionData(StepData):
    """One of the answers to one of several questions."""

    label = serializers.CharField(help_text="Displayed text.")  # type: ignore[assignment]


class PartData(serializers.Serializer[Any]):
    """One of several required answers."""

    key = serializers.CharField(help_text="Its name in `answers`.")
    text = serializers.CharField()
    sentences = serializers.ListField(
        child=serializers.CharField(), help_text="Captions of a set; otherwise empty."
    )
    options = OptionData(many=True)


class TaskData(serializers.Serializer[Any]):
    """Current item of a judge; sent after every answer, so that it must be fast."""

    title = serializers.CharField()
    question = serializers.CharField()
    instructions = serializers.CharField()
    language = serializers.CharField(help_text="Language of the texts for judges.")
    design = serializers.CharField()
    state = serializers.CharField(help_text="task, done, stopped or closed.")
    contact = serializers.CharField(help_text="Whom to ask.")
    assignment = serializers.IntegerField(allow_null=True)
    image = serializers.CharField(help_text="Address of the image; empty if none is shown.")
    reference = serializers.CharField(help_text="Sentence A of a triplet.")
    sentences = serializers.ListField(child=serializers.CharField())
    steps = StepData(many=True)
    parts = PartData(many=True, help_text="If several answers are required: `answers`.")
    letters = serializers.ListField(
        child=serializers.CharField(), help_text="Labels of the two sentences of a pair."
    )
    choices = serializers.ListField(
        child=serializers.CharField(),
        help_text="Responses offered besides the answers: tie, neither, skip, broken.",
    )
    ask_comment = serializers.BooleanField()
    is_training = serializers.BooleanField(
        help_text="Training item: it does not count, and is explained afterwards."
    )
    feedback = serializers.CharField(help_text="Explanation of the last training item.")
    has_digits = serializers.BooleanField(
        help_text="True if each step is a single digit, so that keys can answer."
    )
    examples = ExampleData(many=True)
    draft = serializers.CharField(help_text="The withdrawn sentence.")
    answered = serializers.IntegerField()
    goal = serializers.IntegerField()
    can_undo = serializers.BooleanField()
    code = serializers.CharField(help_text="Completion code: shows that the judge has finished.")
    completion_url = serializers.CharField()
    submit_to = serializers.CharField(
        help_text="Address of Mechanical Turk's form for the end; otherwise empty."
    )
    site_assignment = serializers.CharField(help_text="The site's name for this visit.")
    token = serializers.CharField(
        help_text="Token of the judge in frames, which block cookies: `?as=` of every address."
    )

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields unchanged: `describe_task` makes them of plain values.

        REST framework copies every field of a serializer for every response.
        """
        return {name: instance[name] for name in self._declared_fields}


class AnswerForm(serializers.Serializer[Any]):
    """An answer to the item that was shown."""

    assignment = serializers.IntegerField(min_value=1, max_value=2**62)
    answer = serializers.CharField(
        max_length=MAX_TEXT_LENGTH,
        required=False,
        allow_blank=True,
        default="",
        help_text="1 or 2 for the sentence shown first or second, a step of the scale, or a "
        "sentence.",
    )
    answers = serializers.DictField(
        child=serializers.CharField(max_length=40),
        required=False,
        default=dict,
        help_text="If several answers are required: the value of an option for each part.",
    )
    choice = serializers.ChoiceField(
        choices=[name for name in Assignment.Choice.values if name],
        required=False,
        allow_blank=True,
        default="",
        help_text="Response instead of an answer, if the study offers it.",
    )
    comment = serializers.CharField(
        max_length=MAX_TEXT_LENGTH, required=False, allow_blank=True, default=""
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """An answer, several of them, or a choice: one of these."""
        if not (attrs["answer"] or attrs["answers"] or attrs["choice"]):
            raise serializers.ValidationError({"answer": [_("Please answer.")]})
        texts = (attrs["answer"], attrs["comment"])
        if not all(map(is_storable, texts)):
            unreadable = _("The text contains invalid characters.")
            raise serializers.ValidationError({"answer": [unreadable]})
        return attrs


class JudgePage(FramedPage, FormPage):
    """A page for someone who has joined the study."""

    role = Role.ANYONE
    shows = TaskData
    accepts = TaskData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return the task of the judge."""
        return self.describe(self.attempt(get_task, self.judge_key()))

    @property
    def token(self) -> str:
        """Token that identifies the judge in addresses, where cookies are not used."""
        return str(self.request.query_params.get(TOKEN_PARAMETER, "")) if self.is_framed else ""

    def describe(self, task: Task) -> dict[str, Any]:
        """Return the public data of a task, and set the targets of the page's forms."""
        shown = describe_task(task, self.token)
        if shown["submit_to"]:
            self.form_sites = (shown["submit_to"].removesuffix(SUBMIT_PATH),)
        return shown

    def go_on(self, task: Task) -> HttpResponseBase:
        """Send a browser to the next item; send a program the item itself."""
        shown = None if self.is_html else self.describe(task)
        return self.done(task_address(self.kwargs["name"], self.token), shown)

    def judge_key(self) -> int:
        """Return the judge of the cookie."""
        return read_judge_key(self)

    def attempt(self, action: Any, *arguments: Any, **settings: Any) -> Any:
        """Run an action of the judge; show a failure as an error of the form."""
        try:
            return action(*arguments, **settings)
        except RefusedAnswerError as error:
            raise ValidationError({"answer": [str(error)]}) from None
        except Judge.DoesNotExist:
            raise PermissionDenied(NOT_JOINED) from None


def read_judge_key(page: Page) -> int:
    """Return the judge of a visitor's cookie; raise an error without a valid cookie."""
    found = find_judge_key(page)
    if found is None:
        raise PermissionDenied(NOT_JOINED)
    return found


def find_judge_key(page: Page) -> int | None:
    """Return the judge of a visitor's token or cookie, if its signature is valid."""
    name = page.kwargs["name"]
    if isinstance(page, FramedPage) and page.is_framed:
        return read_token(name, page.request.query_params.get(TOKEN_PARAMETER, ""))
    found = page.request.get_signed_cookie(judge_cookie(name), default=None)
    return None if found is None else int(found)


class TaskPage(JudgePage):
    """Shows a judge the next item; takes the answer and returns the item after it."""

    template_name = "studies/task.html"
    form = AnswerForm

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Take the answer; the next item comes with the same response."""
        task = self.attempt(
            record_answer,
            self.judge_key(),
            values["assignment"],
            values["answer"],
            ratings=values["answers"],
            choice=values["choice"],
            comment=values["comment"],
        )
        return self.go_on(task)


class Undo(JudgePage):
    """Undoes a judge's last answer."""

    template_name = "studies/undo.html"
    form = NoFields

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Undo the answer and show its item again."""
        task = self.attempt(undo_answer, self.judge_key())
        return self.go_on(task)


class LeaveForm(serializers.Serializer[Any]):
    """Form to stop, continue or withdraw."""

    action = serializers.ChoiceField(
        choices=("stop", "go-on", "withdraw"),
        help_text="stop keeps the answers, withdraw erases them and all your data.",
    )
    sure = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Required to withdraw, which cannot be undone.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require confirmation."""
        if attrs["action"] == "withdraw" and not attrs["sure"]:
            unsure = _("Please confirm that all your data are to be erased.")
            raise serializers.ValidationError({"sure": unsure})
        return attrs


class Leave(JudgePage):
    """Lets a judge stop, or withdraw and erase everything."""

    template_name = "studies/leave.html"
    form = LeaveForm
    has_left = False

    def show(self) -> Any:
        """Return the judge's progress; empty for an erased judge."""
        if self.has_left:
            study = get_object_or_404(Study, name=self.kwargs["name"])
            return describe_task(Task(Judge(study=study), 0, None, False)) | {"state": "withdrawn"}
        return super().show()

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Run the judge's action."""
        judge = self.judge_key()
        if values["action"] == "go-on":
            self.attempt(go_on, judge)
            return self.go_on(self.attempt(get_task, judge))
        if values["action"] == "stop":
            self.attempt(stop_visit, judge)
            return self.go_on(self.attempt(get_task, judge))
        self.attempt(forget_judge, judge)
        self.has_left = True
        response = self.render()
        response.delete_cookie(judge_cookie(self.kwargs["name"]), samesite="Lax")
        return response


def describe_task(task: Task, token: str = "") -> dict[str, Any]:
    """Return the public data of a task, which reveal neither systems nor attention checks."""
    study, assignment = task.study, task.assignment
    content = assignment.item.content if assignment else {}
    sentences = content.get("pair") or content.get("captions") or content.get("caption") or []
    if isinstance(sentences, str):
        sentences = [sentences]
    if assignment and assignment.swapped:
        sentences = sentences[::-1]
    state = "task" if assignment else "done" if study.is_open else "closed"
    if task.is_stopped and state != "closed":
        state = "stopped"
    visit = task.judge.visit
    # Nothing is proved by coming when others have all items, or by having been excluded.
    earned = state not in ("task", "stopped") and visit and visit.code and not task.judge.excluded
    return {
        "title": study.title,
        "question": study.ask_about(content),
        "instructions": study.instructions,
        "language": study.language,
        "design": study.design,
        "state": state,
        "contact": study.contact,
        "assignment": assignment.ticket if assignment else None,
        "token": token,
        "image": image_address(assignment, token) if assignment else "",
        "reference": content.get("reference", ""),
        "sentences": sentences,
        "steps": _describe_scale(task) if study.design == study.Design.RATING else [],
        "parts": list(_describe_parts(task)) if assignment else [],
        "letters": list(letters_of(study)),
        "choices": study.choices,
        "ask_comment": study.ask_comment,
        "is_training": assignment is not None and assignment.item.training,
        "feedback": task.feedback,
        "has_digits": all(len(label) == 1 for label in study.labels),
        "examples": study.examples,
        "draft": assignment.sentence if assignment else "",
        "answered": task.answered,
        "goal": max(study.visit_length, task.answered + (assignment is not None)),
        "can_undo": task.can_undo,
        "code": visit.code if visit and earned else "",
        "completion_url": _fill_in(study.completion_url, visit.code) if visit and earned else "",
        "submit_to": visit.submit_to + SUBMIT_PATH if visit and earned and visit.submit_to else "",
        "site_assignment": visit.assignment if visit and earned else "",
    }


def _describe_parts(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the parts of an item with several answers: questions, or sets in random order."""
    assignment = task.assignment
    assert assignment is not None
    content, options = assignment.item.content, _describe_options(task)
    if "sets" in content:
        for number, place in enumerate(shown_order(assignment), start=1):
            sentences = content["sets"][place]
            yield {
                "key": str(number),
                "text": _("Set {number}").format(number=number),
                "sentences": sentences,
                "options": options,
            }
    else:
        for question in task.study.questions:
            part = {"key": question["name"], "text": question["text"], "sentences": []}
            yield part | {"options": options}


def _describe_options(task: Task) -> list[dict[str, str]]:
    """Return the answers to each of several questions: steps of the scale, or the two sentences."""
    study = task.study
    if not study.is_pairwise:
        return [{**step, "label": step["value"]} for step in _describe_scale(task)]
    options = {"1": letters_of(study)[0], "2": letters_of(study)[1]}
    options |= {choice: str(CHOICES[choice]) for choice in study.part_choices}
    return [{"value": value, "label": label, "meaning": ""} for value, label in options.items()]


def _fill_in(address: str, code: str) -> str:
    return address.replace("{code}", quote(code, safe=""))


def _describe_scale(task: Task) -> list[dict[str, str]]:
    labels = list(task.study.labels)
    ends = {labels[0]: task.study.scale_low_label, labels[-1]: task.study.scale_high_label}
    return [{"value": label, "meaning": ends.get(label, "")} for label in labels]


def image_address(assignment: Assignment, token: str = "") -> str:
    """Return the address of an item's image: elsewhere, or here if it is a file."""
    study = assignment.study  # the one that the judge's row brought
    if not study.images:
        return ""
    if study.images.startswith(WEB):
        image = quote(assignment.item.content["image"], safe="")
        return study.images.replace("{image}", image)
    path = reverse("study-image", kwargs={"name": study.name, "item": assignment.item_id})
    return f"{path}?{urlencode({TOKEN_PARAMETER: token})}" if token else path
