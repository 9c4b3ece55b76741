"""What each list weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Floats, Pieces
from rectitude.errors import BadTable
from rectitude.grouping import Grouped

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table


def list_weights(
    table: Table | None, rows: Grouped | None, keys: pl.Series, told: Flags
) -> Floats | None:
    """(lists,) what each list weighs, or None when all weigh the same.

    Lists without truth need none, since they hardly ever count; then they weigh nothing.
    """
    if table is None or rows is None:
        return None
    column = Pieces(table.frame["weight"].to_numpy())
    values = np.where(told, np.nan, 0.0)
    once = rows.length == 1
    values[once] = rows.take(column).whole[rows.start[once]]
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        raise BadTable(
            f"{int(wrong.sum())} of {len(values)} lists have no weight, or no single one, in "
            f"{table.source} (first: list {keys[number]!r}).",
            "one finite weight of at least 0 for every list.",
        )
    return values
