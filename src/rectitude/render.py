"""Format tables and numbers as text.

A `Grid` is a table for people. It can be written for terminals, as Markdown, as LaTeX for papers
and as HTML; all escaping is done here, so that names from data and files are shown and never
obeyed. `csv` writes rows with full precision, for programs and spreadsheets. A `Printable` result
shows its lines and tables in a terminal and in a notebook.
"""

from __future__ import annotations

import csv as csv_module
import math
import os
import re
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from importlib import import_module
from itertools import groupby
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rectitude.errors import MissingExtra, cut_words, make_visible
from rectitude.storage import require_suffix, write_text

if TYPE_CHECKING:
    import polars as pl

Highlight = Literal["best", "second", ""]
SIGNS: Mapping[Highlight, str] = {"best": "*", "second": "+", "": ""}
"""The signs that mark the best numbers in a terminal."""
DAGGER = "†"
Formulas = Literal["quoted", "kept"]
"""What happens in CSV to names that a spreadsheet would run as formulas."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_TIP = r' data-tip="([^"]*)"([^>]*)>'
_NARROWEST = 20
_WIDE = 7
"""LaTeX tables with more columns than this are set in a small font."""


class Cell(NamedTuple):
    """A number in a table, and its marks."""

    text: str
    place: Highlight = ""
    raised: str = ""
    """a dagger or letters, as a superscript after the number"""


class Form(NamedTuple):
    """How a markup language writes words, numbers and marks."""

    words: Callable[[str], str]
    number: Callable[[str], str]
    best: str
    second: str
    raised: Callable[[str], str] = "<sup>{}</sup>".format
    room: Callable[[str], str] | None = None
    """invisible filler as wide as a missing mark, to align the digits of a column"""


def format_number(value: float, form: str = "{:.4f}") -> str:
    """Format a number; numbers that are not finite become words, and -0 becomes 0."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    text = form.format(value)
    return text if any(digit in text for digit in "123456789") else form.format(0.0)


def number(value: object) -> str:
    """Format a cell: floats with four decimals, integers with thousands separators, None empty."""
    if value is None:
        return ""
    if isinstance(value, float):
        return format_number(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def interval(low: float, high: float) -> str:
    """Format the two ends of an interval."""
    return f"[{format_number(low)}, {format_number(high)}]"


def pad(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[list[str]]:
    """Pad cells to the width of their column; `left` holds the numbers of left-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    formats = [f"{'<' if n in left else '>'}{width or ''}" for n, width in enumerate(widths)]
    return [[*map(format, row, formats)] for row in rows]


_MARKDOWN = r"[\\|`]|<(?=[A-Za-z/!?])|(?<=\])\("
"""What would end a cell or begin code, an HTML tag or the address of a link."""


def escape_markdown(text: str) -> str:
    """Escape text so that Markdown shows it unchanged, in a cell of a table or outside."""
    return re.sub(_MARKDOWN, r"\\\g<0>", make_visible(text, keep=""))


_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", **{c: f"\\{c}" for c in "&%$#_{}"}}
_LATEX = str.maketrans(_SPECIAL)
_CAPTION = str.maketrans(_SPECIAL | {"±": r"$\pm$", DAGGER: r"$^{\dagger}$"})
_NUMBER = str.maketrans({"-": "$-$", "<": "$<$", "±": r"$\pm$", "%": r"\%"})


def escape_latex(text: str) -> str:
    """Escape text so that LaTeX prints it unchanged."""
    return make_visible(text, keep="").translate(_LATEX)


def comment_latex(text: str) -> str:
    """Return a LaTeX comment; it has one line, whatever the text contains."""
    return f"% {make_visible(text, keep='')}"


def _format_latex_number(text: str) -> str:
    """Format a number with proper minus signs; anything with letters other than pp is words."""
    has_letters = any(letter.isalpha() for letter in text.replace(" pp", ""))
    return escape_latex(text) if has_letters else text.translate(_NUMBER)


def _caption(text: str) -> str:
    return make_visible(text, keep="").translate(_CAPTION)


def _format_latex_mark(mark: str) -> str:
    return r"$^{\dagger}$" if mark == DAGGER else rf"$^{{\mathrm{{{mark}}}}}$"


MARKDOWN = Form(escape_markdown, str, "**{}**", "<ins>{}</ins>")
HTML = Form(escape_html, escape_html, "<strong>{}</strong>", "<u>{}</u>")
LATEX = Form(
    escape_latex, _format_latex_number, r"\textbf{{{}}}", r"\underline{{{}}}", _format_latex_mark,
    lambda mark: rf"\phantom{{{_format_latex_mark(mark)}}}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for people: a heading and rows of words and numbers.

    >>> print(Grid(["metric", "value"], [["mrr", "0.5000"], ["ndcg@10", "undefined"]]).text())
    | metric  |     value |
    | ------- | --------: |
    | mrr     |    0.5000 |
    | ndcg@10 | undefined |
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    left: Container[int] = (0,)
    """numbers of the left-aligned columns; the others are right-aligned"""
    groups: Sequence[str] = ()
    """a title above each heading; equal titles of adjacent columns are merged"""
    caption: str = ""

    def text(self) -> str:
        """Return the table for a terminal as plain Markdown; marks are signs after the numbers."""
        columns = map(_with_signs, zip(*self.rows, strict=True))
        return _rule([self._headings(), *zip(*columns, strict=True)], self.left)

    def columns(self, width: int | None = None) -> str:
        """Return the table for a terminal without rules between columns.

        If a width is given, the text of the last column is wrapped.
        """
        rows = [self._headings(), *([*map(text_of, row)] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        indent = sum(widths[:-1]) + 2 * (len(widths) - 1)
        room = widths[-1] if width is None else max(_NARROWEST, width - indent)
        rows.insert(
            1, ["-" * column_width for column_width in (*widths[:-1], min(widths[-1], room))]
        )
        lines = [line for row in rows for line in _fold(row, room)]
        return "\n".join("  ".join(line).rstrip() for line in pad(lines, self.left))

    def markdown(self) -> str:
        """Return the table as Markdown: the best value is bold, the second best underlined."""
        heading = [escape_markdown(words) for words in self._headings()]
        return _rule([heading, *self._body(MARKDOWN)], self.left)

    def latex(self, label: str = "", form: Form = LATEX) -> str:
        """Return the table as LaTeX with booktabs rules; with a caption, it is a floating table."""
        spec = "".join("l" if n in self.left else "r" for n in range(len(self.heading)))
        rows = [" & ".join(row) + r" \\" for row in self._body(form)]
        lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *self._latex_heading(form)]
        lines += [r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
        if self.caption:
            small = [r"\footnotesize"] if len(spec) > _WIDE else []
            above = [rf"\caption{{{_caption(self.caption)}}}", rf"\label{{tab:{label}}}"]
            lines = [r"\begin{table}[t]", r"\centering", *above, *small, *lines, r"\end{table}"]
        return "\n".join([*lines, ""])

    def html(self) -> str:
        """Return the table as HTML."""
        above = "".join(f'<th scope="col">{escape_html(word)}</th>' for word in self._headings())
        sides = ["left" if n in self.left else "right" for n in range(1, len(self.heading))]
        rows = [
            f'<tr><th scope="row" style="text-align: left">{name}</th>'
            + "".join(
                f'<td style="text-align: {side}">{cell}</td>'
                for side, cell in zip(sides, cells, strict=True)
            )
            + "</tr>"
            for name, *cells in self._body(HTML)
        ]
        caption = escape_html(self.caption)
        lines = ["<table>", *([f"<caption>{caption}</caption>"] if caption else [])]
        lines += [f"<thead><tr>{above}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>", ""]
        return "\n".join(lines)

    def _headings(self) -> list[str]:
        """Return the headings, with their group titles, in one row."""
        groups = self.groups or [""] * len(self.heading)
        titles = [" ".join(filter(None, both)) for both in zip(groups, self.heading, strict=True)]
        return [*map(text_of, titles)]

    def _latex_heading(self, form: Form) -> list[str]:
        """Return one heading row, or two if a group has several columns."""
        first, *rest = self.heading
        if not self.groups or not any(rest):
            return [" & ".join(map(form.words, self._headings())) + r" \\"]
        spans = [(group, len([*same])) for group, same in groupby(self.groups[1:])]
        above = [rf"\multicolumn{{{width}}}{{c}}{{{form.words(group)}}}" for group, width in spans]
        rules, start = "", 2
        for _, width in spans:
            rules += rf"\cmidrule(lr){{{start}-{start + width - 1}}}"
            start += width
        below = [form.words(first), *(form.words(words) or "mean" for words in rest)]
        return [" & ".join(["", *above]) + r" \\", rules, " & ".join(below) + r" \\"]

    def _body(self, form: Form) -> list[tuple[str, ...]]:
        """Return the rows in a markup language."""
        columns = [_format_cells(column, form) for column in zip(*self.rows, strict=True)]
        return [*zip(*columns, strict=True)]


class Printable:
    """A result that people look at: text in a terminal, HTML in a notebook.

    A result says in `_shown` which lines and tables it consists of.
    """

    __slots__ = ()

    def _shown(self) -> Iterable[str | Grid]:
        raise NotImplementedError

    def to_html(self) -> str:
        """Return what a notebook shows."""
        return as_html(self._shown())

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return as_text(self._shown())

    def __repr__(self) -> str:  # an interactive prompt shows the result
        return str(self)


class Tabular:
    """A result with one table for programs."""

    __slots__ = ()

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a Polars frame."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return as_pandas(self.to_polars())


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A chart that notebooks display; `svg` is the picture, `html` makes a self-contained page."""

    svg: str

    def html(self, title: str) -> str:
        """Return a page with the chart; its marks have tooltips with their values."""
        picture = re.sub(_TIP, r"\2><title>\1</title>", self.svg)
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f"<title>{escape_html(title)}</title>\n"
            f'<body style="max-width: 60rem; margin: 2rem auto">\n{picture}</body>\n</html>\n'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart as a picture (.svg) or as a page (.html)."""
        require_suffix(path, "chart", (".svg", ".html"), "browsers open both and can print them.")
        is_page = os.fspath(path).lower().endswith(".html")
        write_text(path, self.html("Chart") if is_page else self.svg)

    def __repr__(self) -> str:
        return 'Chart: notebooks display it; save("chart.svg") or save("chart.html") writes it'

    def _repr_svg_(self) -> str:
        return self.svg


class Drawable:
    """A result that can be drawn, with the figures that reports have."""

    __slots__ = ()

    def plot(self, *metrics: str, path: str | os.PathLike[str] | None = None) -> Chart:
        """Draw the result, or only some of its metrics.

        Notebooks display the chart, and `svg` is the picture. With `path`, the chart is also
        written: as a picture if the name ends in .svg, else as one self-contained HTML file.
        """
        # Reports know how to draw every result, so they are above the results: found by name.
        chart: Chart = import_module("rectitude.reports.plots").plot(self, metrics, path)
        return chart


def as_text(shown: Iterable[str | Grid]) -> str:
    """Return lines and tables for a terminal."""
    return "\n".join(
        part.text() if isinstance(part, Grid) else make_visible(_cut_lines(part)) for part in shown
    )


def _cut_lines(text: str) -> str:
    return "\n".join(map(cut_words, text.split("\n")))


def as_html(shown: Iterable[str | Grid]) -> str:
    """Return lines and tables as HTML, with warnings in bold.

    Colours are those of the surrounding page, so that it can be read on light and dark ones.
    """
    parts = []
    for is_table, group in groupby(shown, lambda part: isinstance(part, Grid)):
        if is_table:
            parts += [table.html() for table in group if isinstance(table, Grid)]
            continue
        lines = "\n".join(map(str, group)).strip("\n").split("\n")
        text = "\n".join(_mark_warning(escape_html(line)) for line in lines)
        parts.append(f'<pre style="{_PLAIN}">{text}</pre>\n' if text else "")
    return f"<div>\n{''.join(parts)}</div>\n"


_PLAIN = "color: inherit; background: none; white-space: pre-wrap; margin: 0.5em 0; padding: 0"


def _mark_warning(line: str) -> str:
    return f"<strong>{line}</strong>" if line.startswith("! ") else line


def _format_cells(column: Sequence[str | Cell], form: Form) -> list[str]:
    """Write the cells of a column in a markup language."""
    marks = [cell.raised for cell in column if isinstance(cell, Cell)]
    widest = max(marks, key=len, default="")
    return [
        form.words(cut_words(cell)) if isinstance(cell, str) else _add_marks(cell, widest, form)
        for cell in column
    ]


def _add_marks(cell: Cell, widest: str, form: Form) -> str:
    """Write a number with its marks, and pad it to the widest mark of its column."""
    template = {"best": form.best, "second": form.second, "": "{}"}[cell.place]
    raised = form.raised(cell.raised) if cell.raised else ""
    missing_mark = widest[len(cell.raised) :]
    filler = form.room(missing_mark) if form.room and missing_mark else ""
    return template.format(form.number(cell.text)) + raised + filler


def _with_signs(column: Sequence[str | Cell]) -> list[str]:
    """Write numbers with their marks as signs, padded to align the digits."""
    signs = [_format_signs(cell) for cell in column]
    widest = max(map(len, signs))
    return [text_of(cell) + sign.ljust(widest) for cell, sign in zip(column, signs, strict=True)]


def _format_signs(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return ""
    sign = SIGNS[cell.place]
    return f"{sign or ' '} {cell.raised}" if cell.raised.isalnum() else sign + cell.raised


def text_of(cell: str | Cell) -> str:
    """Return the text of a cell without its marks, on one line, and no wider than can be read."""
    return make_visible(cut_words(cell if isinstance(cell, str) else cell.text), keep="")


def _fold(row: Sequence[str], room: int) -> list[list[str]]:
    """Wrap the last cell of a row over as many lines as it needs."""
    *before, last = row
    first, *more = [last] if len(last) <= room else textwrap.wrap(last, room)
    return [[*before, first], *([*("" for _ in before), rest] for rest in more)]


def _rule(rows: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Write rows, heading first, as a Markdown table."""
    heading, *body = pad(rows, left)
    widths = enumerate(map(len, heading))
    rule = ["-" * width if n in left else "-" * (width - 1) + ":" for n, width in widths]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, rule, *body))


def as_pandas(table: pl.DataFrame) -> Any:
    """Return a table as a pandas frame; pyarrow is not needed."""
    try:
        from pandas import DataFrame
    except ImportError as error:
        raise MissingExtra(
            "pandas is not installed.", "pandas for to_pandas().",
            "pip install pandas, or use to_polars(), which needs nothing else.",
        ) from error  # fmt: skip
    return DataFrame({column.name: column.to_numpy() for column in table})


def csv(rows: Sequence[Mapping[str, object]], formulas: Formulas = "quoted") -> str:
    """Write rows with full precision; a cell that a row does not have is empty.

    Names that a spreadsheet would run as formulas, such as `=1+1`, get an apostrophe in front,
    unless they are to be kept. Numbers never do.
    """
    shown = _quote_formula if formulas == "quoted" else _as_cell
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines: list[str] = []
    # The writer puts cells in quotes that contain a character of its line ends: "\r" has to be one.
    writer = csv_module.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerow([*map(shown, columns)])
    writer.writerows([[shown(row.get(name)) for name in columns] for row in rows])
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def _as_cell(value: object) -> object:
    return "" if value is None else value


def _quote_formula(value: object) -> object:
    """Return a cell that a spreadsheet takes for text, if it begins like a formula."""
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS):
        return _as_cell(value)
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
