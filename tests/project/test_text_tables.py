"""Tables of text cells."""

from __future__ import annotations

from cidery.text_tables import latex_table, markdown_table, text_table

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
