"""Addresses of studies."""

from django.urls import URLPattern, path

from cidery_server.studies.pages import (
    creation,
    downloads,
    edit,
    explorer,
    judges,
    management,
    results,
    review,
)

STUDY = "studies/<slug:name>"
urlpatterns: list[URLPattern] = [
    path("studies", creation.Studies.as_view(), name="studies"),
    path("new-study", creation.NewStudy.as_view(), name="new-study"),
    path(STUDY, management.StudyPage.as_view(), name="study"),
    path(f"{STUDY}/progress", management.Progress.as_view(), name="study-progress"),
    path(f"{STUDY}/state", management.StudyState.as_view(), name="study-state"),
    path(f"{STUDY}/copy", edit.CopyStudy.as_view(), name="study-copy"),
    path(f"{STUDY}/edit", edit.EditStudy.as_view(), name="study-edit"),
    path(f"{STUDY}/erase", edit.EraseStudy.as_view(), name="study-erase"),
    path(f"{STUDY}/quality", management.Quality.as_view(), name="study-quality"),
    path(f"{STUDY}/invites", management.Invites.as_view(), name="study-invites"),
    path(f"{STUDY}/judges/<int:judge>", management.JudgeState.as_view(), name="study-judge"),
    path(f"{STUDY}/judges/<int:judge>/erase", management.EraseJudge.as_view(), name="erase-judge"),
    path(f"{STUDY}/review", review.Review.as_view(), name="study-review"),
    path(f"{STUDY}/results", results.StudyResults.as_view(), name="study-results"),
    path(f"{STUDY}/accuracy", results.Accuracy.as_view(), name="study-accuracy"),
    path(f"{STUDY}/explore", explorer.ExploreStudy.as_view(), name="study-explore"),
    path(f"{STUDY}/references", results.References.as_view(), name="study-references"),
    path(f"{STUDY}/export/<slug:kind>", downloads.Export.as_view(), name="study-export"),
    path(f"{STUDY}/charts/<slug:chart>.svg", downloads.StudyChart.as_view(), name="study-chart"),
    path(f"{STUDY}/images/<int:item>", downloads.ItemImage.as_view(), name="study-image"),
    path(f"{STUDY}/join/<slug:key>", judges.Join.as_view(), name="study-join"),
    path(f"{STUDY}/task", judges.TaskPage.as_view(), name="study-task"),
    path(f"{STUDY}/undo", judges.Undo.as_view(), name="study-undo"),
    path(f"{STUDY}/leave", judges.Leave.as_view(), name="study-leave"),
]
