"""`Lists`: recommendations whose table does not say enough by itself, and what orders a list: its
rank column, the order in which it was given, or its scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Pieces
from rectitude.data.table import Table, named
from rectitude.data.values import pieces
from rectitude.errors import BadScores, BadTable


@dataclass(frozen=True, slots=True)
class Lists:
    """Ranked lists, when a bare table does not say enough.

    Name columns that are not recognised (`user="visitor"`); say with `users` which lists were
    handed over, so that an empty list differs from no list; say `ordered=True` when the rows of
    each list stand in its order and neither rank nor score shall be looked for.
    """

    source: object
    _: KW_ONLY
    user: str | None = None
    item: str | None = None
    score: str | None = None
    rank: str | None = None
    list_key: str | None = None
    users: object | None = None
    ordered: bool = False
    format: str | None = None

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns that were named, by role."""
        return named(
            user=self.user, item=self.item, score=self.score, rank=self.rank, list=self.list_key
        )


def order_of(predictions: Table, wanted: str) -> str:
    """Which of rank, given and score is in force; an error if the one asked for is not there."""
    has = predictions.frame.columns
    if wanted == "auto":
        columns = [] if predictions.given else [c for c in ("rank", "score") if c in has]
        wanted = columns[0] if columns else "given"
    if wanted != "given" and wanted not in has:
        there = [column for column in ("rank", "score") if column in has]
        raise BadTable(
            f"{predictions.source} has no {wanted} column, and order={wanted!r} needs one.",
            advice=f"set order={there[0]!r}."
            if there
            else "set order='given' if rows stand in order.",
        )
    return wanted


def sort_key(values: Pieces, order: str, precision: str) -> Pieces:
    """What sorts each list descending, from its ranks or scores."""
    if order == "rank":
        return values.map(lambda part: -part.astype(np.float64))
    with np.errstate(over="ignore"):  # beyond float32 a score is infinite there, too
        return (
            values.map(lambda part: part.astype(np.float32)) if precision == "float32" else values
        )


def describe(predictions: Table, order: str) -> str:
    """The order in words, for the ledger."""
    if order == "given":
        return f"as given in {predictions.source}"
    name = predictions.columns.get(order) or order
    direction = "ascending" if order == "rank" else "descending"
    return f"by column {name!r} of {predictions.source}, {direction}"


def require_finite(predictions: Table, order: str) -> None:
    """An error if a rank or score is missing, NaN or infinite."""
    column = predictions.frame[order]
    if column.null_count():
        raise _bad(column.is_null().to_numpy(), "missing", predictions, order)
    values = pieces(column)
    # One pass suffices: NaN and infinity survive a sum. A finite sum may still overflow, hence the
    # check.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not all(np.isfinite(part.sum()) for part in values.parts)
    if suspicious and np.isnan(values.whole).any():
        raise _bad(np.isnan(values.whole), "NaN", predictions, order)
    if suspicious and np.isinf(values.whole).any():
        raise _bad(np.isinf(values.whole), "infinite", predictions, order)


def _bad(flags: NDArray[np.bool_], kind: str, predictions: Table, order: str) -> BadScores:
    row = int(np.flatnonzero(flags)[0])
    first = predictions.frame.row(row, named=True)
    name = predictions.columns.get(order) or order
    return BadScores(
        f"{int(flags.sum())} of {len(flags)} rows of {predictions.source} have a {name} that is "
        f"{kind} (first: row {row + 1}, list {first['list']!r}, item {first['item']!r}).",
        f"a finite number as {order} in every row.",
        "drop these rows or repair the model's output; a masked item should not be in a list.",
    )
