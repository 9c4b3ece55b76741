"""Evaluations as text: tables that people paste, and the ledger below them."""

from __future__ import annotations

import csv as csv_module
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation, Result


def rows(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """One row per number, with the columns that any of them has."""
    with_interval = any(result.interval for result in results.values())
    with_ties = any(result.ties for result in results.values())
    table = []
    for name, result in results.items():
        row: dict[str, Any] = {"metric": name, "value": result.value, "lists": result.counted}
        if with_interval:
            low, high = result.interval or (None, None)
            row |= {"low": low, "high": high}
        if with_ties:
            worst, best = result.ties or (result.value, result.value)
            row |= {"ties_worst": worst, "ties_best": best}
        table.append(row)
    return table


def csv(results: Mapping[str, Result]) -> str:
    """The table with full precision, for programs."""
    out = io.StringIO()
    table = rows(results)
    writer = csv_module.DictWriter(out, list(table[0]) if table else ["metric"], lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})
    return out.getvalue()


def cells(results: Mapping[str, Result]) -> list[list[str]]:
    """The table for people: heading first, numbers to four decimals."""
    table = rows(results)
    heading = {
        "metric": "metric", "value": "value", "lists": "lists", "low": "95% from", "high": "to",
        "ties_worst": "ties, worst", "ties_best": "ties, best",
    }  # fmt: skip
    keys = list(table[0]) if table else ["metric", "value", "lists"]
    body = [[number(row[key]) for key in keys] for row in table]
    return [[heading[key] for key in keys], *body]


def number(value: object) -> str:
    """A cell: floats to four decimals, whole numbers with thousands, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return "undefined" if math.isnan(value) else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Cells as a Markdown table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = []
    for n, row in enumerate(table):
        first = row[0].ljust(widths[0])
        others = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("| " + " | ".join([first, *others]) + " |")
        if n == 0:
            rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
            lines.append("| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def markdown(results: Mapping[str, Result]) -> str:
    """The table as Markdown."""
    return aligned(cells(results)) + "\n"


def latex(results: Mapping[str, Result]) -> str:
    """The table as LaTeX, in the style of booktabs."""
    table = [[escaped(cell) for cell in row] for row in cells(results)]
    lines = [" & ".join(row) + r" \\" for row in table]
    inside = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    columns = "l" + "r" * (len(table[0]) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *inside, r"\end{tabular}", ""])


def escaped(text: str) -> str:
    """Text that LaTeX prints as it is."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {c: f"\\{c}" for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text)


def text(evaluation: Evaluation) -> str:
    """What `print(evaluation)` shows: the table, failures, and what was counted."""
    profile = evaluation.manifest.get("profile", "default")
    parts = [f"convention: {profile}", aligned(cells(evaluation.results))]
    for name, error in evaluation.failures.items():
        parts.append(f"! {name} failed: {error}")
    parts.append(str(evaluation.ledger))
    return "\n".join(parts)
