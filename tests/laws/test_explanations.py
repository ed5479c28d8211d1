"""Explanations of every metric that has them: spans lie in captions and sum to the score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cidery.corpus import Corpus
from cidery.metrics.explanations import Explanation, Span
from cidery.scoring.pipeline import Pipeline
from laws.test_laws import METRICS
from support.captions import at_most
from support.markers import mark_metrics

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

NAMES = [name for name, metric in METRICS.items() if metric.explanation_unit]

ODD = [
    "",
    " ",
    "...",
    "\"A dog's\" (big) bone, isn't it?!",
    "cafe\u0301 cre\u0300me",
    "İstanbul ΟΔΟΣ Straße",
    "a 👩‍👩‍👧 and a 🐕",
    "كلب يركض على العشب",
    "dog\u00ad house soft\u00adhyphen",
    "5\u00a01/2 dogs for $5 & £3 &amp; ½ cup",
    "<script>alert(1)</script> dog",
    "gonna can't cannot y'all",
    "日本語 テキスト",
    "\u200ba\u200b dog\ufeff",
]
WORDS = ["a", "the", "dog", "dogs", "runs", "red", "on", "grass", "x-ray", "Dog's", "didn't", "."]
plain = st.lists(st.sampled_from(WORDS), min_size=1, max_size=10).map(" ".join)
captions = st.one_of(plain, st.sampled_from(ODD), st.text(max_size=20))


def check_spans(caption: str, spans: Sequence[Span]) -> None:
    for span in spans:
        assert 0 <= span.start < span.end <= len(caption)
        assert math.isfinite(span.value)
    for one, following in pairwise(spans):
        assert one.end <= following.start


def check(explanation: Explanation, score: float) -> None:
    assert explanation.score == score
    values = [span.value for span in explanation.spans]
    total = math.fsum([*values, explanation.rest])
    # A rest larger than the score has coarser digits than it.
    assert abs(total - score) <= (
        math.ulp(explanation.rest) if abs(explanation.rest) > abs(score) else 0
    )
    check_spans(explanation.candidate, explanation.spans)
    assert len(explanation.reference_spans) == len(explanation.references)
    for reference, spans in zip(explanation.references, explanation.reference_spans, strict=True):
        check_spans(reference, spans)
        assert all(span.value <= 0 and span.note for span in spans)
    assert all(map(math.isfinite, explanation.parts.values()))


def explain_all(name: str, candidates: list[str], references: list[list[str]]) -> None:
    scorer = Pipeline.choose({name: METRICS[name]}).prepare(Corpus.build(candidates, references))
    images = list(range(len(candidates)))
    found = scorer.explain(name, candidates, images)
    scores = scorer.score(candidates, images, images).each[name]
    assert [one.candidate for one in found] == candidates
    assert [list(one.references) for one in found] == references
    for one, score in zip(found, scores.tolist(), strict=True):
        check(one, score)


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_spans_lie_in_captions_and_sum_to_the_score(name: str) -> None:
    groups = st.lists(
        st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=2, max_size=4
    )

    @at_most(30 if METRICS[name].needs.extra is None else 3)
    @given(groups=groups)
    def run(groups: list[tuple[str, list[str]]]) -> None:
        explain_all(name, [candidate for candidate, _ in groups], [group for _, group in groups])

    run()


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_odd_captions(name: str) -> None:
    length = 300 if METRICS[name].needs.extra is None else 30
    candidates = [*ODD, *ODD, "dog " * length]
    references = [
        [caption, "a dog"] for caption in [*ODD, *ODD[1:], ODD[0], "a dog " * (length // 3)]
    ]
    explain_all(name, candidates, references)
