"""Values as 64-bit numbers that their content decides: on any machine, in any row order.

An integer is its own number whatever its width, a text is hashed whatever it is stored as.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    Words = np.ndarray[Any, np.dtype[np.uint64]]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def words(column: pl.Series) -> Words:
    """A number for each value: integers as they are, floats by their bits, texts by their hash."""
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary):
        return _hashed(column if column.dtype == pl.Binary else column.cast(pl.String))
    physical = column.to_physical()
    if physical.dtype.is_float():
        values = physical.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0
        return values.view(np.uint64)
    numbers = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).fill_null(0)
    return numbers.to_numpy().view(np.uint64)


def mixed(state: Words) -> Words:
    """The finishing steps of splitmix64: every bit of the state moves about half of the result."""
    state = (state ^ (state >> np.uint64(30))) * FIRST
    state = (state ^ (state >> np.uint64(27))) * SECOND
    state ^= state >> np.uint64(31)
    return state


def _hashed(texts: pl.Series) -> Words:
    import polars as pl

    known = texts.unique()
    hashes = [
        int.from_bytes(hashlib.blake2b(_bytes(text), digest_size=8).digest(), "little")
        for text in known
    ]
    table = pl.DataFrame({"text": known, "hash": pl.Series(hashes, dtype=pl.UInt64)})
    rows = pl.DataFrame({"text": texts})
    joined = rows.join(table, "text", "left", nulls_equal=True, maintain_order="left")
    return joined["hash"].to_numpy()


def _bytes(text: str | bytes | None) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
