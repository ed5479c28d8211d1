"""The reviewer's queue of collected sentences."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers

from cidery_server.studies.models import Assignment, Study
from cidery_server.studies.moderation import review_sentence
from cidery_server.studies.pages.creation import StudySummary
from cidery_server.studies.pages.judges import image_address
from cidery_server.studies.pages.management import StudyOwnerPage
from cidery_server.web.pages import FormPage
from cidery_server.web.translation import translate as _

REVIEWED_AT_ONCE = 50


class SentenceData(serializers.ModelSerializer[Assignment]):
    """A sentence that waits for a reviewer."""

    image = serializers.CharField(source="item.content.image")
    picture = serializers.SerializerMethodField(
        help_text="Address of the image; empty if none is shown."
    )
    judge = serializers.CharField(source="judge.worker")

    class Meta:
        """Fields for reviewers."""

        model = Assignment
        fields: ClassVar[list[str]] = ["id", "image", "picture", "judge", "sentence", "answered"]

    def get_picture(self, assignment: Assignment) -> str:
        """Return the address of the image."""
        return image_address(assignment)


class ReviewData(serializers.Serializer[Any]):
    """The queue of a reviewer."""

    study = StudySummary()
    pending = serializers.IntegerField()
    sentences = SentenceData(many=True)


class ReviewForm(serializers.Serializer[Any]):
    """Form of a decision on a sentence."""

    assignment = serializers.IntegerField(min_value=1, max_value=2**62)
    accept = serializers.BooleanField()
    reason = serializers.CharField(max_length=500, allow_blank=True, required=False, default="")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a reason for a rejection."""
        if not attrs["accept"] and not attrs["reason"]:
            raise serializers.ValidationError({"reason": _("Give a reason for the rejection.")})
        return attrs


class Review(StudyOwnerPage, FormPage):
    """Shows collected sentences to a reviewer, who accepts them or rejects them with a reason."""

    template_name = "studies/review.html"
    shows = ReviewData
    form = ReviewForm

    def show(self) -> Any:
        """Return the oldest sentences that await review."""
        study = self.study()
        pending = pending_sentences(study)
        return {
            "study": study,
            "pending": pending.count(),
            "sentences": pending[:REVIEWED_AT_ONCE],
        }

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Accept or reject one."""
        study = self.study()
        waiting = get_object_or_404(pending_sentences(study), pk=values["assignment"])
        try:
            review_sentence(waiting.pk, accept=values["accept"], reason=values["reason"])
        except Assignment.DoesNotExist:  # another reviewer was quicker
            raise Http404 from None
        return self.done("study-review", name=study.name)


def pending_sentences(study: Study) -> Any:
    """Return the sentences that wait for a reviewer, the oldest first."""
    return (
        Assignment.objects.filter(study=study, review=Assignment.Review.PENDING)
        .select_related("item", "judge", "study")
        .order_by("answered", "pk")
    )
