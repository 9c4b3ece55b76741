"""The step that leaves one row of each user and item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.data.log import ROW, Log
from rectitude.errors import BadTable
from rectitude.prepare.ids import pairs, ranks, repeated
from rectitude.prepare.order import Ties, timeline

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

Keep = Literal["first", "last", "sum", "error"]


def deduplicate(
    log: Log, *, keep: Keep = "last", order: Literal["time", "file"] = "time",
    ties: Ties = "content",
) -> Log:  # fmt: skip
    """One row of each user and item: the first or the last, by time or in the file.

    `sum` keeps the last row with the sum of all grades; `error` refuses repeats.
    """
    pair = pairs(log.frame)
    again = repeated(pair)
    if not again.any():
        return log
    if keep == "error":
        raise _repeats(log, again)
    rows = log.frame.with_columns(pair).filter(again)
    if keep == "sum":
        rows = _summed(log, rows)
    if order == "time" and "timestamp" not in rows.columns:
        _require_equal(log.with_frame(rows))
        order = "file"
    by = "timestamp" if order == "time" else ROW
    places, groups = timeline(rows, ties, groups=ranks(pair.filter(again)), by=by)
    return _only(log, again, rows, places[_ends(groups, keep)], keep)


def _only(
    log: Log, again: pl.Series, rows: pl.DataFrame, chosen: NDArray[np.uint32], keep: Keep
) -> Log:
    """The log without those repeats that were not chosen, its rows in their order."""
    import polars as pl

    at = again.arg_true().to_numpy()[chosen]
    kept = ~again.to_numpy()
    kept[at] = True
    frame = log.frame
    if keep == "sum":
        grades = frame["grade"].to_numpy().copy()
        grades[at] = rows["grade"].to_numpy()[chosen]
        frame = frame.with_columns(pl.Series("grade", grades))
    return log.with_frame(frame.filter(pl.Series(kept)))


def _ends(groups: NDArray[np.int64], keep: Keep) -> NDArray[np.bool_]:
    """Which rows are the first of their group, or else the last."""
    changes = groups[1:] != groups[:-1]
    return np.append(True, changes) if keep == "first" else np.append(changes, True)


def _require_equal(log: Log) -> None:
    """Without times, rows of a pair must be alike, or the first and the last mean nothing."""
    import polars as pl

    if "grade" not in log.frame.columns:
        return
    different = log.frame.group_by("pair").agg(pl.col("grade").n_unique())
    different = different.filter(pl.col("grade") > 1)
    if different.height:
        raise BadTable(
            f"{log.source}: {different.height:,} pairs of user and item come with different"
            " grades, and no timestamp says which is the last.",
            "a timestamp column, or order = 'file'.",
            "choose with order='file', or keep='sum'.",
        )


def _summed(log: Log, rows: pl.DataFrame) -> pl.DataFrame:
    """Every row with the sum of the grades of its pair; the grades are counts here."""
    import polars as pl

    log.require("grade", "keep = 'sum'")
    wrong = rows.filter(~(pl.col("grade") >= 0).fill_null(value=False) | pl.col("grade").is_nan())
    if wrong.height:
        first: Any = wrong.sort(ROW).row(0, named=True)
        raise BadTable(
            f"{log.source}: {wrong.height:,} of {rows.height:,} grades to be summed are below zero"
            f" or missing (first: row {first[ROW] + 1}, {first['grade']}).",
            "counts of 0 or more.",
            "remove these rows first, or keep the first or last.",
        )
    # Floats are added from the smallest on, so that the order of rows plays no part.
    return rows.with_columns(pl.col("grade").sort().sum().over("pair"))


def _repeats(log: Log, again: pl.Series) -> BadTable:
    first = log.frame.filter(again).sort(ROW).row(0, named=True)
    return BadTable(
        f"{log.source}: {int(again.sum()):,} of {log.frame.height:,} rows repeat a pair of user and"
        f" item (first: row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}).",
        "each pair once.",
        "choose which to keep: keep = 'first', 'last' or 'sum'.",
    )
