"""Cells of a matrix of scores, and those that are ranked where candidates are handed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.arrays import Integers
from rectitude.convention import Convention
from rectitude.data.dense import Cells, Dense
from rectitude.data.table import Table
from rectitude.predictions.top import by_row, from_table, has_column

if TYPE_CHECKING:
    import polars as pl


def outside(dense: Dense, given: Cells, table: Table) -> Cells:
    """The cells that a table does not name."""
    left = np.setdiff1d(_keys(dense, given), _named_by(dense, table), assume_unique=True)
    return by_row(dense, left // dense.columns, left % dense.columns)


def ranked(
    dense: Dense, offered: Cells, truth: Table, seen: Cells | None, convention: Convention
) -> Cells:
    """The cells to be ranked: the candidates, and the truth if it goes with them, less what was
    seen."""
    chosen = _keys(dense, offered)
    if convention.candidates == "with_truth":
        chosen = np.union1d(chosen, _named_by(dense, truth))
    if seen is not None and convention.seen == "removed":
        chosen = np.setdiff1d(chosen, _keys(dense, seen), assume_unique=True)
    if dense.padding is not None:
        chosen = chosen[chosen % dense.columns != dense.padding]
    return by_row(dense, chosen // dense.columns, chosen % dense.columns)


def _named_by(dense: Dense, table: Table) -> Integers:
    inside = replace(table, frame=table.frame.filter(has_column(dense, table)))
    return _keys(dense, from_table(dense, inside, "candidates"))


def _keys(dense: Dense, given: Cells) -> Integers:
    rows = np.repeat(np.arange(dense.rows), np.diff(given.start))
    return rows * dense.columns + given.column


def gathered(dense: Dense, chosen: Cells) -> Table:
    """The scores of some cells as lists."""
    score = np.empty(len(chosen.column))
    rows = np.repeat(np.arange(dense.rows), np.diff(chosen.start))
    first = 0
    for block in dense.blocks():
        last = first + len(block)
        here = slice(int(chosen.start[first]), int(chosen.start[last]))
        score[here] = block[rows[here] - first, chosen.column[here]]
        if dense.progress is not None:
            dense.progress(last, dense.rows)
        first = last
    largest = np.finfo(np.float64).max  # lists have finite scores; the order stays the same
    score = np.clip(score, -largest, largest)
    columns = {**named(dense, rows, chosen.column), "score": score}
    table = table_made(columns, f"candidates of {dense.source}")
    return replace(table, handed=dense.table.frame["list"])


def table_made(columns: Mapping[str, Any], source: str, given: bool = False) -> Table:
    """A table of our own making."""
    import polars as pl

    frame = pl.DataFrame(dict(columns))
    return Table(frame, dict.fromkeys(columns, ""), source, given, text=False, handed=None)


def named(dense: Dense, rows: Integers, columns: Integers) -> dict[str, pl.Series]:
    """Cells by the ids of their rows and columns."""
    frame = dense.table.frame
    return {
        **{name: _taken(frame[name], rows) for name in frame.columns},
        "item": _taken(dense.items, columns),
    }


def _taken(ids: pl.Series, places: Integers) -> pl.Series:
    """The ids at some places; integers are taken by NumPy, which has less to do for it."""
    import polars as pl

    if ids.dtype == pl.Int64:
        return pl.Series(ids.name, ids.to_numpy()[places])
    return ids.gather(places)
