"""Addresses of challenges and submissions."""

from django.urls import URLPattern, path

from cidery_server.challenges.pages import (
    announcements,
    challenges,
    charts,
    comparisons,
    explorer,
    members,
    owner,
    submissions,
)

urlpatterns: list[URLPattern] = [
    path("challenges", challenges.Challenges.as_view(), name="challenges"),
    path("new-challenge", owner.NewChallenge.as_view(), name="new-challenge"),
    path("challenges/<slug:challenge>", challenges.ChallengePage.as_view(), name="challenge"),
    path("challenges/<slug:challenge>/images", challenges.ChallengeImages.as_view(), name="images"),
    path(
        "challenges/<slug:challenge>/settings",
        owner.ChallengeSettings.as_view(),
        name="settings",
    ),
    path(
        "challenges/<slug:challenge>/announcements",
        announcements.Announcements.as_view(),
        name="announcements",
    ),
    path(
        "challenges/<slug:challenge>/announcements/<int:announcement>/delete",
        announcements.DeleteAnnouncement.as_view(),
        name="delete-announcement",
    ),
    path("challenges/<slug:challenge>/files", announcements.Files.as_view(), name="files"),
    path(
        "challenges/<slug:challenge>/files/<int:file>",
        announcements.Download.as_view(),
        name="file",
    ),
    path(
        "challenges/<slug:challenge>/files/<int:file>/delete",
        announcements.DeleteFile.as_view(),
        name="delete-file",
    ),
    path("challenges/<slug:challenge>/new-phase", owner.NewPhase.as_view(), name="new-phase"),
    path("challenges/<slug:challenge>/rescore", owner.Rescore.as_view(), name="rescore"),
    path(
        "challenges/<slug:challenge>/submissions",
        submissions.Submissions.as_view(),
        name="submissions",
    ),
    path("challenges/<slug:challenge>/teams", owner.Teams.as_view(), name="teams"),
    path(
        "challenges/<slug:challenge>/take-part",
        submissions.TakePart.as_view(),
        name="take-part",
    ),
    path(
        "challenges/<slug:challenge>/leaderboard.csv",
        challenges.LeaderboardFile.as_view(),
        name="leaderboard-file",
    ),
    path("challenges/<slug:challenge>/chart", charts.Chart.as_view(), name="chart"),
    path(
        "challenges/<slug:challenge>/compare",
        comparisons.CompareSubmissions.as_view(),
        name="compare",
    ),
    path("submissions/<int:submission>", submissions.SubmissionPage.as_view(), name="submission"),
    path("team", members.Team.as_view(), name="team"),
    path("join-team/<slug:key>", members.JoinTeam.as_view(), name="join-team"),
    path("submissions/<int:submission>/standing", submissions.Standing.as_view(), name="standing"),
    path("submissions/<int:submission>/decision", owner.Decision.as_view(), name="decision"),
    path(
        "submissions/<int:submission>/images",
        submissions.ImageScores.as_view(),
        name="image-scores",
    ),
    path("submissions/<int:submission>/explore", explorer.Explore.as_view(), name="explore"),
]
