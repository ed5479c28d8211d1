"""Tables of text cells: aligned for terminals and files, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = "  "


def text_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Return a table of aligned columns; those in `left` hold words, the others numbers.

    ```python
    print(text_table(["metric", "score"], [["bleu-4", "0.31"]]))
    ```
    """
    lines = (header, *rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        GAP.join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Return a Markdown table; the columns in `left` hold words, the others numbers."""
    rule = "|".join("---" if place in left else "---:" for place in range(len(header)))
    head, *body = (
        "| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |"
        for row in (header, *rows)
    )
    return "\n".join([head, f"|{rule}|", *body])


_LATEX = {
    **{sign: f"\\{sign}" for sign in "_%&#${}"},
    **{sign: f"${sign}$" for sign in "<>"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def latex_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Return a LaTeX tabular (booktabs); the columns in `left` hold words, the others numbers."""
    escape = str.maketrans(_LATEX)
    columns = "".join("l" if place in left else "r" for place in range(len(header)))
    head, *body = (
        " & ".join(cell.translate(escape) for cell in row) + r" \\" for row in (header, *rows)
    )
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
        ]
    )
