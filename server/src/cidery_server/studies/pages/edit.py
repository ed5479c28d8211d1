"""The owner's pages that copy a study, change it and erase it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponseBase
from django.utils.translation import gettext_lazy
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError

from cidery_server.studies.definition import StudyFields
from cidery_server.studies.form_labels import GROUPS, LABELS, field_style
from cidery_server.studies.lifecycle import NEVER, copy_study, edit_study, erase_study, has_answers
from cidery_server.studies.models import Study
from cidery_server.studies.pages.creation import StudySummary, assign_errors_to
from cidery_server.studies.pages.management import StudyOwnerPage
from cidery_server.web.pages import FormPage, GroupedForm, LabeledForm
from cidery_server.web.translation import translate as _

LISTS = ("examples", "questions")
"""Fields that are lists; they are changed through the API."""


class CopyForm(LabeledForm, serializers.ModelSerializer[Study]):
    """Form for the name of a copy."""

    labels = LABELS

    class Meta:
        """Fields: a new name."""

        model = Study
        fields: ClassVar[list[str]] = ["name", "title"]


class CopyStudy(StudyOwnerPage, FormPage):
    """Copies a study: the same questions and items, none of the answers."""

    template_name = "studies/copy.html"
    shows = StudySummary
    form = CopyForm
    accepts = StudySummary

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Make the copy."""
        with assign_errors_to("name"):
            made = copy_study(self.study(), values["name"], values["title"])
        return self.done("study", made, message=_("The study is copied."), name=made.name)


class EditFields(StudyFields):
    """Fields that an owner may change."""

    class Meta(StudyFields.Meta):
        """All fields except those that addresses, items and files depend on."""

        fields: ClassVar[list[str]] = [n for n in StudyFields.Meta.fields if n not in NEVER]
        extra_kwargs: ClassVar[dict[str, Any]] = {
            name: {"style": field_style(name)} for name in fields if name not in LISTS
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check combinations of changed and unchanged fields."""
        assert isinstance(self.instance, Study)
        inherited = {name: getattr(self.instance, name) for name in EditFields.Meta.fields}
        super().validate(inherited | {"design": self.instance.design} | attrs)
        return attrs


class EditForm(GroupedForm, EditFields):
    """Form of the fields that an owner may change."""

    groups = GROUPS
    labels = LABELS
    examples = None  # type: ignore[assignment]
    questions = None  # type: ignore[assignment]

    class Meta(EditFields.Meta):
        """All but lists."""

        fields: ClassVar[list[str]] = [n for n in EditFields.Meta.fields if n not in LISTS]


class EditData(EditFields):
    """The current settings of a study."""

    study = StudySummary(source="*")
    has_answers = serializers.SerializerMethodField(
        help_text="True if only fields that do not affect answers can be changed."
    )

    class Meta(EditFields.Meta):
        """Current values, and whether they may change."""

        fields: ClassVar[list[str]] = [*EditFields.Meta.fields, "study", "has_answers"]

    def get_has_answers(self, study: Study) -> bool:
        """Return True if anyone has answered."""
        return has_answers(study)


class EditStudy(StudyOwnerPage, FormPage):
    """Changes a study: after the first answer, only fields that do not affect answers."""

    template_name = "studies/edit.html"
    shows = EditData
    form = EditFields
    accepts = EditData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def make_form(self, data: Any = None) -> serializers.Serializer[Any]:
        """Return the form with the current values."""
        form = EditForm if self.is_html else self.form
        if data is None:
            return form(self.study())
        return form(self.study(), data=data, partial=not self.is_html)

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Change it."""
        with assign_errors_to("non_field_errors"):
            study = edit_study(self.study(), values)
        return self.done("study", study, message=_("The study has been changed."), name=study.name)


class EraseForm(serializers.Serializer[Any]):
    """Form for the name of the study, as confirmation."""

    name = serializers.CharField(
        label=gettext_lazy("Short name"),
        max_length=60,
        help_text=gettext_lazy("Type the name of the study."),
    )


class EraseStudy(StudyOwnerPage, FormPage):
    """Erases a study with all its answers."""

    template_name = "studies/erase.html"
    shows = StudySummary
    form = EraseForm

    def show(self) -> Any:
        """Return the study."""
        return self.study()

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Erase it."""
        study = self.study()
        if values["name"] != study.name:
            raise ValidationError(
                {"name": [_("The name of this study is {name}.").format(name=study.name)]}
            )
        erase_study(study)
        return self.done("studies", message=_("{name} is erased.").format(name=values["name"]))
