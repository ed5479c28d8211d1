"""Figures: what is drawn, by what matplotlib was told, and what files come out."""

from __future__ import annotations

import builtins
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cidery
from cidery import plots
from cidery.cli import main
from cidery.diversity import (
    compare_diversity,
    count_words,
    diversity_by_count,
    latent_semantics,
    map_captions,
)
from cidery.errors import InputError, MissingExtraError, SettingError
from cidery.meta import Agreement
from cidery.plots.labels import overlap
from support.example import BUNDLED, Example

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCRIPT = Path(__file__).parents[2] / "examples" / "diversity.py"


@pytest.fixture(scope="module")
def sampled() -> dict[int, list[str]]:
    rows = json.loads((BUNDLED / "sampled_a.json").read_text())
    return {row["image_id"]: row["captions"] for row in rows}


@pytest.fixture(scope="module")
def references(example: Example, sampled: dict[int, list[str]]) -> Any:
    return {image: example.references[image] for image in sampled}


@pytest.fixture(scope="module")
def tables(sampled: dict[int, list[str]], references: Any) -> Any:
    names = [f"system {i}" for i in range(9)]
    found = {
        name: cidery.measure_diversity(
            {i: c[: 2 + k % 4] for i, c in sampled.items()}, ["self-cider"], references=references
        )
        for k, name in enumerate(names)
    }
    found["humans"] = cidery.measure_diversity(
        references, ["self-cider"], references="leave-one-out"
    )
    return found


def texts(figure: Figure) -> list[str]:
    import matplotlib.text

    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]


def test_tradeoff(tables: Any) -> None:
    figure = plots.plot_tradeoff(tables)
    assert set(tables) < set(texts(figure))
    marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]
    found = {(m.get_marker(), m.get_markerfacecolor()) for m in marks}
    assert len(found) == len(tables), "two systems look the same"
    star = next(m for m in marks if m.get_marker() == "*")
    assert star.get_xdata()[0] == tables["humans"].corpus["accuracy"]
    assert star.get_ydata()[0] == tables["humans"].corpus["self-cider"]
    assert "accuracy (mean CIDEr-D with the references)" in texts(figure)


def test_labels_do_not_cover_each_other(tables: Any) -> None:
    some = {name: tables[name] for name in ("system 0", "system 3", "humans")}
    figure = plots.plot_tradeoff(some)
    figure.draw_without_rendering()
    boxes = [t.get_window_extent() for t in figure.axes[0].texts if t.get_text() in some]
    assert len(boxes) == 3
    assert not any(overlap(a, b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_vocabulary_and_ranks(sampled: dict[int, list[str]]) -> None:
    """Systems whose order two measures see differently; the third is the second again."""
    systems = {
        "all": sampled,
        "two": {image: captions[:2] for image, captions in sampled.items()},
        "two again": {image: captions[:2] for image, captions in sampled.items()},
        "one": {image: captions[:1] * 3 for image, captions in sampled.items()},
    }
    found = compare_diversity(systems, ["self-cider", "lsa", "vocabulary"]).tables
    shown = texts(plots.plot_vocabulary(found))
    assert {*systems, "different words in all captions", "diversity (Self-CIDEr)"} <= {*shown}
    by_lsa = sorted((table.corpus["lsa"] for table in found.values()), reverse=True)
    figure = plots.plot_ranks(found, ("self-cider", "lsa"))
    ranks = {text for axes in figure.axes for text in (t.get_text() for t in axes.texts)}
    assert {"one  4", "4  one"} <= ranks
    shared = by_lsa.index(found["two"].corpus["lsa"]) + 1
    assert {f"{shared}  two", f"{shared}  two again"} <= ranks
    with pytest.raises(InputError, match="at least two systems"):
        plots.plot_ranks({"all": found["all"]}, ("self-cider", "lsa"))
    with pytest.raises(InputError, match="has no 'mbleu-mix'"):
        plots.plot_ranks(found)
    many = {f"system {place}": found["all"] for place in range(11)}
    (legend,) = plots.plot_vocabulary(many).legends
    assert [text.get_text() for text in legend.get_texts()] == list(many)


def test_wins_are_bars_beside_each_other() -> None:
    shares = {"wins_a": 0.4, "wins_b": 0.6, "balanced_a": 0.3, "balanced_b": 0.7}
    metric = {name: 1 - share for name, share in shares.items()}
    metric |= {"pearson": -1.0, "pearson_balanced": -0.5}
    agreement = Agreement("made", "wins", {"human": shares, "cider": metric})
    figure = plots.plot_wins(agreement)
    (axes,) = figure.axes
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([60, 40, 40, 60])  # type: ignore[attr-defined]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["b", "a"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["people", "cider, r = -1.00"]
    balanced = plots.plot_wins(agreement, balanced=True).axes[0]
    assert balanced.patches[0].get_height() == pytest.approx(70)  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match='protocol="wins"'):
        plots.plot_wins(Agreement("made", "ratings", {"cider": {"pearson": 0.5}}))


def test_f_bars_are_sorted(tables: Any) -> None:
    figure = plots.plot_f_scores(tables)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == sorted(widths)
    assert f"{tables['humans'].corpus['f']:.3f}" in texts(figure)


def test_counts(sampled: dict[int, list[str]], references: Any) -> None:
    curve = diversity_by_count(sampled, references, counts=(2, 3, 5))
    figure = plots.plot_counts({"sampled": curve})
    solid, dashed = figure.axes[0].lines
    assert list(solid.get_ydata()) == [t.corpus["self-cider"] for t in curve.values()]
    assert list(dashed.get_ydata()) == [t.corpus["lsa"] for t in curve.values()]
    assert solid.get_linestyle() != dashed.get_linestyle()


def test_word_frequencies(sampled: dict[int, list[str]], references: Any) -> None:
    found = count_words(sampled)
    figure = plots.plot_word_frequencies({"sampled": found, "humans": count_words(references)})
    assert list(figure.axes[0].lines[0].get_ydata()) == found.counts.tolist()
    assert f"sampled ({len(found)} words)" in texts(figure)


def test_radar(sampled: dict[int, list[str]]) -> None:
    found = latent_semantics(sampled[1])
    figure = plots.plot_radar({str(i): latent_semantics(sampled[i]) for i in (1, 2, 3, 4)})
    assert len(figure.axes) == 4
    first = figure.axes[0].lines[0].get_ydata()
    assert list(first[:-1]) == found.coordinates[0].tolist()
    assert {"S1", "S5", "caption", "5"} <= set(texts(figure))


def test_map_merges_equal_captions(sampled: dict[int, list[str]]) -> None:
    points = map_captions({1: sampled[1][:1] * 3 + sampled[1][1:2], 2: sampled[2]})
    sizes = plots.plot_map(points).axes[0].collections[0].get_sizes()
    assert sorted(sizes / sizes.min()) == [1, 3]


@pytest.mark.parametrize("suffix", plots.FORMATS)
def test_files(suffix: Any, tables: Any, tmp_path: Path) -> None:
    def draw() -> Any:
        return {"f": plots.plot_f_scores(some), "again": plots.plot_f_scores(some)}

    some = {name: tables[name] for name in ("system 0", "humans")}
    target = tmp_path / f"out{suffix}"
    written = plots.save_figures(draw(), target)
    names = ["out.pdf"] if suffix == ".pdf" else [f"out-f{suffix}", f"out-again{suffix}"]
    assert [path.name for path in written] == names
    starts = {".pdf": b"%PDF", ".png": b"\x89PNG", ".eps": b"%!PS", ".svg": b"<?xml"}
    assert all(path.read_bytes().startswith(starts[suffix]) for path in written)
    before = [path.read_bytes() for path in written]
    plots.save_figures(draw(), target)
    if suffix != ".eps":
        assert [path.read_bytes() for path in written] == before, "the same data, other bytes"
    assert plots.save_figures(plots.plot_f_scores(some), target) == [target]


def test_vector_files_keep_their_text(tables: Any, tmp_path: Path) -> None:
    (path,) = plots.save_figures(plots.plot_f_scores(tables), tmp_path / "f.svg")
    assert re.search(r"<text[^>]*>humans</text>", path.read_text())


def test_refusals(tables: Any, sampled: dict[int, list[str]], tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"use \.pdf, \.svg"):
        plots.save_figures({}, tmp_path / "x.gif")
    with pytest.raises(InputError, match="nothing to draw"):
        plots.plot_tradeoff({})
    bare = cidery.measure_diversity(sampled, ["self-cider"])
    with pytest.raises(InputError, match="the table of 'x' has no 'accuracy'"):
        plots.plot_tradeoff({"x": bare})


def test_without_matplotlib(tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: Any, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'cidery\[plots\]'"):
        plots.plot_f_scores(tables)


def test_matplotlib_is_imported_when_a_figure_is_drawn() -> None:
    code = """
import sys
from cidery import plots

for name in plots.__all__:
    getattr(plots, name)
print("matplotlib" in sys.modules)
with plots.new_figure(1, 1):
    print("matplotlib" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = plots.nothing
    assert set(plots.__all__) <= set(dir(plots))


def test_all_figures_of_a_comparison(sampled: dict[int, list[str]], references: Any) -> None:
    systems = {"sampled": sampled, "fewer": {i: c[:3] for i, c in sampled.items()}}
    found = compare_diversity(systems, ["self-cider", "lsa"], references=references, details=True)
    figures = plots.plot_diversity(found)
    assert list(figures) == ["tradeoff", "f", "counts", "ranks", "words", "radar", "map"]
    assert {"sampled", "fewer", "humans"} <= set(texts(figures["tradeoff"]))
    bare = compare_diversity({"sampled": sampled}, ["lsa"], details=True)
    assert list(plots.plot_diversity(bare)) == ["words", "radar", "map"]
    with pytest.raises(SettingError, match="pass details=True"):
        plots.plot_diversity(compare_diversity({"sampled": sampled}, ["lsa"]))


def test_the_example_draws_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    names = {path.name for path in tmp_path.iterdir()}
    shown = ["tradeoff", "f", "counts", "vocabulary", "ranks", "words", "radar", "map"]
    assert names == {f"diversity-{name}.png" for name in shown} | {"diversity.pdf"}


@pytest.mark.filterwarnings("ignore::cidery.errors.SliceWarning")
def test_slices_are_drawn_with_their_intervals(example: Example) -> None:
    by = {image: "$x" if n else "one" for n, image in enumerate(example.references)}
    systems = {"a": example.system_a, "b": example.system_b}
    settings: Any = {"metrics": ["bleu-4", "rouge-l"], "by": by, "resamples": 20}
    comparison = cidery.compare(systems, example.references, **settings)
    figure = plots.plot_slices(comparison.tables, ["rouge-l"], resamples=20)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        *("(all)", "$x", "one (1 image)")
    ]
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert len(marks) == 6
    slices = comparison.tables["a"].slices
    assert slices is not None
    drawn = [float(line.get_xdata()[0]) for line in marks[:3]]  # type: ignore[index]
    assert drawn == [table.corpus["rouge-l"] for table in slices.parts.values()]
    assert len(plots.plot_slices(comparison.tables["a"], resamples=20).axes) == 2
    few = {image: "few" if n < 9 else "many" for n, image in enumerate(example.references)}
    table = cidery.score(example.system_a, example.references, ["rouge-l"], by=few)
    (axes,) = plots.plot_slices(table, resamples=20).axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["(all)", "few (9 images)", "many"]
    intervals = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.zorder == 2]
    heights = {float(line.get_ydata()[0]) for line in intervals if line.get_color() == "0.55"}
    assert heights == {0.0, 2.0}  # not that of the slice of few
    with pytest.raises(InputError, match="no slices to draw"):
        plots.plot_slices(cidery.score(example.system_a, example.references, ["bleu-4"]))
    with pytest.raises(InputError, match="'cider' was not scored; there are bleu-4, rouge-l"):
        plots.plot_slices(comparison.tables, ["cider"])


def test_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = {n: ["a dog runs", "a brown dog", "the dog"] for n in range(5)}
    long = {n: [" ".join(["word"] * (5 * n + 3))] for n in range(12)}
    told = {"short $5": cidery.describe(short), "long": cidery.describe(long)}
    axes = plots.plot_lengths(told).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "short $5: 2.7 words, sd 0.5",
        f"long: {told['long'].length.mean:.1f} words, sd {told['long'].length.deviation:.1f}",
    ]
    for patch in axes.patches:
        values, edges, _ = patch.get_data()  # type: ignore[attr-defined]
        assert (values * np.diff(edges)).sum() == pytest.approx(100)
    assert len(plots.plot_lengths(cidery.describe(short)).axes) == 1
    for name, captions in (("a", short), ("b", long)):
        (tmp_path / f"{name}.json").write_text(json.dumps(captions))
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    target = tmp_path / "lengths.svg"
    assert main(["stats", *files, "--plot", str(target)]) == 0
    assert f"drawn: {target}" in "".join(capsys.readouterr().out.splitlines())
    assert "captions, % per word" in target.read_text()
    assert main(["stats", *files, "--plot", str(tmp_path / "lengths.doc")]) != 0
