"""Attributes: the extra columns of the tables of items and users.

An entry is an item or a user; entries are numbered. A column is read when a metric needs it, as
groups (one value per entry), memberships (several values per entry), vectors or plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct
from rectitude.data.ledger import Ledger
from rectitude.data.table import Table
from rectitude.errors import BadTable, MissingNeed, nearest
from rectitude.parallel import Once

Values = TypeVar("Values")
_IDS = {"item": "item", "user": "list"}


class Groups(NamedTuple):
    """One value for each entry."""

    number: Integers
    """(entries,) the number of the value, -1 if the entry has none"""
    names: pl.Series
    """(groups,) the distinct values, sorted"""


class Memberships(NamedTuple):
    """Any number of values for each entry."""

    entry: Integers
    """(pairs,) the entry, ascending"""
    number: Integers
    """(pairs,) the number of a value of the entry; ascending, each value once"""
    names: pl.Series
    """(groups,) the distinct values, sorted"""


@dataclass(frozen=True, eq=False)
class Attributes:
    """The columns of a table of items or users, which are numbered from 0 to `size` - 1."""

    what: Literal["item", "user"]
    table: Table | None
    row: Integers
    """(rows of the table,) the number of the entry in the row"""
    size: int
    kept: Once = field(default_factory=Once, repr=False)
    """a cache of the columns read so far"""

    def groups(self, column: str) -> Groups:
        """Return the value of each entry; raise an error if an entry has several."""
        return self._cached("groups", column, self._read_groups)

    def memberships(self, column: str) -> Memberships:
        """Return all values of each entry: those in all its rows, and in lists in the column."""
        return self._cached("memberships", column, self._read_memberships)

    def vectors(self, column: str) -> Floats:
        """Return the vector of each entry, shape (entries, d); NaN if an entry has none.

        They come from a column of lists or numbers, or from the columns NAME0, NAME1 and so on.
        """
        return self._cached("vectors", column, self._read_vectors)

    def values(self, column: str) -> Floats:
        """Return the number of each entry in a column; NaN if it has none."""
        vectors = self.vectors(column)
        if vectors.shape[1] != 1:
            raise BadTable(
                f"{self._source} has {vectors.shape[1]} numbers in {column!r} for each "
                f"{self.what}.",
                f"one number for each {self.what}.",
            )
        return vectors[:, 0]

    def missing(self) -> dict[str, Flags]:
        """Flag the entries without a value, for every column that was read."""
        # Threads may have read the columns in any order.
        columns = sorted(self.kept.made.items(), key=lambda entry: str(entry[0]))
        return {column: _flag_missing(values, self.size) for (_, column), values in columns}

    def account(self, ledger: Ledger, ids: pl.Series, among: Integers | None = None) -> None:
        """Count in the ledger the entries without a value, for every column that was read.

        If `among` is given, count only these entries.
        """
        chosen = np.arange(self.size) if among is None else distinct(among)
        for column, flags in self.missing().items():
            lacking = chosen[flags[chosen]]
            first = repr(ids[int(lacking[0])]) if len(lacking) else ""
            about = f"{self.what}s have no {column!r}: left out by metrics that use it"
            name = f"{self.what}s_without_{column}"
            ledger.count(name, len(lacking), about, len(chosen), first, "notice")

    def _cached(self, kind: str, column: str, read: Callable[[str], Values]) -> Values:
        return self.kept((kind, column), lambda: read(column))

    @property
    def _source(self) -> str:
        return f"{self.what}s= ({self._require_table(self.what).source})"

    def _require_table(self, column: str) -> Table:
        if self.table is None:
            raise MissingNeed(
                f"a metric needs the column {column!r} of {self.what}s, but no table of"
                f" {self.what}s was given.",
                advice=f"pass {self.what}s= with the columns {self.what!r} and {column!r}.",
            )
        return self.table

    def _read_column(self, column: str) -> pl.Series:
        frame = self._require_table(column).frame
        if column not in frame.columns or column == _IDS[self.what]:
            raise self._missing_column(column)
        values = frame[column]
        if values.dtype == pl.Object:
            raise BadTable(
                f"column {column!r} of {self._source} contains Python objects.", "text or numbers."
            )
        return values

    def _missing_column(self, column: str) -> MissingNeed:
        names = [n for n in self._require_table(column).frame.columns if n != _IDS[self.what]]
        close = nearest(column, names)
        return MissingNeed(
            f"{self._source} has no column {column!r}; its columns besides the {self.what}: "
            f"{', '.join(names) or 'none'}.",
            f"a column with a value for each {self.what}.",
            f"did you mean {close}?" if close else "",
        )

    def _read_memberships(self, column: str) -> Memberships:
        values = _normalize(self._read_column(column))
        pairs = pl.DataFrame({"entry": self.row, "value": values})
        if isinstance(values.dtype, (pl.List, pl.Array)):
            pairs = pairs.explode("value")
            pairs = pairs.with_columns(_normalize(pairs["value"]))
        pairs = pairs.drop_nulls()
        names = pairs["value"].unique().sort()
        if not pairs.height:
            return Memberships(self.row[:0], self.row[:0], names)
        numbers = pl.DataFrame({"value": names, "number": np.arange(len(names))})
        number = pairs.join(numbers, on="value", how="left", maintain_order="left")["number"]
        keys = distinct(pairs["entry"].to_numpy() * len(names) + number.to_numpy())
        return Memberships(keys // len(names), keys % len(names), names)

    def _read_groups(self, column: str) -> Groups:
        entry, number, names = self._read_memberships(column)
        repeated = entry[1:][entry[1:] == entry[:-1]]
        if len(repeated):
            raise self._several_values(column, distinct(repeated))
        groups = np.full(self.size, -1)
        groups[entry] = number
        return Groups(groups, names)

    def _read_vectors(self, column: str) -> Floats:
        rows = self._read_matrix(column)
        with_vector = np.flatnonzero(~np.isnan(rows).any(axis=1))
        rows, entry = rows[with_vector], self.row[with_vector]
        if not np.isfinite(rows).all():
            raise BadTable(
                f"column {column!r} of {self._source} contains infinite numbers.",
                "finite numbers.",
            )
        vectors = np.full((self.size, rows.shape[1]), np.nan)
        vectors[entry] = rows
        wrong = (vectors[entry] != rows).any(axis=1)
        if wrong.any():
            raise self._several_values(column, distinct(entry[wrong]))
        return vectors

    def _read_matrix(self, column: str) -> Floats:
        """Return the numbers of a column, shape (rows of the table, d); NaN if there is none."""
        frame = self._require_table(column).frame
        if column not in frame.columns:
            matches = {n: re.fullmatch(rf"{re.escape(column)}(\d+)", n) for n in frame.columns}
            numbered = sorted((int(match[1]), name) for name, match in matches.items() if match)
            if not numbered:
                raise self._missing_column(column)
            columns = [self._cast_numbers(frame[name]) for _, name in numbered]
            return np.stack(columns, axis=1)
        values = self._read_column(column)
        if isinstance(values.dtype, pl.Array):
            values = values.arr.to_list()
        if isinstance(values.dtype, pl.List):
            return self._stack_lists(values)
        return self._cast_numbers(values)[:, None]

    def _stack_lists(self, values: pl.Series) -> Floats:
        """Return lists of numbers, which must have the same length, as a matrix."""
        lengths = values.list.len().fill_null(0).to_numpy()
        widths = distinct(lengths[lengths > 0].astype(np.int64))
        if len(widths) > 1:
            raise BadTable(
                f"column {values.name!r} of {self._source} contains lists of {widths[0]} and of "
                f"{widths[1]} numbers.",
                "the same number of values in every row.",
            )
        is_filled, width = lengths > 0, int(widths[0]) if len(widths) else 1
        rows = np.full((len(values), width), np.nan)
        rows[is_filled] = self._cast_numbers(values.filter(is_filled).explode()).reshape(-1, width)
        return rows

    def _cast_numbers(self, values: pl.Series) -> Floats:
        numbers = values.cast(pl.Float64, strict=False)
        wrong = numbers.is_null() & values.is_not_null()
        if wrong.any():
            raise BadTable(
                f"column {values.name!r} of {self._source} contains {values.filter(wrong)[0]!r}.",
                "numbers only.",
            )
        filled: Floats = numbers.fill_null(float("nan")).to_numpy()
        return filled

    def _several_values(self, column: str, entries: Integers) -> BadTable:
        row = int(np.flatnonzero(self.row == entries[0])[0])
        first = self._require_table(column).frame[_IDS[self.what]][row]
        return BadTable(
            f"{len(entries)} {self.what}s of {self._source} have several values in {column!r} "
            f"(first: {self.what} {first!r}).",
            f"one value for each {self.what}.",
        )


def _normalize(values: pl.Series) -> pl.Series:
    """Return values in a form that sorts naturally: categories as text, NaN as missing."""
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    return values.fill_nan(None) if values.dtype.is_float() else values


def _flag_missing(values: Groups | Memberships | Floats, size: int) -> Flags:
    if isinstance(values, Groups):
        return values.number < 0
    lacking: Flags = np.ones(size, bool)
    lacking[values.entry if isinstance(values, Memberships) else ~np.isnan(values[:, 0])] = False
    return lacking
