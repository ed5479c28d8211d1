"""Names of metrics and presets in other spellings, and suggestions for mistyped ones."""

from __future__ import annotations

import pytest

import cidery
from cidery.errors import SettingError
from cidery.metrics import FAMILIES, METRICS, get_metrics
from cidery.metrics.presets import PRESETS, get_preset
from cidery.names import find_spelling, suggest_name


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("CIDErD", "cider-d"),
        ("ciderd", "cider-d"),
        ("CIDEr-R", "cider-r"),
        ("cider_d:sigma=4", "cider-d:sigma=4"),
        ("bleu4", "bleu-4"),
        ("Bleu_4", "bleu-4"),
        ("BLEU@4", "bleu-4"),
        ("ROUGE_L", "rouge-l"),
        ("METEOR", "meteor"),
        ("SPICE", "spice"),
        ("SPIDEr-FL", "spider-fl"),
        ("BERTScore", "bertscore"),
        ("RefCLIPScore", "refclipscore"),
        ("CHAIRi", "chair-i"),
        ("cider", "cider"),
    ],
)
def test_names_in_the_spelling_of_other_tools(given: str, label: str) -> None:
    assert list(get_metrics([given])) == [label]


def test_families_and_duplicates() -> None:
    assert tuple(get_metrics("Bleu")) == FAMILIES["bleu"]
    assert list(get_metrics(["CIDErD", "cider-d"])) == ["cider-d"]
    assert get_preset("COCO") is PRESETS["coco"]


@pytest.mark.parametrize("given", ["CIDEr", "CIDER", "Cider", "CIDEr:n=3"])
def test_cider_of_papers_is_ambiguous(given: str) -> None:
    name = given.partition(":")[0]
    message = (
        rf"the metric '{name}' is ambiguous; did you mean cider-d \(the CIDEr of pycocoevalcap and "
        r"of most papers\) or cider \(the equations of the CIDEr paper\)\?"
    )
    with pytest.raises(SettingError, match=message):
        get_metrics(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("rogue-l", r"unknown metric 'rogue-l'; did you mean 'rouge-l'\?"),
        ("METEROR", r"unknown metric 'METEROR'; did you mean 'meteor'\?"),
        ("cidre", r"unknown metric 'cidre'; did you mean cider-d \(.*\) or cider \(.*\)\?"),
        ("sparkle", "unknown metric 'sparkle'; known: cider, cider-d, .*chair-open$"),
    ],
)
def test_suggestions(given: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        get_metrics(given)


def test_suggestions_for_presets_and_frequencies() -> None:
    with pytest.raises(SettingError, match=r"unknown preset 'nocap'; did you mean 'nocaps'\?"):
        get_preset("nocap")
    with pytest.raises(SettingError, match=r"file; did you mean 'coco-val2014'\?"):
        cidery.Pipeline.choose("cider-d", frequencies="coco_val14")


def test_no_two_names_differ_in_spelling_only() -> None:
    known = [*METRICS, *FAMILIES]
    assert all(find_spelling(name.upper().replace("-", "_"), known) == name for name in known)
    assert find_spelling("A-b", ["ab", "a_b"]) is None
    assert suggest_name("sparkle", known) == ""
