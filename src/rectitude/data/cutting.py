"""The labels of lists or rows on one axis of a slicing: values as they are, or cut into parts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Floats, Integers, distinct
from rectitude.data.attributes import Attributes, Memberships
from rectitude.data.moments import ticks_by
from rectitude.data.slicing import (
    MOST_VALUES,
    NO_VALUE,
    Axis,
    Coded,
    quantiles,
    ranges,
    shown,
)
from rectitude.data.times import times
from rectitude.errors import BadName
from rectitude.threads import Once

if TYPE_CHECKING:
    from rectitude.data.table import Table

_MICROSECONDS = 10**6
_UNIX = 10**8
"""numbers below so many seconds (of 1973) may be something else than Unix times"""


def labelled(axis: Axis, about: Attributes, column: str, entry: Integers) -> Coded:
    """The labels of units, from the column of the entry that each belongs to."""
    if not (axis.parts or axis.edges):
        return _by_value(axis, about.memberships(column), entry, about.size)
    if about.table is None:
        return cut_by(axis, about.values(column), entry)  # says what is missing
    table, dated = _in_numbers(axis, about.table, column)
    values = replace(about, table=table, kept=Once()).values(column)
    return cut_by(axis, values, entry, dated=dated)


def _in_numbers(axis: Axis, table: Table, column: str) -> tuple[Table, bool]:
    """The table with dates as microseconds, and whether the column held any."""
    import polars as pl

    values = table.frame[column]
    if not (values.dtype.is_temporal() or any(isinstance(edge, str) for edge in axis.edges)):
        return table, False
    there = values.is_not_null()
    read = times(values.filter(there), table.source)
    numbers = np.full(len(values), np.nan)
    numbers[there.to_numpy()] = read.to_physical().cast(pl.Float64).to_numpy()
    frame = table.frame.with_columns(pl.Series(column, numbers))
    return replace(table, frame=frame), read.dtype.is_temporal()


def cut_by(
    axis: Axis, values: Floats, entry: Integers, missing: str = NO_VALUE, dated: bool = False
) -> Coded:
    """The labels of units by the value of the entry that each belongs to, cut by edges or into
    parts of as many entries."""
    there = values[~np.isnan(values)]
    if axis.parts:
        edges = quantiles(there, axis.parts, axis.name)
        words = _words(axis, edges, dated)
    else:
        second = _MICROSECONDS if dated else ticks_by(float(there.max(initial=0)))
        edges = np.array([_moment(edge, second) for edge in axis.edges])
        words = [e if isinstance(e, str) else shown([e])[0] for e in axis.edges]
    if np.any(edges[1:] <= edges[:-1]):
        raise BadName(f"the edges of {str(axis)!r} do not ascend.", "edges from low to high.")
    mine = values[entry]
    number = np.searchsorted(edges, mine, side="right")
    number[np.isnan(mine)] = len(edges) + 1
    return Coded(np.arange(len(mine)), number, (*ranges(words), missing), fixed=True)


def _words(axis: Axis, edges: Floats, dated: bool) -> list[str]:
    """Edges as people read them; numbers that are Unix times as dates, too."""
    second = _MICROSECONDS if dated else ticks_by(float(edges.max()))
    if dated or (axis.name == "time" and edges.min() >= _UNIX * second):
        return [_day(edge) for edge in (edges * (_MICROSECONDS / second)).tolist()]
    return shown(edges.tolist())


def _moment(edge: float | str, second: int) -> float:
    if not isinstance(edge, str):
        return edge
    when = datetime.fromisoformat(edge)
    return when.replace(tzinfo=when.tzinfo or UTC).timestamp() * second


def _day(microseconds: float) -> str:
    when = datetime.fromtimestamp(microseconds / _MICROSECONDS, tz=UTC).replace(tzinfo=None)
    return when.isoformat(sep=" ").removesuffix(" 00:00:00")


def _by_value(axis: Axis, found: Memberships, entry: Integers, size: int) -> Coded:
    """Every value a slice; a unit with several stands in several, one with none in its own."""
    if not len(found.number):
        nothing = np.zeros(len(entry), np.int64)
        return Coded(np.arange(len(entry)), nothing, (NO_VALUE,), fixed=False)
    times_each = np.bincount(found.entry, minlength=size)
    start = np.cumsum(times_each) - times_each
    mine = times_each[entry]
    length = np.maximum(mine, 1)
    unit = np.repeat(np.arange(len(entry)), length)
    nth = np.arange(len(unit)) - np.repeat(np.cumsum(length) - length, length)
    at = np.minimum(start[entry][unit] + nth, len(found.number) - 1)
    number = np.where(mine[unit] > 0, found.number[at], len(found.names))
    many = len(distinct(number))
    if many > MOST_VALUES:
        raise BadName(
            f"{axis.name!r} has {many:,} different values.",
            f"at most {MOST_VALUES}, or numbers that are cut: {axis.name}:4 or "
            f"{axis.name}:10,50,100.",
        )
    return Coded(unit, number, (*map(_text, found.names.to_list()), NO_VALUE), fixed=False)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return shown([value])[0] if isinstance(value, float) else str(value)
