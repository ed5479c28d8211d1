"""Agreement on real judgments: known figures, and the papers' numbers reproduced.

The expected figures came with the judgments, as those of coco-caption's tools; each is held to its
tolerance. The judgments lie beside the project and are no part of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cidery import METRICS, meta
from cidery.cli import main
from cidery.meta.reproduction import Reproduction, reproduce
from cidery.meta.reproduction.comparisons import rank_sentences

NAMES = [name for name in ("cider-d", "bleu-4", "rouge-l", "meteor") if name in METRICS]


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    if not (shared / "data" / "pascal50s").is_dir():
        pytest.skip("the folder ../shared/data with human judgments is not here")
    return shared / "data"


@pytest.mark.parametrize(
    ("dataset", "statistic", "expected", "tolerance"),
    [
        (
            "flickr8k-expert",
            "tau_c",
            {"cider-d": 43.9, "bleu-4": 30.8, "rouge-l": 32.3, "meteor": 41.8},
            0.1,
        ),
        (
            "flickr8k-cf",
            "tau_b",
            {"cider-d": 24.6, "bleu-4": 16.9, "rouge-l": 19.9, "meteor": 22.3},
            0.1,
        ),
        ("composite", "tau_c", {"cider-d": 37.6, "bleu-4": 30.5, "rouge-l": 32.3}, 0.2),
    ],
)
def test_correlations(
    dataset: str, statistic: str, expected: dict[str, float], tolerance: float, data: Path
) -> None:
    names = [name for name in NAMES if name in expected]
    found = meta.evaluate(meta.read_dataset(dataset, data), names, resamples=0).results
    for name in names:
        assert 100 * found[name][statistic] == pytest.approx(expected[name], abs=tolerance)


def test_sizes(data: Path) -> None:
    sizes = {
        "pascal-50s": 4000,
        "abstract-50s": 400,
        "flickr8k-expert": 16992,
        "flickr8k-cf": 47830,
        "composite": 11985,
        "coco-2015": 12,
        "cider-r-triplets": 15,
    }
    assert {name: len(meta.read_dataset(name, data)) for name in sizes} == sizes


def test_abstract_50s(data: Path) -> None:
    found = meta.evaluate(meta.read_dataset("abstract-50s", data), ["cider-d", "bleu-4"]).results
    # Over 200 draws of halves 0.860, where tied halves count half; one draw deviates by 0.011.
    assert found["human"]["accuracy"] == pytest.approx(0.860, abs=0.011)
    names = ["cider-d", "bleu-4"]
    assert [found[name]["correct"] for name in names] == [320, 298]
    assert [found[name]["pairs"] for name in names] == [388, 388]
    assert [found[name]["tied"] for name in names] == [12, 12]


def test_pascal_50s_at_five(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the command line, whose JSON others read."""
    path = str(data / "pascal50s")
    arguments = [
        "meta",
        "pascal-50s",
        path,
        "-m",
        "cider-d",
        "--references-per-image",
        "5",
        "--no-cache",
    ]
    assert main([*arguments, "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {*content} == {"dataset", "protocol", "results", "signatures"}
    found = content["results"]["cider-d"]
    kinds = [round(100 * found[f"accuracy_{kind}"], 1) for kind in ("HC", "HI", "HM", "MM")]
    assert kinds == [65.5, 98.6, 90.3, 65.0]
    other = meta.evaluate(
        meta.read_dataset("pascal-50s", data), ["cider-d"], references=5, draw="random"
    ).results["cider-d"]
    for kind in ("HC", "HI", "HM", "MM"):
        assert other[f"accuracy_{kind}"] == pytest.approx(found[f"accuracy_{kind}"], abs=0.03)


def test_stemmed_cider_at_48(data: Path) -> None:
    """The paper says 84 % on both sets."""
    pascal = meta.read_dataset("pascal-50s", data)
    found = meta.evaluate(pascal, "cider", references=48, draw="first").results["cider"]
    assert found["accuracy"] == pytest.approx(0.832, abs=0.002)
    abstract = meta.evaluate(meta.read_dataset("abstract-50s", data), "cider").results["cider"]
    assert abstract["accuracy"] == pytest.approx(0.851, abs=0.002)


def test_reproduction(data: Path, tmp_path: Path) -> None:
    # Ranks of all sentences take as long as the rest; see test_ranks_of_sentences.
    sources = ["CIDEr, 7", "CIDEr, T", "CIDEr, Appendix I", "Variance", "CIDEr-R", "Diversity"]
    found = reproduce(data, sources=sources, cache=tmp_path)
    assert len(found.lines) > 150
    by_source: dict[str, list[float]] = {}
    for line in found.lines:
        if line.difference is not None:
            by_source.setdefault(line.source, []).append(abs(line.difference))
        else:
            assert line.note
    # Scores of the CIDEr-R paper's triplets are the authors' own, to the last digit.
    triplets = [line for line in found.lines if line.quantity.startswith("triplet")]
    assert len(triplets) >= 120
    for line in triplets:
        if line.metric != "spice":
            assert line.computed == pytest.approx(line.published, rel=1e-9, abs=1e-9)
    assert max(by_source["CIDEr, Appendix I"]) < 2.5  # another draw of five moves METEOR by two
    assert max(by_source["CIDEr, 7.4"]) < 2
    assert {*json.loads(found.to_json())} == {"lines", "verdicts", "not_reproducible"}
    assert "| source | quantity |" in found.to_markdown()
    assert found.to_latex().startswith(r"\begin{tabular}")
    check_verdicts(found)


def check_verdicts(found: Reproduction) -> None:
    """What the papers say in words is checked, too."""
    by_what = {(line.quantity, line.metric): line for line in found.lines}
    apart = by_what["pascal-50s, HC pairs with different winners: share", "human"]
    assert apart.published is None
    assert apart.computed == pytest.approx(35.6)
    assert apart.verdict == "holds"
    wins = [line.computed for line in found.lines if line.source == "CIDEr, 7.3"]
    assert wins == pytest.approx([83.6, 90.7], abs=0.1)
    table = [line for line in found.lines if line.source == "Diversity, Table 1"]
    assert len(table) == 48
    for line in table:
        # 94.1 came of the original's parser.
        one_that_differs = line.metric == "spice" and line.published == 94.1
        assert line.verdict in ("not computed", "differs" if one_that_differs else "same")
    unigrams = by_what["flickr8k-expert, unigram version: tau_b", "irv-unigram"]
    assert unigrams.verdict == "same" and unigrams.computed == pytest.approx(47.0807, abs=1e-4)
    assert sum(found.count_verdicts().values()) == len(found.lines)


def test_reproduction_of_some(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where only one data set is there, the others' lines are left out."""
    arguments = ["meta", "reproduce", str(data / "coco_challenge2015"), "--no-cache"]
    assert main([*arguments, "--source", "Variance"]) == 0
    out = capsys.readouterr().out
    assert "Variance, Table 1" in out
    assert "PASCAL" not in out.split("not computed")[0]
    assert "not computed: Diversity" not in out
    assert main(["meta", "reproduce", str(data / "spice")]) == 2
    assert "there is no pairs.jsonl" in capsys.readouterr().err
    arguments = ["meta", "reproduce", str(data / "coco_challenge2015"), "--source", "BLEU"]
    assert main(arguments) == 2
    assert "no source starts with BLEU; known: Variance, Table 1" in capsys.readouterr().err


def test_ranks_of_sentences(data: Path) -> None:
    pascal = meta.read_dataset("pascal-50s", data)
    assert isinstance(pascal, meta.Pairs)
    references = pascal.judged.references[:20]
    judged = replace(pascal.judged, references=references, images=pascal.judged.images[:20])
    some = replace(pascal, judged=judged)
    mean, pooled, *unigrams = rank_sentences(some, threads=1, few=20)
    assert mean.computed is not None and pooled.computed is not None
    assert mean.computed < pooled.computed
    assert [line.verdict for line in unigrams] == ["holds", "holds"]
