"""judge_claims(): verdicts on every claim of captions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import Any

import numpy as np

from cidery.corpus import Candidates, Corpus, ImageId, Missing, References
from cidery.errors import InputError, MismatchError
from cidery.markup import escape, fold_lines, mark_text
from cidery.metrics.claims.explanation import quote_evidence
from cidery.metrics.claims.metric import Claims, PreparedClaims
from cidery.metrics.claims.verdicts import COLUMNS, MIN_SUPPORT, JudgedCaption, Verdict
from cidery.metrics.explanations import Span, make_spans
from cidery.runtime import Workspace
from cidery.scoring.pipeline import Pipeline
from cidery.statistics import RESAMPLES, Floats, Interval, LengthControl
from cidery.tables import Column, Table, Tabular

VALUES: Mapping[Verdict, float] = {
    "supported": 1.0,
    "unsupported": 0.0,
    "repeated": -0.4,
    "contradicted": -1.0,
}
"""Color values of words by verdict."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """A claim of a caption with its verdict."""

    claim: str
    """`dog: brown`, `two cat`, `man ride horse`."""
    kind: str
    verdict: Verdict
    support: float
    """Support by the references, in [0, 1]."""
    reason: str
    """`stated`, `other color`, or the nearest word of a reference."""
    evidence: str
    """Deciding words of a reference: `“black dog” in reference 2`; may be empty."""
    reference: int | None
    """Number of that reference, from 1."""
    places: tuple[tuple[int, int], ...]
    """Character spans [start, end) of the words that the claim adds."""
    sentence: float | None = None
    """Similarity of its sentence and the references' sentences, 0.6 of the support; None if the
    verdict alone decides."""

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {
            "claim": self.claim,
            "kind": self.kind,
            "verdict": self.verdict,
            "support": self.support,
            "sentence": self.sentence,
            "reason": self.reason,
            "evidence": self.evidence,
            "reference": self.reference,
            "places": [list(place) for place in self.places],
        }


@dataclass(frozen=True, slots=True)
class MissingClaim:
    """A claim of references that the caption does not make."""

    claim: str
    kind: str
    references: tuple[int, ...]
    """Numbers of the references that make it, from 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {"claim": self.claim, "kind": self.kind, "references": list(self.references)}


@dataclass(frozen=True, eq=False)
class LedgerEntry(Tabular):
    """All claims of one caption."""

    image: ImageId
    caption: str
    references: tuple[str, ...]
    lines: tuple[LedgerLine, ...]
    missing: tuple[MissingClaim, ...]
    """Missing claims, those of most references first."""
    scores: Mapping[str, float]
    """f, precision, recall, contradictions, claims, repetition, fluency and words."""
    length: float
    """log(words / the references' words)"""

    def spans(self) -> list[Span]:
        """Return the caption's words with their worst verdict."""
        worst: dict[tuple[int, int], tuple[float, list[str]]] = {}
        for line in self.lines:
            note = f"{line.verdict}: {line.claim}" + f" ({line.evidence})" * bool(line.evidence)
            for place in line.places:
                value, notes = worst.get(place, (math.inf, []))
                worst[place] = min(value, VALUES[line.verdict]), [*notes, note]
        return make_spans(
            (p, value, "; ".join(notes)) for p, (value, notes) in sorted(worst.items())
        )

    def table(self) -> Table:
        """Return a row per claim, then a row per missing claim."""
        rows = [
            (line.claim, line.kind, line.verdict, line.support, _explain(line))
            for line in self.lines
        ]
        missing = [
            (found.claim, found.kind, "missing", None, _name_references(found.references))
            for found in self.missing
        ]
        columns = [
            *map(Column, ("claim", "kind", "verdict")),
            *(Column("support", ".2f"), Column("reason")),
        ]
        note = ", ".join(f"{name} {value:.4g}" for name, value in self.scores.items())
        return Table.of(columns, [*rows, *missing], notes=[note])

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "image_id": self.image,
            "caption": self.caption,
            "references": list(self.references),
            "claims": [line.to_dict() for line in self.lines],
            "missing": [found.to_dict() for found in self.missing],
            "scores": dict(self.scores),
        }

    def to_html(self) -> str:
        """Return the colored caption, and its claims as a collapsed table.

        Green is supported, grey unsupported, red contradicted; text is escaped.
        """
        listed = "".join(f'<li dir="auto">{escape(text)}</li>' for text in self.references)
        return (
            f'<div><div dir="auto" style="margin:.3em 0">'
            f"{mark_text(self.caption, self.spans(), 1.0)}</div>"
            f'<ol style="margin:.3em 0;opacity:.85">{listed}</ol>'
            f"<details><summary>{len(self.lines)} claims</summary>"
            f"{self.table().to_html()}</details></div>"
        )

    def to_text(self) -> str:
        """Return the caption and its claims as aligned text."""
        return f"{self.caption}\n\n{self.table()}"


@dataclass(frozen=True, eq=False)
class Ledger(Tabular):
    """Claims of all captions of one system.

    ```python
    ledger = cidery.judge_claims(["a red dog on a sofa"], [["a black dog on a couch"]])
    ledger.entries[0].lines[2].verdict, ledger.entries[0].lines[2].reason
    print(ledger.entries[0])
    ```
    """

    entries: tuple[LedgerEntry, ...]
    images: np.ndarray[Any, np.dtype[np.int64]]
    """Index of the image of each entry."""
    signature: str

    @cached_property
    def lengths(self) -> Floats:
        """log(words / the references' words) of each entry."""
        return np.asarray([entry.length for entry in self.entries])

    def column(self, name: str) -> Floats:
        """Return one of the scores of all entries."""
        return np.asarray([entry.scores[name] for entry in self.entries], np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "captions": [entry.to_dict() for entry in self.entries],
            "signature": self.signature,
        }

    def to_html(self) -> str:
        """Return all captions in colors."""
        shown = "".join(entry.to_html() for entry in self.entries)
        return f"<div>{shown}{fold_lines('signatures', [self.signature])}</div>"

    def table(self) -> Table:
        """Return the means of all captions."""
        return compare_ledgers({"captions": self}).table()


def judge_claims(
    candidates: Candidates,
    references: References,
    *,
    metric: Claims | None = None,
    language: str | None = None,
    missing: Missing = "error",
    images: Sequence[ImageId] | None = None,
    threads: int = 0,
    candidates_name: str = "candidates",
    references_name: str = "references",
) -> Ledger:
    """Split captions into claims and compare each with the references.

    Args:
        candidates: As for `score`.
        references: As for `score`.
        metric: Metric with other settings, such as another encoder.
        language: As for `score`; only English is supported, others get a warning.
        missing: As for `score`.
        images: Ids of the images to judge; default: all.
        threads: As for `score`.
        candidates_name: Name of the candidates in messages.
        references_name: Name of the references in messages.

    ```python
    ledger = cidery.judge_claims({"a": "two dogs run"}, {"a": ["a dog runs", "one dog running"]})
    ledger.entries[0].scores["contradictions"]   # 1.0
    ```
    """
    chosen = Claims() if metric is None else metric
    corpus = Corpus.build(
        candidates,
        references,
        missing=missing,
        candidates_name=candidates_name,
        references_name=references_name,
    )
    pipeline = Pipeline.choose({"claims-f": chosen}, language=language, threads=threads)
    pipeline.check({candidates_name: corpus}, references_name)
    rows = _find_rows(corpus, images, candidates_name)
    scorer = pipeline.prepare(corpus)
    prepared = scorer.prepared[chosen]
    assert isinstance(prepared, PreparedClaims)
    places = corpus.candidate_images[rows]
    tokenized = scorer.tokenize([corpus.candidates[row] for row in rows], places)
    offsets = corpus.reference_offsets.tolist()
    entries: dict[int, LedgerEntry] = {}
    for number, judged in prepared.claims.judge(tokenized, Workspace(threads)):
        image = int(places[number])
        known = tuple(corpus.references[offsets[image] : offsets[image + 1]])
        row = rows[number]
        entries[number] = _write(corpus.candidate_ids[row], corpus.candidates[row], known, judged)
    return Ledger(
        tuple(entries[number] for number in range(len(rows))),
        np.asarray(places, np.int64),
        scorer.signatures["claims-f"],
    )


def _find_rows(corpus: Corpus, images: Sequence[ImageId] | None, candidates_name: str) -> list[int]:
    if images is None:
        return list(range(len(corpus.candidates)))
    wanted = {str(image) for image in images}
    known = {str(image) for image in corpus.candidate_ids}
    if wanted - known:
        unknown = ", ".join(sorted(map(repr, wanted - known)))
        shown = ", ".join(map(repr, corpus.images[:3]))
        raise MismatchError(
            f"{candidates_name} has no caption of image {unknown}; it has "
            f"{len(corpus.images)} images, such as {shown}"
        )
    return [row for row, image in enumerate(corpus.candidate_ids) if str(image) in wanted]


def _write(
    image: ImageId, caption: str, references: tuple[str, ...], judged: JudgedCaption
) -> LedgerEntry:
    judgment, places = judged.judgment, judged.caption.description.places
    lines = tuple(
        LedgerLine(
            intern(str(found.claim)),  # most texts repeat
            found.claim.kind,
            found.verdict,
            found.support,
            intern(found.reason),
            intern(quote_evidence(found, judged)),
            None if found.reference is None else found.reference + 1,
            tuple(places[word] for word in judged.caption.own_words(found.claim)),
            found.sentence,
        )
        for found in judgment.findings
    )
    words = len(judged.caption.words)
    lengths = [len(reference.words) for reference in judged.references]
    scores = {name: float(getattr(judgment, name)) for name in COLUMNS}
    return LedgerEntry(
        image,
        caption,
        references,
        lines,
        tuple(_find_missing(judged)),
        scores | {"words": float(words)},
        math.log((words + 1) / (sum(lengths) / max(1, len(lengths)) + 1)),
    )


def _find_missing(judged: JudgedCaption) -> Iterator[MissingClaim]:
    """Yield missing claims, those of most references first."""
    holders: dict[tuple[str, str], list[int]] = {}
    for found in judged.judgment.omissions:
        if found.covered < MIN_SUPPORT:
            numbers = holders.setdefault((str(found.claim), found.claim.kind), [])
            numbers.append(found.reference + 1)
    for (claim, kind), numbers in sorted(holders.items(), key=lambda item: -len(set(item[1]))):
        yield MissingClaim(intern(claim), kind, tuple(sorted(set(numbers))))


def _explain(line: LedgerLine) -> str:
    if line.evidence and line.reason in line.evidence:
        return f"nearest: {line.evidence}"
    return ", ".join(filter(None, (line.reason, line.evidence)))


def _name_references(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers))
    return f"in reference{'s' * (len(numbers) > 1)} {listed}"


@dataclass(frozen=True, eq=False)
class LedgerTable(Tabular):
    """Comparison of the ledgers of several systems."""

    systems: Mapping[str, Mapping[str, float]]
    """Mean of each score per caption, by system."""
    f: Mapping[str, Interval]
    controlled: Mapping[str, Interval]
    """claims-f at the references' length."""
    slope: float
    """Change of claims-f for e times as many words."""
    signature: str

    def table(self) -> Table:
        """Return a row per system with means per caption."""
        rows = [
            {
                "system": name,
                **means,
                "f_interval": str(self.f[name]),
                "length_controlled": str(self.controlled[name]),
            }
            for name, means in self.systems.items()
        ]
        records = [{"system": name} | found for name, found in self.to_dict()["systems"].items()]
        columns = [
            Column("system"),
            *(Column(name, ".4f") for name in ("precision", "recall")),
            Column("claims-f", key="f_interval", align="right"),
            Column("length-controlled", key="length_controlled", align="right"),
            *(Column(name, ".3f") for name in ("contradictions", "repetition", "fluency")),
            *(Column(name, ".1f") for name in ("claims", "words")),
        ]
        note = (
            f"means per caption; doubling a caption's length changes its claims-f by "
            f"{self.slope * math.log(2):+.4f}; length-controlled: at the references' length"
        )
        return Table(columns, rows, notes=[note], signatures=[self.signature], records=records)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "systems": {
                name: {
                    **means,
                    "f_interval": [self.f[name].low, self.f[name].high],
                    "length_controlled": self.controlled[name].score,
                    "length_controlled_interval": [
                        self.controlled[name].low,
                        self.controlled[name].high,
                    ],
                }
                for name, means in self.systems.items()
            },
            "slope": self.slope,
            "signature": self.signature,
        }


def compare_ledgers(
    ledgers: Mapping[str, Ledger],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LedgerTable:
    """Compare the mean scores of systems, also controlled for length.

    Args:
        ledgers: Ledgers by system, with the same references.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap samples of images.
        seed: Seed of the bootstrap.

    ```python
    references = [["a black dog on a couch"], ["a cat sleeps"]]
    ledger = cidery.judge_claims(["a red dog", "a cat"], references)
    print(cidery.compare_ledgers({"ours": ledger}))
    ```
    """
    if not ledgers or not all(ledger.entries for ledger in ledgers.values()):
        raise InputError("expected at least one ledger, each with at least one caption")
    signatures = {  # the number of references may differ where captions are missing
        re.sub(r"\|refs:[^|]*", "", ledger.signature): ledger.signature
        for ledger in ledgers.values()
    }
    if len(signatures) > 1:
        raise MismatchError(
            "ledgers with different settings cannot be compared: "
            f"{' and '.join(signatures.values())}; use the same encoder and parser for all"
        )
    control = LengthControl.fit(
        [ledger.column("f") for ledger in ledgers.values()],
        [ledger.lengths for ledger in ledgers.values()],
        [ledger.images for ledger in ledgers.values()],
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    plain = LengthControl.fit(
        [ledger.column("f") for ledger in ledgers.values()],
        [np.zeros(len(ledger.entries)) for ledger in ledgers.values()],
        [ledger.images for ledger in ledgers.values()],
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    names = (*COLUMNS, "words")
    return LedgerTable(
        {
            system: {name: float(ledger.column(name).mean()) for name in names}
            for system, ledger in ledgers.items()
        },
        dict(zip(ledgers, plain.systems, strict=True)),
        dict(zip(ledgers, control.systems, strict=True)),
        control.slope,
        next(iter(ledgers.values())).signature,
    )
