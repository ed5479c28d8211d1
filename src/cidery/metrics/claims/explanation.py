"""Contributions of words to the scores of claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from cidery.metrics.claims.claim import Claim
from cidery.metrics.claims.verdicts import (
    MIN_SUPPORT,
    CaptionClaims,
    Finding,
    JudgedCaption,
    combine,
)
from cidery.metrics.explanations import Contributions, Span, make_spans, split_loss, split_score


def share_judgment(judged: JudgedCaption, measure: str) -> Contributions:
    """Divide a caption's precision, recall or F among the words of its claims."""
    judgment = judged.judgment
    findings = judgment.findings
    score: float = getattr(judgment, measure)
    ideal = {
        "precision": 1.0,
        "recall": judgment.recall,
        "f": combine(1.0, judgment.recall),
    }[measure]
    costs = measure != "recall"
    values = split_score(
        score,
        ideal,
        [found.weight * found.support for found in findings],
        [found.weight * (1 - found.support) * costs for found in findings],
    )
    notes = [explain_finding(found, judged) for found in findings]
    claims = [found.claim for found in findings]
    spans = _spread(judged.caption, claims, values, notes)
    parts = {
        name: float(getattr(judgment, name))
        for name in (
            "precision",
            "recall",
            "coverage",
            "amount",
            "claims",
            "contradictions",
            "repetition",
            "fluency",
        )
    }
    return Contributions(score, spans, _find_lacks(judged, measure, score), parts, any(values))


def explain_finding(found: Finding, judged: JudgedCaption) -> str:
    """Return a claim's verdict as text: `contradicted: dog: red (other color, …)`."""
    text = f"{found.verdict}: {found.claim}"
    quote = quote_evidence(found, judged)
    because = ", ".join(filter(None, (found.reason, quote)))
    return f"{text} ({because})" if because else text


def quote_evidence(found: Finding, judged: JudgedCaption) -> str:
    """Return the deciding words of a reference, and its number."""
    if found.reference is None:
        return ""
    words = judged.references[found.reference].words
    named = " ".join(words[word] for word in sorted(found.evidence))
    return f"“{named}” in reference {found.reference + 1}"


def _find_lacks(judged: JudgedCaption, measure: str, score: float) -> list[list[Span]]:
    """Return the spans of the references' missing claims."""
    judgment = judged.judgment
    full = {"precision": score, "recall": 1.0, "f": combine(judgment.precision, 1.0)}[measure]
    missing = [found for found in judgment.omissions if found.covered < MIN_SUPPORT]
    lacked = split_loss(score, full, [found.weight * (1 - found.covered) for found in missing])
    missing_spans: list[list[Span]] = []
    for number, reference in enumerate(judged.references):
        own = [
            (found.claim, value)
            for found, value in zip(missing, lacked, strict=True)
            if found.reference == number
        ]
        claims, values = [claim for claim, _ in own], [value for _, value in own]
        missing_spans.append(_spread(reference, claims, values, [f"missing: {c}" for c in claims]))
    return missing_spans


def _spread(
    caption: CaptionClaims, claims: Sequence[Claim], values: Sequence[float], notes: Iterable[str]
) -> list[Span]:
    """Return a span for each word that claims add."""
    sums: dict[int, float] = defaultdict(float)
    texts: dict[int, list[str]] = defaultdict(list)
    for claim, value, note in zip(claims, values, notes, strict=True):
        own = caption.own_words(claim)
        for word in own:
            sums[word] += value / len(own)
            texts[word].append(note)
    places = caption.description.places
    return make_spans((places[w], sums[w], "; ".join(texts[w])) for w in sorted(sums))
