"""Attributes: further columns of the tables about items and users, by the number of the entry.

An entry is an item or a user. A column is read as groups (one value an entry), memberships (several
values), vectors or plain numbers, when a metric asks for it.
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

Found = TypeVar("Found")
_IDS = {"item": "item", "user": "list"}


class Groups(NamedTuple):
    """One value for each entry."""

    number: Integers
    """(entries,) the number of the value, -1 where there is none"""
    names: pl.Series
    """(groups,) the different values, sorted"""


class Memberships(NamedTuple):
    """Any number of values for each entry."""

    entry: Integers
    """(pairs,) ascending"""
    number: Integers
    """(pairs,) the number of a value that the entry has, each once and ascending"""
    names: pl.Series
    """(groups,) the different values, sorted"""


@dataclass(frozen=True)
class Attributes:
    """The columns of a table about entries, which are numbered from 0 to `size` - 1."""

    what: Literal["item", "user"]
    table: Table | None
    row: Integers
    """(rows of the table) the entry that the row is about"""
    size: int
    kept: Once = field(default_factory=Once, repr=False)
    """what was read so far"""

    def groups(self, column: str) -> Groups:
        """The value of each entry; an error where an entry has several."""
        return self._once("groups", column, self._groups)

    def memberships(self, column: str) -> Memberships:
        """All values of each entry: those of a list in the column, and of all its rows."""
        return self._once("memberships", column, self._memberships)

    def vectors(self, column: str) -> Floats:
        """(entries, d) the vector of each entry: a column of lists or of numbers, or the columns
        NAME0, NAME1 and so on. A row of NaN where there is none."""
        return self._once("vectors", column, self._vectors)

    def values(self, column: str) -> Floats:
        """(entries,) the number in a column, NaN where there is none."""
        vectors = self.vectors(column)
        if vectors.shape[1] != 1:
            raise BadTable(
                f"{self._source} has {vectors.shape[1]} numbers in {column!r} for each "
                f"{self.what}.",
                f"one number for each {self.what}.",
            )
        return vectors[:, 0]

    def missing(self) -> dict[str, Flags]:
        """(entries,) whether an entry has no value, for every column that was read."""
        known = sorted(self.kept.made.items(), key=lambda found: str(found[0]))  # whoever was first
        return {column: _missing(found, self.size) for (_, column), found in known}

    def account(self, ledger: Ledger, ids: pl.Series, among: Integers | None = None) -> None:
        """Count the entries, or those among some, that lack a value of a column that was read."""
        chosen = np.arange(self.size) if among is None else distinct(among)
        for column, flags in self.missing().items():
            lacking = chosen[flags[chosen]]
            first = repr(ids[int(lacking[0])]) if len(lacking) else ""
            about = f"{self.what}s have no {column!r}: left out by metrics that look at it"
            name = f"{self.what}s_without_{column}"
            ledger.count(name, len(lacking), about, len(chosen), first, "notice")

    def _once(self, kind: str, column: str, read: Callable[[str], Found]) -> Found:
        return self.kept((kind, column), lambda: read(column))

    @property
    def _source(self) -> str:
        return f"{self.what}s= ({self._given(self.what).source})"

    def _given(self, column: str) -> Table:
        if self.table is None:
            raise MissingNeed(
                f"{self.what}s have no attributes: column {column!r} was asked for, and no table of"
                f" {self.what}s was given.",
                advice=f"pass {self.what}s= with the columns {self.what!r} and {column!r}.",
            )
        return self.table

    def _column(self, column: str) -> pl.Series:
        frame = self._given(column).frame
        if column not in frame.columns or column == _IDS[self.what]:
            raise self._no_column(column)
        values = frame[column]
        if values.dtype == pl.Object:
            raise BadTable(
                f"column {column!r} of {self._source} holds Python objects.", "text or numbers."
            )
        return values

    def _no_column(self, column: str) -> MissingNeed:
        names = [n for n in self._given(column).frame.columns if n != _IDS[self.what]]
        close = nearest(column, names)
        return MissingNeed(
            f"{self._source} has no column {column!r}; its columns beside the {self.what}: "
            f"{', '.join(names) or 'none'}.",
            f"one with a value for each {self.what}.",
            f"did you mean {close}?" if close else "",
        )

    def _memberships(self, column: str) -> Memberships:
        values = _plain(self._column(column))
        pairs = pl.DataFrame({"entry": self.row, "value": values})
        if isinstance(values.dtype, (pl.List, pl.Array)):
            pairs = pairs.explode("value")
            pairs = pairs.with_columns(_plain(pairs["value"]))
        pairs = pairs.drop_nulls()
        names = pairs["value"].unique().sort()
        if not pairs.height:
            return Memberships(self.row[:0], self.row[:0], names)
        known = pl.DataFrame({"value": names, "number": np.arange(len(names))})
        number = pairs.join(known, on="value", how="left", maintain_order="left")["number"]
        keys = distinct(pairs["entry"].to_numpy() * len(names) + number.to_numpy())
        return Memberships(keys // len(names), keys % len(names), names)

    def _groups(self, column: str) -> Groups:
        entry, number, names = self._memberships(column)
        again = entry[1:][entry[1:] == entry[:-1]]
        if len(again):
            raise self._several(column, distinct(again))
        found = np.full(self.size, -1)
        found[entry] = number
        return Groups(found, names)

    def _vectors(self, column: str) -> Floats:
        rows = self._matrix(column)
        there = np.flatnonzero(~np.isnan(rows).any(axis=1))
        rows, entry = rows[there], self.row[there]
        if not np.isfinite(rows).all():
            raise BadTable(
                f"column {column!r} of {self._source} holds infinite numbers.", "finite numbers."
            )
        found = np.full((self.size, rows.shape[1]), np.nan)
        found[entry] = rows
        wrong = (found[entry] != rows).any(axis=1)
        if wrong.any():
            raise self._several(column, distinct(entry[wrong]))
        return found

    def _matrix(self, column: str) -> Floats:
        """(rows of the table, d) the numbers of a column, NaN where there is none."""
        frame = self._given(column).frame
        if column not in frame.columns:
            parts = {n: re.fullmatch(rf"{re.escape(column)}(\d+)", n) for n in frame.columns}
            numbered = sorted((int(found[1]), name) for name, found in parts.items() if found)
            if not numbered:
                raise self._no_column(column)
            columns = [self._numbers(frame[name]) for _, name in numbered]
            return np.stack(columns, axis=1)
        values = self._column(column)
        if isinstance(values.dtype, pl.Array):
            values = values.arr.to_list()
        if isinstance(values.dtype, pl.List):
            return self._lists(values)
        return self._numbers(values)[:, None]

    def _lists(self, values: pl.Series) -> Floats:
        """Lists of numbers, which must be equally long, as rows."""
        lengths = values.list.len().fill_null(0).to_numpy()
        widths = distinct(lengths[lengths > 0].astype(np.int64))
        if len(widths) > 1:
            raise BadTable(
                f"column {values.name!r} of {self._source} holds lists of {widths[0]} and of "
                f"{widths[1]} numbers.",
                "equally many numbers in every row.",
            )
        there, width = lengths > 0, int(widths[0]) if len(widths) else 1
        rows = np.full((len(values), width), np.nan)
        rows[there] = self._numbers(values.filter(there).explode()).reshape(-1, width)
        return rows

    def _numbers(self, values: pl.Series) -> Floats:
        numbers = values.cast(pl.Float64, strict=False)
        wrong = numbers.is_null() & values.is_not_null()
        if wrong.any():
            raise BadTable(
                f"column {values.name!r} of {self._source} holds {values.filter(wrong)[0]!r}.",
                "numbers.",
            )
        found: Floats = numbers.fill_null(float("nan")).to_numpy()
        return found

    def _several(self, column: str, entries: Integers) -> BadTable:
        row = int(np.flatnonzero(self.row == entries[0])[0])
        first = self._given(column).frame[_IDS[self.what]][row]
        return BadTable(
            f"{len(entries)} {self.what}s of {self._source} have several values of {column!r} "
            f"(first: {self.what} {first!r}).",
            f"one for each {self.what}.",
        )


def _plain(values: pl.Series) -> pl.Series:
    """Values that sort as they read: categories as their text, NaN as no value."""
    if values.dtype in (pl.Categorical, pl.Enum):
        return values.cast(pl.String)
    return values.fill_nan(None) if values.dtype.is_float() else values


def _missing(found: Groups | Memberships | Floats, size: int) -> Flags:
    if isinstance(found, Groups):
        return found.number < 0
    lacking: Flags = np.ones(size, bool)
    lacking[found.entry if isinstance(found, Memberships) else ~np.isnan(found[:, 0])] = False
    return lacking
