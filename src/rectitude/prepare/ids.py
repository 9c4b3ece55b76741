"""The ids of a log as small numbers, and pairs of user and item as one number each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rectitude.arrays import in_blocks

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_BLOCK = 1 << 18
_ROWS_EACH = 4
"""With so many rows for each number up to the highest, numbers need not be made denser."""
_SPARE = 1024
"""A table of all numbers up to the highest id may have so many entries more than the column."""


def ranks(ids: pl.Series) -> pl.Series:
    """Each id's place among the sorted distinct ids, from 0: numbers by value, text by bytes."""
    import polars as pl

    if ids.dtype in (pl.Categorical, pl.Enum):
        ids = ids.cast(pl.String)
    if ids.dtype == pl.Boolean:
        ids = ids.cast(pl.UInt8)
    near = _near_zero(ids)
    if near is not None:
        table = np.cumsum(_met(near), dtype=np.uint32) - np.uint32(1)
        return pl.Series("rank", looked_up(table, near))
    known = ids.unique().sort()
    if ids.dtype == pl.String:
        return ids.cast(pl.Enum(known)).to_physical().cast(pl.UInt32).alias("rank")
    return known.search_sorted(ids).cast(pl.UInt32).alias("rank")


def codes(ids: pl.Series) -> tuple[NDArray[Any], int]:
    """Numbers from 0 on that are equal exactly where ids are, and a bound that they stay below.

    Integers that lie close together are their own numbers, not copied; others are ranked.
    """
    numbers = _near_zero(ids)
    if numbers is None or int(numbers.max()) > len(ids) // _ROWS_EACH + _SPARE:
        numbers = ranks(ids).to_numpy()
    return numbers, int(numbers.max()) + 1 if len(numbers) else 0


def distinct(ids: pl.Series) -> int:
    """How many different ids there are."""
    near = _near_zero(ids)
    return ids.n_unique() if near is None else int(np.count_nonzero(_met(near)))


def looked_up(table: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The entries of a table at these places, on several threads."""
    found = np.empty(len(places), table.dtype)

    def work(first: int, last: int) -> None:
        table.take(places[first:last], out=found[first:last], mode="clip")

    in_blocks(work, len(places), _BLOCK)
    return found


def _near_zero(ids: pl.Series) -> Any:
    """Integers that lie close together as an array of numbers from 0 on; None for other ids.

    They are counted and ranked by a table of all numbers up to the highest.
    """
    import polars as pl

    wide = (pl.UInt64, pl.Int128)
    if not (ids.dtype.is_integer() and len(ids)):
        return None
    low, high = cast("tuple[int, int]", (ids.min(), ids.max()))
    room = len(ids) + _SPARE
    if high - low > room:
        return None
    if not 0 <= low <= room:  # a longer table is cheaper than another copy of the column
        ids = (ids if ids.dtype in wide else ids.cast(pl.Int64)) - low
    return (ids.cast(pl.Int64) if ids.dtype in wide else ids).to_numpy()


def _met(near: Any) -> NDArray[np.bool_]:
    """Which numbers occur."""
    met = np.zeros(int(near.max()) + 1, bool)
    met[near] = True
    return met


def pairs(frame: pl.DataFrame) -> pl.Series:
    """One number for each row, equal exactly where user and item are; sorts by user, then item."""
    import polars as pl

    items = ranks(frame["item"])
    size = int(items.to_numpy().max(initial=0)) + 1
    return (ranks(frame["user"]).cast(pl.Int64) * size + items).alias("pair")


def repeated(numbers: pl.Series) -> pl.Series:
    """Which rows hold a number that another row holds too."""
    import polars as pl

    ordered = numbers.sort().to_numpy()
    twice = pl.Series(ordered[1:][ordered[1:] == ordered[:-1]], dtype=numbers.dtype)
    return numbers.is_in(twice.unique().implode())
