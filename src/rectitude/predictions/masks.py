"""Cells of a score matrix, given by a sparse matrix or a table, and the best items outside them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Pieces, Ragged, distinct, group, positions_in
from rectitude.data.dense import Dense
from rectitude.data.ids import Column, codes_of, locate
from rectitude.data.read import read
from rectitude.errors import BadArgument, BadTable
from rectitude.rowkernels.rows import best

if TYPE_CHECKING:
    from rectitude.data.table import Table, What


def top(dense: Dense, k: int, train: object = None) -> Integers:
    """Return the columns of the best items of each row, (rows, k), best first; -1 if there is
    none."""
    if k < 1:
        raise BadArgument(f"k is {k}.", "a whole number of at least 1.")
    masked = with_padding(dense, None if train is None else cells(dense, train, "train"))
    columns = np.full((dense.rows, k), -1, np.int64)
    for first, last, block in dense.spans():
        masked_here = None if masked is None else masked.block(first, last)
        columns[first:last] = best(block, masked_here, k)
    return columns


def with_padding(dense: Dense, given: Ragged | None) -> Ragged | None:
    """Return the cells, with the padding column added to every row."""
    if dense.padding is None:
        return given
    padding = np.arange(dense.rows) * dense.columns + dense.padding
    keys = padding[:0] if given is None else keys_of(dense, given)
    return with_keys(dense, np.concatenate((keys, padding)))


def without_padding(dense: Dense, keys: Integers) -> Integers:
    """Return the cell numbers outside the padding column."""
    return keys if dense.padding is None else keys[keys % dense.columns != dense.padding]


def keys_of(dense: Dense, given: Ragged) -> Integers:
    """Return a number for each cell of the matrix, ascending row by row."""
    keys: Integers = given.rows() * dense.columns + given.values
    return keys


def with_keys(dense: Dense, keys: Integers) -> Ragged:
    """Return the cells with these numbers, each once."""
    if not np.all(keys[1:] > keys[:-1]):
        keys = np.unique(keys)
    rows = keys // dense.columns
    start = np.searchsorted(rows, np.arange(dense.rows + 1))
    return Ragged(start, keys - rows * dense.columns)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of a score matrix, row by row, each with a value."""

    columns: Ragged
    values: NDArray[Any] | None
    """(cells,) the value of each cell; None if all are 1"""
    shape: tuple[int, int]
    distinct: bool | None = None
    """whether every cell appears only once; None if that was not checked"""
    source: str = "sparse matrix"
    """what the cells were given as, in words"""

    @staticmethod
    def of(given: Any) -> Cells:
        """Return the cells of a sparse matrix, in their stored order."""
        matrix = given.tocsr()
        offsets = matrix.indptr.astype(np.int64)
        return Cells(Ragged(offsets, matrix.indices), matrix.data, matrix.shape)

    def require_shape(self, rows: int, columns: int, what: str) -> None:
        """Raise an error if the scores have a different shape."""
        if self.shape != (rows, columns):
            raise BadTable(
                f"{what} is a {self.source} of shape {self.shape}, but the scores are "
                f"{rows} x {columns}.",
                "the shape of the scores: rows and columns are matched by position.",
            )

    def mark(self) -> Ragged:
        """Return the cells whose value is not 0, each once, ascending."""
        columns = self.columns
        if self.values is not None and not self.values.all():
            nonzero = self.values != 0
            offsets = np.append(0, np.cumsum(nonzero))[columns.offsets]
            columns = Ragged(offsets, columns.values[nonzero])
        return _each_once(columns, self.shape)

    def are_distinct(self) -> bool:
        """Return whether every cell appears only once."""
        if self.distinct is not None:
            return self.distinct
        return len(_each_once(self.columns, self.shape).values) == len(self.columns.values)

    def grades(self) -> Floats:
        """Return the values as grades, (cells,)."""
        if self.values is None:
            return np.ones(len(self.columns.values))
        return self.values.astype(np.float64)


def _each_once(columns: Ragged, shape: tuple[int, int]) -> Ragged:
    """Return the columns of every row, each once, ascending."""
    if columns.ascends():
        return columns
    from scipy.sparse import csr_array

    marks = np.ones(len(columns.values), np.int8)
    matrix = csr_array((marks, columns.values, columns.offsets), shape=shape, copy=True)
    matrix.sum_duplicates()
    return Ragged(matrix.indptr.astype(np.int64), matrix.indices)


def are_cells(given: object) -> bool:
    """Return whether a value gives cells by position, as a sparse matrix does."""
    sparse = sys.modules.get("scipy.sparse")
    return isinstance(given, Cells) or (sparse is not None and bool(sparse.issparse(given)))


def by_position(dense: Dense, given: Any, what: str) -> Cells:
    """Return the cells of a sparse matrix. Raise an error if its shape differs from the scores'."""
    positions = given if isinstance(given, Cells) else Cells.of(given)
    positions.require_shape(dense.rows, dense.columns, what)
    return positions


def cells(dense: Dense, given: object, what: What) -> Ragged:
    """Return the cells given by a sparse matrix or by a table of users and items."""
    if are_cells(given):
        return by_position(dense, given, what).mark()
    return from_table(dense, read(given, what), what)


def from_table(dense: Dense, table: Table, what: What) -> Ragged:
    """Return the cells of the users (for candidates: of the lists) and items in a table.

    Users without a row of scores are ignored. A user with several rows gets the same cells in each.
    """
    frame = dense.table.frame
    key = "list" if what == "candidates" or "user" not in frame.columns else "user"
    owner, table_owner = codes_of(Column(frame[key], dense.source), table, "list")
    universe = distinct(owner)
    matches = group(universe, None, Pieces(table_owner), len(table_owner)).repeat_lists(
        positions_in(universe, owner)
    )
    rows, where = matches.expand()
    table_rows = matches.rows(where)
    column = columns_of(dense, table)[table_rows]
    if column.min(initial=0) < 0:
        raise _unknown_items(table, table_rows, column < 0)
    return with_keys(dense, rows * dense.columns + column)


def _unknown_items(table: Table, rows: Integers, unknown: Flags) -> BadTable:
    row = int(rows[unknown].min())
    return BadTable(
        f"{int(unknown.sum())} of {len(unknown)} rows of {table.source} have an item that is "
        f"not a column of the scores (first: row {row + 1}, item {table.frame['item'][row]!r}).",
        "only items with a column of scores; any other item would be silently ignored.",
        "name the columns with items=, or drop these rows.",
    )


def columns_of(dense: Dense, table: Table) -> Integers:
    """Return the column of the item in each row of a table, (rows,); -1 if it has none."""
    return locate(*codes_of(Column(dense.items, dense.source), table, "item"))


def has_column(dense: Dense, table: Table) -> Flags:
    """Return whether the item in each row of a table has a column, (rows,)."""
    return columns_of(dense, table) >= 0


def has_row(dense: Dense, table: Table) -> Flags:
    """Return whether the user of each row of scores occurs in a table, (rows,)."""
    frame = dense.table.frame
    users = frame["user" if "user" in frame.columns else "list"]
    return np.isin(*codes_of(Column(users, dense.source), table, "list"))
