"""Tables and numbers as text.

A `Grid` is a table for people; it writes itself for terminals, as Markdown, as LaTeX for papers and
as HTML, and all escaping is done here. `csv` writes rows for programs, with full precision.
"""

from __future__ import annotations

import csv as csv_module
import io
import math
import textwrap
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from itertools import groupby
from typing import Literal, NamedTuple

Place = Literal["best", "second", ""]
SIGNS: Mapping[Place, str] = {"best": "*", "second": "+", "": ""}
"""What marks the best numbers in a terminal."""
DAGGER = "†"
_NARROWEST = 20
_WIDE = 7
"""LaTeX tables of more columns are set small."""


class Cell(NamedTuple):
    """A number in a table, and its marks."""

    text: str
    place: Place = ""
    raised: str = ""
    """a dagger or letters, raised after the number"""


class Form(NamedTuple):
    """How a language writes words, numbers and marks."""

    words: Callable[[str], str]
    number: Callable[[str], str]
    best: str
    second: str
    raised: Callable[[str], str] = "<sup>{}</sup>".format
    room: Callable[[str], str] | None = None
    """what takes the room of a mark that others of the column have, so that digits align"""


def format_number(value: float, form: str = "{:.4f}") -> str:
    """A number in a format: in words where it is not finite, and never minus zero."""
    if not math.isfinite(value):
        return "undefined" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
    text = form.format(value)
    return text if any(digit in text for digit in "123456789") else form.format(0.0)


def number(value: object) -> str:
    """A cell: floats to four decimals, whole numbers with thousands, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return format_number(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def interval(low: float, high: float) -> str:
    """The two ends of an interval."""
    return f"[{format_number(low)}, {format_number(high)}]"


def pad(rows: Sequence[Sequence[str]], left: Container[int] = (0,)) -> list[list[str]]:
    """Cells as wide as their columns: some columns, by number, to the left, others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [f"{'<' if n in left else '>'}{width or ''}" for n, width in enumerate(widths)]
    return [[*map(format, row, aligned)] for row in rows]


def escape_markdown(text: str) -> str:
    """Text that does not end a cell of a Markdown table."""
    return text.replace("|", r"\|")


_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {"<": r"\textless{}", ">": r"\textgreater{}", **{c: f"\\{c}" for c in "&%$#_{}"}}
_LATEX = str.maketrans(_SPECIAL)
_CAPTION = str.maketrans(_SPECIAL | {"±": r"$\pm$", DAGGER: r"$^{\dagger}$"})
_NUMBER = str.maketrans({"-": "$-$", "<": "$<$", "±": r"$\pm$", "%": r"\%"})


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return text.translate(_LATEX)


def _latex_number(text: str) -> str:
    """A number with signs that are no hyphens; anything with letters other than pp is words."""
    named = any(letter.isalpha() for letter in text.replace(" pp", ""))
    return escape_latex(text) if named else text.translate(_NUMBER)


def _latex_raised(mark: str) -> str:
    return r"$^{\dagger}$" if mark == DAGGER else rf"$^{{\mathrm{{{mark}}}}}$"


MARKDOWN = Form(escape_markdown, str, "**{}**", "<ins>{}</ins>")
HTML = Form(escape_html, escape_html, "<strong>{}</strong>", "<u>{}</u>")
LATEX = Form(
    escape_latex, _latex_number, r"\textbf{{{}}}", r"\underline{{{}}}", _latex_raised,
    lambda mark: rf"\phantom{{{_latex_raised(mark)}}}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for people: a heading, and rows of words and numbers.

    >>> print(Grid(["metric", "value"], [["mrr", "0.5000"], ["ndcg@10", "undefined"]]).text())
    | metric  |     value |
    | ------- | --------: |
    | mrr     |    0.5000 |
    | ndcg@10 | undefined |
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    left: Container[int] = (0,)
    """which columns are set to the left, by number; the others are set to the right"""
    groups: Sequence[str] = ()
    """what stands above each heading; the same words above neighbours stand once"""
    caption: str = ""

    def text(self) -> str:
        """The table for a terminal, ruled as Markdown; marks are signs after the numbers."""
        columns = map(_with_signs, zip(*self.rows, strict=True))
        return _ruled([self._headings(), *zip(*columns, strict=True)], self.left)

    def columns(self, width: int | None = None) -> str:
        """The table for a terminal, without rules between columns; with a width, words of the last
        column continue below themselves."""
        rows = [self._headings(), *([*map(text_of, row)] for row in self.rows)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        indent = sum(wide[:-1]) + 2 * (len(wide) - 1)
        room = wide[-1] if width is None else max(_NARROWEST, width - indent)
        rows.insert(1, ["-" * most for most in (*wide[:-1], min(wide[-1], room))])
        lines = [line for row in rows for line in _folded(row, room)]
        return "\n".join("  ".join(line).rstrip() for line in pad(lines, self.left))

    def markdown(self) -> str:
        """The table as Markdown: best bold, second best underlined where it is shown as a page."""
        heading = [escape_markdown(words) for words in self._headings()]
        return _ruled([heading, *self._body(MARKDOWN)], self.left)

    def latex(self, label: str = "", form: Form = LATEX) -> str:
        """The table as LaTeX, in the style of booktabs; one with a caption floats."""
        spec = "".join("l" if n in self.left else "r" for n in range(len(self.heading)))
        rows = [" & ".join(row) + r" \\" for row in self._body(form)]
        lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *self._latex_heading(form)]
        lines += [r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
        if self.caption:
            small = [r"\footnotesize"] if len(spec) > _WIDE else []
            above = [rf"\caption{{{self.caption.translate(_CAPTION)}}}", rf"\label{{tab:{label}}}"]
            lines = [r"\begin{table}[t]", r"\centering", *above, *small, *lines, r"\end{table}"]
        return "\n".join([*lines, ""])

    def html(self) -> str:
        """The table as HTML."""
        above = "".join(f'<th scope="col">{escape_html(word)}</th>' for word in self._headings())
        rows = [
            f'<tr><th scope="row" style="text-align: left">{name}</th>'
            + "".join(f'<td style="text-align: right">{cell}</td>' for cell in cells)
            + "</tr>"
            for name, *cells in self._body(HTML)
        ]
        lines = ["<table>", f"<caption>{escape_html(self.caption)}</caption>"]
        lines += [f"<thead><tr>{above}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>", ""]
        return "\n".join(lines)

    def _headings(self) -> list[str]:
        """The heading in one row."""
        groups = self.groups or [""] * len(self.heading)
        return [" ".join(filter(None, both)) for both in zip(groups, self.heading, strict=True)]

    def _latex_heading(self, form: Form) -> list[str]:
        """One row; where a group has several columns, the groups stand above it."""
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
        """The rows, written in a form."""
        columns = [_written(column, form) for column in zip(*self.rows, strict=True)]
        return [*zip(*columns, strict=True)]


def _written(column: Sequence[str | Cell], form: Form) -> list[str]:
    """The cells of a column, written in a form."""
    marks = [cell.raised for cell in column if isinstance(cell, Cell)]
    widest = max(marks, key=len, default="")
    return [
        form.words(cell) if isinstance(cell, str) else _marked(cell, widest, form)
        for cell in column
    ]


def _marked(cell: Cell, widest: str, form: Form) -> str:
    """A number with its marks, and with room for the widest of its column."""
    place = {"best": form.best, "second": form.second, "": "{}"}[cell.place]
    raised = form.raised(cell.raised) if cell.raised else ""
    missing = widest[len(cell.raised) :]
    room = form.room(missing) if form.room and missing else ""
    return place.format(form.number(cell.text)) + raised + room


def _with_signs(column: Sequence[str | Cell]) -> list[str]:
    """Numbers with their marks as signs, padded so that digits align."""
    signs = [_signs(cell) for cell in column]
    widest = max(map(len, signs))
    return [text_of(cell) + sign.ljust(widest) for cell, sign in zip(column, signs, strict=True)]


def _signs(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return ""
    sign = SIGNS[cell.place]
    return f"{sign or ' '} {cell.raised}" if cell.raised.isalnum() else sign + cell.raised


def text_of(cell: str | Cell) -> str:
    """A cell without its marks."""
    return cell if isinstance(cell, str) else cell.text


def _folded(row: Sequence[str], room: int) -> list[list[str]]:
    """A row whose last cell takes as many lines as it needs."""
    *before, last = row
    first, *more = [last] if len(last) <= room else textwrap.wrap(last, room)
    return [[*before, first], *([*("" for _ in before), rest] for rest in more)]


def _ruled(rows: Sequence[Sequence[str]], left: Container[int]) -> str:
    """Rows, heading first, as Markdown has them."""
    heading, *body = pad(rows, left)
    widths = enumerate(map(len, heading))
    rule = ["-" * width if n in left else "-" * (width - 1) + ":" for n, width in widths]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, rule, *body))


def csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with full precision; the columns are those of the first row."""
    out = io.StringIO()
    writer = csv_module.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    return out.getvalue()
