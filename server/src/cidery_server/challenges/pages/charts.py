"""The leaderboard as a picture, drawn by matplotlib on the server."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from cidery.errors import SettingError
from cidery_server.challenges.pages.challenges import (
    CHART_WIDTH,
    MAX_CHARTED,
    ChallengePage,
    chart_height,
    get_challenge,
)
from cidery_server.challenges.ranking import Leaderboard, rank
from cidery_server.web.charts import ACCENT, FAINT, new_chart, to_svg
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

MAX_NAME_LENGTH = 28


class Chart(ChallengePage):
    """Draws the first column of a leaderboard as SVG; its JSON is that of the challenge's page."""

    role = Role.ANYONE

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Return the picture to a browser, the numbers to a program."""
        challenge = get_challenge(self)
        if not self.is_html:
            return self.render()
        if not challenge.shows_leaderboard_to(self.request.user):
            raise NotFound(_("The leaderboard is not available."))
        try:
            query = self.read_query()
            board = rank(challenge, slice=query["slice"], account=self.request.user)
        except SettingError as error:
            raise NotFound(str(error)) from None
        return HttpResponse(draw(board), content_type="image/svg+xml")


def draw(leaderboard: Leaderboard) -> bytes:
    """Draw scores and intervals of the best teams, the best on top."""
    column = leaderboard.columns[0]
    entries = leaderboard.entries[:MAX_CHARTED][::-1]
    scores = [entry.cells[column] for entry in entries]
    with new_chart(CHART_WIDTH, chart_height(len(entries))) as figure:
        axes = figure.add_subplot()
        axes.errorbar(
            [score.value for score in scores],
            range(len(scores)),
            xerr=[
                [0 if score.low is None else score.value - score.low for score in scores],
                [0 if score.high is None else score.high - score.value for score in scores],
            ],
            fmt="o",
            color=ACCENT,
            ecolor=FAINT,
            capsize=3,
        )
        names = [shorten(entry.submission.team.name) for entry in entries]
        # Names are people's: a dollar sign does not start a formula.
        axes.set_yticks(range(len(entries)), names, parse_math=False)
        where = f", {leaderboard.slice}" if leaderboard.slice else ""
        what = f"{column.reference_set} {column.metric}{where}"
        label = _("{metric}, interval of 95 %").format(metric=what)
        axes.set_xlabel(label, parse_math=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(left=False)
        axes.grid(axis="x")
        return to_svg(figure)


def shorten(name: str) -> str:
    """Return a name shortened to half of the chart's width."""
    return name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…"
