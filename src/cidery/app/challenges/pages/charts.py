"""The leaderboard as a picture, drawn by matplotlib on the server."""

from __future__ import annotations

import io
from typing import Any

from django.http import HttpResponse, HttpResponseBase
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from cidery.app.challenges.pages.challenges import ChallengePage, get_challenge
from cidery.app.challenges.ranking import Leaderboard, rank
from cidery.app.web.roles import Role
from cidery.errors import SettingError
from cidery.plots.figures import new_figure

MOST_TEAMS = 30
INK = "#8a8378"
"""Grey enough to be read on light and dark paper."""
ACCENT = "#c4681a"
LONGEST_NAME = 28


class Chart(ChallengePage):
    """Draws the first column of a leaderboard as SVG; its JSON is that of the challenge's page."""

    role = Role.ANYONE

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Return the picture to a browser, the numbers to a program."""
        challenge = get_challenge(self)
        if not self.is_html:
            return self.render()
        if not challenge.shows_leaderboard_to(self.request.user):
            raise NotFound("The leaderboard is not open.")
        try:
            query = self.read_query()
            board = rank(challenge, slice=query["slice"], account=self.request.user)
        except SettingError as error:
            raise NotFound(str(error)) from None
        return HttpResponse(draw(board), content_type="image/svg+xml")


def draw(leaderboard: Leaderboard) -> bytes:
    """Draw scores and intervals of the best teams, the best on top."""
    column = leaderboard.columns[0]
    entries = leaderboard.entries[:MOST_TEAMS][::-1]
    scores = [entry.cells[column] for entry in entries]
    with new_figure(8, 0.9 + 0.32 * max(len(entries), 1)) as figure:
        axes = figure.add_subplot()
        axes.errorbar(
            [score.value for score in scores],
            range(len(scores)),
            xerr=[
                [score.value - score.low for score in scores],
                [score.high - score.value for score in scores],
            ],
            fmt="o",
            color=ACCENT,
            ecolor=INK,
            capsize=3,
        )
        names = [shorten(entry.submission.team.name) for entry in entries]
        # Names are people's: a dollar sign does not start a formula.
        axes.set_yticks(range(len(entries)), names, parse_math=False)
        where = f", {leaderboard.slice}" if leaderboard.slice else ""
        axes.set_xlabel(f"{column[0]} {column[1]}{where}, 95 % interval", parse_math=False)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_color(INK)
        axes.tick_params(colors=INK, left=False)
        axes.xaxis.label.set_color(INK)
        axes.grid(axis="x", color=INK, alpha=0.25)
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", transparent=True)
        return drawn.getvalue()


def shorten(name: str) -> str:
    """Return a name of which the chart's other half is left for the scores."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
