"""Addresses of studies."""

from django.urls import URLPattern, path

from cidery_server.studies.pages import (
    changing,
    creating,
    downloads,
    exploring,
    judging,
    managing,
    results,
    reviewing,
)

STUDY = "studies/<slug:name>"
urlpatterns: list[URLPattern] = [
    path("studies", creating.Studies.as_view(), name="studies"),
    path("new-study", creating.NewStudy.as_view(), name="new-study"),
    path(STUDY, managing.StudyPage.as_view(), name="study"),
    path(f"{STUDY}/progress", managing.Progress.as_view(), name="study-progress"),
    path(f"{STUDY}/state", managing.StudyState.as_view(), name="study-state"),
    path(f"{STUDY}/copy", changing.CopyStudy.as_view(), name="study-copy"),
    path(f"{STUDY}/edit", changing.EditStudy.as_view(), name="study-edit"),
    path(f"{STUDY}/erase", changing.EraseStudy.as_view(), name="study-erase"),
    path(f"{STUDY}/quality", managing.Quality.as_view(), name="study-quality"),
    path(f"{STUDY}/invites", managing.Invites.as_view(), name="study-invites"),
    path(f"{STUDY}/judges/<int:judge>", managing.JudgeState.as_view(), name="study-judge"),
    path(f"{STUDY}/judges/<int:judge>/erase", managing.EraseJudge.as_view(), name="erase-judge"),
    path(f"{STUDY}/review", reviewing.Review.as_view(), name="study-review"),
    path(f"{STUDY}/results", results.StudyResults.as_view(), name="study-results"),
    path(f"{STUDY}/accuracy", results.Accuracy.as_view(), name="study-accuracy"),
    path(f"{STUDY}/explore", exploring.ExploreStudy.as_view(), name="study-explore"),
    path(f"{STUDY}/references", results.References.as_view(), name="study-references"),
    path(f"{STUDY}/export/<slug:kind>", downloads.Export.as_view(), name="study-export"),
    path(f"{STUDY}/charts/<slug:chart>.svg", downloads.StudyChart.as_view(), name="study-chart"),
    path(f"{STUDY}/images/<int:item>", downloads.ItemImage.as_view(), name="study-image"),
    path(f"{STUDY}/join/<slug:key>", judging.Join.as_view(), name="study-join"),
    path(f"{STUDY}/task", judging.TaskPage.as_view(), name="study-task"),
    path(f"{STUDY}/undo", judging.Undo.as_view(), name="study-undo"),
    path(f"{STUDY}/leave", judging.Leave.as_view(), name="study-leave"),
]
