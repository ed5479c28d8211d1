"""Drawings of a study, as SVG: answers over time, how long they took, and who wins."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from cidery.app.studies.counting import Count
from cidery.app.studies.models import MOST_STEPS, Study
from cidery.plots.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#999999"
UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))
LONGEST_SECONDS = 120
"""Longer times are pauses; they are drawn in the last bar."""


def draw_progress(study: Study) -> bytes:
    """Draw how many answers there were by when."""
    times = sorted(answered for _, answered in Count(study).moments)
    with new_figure(5.6, 2.6) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        if times:
            seconds = [(moment - times[0]).total_seconds() for moment in times]
            unit, length = next(
                (unit, length) for unit, length in UNITS if seconds[-1] > 3 * length or length == 1
            )
            across = np.asarray([0.0, *seconds]) / length
            axes.plot(across, range(len(times) + 1), color=BLUE, drawstyle="steps-post")
            axes.set_xlabel(f"{unit} since the first answer")
        goal = study.item_count * study.judges_each
        axes.axhline(goal, color=GREY, linestyle="--")
        axes.set_ylim(0, max(goal, len(times)) * 1.08)
        axes.set_ylabel("answers")
        return _to_svg(figure)


def draw_times(study: Study) -> bytes:
    """Draw how long answers took."""
    seconds = np.minimum(Count(study).seconds(), LONGEST_SECONDS)
    with new_figure(5.6, 2.6) as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        if len(seconds):
            axes.hist(seconds, bins=30, color=BLUE, edgecolor="white", linewidth=0.4)
        axes.set_xlabel(f"seconds for an answer (the last bar: {LONGEST_SECONDS} and more)")
        axes.set_ylabel("answers")
        return _to_svg(figure)


def draw_answers(study: Study) -> bytes:
    """Draw what was answered: winners of pairs by the size of their majority, or ratings."""
    count = Count(study)
    counts: Counter[float]
    if study.is_pairwise:
        winners = count.winners() if count.values else []
        counts = Counter(float(winner.votes) for winner in winners)
        label, ylabel = "votes for the first minus votes for the second", "pairs"
    else:
        counts = Counter(value for values in count.values.values() for value in values)
        label, ylabel = "rating", "answers"
    with new_figure(5.6, 2.6) as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        places = sorted(counts)
        gap = min(np.diff(places), default=1.0)
        colours = [GREY if study.is_pairwise and place == 0 else BLUE for place in places]
        axes.bar(places, [counts[p] for p in places], width=0.8 * gap, color=colours)
        if len(places) <= MOST_STEPS:
            axes.set_xticks(places)
        axes.set_xlabel(label)
        axes.set_ylabel(ylabel)
        return _to_svg(figure)


def draw_judges(study: Study) -> bytes:
    """Draw each judge's answers, and whether they passed their attention checks."""
    judges = [summary for summary in Count(study).judges() if summary.answers]
    judges = sorted(judges, key=lambda summary: summary.answers)
    colours = [
        GREY if s.excluded else ORANGE if s.checks_right < s.checks else BLUE for s in judges
    ]
    with new_figure(5.6, 2.6) as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        axes.bar(range(len(judges)), [s.answers for s in judges], color=colours)
        axes.set_xticks([])
        axes.set_xlabel("judges; orange: missed an attention check; grey: excluded")
        axes.set_ylabel("answers")
        return _to_svg(figure)


def _to_svg(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


CHARTS: Mapping[str, Callable[[Study], bytes]] = MappingProxyType(
    {
        "progress": draw_progress,
        "times": draw_times,
        "answers": draw_answers,
        "judges": draw_judges,
    }
)
"""name -> what draws it"""
