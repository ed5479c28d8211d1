"""Tables of text cells."""

from __future__ import annotations

import pytest

from cidery.text_tables import (
    guard_cell,
    latex_table,
    markdown_table,
    show_controls,
    text_table,
    unguard_cell,
)

HEADER = ["metric", "score", "note"]
ROWS = [["bleu-4", "0.3", "50 % of a|b"], ["a_b", "12.25", ""]]


def test_text() -> None:
    assert text_table(HEADER, ROWS, left=(0, 2)).split("\n") == [
        "metric  score  note",
        "bleu-4    0.3  50 % of a|b",
        "a_b     12.25",
    ]
    assert text_table(["a"], []) == "a"


def test_markdown() -> None:
    assert markdown_table(HEADER, ROWS, left=(0, 2)).split("\n") == [
        "| metric | score | note |",
        "|---|---:|---|",
        r"| bleu-4 | 0.3 | 50 % of a\|b |",
        "| a_b | 12.25 |  |",
    ]


def test_what_means_something_to_latex_is_spelt() -> None:
    shown = latex_table([r"a\b"], [["${x}^~"], ["< 0.001"]]).split("\n")
    assert shown[2] == r"a\textbackslash{}b \\"
    assert shown[4] == r"\$\{x\}\textasciicircum{}\textasciitilde{} \\"
    assert shown[5] == r"$<$ 0.001 \\"


def test_latex() -> None:
    assert latex_table(HEADER, ROWS, left=(0, 2)).split("\n") == [
        r"\begin{tabular}{lrl}",
        r"\toprule",
        r"metric & score & note \\",
        r"\midrule",
        r"bleu-4 & 0.3 & 50 \% of a|b \\",
        r"a\_b & 12.25 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "'=1+1", "+cmd|x", "-1", "-1+1", "@x", "\tx", "'quoted'", "plain", "", "''@"],
)
def test_cells_are_text_to_spreadsheets_and_come_back(text: str) -> None:
    cell = guard_cell(text)
    assert unguard_cell(cell) == text
    assert cell[:1] not in ("=", "+", "-", "@", "\t") or cell == "-1"


def test_controls_are_written_out() -> None:
    """What would steer a terminal, or turn the direction of its text, is shown instead."""
    assert show_controls("\x1b[31mred\x9b\u202e") == r"\x1b[31mred\x9b\u202e"
    assert show_controls("Ŀ 日本 é\n") == "Ŀ 日本 é\n"
