"""Drawings of a study: answers over time, how long they took, and who wins; and what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cidery.app.studies.counting import Count
from cidery.app.studies.models import MOST_STEPS, Study, write_number
from cidery.app.studies.summaries import Summary
from cidery.app.web.drawing import ACCENT, FAINT, MUTED, SECOND, new_chart, to_svg

UNITS = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))
LONGEST_SECONDS = 120
"""Longer times are pauses; they are drawn in the last bar."""


def draw_progress(study: Study) -> bytes:
    """Draw how many answers there were by when."""
    times = sorted(answered for _, answered in Count(study).moments)
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
            axes.set_xlabel(f"{unit} since the first answer")
        goal = study.item_count * study.judges_each
        axes.axhline(goal, color=FAINT, linestyle="--")
        axes.set_ylim(0, max(goal, len(times)) * 1.08)
        axes.set_ylabel("answers")
        return to_svg(figure)


def draw_times(study: Study) -> bytes:
    """Draw how long answers took."""
    seconds = np.minimum(Count(study).seconds(), LONGEST_SECONDS)
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        if len(seconds):
            axes.hist(seconds, bins=30, color=ACCENT, rwidth=0.9)
        axes.set_xlabel(f"seconds for an answer (the last bar: {LONGEST_SECONDS} and more)")
        axes.set_ylabel("answers")
        return to_svg(figure)


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
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        places = sorted(counts)
        gap = min(np.diff(places), default=1.0)
        colours = [MUTED if study.is_pairwise and place == 0 else ACCENT for place in places]
        axes.bar(places, [counts[p] for p in places], width=0.8 * gap, color=colours)
        if len(places) <= MOST_STEPS:
            axes.set_xticks(places)
        axes.set_xlabel(label)
        axes.set_ylabel(ylabel)
        return to_svg(figure)


def draw_judges(study: Study) -> bytes:
    """Draw each judge's answers, and whether they passed their attention checks."""
    judges = [summary for summary in Count(study).judges() if summary.answers]
    judges = sorted(judges, key=lambda summary: summary.answers)
    colours = [
        MUTED if s.excluded else SECOND if s.checks_right < s.checks else ACCENT for s in judges
    ]
    with new_chart() as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        axes.bar(range(len(judges)), [s.answers for s in judges], color=colours)
        axes.set_xticks([])
        axes.set_xlabel("judges; blue: missed an attention check; grey: excluded")
        axes.set_ylabel("answers")
        return to_svg(figure)


def describe_charts(study: Study, summary: Summary) -> dict[str, str]:
    """Return what each chart of a study says, for those who do not see it."""
    answered, judges = summary.answered, [one for one in summary.judges if one.answers]
    described = {
        "progress": f"Answers over time: {answered} of {summary.needed} so far.",
        "times": "How long answers took: there are none yet.",
        "judges": "Answers of each judge: there are none yet.",
    }
    if summary.median_seconds is not None:
        described["times"] = (
            f"How long answers took: half of them at most {summary.median_seconds:.1f} seconds."
        )
    if judges:
        counts = [one.answers for one in judges]
        missed = sum(one.checks_right < one.checks for one in judges)
        described["judges"] = (
            f"Answers of each of {len(judges)} judges, from {min(counts)} to {max(counts)}: "
            f"{missed} missed an attention check, {sum(j.excluded for j in judges)} are excluded."
        )
    if not study.is_collection:
        described["answers"] = _describe_answers(Count(study))
    return described


def _describe_answers(count: Count) -> str:
    if not count.values:
        return "What was answered: nothing yet."
    if count.study.is_pairwise:
        found = Counter(one.winner for one in count.winners())
        return (
            f"Votes for each pair: the first sentence wins {found['first']}, the second "
            f"{found['second']}, and {found['tie']} are tied."
        )
    ratings = [value for values in count.values.values() for value in values]
    (most, times), *_ = Counter(ratings).most_common(1)
    return (
        f"How often each rating was given, from {write_number(min(ratings))} to "
        f"{write_number(max(ratings))}: {write_number(most)} most often, {times} times; "
        f"the mean is {np.mean(ratings):.2f}."
    )


CHARTS: Mapping[str, Callable[[Study], bytes]] = MappingProxyType(
    {
        "progress": draw_progress,
        "times": draw_times,
        "answers": draw_answers,
        "judges": draw_judges,
    }
)
"""name -> what draws it"""
