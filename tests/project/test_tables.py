"""Tables and the forms in which they are written."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass

import pytest

import cidery
from cidery.tables import (
    Column,
    Table,
    Tabular,
    guard_cell,
    measure_width,
    show_controls,
    unguard_cell,
)

TABLE = Table(
    [Column("metric"), Column("score", ".2f"), Column("note")],
    [
        {"metric": "bleu-4", "score": 0.3, "note": "50 % of a|b", "signature": "bleu|n:4"},
        {"metric": "a_b", "score": 12.25, "note": "", "signature": "=1"},
    ],
    notes=["2 images"],
)


def test_text() -> None:
    assert TABLE.to_text().split("\n") == [
        "metric  score  note",
        "bleu-4   0.30  50 % of a|b",
        "a_b     12.25",
        "",
        "2 images",
    ]
    assert str(Table([Column("a")], [], title="none")) == "none\n\na"


def test_markdown() -> None:
    assert TABLE.to_markdown().split("\n") == [
        "| metric | score | note |",
        "|---|---:|---|",
        r"| bleu-4 | 0.30 | 50 % of a\|b |",
        "| a_b | 12.25 |  |",
        "",
        "2 images",
    ]


def test_latex() -> None:
    assert TABLE.to_latex().split("\n") == [
        r"\begin{tabular}{lrl}",
        r"\toprule",
        r"metric & score & note \\",
        r"\midrule",
        r"bleu-4 & 0.30 & 50 \% of a$|$b \\",
        r"a\_b & 12.25 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% 2 images",
    ]


def test_csv_has_all_digits_and_hidden_values() -> None:
    assert TABLE.to_csv().split("\n") == [
        "metric,score,note,signature",
        "bleu-4,0.3,50 % of a|b,bleu|n:4",
        "a_b,12.25,,'=1",
        "",
    ]
    assert Table([Column("a", key="b"), Column("c")], []).to_csv() == "b,c\n"


def test_json() -> None:
    content = json.loads(TABLE.to_json())
    assert content["rows"][1] == {"metric": "a_b", "score": 12.25, "note": "", "signature": "=1"}
    assert content["notes"] == ["2 images"]


def test_html_is_escaped_and_aligned() -> None:
    table = Table.of(["<b>", "n"], [["a & b", 3]], title="'t'", signatures=["bleu|<n>"])
    html = table._repr_html_()
    assert '<th style="text-align:left">&lt;b&gt;</th>' in html
    assert '<td style="text-align:right">3</td>' in html
    assert "<caption>&#x27;t&#x27;</caption>" in html
    assert "<code>bleu|&lt;n&gt;</code>" in html


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_undefined_values(value: float) -> None:
    table = Table(
        [Column("x", ".2f"), Column("interval", "[{x:.1f}, {y:.1f}]")], [{"x": value, "y": 1.0}]
    )
    assert table.cells == [["–", "–"]]
    assert table.to_csv() == "x,y\n,1.0\n"
    assert json.loads(table.to_json())["rows"] == [{"x": None, "y": 1.0}]


def test_missing_values() -> None:
    table = Table(
        [Column("x", ".2f"), Column("z"), Column("interval", "[{x:.1f}, {y:.1f}]")],
        [{"x": None, "y": 1.0}],
    )
    assert table.cells == [["", "", ""]]
    assert table.to_csv() == "x,y\n,1.0\n"


def test_whole_numbers_have_no_decimals() -> None:
    table = Table.of([Column("n", ".4f"), Column("k", ",")], [[3, 12000], [0.5, 1]])
    assert table.cells == [["3", "12,000"], ["0.5000", "1"]]


def test_units_and_directions_are_in_the_header() -> None:
    table = Table.of([Column("size", ".1f", unit="MB"), Column("ter", lower_is_better=True)], [])
    assert table.header == ["size (MB)", "ter ↓"]
    assert table.all_notes == ["↓ lower is better"]
    assert r"ter $\downarrow$" in table.to_latex()


def test_equal_cells_are_merged() -> None:
    columns = [Column("image", merge=True), Column("rank")]
    table = Table.of(columns, [["a", 1], ["a", 2], ["b", 1]])
    assert table.cells == [["a", "1"], ["", "2"], ["b", "1"]]
    assert [row["image"] for row in table.to_records()] == ["a", "a", "b"]


def test_wide_and_combining_characters() -> None:
    assert [measure_width(text) for text in ("ab", "日本", "e\u0301", "ｱＡ", "")] == [2, 4, 1, 3, 0]
    lines = Table.of(["caption", "n"], [["一只狗", 1], ["cafe\u0301", 2], ["x", 3]]).to_text()
    assert {measure_width(line) for line in lines.split("\n")} == {10}


@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "a|b", "a\\", "a\\|b", "\n", "a\u2028b"])
def test_captions_keep_the_shape_of_tables(text: str) -> None:
    """A line break, a pipe or a backslash in a cell ends neither the cell nor the row."""
    table = Table.of(["caption", "n"], [[text, 1], ["x", 2]], title=text, notes=[text])
    markdown = Table.of(["caption", "n"], [[text, 1], ["x", 2]]).to_markdown().splitlines()
    assert len(markdown) == 4
    unescaped = markdown[2].replace("\\\\", "").replace("\\|", "")
    assert unescaped.count("|") == 3
    assert len(table.to_text().splitlines()) == 7
    assert len(table.to_latex().splitlines()) == 10
    assert list(csv.reader(table.to_csv().splitlines(keepends=True)))[-1] == ["x", "2"]


def test_special_characters_of_latex_and_markdown() -> None:
    shown = Table.of([r"a\b"], [["${x}^~"], ["< 0.001"], ["[a"], ["<eos>"]])
    lines = shown.to_latex().split("\n")
    assert lines[2] == r"a\textbackslash{}b \\"
    assert lines[4] == r"\$\{x\}\textasciicircum{}\textasciitilde{} \\"
    assert lines[5] == r"$<$ 0.001 \\"
    assert lines[6] == r"{}[a \\"
    assert shown.to_markdown().split("\n")[3:] == ["| < 0.001 |", "| [a |", r"| \<eos> |"]


def test_tables_below() -> None:
    table = Table.of(["a"], [["1"]], below=[Table.of(["b"], [["2"]])])
    assert table.to_text() == "a\n1\n\nb\n2"
    assert table.to_latex().count("tabular") == 4
    assert table.to_csv() == "a\n1\n"


@dataclass(frozen=True)
class _Result(Tabular):
    score: float

    def table(self) -> Table:
        return Table.of(["score"], [[self.score]])


def test_results_have_tables() -> None:
    result = _Result(0.5)
    table = result.table()
    assert str(result) == result.to_text() == str(table)
    assert result._repr_html_() == result.to_html() == table.to_html()
    assert result.to_markdown() == table.to_markdown()
    assert result.to_latex() == table.to_latex()
    assert result.to_csv() == table.to_csv()
    assert result.to_json() == table.to_json()
    assert isinstance(table, cidery.Table)


@pytest.mark.parametrize(
    "text",
    ["=1+1", "'=1+1", "+cmd|x", "-1", "-1+1", "@x", "\tx", "'quoted'", "plain", "", "''@"],
)
def test_cells_are_text_to_spreadsheets(text: str) -> None:
    cell = guard_cell(text)
    assert unguard_cell(cell) == text
    assert cell[:1] not in ("=", "+", "-", "@", "\t") or cell == "-1"


def test_control_codes_are_escaped() -> None:
    assert show_controls("\x1b[31mred\x9b\u202e") == r"\x1b[31mred\x9b\u202e"
    assert show_controls("Ŀ 日本 é\n") == "Ŀ 日本 é\n"
    assert Table.of(["a"], [["\x1b[31m"]]).to_text() == "a\n\\x1b[31m"


def test_values_that_round_to_zero_have_no_minus() -> None:
    table = Table([Column("value", "+.4f")], [{"value": value} for value in (-1e-9, -0.0, -0.0001)])
    assert [row[0] for row in table.cells] == ["+0.0000", "+0.0000", "-0.0001"]
