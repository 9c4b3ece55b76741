"""Pivot frames: a row for each user, a column for each item, and a number in every cell.

pandas keeps the users in the index and the items in the columns, as `pivot` and `unstack` leave
them. Other frames have no index: a column with a recognised name holds the users, and the names of
all other columns are the items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.data.columns import WantedColumns, matches, quote_names
from rectitude.data.frames import (
    from_pandas,
    is_held,
    is_pandas,
    open_frame,
    rename_columns,
    series,
)
from rectitude.data.table import Source, What
from rectitude.errors import BadTable

_BY_NAME = WantedColumns("predictions", {})
_NUMBER = {"predictions": "score", "truth": "grade", "train": "grade", "seen": "grade"}
"""The number in each cell, by kind of table."""
_LONG_ROLES = ("item", "score", "rank", "grade", "timestamp")
"""Roles of columns in a table with one row per user and item, which is not a pivot frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Pivot:
    """The cells of a pivot frame, and the ids of its rows and columns; None where it has none."""

    label: str
    """the kind of frame, in words"""
    users: pl.Series | None
    items: pl.Series | None
    cells: Sequence[pl.Series]
    """the column of each item"""

    @property
    def text(self) -> bool:
        """Whether items are the names of columns: untyped text, which may stand for integers."""
        return self.items is not None and self.items.dtype == pl.String

    def values(self, what: str) -> NDArray[Any]:
        """Return the numbers of all cells, (users, items)."""
        for number, column in enumerate(self.cells):
            if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
                name = number if self.items is None else self.items[number]
                raise BadTable(
                    f"{what} ({self.label}): column {name!r} has the type {column.dtype}.",
                    "a frame of numbers: a row for each user, a column for each item.",
                    "for a table with a row per user and item, pass the frame itself.",
                )
        return pl.DataFrame([c.alias(str(n)) for n, c in enumerate(self.cells)]).to_numpy()


def pivot_of(frame: Any, what: str) -> Pivot:
    """Return a frame in memory as a pivot frame."""
    source = open_frame(frame)
    if source is None or is_pandas(frame):
        return _pivot_pandas(frame, what)
    users = matches(source.names, "list", _BY_NAME)
    if len(users) != 1:
        raise BadTable(
            f"{what} ({source.label}) has {len(users)} user columns; its columns:"
            f" {quote_names(source.names)}.",
            "one column with the users; the names of all others are the items.",
            "name it 'user', or pass rt.Scores(array, users=..., items=...).",
        )
    items = [name for name in source.names if name != users[0]]
    table = source.take({name: name for name in source.names})
    cells = [table[name] for name in items]
    return Pivot(source.label, table[users[0]].alias("users"), pl.Series("items", items), cells)


def _pivot_pandas(frame: Any, what: str) -> Pivot:
    for name, axis in (("index", frame.index), ("columns", frame.columns)):
        if axis.nlevels > 1:
            raise BadTable(
                f"{what} (pandas DataFrame) has {axis.nlevels} levels in its {name}.",
                "users in the index and items in the columns, one level each.",
                "pivot a single column: frame.pivot(index='user', columns='item', values='score').",
            )
    names = [str(name) for name in frame.columns]
    user = [names.index(name) for name in matches(names, "list", _BY_NAME)[:1]]
    others = [number for number in range(len(names)) if number not in user]
    users = frame.iloc[:, user[0]] if user else frame.index.to_series()
    return Pivot(
        "pandas DataFrame",
        None if not user and _is_default(frame.index) else from_pandas(users, "users"),
        None if _is_default(frame.columns) else _labels(frame.columns[others]),
        [from_pandas(frame.iloc[:, number], "cells") for number in others],
    )


def _labels(columns: Any) -> pl.Series:
    return series(columns.tolist(), "items")


def _is_default(axis: Any) -> bool:
    """Whether labels are the row or column numbers that pandas gives if it is given none."""
    return type(axis).__name__ == "RangeIndex" and axis.name is None and axis.start == 0


Labels = Literal["unknown", "items"]
"""What is known of the labels of columns: nothing, or that they are items."""


def is_pivot(frame: Any, labels: Labels = "unknown") -> bool:
    """Whether a frame in memory can only be a pivot frame: no column fits another role, users are
    distinct, and all cells are numbers. If the labels could be names of columns, only floats
    count."""
    source = open_frame(frame) if is_held(frame) else None
    if source is None or len(set(source.names)) < len(source.names):
        return False
    pandas = is_pandas(frame)
    if pandas and (frame.columns.nlevels > 1 or frame.index.nlevels > 1):
        return False
    users = matches(source.names, "list", _BY_NAME)
    items = [name for name in source.names if name not in users]
    has_role = any(matches(items, role, _BY_NAME) for role in _LONG_ROLES)
    if has_role or len(items) < 2 or len(users) > 1 or not (users or pandas):
        return False
    ids: Any = source.take({"list": users[0]})["list"] if users else frame.index
    if (ids.n_unique() if users else ids.nunique()) < len(ids):
        return False
    labelled = labels == "items" or _are_labels(frame, items)
    if not labelled and not users and _is_default(frame.index):
        return False
    types = source.take({name: name for name in items}).dtypes
    return all(t.is_numeric() or t == pl.Boolean if labelled else t.is_float() for t in types)


def may_be_top_items(frame: Any) -> bool:
    """Whether a pivot frame may hold recommended items: integers below the numbers of ranks."""
    pivot = pivot_of(frame, "predictions")
    if is_pandas(frame) and frame.columns.name is not None:
        return False
    ranks = [] if pivot.items is None else [str(label) for label in pivot.items]
    counted = [[str(rank) for rank in range(first, len(ranks) + first)] for first in (0, 1)]
    return ranks in counted and all(column.dtype.is_integer() for column in pivot.cells)


def _are_labels(frame: Any, items: Sequence[str]) -> bool:
    """Whether the labels of columns can only be items: numbers, or below a name such as item_id."""
    if not is_pandas(frame):
        return all(name.removeprefix("-").isdecimal() for name in items)
    if _is_default(frame.columns):  # a table without names looks the same
        return False
    numbers = all(name.removeprefix("-").isdecimal() for name in items)
    name = frame.columns.name
    return numbers or (name is not None and bool(matches([str(name)], "item", _BY_NAME)))


def open_pivot(frame: Any, want: WantedColumns) -> Source | None:
    """Return a pivot frame as a table with a row for each cell; None if it is not one.

    In a truth, and in training data, cells with 0 or without a number are left out.
    """
    if want.what not in _NUMBER or want.named or not is_pivot(frame):
        return None
    return source_of_cells(pivot_of(frame, want.what), want.what)


def source_of_cells(pivot: Pivot, what: What) -> Source:
    """Return a pivot frame as a table with a row for each cell."""
    role, values = _NUMBER[what], pivot.values(what)
    kept = ~np.isnan(values) if role == "score" else np.nan_to_num(values) != 0
    rows, columns = np.nonzero(kept)
    users, items = (
        pl.Series(np.arange(size)) if ids is None else ids
        for ids, size in zip((pivot.users, pivot.items), values.shape, strict=True)
    )
    cells = pl.DataFrame({
        "list": users.gather(rows), "item": items.gather(columns), role: values[rows, columns],
    })  # fmt: skip
    roles = {name: name for name in cells.columns}
    return Source(
        f"{pivot.label} with a column for each item", cells.columns,
        partial(rename_columns, cells), roles, anonymous=True, text=pivot.text,
        handed=users.alias("list"),
    )  # fmt: skip
