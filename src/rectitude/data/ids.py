"""Outside ids and the integer codes that stand for them.

Ids are kept as they are: nothing is cast to text or to float. Codes that `align` gives to columns
of several tables are int64 and equal exactly when the ids are equal. Where they are `ordered`, they
also sort as the ids do: integers by value, text by its UTF-8 bytes.

Text in large columns is coded by its 64-bit hash, many times faster than a dictionary. Such codes
are not `exact`: whoever finds two codes equal confirms it with `same`, and asks for exact codes
again in the case, so far never met, that two ids share a hash.

A column alone is numbered by `codes` or `ranks`, in 32 bits and on several threads. `fitting`
brings ids to the types of another table, where they go on as ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, Pieces, distinct, places, run_starts
from rectitude.data.table import Table
from rectitude.data.values import blocks, pieces, plain
from rectitude.errors import BadIds
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import in_blocks, thread_count, together

Codes = NDArray[np.uint32]
HASH_FROM_ROWS = 1_000_000
_BLOCK = 1 << 18
_GLANCE = 1 << 10
"""Rows that show whether equal codes stand together."""
_ROWS_EACH = 4
"""With so many rows for each number up to the highest, numbers need not be made denser."""
_SPARE = 1024
"""A table of all numbers up to the highest id may have so many entries more than the column."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of ids: where it stands, and whether it was read from untyped text."""

    ids: pl.Series
    source: str
    text: bool = False
    hint: str = ""
    """what to do where these ids do not fit the others"""
    first: object = None
    """the first of them in the source, where these are its distinct ids in any order"""

    @staticmethod
    def of(table: Table, name: str) -> Column:
        """A column of a table."""
        return Column(table.frame[name], table.source, table.text)


@dataclass(frozen=True, slots=True)
class Ids:
    """The columns of one kind of id (lists, users or items) in a common coding."""

    kind: str
    columns: Mapping[str, pl.Series]
    codes: Mapping[str, Pieces]
    names: pl.Series | None = None
    """the ids by code, unless the codes are the ids themselves or hashes"""
    exact: bool = True
    ordered: bool = True
    """codes sort as the ids do"""
    dtype: pl.DataType | None = None
    """the type of the ids, if all columns have the same"""

    def labels(self, codes: NDArray[np.int64]) -> pl.Series:
        """The ids that these codes stand for."""
        if self.kind == "object" and self.names is not None:
            objects = [self.names[int(code)] for code in codes]
            return pl.Series("id", objects, dtype=pl.Object)
        ids = pl.Series("id", codes) if self.names is None else self.names.gather(codes)
        return ids if self.dtype is None else ids.cast(self.dtype)

    def label(self, side: str, row: int) -> Any:
        """The id that stands in a row."""
        return self.columns[side][int(row)]

    def same(
        self, side: str, rows: NDArray[np.int64], other: str, others: NDArray[np.int64]
    ) -> bool:
        """Whether the ids in these rows are pairwise equal, looking at the ids themselves."""
        if self.exact:
            return True
        return bool((self.columns[side][rows] == self.columns[other][others]).all())


def align(columns: Mapping[str, Column], what: str, exact: bool = True) -> Ids:
    """Codes that are comparable across columns, or an error that explains how the ids differ."""
    kind = _common_kind(columns, what)
    typed = {side: _typed(column, kind) for side, column in columns.items()}
    dtypes = {series.dtype for side, series in typed.items() if len(series)}
    ids = _coded(kind, typed, exact)
    return replace(ids, dtype=dtypes.pop() if len(dtypes) == 1 else None)


@dataclass(frozen=True, slots=True)
class NumberedIds:
    """Columns of one kind of id in numbers from 0 on, which sort as their codes do."""

    aligned: Ids
    codes: Integers
    """by number, ascending"""
    numbers: Mapping[str, Integers]
    """side -> (rows) the number of the id"""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def ids(self) -> pl.Series:
        """The ids by number."""
        return self.aligned.labels(self.codes)


def numbered(columns: Mapping[str, Column], what: str) -> NumberedIds:
    """The ids of several columns as numbers that are common to all of them."""
    ids = align(columns, what)
    codes = {side: own.whole for side, own in ids.codes.items()}
    known = distinct(*map(_fewer, codes.values()))
    return NumberedIds(ids, known, {side: places(known, own) for side, own in codes.items()})


def _fewer(codes: Integers) -> Integers:
    """The same codes, those of a run once, if there are runs."""
    runs = 2 * len(run_starts(codes[:_GLANCE])) < min(len(codes), _GLANCE)
    return codes[run_starts(codes)] if runs else codes


def among(own: Column, other: Column, what: str) -> Flags:
    """(rows) whether the ids of one column stand in another."""
    codes = align({"own": own, "other": other}, what).codes
    return np.isin(codes["own"].whole, codes["other"].whole)


def codes_of(own: Column, table: Table, role: str) -> tuple[Integers, Integers]:
    """Some ids, and those of a table, in common codes."""
    what = "user" if role == "list" else "item"
    codes = align({"own": own, "table": Column.of(table, role)}, what).codes
    return codes["own"].whole, codes["table"].whole


def located(known: Integers, codes: Integers) -> Integers:
    """The place of each code among known ones in any order, each of which occurs once."""
    if np.all(known[1:] > known[:-1]):
        return places(known, codes)
    order = np.argsort(known)
    found = places(known[order], codes)
    return np.where(found >= 0, order[found], -1)


def lookalikes(one: pl.Series, other: pl.Series) -> str:
    """How ids that differ would be equal: what they differ by; empty if they would not."""
    if pl.Object in (one.dtype, other.dtype):
        return ""
    ways: dict[str, Callable[[pl.Series], pl.Series]] = {
        "spaces around them": lambda ids: ids,
        "a '.0' at the end": lambda ids: ids.str.replace(r"\.0+$", ""),
        "zeros in front": lambda ids: ids.str.replace(r"^0+(\d)", "$1"),
        "capital letters": lambda ids: ids.str.to_lowercase(),
    }
    left, right = (ids.unique().cast(pl.String).str.strip_chars() for ids in (one, other))
    found = (way for way, form in ways.items() if form(left).is_in(form(right).implode()).any())
    return next(found, "")


def kind_of(series: pl.Series) -> str:
    """What a column of ids holds: integer, float, text, object, or another Polars type."""
    dtype = series.dtype
    if dtype.is_integer():
        return "integer"
    if dtype.is_float():
        return "float"
    if dtype == pl.Object:
        return "object"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return str(dtype)


def has_128_bits(series: pl.Series) -> bool:
    """Whether ids are integers of a width that NumPy does not have."""
    return str(series.dtype) in ("Int128", "UInt128")


def whole_numbers(series: pl.Series) -> pl.Series | None:
    """Text ids as integers, if every one is an integer written the plain way (`7`, not `07` or
    `+7`); readers of large files may have seen to that."""
    if series.dtype.is_integer():
        return series
    if not len(series):
        return series.cast(pl.Int64)
    numbers = series.cast(pl.Int64, strict=False)
    if numbers.null_count():
        numbers = series.cast(pl.UInt64, strict=False)
    if numbers.null_count():
        return None
    return numbers if _plainly_written(series, cast("int", numbers.min())) else None


def _plainly_written(integers: pl.Series, least: int) -> bool:
    """Whether no text of an integer has a plus or zeros before it; the least of them is told."""
    odd = integers.str.starts_with("+")
    if least <= 0:
        odd = odd | integers.str.starts_with("-0")
    zeros = integers.str.starts_with("0") & (integers.str.len_bytes() > 1)
    return not (odd | zeros).any()


def _common_kind(columns: Mapping[str, Column], what: str) -> str:
    strict = {s: kind_of(c.ids) for s, c in columns.items() if not c.text and len(c.ids)}
    loose = {s: c for s, c in columns.items() if c.text and len(c.ids)}
    kinds = set(strict.values())
    if not kinds:
        plain = all(whole_numbers(c.ids) is not None for c in loose.values())
        return "integer" if plain and loose else "text"
    if len(kinds) > 1 and "object" not in kinds:
        raise _differ(columns, strict, what)
    kind = "object" if "object" in kinds else kinds.pop()
    for side, column in loose.items():
        fits = kind == "text" or (kind == "integer" and whole_numbers(column.ids) is not None)
        if not fits:
            raise _differ(columns, {**strict, side: "text"}, what)
    return kind


def _differ(columns: Mapping[str, Column], kinds: Mapping[str, str], what: str) -> BadIds:
    told = {side: columns[side].first for side in kinds}
    firsts = {side: columns[side].ids[0] if told[side] is None else told[side] for side in kinds}
    shown = [
        f"{kind} in {side} ({columns[side].source}, first:"
        f" {(str(firsts[side]) if kind == 'text' else firsts[side])!r})"
        for side, kind in kinds.items()
    ]
    hint = next((column.hint for column in columns.values() if column.hint), "")
    polars, pandas = ("pl.String", "str") if "text" in kinds.values() else ("pl.Int64", "int64")
    return BadIds(
        f"{what} ids are {' but '.join(shown)}.",
        "the same type on every side: 1, 1.0 and '1' are different ids.",
        hint or f"cast one side first: .cast({polars}) in Polars, .astype({pandas!r}) in pandas.",
    )


def _typed(column: Column, kind: str) -> pl.Series:
    series = column.ids
    if kind == "integer" and not series.dtype.is_integer():
        numbers = whole_numbers(series)
        return series.clear().cast(pl.Int64) if numbers is None else numbers
    if kind == "text" and series.dtype != pl.String:
        return series.cast(pl.String)
    if not len(series) and kind_of(series) != kind and kind != "object":
        return series.clear().cast(pl.Float64 if kind == "float" else pl.String)
    return series


def _coded(kind: str, typed: Mapping[str, pl.Series], exact: bool) -> Ids:
    if kind == "integer":
        return _integers(typed)
    if kind == "object":
        return _objects(typed)
    rows = sum(len(series) for series in typed.values())
    if kind == "text" and not exact and rows >= HASH_FROM_ROWS:
        hashes = {side: _hashes(series) for side, series in typed.items()}
        return Ids("text", typed, hashes, None, exact=False, ordered=False)
    return _sorted_codes(kind, typed)


def _integers(typed: Mapping[str, pl.Series]) -> Ids:
    large = [s for s in typed.values() if len(s) and (s.dtype == pl.UInt64 or has_128_bits(s))]
    ends: list[Any] = [end for series in large for end in (series.min(), series.max())]
    if max(ends, default=0) >= 2**63 or min(ends, default=0) < -(2**63):
        wide = pl.UInt128 if max(ends) >= 2**127 else pl.Int128
        return _sorted_codes("integer", {s: v.cast(wide) for s, v in typed.items()})
    codes = {side: pieces(series.cast(pl.Int64)) for side, series in typed.items()}
    return Ids("integer", typed, codes)


def _hashes(series: pl.Series) -> Pieces:
    return pieces(series.hash()).map(lambda part: part.view(np.int64))


def _sorted_codes(kind: str, typed: Mapping[str, pl.Series]) -> Ids:
    """Codes that are places among the sorted distinct ids of all columns."""
    distinct = pl.concat([series.unique().alias("id") for series in typed.values()])
    names = distinct.unique().sort()
    if kind == "text":
        enum = pl.Enum(names)
        codes = {side: pieces(s.cast(enum).to_physical()) for side, s in typed.items()}
    else:
        codes = {side: pieces(names.search_sorted(s)) for side, s in typed.items()}
    wide = {side: code.map(lambda part: part.astype(np.int64)) for side, code in codes.items()}
    return Ids(kind, typed, wide, names)


def _objects(typed: Mapping[str, pl.Series]) -> Ids:
    """Codes for ids that only Python can compare: sorted if it can sort them, else as they come.

    Python holds 1 and 1.0 to be equal; here ids of different types are different.
    """
    plain = {
        s: [getattr(v, "item", lambda v=v: v)() for v in c.to_list()] for s, c in typed.items()
    }
    keys = {side: [(type(value), value) for value in own] for side, own in plain.items()}
    distinct = list(dict.fromkeys(key for side in keys.values() for key in side))
    try:
        distinct.sort(key=lambda key: key[1])
        ordered = not any(issubclass(kind, Set) for kind, _ in distinct)  # sets sort only in part
    except TypeError:
        ordered = False
    places = {key: place for place, key in enumerate(distinct)}
    codes = {s: Pieces(np.array([places[k] for k in own], np.int64)) for s, own in keys.items()}
    names = pl.Series("id", [value for _, value in distinct], dtype=pl.Object)
    return Ids("object", typed, codes, names, ordered=ordered)


# one column alone


def codes(ids: pl.Series) -> tuple[Codes, int]:
    """Numbers from 0 on that are equal exactly where ids are, and a bound that they stay below.

    Integers that lie close together are their own numbers; others are ranked.
    """
    low = len(ids) // _ROWS_EACH + _SPARE
    if ids.dtype.is_integer() and plain(ids) and len(ids) and repay(len(ids)):
        numbers, highest = _narrowed(ids)
        if highest < low:
            return numbers, highest + 1
    near, size = _near_zero(ids)
    if near is not None and size <= low:
        return _whole(near), size
    numbers = ranks(ids)
    return numbers, int(numbers.max()) + 1 if len(numbers) else 0


def ranks(ids: pl.Series) -> Codes:
    """Each id's place among the sorted distinct ids, from 0: numbers by value, text by bytes."""
    if ids.dtype in (pl.Categorical, pl.Enum):
        ids = ids.cast(pl.String)
    if ids.dtype == pl.Boolean:
        ids = ids.cast(pl.UInt8)
    near, size = _near_zero(ids)
    if near is not None:
        table = np.cumsum(_met(near, size), dtype=np.uint32) - np.uint32(1)
        return looked_up(table, _whole(near))
    known = ids.unique().sort()
    if ids.dtype == pl.String:
        return ids.cast(pl.Enum(known)).to_physical().cast(pl.UInt32).to_numpy()
    return known.search_sorted(ids).cast(pl.UInt32).to_numpy()


def count_ids(ids: pl.Series) -> int:
    """How many different ids there are."""
    near, size = _near_zero(ids)
    return ids.n_unique() if near is None else int(np.count_nonzero(_met(near, size)))


def members(ids: pl.Series, known: pl.Series) -> Flags:
    """Which ids are some of the known ones."""
    near, size = _near_zero(ids)
    if near is not ids or known.dtype != ids.dtype:  # not their own numbers
        mask: Flags = ids.is_in(known.unique().implode()).to_numpy()
        return mask
    inside = known.filter(known.is_between(0, size - 1))
    return looked_up(_met(inside, size), _whole(ids))


def numbers_in(ids: pl.Series, known: pl.Series) -> Integers:
    """The number of each id among known ones, -1 where it is none of them."""
    numbered = pl.DataFrame({"id": known}).with_row_index("number")
    asked = pl.DataFrame({"id": ids.cast(known.dtype)})
    found = asked.join(numbered, on="id", how="left", maintain_order="left")["number"]
    return found.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)


def counts(numbers: NDArray[Any], size: int) -> Integers:
    """How many rows each number has."""
    if not repay(len(numbers)):
        return np.bincount(numbers, minlength=size)
    tables, cuts = stretches(len(numbers), size)
    found = np.zeros((tables, size), np.int64)
    count, rows = kernel(_count), frozen(numbers)
    together([partial(count, rows[cuts[n] : cuts[n + 1]], found[n]) for n in range(tables)])
    total: Integers = found.sum(axis=0)
    return total


def stretches(rows: int, size: int) -> tuple[int, list[int]]:
    """Into how many stretches rows are cut that each fill a table of this size, and where: one for
    each thread, or fewer where adding up the tables would take longer."""
    number = int(np.clip(rows // max(_ROWS_EACH * size, 1), 1, thread_count()))
    return number, np.linspace(0, rows, number + 1).astype(np.int64).tolist()


def first_rows(numbers: Codes, size: int) -> Integers:
    """A row of each number, or -1 for numbers that have none."""
    row = np.full(size, -1, np.int64)
    if repay(len(numbers)):
        kernel(_note)(frozen(numbers), row)
    else:
        row[numbers] = np.arange(len(numbers))
    return row


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The entries of a table at these places, on several threads."""
    found = np.empty(len(places), table.dtype)

    def work(first: int, last: int) -> None:
        table.take(places[first:last], out=found[first:last], mode="clip")

    in_blocks(work, len(places), _BLOCK)
    return found


def _near_zero(ids: pl.Series) -> tuple[pl.Series | None, int]:
    """Integers that lie close together as numbers from 0 on, and a bound that they stay below; None
    for other ids. They are counted and ranked by a table of all numbers up to the highest."""
    if not (ids.dtype.is_integer() and len(ids)):
        return None, 0
    low, high = cast("tuple[int, int]", (ids.min(), ids.max()))
    room, wide = len(ids) + _SPARE, ids.dtype == pl.UInt64 or has_128_bits(ids)
    if high - low > room:
        return None, 0
    if not 0 <= low <= room:  # a longer table is cheaper than another copy of the column
        first = pl.Series([low], dtype=ids.dtype if wide else pl.Int64)
        ids, high = ids.cast(first.dtype) - first, high - low
    return ids.cast(pl.Int64) if wide else ids, high + 1


def _narrowed(ids: pl.Series) -> tuple[Codes, int]:
    """Whole numbers in 32 bits, and the highest, in one pass; one below zero counts as very
    high."""
    cuts, (parts,) = blocks(ids)
    found, highest = np.empty(len(ids), np.uint32), np.zeros(len(parts), np.uint64)
    narrow = kernel(_narrow)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            highest[nth] = narrow(parts[nth], found[cuts[nth] : cuts[nth + 1]])

    in_blocks(work, len(parts), 1)
    return found, int(highest.max())


def _whole(near: pl.Series) -> Codes:
    """Numbers from 0 on as one array, however many pieces the column is in."""
    found, first = np.empty(len(near), np.uint32), 0
    for piece in near.get_chunks():
        found[first : first + len(piece)] = piece.to_numpy()
        first += len(piece)
    return found


def _met(near: pl.Series, size: int) -> Flags:
    """Which numbers occur, piece by piece of the column."""
    met = np.zeros(size, bool)
    pays = repay(len(near))
    for piece in near.get_chunks():
        if pays:
            kernel(_tick)(frozen(piece.to_numpy()), met)
        else:
            met[piece.to_numpy()] = True
    return met


def _tick(numbers, met):  # type: ignore[no-untyped-def]
    """Note all these numbers."""
    for row in range(numbers.shape[0]):
        met[numbers[row]] = True


def _count(numbers, found):  # type: ignore[no-untyped-def]
    """Count without the copy in wider integers that NumPy makes."""
    for row in range(numbers.shape[0]):
        found[numbers[row]] += 1


def _note(numbers, row):  # type: ignore[no-untyped-def]
    """The last row of each number."""
    for place in range(numbers.shape[0]):
        row[numbers[place]] = place


def _narrow(values, found):  # type: ignore[no-untyped-def]
    """Cut values to 32 bits; the highest of them as they are, in unsigned numbers."""
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
        found[row] = np.uint32(values[row])
    return highest


# ids of the types of another table


def ids_alone(frame: pl.DataFrame) -> pl.DataFrame:
    """Users and items alone; categories become the text they stand for."""
    held = [name for name in ("user", "item") if name in frame.columns]
    text = [pl.col(name).cast(pl.String) for name in held if _categorical(frame[name].dtype)]
    return frame.select(held).with_columns(text)


def fitting(table: Table, model: pl.DataFrame) -> pl.DataFrame:
    """A table with its list key as the user, and with ids of the types that a frame has.

    Integers of any size fit each other, and untyped text fits integers; other types are refused.
    """
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    ids = ids_alone(frame)
    held = [name for name in ids.columns if name in model.columns]
    cast = [fitted(ids[name], model[name].dtype, table.source, table.text) for name in held]
    return frame.with_columns(cast)


def fitted(ids: pl.Series, dtype: pl.DataType, source: str, text: bool = False) -> pl.Series:
    """Ids in a type, or an error if they are something else."""
    if _categorical(ids.dtype):
        ids = ids.cast(pl.String)
    if ids.dtype == dtype:
        return ids
    if text and dtype == pl.String:
        return ids.cast(pl.String)
    numbers = whole_numbers(ids) if text or ids.dtype.is_integer() else None
    if numbers is not None and dtype.is_integer():
        cast = numbers.cast(dtype, strict=False)
        if cast.null_count() == ids.null_count():
            return cast
    raise BadIds(
        f"the {ids.name}s of {source} are {ids.dtype}, and those of the candidates {dtype}.",
        "ids of one type.",
    )


def _categorical(dtype: pl.DataType) -> bool:
    return dtype in (pl.Categorical, pl.Enum)
