"""Random numbers that belong to the content of rows, not to their place in a file.

A draw is a splitmix64 of the seed, the ranks of the ids among the sorted ids, and which of the rows
of the same pair it is. Shuffled rows, another machine or another release of Polars draw the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.arrays import running
from rectitude.data.log import ROW
from rectitude.prepare.ids import pairs, ranks, repeated

if TYPE_CHECKING:
    import polars as pl

    Words = np.ndarray[Any, np.dtype[np.uint64]]

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(_GOLDEN)
_64_BITS = 2**64 - 1


def uniform(
    frame: pl.DataFrame, seed: int, by: Literal["row", "user", "item"] = "row"
) -> pl.Series:
    """A number in [0, 1) for each row of a log's frame; with `by`, the same for rows of one id."""
    import polars as pl

    if by == "row":
        parts = [ranks(frame["user"]), ranks(frame["item"]), occurrences(frame)]
    else:
        parts = [ranks(frame[by])]
    return pl.Series("draw", numbers(seed, *(part.to_numpy() for part in parts)))


def numbers(seed: int, *parts: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A number in [0, 1) for each place of arrays of whole numbers: what it belongs to."""
    state = _mixed(np.full(len(parts[0]), (seed + _GOLDEN) & _64_BITS, np.uint64))
    for part in parts:
        state = _mixed(state + (part.astype(np.uint64) + np.uint64(1)) * _STEP)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def occurrences(frame: pl.DataFrame) -> pl.Series:
    """For each row, how many rows of the same user and item stand before it, by time and grade."""
    import polars as pl

    pair = pairs(frame)
    again = repeated(pair)
    order = [name for name in ("timestamp", "grade", ROW) if name in frame.columns]
    rows = frame.select(order).with_columns(pair).with_row_index("at").filter(again)
    rows = rows.select(pl.col("at", "pair").sort_by("pair", *order))
    column = np.zeros(frame.height, np.uint32)
    upto = running(np.ones(rows.height, bool), rows["pair"].to_numpy())
    column[rows["at"].to_numpy()] = upto - 1
    return pl.Series("occurrence", column)


def _mixed(state: Words) -> Words:
    """The finishing steps of splitmix64: every bit of the state moves about half of the result."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    mixed: Words = state ^ (state >> np.uint64(31))
    return mixed
