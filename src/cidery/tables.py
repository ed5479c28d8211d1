"""Table: the form of all results, written as text, Markdown, LaTeX, CSV, JSON or HTML."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, Literal, TypeAlias

from cidery.markup import escape, fold_lines

Row: TypeAlias = Mapping[str, Any]
GAP = "  "
UNDEFINED = "–"
LOWER_IS_BETTER = "↓ lower is better"


@dataclass(frozen=True)
class Column:
    """A column of a table and its format.

    ```python
    Column("95 % interval", "[{low:.4f}, {high:.4f}]").write({"low": 0.1, "high": 0.2})
    ```
    """

    name: str
    format: str | Callable[[Any], str] = ""
    """Format specification of the value (`.4f`; whole numbers ignore its decimals), template of the
    row's values (`[{low:.4f}, {high:.4f}]`), or function of the row."""
    key: str = ""
    """Key of the value in rows. Default: the name."""
    unit: str = ""
    lower_is_better: bool = False
    align: Literal["", "left", "right"] = ""
    """Default: left where all values are text without a format, else right."""
    merge: bool = False
    """Leave a cell empty where the row above has the same value."""
    bold: Callable[[Any], bool] | None = None
    """Of the row: the cell is bold in Markdown, LaTeX and HTML."""
    superscript: Callable[[Any], str] | None = None
    """Of the row: text above the line in Markdown, LaTeX and HTML, after the cell in text."""
    detail: bool = False
    """Leave the column out on a terminal that is too narrow for the table."""

    @property
    def title(self) -> str:
        """Name with unit and direction."""
        return self.name + f" ({self.unit})" * bool(self.unit) + " ↓" * self.lower_is_better

    def value(self, row: Row) -> Any:
        """Return the column's value in a row; None where there is none."""
        return row.get(self.key or self.name)

    def write(self, row: Row) -> str:
        """Return the text of a cell: empty for None, `–` for NaN and infinity."""
        if callable(self.format):
            return self.format(row)
        if "{" not in self.format:
            return _write_value(self.value(row), self.format)
        for _, name, _, _ in Formatter().parse(self.format):
            if name and ((value := row.get(name)) is None or _is_undefined(value)):
                return _write_value(value, "")
        return self.format.format_map(row)


@dataclass(frozen=True)
class Table:
    """Columns and rows with notes and signatures.

    Undefined values (NaN, infinity) are `–` in print, empty in CSV and null in JSON; missing values
    (None) are empty in print and CSV, null in JSON.

    ```python
    columns = [cidery.tables.Column("metric"), cidery.tables.Column("score", ".4f")]
    table = cidery.Table(columns, [{"metric": "bleu-4", "score": 0.31}], notes=["5 images"])
    print(table.to_markdown())
    ```
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    notes: Sequence[str] = ()
    signatures: Sequence[str] = ()
    records: Sequence[Row] = field(default=(), repr=False)
    """Rows for CSV and JSON where they differ from those in print. Default: `rows`."""
    below: Sequence[Table] = ()
    """Tables printed below this one; not in CSV and JSON."""
    caption: str = ""
    """Text below the table; in LaTeX, the caption of a `table`."""

    @classmethod
    def of(
        cls, columns: Iterable[str | Column], rows: Iterable[Sequence[Any]], **details: Any
    ) -> Table:
        """Make a table of rows whose values are in the order of the columns.

        ```python
        print(cidery.Table.of(["metric", "images"], [["bleu-4", 5]]))
        ```
        """
        made = [column if isinstance(column, Column) else Column(column) for column in columns]
        keyed = [replace(column, key=str(place)) for place, column in enumerate(made)]
        cells = [dict(zip(map(str, range(len(made))), row, strict=True)) for row in rows]
        named = [dict(zip((c.name for c in made), row.values(), strict=True)) for row in cells]
        # Without rows, CSV takes its header from the columns.
        return cls(keyed if cells else made, cells, **({"records": named} | details))

    @property
    def header(self) -> list[str]:
        """Titles of the columns."""
        return [column.title for column in self.columns]

    @property
    def cells(self) -> list[list[str]]:
        """Text of each row's cells."""
        written = []
        above: Row = {}
        for row in self.rows:
            written.append(
                [
                    "" if c.merge and above and c.value(above) == c.value(row) else c.write(row)
                    for c in self.columns
                ]
            )
            above = row
        return written

    @property
    def plain_cells(self) -> list[list[str]]:
        """Text of each row's cells with superscripts behind them."""
        signs = [
            [c.superscript(row) if c.superscript else "" for c in self.columns] for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*signs, strict=True)]
        return [
            [
                f"{cell} {sign.ljust(width)}" if width else cell
                for cell, sign, width in zip(*line, widths, strict=True)
            ]
            for line in zip(self.cells, signs, strict=True)
        ]

    def _mark(self, escape: Callable[[str], str], bold: str, above: str) -> list[list[str]]:
        """Return the header and cells, escaped, with templates for bold text and superscripts."""
        marked = [list(map(escape, self.header))]
        for row, cells in zip(self.rows, self.cells, strict=True):
            line = []
            for column, cell in zip(self.columns, cells, strict=True):
                text = escape(cell)
                if column.bold is not None and column.bold(row):
                    text = bold.format(text)
                if column.superscript is not None and (sign := column.superscript(row)):
                    text += above.format(escape(sign))
                line.append(text)
            marked.append(line)
        return marked

    @property
    def aligned_left(self) -> list[bool]:
        """By column: left-aligned (text) or right-aligned (numbers)."""
        return [
            column.align == "left"
            if column.align
            else not column.format
            and all(isinstance(column.value(row), str | None) for row in self.rows)
            for column in self.columns
        ]

    @property
    def all_notes(self) -> list[str]:
        """Notes, with the meaning of marks in the header."""
        marked = any(column.lower_is_better for column in self.columns)
        return [*([LOWER_IS_BETTER] if marked else []), *self.notes]

    def to_text(self) -> str:
        """Return aligned columns; wide characters (CJK) count as two, control codes are escaped."""
        lines = [
            [show_controls(one_line(cell)) for cell in row]
            for row in (self.header, *self.plain_cells)
        ]
        widths = [max(map(measure_width, column)) for column in zip(*lines, strict=True)]
        left = self.aligned_left
        grid = "\n".join(
            GAP.join(
                _pad(cell, width, side) for cell, width, side in zip(row, widths, left, strict=True)
            ).rstrip()
            for row in lines
        )
        notes = "\n".join(
            show_controls(one_line(note)) for note in (self.caption, *self.all_notes) if note
        )
        title = show_controls(one_line(self.title))
        parts = [title, grid, notes, *(table.to_text() for table in self.below)]
        return "\n\n".join(filter(None, parts))

    def to_markdown(self) -> str:
        """Return a Markdown table, with title and notes as paragraphs."""
        head, *body = (
            f"| {' | '.join(row)} |"
            for row in self._mark(_escape_markdown, "**{}**", "<sup>{}</sup>")
        )
        rule = "|".join("---" if left else "---:" for left in self.aligned_left)
        grid = "\n".join([head, f"|{rule}|", *body])
        title = f"**{_escape_markdown(self.title)}**" if self.title else ""
        notes = map(_escape_markdown, self.all_notes)
        caption = _escape_markdown(self.caption)
        parts = [title, grid, caption, *notes, *(table.to_markdown() for table in self.below)]
        return "\n\n".join(filter(None, parts))

    def to_latex(self) -> str:
        """Return a LaTeX table for booktabs, with title, notes and signatures as comments."""
        head, *body = (
            f"{_protect(' & '.join(row))} \\\\"
            for row in self._mark(_escape_latex, r"\textbf{{{}}}", r"\textsuperscript{{{}}}")
        )
        sides = "".join("l" if left else "r" for left in self.aligned_left)
        before, after = [], []
        if self.caption:
            before = [r"\begin{table}", r"\centering"]
            after = [rf"\caption{{{_escape_latex(self.caption)}}}", r"\end{table}"]
        lines = [
            *(f"% {one_line(title)}" for title in [self.title] if title),
            *before,
            rf"\begin{{tabular}}{{{sides}}}",
            *(r"\toprule", head, r"\midrule", *body, r"\bottomrule"),
            r"\end{tabular}",
            *after,
            *(f"% {one_line(note)}" for note in (*self.all_notes, *self.signatures)),
        ]
        return "\n\n".join(["\n".join(lines), *(table.to_latex() for table in self.below)])

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary per row with all digits."""
        return [dict(row) for row in self.records or self.rows]

    def to_csv(self) -> str:
        """Return CSV with all digits; text that a spreadsheet would read as a formula is quoted."""
        records = without_nan(self.to_records())
        keys = dict.fromkeys(key for record in records for key in record)
        file = io.StringIO()
        writer = csv.DictWriter(
            file, list(keys) or [c.key or c.name for c in self.columns], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(
            {key: guard_cell(v) if isinstance(v, str) else v for key, v in record.items()}
            for record in records
        )
        return file.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return `{"title", "rows", "notes", "signatures"}`, ready for JSON."""
        return {
            "title": self.title,
            "rows": without_nan(self.to_records()),
            "notes": self.all_notes,
            "signatures": list(self.signatures),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        return to_json(self.to_dict(), indent)

    def to_html(self) -> str:
        """Return an HTML table with its notes; signatures open with a click."""
        sides = ["left" if left else "right" for left in self.aligned_left]

        def line(cells: Sequence[str], tag: str) -> str:
            return "".join(
                f'<{tag} style="text-align:{side}">{cell}</{tag}>'
                for cell, side in zip(cells, sides, strict=True)
            )

        title = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        head, *rows = self._mark(escape, "<b>{}</b>", "<sup>{}</sup>")
        body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
        notes = "".join(f'<div style="opacity:.7">{escape(note)}</div>' for note in self.all_notes)
        return (
            f"<div><table>{title}<thead><tr>{line(head, 'th')}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}{fold_lines('signatures', self.signatures)}"
            f"{''.join(table.to_html() for table in self.below)}</div>"
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()


class Tabular:
    """Base class of results that have a table; writes it in all formats."""

    def table(self) -> Table:
        """Return the result as a table."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return self.table().to_dict()

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; undefined values (NaN) become null."""
        return to_json(self.to_dict(), indent)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary per row with all digits."""
        return self.table().to_records()

    def to_text(self) -> str:
        """Return the table as aligned text."""
        return self.table().to_text()

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return self.table().to_markdown()

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular (booktabs)."""
        return self.table().to_latex()

    def to_csv(self) -> str:
        """Return the table as CSV with all digits."""
        return self.table().to_csv()

    def to_html(self) -> str:
        """Return the table as HTML."""
        return self.table().to_html()

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()


def without_nan(content: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None.

    ```python
    without_nan({"a": [1.0, float("nan")]})   # {"a": [1.0, None]}
    ```
    """
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if _is_undefined(content) else content


def to_json(content: Any, indent: int | None = 2) -> str:
    """Return JSON; NaN and infinity become null."""
    return json.dumps(without_nan(content), indent=indent, ensure_ascii=False)


def join_sentences(sentences: Iterable[str]) -> str:
    """Return notes as sentences, such as a caption's.

    ```python
    join_sentences(["scores on 72 images", "seed 0"])   # "Scores on 72 images. Seed 0."
    ```
    """
    return ". ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences) + "."


def _is_undefined(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _write_value(value: Any, spec: str) -> str:
    if value is None:
        return ""
    if _is_undefined(value):
        return UNDEFINED
    if isinstance(value, str) or (isinstance(value, int) and spec[-1:] in ("e", "f", "g")):
        return str(value)
    text = format(value, spec)
    rounds_to_zero = text.startswith("-") and not re.search("[1-9a-z]", text)
    return format(0.0, spec) if rounds_to_zero else text  # not -0.0000


@dataclass(frozen=True)
class ScoreFormat:
    """Decimals of scores and, as papers print them, the factor 100.

    ```python
    scores = ScoreFormat(percent=True, scaled=frozenset(["cider-d"]))
    scores.write("cider-d", 1.0748), scores.write("vocab", 312.0)   # ("107.5", "312")
    ```
    """

    digits: int | None = None
    """Decimals. Default: 4; in percent, 1 of the scores that are multiplied by 100."""
    percent: bool = False
    """Multiply the scores of `scaled` by 100."""
    scaled: frozenset[str] = frozenset()
    """Metrics whose scores have a fixed range, labels."""

    def write(self, metric: str, score: float | None, sign: str = "") -> str:
        """Return a score, or a difference of scores with `sign` "+"."""
        if score is None:
            return ""
        scaled = self.percent and metric in self.scaled
        if self.percent and not scaled and self.digits is None:
            return _write_value(score, f"{sign}g")  # such as the size of a vocabulary
        digits = (1 if scaled else 4) if self.digits is None else self.digits
        return _write_value(100 * score if scaled else score, f"{sign}.{digits}f")

    def write_interval(
        self, metric: str, low: float | None, high: float | None, sign: str = ""
    ) -> str:
        """Return `[low, high]`; empty without an interval."""
        if low is None or high is None:
            return ""
        if _is_undefined(low) or _is_undefined(high):
            return UNDEFINED
        return f"[{self.write(metric, low, sign)}, {self.write(metric, high, sign)}]"

    def describe(self, metrics: Iterable[str]) -> list[str]:
        """Return a note on the factor of some metrics; none without one."""
        if not self.percent:
            return []
        unscaled = [metric for metric in metrics if metric not in self.scaled]
        except_for = f", except {', '.join(unscaled)}" if unscaled else ""
        return [f"scores are times 100{except_for}"]


def format_p(p: float) -> str:
    """Return a p-value with three decimals, or `< 0.001`."""
    return "< 0.001" if p < 0.001 else _write_value(p, ".3f")


def format_percent(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Return a share as percent with one decimal, and its interval where there is one.

    ```python
    format_percent(0.512, 0.48, 0.55)   # "51.2 [48.0, 55.0]"
    ```
    """
    if value is None or _is_undefined(value):
        return _write_value(value, "")
    interval = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.1f}{interval}"


# --------------------------------------------------------------------------------------------------
# Text in cells

_LINE_BREAKS = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"''*[=+\-@\t\r]")
_CONTROLS = {
    code: repr(chr(code))[1:-1]
    for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Control codes of terminals and of text direction, escaped."""


def one_line(text: str) -> str:
    """Replace line breaks by spaces."""
    return _LINE_BREAKS.sub(" ", text)


def show_controls(text: str) -> str:
    """Escape control codes of terminals; line breaks stay."""
    return text.translate({code: shown for code, shown in _CONTROLS.items() if code != 10})


def measure_width(text: str) -> int:
    """Return the number of terminal cells: 2 for wide (CJK) characters, 0 for combining marks.

    ```python
    measure_width("日本 é")   # 6
    ```
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(sign) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )


def _pad(text: str, width: int, left: bool) -> str:
    blank = " " * (width - measure_width(text))
    return text + blank if left else blank + text


_MARKDOWN = re.compile(r"([\\|]|<(?=[A-Za-z/!?]))")


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "_%&#${}"},
        **{sign: f"${sign}$" for sign in "<>|"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "↓": r"$\downarrow$",
        "±": r"$\pm$",
        "–": "--",
    }
)


def _escape_latex(text: str) -> str:
    return one_line(text).translate(_LATEX)


def _protect(row: str) -> str:
    """Keep a row that starts with `[` or `*` from becoming an argument of the rule above."""
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def guard_cell(text: str) -> str:
    """Mark a CSV cell as text where a spreadsheet would read a formula.

    ```python
    guard_cell("=1+1")  # "'=1+1"
    ```
    """
    if not _FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def unguard_cell(text: str) -> str:
    """Return the text that `guard_cell` was given."""
    return text[1:] if _GUARDED.match(text) else text
