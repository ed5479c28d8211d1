"""Charts of a study: answers over time, their duration, and winners; with descriptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from django.utils.translation import gettext_lazy

from cidery_server.studies.answer_counts import Count
from cidery_server.studies.models import MAX_STEPS, Study, write_number
from cidery_server.studies.summaries import Summary
from cidery_server.web.charts import ACCENT, FAINT, MUTED, SECOND, new_chart, to_svg
from cidery_server.web.templatetags.words import written
from cidery_server.web.translation import translate as _

UNITS = (
    (gettext_lazy("days since the first answer"), 86400),
    (gettext_lazy("hours since the first answer"), 3600),
    (gettext_lazy("minutes since the first answer"), 60),
    (gettext_lazy("seconds since the first answer"), 1),
)
MAX_SECONDS = 120
"""Longer times are pauses; they are drawn in the last bar."""


def draw_progress(study: Study) -> bytes:
    """Draw the number of answers over time."""
    times = sorted(answered for _given, answered in Count(study).moments)
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        if times:
            seconds = [(moment - times[0]).total_seconds() for moment in times]
            unit, length = next(
                (unit, length) for unit, length in UNITS if seconds[-1] > 3 * length or length == 1
            )
            across = np.asarray([0.0, *seconds]) / length
            axes.plot(across, range(len(times) + 1), color=ACCENT, drawstyle="steps-post")
            axes.set_xlabel(str(unit))
        goal = study.item_count * study.judges_each
        axes.axhline(goal, color=FAINT, linestyle="--")
        axes.set_ylim(0, max(goal, len(times)) * 1.08)
        axes.set_ylabel(_("answers"))
        return to_svg(figure)


def draw_times(study: Study) -> bytes:
    """Draw the time per answer."""
    seconds = np.minimum(Count(study).seconds(), MAX_SECONDS)
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        if len(seconds):
            axes.hist(seconds, bins=30, color=ACCENT, rwidth=0.9)
        label = _("seconds for an answer (the last bar: {longest} and more)")
        axes.set_xlabel(label.format(longest=MAX_SECONDS))
        axes.set_ylabel(_("answers"))
        return to_svg(figure)


def draw_answers(study: Study) -> bytes:
    """Draw the answers: winners of pairs by the size of their majority, or ratings."""
    count = Count(study)
    counts: Counter[float]
    if study.is_pairwise:
        winners = count.winners() if count.values else []
        counts = Counter(float(winner.votes) for winner in winners)
        label, ylabel = _("votes for the first minus votes for the second"), _("pairs")
    else:
        counts = Counter(value for values in count.values.values() for value in values)
        label, ylabel = _("rating"), _("answers")
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        places = sorted(counts)
        gap = min(np.diff(places), default=1.0)
        colors = [MUTED if study.is_pairwise and place == 0 else ACCENT for place in places]
        axes.bar(places, [counts[p] for p in places], width=0.8 * gap, color=colors)
        if len(places) <= MAX_STEPS:
            axes.set_xticks(places)
        if study.questions:
            axes.set_title(study.questions[0]["name"], fontsize="medium", color=FAINT)
        axes.set_xlabel(label)
        axes.set_ylabel(ylabel)
        return to_svg(figure)


def draw_judges(study: Study) -> bytes:
    """Draw each judge's answers, and whether they passed their attention checks."""
    judges = [summary for summary in Count(study).judges() if summary.answers]
    judges = sorted(judges, key=lambda summary: summary.answers)
    colors = [
        MUTED if s.excluded else SECOND if s.checks_right < s.checks else ACCENT for s in judges
    ]
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        axes.bar(range(len(judges)), [s.answers for s in judges], color=colors)
        axes.set_xticks([])
        axes.set_xlabel(_("judges; blue: missed an attention check; grey: excluded"))
        axes.set_ylabel(_("answers"))
        return to_svg(figure)


def describe_charts(study: Study, summary: Summary) -> dict[str, str]:
    """Return a description of each chart of a study, for screen readers."""
    answered, judges = summary.answered, [one for one in summary.judges if one.answers]
    described = {
        "progress": _("Answers over time: {answered} of {needed} so far.").format(
            answered=answered, needed=summary.needed
        ),
        "times": _("Time per answer: no answers yet."),
        "judges": _("Answers per judge: none yet."),
    }
    if summary.median_seconds is not None:
        took = _("Time per answer: median {seconds} seconds.")
        seconds = written(f"{summary.median_seconds:.1f}")
        described["times"] = took.format(seconds=seconds)
    if judges:
        counts = [one.answers for one in judges]
        missed = sum(one.checks_right < one.checks for one in judges)
        described["judges"] = _(
            "Answers per judge, from {fewest} to {most} ({count} judges): {missed} missed "
            "an attention check, {excluded} are excluded."
        ).format(
            count=len(judges),
            fewest=min(counts),
            most=max(counts),
            missed=missed,
            excluded=sum(judge.excluded for judge in judges),
        )
    if not study.is_collection:
        described["answers"] = _describe_answers(Count(study))
    return described


def _describe_answers(count: Count) -> str:
    if not count.values:
        return _("Answers: none yet.")
    if count.study.is_pairwise:
        found = Counter(one.winner for one in count.winners())
        return _(
            "Votes for each pair: the first sentence wins {first}, the second {second}, and {tied} "
            "are tied."
        ).format(first=found["first"], second=found["second"], tied=found["tie"])
    ratings = [value for values in count.values.values() for value in values]
    ((most, times),) = Counter(ratings).most_common(1)
    return _(
        "Distribution of ratings from {lowest} to {highest}: most frequent {most} ({times} "
        "times), mean {mean}."
    ).format(
        lowest=written(write_number(min(ratings))),
        highest=written(write_number(max(ratings))),
        most=written(write_number(most)),
        times=times,
        mean=written(f"{np.mean(ratings):.2f}"),
    )


CHARTS: Mapping[str, Callable[[Study], bytes]] = MappingProxyType(
    {
        "progress": draw_progress,
        "times": draw_times,
        "answers": draw_answers,
        "judges": draw_judges,
    }
)
"""name -> function that draws it"""
