"""Cells of a dense matrix that a sparse matrix or a table names, and the best of the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.arrays import Flags, Integers, Pieces, Ragged, distinct, group, places
from rectitude.data.dense import Dense
from rectitude.data.ids import Column, codes_of, located
from rectitude.data.read import read
from rectitude.errors import BadName, BadTable
from rectitude.rowkernels.rows import best

if TYPE_CHECKING:
    from rectitude.data.table import Table, What


def top(dense: Dense, k: int, train: object = None) -> Integers:
    """(rows, k) the columns of the best items of each row, best first; -1 where there is none."""
    if k < 1:
        raise BadName(f"the best {k} items were asked for.", "a number from 1 on.")
    masked = with_padding(dense, None if train is None else cells(dense, train, "train"))
    found = np.full((dense.rows, k), -1, np.int64)
    for first, last, block in dense.spans():
        mine = None if masked is None else masked.block(first, last)
        found[first:last] = best(block, mine, k)
    return found


def with_padding(dense: Dense, given: Ragged | None) -> Ragged | None:
    """The cells, and that of the padding column in every row."""
    if dense.padding is None:
        return given
    padding = np.arange(dense.rows) * dense.columns + dense.padding
    known = padding[:0] if given is None else keys_of(dense, given)
    return with_keys(dense, np.concatenate((known, padding)))


def without_padding(dense: Dense, keys: Integers) -> Integers:
    """The numbers of cells outside the padding column."""
    return keys if dense.padding is None else keys[keys % dense.columns != dense.padding]


def keys_of(dense: Dense, given: Ragged) -> Integers:
    """A number for each cell of the matrix, ascending row by row."""
    keys: Integers = given.rows() * dense.columns + given.values
    return keys


def with_keys(dense: Dense, keys: Integers) -> Ragged:
    """The cells that have these numbers, each once."""
    if not np.all(keys[1:] > keys[:-1]):
        keys = np.unique(keys)
    rows = keys // dense.columns
    start = np.searchsorted(rows, np.arange(dense.rows + 1))
    return Ragged(start, keys - rows * dense.columns)


def cells(dense: Dense, given: object, what: What) -> Ragged:
    """The cells that a sparse matrix or a table of users and items names."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(given):
        return _from_sparse(dense, given, what)
    return from_table(dense, read(given, what), what)


def _from_sparse(dense: Dense, given: Any, what: str) -> Ragged:
    matrix = by_position(dense, given, what)
    if matrix.nnz and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return Ragged(matrix.indptr.astype(np.int64), matrix.indices)


def by_position(dense: Dense, given: Any, what: str) -> Any:
    """A sparse matrix in compressed rows, or an error if it does not have the scores' shape."""
    if given.shape != (dense.rows, dense.columns):
        raise BadTable(
            f"{what} is a sparse matrix of shape {given.shape}, and the scores are "
            f"{dense.rows} x {dense.columns}.",
            "the shape of the scores: rows and columns are matched by position.",
        )
    return given.tocsr()


def from_table(dense: Dense, table: Table, what: What) -> Ragged:
    """The cells of the users (for candidates: the lists) and items that a table names.

    Users without a row say nothing; a user with several rows has the same cells in each.
    """
    frame = dense.table.frame
    key = "list" if what == "candidates" or "user" not in frame.columns else "user"
    owner, named = codes_of(Column(frame[key], dense.source), table, "list")
    universe = distinct(owner)
    mine = group(universe, None, Pieces(named), len(named)).repeated(places(universe, owner))
    rows, where = mine.expand()
    at = mine.rows(where)
    column = columns_of(dense, table)[at]
    if column.min(initial=0) < 0:
        raise _unknown(table, at, column < 0)
    return with_keys(dense, rows * dense.columns + column)


def _unknown(table: Table, rows: Integers, unknown: Flags) -> BadTable:
    row = int(rows[unknown].min())
    return BadTable(
        f"{int(unknown.sum())} of {len(unknown)} rows of {table.source} name an item that no "
        f"column of the scores stands for (first: row {row + 1}, item "
        f"{table.frame['item'][row]!r}).",
        "items of the scores only: a mask that misses its items masks nothing.",
        "name the columns with items=, or drop these rows.",
    )


def columns_of(dense: Dense, table: Table) -> Integers:
    """(rows) the column of the item of each row of a table, -1 where it has none."""
    return located(*codes_of(Column(dense.items, dense.source), table, "item"))


def has_column(dense: Dense, table: Table) -> Flags:
    """(rows) whether the item of each row of a table has a column."""
    return columns_of(dense, table) >= 0


def has_row(dense: Dense, table: Table) -> Flags:
    """(rows) whether the user of each row of scores occurs in a table."""
    frame = dense.table.frame
    users = frame["user" if "user" in frame.columns else "list"]
    return np.isin(*codes_of(Column(users, dense.source), table, "list"))
