"""Runs of equal keys: rows of one list mostly stand together, so there are few."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Integers, run_starts
from rectitude.data.ids import Column, has_128_bits, pieces
from rectitude.data.table import ROW_NUMBER
from rectitude.threads import together

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table

_SAMPLE = 10_000
_HINT = "name the rows with users= (--score-users), in the type of the other side."
_MANY_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Runs:
    """A column of keys: where each run begins, and its key; starts are None if every row is one."""

    starts: Integers | None
    column: Column
    rows: int


def key_runs(table: Table, role: str) -> Runs:
    """The runs of a key column."""
    import polars as pl

    column = table.frame[role]
    if column.dtype == pl.Object:
        return single_runs(column, table)
    sample = column.head(_SAMPLE)
    scattered = len(column) > _SAMPLE and 2 * len(_starts(sample)) > len(sample)
    starts = None if scattered else _starts(column)
    if starts is None or 2 * len(starts) > len(column):
        return single_runs(column, table)
    return Runs(starts, Column(column.gather(starts), table.source, table.text), len(column))


def single_runs(column: pl.Series, table: Table) -> Runs:
    """Every row as its own run."""
    hint = _HINT if table.columns.get("list") == ROW_NUMBER else ""
    return Runs(None, Column(column, table.source, table.text, hint), len(column))


def _starts(column: pl.Series) -> Integers:

    physical = column if column.dtype.is_integer() else column.to_physical()
    if not physical.dtype.is_integer() or has_128_bits(physical):
        changed = (physical != physical.shift(1)).fill_null(value=True)
        return changed.arg_true().to_numpy().astype(np.int64)
    keys = pieces(physical)
    inside: list[Integers] = [np.empty(0, np.int64)] * len(keys.parts)

    def find(n: int) -> None:
        inside[n] = run_starts(keys.parts[n])

    together([partial(find, n) for n in range(len(keys.parts))], len(keys) > _MANY_ROWS)
    starts = []
    for n, (part, low) in enumerate(zip(keys.parts, keys.bounds, strict=False)):
        goes_on = n and len(part) and part[0] == keys.parts[n - 1][-1]
        starts.append(low + (inside[n][1:] if goes_on else inside[n]))
    return np.concatenate(starts)
