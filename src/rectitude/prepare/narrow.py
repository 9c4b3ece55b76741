"""Columns as whole numbers in the same order, few enough bits wide to be sorted beside a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from rectitude.data.codes import ranks
from rectitude.data.ids import has_128_bits

if TYPE_CHECKING:
    import polars as pl

_32_BITS = 2**32


def narrow(column: pl.Series) -> list[pl.Series]:
    """Columns of whole numbers that span no more than 32 bits, in the same order: one, or two of
    which the second decides where the first is equal. Text and the like stay as they are."""
    import polars as pl

    physical = column.to_physical() if column.dtype.is_temporal() else column
    if physical.dtype.is_float():
        bits = (physical.cast(pl.Float64).to_numpy() + 0.0).view(np.int64)
        physical = pl.Series((bits ^ ((bits >> 63) | np.int64(-(2**63)))).view(np.uint64))
    if not physical.dtype.is_integer() or has_128_bits(physical) or not len(physical):
        return [physical]
    low, high = cast("tuple[int, int]", (physical.min(), physical.max()))
    if high - low < _32_BITS:
        return [physical]
    whole = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).to_numpy()
    wide = whole.view(np.uint64) - np.array(low, whole.dtype).view(np.uint64)  # wraps if it must
    over = (high - low).bit_length() - 32
    halves = wide >> np.uint64(over), wide & np.uint64((1 << over) - 1)
    return [pl.Series(half.astype(np.uint32)) for half in halves]


def numbers(column: pl.Series) -> NDArray[np.uint32]:
    """Numbers from 0 on in the order of a column that `narrow` gave."""
    import polars as pl

    if not column.dtype.is_integer() or has_128_bits(column):
        return ranks(column)
    low, high = cast("tuple[int, int]", (column.min() or 0, column.max() or 0))
    if not 0 <= low <= high < _32_BITS:
        column = (column if column.dtype == pl.UInt64 else column.cast(pl.Int64)) - low
    return column.cast(pl.UInt32).to_numpy()
