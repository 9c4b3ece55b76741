"""Values as 64-bit numbers that their content decides: on any machine, in any row order.

An integer is its own number whatever its width, a text is hashed whatever it is stored as.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.compiled import kernel, repay
from rectitude.data.blocks import blocks, plain
from rectitude.data.ids import has_128_bits
from rectitude.threads import in_blocks

if TYPE_CHECKING:
    import polars as pl

    Words = np.ndarray[Any, np.dtype[np.uint64]]

STEP = np.uint64(0x9E3779B97F4A7C15)
_64_BITS = 2**64 - 1
_BLOCK = 1 << 14
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def words(column: pl.Series) -> Words:
    """A number for each value: integers as they are, floats by their bits, texts by their hash."""
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary):
        return _hashed(column if column.dtype == pl.Binary else column.cast(pl.String))
    physical = column.to_physical()
    if physical.dtype.is_float():
        values = physical.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0
        return values.view(np.uint64)
    if has_128_bits(physical):
        return _long(physical)
    numbers = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).fill_null(0)
    return numbers.to_numpy().view(np.uint64)


def mixed(state: Words) -> Words:
    """The finishing steps of splitmix64: every bit of the state moves about half of the result."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    state ^= state >> np.uint64(31)
    return state


def drawn(seed: int, *parts: Any) -> Words:
    """All bits of the draws that belong to arrays of whole numbers, or columns."""
    start = mixed(np.array([(seed + int(STEP)) & _64_BITS], np.uint64))
    return stirred(np.broadcast_to(start, len(parts[0])), *parts)


def stirred(states: Words, *parts: Any) -> Words:
    """States with more parts in them, in the same memory if it may be written to."""
    stir = kernel(_stir) if repay(len(states)) else _stir_few
    cuts, every = blocks(*map(_whole, parts))
    found = states if states.flags.writeable else np.empty(len(states), np.uint64)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            here = slice(cuts[nth], cuts[nth + 1])
            if found is not states:
                found[here] = states[here]
            for part in every:
                stir(found[here], part[nth])

    in_blocks(work, len(cuts) - 1, 1)
    return found


def _whole(part: Any) -> pl.Series:
    """A part as a column of whole numbers, copied only if it must be."""
    import polars as pl

    if isinstance(part, np.ndarray):
        return pl.Series(part)
    return part if part.dtype.is_integer() and plain(part) else pl.Series(words(part))


def _stir_few(states: Words, part: Any) -> None:
    """States with a part in them, a block that fits the processor's cache at a time."""
    for low in range(0, len(states), _BLOCK):
        here = slice(low, low + _BLOCK)
        states[here] = mixed(states[here] + (part[here].astype(np.uint64) + np.uint64(1)) * STEP)


def _stir(states, part):  # type: ignore[no-untyped-def]
    """The same, compiled."""
    for row in range(states.shape[0]):
        state = states[row] + (np.uint64(part[row]) + np.uint64(1)) * STEP
        state = (state ^ (state >> np.uint64(30))) * _FIRST
        state = (state ^ (state >> np.uint64(27))) * _SECOND
        states[row] = state ^ (state >> np.uint64(31))


def _long(numbers: pl.Series) -> Words:
    """Integers of 128 bits as those of 64 where they fit, the others by the hash of their text."""
    import polars as pl

    signed, unsigned = (numbers.cast(kind, strict=False) for kind in (pl.Int64, pl.UInt64))
    found = _hashed(numbers.cast(pl.String)).copy()
    for fitting in (unsigned, signed):
        fits = fitting.is_not_null().to_numpy()
        found[fits] = fitting.drop_nulls().to_numpy().view(np.uint64)
    return found


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
