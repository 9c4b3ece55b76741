"""Tables as text: Markdown that people paste, LaTeX for papers, HTML, CSV for programs."""

from __future__ import annotations

import csv as csv_module
import io
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape


def number(value: object) -> str:
    """A cell: floats to four decimals, whole numbers with thousands, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Cells, heading first, as Markdown: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for n, row in enumerate(cells):
        others = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("| " + " | ".join([row[0].ljust(widths[0]), *others]) + " |")
        if n == 0:
            rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
            lines.append("| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}"}
    special |= {c: f"\\{c}" for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text)


def latex(cells: Sequence[Sequence[str]], written: Callable[[str], str] = escaped) -> str:
    """Cells, heading first, as LaTeX in the style of booktabs; `written` makes LaTeX of a cell."""
    lines = [" & ".join(map(written, row)) + r" \\" for row in cells]
    inside = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    columns = "l" + "r" * (len(cells[0]) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *inside, r"\end{tabular}", ""])


def html(cells: Sequence[Sequence[str]], written: Callable[[str], str] = escape) -> str:
    """Cells, heading first, as an HTML table; `written` makes HTML of a cell."""
    kinds = ["th", *("td" for _ in cells[1:])]
    rows = [
        "".join(f"<{kind}>{written(cell)}</{kind}>" for cell in row)
        for kind, row in zip(kinds, cells, strict=True)
    ]
    return "\n".join(["<table>", *(f"<tr>{row}</tr>" for row in rows), "</table>", ""])


def csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with full precision; the columns are those of the first row."""
    out = io.StringIO()
    writer = csv_module.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    return out.getvalue()
