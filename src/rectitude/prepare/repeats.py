"""Steps that leave one row of each user and item, or of each stretch of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.arrays import Floats
from rectitude.compiled import repay
from rectitude.data.codes import codes, ranks
from rectitude.data.log import ROW, Log, chosen
from rectitude.errors import BadTable
from rectitude.prepare.alike import alike
from rectitude.prepare.grading import require_grades
from rectitude.prepare.order import Runs, StableTies, Ties, equals, in_time, ordered, settled
from rectitude.prepare.words import drawn

if TYPE_CHECKING:
    import polars as pl

Keep = Literal["first", "last", "sum", "error"]


def deduplicate(
    log: Log, *, keep: Keep = "last", order: Literal["time", "file"] = "time",
    ties: StableTies = "content",
) -> Log:  # fmt: skip
    """One row of each user and item: the first or the last, by time or in the file.

    `sum` keeps the last row with the sum of all grades; `error` refuses repeats.
    """

    if keep == "sum" and "grade" in log.frame.columns:
        require_grades(log)
    again = repeats(log.frame)
    if not len(again.rows):
        return log
    if keep == "error":
        raise _repeats(log, again)
    log = log.with_frame(_summed(log, again)) if keep == "sum" else log
    frame = log.frame
    if order == "time" and "timestamp" not in frame.columns:
        _require_equal(log, frame, again)
        order = "file"
    runs = settled(again, in_time(frame, ties) if order == "time" else [])
    kept = np.ones(frame.height, bool)
    kept[runs.rows] = False
    kept[runs.rows[runs.ends - (runs.sizes if keep == "first" else 1)]] = True
    return chosen(log, kept)


def consecutive(
    log: Log, *, keep: Literal["first", "last"] = "first", ties: Ties = "content"
) -> Log:
    """One row where a user meets the same item several times in a row: the first or the last."""
    log.require("timestamp", "consecutive")
    users = ranks(log.frame["user"])
    runs = ordered((users, int(users.max(initial=0)) + 1), in_time(log.frame, ties))
    items = codes(log.frame["item"])[0][runs.rows]
    begins = np.append(True, items[1:] != items[:-1])[: len(items)]
    begins[runs.ends[:-1]] = True
    stays = begins if keep == "first" else np.append(begins[1:], True)[: len(items)]
    kept = np.zeros(len(items), bool)
    kept[runs.rows[stays]] = True
    return chosen(log, kept)


def repeats(frame: pl.DataFrame) -> Runs:
    """The rows whose user and item other rows have too, one pair after the other."""
    (users, size), (items, _) = codes(frame["user"]), codes(frame["item"])
    if not repay(frame.height):
        return equals((users, size), items)
    rows = np.flatnonzero(alike(drawn(0, users, items))).astype(np.uint32)
    runs = equals((users[rows], size), items[rows])
    return Runs(rows[runs.rows], runs.ends)


def _require_equal(log: Log, frame: pl.DataFrame, again: Runs) -> None:
    """Without times, rows of a pair must be alike, or the first and the last mean nothing."""
    if "grade" not in frame.columns:
        return
    grades = frame["grade"].gather(again.rows).to_numpy()
    starts = again.ends - again.sizes
    low, high = np.minimum.reduceat(grades, starts), np.maximum.reduceat(grades, starts)
    different = int(np.count_nonzero(low != high))
    if different:
        raise BadTable(
            f"{log.source}: {different:,} pairs of user and item come with different"
            " grades, and no timestamp says which is the last.",
            "a timestamp column, or order = 'file'.",
            "choose with order='file', or keep='sum'.",
        )


def _summed(log: Log, again: Runs) -> pl.DataFrame:
    """The rows of every pair with the sum of all its grades; the grades are counts here."""
    import polars as pl

    log.require("grade", "keep = 'sum'")
    rows = log.frame[np.sort(again.rows)]
    wrong = rows.filter(pl.col("grade") < 0)
    if wrong.height:
        first = wrong.row(0, named=True)
        raise BadTable(
            f"{log.source}: {wrong.height:,} of {rows.height:,} grades to be summed are below zero"
            f" (first: row {first[ROW] + 1}, {first['grade']}).",
            "counts of 0 or more.",
            "remove these rows first, or keep the first or last.",
        )
    # Floats are added from the smallest on, so that the order of rows plays no part.
    runs = settled(again, [log.frame["grade"]])
    grades = log.frame["grade"].to_numpy().copy()
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(grades[runs.rows], runs.ends - runs.sizes)
    if not np.isfinite(sums).all():
        raise _too_large(log, runs, sums)
    grades[runs.rows] = np.repeat(sums, runs.sizes)
    return log.frame.with_columns(pl.Series("grade", grades))


def _too_large(log: Log, runs: Runs, sums: Floats) -> BadTable:
    wrong = np.flatnonzero(np.isinf(sums))
    first = log.frame.row(int(runs.rows[runs.ends[wrong] - 1].min()), named=True)
    return BadTable(
        f"{log.source}: the grades of {len(wrong):,} of {len(sums):,} repeated pairs add up to more"
        f" than a number can hold (first: user {first['user']!r}, item {first['item']!r}).",
        "counts.",
        "keep the first or last.",
    )


def _repeats(log: Log, again: Runs) -> BadTable:
    first = log.frame.row(int(again.rows.min()), named=True)
    return BadTable(
        f"{log.source}: {len(again.rows):,} of {log.frame.height:,} rows repeat a pair of user and"
        f" item (first: row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}).",
        "each pair once.",
        "choose which to keep: keep = 'first', 'last' or 'sum'.",
    )
