"""audit(): whose pipeline made this number?"""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cidery.auditing.causes import MISSING_LEFT_OUT, SCALES, Cause, find_cause
from cidery.auditing.claims import Claim, ClaimsLike, find_metric, read_claims
from cidery.auditing.material import Material
from cidery.auditing.pipelines import Engine, NotPossibleError, Pipeline
from cidery.auditing.readings import Reading, list_readings
from cidery.auditing.search import Findings, Fit, Search, Trial
from cidery.corpus.corpus import Candidates, References
from cidery.errors import SettingError, UnreliableWarning
from cidery.scoring.evaluation import score
from cidery.scoring.tables import without_nan
from cidery.statistics import RESAMPLES, Interval

NO_CAUSE = "none"
"""What stands for no cause on the command line."""
_SHOWN_NEAREST = 3


@dataclass(frozen=True)
class Account:
    """A pipeline that gives the claimed numbers."""

    causes: tuple[Cause, ...]
    """What it does differently; empty: nothing, it is the right one."""
    scores: Mapping[str, float]
    """What it gives for each claimed metric, by the name that the claim used and in its scale."""
    command: str
    """What to type to see these scores."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """Causes that give the same scores on these captions, to the last digit."""

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        if not self.causes:
            return "The right pipeline gives the claimed numbers."
        return " ".join(cause.sentence for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "causes": [cause.id for cause in self.causes],
            "families": [cause.family for cause in self.causes],
            "sentence": self.sentence,
            "scores": dict(self.scores),
            "command": self.command,
            "alternatives": [list(ids) for ids in self.alternatives],
        }


@dataclass(frozen=True)
class NearMiss:
    """A pipeline that comes near the claimed numbers without giving them."""

    causes: tuple[Cause, ...]
    scores: Mapping[str, float]
    distance: float
    """How far its worst score is from the claimed one, in parts of that."""

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "causes": [cause.id for cause in self.causes],
            "scores": dict(self.scores),
            "distance": self.distance,
        }


@dataclass(frozen=True)
class Audit:
    """What was claimed, what is right, and which pipelines give the claimed numbers.

    ```python
    found = cidery.audit(candidates, references, {"cider": "1.138"})
    found.verdict, found.right["cider"]
    ```
    """

    claims: tuple[Claim, ...]
    right: Mapping[str, Interval]
    """The right scores with intervals, by the claims' names and in their scale."""
    right_command: str
    explanations: tuple[Account, ...]
    """Pipelines that give the claimed numbers, the simplest first."""
    also_fit: tuple[Account, ...]
    """Where the right pipeline fits: others that happen to fit as well, which accuse nobody."""
    tried: int
    """How many pipelines were scored."""
    ruled_out: int
    """How many pairs of causes were left out because an estimate lies far from the claims."""
    pairs_tried: bool
    """Whether pairs of causes were searched: only where nothing simpler fits, or if asked."""
    nearest: tuple[NearMiss, ...]
    """Where nothing fits: what comes nearest."""
    scale: Mapping[str, float]
    """What the claims were multiplied by: 100 for a number that its metric cannot reach."""
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """`right`, `explained` or `unexplained`."""
        if not self.explanations:
            return "unexplained"
        return "explained" if self.explanations[0].causes else "right"

    @property
    def fitting(self) -> int:
        """How many pipelines give the claimed numbers."""
        accounts = (*self.explanations, *self.also_fit)
        return sum(1 + len(account.alternatives) for account in accounts)

    @property
    def summary(self) -> str:
        """The answer in a sentence or two."""
        claimed = ", ".join(map(str, self.claims))
        if self.verdict == "right":
            return f"{claimed}: right. {self._explain_scale()}".rstrip()
        if self.verdict == "explained":
            return f"{claimed}: explained by {_name(self.explanations[0].causes)}."
        near = self.nearest[0] if self.nearest else None
        what = f"; the nearest is {100 * near.distance:.1f} % off" if near else ""
        return f"{claimed}: no pipeline of {self.tried} gives this{what}."

    def _explain_scale(self) -> str:
        percent = [claim.name for claim in self.claims if self.scale[claim.metric] == 100]
        if not percent:
            return ""
        return f"It is printed times 100 ({', '.join(percent)}), as papers do."

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        content = {
            "verdict": self.verdict,
            "summary": self.summary,
            "claimed": {claim.name: claim.text for claim in self.claims},
            "scale": {claim.name: self.scale[claim.metric] for claim in self.claims},
            "right": {name: interval.score for name, interval in self.right.items()},
            "intervals": {
                name: {"low": i.low, "high": i.high, "confidence": i.confidence}
                for name, i in self.right.items()
            },
            "right_command": self.right_command,
            "explanations": [account.to_dict() for account in self.explanations],
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

    def __str__(self) -> str:
        return self.summary


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
) -> Audit:
    """Find which pipelines give claimed scores, and what is right.

    Args:
        candidates: as `score` takes them; images without references are left out.
        references: as `score` takes them.
        claimed: metric -> number, or texts `metric=number`. A number given as text fits within its
            printed precision: `"0.993"` means 0.9925 to 0.9935. `cider` is coco-caption's CIDEr,
            which is CIDEr-D. Numbers that a metric cannot reach are read as times 100.
        pairs: whether pairs of causes are tried; None: where no single cause fits.
        threads: 0 means one per core; any number gives the same answer.
        confidence: of the intervals of the right scores.
        resamples: how many samples the intervals are drawn from.
        seed: of the samples.
        candidates_name: what messages and commands call the candidates.
        references_name: what messages and commands call the references.
        options: what commands need beside the files to read them.

    ```python
    cidery.audit(candidates, references, {"cider": "0.993", "bleu-4": "0.31"}).summary
    ```
    """
    claims = read_claims(claimed)
    material = Material.build(candidates, references, candidates_name, references_name)
    metrics = [claim.metric for claim in claims]
    readings = list_readings(claims)
    scale = readings[0].factors
    right = _score_right(material, claims, scale, (confidence, resamples, seed), threads)
    search = Search(material, metrics, readings, threads)
    found = search.run(pairs=pairs)
    writer = _Writer(claims, (candidates_name, references_name, *options), material)
    accounts = _explain(found.fits, writer, material)
    is_right = bool(found.fits) and not found.fits[0].causes
    return Audit(
        claims=claims,
        right=right,
        right_command=writer.write_right(),
        explanations=accounts[:1] if is_right else accounts,
        also_fit=accounts[1:] if is_right else (),
        tried=found.tried,
        ruled_out=found.ruled_out,
        pairs_tried=search.searched_pairs,
        nearest=() if found.fits else _find_nearest(found, readings, claims),
        scale=scale,
        notes=tuple(_list_notes(material)),
    )


def apply_causes(
    candidates: Candidates,
    references: References,
    causes: Sequence[str],
    claimed: ClaimsLike | None = None,
    metrics: Sequence[str] = ("cider", "bleu-4", "rouge-l"),
) -> dict[str, float]:
    """Score captions as a pipeline with these causes does; without causes it is the right one.

    With claims, these say which metrics, and the scores are in their scale.

    ```python
    from cidery.auditing import apply_causes

    apply_causes(candidates, references, ["no-tokenizer"], metrics=["cider"])
    ```
    """
    material = Material.build(candidates, references)
    chosen = [find_cause(id) for id in causes]
    claims = read_claims(claimed) if claimed else ()
    labels = {claim.name: claim.metric for claim in claims} or {
        name: find_metric(name) for name in metrics
    }
    pipeline = Pipeline()
    for cause in chosen:
        made = cause.apply(pipeline)
        if made is None:
            raise SettingError(f"{cause.id} cannot be combined with {_name(chosen, cause)}")
        pipeline = made
    scores = _run_alone(material, pipeline, labels.values(), _name(chosen))
    if not claims:
        factor = math.prod(SCALES.get(cause, 1.0) for cause in chosen)
        return {name: factor * scores[metric] for name, metric in labels.items()}
    scaling = tuple(cause for cause in chosen if not cause.changes and cause != MISSING_LEFT_OUT)
    readings = [r for r in list_readings(claims) if r.causes == scaling] or [
        list_readings(claims)[0]
    ]
    for other in (pipeline, *pipeline.list_others()):
        found = _run_alone(material, other, labels.values(), _name(chosen))
        for reading in readings:
            if all(reading.fits(metric, score) for metric, score in found.items()):
                return {name: found[m] * reading.factors[m] for name, m in labels.items()}
    return {name: scores[m] * readings[0].factors[m] for name, m in labels.items()}


def _run_alone(
    material: Material, pipeline: Pipeline, metrics: Iterable[str], name: str
) -> dict[str, float]:
    engine = Engine(material)
    try:
        return {metric: engine.run(pipeline.only_for(metric), metric) for metric in metrics}
    except NotPossibleError:
        raise SettingError(f"{name} cannot be applied to these captions") from None


def _score_right(
    material: Material,
    claims: Sequence[Claim],
    scale: Mapping[str, float],
    sampling: tuple[float, int, int],
    threads: int,
) -> dict[str, Interval]:
    confidence, resamples, seed = sampling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        table = score(
            *material.right_input(), metrics=[claim.metric for claim in claims], threads=threads
        )
    intervals = table.intervals(confidence, seed, resamples)
    return {claim.name: _multiply(intervals[claim.metric], scale[claim.metric]) for claim in claims}


def _multiply(interval: Interval, factor: float) -> Interval:
    values = (interval.score * factor, interval.low * factor, interval.high * factor)
    return Interval(*values, interval.confidence)


def _explain(fits: Sequence[Fit], writer: _Writer, material: Material) -> tuple[Account, ...]:
    """Return fits as accounts; those with the same scores and as many causes are put together."""
    groups: dict[tuple[Any, ...], list[Fit]] = {}
    for fit in fits:
        numbers = tuple(round(value, 10) for value in fit.scores.values())
        reading = tuple(cause.id for cause in fit.reading.causes)
        groups.setdefault((len(fit.causes), numbers, reading), []).append(fit)
    accounts = []
    for first, *others in groups.values():
        causes = first.causes
        if not causes and material.lacks_images:
            causes = (MISSING_LEFT_OUT,)
        accounts.append(
            Account(
                causes,
                writer.scale(first.scores, first.reading),
                writer.write(first),
                tuple(tuple(cause.id for cause in fit.causes) for fit in others),
            )
        )
    return tuple(accounts)


def _find_nearest(
    found: Findings, readings: Sequence[Reading], claims: Sequence[Claim]
) -> tuple[NearMiss, ...]:
    """Return the pipelines that come nearest, for people who look for what else differs."""
    plain = readings[0]

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


def _list_notes(material: Material) -> list[str]:
    notes = []
    if material.has_duplicates:
        count = int((material.rows_per_image > 1).sum())
        notes.append(
            f"{count} image{'s have' if count > 1 else ' has'} several captions in "
            f"{material.candidates_name}, others one: the right score takes the first of each"
        )
    if material.lacks_images:
        count = len(material.missing)
        notes.append(
            f"{count} of {len(material.images)} images have no caption in "
            f"{material.candidates_name}: the right score leaves them out"
        )
    if material.is_part:
        notes.append(
            f"{material.candidates_name} describes {len(material.described)} of "
            f"{len(material.images)} images: the others are left out"
        )
    if material.strangers:
        count = len(material.strangers)
        notes.append(
            f"{count} image{'s' * (count > 1)} of {material.candidates_name} "
            f"{'have' if count > 1 else 'has'} no references and cannot be scored"
        )
    return notes


def _name(causes: Sequence[Cause], without: Cause | None = None) -> str:
    return " and ".join(cause.id for cause in causes if cause != without) or "nothing"


@dataclass(frozen=True)
class _Writer:
    """Writes commands and scores as claims are written."""

    claims: Sequence[Claim]
    files: Sequence[str]
    material: Material

    def scale(self, scores: Mapping[str, float], reading: Reading) -> dict[str, float]:
        return {
            claim.name: scores[claim.metric] * reading.factors[claim.metric]
            for claim in self.claims
        }

    def write(self, fit: Fit) -> str:
        if not fit.causes:
            return self.write_right()
        return self._write_apply(",".join(cause.id for cause in fit.causes))

    def _write_apply(self, causes: str) -> str:
        claimed = [word for claim in self.claims for word in ("--claimed", str(claim))]
        return shlex.join(["cidery", "audit", *self.files, "--apply", causes, *claimed])

    def write_right(self) -> str:
        """Return the command for the right scores."""
        if self.material.has_duplicates:
            return self._write_apply(NO_CAUSE)
        metrics = [word for claim in self.claims for word in ("-m", claim.metric)]
        incomplete = len(self.material.missing) or self.material.strangers
        missing = ["--missing", "skip"] if incomplete else []
        return shlex.join(["cidery", "score", *self.files, *metrics, *missing])
