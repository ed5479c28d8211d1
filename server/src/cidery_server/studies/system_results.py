"""Results by system: the leader, confidence intervals, and the number of answers still needed.

The estimates are those of `cidery meta estimate`: the share of pairs that a system wins, or the
mean of its ratings, with intervals over images, corrected by a metric's scores of all captions
where there are references. An owner looks while answers come in, so intervals hold at all times.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cidery.errors import CideryError, UnreliableWarning
from cidery.meta import (
    PEOPLE,
    Items,
    Pairs,
    Quantity,
    Ratings,
    Settings,
    estimate_quantities,
    list_quantities,
    predict,
)
from cidery.runtime import ignore_progress
from cidery.statistics import MIN_GROUPS, MIN_GROUPS_TO_DECIDE, Estimate, Floats, forecast_answers
from cidery.tables import Column, Table, format_p
from cidery_server.studies.answer_counts import Count, build_dataset
from cidery_server.studies.items import Content
from cidery_server.studies.models import Study
from cidery_server.web.templatetags.words import written
from cidery_server.web.translation import translate as _

CONFIDENCE = 0.95
METRIC = "cider-d"
"""Default metric whose scores support the estimates."""
UNNAMED = ("first", "second")
"""Names of the captions of a pair without named systems."""


@dataclass(frozen=True)
class Standing:
    """Estimate for one system: its share of wins, or the mean of its ratings."""

    system: str
    value: float
    low: float
    high: float
    fixed_low: float
    """Lower end of the interval for a number of answers fixed in advance."""
    fixed_high: float
    judged: int
    """Items with an answer."""


@dataclass(frozen=True)
class SystemComparison:
    """Two systems compared: the share of pairs that the first wins, or the difference of means."""

    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    """Valid at all times, Holm-corrected for the comparisons made together."""
    fixed_low: float
    fixed_high: float
    fixed_p: float
    judged: int
    decided: bool
    ahead: str
    """The system that looks better; empty: neither."""
    needed: int | None
    """Number of answers that would decide it at the current difference; None: it is decided, or all
    answers of the study do not suffice."""
    images: int
    """Number of images with an answer to both systems."""


@dataclass(frozen=True)
class Standings:
    """Results by system, from answers only or with a metric's scores."""

    question: str
    kind: str
    """`wins` or `mean`."""
    metric: str
    """Metric whose scores support the estimates; `people`: none."""
    systems: list[Standing]
    """The best first."""
    contests: list[SystemComparison]
    judged: int
    items: int
    saved: float
    """The share of answers that the metric's scores replace, on average over comparisons."""
    uncounted: int = 0
    """Comparisons with answers on too few images."""
    signature: str = ""
    confidence: float = CONFIDENCE

    @property
    def leader(self) -> str:
        """The system that looks best; empty if several are tied."""
        if len(self.systems) < 2 or self.systems[0].value == self.systems[1].value:
            return ""
        return self.systems[0].system

    @property
    def open_comparisons(self) -> list[SystemComparison]:
        """The comparisons that are not decided."""
        return [contest for contest in self.contests if not contest.decided]

    @property
    def is_decided(self) -> bool:
        """True if all pairs of systems are decided."""
        return bool(self.contests) and not self.open_comparisons and not self.uncounted

    @property
    def needed(self) -> int:
        """Estimated number of answers still needed."""
        return sum(contest.needed or 0 for contest in self.open_comparisons)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self) | {
            "leader": self.leader,
            "needed": self.needed,
            "verdict": self.verdict(),
        }

    @property
    def title(self) -> str:
        """Title of the table."""
        what = "share of pairs won" if self.kind == "wins" else "mean rating"
        helped = "" if self.metric == PEOPLE else f", with scores of {self.metric}"
        asked = f"{self.question}: " if self.question else ""
        return f"{asked}{what}, {self.judged} of {self.items} judged{helped}"

    def table(self) -> Table:
        """Return a row per system, then a row per comparison."""
        sign = "over" if self.kind == "wins" else "-"
        rows: list[tuple[str, Standing | SystemComparison, float | None]] = [
            *((one.system, one, None) for one in self.systems),
            *((f"{one.first} {sign} {one.second}", one, one.p) for one in self.contests),
        ]
        columns = [
            *(Column("system"), Column("estimate", ".3f")),
            Column(f"{100 * self.confidence:g} % interval", "[{low:.3f}, {high:.3f}]"),
            Column("p", lambda row: "" if row["p"] is None else format_p(row["p"])),
            Column("judged"),
        ]
        records = [
            {"system": name, "estimate": one.value, "low": one.low, "high": one.high, "p": p}
            | {"judged": one.judged}
            for name, one, p in rows
        ]
        return Table(columns, records, self.title)

    def verdict(self) -> list[str]:
        """Return sentences on the leader, the p-values, and the number of answers still needed."""
        if not self.contests:
            return []
        return [self._describe_leader(), *self._describe_open()]

    def _describe_leader(self) -> str:
        if not self.leader:
            return _("No system is ahead.")
        own = [c for c in self.contests if self.leader in (c.first, c.second)]
        beaten = [c for c in own if c.decided and c.ahead == self.leader]
        if len(beaten) == len(own):
            worst = max(contest.p for contest in own)
            if len(own) == 1:
                other = own[0].second if own[0].first == self.leader else own[0].first
                message = _("{leader} is better than {other} ({p}).")
                return message.format(leader=self.leader, other=other, p=_show_p(worst))
            message = _("{leader} is better than all {count} others ({p}).")
            return message.format(leader=self.leader, count=len(own), p=_show_p(worst))
        if beaten:
            message = _(
                "{leader} is ahead: better than {beaten} of {count} others, the rest is not "
                "decided."
            )
            return message.format(leader=self.leader, beaten=len(beaten), count=len(own))
        least = min(contest.p for contest in own)
        message = _("{leader} looks best so far; no difference is found yet ({p}).")
        return message.format(leader=self.leader, p=_show_p(least))

    def _describe_open(self) -> Iterator[str]:
        if self.uncounted:
            yield _("{count} comparisons have answers on fewer than {fewest} images.").format(
                count=self.uncounted, fewest=MIN_GROUPS
            )
        elif self.is_decided:
            yield _("All comparisons are decided: no more answers are needed.")
        if early := [c for c in self.open_comparisons if c.images < MIN_GROUPS_TO_DECIDE]:
            yield _("{systems}: no decision before {fewest} images have answers.").format(
                systems=_name_comparisons(early), fewest=MIN_GROUPS_TO_DECIDE
            )
        hopeful = [contest for contest in self.open_comparisons if contest.needed is not None]
        if hopeful:
            yield _(
                "About {count} more answers are needed to decide {systems}, if the "
                "difference stays as it is."
            ).format(count=self.needed, systems=_name_comparisons(hopeful))
        late = [contest for contest in self.open_comparisons if contest not in early]
        if hopeless := [contest for contest in late if contest.needed is None]:
            yield _(
                "{systems}: the difference is too small to be decided by all answers of "
                "this study; add images, or stop."
            ).format(systems=_name_comparisons(hopeless))


def _show_p(p: float) -> str:
    shown = written(format_p(p))
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _name_comparisons(contests: Sequence[SystemComparison]) -> str:
    if len(contests) > 3:
        return _("{count} comparisons").format(count=len(contests))
    both = _("{first} and {second}")
    return ", ".join(both.format(first=one.first, second=one.second) for one in contests)


@dataclass(frozen=True)
class Results:
    """All results of a study's systems."""

    standings: list[Standings] = field(default_factory=list)
    """For each question: from answers only, then with the metric's scores."""
    problem: str = ""
    """Reason for missing estimates."""

    @property
    def best(self) -> list[Standings]:
        """The main standings of each question: with a metric's scores if available."""
        return list({one.question: one for one in self.standings}.values())


def rank_systems(study: Study, metric: str = METRIC) -> Results:
    """Compare the systems of a study, by answers only and with a metric's scores."""
    if study.is_collection:
        return Results(problem=_("This study collects sentences; there is nothing to compare."))
    names = [question["name"] for question in study.questions] or [""]
    found = [_Ranking(Count(study, name), metric).rank() for name in names]
    problem = next((one.problem for one in found if one.problem), "")
    return Results([standings for one in found for standings in one.standings], problem)


@dataclass(frozen=True, eq=False)
class _Line:
    """One judged item: a pair with all its triplets, a caption or a set."""

    content: Content
    answers: list[float]
    scatter: list[float]
    """Squared distances of answers from the mean of their item, where several people answered."""
    spare: int
    """Answers beyond the first of each item."""


class _Ranking:
    def __init__(self, count: Count, metric: str) -> None:
        self.count = count
        self.study = count.study
        self.metric = metric

    def rank(self) -> Results:
        if not self.count.values:
            return Results(problem=_("There are no answers to count yet."))
        people = self._estimate(PEOPLE, None)
        if people is None:
            few = _("An interval needs answers on at least {fewest} images.")
            return Results(problem=few.format(fewest=MIN_GROUPS))
        if not self._can_predict():
            return Results([people])
        try:
            predicted, signature = self._predict()
        except CideryError as error:
            return Results([people], _("No scores of a metric: {error}").format(error=error))
        helped = self._estimate(self.metric, predicted, signature)
        return Results([people, helped] if helped else [people])

    @cached_property
    def lines(self) -> list[_Line]:
        if self.study.design == Study.Design.TRIPLET:
            return list(self._join_triplets())
        return [
            self._read(content, [self.count.values.get(item, [])])
            for item, content in self.count.items.items()
        ]

    def _join_triplets(self) -> Iterator[_Line]:
        """Make one line of all triplets of a pair; the majority of each is one vote."""
        grouped: dict[tuple[str, ...], list[tuple[Content, list[float]]]] = {}
        for item, content in self.count.items.items():
            key = (content["image"], *content["pair"])
            grouped.setdefault(key, []).append((content, self.count.values.get(item, [])))
        for group in grouped.values():
            own = [content["reference"] for content, _ in group]
            content = {k: v for k, v in group[0][0].items() if k != "reference"}
            line = self._read(content | {"references": own}, [values for _, values in group])
            votes = [float(np.sign(sum(values))) for _, values in group if values]
            yield _Line(line.content, votes, line.scatter, line.spare)

    @staticmethod
    def _read(content: Content, groups: Iterable[list[float]]) -> _Line:
        groups = [values for values in groups if values]
        means = [sum(values) / len(values) for values in groups]
        scatter = [
            (value - mean) ** 2
            for values, mean in zip(groups, means, strict=True)
            for value in values
        ]
        spare = sum(len(values) - 1 for values in groups)
        return _Line(content, [value for values in groups for value in values], scatter, spare)

    @cached_property
    def items(self) -> Items:
        pairs = self.study.is_pairwise
        lines = self.lines
        images = np.unique([line.content["image"] for line in lines], return_inverse=True)[1]
        systems: Any = [self._name(line.content) for line in lines]
        if not pairs and not all(systems):
            systems = []
        spare = sum(line.spare for line in lines)
        squares = sum(sum(line.scatter) for line in lines)
        return Items(
            np.asarray([_summarize(line.answers, pairs) for line in lines], np.float64),
            images.astype(np.int64),
            systems,
            np.asarray([len(line.answers) for line in lines], np.int64),
            math.sqrt(squares / spare) if spare else 0.0,
            None if pairs else (self.study.scale[0], self.study.scale[-1]),
        )

    def _name(self, content: Content) -> Any:
        if self.study.is_pairwise:
            return tuple(content.get("systems") or UNNAMED)
        return content.get("system", "")

    def _can_predict(self) -> bool:
        """Return True if a metric can score every caption: there are references of every image."""
        contents = [line.content for line in self.lines]
        if any("captions" in content for content in contents):
            return False
        return all("references" in c or self.study.references.get(c["image"]) for c in contents)

    def _predict(self) -> tuple[Floats, str]:
        """Return the metric's predictions of all lines, and its signature."""
        known = [
            {"image": image, "references": references}
            for image, references in self.study.references.items()
            if self.study.design != Study.Design.TRIPLET
        ]
        lines = [*known, *(line.content for line in self.lines)]
        dataset = build_dataset(self.study, lines)
        assert isinstance(dataset, Pairs | Ratings)
        with warnings.catch_warnings():
            # Poor scores do no harm here: the weight of a metric follows from how well it predicts.
            warnings.simplefilter("ignore", UnreliableWarning)
            predictions, signatures = predict(
                dataset, [self.metric], Settings(), 1, ignore_progress
            )
        ((label, predicted),) = predictions.items()
        return predicted, signatures.get(label, "")

    def _estimate(
        self, metric: str, predicted: Floats | None, signature: str = ""
    ) -> Standings | None:
        items = self.items
        quantities = list(list_quantities(items))
        horizon = len(np.unique(items.images))
        anytime, fixed = (
            estimate_quantities(items, quantities, predicted, CONFIDENCE, end)
            for end in (horizon, None)
        )
        compared = [q for q in quantities if len(q.systems) == 2 and anytime[q.name] is not None]
        contests = [
            self._compare(q, anytime[q.name], fixed[q.name], horizon, len(compared))
            for q in compared
        ]
        systems = [
            _estimate_system(q.systems[0] if q.systems else q.name, anytime[q.name], fixed[q.name])
            for q in quantities
            if len(q.systems) < 2 and anytime[q.name] is not None
        ]
        if self.study.is_pairwise and not systems and len(contests) == 1:
            systems = _split(contests[0])
        if not systems:
            return None
        saved = [e.saved for q in compared or quantities if (e := anytime[q.name]) is not None]
        return Standings(
            question=self.count.question,
            kind="wins" if self.study.is_pairwise else "mean",
            metric=metric,
            systems=sorted(systems, key=lambda one: -one.value),
            contests=contests,
            judged=int(np.count_nonzero(items.counts)),
            items=len(items.counts),
            saved=float(np.mean(saved)) if predicted is not None and saved else 0.0,
            uncounted=sum(len(q.systems) == 2 for q in quantities) - len(compared),
            signature=signature,
        )

    def _compare(
        self,
        quantity: Quantity,
        anytime: Estimate | None,
        fixed: Estimate | None,
        horizon: int,
        comparisons: int,
    ) -> SystemComparison:
        assert anytime is not None
        assert fixed is not None
        first, second = quantity.systems
        null = 0.5 if quantity.kind == "wins" else 0.0
        decided = anytime.is_decided
        ahead = "" if anytime.value == null else first if anytime.value > null else second
        return SystemComparison(
            first,
            second,
            anytime.value,
            anytime.low,
            anytime.high,
            anytime.adjusted_p,
            fixed.low,
            fixed.high,
            fixed.adjusted_p,
            anytime.judged,
            decided,
            ahead,
            None if decided else self._forecast(quantity, anytime, null, horizon, comparisons),
            anytime.images,
        )

    def _forecast(
        self, quantity: Quantity, found: Estimate, null: float, horizon: int, comparisons: int
    ) -> int | None:
        items = self.items
        places = np.concatenate([place for place, _ in quantity.parts])
        judged = places[items.counts[places] > 0]
        # A triplet's pair has as many items as it has references.
        asked = sum(len(self.lines[place].content.get("references", [0])) for place in places)
        return forecast_answers(
            found,
            answers=int(sum(len(self.lines[place].scatter) for place in judged)),
            most=asked * self.study.judges_each,
            items=asked,
            judged_images=len(np.unique(items.images[judged])),
            images=len(np.unique(items.images[places])),
            # Votes of -1 and 1 are wins of 0 and 1.
            scatter=items.spread / 2 if quantity.kind == "wins" else items.spread,
            null=null,
            horizon=horizon,
            comparisons=comparisons,
        )


def _summarize(answers: Sequence[float], pairs: bool) -> float:
    """Return an item's answer: the mean rating, or the winner by majority: 1, 0.5 or 0."""
    if not answers:
        return math.nan
    return 0.5 + float(np.sign(sum(answers))) / 2 if pairs else sum(answers) / len(answers)


def _estimate_system(system: str, anytime: Estimate | None, fixed: Estimate | None) -> Standing:
    assert anytime is not None
    assert fixed is not None
    return Standing(
        system, anytime.value, anytime.low, anytime.high, fixed.low, fixed.high, anytime.judged
    )


def _split(contest: SystemComparison) -> list[Standing]:
    """Return the shares of the only two systems, which sum to 1."""
    return [
        Standing(
            contest.first,
            contest.value,
            contest.low,
            contest.high,
            contest.fixed_low,
            contest.fixed_high,
            contest.judged,
        ),
        Standing(
            contest.second,
            1 - contest.value,
            1 - contest.high,
            1 - contest.low,
            1 - contest.fixed_high,
            1 - contest.fixed_low,
            contest.judged,
        ),
    ]
