"""compare_diversity(): several systems and humans in one call."""

from __future__ import annotations

import json
from typing import Any

import pytest

import cidery
from cidery.diversity import (
    Lsa,
    SelfCider,
    compare_diversity,
    count_words,
    diversity_by_count,
    get_measures,
    latent_semantics,
    map_captions,
    match_references,
)
from cidery.diversity.comparison import MAPPED_IMAGES
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from support.example import BUNDLED, Example

MEASURES = ["self-cider", "lsa", "vocabulary"]


@pytest.fixture(scope="module")
def sampled() -> dict[Any, list[str]]:
    rows = json.loads((BUNDLED / "sampled_a.json").read_text())
    return {row["image_id"]: row["captions"] for row in rows}


@pytest.fixture(scope="module")
def references(example: Example, sampled: dict[Any, list[str]]) -> dict[Any, list[str]]:
    return {image: example.references[image] for image in sampled}


@pytest.fixture(scope="module")
def systems(sampled: dict[Any, list[str]]) -> dict[str, Any]:
    return {"sampled": sampled, "fewer": {image: c[:3] for image, c in sampled.items()}}


def test_tables_are_those_of_single_calls(
    systems: dict[str, Any], references: dict[Any, list[str]]
) -> None:
    steps: list[str] = []
    found = compare_diversity(
        systems, MEASURES, references=references, progress=steps.append, kernel="cider-d"
    )
    assert list(found.tables) == ["sampled", "fewer", "humans"]
    for name, sets in systems.items():
        alone = cidery.measure_diversity(sets, MEASURES, references=references, kernel="cider-d")
        assert found.tables[name].corpus == alone.corpus
        assert found.tables[name].signatures == alone.signatures
    humans = cidery.measure_diversity(
        match_references(systems["sampled"], references),
        MEASURES,
        references="leave-one-out",
        kernel="cider-d",
    )
    assert found.tables["humans"].corpus == humans.corpus
    assert steps == ["measuring sampled", "measuring fewer", "measuring humans"]
    assert found.notes == ()
    assert found.details is None


def test_forms(systems: dict[str, Any]) -> None:
    found = compare_diversity(systems, MEASURES)
    assert found.table().header == ["measure", "sampled", "fewer"]
    count = found.tables["fewer"].corpus["vocabulary"]
    assert found.table().cells[-1][2] == f"{count:.0f}"
    assert found.to_records()[-1]["fewer"] == count
    content = json.loads(found.to_json())
    assert content["signatures"] == dict(found.first.signatures)
    assert content["systems"]["fewer"]["signatures"] == dict(found.tables["fewer"].signatures)
    assert found.to_markdown().startswith("| measure | sampled | fewer |")
    assert found.to_latex().startswith(r"\begin{tabular}{lrr}")
    alone = compare_diversity({"sampled": systems["sampled"]}, MEASURES)
    assert "systems" not in alone.to_dict()


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_details(systems: dict[str, Any], references: dict[Any, list[str]]) -> None:
    settings: dict[str, Any] = {
        "kernel": "cider-d",
        "frequencies": "references",
        "stop_words": "english",
    }
    found = compare_diversity(systems, MEASURES, references=references, details=True, **settings)
    details = found.details
    assert details is not None
    assert list(details.curves) == ["sampled", "fewer"]
    curve = diversity_by_count(systems["fewer"], references, **settings)
    assert [t.corpus for t in details.curves["fewer"].values()] == [
        t.corpus for t in curve.values()
    ]
    assert details.words["humans"].words == count_words(references).words
    own = DocumentFrequencies.from_references(references)
    first = next(iter(references))
    topics = latent_semantics(references[first], "cider-d", frequencies=own)
    assert details.topics["humans"].coordinates.tolist() == topics.coordinates.tolist()
    mapped = {image: systems["sampled"][image] for image in list(references)[:MAPPED_IMAGES]}
    expected = map_captions(mapped, "cider-d", frequencies=own)
    assert details.map.coordinates.tolist() == expected.coordinates.tolist()
    without = compare_diversity(systems, ["lsa"], references=references, details=True).details
    assert without is not None
    assert without.curves == {}


def test_what_is_skipped_is_skipped_everywhere(
    systems: dict[str, Any], references: dict[Any, list[str]]
) -> None:
    """An image of one caption is in no table, no count of words and no map."""
    first, *others = references
    holes = {"sampled": systems["sampled"] | {first: ["zebra"]}}
    found = compare_diversity(holes, MEASURES, references=references, details=True, missing="skip")
    assert list(found.first.ids) == others
    assert found.details is not None
    assert "zebra" not in found.details.words["sampled"].words
    assert first not in found.details.map.images


def test_humans_who_cannot_be_measured(
    systems: dict[str, Any], references: dict[Any, list[str]]
) -> None:
    single = {image: captions[:1] for image, captions in references.items()}
    found = compare_diversity(systems, ["lsa"], references=single, missing="skip")
    assert list(found.tables) == ["sampled", "fewer"]
    (note,) = found.notes
    assert note.startswith("humans are missing: ")


def test_refusals(systems: dict[str, Any], references: dict[Any, list[str]]) -> None:
    with pytest.raises(InputError, match="no systems"):
        compare_diversity({})
    with pytest.raises(SettingError, match="'humans' is reserved for the references"):
        compare_diversity({"humans": systems["sampled"]}, references=references)


def test_measures_of_one_name_have_labels_of_their_own(sampled: dict[Any, list[str]]) -> None:
    both = [SelfCider(), SelfCider("cider-d"), Lsa(), SelfCider("cider")]
    assert list(get_measures(both)) == [
        "self-cider",
        "self-cider:kernel=cider-d:sigma=6:faithful=coco",
        "lsa",
    ]
    table = cidery.measure_diversity(sampled, both)
    for label, measure in get_measures(both).items():
        alone = cidery.measure_diversity(sampled, [measure])
        assert table.each[label].tolist() == alone.each[measure.name].tolist()
        assert table.signatures[label] == alone.signatures[measure.name]
