"""Steps that select users and items by a column of a table about them, such as country or price."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from rectitude.data.ids import members
from rectitude.data.log import Log, choose_rows
from rectitude.data.read import read
from rectitude.errors import BadArgument, nearest

Value = int | float | str


def users_where(
    log: Log,
    *,
    table: object,
    column: str,
    among: object = None,
    at_least: Value | None = None,
    at_most: Value | None = None,
) -> Log:
    """Keep users whose value in a column of a table of users is one of `among`, or within bounds.

    Users who are not in the table are removed.
    """
    return _keep(log, "user", table, column, among, at_least, at_most)


def items_where(
    log: Log,
    *,
    table: object,
    column: str,
    among: object = None,
    at_least: Value | None = None,
    at_most: Value | None = None,
) -> Log:
    """Keep items whose value in a column of a table of items is one of `among`, or within bounds.

    Items that are not in the table are removed.
    """
    return _keep(log, "item", table, column, among, at_least, at_most)


def _keep(
    log: Log, side: Literal["user", "item"], table: object, column: str, among: object,
    at_least: Value | None, at_most: Value | None,
) -> Log:  # fmt: skip
    frame = _read(table, side, column)
    if among is None and at_least is None and at_most is None:
        raise BadArgument(
            f"{side}s_where has no condition for column {column!r}.", "among, at_least or at_most."
        )
    kept = pl.lit(value=True)
    if among is not None:
        values = (
            list(among) if isinstance(among, Sequence) and not isinstance(among, str) else [among]
        )
        kept = kept & pl.col(column).cast(pl.String).is_in([str(value) for value in values])
    if at_least is not None:
        kept = kept & (pl.col(column) >= _like(frame, column, at_least))
    if at_most is not None:
        kept = kept & (pl.col(column) <= _like(frame, column, at_most))
    chosen = frame.filter(kept)["id"].cast(log.frame[side].dtype, strict=False)
    return choose_rows(log, members(log.frame[side], chosen.drop_nulls()))


def _read(table: object, side: Literal["user", "item"], column: str) -> pl.DataFrame:
    """Read the ids of a table, and one of its columns."""
    what: Literal["users", "items"] = "users" if side == "user" else "items"
    frame = read(table, what).frame
    key = side if side in frame.columns else "list"
    if column not in frame.columns or column == key:
        meant = nearest(column, frame.columns)
        raise BadArgument(
            f"the table of {side}s has no column {column!r}.",
            f"one of: {', '.join(name for name in frame.columns if name != key)}.",
            f"did you mean {meant}?" if meant else "",
        )
    return frame.select(pl.col(key).alias("id"), column)


def _like(frame: pl.DataFrame, column: str, bound: Value) -> Any:
    """Return a bound that can be compared with a column: numbers with numbers, text with text."""
    numeric = frame[column].dtype.is_numeric()
    if numeric == isinstance(bound, str):
        kind = "numbers" if numeric else "text"
        raise BadArgument(f"a bound is {bound!r}, but column {column!r} has {kind}.", f"{kind}.")
    return pl.lit(bound)
