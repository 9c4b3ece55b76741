"""Tables as checks look at them: ids are codes common to all of them, times are of one type.

Lists may have a key of their own, such as a session; then frames have the columns list and user,
else both are the same. A pair is a user and an item, a cell a list and an item; each has a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rectitude.data.ids import Column, Ids, align
from rectitude.data.table import Table
from rectitude.data.times import times
from rectitude.errors import BadTable

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.dense import Dense

PAIR, CELL, TIME = "pair", "cell", "timestamp"
USER = "user"
BY_LIST = ("truth", "validation", "predictions", "weights")
"""Tables that go by list; the others go by user."""
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Coded:
    """Frames whose ids are codes."""

    frames: Mapping[str, pl.DataFrame]
    users: Ids
    lists: Ids
    items: Ids


def coded(tables: Mapping[str, Table], dense: Dense | None, key: str) -> Coded:
    """All tables with codes in the place of ids, and numbers of pairs and cells."""
    frames = {name: _by_role(name, table.frame, key) for name, table in tables.items()}
    if dense is not None:
        frames["scores"] = _by_role("truth", dense.table.frame, key)
    listed = tables.get("predictions")
    if listed is not None and listed.handed is not None:
        frames["handed"] = listed.handed.to_frame(USER if key == USER else "list")
    users, lists = (_ids(role, frames, tables, dense) for role in (USER, "list"))
    items = _ids("item", frames, tables, dense)
    known = {"list": lists, USER: users, "item": items}
    numbered = {
        name: _codes(name, frame, known) for name, frame in frames.items() if name != "scores"
    }
    owned = numbered if key == USER else _owned(numbered)
    return Coded(_with_times(_numbered(owned, key)), users, lists or users, items)


def _by_role(name: str, frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """A frame with users in the column user, and keys of lists that are none in the column list."""
    by_list = key != USER and name in BY_LIST
    return frame if by_list or "list" not in frame.columns else frame.rename({"list": USER})


def _ids(
    role: str, frames: Mapping[str, pl.DataFrame], tables: Mapping[str, Table], dense: Dense | None
) -> Any:
    """All columns of one kind of id in common codes; None if there are none."""
    columns = {}
    for name, frame in frames.items():
        table = tables.get("predictions" if name == "handed" else name)
        if role in frame.columns and table is not None:
            columns[name] = Column(frame[role], table.source, table.text)
        elif dense is not None and name == "scores" and role in (*frame.columns, "item"):
            columns[name] = Column(dense.items if role == "item" else frame[role], dense.source)
    return align(columns, role) if columns else None


def _codes(name: str, frame: pl.DataFrame, known: Mapping[str, Any]) -> pl.DataFrame:
    import polars as pl

    codes = {
        role: pl.Series(role, ids.codes[name].whole)
        for role, ids in known.items()
        if ids is not None and name in ids.codes
    }
    return frame.drop(*codes, strict=False).with_columns(**codes)


def _owned(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames with the users of lists, where only one of them says whose lists they are."""
    listed = {name: frames[name] for name in BY_LIST if name in frames}
    told = [frame for frame in listed.values() if USER in frame.columns]
    if not told:
        return {**frames}
    owners = told[0].select("list", USER).unique("list", maintain_order=True)
    joined = {
        name: frame.join(owners, on="list", how="left", maintain_order="left")
        for name, frame in listed.items()
        if USER not in frame.columns
    }
    return {**frames, **joined}


def _numbered(frames: Mapping[str, pl.DataFrame], key: str) -> dict[str, pl.DataFrame]:
    """The frames with a number for each pair; and for each cell, where lists are not users."""
    import polars as pl

    if key != USER:
        return _with_numbers(_with_numbers(frames, USER, PAIR), "list", CELL)
    paired = _with_numbers(frames, USER, PAIR)
    same = [pl.col(USER).alias("list"), pl.col(PAIR).alias(CELL)]
    listed = {
        name: paired[name].with_columns(same if PAIR in paired[name].columns else same[:1])
        for name in BY_LIST
        if name in paired
    }
    return {**paired, **listed}


def _with_numbers(
    frames: Mapping[str, pl.DataFrame], side: str, name: str
) -> dict[str, pl.DataFrame]:
    import polars as pl

    both = {n: f for n, f in frames.items() if {side, "item"} <= set(f.columns)}
    full = {n: frame for n, frame in both.items() if frame.height}
    numbers = _numbers(full, side) if full else {}
    none = pl.Series([], dtype=pl.Int64)
    named = {n: f.with_columns(numbers.get(n, none).alias(name)) for n, f in both.items()}
    return {**frames, **named}


def _numbers(frames: Mapping[str, pl.DataFrame], side: str) -> dict[str, pl.Series]:
    """One number for each pair of codes, the same in all frames."""
    import polars as pl

    (low, many), (low_item, items) = (_range(frames, column) for column in (side, "item"))
    if many * items > _LARGEST:
        return _ranked(frames, side)
    number = (pl.col(side) - low) * items + pl.col("item") - low_item
    return {name: frame.select(number).to_series() for name, frame in frames.items()}


def _range(frames: Mapping[str, pl.DataFrame], column: str) -> tuple[int, int]:
    """The lowest code of all frames, and how many there are up to the highest."""
    ends = [(frame[column].min(), frame[column].max()) for frame in frames.values()]
    known: list[Any] = [end for pair in ends for end in pair if end is not None]
    low = min(known, default=0)
    return low, max(known, default=0) - low + 1


def _ranked(frames: Mapping[str, pl.DataFrame], side: str) -> dict[str, pl.Series]:
    """The places of pairs among all of them, where products of codes would be too large."""
    import polars as pl

    together = pl.concat([frame.select(side, "item") for frame in frames.values()])
    ranks = together.select(pl.struct(side, "item").rank("dense").cast(pl.Int64)).to_series()
    sizes = [frame.height for frame in frames.values()]
    slices = zip(frames, accumulate(sizes[:-1], initial=0), sizes, strict=True)
    return {name: ranks.slice(start, size) for name, start, size in slices}


def _with_times(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames with timestamps that can be compared: all numbers, or all points in time."""
    import polars as pl

    timed = {name: frame for name, frame in frames.items() if TIME in frame.columns}
    read = {name: times(frame[TIME], name) for name, frame in timed.items() if frame.height}
    read |= {
        name: column.cast(pl.Float64) for name, column in read.items() if column.dtype.is_integer()
    }
    kinds = {name: str(column.dtype) for name, column in read.items()}
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise BadTable(f"timestamps are {shown}.", "the same type in every part.")
    one = {name: frame.with_columns(read[name]) for name, frame in timed.items() if name in read}
    return {**frames, **one}
