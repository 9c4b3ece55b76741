"""Predictions and truth in common codes, grouped by list: what no convention changes.

A list has a key and an owner, the user. By default the key is the user, and there is one kind of id
for both; with another key (a session, a query) lists and users are coded apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, Pieces, distinct, places, run_starts, together
from rectitude.compiled import kernel, repay
from rectitude.data.ids import Column, Ids, align, kind_of, pieces
from rectitude.errors import BadTable
from rectitude.grouping import Grouped, distinct_codes, group
from rectitude.judge.kernels import match_kernel

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.table import Table


class Collision(Exception):
    """Two different ids share a hash: the sides must be brought together again with exact codes."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables of one evaluation."""

    predictions: Table
    truth: Table
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None
    weights: Table | None = None

    def given(self) -> dict[str, Table]:
        """The tables that were handed over, by name."""
        named = {side: getattr(self, side) for side in self.__dataclass_fields__}
        return {side: table for side, table in named.items() if table is not None}


@dataclass(frozen=True, slots=True)
class Sides:
    """Every list of the evaluation, by its place among the sorted keys, with its rows on both
    sides."""

    sources: Sources
    keys: pl.Series
    """(lists,) the keys"""
    owners: Integers
    """(lists,) the number of the user a list belongs to"""
    users: pl.Series
    """(users,) the users"""
    lists: Grouped
    """rows of the predictions by list"""
    judgements: Grouped
    """rows of the truth by list"""
    items: Ids
    handed: Flags
    """(lists,) whether a list was handed over"""
    known_users: Flags | None
    """(lists,) whether the user was met in training; None if nobody said"""
    known_items: Flags | None
    """(truth rows) whether the item is in the catalogue or was met in training; None if nobody
    said"""
    weights: Floats | None
    """(lists,) what each list weighs; None if all weigh the same"""
    placed: dict[str, Pieces] = field(default_factory=dict)
    """columns of the predictions by place, as they are needed"""

    @property
    def by_user(self) -> bool:
        """Whether the key of a list is its user."""
        return not _has(self.sources.predictions, "user") and _has(self.sources.truth, "list")

    def column(self, name: str) -> Pieces:
        """A column of the predictions by place: `item` codes, `score` or `rank`."""
        if name not in self.placed:
            own = self.items.codes["predictions"] if name == "item" else None
            values = own or pieces(self.sources.predictions.frame[name])
            self.placed[name] = self.lists.take(values)
        return self.placed[name]

    def label(self, number: int) -> str:
        """A list as errors and ledger name it."""
        return repr(self.keys[int(number)])


@dataclass(frozen=True, slots=True)
class _Runs:
    """A column of keys as runs of equal keys: where each begins (None: every row is its own),
    and its key."""

    starts: Integers | None
    column: Column
    rows: int


def bring_together(sources: Sources, exact_items: bool) -> Sides:
    """Code all ids, find all lists, and group the rows of both sides by list."""
    if repay(sum(table.frame.height for table in sources.given().values())):
        kernel(match_kernel)  # loaded for the whole evaluation, its smaller parts included
    by_list = {
        s: _runs(t, "list") for s, t in sources.given().items() if s in _LISTED and _has(t, "list")
    }
    by_user = {s: _runs(t, "list") for s, t in sources.given().items() if s in _PEOPLED}
    if sources.predictions.handed is not None:
        by_list["handed"] = _single_runs(sources.predictions.handed, sources.predictions)
    apart = any(_has(t, "user") for t in (sources.predictions, sources.truth))
    if not apart:
        ids = users = align(_columns(by_list | by_user), "user")
    else:
        owned = {s: _runs(t, "user") for s, t in sources.given().items() if _has(t, "user")}
        by_user |= owned
        ids = align(_columns(by_list), "list")
        users = align(_columns(by_user), "user")
    return _grouped(sources, ids, users, by_list, by_user, apart, exact_items)


_SAMPLE = 10_000
_LISTED = ("predictions", "truth", "weights")
_PEOPLED = ("train", "users")


def _has(table: Table, column: str) -> bool:
    return column in table.frame.columns


def _columns(runs: Mapping[str, _Runs]) -> dict[str, Column]:
    return {side: run.column for side, run in runs.items()}


def _runs(table: Table, role: str) -> _Runs:
    """The runs of a key column; rows of one list mostly stand together, so there are few."""
    import polars as pl

    column = table.frame[role]
    if column.dtype == pl.Object:
        return _single_runs(column, table)
    start = column.head(_SAMPLE)
    scattered = len(column) > _SAMPLE and 2 * len(_run_starts(start)) > len(start)
    starts = None if scattered else _run_starts(column)
    if starts is None or 2 * len(starts) > len(column):
        return _single_runs(column, table)
    return _Runs(starts, Column(column.gather(starts), table.source, table.text), len(column))


def _run_starts(column: pl.Series) -> Integers:
    physical = column.to_physical()
    if not physical.dtype.is_integer():
        changed = (physical != physical.shift(1)).fill_null(value=True)
        return changed.arg_true().to_numpy().astype(np.int64)
    keys = pieces(physical)
    starts = []
    inside: list[Integers] = [np.empty(0, np.int64)] * len(keys.parts)

    def find(n: int) -> None:
        inside[n] = run_starts(keys.parts[n])

    together([partial(find, n) for n in range(len(keys.parts))], len(keys) > 1_000_000)
    for n, (part, low) in enumerate(zip(keys.parts, keys.bounds, strict=False)):
        goes_on = n and len(part) and part[0] == keys.parts[n - 1][-1]
        starts.append(low + (inside[n][1:] if goes_on else inside[n]))
    return np.concatenate(starts)


def _single_runs(column: pl.Series, table: Table) -> _Runs:
    return _Runs(None, Column(column, table.source, table.text), len(column))


def _grouped(
    sources: Sources,
    ids: Ids,
    users: Ids,
    by_list: Mapping[str, _Runs],
    by_user: Mapping[str, _Runs],
    apart: bool,
    exact_items: bool,
) -> Sides:
    universe = _all_codes(c for s, c in ids.codes.items() if s in _UNIVERSE)
    if "users" in ids.codes:
        universe = _all_codes([ids.codes["users"]])
    of = {s: group(universe, r.starts, ids.codes[s], r.rows) for s, r in by_list.items()}
    everyone, owners = universe, np.arange(len(universe))
    if apart:
        everyone = _all_codes(users.codes.values())
        owners = _owners(sources, users, by_user, everyone, of)
    truth = of.get("truth")
    if truth is None:
        runs = by_user["truth"]
        truth = group(everyone, runs.starts, users.codes["truth"], runs.rows).repeated(owners)
    handed = of["predictions"].length > 0
    if "handed" in of:
        handed = handed | (of["handed"].length > 0)
    items, known_items = _items(sources, exact_items)
    known = None
    if "train" in users.codes:
        known = np.isin(everyone, users.codes["train"].whole)[owners]
    chosen = np.ones(len(universe), bool)
    if apart and "users" in users.codes:
        chosen = np.isin(everyone, users.codes["users"].whole)[owners]
    of = {side: _chosen(rows, chosen) for side, rows in of.items()}
    keys = ids.labels(universe[chosen])
    return Sides(
        sources,
        keys,
        owners[chosen],
        users.labels(everyone),
        of["predictions"],
        _chosen(truth, chosen),
        items,
        handed[chosen],
        None if known is None else known[chosen],
        known_items,
        _weights(sources, of.get("weights"), keys),
    )


def _all_codes(columns: Iterable[Pieces]) -> Integers:
    """The different codes of several columns, ascending."""
    return distinct(np.concatenate([distinct_codes(column) for column in columns]))


_UNIVERSE = ("predictions", "truth", "handed")


def _chosen(rows: Grouped, lists: Flags) -> Grouped:
    return Grouped(rows.start[lists], rows.length[lists], rows.order)


def _owners(
    sources: Sources,
    users: Ids,
    by_user: Mapping[str, _Runs],
    everyone: Integers,
    of: Mapping[str, Grouped],
) -> Integers:
    """The user of each list: that of its rows, on whichever side there are some."""
    size = len(of["predictions"].start)
    owners = np.full(size, -1, np.int64)
    for side in ("predictions", "truth"):
        if side not in of or side not in by_user:
            continue
        runs = by_user[side]
        mine = places(everyone, of[side].take(_by_row(runs, users.codes[side])).whole)
        lists, where = of[side].expand()
        first = np.where(of[side].length > 0, of[side].start, 0)
        mixed = mine[where] != mine[first][lists]
        if mixed.any():
            number = int(lists[np.flatnonzero(mixed)[0]])
            raise BadTable(
                f"{len(np.unique(lists[mixed]))} lists of {getattr(sources, side).source} "
                f"belong to several users (first: list number {number}).",
                "one user for each list key.",
                "choose a list_key that is unique to a user.",
            )
        there = (owners < 0) & (of[side].length > 0)
        owners[there] = mine[first[there]]
    if (owners < 0).any():
        raise BadTable(
            f"{int((owners < 0).sum())} lists have no user: their rows carry a list key only.",
            "a user column beside the list key in the table that holds these lists.",
        )
    return owners


def _by_row(runs: _Runs, codes: Pieces) -> Pieces:
    if runs.starts is None:
        return codes
    return Pieces(np.repeat(codes.whole, np.diff(np.append(runs.starts, runs.rows))))


def _items(sources: Sources, exact: bool) -> tuple[Ids, Flags | None]:
    sides = {
        side: Column(table.frame["item"], table.source, table.text)
        for side, table in sources.given().items()
        if _has(table, "item")
    }
    # Catalogue and training items are only asked for membership: their distinct ids are enough.
    for side in ("train", "items"):
        if side in sides:
            ids = sides[side].ids
            distinct = ids if kind_of(ids) == "object" else ids.unique()
            sides[side] = Column(distinct, sides[side].source, sides[side].text)
    items = align(sides, "item", exact)
    reference = next((side for side in ("items", "train") if side in sides), None)
    if reference is None:
        return items, None
    return items, np.isin(items.codes["truth"].whole, items.codes[reference].whole)


def _weights(sources: Sources, rows: Grouped | None, keys: pl.Series) -> Floats | None:
    """(lists,) what each list weighs, or None when all weigh the same."""
    if sources.weights is None or rows is None:
        return None
    column = Pieces(sources.weights.frame["weight"].to_numpy())
    values = np.full(len(keys), np.nan)
    once = rows.length == 1
    values[once] = rows.take(column).whole[rows.start[once]]
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        raise BadTable(
            f"{int(wrong.sum())} of {len(values)} lists have no usable weight in "
            f"{sources.weights.source} (first: list {keys[number]!r}).",
            "one finite weight of at least 0 for every list.",
        )
    return values
