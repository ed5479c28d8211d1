"""Tables mark metrics of which a lower score is better."""

from __future__ import annotations

import pytest

import cidery

SYSTEMS = {"x": {"a": "a dog", "b": "a cat and a bus"}, "y": {"a": "a dog", "b": "a cat"}}
REFERENCES = {"a": ["a dog"], "b": ["a cat"]}
METRICS = ["chair-i", "chair-recall"]


def test_scores_mark_what_should_be_low() -> None:
    table = cidery.score(SYSTEMS["x"], REFERENCES, METRICS)
    assert str(table) == (
        "metric         score\nchair-i ↓     0.3333\nchair-recall  1.0000\n\n↓ lower is better"
    )
    assert "| chair-i ↓ |" in table.to_markdown()
    assert table.notes == ("↓ lower is better",)
    assert list(table.to_dict()["scores"]) == METRICS  # programs read the label
    assert cidery.score(SYSTEMS["x"], REFERENCES, "chair-recall").notes == ()


def test_a_lower_score_wins() -> None:
    compared = cidery.compare(SYSTEMS, REFERENCES, METRICS, resamples=10)
    assert compared.table().cells[0][0] == "chair-i ↓"
    assert compared.tests["chair-i"]["x", "y"].difference == pytest.approx(1 / 3)
    assert compared.tests["chair-i"]["x", "y"].wins == 0.25
    assert compared.note.startswith("↓ lower is better. ")
