"""Outside ids and the integer codes that stand for them.

Ids are kept as they are: nothing is cast to text or to float. Codes are int64 and equal exactly
when the ids are equal. Where the codes are `ordered`, they also sort as the ids do: integers by
value, text by its UTF-8 bytes.

Text in large columns is coded by its 64-bit hash, many times faster than a dictionary. Such codes
are not `exact`: whoever finds two codes equal confirms it with `same`, and asks for exact codes
again in the case, so far never met, that two ids share a hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rectitude.arrays import Pieces
from rectitude.errors import BadIds

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

HASH_FROM_ROWS = 1_000_000


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
        import polars as pl

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


def lookalikes(one: pl.Series, other: pl.Series) -> str:
    """How ids that differ would be equal: what they differ by; empty if they would not."""
    import polars as pl

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
    import polars as pl

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
    import polars as pl

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
    import polars as pl

    series = column.ids
    if kind == "integer" and not series.dtype.is_integer():
        numbers = whole_numbers(series)
        return series.clear().cast(pl.Int64) if numbers is None else numbers
    if kind == "text" and series.dtype != pl.String:
        return series.cast(pl.String)
    if not len(series) and kind_of(series) != kind and kind != "object":
        return series.clear().cast(pl.Float64 if kind == "float" else pl.String)
    return series


def _integers(typed: Mapping[str, pl.Series]) -> Ids:
    import polars as pl

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
    import polars as pl

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
    import polars as pl

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


def pieces(series: pl.Series) -> Pieces:
    """The values of a column without nulls, in the parts in which Polars holds them, not copied."""
    return Pieces(*(chunk.to_numpy() for chunk in series.get_chunks()))
