"""Columns of plain numbers in blocks, as Polars holds them, for work on several threads."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Pieces
from rectitude.kernels import frozen
from rectitude.parallel import in_blocks

Mask = Flags | pl.Series
Blocks = list[NDArray[Any]]

_BLOCK = 1 << 18
_KINDS = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)), "Float32", "Float64"
)  # fmt: skip
"""What both call so, in small letters there."""


def plain(values: pl.Series) -> bool:
    """Whether a column is nothing but numbers (or times) that NumPy has too."""
    numbers = values.dtype.is_numeric() or values.dtype.is_temporal()
    return numbers and not values.null_count() and str(values.to_physical().dtype) in _KINDS


def kind(values: pl.Series) -> str:
    """The type of the numbers of a plain column in NumPy."""
    return str(values.to_physical().dtype).lower()


def blocks(*columns: pl.Series) -> tuple[list[int], list[Blocks]]:
    """Plain columns of the same rows in blocks, not copied: where these begin and end, and those of
    each column."""
    rows, found = len(columns[0]), [pieces(values.to_physical()) for values in columns]
    bounds = sorted({0, rows, *(bound for each in found for bound in each.bounds.tolist())})
    cuts = [low for a, b in pairwise(bounds) for low in range(a, b, _BLOCK)]
    sizes = np.diff([*cuts, rows]).tolist()
    cut = []
    for each in found:
        part = np.searchsorted(each.bounds, cuts, side="right") - 1
        at = zip(part.tolist(), (cuts - each.bounds[part]).tolist(), sizes, strict=True)
        whole = [frozen(values) for values in each.parts]
        cut.append([whole[nth][low : low + size] for nth, low, size in at])
    return [*cuts, rows], cut


def compared(values: pl.Series, compare: np.ufunc, bound: Any) -> Mask:
    """Which values stand so to a bound: np.greater_equal or np.less."""
    whole = values.dtype == pl.Int64 and isinstance(bound, int)
    if not ((whole or values.dtype == pl.Float64) and plain(values)):
        mask: pl.Series = values >= bound if compare is np.greater_equal else values < bound
        return mask
    (cuts, (parts,)), flags = blocks(values), np.empty(len(values), bool)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            compare(parts[nth], bound, out=flags[cuts[nth] : cuts[nth + 1]])

    in_blocks(work, len(parts), 1)
    return flags


def flags_of(mask: Mask) -> Flags:
    """A mask as one byte for each row; what is missing in it is not marked."""
    if isinstance(mask, np.ndarray):
        return mask
    flags: Flags = mask.fill_null(value=False).to_numpy()
    return flags


def pieces(series: pl.Series) -> Pieces:
    """The values of a column without nulls, in the parts in which Polars holds them, not copied."""
    return Pieces(*(chunk.to_numpy() for chunk in series.get_chunks()))
