"""Predictions and truth in common codes, grouped by list: what no convention changes.

A list has a key and an owner, the user. By default the key is the user, and there is one kind of id
for both; with another key (a session, a query) lists and users are coded apart. Rows of one list
mostly stand together, so that runs of equal keys are coded, not rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import (
    Flags,
    Floats,
    Grouped,
    Integers,
    Pieces,
    distinct,
    distinct_codes,
    group,
    occurring,
    places,
    run_starts,
)
from rectitude.data.dense import Dense
from rectitude.data.ids import Column, Ids, align, has_128_bits, kind_of
from rectitude.data.table import ROW_NUMBER, Inputs, Table
from rectitude.data.values import pieces
from rectitude.errors import BadTable
from rectitude.judge.match import match_kernel
from rectitude.kernels import kernel, repay
from rectitude.parallel import together
from rectitude.predictions.scores import are_numbers

_SAMPLE = 10_000
_HINT = "name the rows with users= (--score-users), in the type of the other side."
_MANY_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class KeyRuns:
    """A column of keys: where each run begins, and its key; starts are None if every row is one."""

    starts: Integers | None
    column: Column
    rows: int


def key_runs(table: Table, role: str) -> KeyRuns:
    """The runs of a key column."""
    column = table.frame[role]
    if column.dtype == pl.Object:
        return single_runs(column, table)
    sample = column.head(_SAMPLE)
    scattered = len(column) > _SAMPLE and 2 * len(_starts(sample)) > len(sample)
    starts = None if scattered else _starts(column)
    if starts is None or 2 * len(starts) > len(column):
        return single_runs(column, table)
    return KeyRuns(starts, Column(column.gather(starts), table.source, table.text), len(column))


def single_runs(column: pl.Series, table: Table) -> KeyRuns:
    """Every row as its own run."""
    hint = _HINT if table.columns.get("list") == ROW_NUMBER else ""
    return KeyRuns(None, Column(column, table.source, table.text, hint), len(column))


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


def list_weights(
    table: Table | None, rows: Grouped | None, keys: pl.Series, told: Flags
) -> Floats | None:
    """(lists,) what each list weighs, or None when all weigh the same.

    Lists without truth need none, since they hardly ever count; then they weigh nothing.
    """
    if table is None or rows is None:
        return None
    column = Pieces(table.frame["weight"].to_numpy())
    values = np.where(told, np.nan, 0.0)
    once = rows.length == 1
    values[once] = rows.take(column).whole[rows.start[once]]
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        raise BadTable(
            f"{int(wrong.sum())} of {len(values)} lists have no weight, or no single one, in "
            f"{table.source} (first: list {keys[number]!r}).",
            "one finite weight of at least 0 for every list.",
        )
    return values


_LONGEST_LABEL = 60


class Collision(Exception):
    """Two different ids share a hash: the sides must be brought together again with exact codes."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Every list of the evaluation, by its place among the sorted keys, with its rows on both
    sides."""

    sources: Inputs
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
    left_out: int
    """lists of users who are not to be evaluated"""
    absent: int
    """users to be evaluated of whom there is nothing"""
    foreign: int | None
    """rows of the predictions whose item is not known; None if nobody said"""
    listless: pl.Series | None
    """users of a truth without list keys who have no list; None if the truth has keys"""
    placed: dict[str, Pieces] = field(default_factory=dict)
    """columns of the predictions by place, as they are needed"""
    readings: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """what reading dense scores found, see `scan`"""

    @property
    def catalogue(self) -> str:
        """What says which items are known, in words."""
        if self.sources.items is not None:
            return "the catalogue"
        trained = self.sources.train is not None or self.sources.seen is not None
        return "train" if trained or self.sources.dense is None else "the scores"

    @property
    def by_user(self) -> bool:
        """Whether the key of a list is its user."""
        return self.sources.key == "user"

    def column(self, name: str) -> Pieces:
        """A column of the predictions by place: `item` codes, `score` or `rank`."""
        if name not in self.placed:
            codes = self.items.codes["predictions"]
            frame = self.sources.predictions.frame
            values = codes if name == "item" else pieces(frame[name])
            self.placed[name] = self.lists.take(values)
        return self.placed[name]

    def label(self, number: int) -> str:
        """A list as errors and ledger name it."""
        return label_of(self.keys, number)


def label_of(keys: pl.Series, number: int) -> str:
    """A list as errors and ledger name it."""
    shown = repr(keys[int(number)])
    return shown if len(shown) <= _LONGEST_LABEL else f"{shown[:_LONGEST_LABEL]}..."


@dataclass(frozen=True, slots=True)
class _Space:
    """One kind of id, lists or users: its columns as runs, in common codes."""

    runs: dict[str, KeyRuns]
    ids: Ids

    def everyone(self, sides: Sequence[str]) -> Integers:
        """The different codes on these sides, ascending."""
        codes = [distinct_codes(self.ids.codes[side]) for side in sides if side in self.runs]
        return distinct(np.concatenate(codes)) if codes else np.empty(0, np.int64)

    def grouped(self, universe: Integers, side: str) -> Grouped:
        """The rows of a side by the place of their key in the universe."""
        runs = self.runs[side]
        return group(universe, runs.starts, self.ids.codes[side], runs.rows)

    def by_row(self, side: str) -> Pieces:
        """The code of every row of a side."""
        runs, codes = self.runs[side], self.ids.codes[side]
        if runs.starts is None:
            return codes
        return Pieces(np.repeat(codes.whole, np.diff(np.append(runs.starts, runs.rows))))


def _space(runs: dict[str, KeyRuns], what: str) -> _Space:
    return _Space(runs, align({side: run.column for side, run in runs.items()}, what))


_LISTED = ("predictions", "truth", "weights")
_EVALUATED = ("predictions", "truth", "handed")
_PEOPLE = ("train", "users")


def align_inputs(sources: Inputs, exact_items: bool) -> Aligned:
    """Code all ids, find all lists, and group the rows of both sides by list."""
    numbered = _by_number(sources)
    if numbered is not None:
        return numbered
    given = sources.given()
    if repay(sum(table.frame.height for table in given.values())):
        kernel(match_kernel)  # loaded for the whole evaluation, its smaller parts included
    lists = {
        s: key_runs(given[s], "list") for s in _LISTED if s in given and _has(given[s], "list")
    }
    people = {s: key_runs(given[s], "list") for s in _PEOPLE if s in given}
    if sources.predictions.handed is not None:
        lists["handed"] = single_runs(sources.predictions.handed, sources.predictions)
    if sources.key == "user":
        space = users = _space(lists | people, "user")
    else:
        owned = {s: key_runs(t, "user") for s, t in given.items() if _has(t, "user")}
        if "users" in people and not owned:
            raise BadTable(
                f"users= was given, and no table says which user a {sources.key!r} belongs to.",
                "a user column beside the list key.",
            )
        space = _space(lists, "list")
        users = _space(people | owned, "user") if owned else space
    return _grouped(sources, space, users, exact_items)


def _by_number(sources: Inputs) -> Aligned | None:
    """Scores whose rows and columns are known by their numbers, where the truth names them so, row
    after row: nothing has to be coded. None for all other inputs."""
    dense = sources.dense
    if dense is None or not _has_numbers(sources, dense):
        return None
    row, item = sources.truth.frame["list"], sources.truth.frame["item"]
    rows, wanted, columns = row.to_numpy(), item.to_numpy(), np.arange(dense.columns)
    numbers, offsets = np.arange(dense.rows), np.searchsorted(rows, np.arange(dense.rows + 1))
    known = np.zeros(dense.columns + 1, bool)  # the last for whatever is no column
    known[columns if sources.seen is None else occurring(sources.seen.values, len(columns))] = True
    inside = np.where((wanted >= 0) & (wanted < dense.columns), wanted, -1)
    keys = pl.Series("id", numbers)
    return Aligned(
        sources=sources,
        keys=keys,
        owners=numbers,
        users=keys,
        lists=Grouped(numbers, np.ones(dense.rows, np.int64)),
        judgements=Grouped(offsets[:-1], np.diff(offsets)),
        items=Ids(
            "integer",
            {"predictions": dense.items, "truth": item},
            {"predictions": Pieces(columns), "truth": Pieces(wanted)},
            dtype=pl.Int64(),
        ),
        handed=np.ones(dense.rows, bool),
        known_users=None if sources.seen is None else sources.seen.lengths > 0,
        known_items=known[inside],
        weights=None,
        left_out=0,
        absent=0,
        foreign=int((~known[:-1]).sum()),
        listless=None,
    )


def _has_numbers(sources: Inputs, dense: Dense) -> bool:
    truth, beside = sources.truth, (sources.train, sources.items, sources.users, sources.weights)
    if dense.named or sources.key != "user" or any(table is not None for table in beside):
        return False
    row, item = truth.frame["list"], truth.frame["item"]
    if truth.text or any(c.dtype != pl.Int64 or c.null_count() for c in (row, item, dense.items)):
        return False
    rows = row.to_numpy()
    if not len(rows) or rows[0] < 0 or rows[-1] >= dense.rows or np.any(rows[1:] < rows[:-1]):
        return False
    return are_numbers(dense.items)


def _grouped(sources: Inputs, space: _Space, users: _Space, exact_items: bool) -> Aligned:
    universe = space.everyone(_EVALUATED)
    people, owners = universe, np.arange(len(universe))
    if users is not space:
        people, owners = _owners(sources, space, users, universe)
    chosen = np.ones(len(universe), bool)
    if "users" in users.runs:
        chosen = np.isin(people, users.ids.codes["users"].whole)[owners]
    everywhere = len(universe)
    universe, owners = universe[chosen], owners[chosen]
    predictions = space.grouped(universe, "predictions")
    handed = predictions.length > 0
    if "handed" in space.runs:
        handed = handed | (space.grouped(universe, "handed").length > 0)
    if "truth" in space.runs:
        truth = space.grouped(universe, "truth")
    else:
        truth = users.grouped(people, "truth").repeated(owners)
    used = distinct(owners)
    keys = space.ids.labels(universe)
    weights = space.grouped(universe, "weights") if "weights" in space.runs else None
    items, known_items, foreign = _items(sources, exact_items)
    return Aligned(
        sources=sources,
        keys=keys,
        owners=places(used, owners),
        users=users.ids.labels(people[used]),
        lists=predictions,
        judgements=truth,
        items=items,
        handed=handed,
        known_users=_known(users, people, owners, sources, predictions),
        known_items=known_items,
        weights=list_weights(sources.weights, weights, keys, truth.length > 0),
        left_out=everywhere - len(universe),
        absent=_absent(users, people),
        foreign=foreign,
        listless=None if "truth" in space.runs else users.ids.labels(np.delete(people, used)),
    )


def _has(table: Table, column: str) -> bool:
    return column in table.frame.columns


def _absent(users: _Space, people: Integers) -> int:
    if "users" not in users.runs:
        return 0
    return int((~np.isin(distinct_codes(users.ids.codes["users"]), people)).sum())


def _known(
    users: _Space, people: Integers, owners: Integers, sources: Inputs, lists: Grouped
) -> Flags | None:
    """(lists,) whether the user was met in training, which a table or cells of the scores say."""
    if "train" in users.runs:
        return np.isin(people, users.ids.codes["train"].whole)[owners]
    if sources.seen is None:
        return None
    known = lists.length > 0
    rows = lists.rows(lists.start[known])
    known[known] = sources.seen.lengths[rows] > 0
    return known


def _owners(
    sources: Inputs, space: _Space, users: _Space, universe: Integers
) -> tuple[Integers, Integers]:
    """All users, and the number of the one a list belongs to: that of its rows on either side."""
    people = users.everyone(("predictions", "truth"))
    owners = np.full(len(universe), -1, np.int64)
    for side in ("predictions", "truth"):
        if side not in space.runs or side not in users.runs:
            continue
        rows = space.grouped(universe, side)
        mine = places(people, rows.take(users.by_row(side)).whole)
        lists, where = rows.expand()
        first = (owners < 0) & (rows.length > 0)
        owners[first] = mine[rows.start[first]]
        mixed = lists[mine[where] != owners[lists]]
        if len(mixed):
            raise BadTable(
                f"{len(distinct(mixed))} lists of {getattr(sources, side).source} belong to "
                f"several users (first: list {space.ids.labels(universe[mixed[:1]])[0]!r}).",
                "one user for each list key.",
                "choose a list_key that is unique to a user.",
            )
    if (owners < 0).any():
        raise BadTable(
            f"{int((owners < 0).sum())} lists have no user: their rows carry a list key only.",
            "a user column beside the list key in the table that holds these lists.",
        )
    return people, owners


def _items(sources: Inputs, exact: bool) -> tuple[Ids, Flags | None, int | None]:
    """Item ids; which truth rows name known items; how many recommended rows do not."""
    sides = {
        side: Column(table.frame["item"], table.source, table.text)
        for side, table in sources.given().items()
        if _has(table, "item")
    }
    if sources.dense is not None:
        hint = "name the columns with items= (--score-items), in the type of the other side."
        sides["predictions"] = Column(sources.dense.items, sources.dense.source, hint=hint)
    # Catalogue and training items are only asked for membership: their distinct ids are enough.
    for side in ("train", "items"):
        if side in sides:
            ids = sides[side].ids
            once = ids if kind_of(ids) == "object" else ids.unique()
            sides[side] = replace(sides[side], ids=once, first=next(iter(ids), None))
    items = align(sides, "item", exact or sources.dense is not None)
    known_by = ("items", "train", *(() if sources.dense is None else ("predictions",)))
    reference = next((side for side in known_by if side in sides), None)
    if reference is None:
        return items, None, None
    if not items.exact:  # hashes cannot tell: look at the ids
        known_ids = items.columns[reference].implode()
        unknown = ~items.columns["predictions"].is_in(known_ids)
        return items, items.columns["truth"].is_in(known_ids).to_numpy(), int(unknown.sum())
    known = items.codes[reference].whole
    if reference == "predictions" and sources.seen is not None:
        known = known[occurring(sources.seen.values, len(known))]
    known = np.sort(known)
    foreign = sum(int((places(known, part) < 0).sum()) for part in items.codes["predictions"].parts)
    return items, places(known, items.codes["truth"].whole) >= 0, foreign
