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
from rectitude.predictions.top import (
    from_table,
    has_column,
    keys_of,
    with_keys,
    without_padding,
)

if TYPE_CHECKING:
    import polars as pl


def outside(dense: Dense, given: Cells, table: Table) -> Cells:
    """The cells that a table does not name."""
    left = np.setdiff1d(keys_of(dense, given), named_by(dense, table), assume_unique=True)
    return with_keys(dense, left)


def ranked(
    dense: Dense, offered: Cells, truth: Table, seen: Cells | None, convention: Convention
) -> Cells:
    """The cells to be ranked: the candidates, and the truth if it goes with them, less what was
    seen."""
    chosen = keys_of(dense, offered)
    if convention.candidates == "with_truth":
        chosen = np.union1d(chosen, named_by(dense, truth))
    if seen is not None and convention.seen == "removed":
        chosen = np.setdiff1d(chosen, keys_of(dense, seen), assume_unique=True)
    return with_keys(dense, without_padding(dense, chosen))


def named_by(dense: Dense, table: Table) -> Integers:
    """The numbers of the cells that a table names, as far as they exist."""
    inside = replace(table, frame=table.frame.filter(has_column(dense, table)))
    return keys_of(dense, from_table(dense, inside, "candidates"))


def gathered(dense: Dense, chosen: Cells) -> Table:
    """The scores of some cells as lists."""
    score = np.empty(len(chosen.column))
    rows = chosen.rows()
    for first, last, block in dense.spans():
        here = slice(int(chosen.start[first]), int(chosen.start[last]))
        score[here] = block[rows[here] - first, chosen.column[here]]
        if dense.progress is not None:
            dense.progress(last, dense.rows)
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
