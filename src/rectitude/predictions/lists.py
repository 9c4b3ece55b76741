"""`Lists`: ranked lists with named columns and further options, and what orders a list.

A list is ordered by its rank column, by the order of its rows, or by its scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Pieces
from rectitude.data.columns import require_order
from rectitude.data.table import Table, named
from rectitude.data.values import pieces
from rectitude.errors import BadScores, BadTable


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Ranked lists, for cases in which a bare table is ambiguous.

    Name columns that are not recognised (`user="visitor"`). Pass all users with a list as `users`,
    to distinguish an empty list from a missing one. Set `ordered=True` if the rows of each list are
    already in order; then rank and score columns are ignored.
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
    """Return what orders the lists: rank, given or score. Raise an error if `wanted` names a column
    that the table does not have, or if a column that was not recognised may be the score."""
    present = predictions.frame.columns
    if wanted != "given":
        require_order(predictions)
    if wanted == "auto":
        columns = [] if predictions.given else [c for c in ("rank", "score") if c in present]
        wanted = columns[0] if columns else "given"
    if wanted != "given" and wanted not in present:
        available = [column for column in ("rank", "score") if column in present]
        raise BadTable(
            f"{predictions.source} has no {wanted} column, and order={wanted!r} needs one.",
            advice=f"set order={available[0]!r}."
            if available
            else "set order='given' if the rows of each list are in order.",
        )
    return wanted


def sort_key(values: Pieces, order: str, precision: str) -> Pieces:
    """Return the values that sort each list in descending order, from its ranks or scores."""
    if order == "rank":
        return values.map(lambda piece: -piece.astype(np.float64))
    with np.errstate(over="ignore"):  # scores too large for float32 become infinite
        return (
            values if precision == "float64" else values.map(lambda piece: piece.astype(np.float32))
        )


def describe(predictions: Table, order: str) -> str:
    """Describe the order in words, for the ledger."""
    if order == "given":
        return f"as given in {predictions.source}"
    name = predictions.columns.get(order) or order
    direction = "ascending" if order == "rank" else "descending"
    return f"by column {name!r} of {predictions.source}, {direction}"


def require_finite(predictions: Table, order: str) -> None:
    """Raise an error if a rank or score is missing, NaN or infinite."""
    column = predictions.frame[order]
    if column.null_count():
        raise _error_for(column.is_null().to_numpy(), "missing", predictions, order)
    values = pieces(column)
    # One pass is enough if all is well: NaN and infinity survive a sum. Finite values may overflow
    # in a sum, so a suspicious sum is checked value by value.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not all(np.isfinite(piece.sum()) for piece in values.parts)
    if suspicious and np.isnan(values.whole).any():
        raise _error_for(np.isnan(values.whole), "NaN", predictions, order)
    if suspicious and np.isinf(values.whole).any():
        raise _error_for(np.isinf(values.whole), "infinite", predictions, order)


def _error_for(flags: NDArray[np.bool_], kind: str, predictions: Table, order: str) -> BadScores:
    row = int(np.flatnonzero(flags)[0])
    example = predictions.frame.row(row, named=True)
    name = predictions.columns.get(order) or order
    return BadScores(
        f"{int(flags.sum())} of {len(flags)} rows of {predictions.source} have a {name} that is "
        f"{kind} (first: row {row + 1}, list {example['list']!r}, item {example['item']!r}).",
        f"a finite number as {order} in every row.",
        "drop these rows or fix the model's output; masked items do not belong in a list.",
    )
