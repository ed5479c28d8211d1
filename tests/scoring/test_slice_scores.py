"""Scores by slices: what they equal, whose samples they share, and what tables show."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import Comparison, ScoreTable
from cidery.errors import SettingError, SliceWarning, UnreliableWarning
from cidery.scoring.slice_scores import SliceTables
from cidery.statistics import holm
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

METRICS = ["cider-d", "bleu-4", "rouge-l"]


@dataclass(frozen=True)
class Sliced:
    """The bundled example in three domains, scored and compared."""

    domains: dict[int, str]
    table: ScoreTable
    comparison: Comparison
    example: Example

    @property
    def slices(self) -> SliceTables:
        assert self.table.slices is not None
        return self.table.slices

    def part(self, domain: str) -> Any:
        """Return candidates and references of one domain."""
        images = [image for image, name in self.domains.items() if name == domain]
        return (
            {image: self.example.system_a[image] for image in images},
            {image: self.example.references[image] for image in images},
        )


@pytest.fixture(scope="module")
def sliced(example: Example) -> Sliced:
    names = ("in", "near", "near", "out", "near")
    domains = {image: names[n % 5] for n, image in enumerate(example.references)}
    settings: Any = {"metrics": METRICS, "by": domains, "by_name": "domain"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)
        table = cidery.score(example.system_a, example.references, **settings)
        systems = {"a": example.system_a, "b": example.system_b}
        comparison = cidery.compare(systems, example.references, **settings)
    return Sliced(domains, table, comparison, example)


def test_no_score_changes_by_slicing(sliced: Sliced) -> None:
    plain = cidery.score(sliced.example.system_a, sliced.example.references, METRICS)
    assert dict(plain.corpus) == dict(sliced.table.corpus)
    for name, table in sliced.slices.items():
        rows = [n for n, image in enumerate(plain.ids) if sliced.domains[int(image)] == name]
        assert table.image_count == len(rows)
        assert list(table.ids) == [plain.ids[row] for row in rows]
        for metric in METRICS:
            np.testing.assert_array_equal(table.each[metric], plain.each[metric][rows])
        for metric in ("cider-d", "rouge-l"):
            assert table.corpus[metric] == pytest.approx(plain.each[metric][rows].mean())
        # A pooled score has no weights, so that pooling the slice alone gives the same.
        alone = cidery.score(*sliced.part(name), ["bleu-4"])
        assert table.corpus["bleu-4"] == pytest.approx(alone.corpus["bleu-4"], abs=1e-12)


def test_separate_slices_are_what_scoring_each_by_itself_gives(sliced: Sliced) -> None:
    example = sliced.example
    found = cidery.score(
        example.system_a, example.references, METRICS, by=sliced.domains, slices="separate"
    ).slices
    assert found is not None
    for name, table in found.items():
        alone = cidery.score(*sliced.part(name), METRICS)
        assert dict(table.corpus) == dict(alone.corpus)
        assert (
            f"frequencies:references-{table.image_count}|slices:separate|version:"
            in (table.signatures["cider-d"])
        )
        assert table.corpus["cider-d"] != sliced.slices[name].corpus["cider-d"]
    assert "slices" not in found.whole.signatures["cider-d"]


def test_a_slice_of_all_images_has_their_interval_and_test(sliced: Sliced) -> None:
    example = sliced.example
    everything = {image: ["every", sliced.domains[image]] for image in example.references}
    systems = {"a": example.system_a, "b": example.system_b}
    for mode in ("whole", "separate"):
        settings: Any = {"metrics": METRICS, "by": everything, "slices": mode}
        comparison = cidery.compare(systems, example.references, **settings)
        table = comparison.tables["a"]
        assert table.slices is not None
        assert comparison.slices is not None
        assert table.slices["every"].intervals() == table.intervals()
        for metric in METRICS:
            whole = vars(comparison.tests[metric]["a", "b"])
            part = vars(comparison.slices["every"][metric]["a", "b"])
            # These depend on the number of comparisons, too.
            corrected = {"adjusted_p": 0, "detectable": 0}
            assert part | corrected == whole | corrected


def test_slices_share_the_samples_of_all_images(sliced: Sliced) -> None:
    """Sums drawn of disjoint slices add up to the sums drawn of all images."""
    source = sliced.table.resampling["cider-d"]
    drawn = [table.resampling["cider-d"].draw(50, 3) for table in sliced.slices.values()]
    np.testing.assert_allclose(sum(drawn), source.draw(50, 3))


def test_slices_are_corrected_together(sliced: Sliced) -> None:
    slices = sliced.comparison.slices or {}
    for metric in METRICS:
        tests = [test for by_metric in slices.values() for test in by_metric[metric].values()]
        assert len(tests) == 3
        assert [t.adjusted_p for t in tests] == holm([t.p for t in tests])
    systems = {"a": sliced.example.system_a, "b": sliced.example.system_b}
    references = sliced.example.references
    plain = cidery.compare(systems, references, METRICS)
    assert plain.tests == sliced.comparison.tests
    note = "comparisons by each metric, those of slices separately from those of all images"
    assert note in sliced.comparison.note

    every = cidery.compare(systems, references, METRICS, by=sliced.domains, correct="all")
    found = [
        test
        for by_metric in (every.slices or {}).values()
        for pairs in by_metric.values()
        for test in pairs.values()
    ]
    assert len(found) == 3 * len(METRICS)
    assert [t.adjusted_p for t in found] == holm([t.p for t in found])


def test_a_slice_of_one_image_has_no_interval(example: Example) -> None:
    by = {image: "one" if n == 0 else "rest" for n, image in enumerate(example.references)}
    with pytest.warns(SliceWarning, match="the slice 'one' has one image only, so that there"):
        table = cidery.score(example.system_a, example.references, ["cider-d"], by=by)
    assert table.slices is not None
    intervals = table.slices.intervals()
    assert intervals["one"] == {}
    with pytest.raises(SettingError, match="a slice of one image has no interval"):
        table.slices["one"].interval("cider-d")
    line = table.slices.table(intervals=intervals).cells[1]
    assert line == ["", "one", "1", f"{table.slices['one'].corpus['cider-d']:.4f}", ""]
    systems = {"a": example.system_a, "b": example.system_b}
    with pytest.warns(SliceWarning):
        comparison = cidery.compare(systems, example.references, ["cider-d"], by=by)
    assert comparison.table().cells[1][6:8] == ["–", "1.000"]
    content = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert content["slices"]["slices"]["one"]["tests"]["cider-d"][0]["low"] is None


def test_few_samples_may_miss_a_slice(example: Example) -> None:
    """Then there is no bound, and nothing fails."""
    by = {image: "two" if n < 2 else "rest" for n, image in enumerate(example.references)}
    table = cidery.score(example.system_a, example.references, ["rouge-l"], by=by)
    assert table.slices is not None
    drawn = [table.slices["two"].interval("rouge-l", seed=seed, resamples=2) for seed in range(40)]
    assert any(np.isnan(interval.low) for interval in drawn)
    assert all(np.isfinite(interval.score) for interval in drawn)


def test_several_candidates_of_an_image_go_together(example: Example) -> None:
    images = list(example.references)
    rows = [(i, text) for i in images for text in (example.system_a[i], example.system_b[i])]
    by = {image: "xy"[n % 2] for n, image in enumerate(images)}
    table = cidery.score(rows, example.references, ["rouge-l"], by=by)
    assert table.slices is not None
    part = table.slices["y"]
    assert (part.image_count, len(part.each["rouge-l"])) == (36, 72)
    assert part.corpus["rouge-l"] == pytest.approx(part.each["rouge-l"].mean())


def test_groupings_need_no_file(example: Example) -> None:
    by_length = cidery.score(example.system_a, example.references, ["rouge-l"], by="length:11,12")
    assert by_length.slices is not None
    assert {name: table.image_count for name, table in by_length.slices.items()} == {
        "up to 11 words": 25,
        "over 11 to 12 words": 30,
        "over 12 words": 17,
    }


def test_tables_and_files(sliced: Sliced) -> None:
    intervals = sliced.slices.intervals(resamples=50)
    table = sliced.slices.table(intervals=intervals)
    assert "|  | near | 43 | 1." in table.to_markdown()
    assert r"cider-d & (all) & 72 & 1.1376 & [" in table.to_latex()
    records = table.to_records()
    assert [(r["slice"], r["metric"]) for r in records[3:5]] == [
        ("out", "cider-d"),
        ("(all)", "bleu-4"),
    ]
    assert len({tuple(record) for record in records}) == 1
    content = sliced.table.to_dict(slice_intervals=intervals)["slices"]
    assert (content["by"], content["mode"]) == ("domain", "whole")
    assert set(content["slices"]["in"]) == {"images", "scores", "intervals"}
    assert sliced.comparison.table().header[:5] == ["metric", "slice", "images", "a", "b"]
    assert len(sliced.comparison.to_records()) == 4 * len(METRICS)


def test_too_few_images_for_weights_are_said_once(example: Example) -> None:
    settings: Any = {"by": "length", "slices": "separate"}
    arguments = (example.system_a, example.references, ["cider-d"])
    with pytest.warns(UnreliableWarning) as told:
        cidery.score(*arguments, **settings)
    assert [str(w.message)[:50] for w in told if "slices" in str(w.message)] == [
        "4 slices ('up to 11 words', 'over 11 to 11.4 words"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cidery.score(*arguments, frequencies="coco-val2014", **settings)
    with pytest.raises(SettingError, match='slices is "whole" or "separate", not'):
        cidery.score(*arguments, slices="apart")  # type: ignore[arg-type]
