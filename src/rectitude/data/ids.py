"""User and item ids, and the integer codes that represent them.

Ids keep their type: nothing is cast to text or to float. `align` gives int64 codes to the columns
of several tables; two codes are equal exactly when the ids are equal. `ordered` codes also sort
like the ids: integers by value, text by its UTF-8 bytes.

In large columns, the code of a text id is its 64-bit hash, which is many times faster than a
dictionary. Such codes are not `exact`. Code that finds two equal hashes confirms with `same` that
the ids are equal. If two different ids share a hash, which has not happened yet, it calls `align`
again for exact codes.

`codes` and `ranks` number a single column, in 32 bits and on several threads. `cast_ids_like` casts
ids to the types of another table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, Pieces, distinct, positions_in, run_starts
from rectitude.data.table import Table
from rectitude.data.values import blocks, is_plain_numeric, pieces
from rectitude.errors import BadIds
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import in_blocks, require_polars, run_tasks, thread_count

Codes = NDArray[np.uint32]
HASH_FROM_ROWS = 1_000_000
_BLOCK = 1 << 18
_SAMPLE_ROWS = 1 << 10
"""How many rows are sampled to see whether equal codes come in runs."""
_ROWS_PER_NUMBER = 4
"""With at least this many rows per number up to the highest, gaps between numbers are cheap."""
_SPARE = 1024
"""How many more entries than the column a table of all numbers up to the highest may have."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column of ids: its source, and whether it was read from untyped text."""

    ids: pl.Series
    source: str
    text: bool = False
    hint: str = ""
    """advice for the error if these ids do not fit the others"""
    first: object = None
    """the first id in the source, if `ids` holds its distinct ids in another order"""

    @staticmethod
    def of(table: Table, name: str) -> Column:
        """Return a column of a table."""
        return Column(table.frame[name], table.source, table.text)


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """The columns of one kind of id (lists, users or items) with common codes."""

    kind: str
    columns: Mapping[str, pl.Series]
    codes: Mapping[str, Pieces]
    names: pl.Series | None = None
    """the ids by code; None if the codes are the ids themselves or hashes"""
    exact: bool = True
    ordered: bool = True
    """whether codes sort like the ids"""
    dtype: pl.DataType | None = None
    """the type of the ids, if all columns have the same type"""

    def labels(self, codes: NDArray[np.int64]) -> pl.Series:
        """Return the ids of some codes."""
        if self.kind == "object" and self.names is not None:
            objects = [self.names[int(code)] for code in codes]
            return pl.Series("id", objects, dtype=pl.Object)
        ids = pl.Series("id", codes) if self.names is None else self.names.gather(codes)
        return ids if self.dtype is None else ids.cast(self.dtype)

    def label(self, side: str, row: int) -> Any:
        """Return the id in a row."""
        return self.columns[side][int(row)]

    def sort_keys(self, side: str, rows: NDArray[np.int64]) -> Integers:
        """Return numbers that sort like the ids in these rows; hashes do not, so ids are ranked."""
        if self.exact:
            return self.codes[side].whole[rows]
        return ranks(self.columns[side].gather(rows)).astype(np.int64)

    def same(
        self, side: str, rows: NDArray[np.int64], other: str, others: NDArray[np.int64]
    ) -> bool:
        """Whether the ids in these rows are pairwise equal, compared as ids and not as codes."""
        if self.exact:
            return True
        return bool((self.columns[side][rows] == self.columns[other][others]).all())


def align(
    columns: Mapping[str, Column],
    what: str,
    exact: bool = True,
    samples: Mapping[str, Column] | None = None,
) -> Ids:
    """Return codes that are comparable across columns.

    Raise an error that explains the difference if the columns hold ids of different kinds. If the
    columns are only a part of their tables, `samples` have the ids that decide on the kind.
    """
    require_polars()
    kind = _common_kind({**columns, **(samples or {})}, what)
    typed = {side: _cast_ids(column, kind) for side, column in columns.items()}
    dtypes = {series.dtype for series in typed.values() if len(series)}
    if kind in map(str, dtypes):  # such as dates: a table without rows is of any type
        (dtype,) = dtypes
        typed = {s: v if len(v) else pl.Series(v.name, dtype=dtype) for s, v in typed.items()}
    ids = _code_ids(kind, typed, exact)
    return replace(ids, dtype=dtypes.pop() if len(dtypes) == 1 else None)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedIds:
    """Columns of one kind of id as numbers starting at 0, which sort like their codes."""

    aligned: Ids
    codes: Integers
    """the code of each number, ascending"""
    numbers: Mapping[str, Integers]
    """column -> (rows) the number of the id in each row"""

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def ids(self) -> pl.Series:
        """The ids by number."""
        return self.aligned.labels(self.codes)


def number_ids(columns: Mapping[str, Column], what: str) -> NumberedIds:
    """Number the ids of several columns together."""
    ids = align(columns, what)
    codes = {side: column_codes.whole for side, column_codes in ids.codes.items()}
    distinct_codes = distinct(*map(_drop_repeats_in_runs, codes.values()))
    return NumberedIds(
        ids,
        distinct_codes,
        {side: positions_in(distinct_codes, column_codes) for side, column_codes in codes.items()},
    )


def _drop_repeats_in_runs(codes: Integers) -> Integers:
    """Return the codes without repeats inside runs, if a sample shows that runs are common."""
    runs = 2 * len(run_starts(codes[:_SAMPLE_ROWS])) < min(len(codes), _SAMPLE_ROWS)
    return codes[run_starts(codes)] if runs else codes


def occurs_in(column: Column, other: Column, what: str) -> Flags:
    """Return for each row whether its id occurs in the other column."""
    codes = align({"one table": column, "another": other}, what).codes
    return np.isin(codes["one table"].whole, codes["another"].whole)


def codes_of(column: Column, table: Table, role: str) -> tuple[Integers, Integers]:
    """Return a column of ids and a column of a table in common codes."""
    what = "user" if role == "list" else "item"
    codes = align({"one table": column, "another": Column.of(table, role)}, what).codes
    return codes["one table"].whole, codes["another"].whole


def locate(known: Integers, codes: Integers) -> Integers:
    """Return the position of each code among distinct known codes in any order, -1 if absent."""
    if np.all(known[1:] > known[:-1]):
        return positions_in(known, codes)
    order = np.argsort(known)
    position = positions_in(known[order], codes)
    return np.where(position >= 0, order[position], -1)


def smallest(ids: pl.Series) -> Any:
    """Return the smallest id, which does not depend on the order of rows; of objects, the first."""
    return ids[0] if ids.dtype == pl.Object else ids.min()


def lookalikes(first: pl.Series, second: pl.Series) -> str:
    """Return the difference in spelling that keeps ids from matching, or an empty string."""
    if pl.Object in (first.dtype, second.dtype):
        return ""
    normal_forms: dict[str, Callable[[pl.Series], pl.Series]] = {
        "leading or trailing spaces": lambda ids: ids,
        "a trailing '.0'": lambda ids: ids.str.replace(r"\.0+$", ""),
        "leading zeros": lambda ids: ids.str.replace(r"^0+(\d)", "$1"),
        "upper and lower case": lambda ids: ids.str.to_lowercase(),
    }
    left, right = (ids.unique().cast(pl.String).str.strip_chars() for ids in (first, second))
    matching = (
        difference
        for difference, normalise in normal_forms.items()
        if normalise(left).is_in(normalise(right).implode()).any()
    )
    return next(matching, "")


def kind_of(series: pl.Series) -> str:
    """Return the kind of ids in a column: integer, float, text, object, or another Polars type."""
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
    """Whether ids are 128-bit integers, which NumPy does not have."""
    return str(series.dtype) in ("Int128", "UInt128")


def whole_numbers(series: pl.Series) -> pl.Series | None:
    """Return text ids as integers, or None unless all are plain integers (`7`, not `07` or `+7`).

    Readers of large files may have converted them already.
    """
    if series.dtype.is_integer():
        return series
    if not len(series):
        return pl.Series(series.name, dtype=pl.Int64)
    if series.dtype != pl.String:  # such as categories
        series = series.cast(pl.String)
    numbers = series.cast(pl.Int64, strict=False)
    if numbers.null_count():
        numbers = series.cast(pl.UInt64, strict=False)
    if numbers.null_count():
        return None
    return numbers if _plainly_written(series, cast("int", numbers.min())) else None


def deciding_rows(ids: pl.Series) -> list[int]:
    """Return the numbers of a few rows for which `whole_numbers` says the same as for all rows,
    together with any rows that are found in the same way in other ids."""
    if ids.dtype != pl.String:
        return [0] if len(ids) else []
    too_large = ids.cast(pl.Int64, strict=False).is_null()
    negative = ids.cast(pl.UInt64, strict=False).is_null()
    unusual = ids.str.contains(r"^(\+|-?0[0-9]|-0)")
    rows = {int(flags.arg_max() or 0) for flags in (too_large, negative, unusual)}
    return sorted(rows) if len(ids) else []


def _plainly_written(integers: pl.Series, least: int) -> bool:
    """Whether no integer is written with a plus or leading zeros; `least` is the smallest one."""
    signed = integers.str.starts_with("+")
    if least <= 0:
        signed = signed | integers.str.starts_with("-0")
    zeros = integers.str.starts_with("0") & (integers.str.len_bytes() > 1)
    return not (signed | zeros).any()


def _common_kind(columns: Mapping[str, Column], what: str) -> str:
    typed_kinds = {s: kind_of(c.ids) for s, c in columns.items() if not c.text and len(c.ids)}
    untyped = {s: c for s, c in columns.items() if c.text and len(c.ids)}
    kinds = set(typed_kinds.values())
    if not kinds:
        all_whole = all(whole_numbers(c.ids) is not None for c in untyped.values())
        return "integer" if all_whole and untyped else "text"
    if len(kinds) > 1 and not _are_wide_integers(columns, typed_kinds):
        raise _different_kinds(columns, typed_kinds, what)
    kind = "object" if "object" in kinds else kinds.pop()
    for side, column in untyped.items():
        fits = kind == "text" or (kind == "integer" and whole_numbers(column.ids) is not None)
        if not fits:
            raise _different_kinds(columns, {**typed_kinds, side: "text"}, what)
    return kind


def _are_wide_integers(columns: Mapping[str, Column], kinds: Mapping[str, str]) -> bool:
    """Whether all ids are integers, some of them too wide for a typed column."""
    objects = [columns[side].ids for side, kind in kinds.items() if kind == "object"]
    others = {kind for kind in kinds.values() if kind != "object"}
    return others <= {"integer"} and all(isinstance(ids[0], int) for ids in objects)


def _different_kinds(columns: Mapping[str, Column], kinds: Mapping[str, str], what: str) -> BadIds:
    same = kinds.get("handed") == kinds.get("predictions")  # both come from one input
    sides = [side for side in kinds if side != "handed" or not same]
    shown = {kind: [_show_first(columns[s], s, kind) for s in sides if kinds[s] == kind]
             for kind in dict.fromkeys(kinds[side] for side in sides)}  # fmt: skip
    stated = [f"{kind} in {' and '.join(places)}" for kind, places in shown.items()]
    hint = next((column.hint for column in columns.values() if column.hint), "")
    polars, pandas = ("pl.String", "str") if "text" in kinds.values() else ("pl.Int64", "int64")
    return BadIds(
        f"{what} ids are {', but '.join(stated)}.",
        "ids of the same type in all tables: 1, 1.0 and '1' are different ids.",
        hint or f"cast one side first: .cast({polars}) in Polars, .astype({pandas!r}) in pandas.",
    )


def _show_first(column: Column, side: str, kind: str) -> str:
    """Describe one column of ids: its table, and the first id."""
    first = column.ids[0] if column.first is None else column.first
    place = "the users of the lists" if side == "handed" else side
    return f"{place} ({column.source}, first: {(str(first) if kind == 'text' else first)!r})"


def _cast_ids(column: Column, kind: str) -> pl.Series:
    series = column.ids
    if kind == "integer" and not series.dtype.is_integer():
        numbers = whole_numbers(series)
        return series.clear().cast(pl.Int64) if numbers is None else numbers
    if kind == "text" and series.dtype != pl.String:
        return series.cast(pl.String)
    if not len(series) and kind_of(series) != kind and kind != "object":
        return series.clear().cast(pl.Float64 if kind == "float" else pl.String)
    return series


def _code_ids(kind: str, typed: Mapping[str, pl.Series], exact: bool) -> Ids:
    if kind == "integer":
        return _code_integers(typed)
    if kind == "object":
        return _code_objects(typed)
    rows = sum(len(series) for series in typed.values())
    if kind == "text" and not exact and rows >= HASH_FROM_ROWS:
        hashes = {side: _hash_ids(series) for side, series in typed.items()}
        return Ids("text", typed, hashes, None, exact=False, ordered=False)
    return _code_by_sorting(kind, typed)


def _code_integers(typed: Mapping[str, pl.Series]) -> Ids:
    large = [s for s in typed.values() if len(s) and (s.dtype == pl.UInt64 or has_128_bits(s))]
    ends: list[Any] = [end for series in large for end in (series.min(), series.max())]
    if max(ends, default=0) >= 2**63 or min(ends, default=0) < -(2**63):
        wide = pl.UInt128 if max(ends) >= 2**127 else pl.Int128
        return _code_by_sorting("integer", {s: v.cast(wide) for s, v in typed.items()})
    codes = {side: pieces(series.cast(pl.Int64)) for side, series in typed.items()}
    return Ids("integer", typed, codes)


def _hash_ids(series: pl.Series) -> Pieces:
    return pieces(series.hash()).map(lambda piece: piece.view(np.int64))


def _code_by_sorting(kind: str, typed: Mapping[str, pl.Series]) -> Ids:
    """Code each id by its position among the sorted distinct ids of all columns."""
    distinct = pl.concat([series.unique().alias("id") for series in typed.values()])
    names = distinct.unique().sort()
    if kind == "text":
        enum = pl.Enum(names)
        codes = {side: pieces(s.cast(enum).to_physical()) for side, s in typed.items()}
    else:
        codes = {side: pieces(names.search_sorted(s)) for side, s in typed.items()}
    wide = {side: code.map(lambda piece: piece.astype(np.int64)) for side, code in codes.items()}
    return Ids(kind, typed, wide, names)


def _code_objects(typed: Mapping[str, pl.Series]) -> Ids:
    """Code ids that only Python can compare: sorted if possible, otherwise by how they are written.

    Python treats 1 and 1.0 as equal; here, ids of different types are different.
    """
    values = {
        s: [getattr(v, "item", lambda v=v: v)() for v in c.to_list()] for s, c in typed.items()
    }
    keys = {side: [(type(value), value) for value in column] for side, column in values.items()}
    distinct = list(dict.fromkeys(key for side in keys.values() for key in side))
    distinct.sort(key=_write_id)
    ordered = not any(issubclass(kind, Set) for kind, _ in distinct)  # sets have a partial order
    if ordered:
        try:
            distinct.sort(key=lambda key: key[1])
        except TypeError:
            ordered = False
            distinct.sort(key=_write_id)
    position = {key: number for number, key in enumerate(distinct)}
    codes = {
        s: Pieces(np.array([position[k] for k in column], np.int64)) for s, column in keys.items()
    }
    names = pl.Series("id", [value for _, value in distinct], dtype=pl.Object)
    return Ids("object", typed, codes, names, ordered=ordered)


def _write_id(key: tuple[type, Any]) -> tuple[str, str]:
    """Return the type and the value of an id as text, the elements of a set in order."""
    kind, value = key
    return kind.__qualname__, repr(sorted(map(repr, value)) if isinstance(value, Set) else value)


# a single column


def codes(ids: pl.Series) -> tuple[Codes, int]:
    """Number ids so that equal ids have equal numbers; return the numbers and an upper bound.

    Integers that are close together are used as numbers directly; other ids are ranked.
    """
    limit = len(ids) // _ROWS_PER_NUMBER + _SPARE
    if ids.dtype.is_integer() and is_plain_numeric(ids) and len(ids) and should_compile(len(ids)):
        numbers, highest = _narrow_ids(ids)
        if highest < limit:
            return numbers, highest + 1
    shifted, size = _shift_to_zero(ids)
    if shifted is not None and size <= limit:
        return _to_array(shifted), size
    numbers = ranks(ids)
    return numbers, int(numbers.max()) + 1 if len(numbers) else 0


def ranks(ids: pl.Series) -> Codes:
    """Return each id's position among the sorted distinct ids: numbers by value, text by bytes."""
    if ids.dtype in (pl.Categorical, pl.Enum):
        ids = ids.cast(pl.String)
    if ids.dtype == pl.Boolean:
        ids = ids.cast(pl.UInt8)
    shifted, size = _shift_to_zero(ids)
    if shifted is not None:
        table = np.cumsum(_flag_occurring(shifted, size), dtype=np.uint32) - np.uint32(1)
        return look_up(table, _to_array(shifted))
    distinct_ids = ids.unique().sort()
    if ids.dtype == pl.String:
        return ids.cast(pl.Enum(distinct_ids)).to_physical().cast(pl.UInt32).to_numpy()
    return distinct_ids.search_sorted(ids).cast(pl.UInt32).to_numpy()


def count_ids(ids: pl.Series) -> int:
    """Count the distinct ids."""
    if ids.dtype == pl.Object:
        return len({*ids.to_list()})
    shifted, size = _shift_to_zero(ids)
    return (
        ids.n_unique() if shifted is None else int(np.count_nonzero(_flag_occurring(shifted, size)))
    )


def members(ids: pl.Series, known: pl.Series) -> Flags:
    """Return which ids are among the known ids."""
    shifted, size = _shift_to_zero(ids)
    if shifted is not ids or known.dtype != ids.dtype:  # the ids cannot be used as numbers directly
        if known.dtype == ids.dtype and len(ids) < len(known):  # hash the fewer ones
            met = ids.unique().to_frame("id").join(known.to_frame("id"), on="id", how="semi")
            known = met["id"]
        mask: Flags = ids.is_in(known.unique().implode()).to_numpy()
        return mask
    inside = known.filter(known.is_between(0, size - 1))
    return look_up(_flag_occurring(inside, size), _to_array(ids))


def numbers_in(ids: pl.Series, known: pl.Series) -> Integers:
    """Return the position of each id among the known ids, -1 for an unknown id."""
    numbered = pl.DataFrame({"id": known}).with_row_index("number")
    wanted = pl.DataFrame({"id": ids.cast(known.dtype)})
    numbers = wanted.join(numbered, on="id", how="left", maintain_order="left")["number"]
    return numbers.cast(pl.Int64).fill_null(-1).to_numpy().astype(np.int64)


def counts(numbers: NDArray[Any], size: int) -> Integers:
    """Count how many rows have each number."""
    if not should_compile(len(numbers)):
        return np.bincount(numbers, minlength=size)
    tables, cuts = divide_rows(len(numbers), size)
    table = np.zeros((tables, size), np.int64)
    count, rows = kernel(_count_numbers), freeze(numbers)
    run_tasks([partial(count, rows[cuts[n] : cuts[n + 1]], table[n]) for n in range(tables)])
    total: Integers = table.sum(axis=0)
    return total


def divide_rows(rows: int, size: int) -> tuple[int, list[int]]:
    """Return the number of stretches to divide rows into, and their bounds.

    Each stretch fills its own table of this size. There is one stretch per thread, or fewer if
    adding up the tables would take longer.
    """
    number = int(np.clip(rows // max(_ROWS_PER_NUMBER * size, 1), 1, thread_count()))
    return number, np.linspace(0, rows, number + 1).astype(np.int64).tolist()


def first_rows(numbers: Codes, size: int) -> Integers:
    """Return the index of a row that has each number, -1 if no row has it."""
    row = np.full(size, -1, np.int64)
    if should_compile(len(numbers)):
        kernel(_note_rows)(freeze(numbers), row)
    else:
        row[numbers] = np.arange(len(numbers))
    return row


def look_up(table: NDArray[Any], positions: NDArray[Any]) -> NDArray[Any]:
    """Return the entries of a table at these positions, on several threads."""
    entries = np.empty(len(positions), table.dtype)

    def take_entries(first: int, last: int) -> None:
        table.take(positions[first:last], out=entries[first:last], mode="clip")

    in_blocks(take_entries, len(positions), _BLOCK)
    return entries


def _shift_to_zero(ids: pl.Series) -> tuple[pl.Series | None, int]:
    """Return integers that are close together as numbers starting at 0, with an upper bound.

    Such numbers can be counted and ranked with a table of all numbers up to the highest. Return
    None for other ids.
    """
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


def _narrow_ids(ids: pl.Series) -> tuple[Codes, int]:
    """Return whole numbers in 32 bits, and the highest, in one pass.

    A negative number counts as very high.
    """
    cuts, (id_blocks,) = blocks(ids)
    numbers, highest = np.empty(len(ids), np.uint32), np.zeros(len(id_blocks), np.uint64)
    narrow = kernel(_narrow_to_32_bits)

    def narrow_blocks(first: int, last: int) -> None:
        for block in range(first, last):
            highest[block] = narrow(id_blocks[block], numbers[cuts[block] : cuts[block + 1]])

    in_blocks(narrow_blocks, len(id_blocks), 1)
    return numbers, int(highest.max())


def _to_array(shifted: pl.Series) -> Codes:
    """Return numbers that start at 0 as a single array, even if the column is in several pieces."""
    numbers, first = np.empty(len(shifted), np.uint32), 0
    for piece in shifted.get_chunks():
        numbers[first : first + len(piece)] = piece.to_numpy()
        first += len(piece)
    return numbers


def _flag_occurring(shifted: pl.Series, size: int) -> Flags:
    """Return which numbers occur in the column."""
    occurs = np.zeros(size, bool)
    compiled = should_compile(len(shifted))
    for piece in shifted.get_chunks():
        if compiled:
            kernel(_mark_numbers)(freeze(piece.to_numpy()), occurs)
        else:
            occurs[piece.to_numpy()] = True
    return occurs


def _mark_numbers(numbers, occurs):  # type: ignore[no-untyped-def]
    """Mark every number that occurs."""
    for row in range(numbers.shape[0]):
        occurs[numbers[row]] = True


def _count_numbers(numbers, table):  # type: ignore[no-untyped-def]
    """Count numbers without converting them to wider integers first, as NumPy does."""
    for row in range(numbers.shape[0]):
        table[numbers[row]] += 1


def _note_rows(numbers, row):  # type: ignore[no-untyped-def]
    """Write down the last row that has each number."""
    for position in range(numbers.shape[0]):
        row[numbers[position]] = position


def _narrow_to_32_bits(values, numbers):  # type: ignore[no-untyped-def]
    """Truncate values to 32 bits; return the highest original value as an unsigned number."""
    highest = np.uint64(0)
    for row in range(values.shape[0]):
        highest = max(highest, np.uint64(values[row]))
        numbers[row] = np.uint32(values[row])
    return highest


# ids in the types of another table


def ids_alone(frame: pl.DataFrame) -> pl.DataFrame:
    """Return only the user and item columns, with categories as text."""
    present = [name for name in ("user", "item") if name in frame.columns]
    text = [pl.col(name).cast(pl.String) for name in present if _is_categorical(frame[name].dtype)]
    return frame.select(present).with_columns(text)


def cast_ids_like(table: Table, model: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the list key as the user, and its ids cast to the types of a frame.

    Integers of any size fit each other, and untyped text fits integers. Other combinations raise
    an error.
    """
    frame = table.frame.rename({"list": "user"}) if "list" in table.frame.columns else table.frame
    ids = ids_alone(frame)
    shared = [name for name in ids.columns if name in model.columns]
    cast = [fit_ids(ids[name], model[name].dtype, table.source, table.text) for name in shared]
    return frame.with_columns(cast)


def fit_ids(ids: pl.Series, dtype: pl.DataType, source: str, text: bool = False) -> pl.Series:
    """Return ids cast to a type; raise an error if they do not fit it."""
    if _is_categorical(ids.dtype):
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
        f"the {ids.name} ids of {source} are {ids.dtype}, but the ids they must match are {dtype}.",
        "ids of the same type.",
        f"cast one side first: .cast(pl.{dtype}) in Polars.",
    )


def _is_categorical(dtype: pl.DataType) -> bool:
    return dtype in (pl.Categorical, pl.Enum)
