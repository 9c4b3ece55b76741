"""Frames with one row per list: the items of a list stand in one cell.

LensKit saves its lists so, because a table with one row per item cannot hold a list without items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rectitude.data.columns import Wanted, recognise, title
from rectitude.data.frames import renamed
from rectitude.data.source import Source
from rectitude.errors import BadTable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The rows of the lists, where their columns came from, and the lists there were."""

    frame: pl.DataFrame
    columns: dict[str, str]
    given: bool
    handed: pl.Series | None


def unpack(frame: pl.DataFrame, source: Source, chosen: dict[str, str], want: Wanted) -> Unpacked:
    """One row per item, from one row per list; other frames as they are."""
    import polars as pl

    as_it_is = Unpacked(frame, chosen, source.given, source.handed)
    if "item" not in frame.columns or want.what in ("items", "users"):
        return as_it_is
    if not isinstance(frame["item"].dtype, (pl.List, pl.Array, pl.Struct)):
        return as_it_is
    if not isinstance(frame["item"].dtype, pl.List):
        raise BadTable(
            f"{title(source, want)}: the item column has the type {frame['item'].dtype}.",
            "one item in each row, or the list of items.",
        )
    handed = frame["list"] if "list" in frame.columns else None
    lists = [name for name in frame.columns if isinstance(frame[name].dtype, pl.List)]
    filled = frame.filter(pl.col("item").list.len() > 0)
    _require_equal(filled.select(lists), title(source, want))
    rows = filled.explode(lists)
    if isinstance(rows["item"].dtype, pl.Struct):
        rows, chosen = _fields(rows, source, chosen, want)
    return Unpacked(rows, chosen, "score" not in chosen, handed)


def _require_equal(lists: pl.DataFrame, where: str) -> None:
    items = lists["item"].list.len()
    for name in lists.columns:
        values = lists[name].list.len()
        uneven = (values.fill_null(0) != items).arg_true()
        if len(uneven):
            first = uneven[0]
            raise BadTable(
                f"{where}: a list has {items[first]} items but {values[first]} values in the"
                f" {name} column.",
                "one value for each item of a list.",
            )


def _fields(
    rows: pl.DataFrame, source: Source, chosen: dict[str, str], want: Wanted
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Items that come with their score or grade in one cell: each field becomes a column."""
    inner = rows["item"].struct.unnest()
    outer = [name for name in rows.columns if name != "item"]
    both = rows.select(outer).hstack([column for column in inner if column.name not in outer])
    roles = {name: name for name in outer}
    found = recognise(
        Source(source.label, both.columns, source.take), Wanted(want.what, roles, want.list_key)
    )
    origin = {new: f"{chosen['item']}.{name}" for new, name in found.items() if new not in outer}
    return renamed(both, found), {**{name: chosen[name] for name in outer}, **origin}
