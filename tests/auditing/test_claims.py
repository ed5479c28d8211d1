"""Claims are read as people write them, and refused with a reason."""

from __future__ import annotations

import pytest

from cidery.auditing.claims import Claim, find_metric, read_claim, read_claims
from cidery.auditing.interpretations import list_interpretations
from cidery.errors import SettingError


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("cider", "cider-d"),
        ("CIDEr", "cider-d"),
        ("CIDEr-D", "cider-d"),
        ("cider_r", "cider-r"),
        ("Bleu_4", "bleu-4"),
        ("BLEU-1", "bleu-1"),
        ("B@2", "bleu-2"),
        ("bleu", "bleu-4"),
        ("ROUGE_L", "rouge-l"),
        ("METEOR", "meteor"),
    ],
)
def test_names(name: str, metric: str) -> None:
    assert find_metric(name) == metric


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cider=abc", "'abc' is not a number"),
        ("cider=", "written metric=number"),
        ("0.993", "written metric=number"),
        ("cider=nan", "a score is a number"),
        ("cider=-1", "must be >= 0"),
        ("spice=0.2", "SPICE cannot be audited"),
        ("accuracy=0.5", "unknown metric 'accuracy'"),
    ],
)
def test_bad_claims(text: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        read_claim(text)


def test_one_claim_per_metric() -> None:
    with pytest.raises(SettingError, match="claim the same metric, cider-d"):
        read_claims(["cider=1.0", "CIDEr-D=1.1"])
    with pytest.raises(SettingError, match="no claims"):
        read_claims([])


def test_mappings_and_floats() -> None:
    (claim,) = read_claims({"cider": 1.25})
    assert claim == Claim("cider-d", "cider", "1.25", 1.25, 0.01)


def bounds(*claims: str) -> dict[str, tuple[float, float]]:
    return dict(list_interpretations(read_claims(claims))[0].bounds)


def test_printed_precision() -> None:
    assert bounds("cider=0.993")["cider-d"] == pytest.approx((0.9925, 0.9935), abs=1e-6)
    assert bounds("cider=0.9930")["cider-d"] == pytest.approx((0.99295, 0.99305), abs=1e-6)


def test_times_100_is_a_way_to_print() -> None:
    interpretations = list_interpretations(read_claims(["cider=131.2", "bleu-4=39.1%"]))
    assert interpretations[0].causes == ()
    assert interpretations[0].fits("cider-d", 1.3124)
    assert interpretations[0].fits("bleu-4", 0.3909)
    assert all(interpretation.causes for interpretation in interpretations[1:])


def test_a_mix_of_scales_is_a_cause() -> None:
    interpretations = list_interpretations(read_claims(["cider=131.2", "bleu-4=0.391"]))
    mixed = [r for r in interpretations if [cause.id for cause in r.causes] == ["times-100"]]
    assert [r.fits("cider-d", 1.312) and r.fits("bleu-4", 0.391) for r in mixed] == [True]


def test_zeros_that_were_not_digits() -> None:
    ids = [
        cause.id
        for interpretation in list_interpretations(read_claims(["cider=131.0"]))
        for cause in interpretation.causes
    ]
    assert "rounded-before-scaling" in ids
    ids = [
        cause.id
        for interpretation in list_interpretations(read_claims(["cider=131.2"]))
        for cause in interpretation.causes
    ]
    assert "rounded-before-scaling" not in ids


def test_factors_of_scores_that_are_printed_times_100() -> None:
    interpretations = list_interpretations(read_claims(["cider=14.6", "bleu-4=43.8"]))
    fitting = [r for r in interpretations if r.fits("cider-d", 1.46) and r.fits("bleu-4", 0.438)]
    assert [[cause.id for cause in r.causes] for r in fitting] == [["divided-by-10"]]
    interpretations = list_interpretations(read_claims(["cider=1460.1", "bleu-4=43.8"]))
    fitting = [r for r in interpretations if r.fits("cider-d", 1.4601) and r.fits("bleu-4", 0.438)]
    assert [[cause.id for cause in r.causes] for r in fitting] == [["times-10"]]
