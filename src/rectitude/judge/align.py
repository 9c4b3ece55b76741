"""Code the ids of predictions and truth, and group their rows by list; no convention matters yet.

A list has a key and an owner, the user. By default the key is the user, and both share one kind of
id. With another key (a session, a query), lists and users are coded separately. The rows of a list
are usually adjacent, so we code runs of equal keys instead of single rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    positions_in,
    run_starts,
)
from rectitude.data.dense import Dense
from rectitude.data.ids import Column, Ids, align, has_128_bits, kind_of, smallest
from rectitude.data.ledger import cut_example
from rectitude.data.table import ROW_NUMBER, Inputs, Table
from rectitude.data.values import pieces
from rectitude.errors import BadTable
from rectitude.judge.match import match_kernel
from rectitude.kernels import kernel, should_compile
from rectitude.parallel import require_polars, run_tasks
from rectitude.predictions.scores import are_numbers, numbers_from_0

_SAMPLE = 10_000
_HINT = "name the rows with users= (--score-users), using the type of the other side."
_MANY_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class KeyRuns:
    """A column of keys as runs of equal keys; `starts` is None if every row is its own run."""

    starts: Integers | None
    column: Column
    rows: int


def key_runs(table: Table, role: str) -> KeyRuns:
    """Return the runs of equal keys in a column."""
    column = table.frame[role]
    if column.dtype == pl.Object:
        return single_runs(column, table)
    sample = column.head(_SAMPLE)
    scattered = len(column) > _SAMPLE and 2 * len(_find_starts(sample)) > len(sample)
    starts = None if scattered else _find_starts(column)
    if starts is None or 2 * len(starts) > len(column):
        return single_runs(column, table)
    return KeyRuns(starts, Column(column.gather(starts), table.source, table.text), len(column))


def single_runs(column: pl.Series, table: Table) -> KeyRuns:
    """Return every row as its own run."""
    hint = _HINT if table.columns.get("list") == ROW_NUMBER else ""
    return KeyRuns(None, Column(column, table.source, table.text, hint), len(column))


def _find_starts(column: pl.Series) -> Integers:

    physical = column if column.dtype.is_integer() else column.to_physical()
    if not physical.dtype.is_integer() or has_128_bits(physical):
        changed = (physical != physical.shift(1)).fill_null(value=True)
        return changed.arg_true().to_numpy().astype(np.int64)
    keys = pieces(physical)
    chunk_starts: list[Integers] = [np.empty(0, np.int64)] * len(keys.parts)

    def find(n: int) -> None:
        chunk_starts[n] = run_starts(keys.parts[n])

    run_tasks([partial(find, n) for n in range(len(keys.parts))], len(keys) > _MANY_ROWS)
    starts = []
    for n, (part, low) in enumerate(zip(keys.parts, keys.bounds, strict=False)):
        continues = n and len(part) and part[0] == keys.parts[n - 1][-1]
        starts.append(low + (chunk_starts[n][1:] if continues else chunk_starts[n]))
    return np.concatenate(starts)


def list_weights(
    table: Table | None, rows: Grouped | None, keys: pl.Series, has_truth: Flags
) -> Floats | None:
    """Return the weight of each list, or None if all lists weigh the same.

    Lists without truth need no weight, because they hardly ever count; they get weight 0.
    """
    if table is None or rows is None:
        return None
    column = Pieces(table.frame["weight"].to_numpy())
    values = np.where(has_truth, np.nan, 0.0)
    has_one_row = rows.length == 1
    values[has_one_row] = rows.take(column).whole[rows.start[has_one_row]]
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        number = int(np.flatnonzero(wrong)[0])
        raise BadTable(
            f"{int(wrong.sum())} of {len(values)} lists have no valid weight, or several, in "
            f"{table.source} (first: list {keys[number]!r}).",
            "exactly one finite weight of at least 0 for every list.",
        )
    return values


class Collision(Exception):
    """Two different ids have the same hash: the inputs must be aligned again with exact codes."""


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """All lists of an evaluation, sorted by key, with their rows in predictions and truth."""

    sources: Inputs
    keys: pl.Series
    """(lists,) the key of each list"""
    owners: Integers
    """(lists,) the number of the user that the list belongs to"""
    users: pl.Series
    """(users,) the id of each user"""
    lists: Grouped
    """the rows of the predictions, by list"""
    judgements: Grouped
    """the rows of the truth, by list"""
    items: Ids
    handed: Flags
    """(lists,) whether the predictions contain the list, even if it is empty"""
    known_users: Flags | None
    """(lists,) whether the user is in the training data; None without training data"""
    known_items: Flags | None
    """(truth rows,) whether the item is in the catalogue or the training data; None without both"""
    weights: Floats | None
    """(lists,) the weight of each list; None if all weigh the same"""
    left_out: int
    """the number of lists whose users are not evaluated"""
    absent: int
    """the number of users to evaluate who are in neither predictions nor truth"""
    foreign: int | None
    """the number of predicted rows or scores with an unknown item; None if no input defines them"""
    listless: pl.Series | None
    """users without a list, if the truth has no list keys; None if it has"""
    seen: Grouped | None = None
    """the rows of what each list's user has seen; None without a table of it"""
    placed: dict[str, Pieces] = field(default_factory=dict)
    """columns of the predictions by position, filled when first needed"""
    readings: dict[tuple[object, ...], Any] = field(default_factory=dict)
    """a cache of readings of dense scores, see `judge.dense.reading`"""
    distinct_truth: bool = False
    """whether it is known that no list has an item twice in its truth"""
    repeats_keys: bool = False
    """whether several batches, each with its rows numbered from 0, were put together"""

    @property
    def catalogue(self) -> str:
        """The source that says which items are known, in words."""
        if self.sources.items is not None:
            return "the catalogue"
        trained = self.sources.train is not None or self.known_users is not None
        return "the training data" if trained or self.sources.dense is None else "the scores"

    @property
    def by_user(self) -> bool:
        """Whether the key of a list is its user."""
        return self.sources.key == "user"

    def column(self, name: str) -> Pieces:
        """Return a column of the predictions by position: `item` codes, `score` or `rank`."""
        if name not in self.placed:
            codes = self.items.codes["predictions"]
            frame = self.sources.predictions.frame
            values = codes if name == "item" else pieces(frame[name])
            self.placed[name] = self.lists.take(values)
        return self.placed[name]

    def label(self, number: int) -> str:
        """Return the name of a list for errors and the ledger."""
        return label_of(self.keys, number)

    def first_item(self, side: str, rows: Integers) -> str:
        """Return the smallest of the items in some rows, whatever their order, for the ledger."""
        return repr(smallest(self.items.columns[side].gather(rows)))

    def first_label(self, lists: Integers) -> str:
        """Return the name of the list with the smallest key among some, for the ledger; an empty
        string if there is none."""
        return self.label(self._with_smallest_key(lists)[0]) if len(lists) else ""

    def first_pair(self, side: str, lists: Integers, rows: Integers) -> str:
        """Return the list with the smallest key among those of some rows, and its smallest item,
        for the ledger."""
        numbers = self._with_smallest_key(lists)
        of_list = rows[np.isin(lists, numbers)]
        return f"list {self.label(numbers[0])}, item {self.first_item(side, of_list)}"

    def _with_smallest_key(self, lists: Integers) -> Integers:
        """Return the lists with the smallest key among some."""
        first = lists.min()
        if not self.repeats_keys:
            return np.array([first])
        keys = self.keys.to_numpy()[lists]
        return np.unique(lists[keys == keys.min()])


def label_of(keys: pl.Series, number: int) -> str:
    """Return the name of a list for errors and the ledger."""
    return cut_example(repr(keys[int(number)]))


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """One kind of id, of lists or of users: its columns as runs, in common codes."""

    runs: dict[str, KeyRuns]
    ids: Ids

    def everyone(self, sides: Sequence[str]) -> Integers:
        """Return the distinct codes in these tables, ascending."""
        codes = [distinct_codes(self.ids.codes[side]) for side in sides if side in self.runs]
        return distinct(np.concatenate(codes)) if codes else np.empty(0, np.int64)

    def group_rows(self, universe: Integers, side: str) -> Grouped:
        """Group the rows of a table by the index of their key in the universe."""
        runs = self.runs[side]
        return group(universe, runs.starts, self.ids.codes[side], runs.rows)

    def by_row(self, side: str) -> Pieces:
        """Return the code of every row of a table."""
        runs, codes = self.runs[side], self.ids.codes[side]
        if runs.starts is None:
            return codes
        return Pieces(np.repeat(codes.whole, np.diff(np.append(runs.starts, runs.rows))))


def _align_ids(
    runs: dict[str, KeyRuns], what: str, samples: Mapping[str, Column] | None = None
) -> _Space:
    columns = {side: run.column for side, run in runs.items()}
    return _Space(runs, align(columns, what, samples=samples))


def _sample(sources: Inputs, role: str, sides: Collection[str]) -> dict[str, Column]:
    """Return the ids of these tables that decide of what kind all are, if these are parts."""
    return {
        side: Column.of(table, role)
        for side, table in sources.samples.items()
        if side in sides and _has_column(table, role)
    }


_LISTED = ("predictions", "truth", "weights")
_EVALUATED = ("predictions", "truth", "handed")
_PEOPLE = ("train", "seen", "users")


def load_kernels(rows: int) -> None:
    """Load the kernels if they pay off for so many rows, even if these come in small parts."""
    if should_compile(rows):
        kernel(match_kernel)


def align_inputs(sources: Inputs, exact_items: bool) -> Aligned:
    """Code all ids, find all lists, and group the rows of predictions and truth by list."""
    aligned = _align_by_number(sources)
    if aligned is not None:
        return aligned
    require_polars()
    tables = sources.tables()
    load_kernels(sum(table.frame.height for table in tables.values()))
    lists = {
        side: key_runs(tables[side], "list")
        for side in _LISTED
        if side in tables and _has_column(tables[side], "list")
    }
    people = {side: key_runs(tables[side], "list") for side in _PEOPLE if side in tables}
    if sources.predictions.handed is not None:
        lists["handed"] = single_runs(sources.predictions.handed, sources.predictions)
    if sources.key == "user":
        samples = _sample(sources, "list", lists | people)
        space = users = _align_ids(lists | people, "user", samples)
    else:
        owners = {
            side: key_runs(table, "user")
            for side, table in tables.items()
            if _has_column(table, "user")
        }
        if "users" in people and not owners:
            raise BadTable(
                f"users= was given, but no table says which user a {sources.key!r} belongs to.",
                "a user column next to the list key.",
                "add a user column to the predictions or the truth, or leave out users=.",
            )
        space = _align_ids(lists, "list", _sample(sources, "list", lists))
        samples = _sample(sources, "list", people) | _sample(sources, "user", owners)
        users = _align_ids(people | owners, "user", samples) if owners else space
    return _align_by_code(sources, space, users, exact_items)


def _align_by_number(sources: Inputs) -> Aligned | None:
    """Align scores whose ids are row and column numbers, if the truth uses these numbers in order.

    Nothing has to be coded then. Returns None for all other inputs.
    """
    dense = sources.dense
    if dense is None or not _has_numbers(sources, dense):
        return None
    trained = sources.trained_cells
    is_known = known_columns(dense.columns, None if trained is None else trained.values)
    return align_numbers(
        sources,
        numbers_from_0(dense.rows, "id"),
        None if trained is None else trained.lengths > 0,
        are_known(is_known, sources.truth.frame["item"].to_numpy()),
        int((~is_known[:-1]).sum()) * dense.rows,
    )


def known_columns(columns: int, seen: Integers | None) -> Flags:
    """Flag the columns whose items are in the training data; all columns if `seen` is None.

    There is one more flag at the end, False, for items without a column.
    """
    is_known = np.zeros(columns + 1, bool)
    is_known[slice(columns) if seen is None else occurring(seen, columns)] = True
    return is_known


def are_known(is_known: Flags, items: NDArray[np.signedinteger]) -> Flags:
    """Flag the items that are among the known columns."""
    return is_known[np.where((items >= 0) & (items < len(is_known) - 1), items, -1)]


def align_numbers(
    sources: Inputs, keys: pl.Series, known_users: Flags | None, known_items: Flags, foreign: int
) -> Aligned:
    """Align scores with a truth that is sorted by row and uses row and column numbers as ids."""
    dense = sources.dense
    if dense is None:
        raise ValueError("align_numbers() needs dense scores")
    row, item = sources.truth.frame["list"], sources.truth.frame["item"]
    numbers = np.arange(dense.rows)
    offsets = np.searchsorted(row.to_numpy(), np.arange(dense.rows + 1))
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
            {"predictions": Pieces(np.arange(dense.columns)), "truth": Pieces(item.to_numpy())},
            dtype=pl.Int64(),
        ),
        handed=np.ones(dense.rows, bool),
        known_users=known_users,
        known_items=known_items,
        weights=None,
        left_out=0,
        absent=0,
        foreign=foreign,
        listless=None,
    )


def _has_numbers(sources: Inputs, dense: Dense) -> bool:
    truth, other_tables = (
        sources.truth,
        (sources.train, sources.seen, sources.items, sources.users, sources.weights),
    )
    if dense.named or sources.key != "user" or any(table is not None for table in other_tables):
        return False
    row, item = truth.frame["list"], truth.frame["item"]
    if truth.text or any(
        column.dtype != pl.Int64 or column.null_count() for column in (row, item, dense.items)
    ):
        return False
    rows = row.to_numpy()
    if not len(rows) or rows[0] < 0 or rows[-1] >= dense.rows or np.any(rows[1:] < rows[:-1]):
        return False
    return are_numbers(dense.items)


def _align_by_code(sources: Inputs, space: _Space, users: _Space, exact_items: bool) -> Aligned:
    universe = space.everyone(_EVALUATED)
    people, owners = universe, np.arange(len(universe))
    if users is not space:
        people, owners = _find_owners(sources, space, users, universe)
    evaluated = np.ones(len(universe), bool)
    if "users" in users.runs:
        evaluated = np.isin(people, users.ids.codes["users"].whole)[owners]
    total = len(universe)
    universe, owners = universe[evaluated], owners[evaluated]
    predictions = space.group_rows(universe, "predictions")
    handed = predictions.length > 0
    if "handed" in space.runs:
        handed = handed | (space.group_rows(universe, "handed").length > 0)
    if "truth" in space.runs:
        truth = space.group_rows(universe, "truth")
    else:
        truth = users.group_rows(people, "truth").repeat_lists(owners)
    used_owners, keys = distinct(owners), space.ids.labels(universe)
    weights = space.group_rows(universe, "weights") if "weights" in space.runs else None
    items, known_items, foreign = _align_items(sources, exact_items)
    training, seen = (
        users.group_rows(people, side).repeat_lists(owners) if side in users.runs else None
        for side in ("train", sources.seen_in)
    )
    return Aligned(
        sources=sources,
        keys=keys,
        owners=positions_in(used_owners, owners),
        users=users.ids.labels(people[used_owners]),
        lists=predictions,
        judgements=truth,
        items=items,
        handed=handed,
        known_users=_flag_known_users(training, sources, predictions),
        known_items=known_items,
        weights=list_weights(sources.weights, weights, keys, truth.length > 0),
        left_out=total - len(universe),
        absent=_count_absent(users, people),
        foreign=foreign,
        listless=None
        if "truth" in space.runs
        else users.ids.labels(np.delete(people, used_owners)),
        seen=seen,
    )


def _has_column(table: Table, column: str) -> bool:
    return column in table.frame.columns


def _count_absent(users: _Space, people: Integers) -> int:
    if "users" not in users.runs:
        return 0
    return int((~np.isin(distinct_codes(users.ids.codes["users"]), people)).sum())


def _flag_known_users(training: Grouped | None, sources: Inputs, lists: Grouped) -> Flags | None:
    """Flag the lists whose user is in the training data: a table, or masked cells of scores."""
    if training is not None:
        return training.length > 0
    trained = sources.trained_cells
    if trained is None:
        return None
    is_known = lists.length > 0
    rows = lists.rows(lists.start[is_known])
    is_known[is_known] = trained.lengths[rows] > 0
    return is_known


def _find_owners(
    sources: Inputs, space: _Space, users: _Space, universe: Integers
) -> tuple[Integers, Integers]:
    """Return all users, and the number of the user of each list, from predictions or truth."""
    people = users.everyone(("predictions", "truth"))
    owners = np.full(len(universe), -1, np.int64)
    for side in ("predictions", "truth"):
        if side not in space.runs or side not in users.runs:
            continue
        rows = space.group_rows(universe, side)
        row_owners = positions_in(people, rows.take(users.by_row(side)).whole)
        lists, positions = rows.expand()
        unset = (owners < 0) & (rows.length > 0)
        owners[unset] = row_owners[rows.start[unset]]
        conflicts = lists[row_owners[positions] != owners[lists]]
        if len(conflicts):
            raise BadTable(
                f"{len(distinct(conflicts))} lists of {getattr(sources, side).source} belong to "
                f"several users (first: list {space.ids.labels(universe[conflicts[:1]])[0]!r}).",
                "one user for each list key.",
                "choose a list_key whose values belong to one user each.",
            )
    if (owners < 0).any():
        raise BadTable(
            f"{int((owners < 0).sum())} lists have no user: their rows have a list key only.",
            "a user column next to the list key in the table that contains these lists.",
        )
    return people, owners


def _align_items(sources: Inputs, exact: bool) -> tuple[Ids, Flags | None, int | None]:
    """Code item ids; flag truth rows with known items; count predicted rows with unknown items."""
    sides = {
        side: Column(table.frame["item"], table.source, table.text)
        for side, table in sources.tables().items()
        if _has_column(table, "item")
    }
    if sources.dense is not None:
        hint = "name the columns with items= (--score-items), using the type of the other side."
        sides["predictions"] = Column(sources.dense.items, sources.dense.source, hint=hint)
    # Distinct ids are enough to check membership; only lists are compared with rows of train.
    for side in ("items",) if sources.dense is None else ("train", "seen", "items"):
        if side in sides:
            ids = sides[side].ids
            distinct_ids = ids if kind_of(ids) == "object" else ids.unique()
            sides[side] = replace(sides[side], ids=distinct_ids, first=next(iter(ids), None))
    if sources.known_items is not None and sources.train is not None:
        train = sources.train
        sides["known"] = Column(sources.known_items, train.source, train.text)
    samples = _sample(sources, "item", sides)
    items = align(sides, "item", exact or sources.dense is not None, samples)
    known_by = ("items", "known", "train", *(() if sources.dense is None else ("predictions",)))
    reference = next((side for side in known_by if side in sides), None)
    if reference is None:
        return items, None, None
    if not items.exact:  # hashes are not reliable here: compare the ids
        known_ids = items.columns[reference].unique().implode()
        unknown = ~items.columns["predictions"].is_in(known_ids)
        return items, items.columns["truth"].is_in(known_ids).to_numpy(), int(unknown.sum())
    trained = sources.trained_cells
    if reference == "predictions" and trained is not None:
        known_codes = items.codes[reference].whole
        known_codes = np.sort(known_codes[occurring(trained.values, len(known_codes))])
    else:
        known_codes = np.sort(distinct_codes(items.codes[reference]))
    foreign = sum(
        int((positions_in(known_codes, part) < 0).sum())
        for part in items.codes["predictions"].parts
    )
    foreign *= 1 if sources.dense is None else sources.dense.rows
    return items, positions_in(known_codes, items.codes["truth"].whole) >= 0, foreign
