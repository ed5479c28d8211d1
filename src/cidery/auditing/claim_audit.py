"""audit(): find the pipeline that reproduces a claimed score."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cidery.auditing.audit_data import AuditData
from cidery.auditing.causes import MISSING_LEFT_OUT, SCALES, Cause, find_cause
from cidery.auditing.claims import Claim, ClaimsLike, find_metric, read_claims
from cidery.auditing.interpretations import Interpretation, list_interpretations
from cidery.auditing.pipelines import AuditPipeline, Engine, NotApplicableError
from cidery.auditing.search import CONVINCING, Fit, Search, SearchResult, Trial, weigh
from cidery.corpus import Candidates, References
from cidery.errors import SettingError, UnreliableWarning
from cidery.frequencies import DocumentFrequencies
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike, read_frequencies
from cidery.statistics import RESAMPLES, Interval
from cidery.tables import Column, Table, Tabular, without_nan

NO_CAUSE = "none"
"""Name of the standard pipeline on the command line."""
_SHOWN_NEAREST = 3
_FEW_BY_CHANCE = 0.5
"""Expected number of other pipelines below which a chance in percent is shown."""
_RIVAL = 0.3
"""Minimum likelihood of another explanation, relative to the first one, to name it beside it."""


@dataclass(frozen=True)
class FittingPipeline:
    """Pipeline that reproduces the claimed scores."""

    causes: tuple[Cause, ...]
    """Deviations from the standard pipeline; empty for the standard pipeline itself."""
    scores: Mapping[str, float]
    """Scores by the claims' names and in their scale."""
    command: str
    """Command that prints these scores."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Other causes that give identical scores on these captions."""
    chance: float = 0.0
    """Expected number of pipelines, among those at least as likely, that fit by coincidence."""

    @property
    def is_convincing(self) -> bool:
        """True where a fit by coincidence is unlikely."""
        return self.chance < CONVINCING

    @property
    def sentence(self) -> str:
        """Description of the causes."""
        if not self.causes:
            return "The standard pipeline reproduces the claimed scores."
        return " ".join(cause.sentence for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {
            "causes": [cause.id for cause in self.causes],
            "families": [cause.family for cause in self.causes],
            "sentence": self.sentence,
            "scores": dict(self.scores),
            "command": self.command,
            "alternatives": [list(ids) for ids in self.alternatives],
            "chance": self.chance,
        }


@dataclass(frozen=True)
class NearMiss:
    """Pipeline whose scores are close to the claims but do not fit."""

    causes: tuple[Cause, ...]
    scores: Mapping[str, float]
    distance: float
    """Largest relative distance of a score from its claim."""

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {
            "causes": [cause.id for cause in self.causes],
            "scores": dict(self.scores),
            "distance": self.distance,
        }


@dataclass(frozen=True)
class Audit(Tabular):
    """Result of `audit`: claims, standard scores, and pipelines that reproduce the claims.

    ```python
    found = cidery.audit(candidates, references, {"cider": "1.138"})
    found.verdict, found.standard["cider"]
    ```
    """

    claims: tuple[Claim, ...]
    standard: Mapping[str, Interval]
    """Scores of the standard pipeline with intervals, by the claims' names and in their scale."""
    standard_command: str
    explanations: tuple[FittingPipeline, ...]
    """Pipelines that reproduce the claimed scores, the simplest first."""
    also_fit: tuple[FittingPipeline, ...]
    """Other pipelines that fit by coincidence, where the standard pipeline fits."""
    tried: int
    """Number of pipelines scored."""
    ruled_out: int
    """Number of pairs of causes ruled out by an estimate."""
    pairs_tried: bool
    """True where pairs of causes were searched: on request, or where no single cause fits."""
    nearest: tuple[NearMiss, ...]
    """Closest pipelines, where nothing fits."""
    scale: Mapping[str, float]
    """Factor of each claim: 100 for a number above its metric's maximum."""
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """`confirmed`, `explained`, `possible` or `unexplained`.

        An explanation is only `possible` where others fit, too, or would by coincidence.
        """
        if not self.explanations:
            return "unexplained"
        first = self.explanations[0]
        if not first.causes:
            return "confirmed"
        return "possible" if self.rivals or not first.is_convincing else "explained"

    @property
    def rivals(self) -> tuple[FittingPipeline, ...]:
        """Other explanations that are nearly as likely as the first one."""
        if not self.explanations:
            return ()
        first, *others = self.explanations
        least = _RIVAL * weigh(first.causes)
        return tuple(other for other in others if weigh(other.causes) >= least)

    @property
    def fitting(self) -> int:
        """Number of pipelines that reproduce the claimed scores."""
        fitting = (*self.explanations, *self.also_fit)
        return sum(1 + len(fitting_pipeline.alternatives) for fitting_pipeline in fitting)

    @property
    def summary(self) -> str:
        """Verdict in one or two sentences."""
        claimed = ", ".join(map(str, self.claims))
        if self.verdict == "confirmed":
            return f"{claimed}: confirmed. {self._explain_scale()}".rstrip()
        if self.verdict == "explained":
            return f"{claimed}: explained by {_name(self.explanations[0].causes)}."
        if self.verdict == "possible":
            first = self.explanations[0]
            if first.is_convincing:
                rivals = " or ".join(_name(rival.causes) for rival in self.rivals[:_SHOWN_NEAREST])
                return f"{claimed}: explained by {_name(first.causes)}, or by {rivals}."
            verb = "fits" if len(first.causes) == 1 else "fit"
            named = f"{claimed}: {_name(first.causes)} {verb}"
            more = "Claim more scores, or more digits."
            if first.chance < _FEW_BY_CHANCE:
                return (
                    f"{named}, but the chance that some pipeline would is about "
                    f"{100 * first.chance:.0f} %. {more}"
                )
            count = round(first.chance)
            others = "1 other" if count <= 1 else f"{count} others"
            return f"{named}, but so would about {others} by chance. {more}"
        near = self.nearest[0] if self.nearest else None
        what = f"; the closest differs by {100 * near.distance:.1f} %" if near else ""
        return f"{claimed}: none of {self.tried} pipelines reproduces this{what}."

    def _explain_scale(self) -> str:
        percent = [claim.name for claim in self.claims if self.scale[claim.metric] == 100]
        if not percent:
            return ""
        return f"Scores are multiplied by 100 ({', '.join(percent)}), as in papers."

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dictionary for JSON."""
        content = {
            "verdict": self.verdict,
            "summary": self.summary,
            "claimed": {claim.name: claim.text for claim in self.claims},
            "scale": {claim.name: self.scale[claim.metric] for claim in self.claims},
            "standard": {name: interval.score for name, interval in self.standard.items()},
            "intervals": {
                name: {"low": i.low, "high": i.high, "confidence": i.confidence}
                for name, i in self.standard.items()
            },
            "standard_command": self.standard_command,
            "explanations": [fitting_pipeline.to_dict() for fitting_pipeline in self.explanations],
            "also_fit": [[cause.id for cause in a.causes] for a in self.also_fit],
            "fitting": {
                "tried": self.tried,
                "fit": self.fitting,
                "ruled_out": self.ruled_out,
                "pairs_tried": self.pairs_tried,
            },
            "nearest": [near.to_dict() for near in self.nearest],
            "notes": list(self.notes),
        }
        return without_nan(content)  # type: ignore[no-any-return]

    def table(self) -> Table:
        """Return a row per claim, with the score of the first explanation and the standard one."""
        explained = self.explanations[0].scores if self.explanations else {}
        rows = [
            {
                "metric": claim.name,
                "claimed": claim.text,
                "explained": explained.get(claim.name),
                "standard": self.standard[claim.name].score,
                "low": self.standard[claim.name].low,
                "high": self.standard[claim.name].high,
                "digits": 2 if self.scale[claim.metric] == 100 else 4,
            }
            for claim in self.claims
        ]
        columns = [
            *(Column("metric"), Column("claimed", align="right")),
            *(Column(name, f"{{{name}:.{{digits}}f}}") for name in ("explained", "standard")),
            Column("95 % interval", "[{low:.{digits}f}, {high:.{digits}f}]"),
        ]
        return Table(columns, rows, self.summary)


def audit(
    candidates: Candidates,
    references: References,
    claimed: ClaimsLike,
    *,
    pairs: bool | None = None,
    threads: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    candidates_name: str = "results.json",
    references_name: str = "references.json",
    options: Sequence[str] = (),
    frequencies: Iterable[FrequenciesLike] = (),
) -> Audit:
    """Find the pipelines that reproduce claimed scores.

    Args:
        candidates: as in `score`; images without references are ignored.
        references: as in `score`.
        claimed: metric -> number, or strings `metric=number`. A number given as text fits within
            its printed precision: `"0.993"` means 0.9925 to 0.9935. `cider` is CIDEr-D, as in
            coco-caption. Numbers above the metric's maximum were multiplied by 100.
        pairs: try pairs of causes; None: only where no single cause fits.
        threads: number of threads; 0: one per core. The result is the same for any number.
        confidence: confidence level of the intervals.
        resamples: number of bootstrap samples.
        seed: seed of the samples.
        candidates_name: name of the candidates in messages and commands.
        references_name: name of the references in messages and commands.
        options: options that commands need to read the files.
        frequencies: further document frequencies that weights may have been counted on, such as
            files made by `cidery frequencies`.

    ```python
    cidery.audit(candidates, references, {"cider": "0.993", "bleu-4": "0.31"}).summary
    ```
    """
    claims = read_claims(claimed)
    named = _name_frequencies(frequencies)
    data = AuditData.build(candidates, references, candidates_name, references_name, named)
    metrics = [claim.metric for claim in claims]
    interpretations = list_interpretations(claims)
    scale = interpretations[0].factors
    standard = _score_standard(data, claims, scale, (confidence, resamples, seed), threads)
    search = Search(data, metrics, interpretations, threads)
    found = search.run(pairs=pairs)
    given = [word for name in named for word in ("--frequencies", name)]
    writer = _Writer(claims, (candidates_name, references_name, *options, *given), data)
    fitting = _explain(found.fits, writer, data)
    is_standard = bool(found.fits) and not found.fits[0].causes
    return Audit(
        claims=claims,
        standard=standard,
        standard_command=writer.write_standard(),
        explanations=fitting[:1] if is_standard else fitting,
        also_fit=fitting[1:] if is_standard else (),
        tried=found.tried,
        ruled_out=found.ruled_out,
        pairs_tried=search.searched_pairs,
        nearest=() if found.fits else _find_nearest(found, interpretations, claims),
        scale=scale,
        notes=tuple(_list_notes(data)),
    )


def apply_causes(
    candidates: Candidates,
    references: References,
    causes: Sequence[str],
    claimed: ClaimsLike | None = None,
    metrics: Sequence[str] = ("cider", "bleu-4", "rouge-l"),
    frequencies: Iterable[FrequenciesLike] = (),
) -> dict[str, float]:
    """Score captions by a pipeline with these causes; without causes, by the standard pipeline.

    With claims, their metrics are scored, in the scale of the claims.

    ```python
    from cidery.auditing import apply_causes

    apply_causes(candidates, references, ["no-tokenizer"], metrics=["cider"])
    ```
    """
    named = _name_frequencies(frequencies)
    data = AuditData.build(candidates, references, frequencies=named)
    chosen = [find_cause(id, named) for id in causes]
    claims = read_claims(claimed) if claimed else ()
    labels = {claim.name: claim.metric for claim in claims} or {
        name: find_metric(name) for name in metrics
    }
    pipeline = AuditPipeline()
    for cause in chosen:
        made = cause.apply(pipeline)
        if made is None:
            raise SettingError(f"{cause.id} cannot be combined with {_name(chosen, cause)}")
        pipeline = made
    scores = _run_alone(data, pipeline, labels.values(), _name(chosen))
    if not claims:
        factor = math.prod(SCALES.get(cause, 1.0) for cause in chosen)
        return {name: factor * scores[metric] for name, metric in labels.items()}
    scaling = tuple(cause for cause in chosen if not cause.changes and cause != MISSING_LEFT_OUT)
    interpretations = [r for r in list_interpretations(claims) if r.causes == scaling] or [
        list_interpretations(claims)[0]
    ]
    for other in (pipeline, *pipeline.list_similar()):
        found = _run_alone(data, other, labels.values(), _name(chosen))
        for interpretation in interpretations:
            if all(interpretation.fits(metric, score) for metric, score in found.items()):
                return {name: found[m] * interpretation.factors[m] for name, m in labels.items()}
    return {name: scores[m] * interpretations[0].factors[m] for name, m in labels.items()}


def _name_frequencies(given: Iterable[FrequenciesLike]) -> dict[str, DocumentFrequencies]:
    """Return document frequencies by name: the file's, or their own."""
    named = {}
    for frequencies in given:
        read = read_frequencies(frequencies)
        if not isinstance(read, str):
            is_file = not isinstance(frequencies, DocumentFrequencies)
            named[str(frequencies) if is_file else read.name] = read
    return named


def _run_alone(
    data: AuditData, pipeline: AuditPipeline, metrics: Iterable[str], name: str
) -> dict[str, float]:
    engine = Engine(data)
    try:
        return {metric: engine.run(pipeline.only_for(metric), metric) for metric in metrics}
    except NotApplicableError:
        raise SettingError(f"{name} cannot be applied to these captions") from None


def _score_standard(
    data: AuditData,
    claims: Sequence[Claim],
    scale: Mapping[str, float],
    sampling: tuple[float, int, int],
    threads: int,
) -> dict[str, Interval]:
    confidence, resamples, seed = sampling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        table = score(
            *data.standard_input(), metrics=[claim.metric for claim in claims], threads=threads
        )
    intervals = table.intervals(confidence, seed, resamples)
    return {claim.name: _multiply(intervals[claim.metric], scale[claim.metric]) for claim in claims}


def _multiply(interval: Interval, factor: float) -> Interval:
    values = (interval.score * factor, interval.low * factor, interval.high * factor)
    return Interval(*values, interval.confidence)


def _explain(fits: Sequence[Fit], writer: _Writer, data: AuditData) -> tuple[FittingPipeline, ...]:
    """Group fits with the same scores and the same number of causes."""
    groups: dict[tuple[Any, ...], list[Fit]] = {}
    for fit in fits:
        numbers = tuple(round(value, 10) for value in fit.scores.values())
        interpretation = tuple(cause.id for cause in fit.interpretation.causes)
        groups.setdefault((len(fit.causes), numbers, interpretation), []).append(fit)
    fitting = []
    for first, *others in groups.values():
        causes = first.causes
        if not causes and data.lacks_images:
            causes = (MISSING_LEFT_OUT,)
        fitting.append(
            FittingPipeline(
                causes,
                writer.scale(first.scores, first.interpretation),
                writer.write(first),
                tuple(tuple(cause.id for cause in fit.causes) for fit in others),
                first.chance,
            )
        )
    return tuple(fitting)


def _find_nearest(
    found: SearchResult, interpretations: Sequence[Interpretation], claims: Sequence[Claim]
) -> tuple[NearMiss, ...]:
    """Return the closest pipelines."""
    plain = interpretations[0]

    def distance(trial: Trial) -> float:
        return trial.distance(plain)

    nearest = sorted(found.trials, key=lambda trial: (distance(trial), len(trial.causes)))
    return tuple(
        NearMiss(
            trial.causes,
            {
                claim.name: trial.scores[claim.metric] * plain.factors[claim.metric]
                for claim in claims
            },
            distance(trial),
        )
        for trial in nearest[:_SHOWN_NEAREST]
    )


def _list_notes(data: AuditData) -> list[str]:
    notes = []
    if data.has_duplicates:
        count = int((data.rows_per_image > 1).sum())
        notes.append(
            f"{count} image{'s have' if count > 1 else ' has'} several captions in "
            f"{data.candidates_name}, others one: the standard score uses the first of each"
        )
    if data.lacks_images:
        count = len(data.missing)
        notes.append(
            f"{count} of {len(data.images)} images have no caption in "
            f"{data.candidates_name}: they are excluded from the standard score"
        )
    if data.is_part:
        notes.append(
            f"{data.candidates_name} describes {len(data.described)} of "
            f"{len(data.images)} images: the others are ignored"
        )
    if data.unmatched_ids:
        count = len(data.unmatched_ids)
        notes.append(
            f"{count} image{'s' * (count > 1)} of {data.candidates_name} "
            f"{'have' if count > 1 else 'has'} no references and cannot be scored"
        )
    return notes


def _name(causes: Sequence[Cause], without: Cause | None = None) -> str:
    return " and ".join(cause.id for cause in causes if cause != without) or "nothing"


@dataclass(frozen=True)
class _Writer:
    """Writer of commands and of scores in the scale of the claims."""

    claims: Sequence[Claim]
    files: Sequence[str]
    data: AuditData

    def scale(
        self, scores: Mapping[str, float], interpretation: Interpretation
    ) -> dict[str, float]:
        return {
            claim.name: scores[claim.metric] * interpretation.factors[claim.metric]
            for claim in self.claims
        }

    def write(self, fit: Fit) -> str:
        if not fit.causes:
            return self.write_standard()
        return self._write_apply(",".join(cause.id for cause in fit.causes))

    def _write_apply(self, causes: str) -> str:
        claimed = [word for claim in self.claims for word in ("--claimed", str(claim))]
        return shlex.join(["cidery", "audit", *self.files, "--apply", causes, *claimed])

    def write_standard(self) -> str:
        """Return the command that prints the standard scores."""
        if self.data.has_duplicates:
            return self._write_apply(NO_CAUSE)
        metrics = [word for claim in self.claims for word in ("-m", claim.metric)]
        incomplete = len(self.data.missing) or self.data.unmatched_ids
        missing = ["--missing", "skip"] if incomplete else []
        own = ("--frequencies", *self.data.frequencies)
        files = [word for word in self.files if word not in own]
        return shlex.join(["cidery", "score", *files, *metrics, *missing])
