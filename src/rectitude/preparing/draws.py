"""Random numbers that depend on the content of rows, not on their position in a file.

A draw is a splitmix64 hash of the seed, the user id, the item id, and a counter for repeated rows
of the same user and item. It does not change if rows are shuffled, if other rows are removed, or on
another machine or release of Polars. Integers of any width are used directly; text is hashed, in
any storage type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats
from rectitude.data.ids import codes, divide_rows, first_rows, has_128_bits, look_up
from rectitude.data.log import Log, take_rows
from rectitude.data.values import blocks, is_plain_numeric
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import in_blocks, run_tasks
from rectitude.preparing.order import Level, RowStanding, equals, settle_ties, standing

Words = NDArray[np.uint64]
STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_64_BITS = 2**64 - 1
_BLOCK = 1 << 14
_WIDE = 8
"""How far around its expected rank the nth smallest draw is searched for, in units of the square
root of the number of draws: at least 16 standard deviations."""
_IDENTITY = ("user", "item", "timestamp", "grade")
"""The columns that distinguish rows: user and item, then what orders repeated rows of a pair."""


def at_random(log: Log, level: Level, seed: int) -> RowStanding:
    """Return the position of each row in a random order that depends on the seed and on the
    content of rows."""
    return standing(log.frame, level, _keys(log.frame, _draw_rows(log.frame, seed)))


Generator = Literal["content", "numpy_truth_first", "numpy_train_first", "numpy_uniform"]
"""How a random order is drawn: from the content of rows, or as other libraries draw it."""


def as_numpy(log: Log, level: Level, seed: int, generator: Generator) -> RowStanding:
    """Return the position of each row in an order that NumPy's `RandomState` draws for the rows in
    the order of the table.

    A permutation lists the rows of the truth first (scikit-learn) or those of train (pandas);
    "numpy_uniform" draws a number for each row, and the highest are the last of their group.
    """
    rows, state = log.frame.height, np.random.RandomState(seed)
    if generator == "numpy_uniform":
        return standing(log.frame, level, [pl.Series(state.random_sample(rows))])
    place = np.empty(rows, np.int64)
    place[state.permutation(rows)] = np.arange(rows)
    last_first = generator == "numpy_truth_first"
    return standing(log.frame, level, [pl.Series(-place if last_first else place)])


def _keys(frame: pl.DataFrame, draws: Words) -> Iterator[pl.Series]:
    """Yield draws as columns to sort by, then the ids in case two draws are equal."""
    yield pl.Series((draws >> np.uint64(32)).astype(np.uint32))
    yield pl.Series(draws.astype(np.uint32))
    yield from (frame["user"], frame["item"])


def cut_at_random(log: Log, ends: Sequence[int], seed: int) -> RowStanding:
    """Return the positions of `at_random` over the whole log, precise only at the given `ends`.

    The number of rows `after` each row is rounded down to one of `ends`, or to 0. This needs no
    sort.
    """
    draws = _draw_rows(log.frame, seed)
    rows = len(draws)
    inner = sorted({end for end in ends if 0 < end < rows})
    limits = [_nth(draws, rows - end) for end in inner]
    steps = np.diff([0, *inner]).astype(np.int32)
    after, size = np.zeros(rows, np.int32), np.broadcast_to(np.int32(rows), rows)

    def work(first: int, last: int) -> None:
        # A row that reaches one end also reaches all smaller ends.
        for limit, step in zip(limits, steps, strict=True):
            after[first:last] += (draws[first:last] < limit) * step

    in_blocks(work, rows, _BLOCK)
    return RowStanding(after, size)


def _nth(draws: Words, rank: int) -> np.uint64:
    """Return the draw that would have this rank (from 0) if all were sorted.

    Draws are uniform, so it is first searched for among the draws near its expected value.
    """
    rows, margin = len(draws), _WIDE * len(draws) ** 0.5
    low, high = (
        np.uint64(min(max(int((rank + offset) / rows * 2**64), 0), _64_BITS))
        for offset in (-margin, margin)
    )
    below: list[int] = []
    near: list[Words] = []

    def work(first: int, last: int) -> None:
        block = draws[first:last]
        below.append(int(np.count_nonzero(block < low)))
        near.append(block[(block >= low) & (block <= high)])

    in_blocks(work, rows, _BLOCK)
    searched, at = np.concatenate(near), rank - sum(below)
    if not 0 <= at < len(searched):
        searched, at = draws, rank
    nth: np.uint64 = np.partition(searched, at)[at]
    return nth


def places(ids: pl.Series, seed: int) -> tuple[Any, int]:
    """Return the position of each row's id in a random order of the ids, and the number of ids."""
    numbers, size = codes(ids)
    row = first_rows(numbers, size)
    present = np.flatnonzero(row >= 0)
    order = np.argsort(draw_bits(seed, ids.gather(row[present])), kind="stable")
    position = np.zeros(size, np.int32)
    position[present[order]] = np.arange(len(present))
    return look_up(position, numbers), len(present)


def uniform(
    frame: pl.DataFrame, seed: int, by: Literal["row", "user", "item"] = "row"
) -> pl.Series:
    """Draw a number in [0, 1) for each row; with `by="user"` or "item", one number per id."""
    draws = _draw_rows(frame, seed) if by == "row" else draw_bits(seed, frame[by])
    return pl.Series("draw", _to_unit_interval(draws))


def numbers(seed: int, *parts: Any) -> Floats:
    """Draw a number in [0, 1) for each position of integer arrays, such as users and items; it
    depends on the values of all arrays at that position."""
    return _to_unit_interval(draw_bits(seed, *parts))


def _to_unit_interval(draws: Words) -> Floats:
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _draw_rows(frame: pl.DataFrame, seed: int) -> Words:
    """Draw 64 bits for each row, from its user, its item, and its number among their rows."""
    pairs = draw_bits(seed, frame["user"], frame["item"])
    return stir(pairs, occurrences(frame, pairs))


def occurrences(frame: pl.DataFrame, pairs: Words | None = None) -> NDArray[np.uint32]:
    """Count, for each row, the rows of the same user and item before it by time and grade.

    `pairs` can be given to save time: random numbers that are equal for the same user and item.
    """
    before = np.full(frame.height, 0, np.uint32)  # np.zeros would use small memory pages: slower
    table = pl.DataFrame([frame[name] for name in _IDENTITY if name in frame.columns])
    rows = np.arange(frame.height)
    if should_compile(frame.height):
        repeated = alike(draw_bits(0, table["user"], table["item"]) if pairs is None else pairs)
        rows, table = np.flatnonzero(repeated), take_rows(table, [repeated]).frames[0]
    columns = table.get_columns()
    (users, size), (items, _) = map(codes, columns[:2])
    runs = settle_ties(equals((users, size), items), columns[2:])
    nth = np.arange(len(runs.rows)) - np.repeat(runs.ends - runs.sizes, runs.sizes)
    before[look_up(rows, runs.rows)] = nth
    return before


def draw_bits(seed: int, *parts: Any) -> Words:
    """Draw 64 bits for each position of integer arrays or columns, from all values there."""
    start = mix(np.array([(seed + int(STEP)) & _64_BITS], np.uint64))
    return stir(np.broadcast_to(start, len(parts[0])), *parts)


def stir(states: Words, *parts: Any) -> Words:
    """Mix arrays or columns into hash states, in place if the states can be written to."""
    stir = kernel(_stir) if should_compile(len(states)) else _stir_few
    cuts, columns = blocks(*map(_whole, parts))
    mixed = states if states.flags.writeable else np.empty(len(states), np.uint64)

    def work(first: int, last: int) -> None:
        for nth in range(first, last):
            block = slice(cuts[nth], cuts[nth + 1])
            if mixed is not states:
                mixed[block] = states[block]
            for column in columns:
                stir(mixed[block], column[nth])

    in_blocks(work, len(cuts) - 1, 1)
    return mixed


def _whole(values: Any) -> pl.Series:
    """Return an array or column as a column of integers, copied only if necessary."""
    if isinstance(values, np.ndarray):
        return pl.Series(values)
    return (
        values
        if values.dtype.is_integer() and is_plain_numeric(values)
        else pl.Series(words(values))
    )


def _stir_few(states: Words, values: Any) -> None:
    """Mix values into states, one block that fits the processor's cache at a time."""
    for low in range(0, len(states), _BLOCK):
        block = slice(low, low + _BLOCK)
        states[block] = mix(states[block] + (values[block].astype(np.uint64) + np.uint64(1)) * STEP)


def _stir(states, values):  # type: ignore[no-untyped-def]
    """The same as `_stir_few`, compiled."""
    for row in range(states.shape[0]):
        state = states[row] + (np.uint64(values[row]) + np.uint64(1)) * STEP
        state = (state ^ (state >> np.uint64(30))) * _FIRST
        state = (state ^ (state >> np.uint64(27))) * _SECOND
        states[row] = state ^ (state >> np.uint64(31))


def mix(state: Words) -> Words:
    """Apply the final steps of splitmix64: each bit of the state flips about half of the result."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    state ^= state >> np.uint64(31)
    return state


def words(column: pl.Series) -> Words:
    """Turn each value into an integer: integers as they are, floats by their bits, text by hash."""
    if column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary):
        return _hash_text(column if column.dtype == pl.Binary else column.cast(pl.String))
    if column.dtype.is_nested():
        return _hash_text(column.to_frame().to_struct().struct.json_encode())
    physical = column.to_physical()
    if physical.dtype.is_float():
        values = physical.cast(pl.Float64).fill_null(float("nan")).to_numpy() + 0.0
        return values.view(np.uint64)
    if has_128_bits(physical):
        return _shorten(physical)
    numbers = physical.cast(pl.UInt64 if physical.dtype == pl.UInt64 else pl.Int64).fill_null(0)
    return numbers.to_numpy().view(np.uint64)


def _shorten(numbers: pl.Series) -> Words:
    """Turn 128-bit integers into 64 bits: as they are if they fit, else the hash of their text."""
    signed, unsigned = (numbers.cast(kind, strict=False) for kind in (pl.Int64, pl.UInt64))
    short = _hash_text(numbers.cast(pl.String)).copy()
    for converted in (unsigned, signed):
        fits = converted.is_not_null().to_numpy()
        short[fits] = converted.drop_nulls().to_numpy().view(np.uint64)
    return short


def _hash_text(texts: pl.Series) -> Words:
    distinct = texts.unique()
    hashes = [
        int.from_bytes(hashlib.blake2b(_encode(text), digest_size=8).digest(), "little")
        for text in distinct
    ]
    table = pl.DataFrame({"text": distinct, "hash": pl.Series(hashes, dtype=pl.UInt64)})
    rows = pl.DataFrame({"text": texts})
    joined = rows.join(table, "text", "left", nulls_equal=True, maintain_order="left")
    return joined["hash"].to_numpy()


def _encode(text: str | bytes | None) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


_BITS = np.uint64(10)
"""Rows are divided into portions by this many leading bits of their numbers."""
_ROW = np.uint64(32)
"""The number of lower bits of a packed number, which hold the row."""


def alike(words: Words) -> Flags:
    """Flag rows whose number occurs more than once, and perhaps a few others: only 42 of the 64
    bits are compared.

    Rows are first divided into portions by the leading bits of their numbers, to keep the hash
    table of each portion in the processor's cache.
    """
    number, cuts = divide_rows(len(words), 1 << int(_BITS))
    counts = np.zeros((number, 1 << int(_BITS)), np.int64)
    tally, divide, find, rows = kernel(_tally), kernel(_divide), kernel(_find), freeze(words)
    spans = list(zip(cuts[:-1], cuts[1:], range(number), strict=True))
    run_tasks([partial(tally, rows, a, b, counts[n]) for a, b, n in spans])
    total = counts.sum(axis=0)
    ends = np.cumsum(total)
    cursors = ends - total + np.cumsum(counts, axis=0) - counts
    packed, repeated = np.empty(len(words), np.uint64), np.zeros(len(words), bool)
    run_tasks([partial(divide, rows, a, b, cursors[n], packed) for a, b, n in spans])
    in_blocks(lambda first, last: find(packed, ends, first, last, repeated), len(ends), 1)
    return repeated


def _tally(words, first, last, counts):  # type: ignore[no-untyped-def]
    """Count the numbers of each portion: those with the same leading bits."""
    for row in range(first, last):
        counts[words[row] >> (np.uint64(64) - _BITS)] += 1


def _divide(words, first, last, cursors, packed):  # type: ignore[no-untyped-def]
    """Write rows portion by portion, each with the next 32 bits of its number above the row."""
    for row in range(first, last):
        portion = words[row] >> (np.uint64(64) - _BITS)
        packed[cursors[portion]] = ((words[row] << _BITS) >> _ROW << _ROW) | np.uint64(row)
        cursors[portion] += 1


def _find(packed, ends, first, last, repeated):  # type: ignore[no-untyped-def]
    """Flag rows whose bits occur more than once in their portion, with a hash table per portion.
    It stores packed numbers plus one, because 0 marks an empty slot."""
    one, row = np.uint64(1), np.uint64(0xFFFFFFFF)
    for portion in range(first, last):
        low, bits = ends[portion - 1] if portion else 0, 2
        while 1 << bits < 2 * (ends[portion] - low):
            bits += 1
        table, shift, mask = np.zeros(1 << bits, np.uint64), 64 - bits, np.uint64((1 << bits) - 1)
        for position in range(low, ends[portion]):
            entry = packed[position] + one
            slot = entry >> np.uint64(shift)
            while table[slot] and (table[slot] ^ entry) >> _ROW:
                slot = (slot + one) & mask
            if table[slot]:
                repeated[(entry - one) & row] = repeated[(table[slot] - one) & row] = True
            else:
                table[slot] = entry
