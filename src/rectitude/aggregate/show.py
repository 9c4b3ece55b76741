"""Evaluations as text: the numbers as a table, and what was counted below them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rectitude.tables import aligned, number

if TYPE_CHECKING:
    from rectitude.aggregate.evaluation import Evaluation, Result

_HEADINGS = {
    "low": "95% from",
    "high": "to",
    "ties_worst": "ties, worst",
    "ties_best": "ties, best",
}


def rows(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """One row per number, with the columns that any of them has."""
    with_interval = any(result.interval for result in results.values())
    with_ties = any(result.ties for result in results.values())
    table = []
    for name, result in results.items():
        row: dict[str, Any] = {"metric": name, "value": result.value, "lists": result.counted}
        if with_interval:
            row["low"], row["high"] = result.interval or (None, None)
        if with_ties:
            row["ties_worst"], row["ties_best"] = result.ties or (None, None)
        table.append(row)
    return table


def cells(results: Mapping[str, Result]) -> list[list[str]]:
    """The table for people: heading first, numbers to four decimals."""
    table = rows(results)
    keys = list(table[0]) if table else ["metric", "value", "lists"]
    body = [[number(row[key]) for key in keys] for row in table]
    return [[_HEADINGS.get(key, key) for key in keys], *body]


def text(evaluation: Evaluation) -> str:
    """What `print(evaluation)` shows: the table, failures, and what was counted."""
    parts = [f"convention: {evaluation.manifest.get('profile', 'default')}"]
    parts.append(aligned(cells(evaluation.results)))
    parts += [f"! {name} failed: {error}" for name, error in evaluation.failures.items()]
    parts.append(str(evaluation.ledger))
    return "\n".join(parts) + ("" if evaluation.slices is None else f"\n\n{evaluation.slices}")
