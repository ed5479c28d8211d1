"""Pages of challenges: the list, a challenge with its leaderboard, and its images."""

from __future__ import annotations

import csv
from itertools import groupby
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.request import Request

from cidery.errors import SettingError
from cidery.tables import guard_cell
from cidery_server.challenges.forms import LeaderboardQuery
from cidery_server.challenges.models import Challenge, ChallengeFile, team_of
from cidery_server.challenges.ranking import (
    Leaderboard,
    every_column,
    list_records,
    name_fields,
    rank,
)
from cidery_server.challenges.runs import Column
from cidery_server.challenges.serializers import ChallengePageData, ChallengesData, ImagesData
from cidery_server.challenges.submissions import Quota, find_quota
from cidery_server.web.models import Account
from cidery_server.web.pages import Page
from cidery_server.web.roles import Role
from cidery_server.web.templatetags.words import written
from cidery_server.web.translation import translate as _

NEWEST = 3
"""Announcements on the challenge's own page."""
MAX_CHARTED = 30
"""Teams in the chart."""
CHART_WIDTH = 560


def get_challenge(page: Page) -> Challenge:
    """Return the challenge of a page's address; raise a 404 error if it is hidden."""
    visible = Challenge.objects.visible_to(page.request.user).select_related("phase_of")
    return get_object_or_404(visible, slug=page.kwargs["challenge"])


def find_participation(page: Page, challenge: Challenge) -> str:
    """Return the owner's decision on the team; empty without a request."""
    account = page.request.user
    found = (
        challenge.main.teams.filter(team=team_of(account)).first()
        if account.is_authenticated
        else None
    )
    return found.state if found else ""


def quota_for(account: Any, challenge: Challenge) -> Quota | None:
    """Return the remaining quota of an account; None for visitors who may not submit."""
    if not isinstance(account, Account) or not challenge.admits(account):
        return None
    return find_quota(account, challenge)


def files_for(account: Any, challenge: Challenge) -> QuerySet[ChallengeFile]:
    """Return the files of a challenge that an account may have."""
    files = challenge.main.files.all()
    if isinstance(account, Account) and challenge.admits(account):
        return files
    return files.filter(for_teams=False)


def describe(page: Page, challenge: Challenge, leaderboard: Any = None) -> dict[str, Any]:
    """Return the data of a challenge's page."""
    account = page.request.user
    return {
        "challenge": challenge,
        "participation": find_participation(page, challenge),
        "quota": quota_for(account, challenge),
        "team": team_of(account).name if account.is_authenticated else "",
        "announcements": challenge.main.announcements.all()[:NEWEST],
        "files": files_for(account, challenge).defer("content"),
        "leaderboard": leaderboard,
    }


def chart_height(teams: int) -> int:
    """Return the height of the chart for this number of teams, in pixels."""
    return 90 + 32 * max(1, min(teams, MAX_CHARTED))


class Challenges(Page):
    """Lists challenges."""

    role = Role.ANYONE
    template_name = "challenges/challenges.html"
    shows = ChallengesData

    def show(self) -> Any:
        """Return the newest first."""
        listed = Challenge.objects.listed_for(self.request.user).defer(
            "packed_images", "packed_slices"
        )
        return {"challenges": listed.order_by("-created")}


class ChallengePage(Page):
    """Shows a challenge and its leaderboard."""

    role = Role.ANYONE
    template_name = "challenges/challenge.html"
    shows = ChallengePageData
    queries = LeaderboardQuery

    def show(self) -> Any:
        """Return the rules and, where it is open, the leaderboard."""
        challenge = get_challenge(self)
        shown = challenge.shows_leaderboard_to(self.request.user)
        leaderboard = self._show_leaderboard(challenge) if shown else None
        return describe(self, challenge, leaderboard)

    def _show_leaderboard(self, challenge: Challenge) -> dict[str, Any]:
        query = self.read_query()
        metric = query["by_slice"]
        try:
            found = rank(
                challenge,
                query.get("sort", ""),
                descending=query["order"] == "desc",
                slice="" if metric else query["slice"],
                columns=every_column(challenge, metric) if metric else (),
                account=self.request.user,
            )
        except SettingError as error:
            raise ParseError(str(error)) from None
        return describe_leaderboard(found, metric)


def describe_leaderboard(leaderboard: Leaderboard, by_slice: str = "") -> dict[str, Any]:
    """Return a leaderboard in the shape of its data.

    Columns of several sets of references, or of slices, stand in groups.
    """
    names = [column.reference_set for column in leaderboard.columns]
    groups = [{"title": name, "count": len(list(found))} for name, found in groupby(names)]
    if by_slice:
        groups = [{**group, "title": f"{group['title']} {by_slice}"} for group in groups]
    is_grouped = len(groups) > 1 or bool(by_slice)

    def name(column: Column) -> str:
        if by_slice:
            return column.slice or _("all")
        return column.metric if is_grouped else f"{column.reference_set} {column.metric}"

    return {
        "columns": [
            {
                **column._asdict(),
                "key": leaderboard.key(column),
                "decimals": leaderboard.precisions[column.slice].shown,
                "title": name(column),
            }
            for column in leaderboard.columns
        ],
        "groups": groups if is_grouped else [],
        "sort": leaderboard.key(leaderboard.sort),
        "descending": leaderboard.descending,
        "slice": leaderboard.slice,
        "by_slice": by_slice,
        "decimals": leaderboard.precisions[leaderboard.slice].shown,
        "entries": leaderboard.entries,
        "has_runs": any(entry.runs > 1 for entry in leaderboard.entries),
        "chart": describe_chart(leaderboard),
    }


def describe_chart(leaderboard: Leaderboard) -> dict[str, Any]:
    """Return the size and description of the chart of a leaderboard."""
    column = leaderboard.columns[0]
    scores = sorted(
        (
            (entry.cells[column].value, entry.submission.team.name)
            for entry in leaderboard.entries
            if column in entry.cells
        ),
        reverse=True,
    )
    what = f"{column.reference_set} {column.metric}"
    if column.slice:
        what = _("{metric} on {slice}").format(metric=what, slice=column.slice)
    if not scores:
        text = _("{metric}: no scores yet.").format(metric=what)
    else:
        decimals = leaderboard.precisions[column.slice].shown
        (best, first), (least, last) = (
            (written(f"{value:.{decimals}f}"), name) for value, name in (scores[0], scores[-1])
        )
        if len(scores) == 1:
            text = _("{metric} with its interval: {first} has {best}.")
        else:
            text = _(
                "{metric} of {count} teams with intervals, from {first} ({best}) down to {last} "
                "({least}); all numbers are in the table."
            )
        text = text.format(
            metric=what, count=len(scores), first=first, best=best, last=last, least=least
        )
    return {
        "text": text,
        "width": CHART_WIDTH,
        "height": chart_height(len(leaderboard.entries)),
    }


class LeaderboardFile(ChallengePage):
    """The leaderboard as CSV, all slices included; its JSON is that of the challenge's page."""

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Return the file to a browser, the page's data to a program."""
        if not self.is_html:
            return self.render()
        challenge, account = get_challenge(self), self.request.user
        if not challenge.shows_leaderboard_to(account):
            raise NotFound(_("The leaderboard is not available."))
        board = rank(challenge, columns=every_column(challenge), account=account)
        answer = HttpResponse(content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="{challenge.slug}.csv"'
        writer = csv.writer(answer, lineterminator="\n")
        writer.writerow(name_fields(board))
        for record in list_records(board):
            cells = record.values()
            writer.writerow(guard_cell(c) if isinstance(c, str) else c for c in cells)
        return answer


class ChallengeImages(Page):
    """Lists the ids of the images that a submission must describe."""

    role = Role.ANYONE
    template_name = "challenges/images.html"
    shows = ImagesData

    def show(self) -> Any:
        """Return the ids as in the references."""
        return {"images": get_challenge(self).images}
