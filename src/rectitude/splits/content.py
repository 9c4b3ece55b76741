"""A hash of what a table holds, whatever the order of its rows, without sorting them.

Each row becomes a 64-bit number that all its values decide; the sums of two scrambles of these
numbers do not depend on their order, and tell tables apart in which any row differs.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    Words = np.ndarray[Any, np.dtype[np.uint64]]

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_STEP, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
ROWS = 1_000_000
"""How many rows are looked at together, so that little memory is needed beside the table."""


def digest(frame: pl.DataFrame) -> bytes:
    """The hash of a table: its columns' names, how many rows it has, and their contents."""
    sums = np.zeros(2, np.uint64)
    for block in frame.iter_slices(ROWS):
        state = np.zeros(block.height, np.uint64)
        for column in block:
            state = _mixed(state + _words(column) + _STEP)
        sums += np.array([_mixed(state).sum(), _mixed(state ^ _OTHER).sum()], np.uint64)
    said = f"{frame.columns} {frame.height} {sums[0]} {sums[1]}"
    return hashlib.blake2b(said.encode(), digest_size=16).digest()


def _words(column: pl.Series) -> Words:
    """A number for each value: integers as they are, floats by their bits, texts by their hash."""
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary):
        return _hashed(column if column.dtype == pl.Binary else column.cast(pl.String))
    physical = column.to_physical()
    if physical.dtype.is_float():
        values = physical.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0
        return values.view(np.uint64)
    numbers = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).fill_null(0)
    return numbers.to_numpy().astype(np.uint64)


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


def _mixed(state: Words) -> Words:
    """The finishing steps of splitmix64."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    mixed: Words = state ^ (state >> np.uint64(31))
    return mixed
