"""The order in which NumPy's introsort leaves equal numbers.

Many frameworks sort with `sort_values` or `argsort` and do not ask for a stable sort. Which of
equal rows comes first then follows from the algorithm, and from where all the other rows stood.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.codes import ranks
from rectitude.data.ids import has_128_bits

if TYPE_CHECKING:
    import polars as pl

STABLE = 16
"""So many numbers at most are sorted by insertion, which leaves equal ones as they stood."""


def introsort(numbers: Integers) -> Integers:
    """The places of whole numbers in ascending order, equal ones as introsort leaves them.

    They are sorted as dates, for which NumPy has introsort everywhere; numbers go through vector
    instructions that leave equal ones in another order on every kind of processor.
    """
    return np.argsort(numbers.view("datetime64[ns]"), kind="quicksort")


def introsorted(rows: NDArray[Any], ends: Integers, numbers: Integers) -> NDArray[Any]:
    """Rows that stand group after group, each group sorted by the numbers of its rows."""
    here, left = numbers[rows], rows.copy()
    for low, high in pairwise([0, *ends.tolist()]):
        left[low:high] = rows[low:high][introsort(here[low:high])]
    return left


def whole(column: pl.Series) -> Integers:
    """Whole numbers in the order of a column; the lowest of all is none, for it means no date."""
    import polars as pl

    physical = column.to_physical()
    if not physical.dtype.is_integer() or has_128_bits(physical) or physical.dtype == pl.UInt64:
        return ranks(physical).astype(np.int64)
    if cast("int", physical.min() or 0) == np.iinfo(np.int64).min:
        return ranks(physical).astype(np.int64)
    return physical.cast(pl.Int64).to_numpy()
