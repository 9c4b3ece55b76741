"""Random numbers that belong to the content of rows, not to their place in a file.

A draw is a splitmix64 of the seed, the ids themselves, and which of the rows of the same pair it
is. Shuffled rows, other rows that were removed, another machine or another release of Polars change
nothing. An integer is its own number whatever its width, a text is hashed whatever it is stored as.
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
from rectitude.data.ids import codes, first_rows, has_128_bits, looked_up, stretches
from rectitude.data.log import Log, taken
from rectitude.data.values import blocks, plain
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import in_blocks, together
from rectitude.prepare.order import Level, RowStanding, equals, settled, standing

Words = NDArray[np.uint64]
STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_64_BITS = 2**64 - 1
_BLOCK = 1 << 14
_WIDE = 8
"""The nth of evenly lying numbers is looked for so many times the root of their number around the
place where it should be: 16 standard deviations or more."""
_TOLD_BY = ("user", "item", "timestamp", "grade")
"""What tells the rows of a pair apart."""


def at_random(log: Log, level: Level, seed: int) -> RowStanding:
    """Where each row stands in an order that the seed and the content of rows decide."""
    return standing(log.frame, level, _keys(log.frame, _of_rows(log.frame, seed)))


def _keys(frame: pl.DataFrame, draws: Words) -> Iterator[pl.Series]:
    """Draws as columns to sort by, and ids for draws that happen to be equal."""
    yield pl.Series((draws >> np.uint64(32)).astype(np.uint32))
    yield pl.Series(draws.astype(np.uint32))
    yield from (frame["user"], frame["item"])


def cut_at_random(log: Log, ends: Sequence[int], seed: int) -> RowStanding:
    """As `at_random` over the whole log, but only how many of these places a row stands behind:
    `after` is the last of them, or 0. Nothing has to be sorted for that."""
    draws = _of_rows(log.frame, seed)
    rows = len(draws)
    inner = sorted({end for end in ends if 0 < end < rows})
    limits = [_nth(draws, rows - end) for end in inner]
    steps = np.diff([0, *inner]).astype(np.int32)
    after, size = np.zeros(rows, np.int32), np.broadcast_to(np.int32(rows), rows)

    def work(first: int, last: int) -> None:
        # Who stands behind one end stands behind those before it, too.
        for limit, step in zip(limits, steps, strict=True):
            after[first:last] += (draws[first:last] < limit) * step

    in_blocks(work, rows, _BLOCK)
    return RowStanding(after, size)


def _nth(draws: Words, place: int) -> np.uint64:
    """The draw at this place if all were sorted. Draws lie evenly, so that it is looked for where
    it should be before anything is sorted."""
    rows, wide = len(draws), _WIDE * len(draws) ** 0.5
    low, high = (
        np.uint64(min(max(int((place + aside) / rows * 2**64), 0), _64_BITS))
        for aside in (-wide, wide)
    )
    below: list[int] = []
    near: list[Words] = []

    def work(first: int, last: int) -> None:
        some = draws[first:last]
        below.append(int(np.count_nonzero(some < low)))
        near.append(some[(some >= low) & (some <= high)])

    in_blocks(work, rows, _BLOCK)
    found, at = np.concatenate(near), place - sum(below)
    if not 0 <= at < len(found):
        found, at = draws, place
    nth: np.uint64 = np.partition(found, at)[at]
    return nth


def places(ids: pl.Series, seed: int) -> tuple[Any, int]:
    """The place of each row's id in a random order of the ids, and how many ids there are."""
    numbers, size = codes(ids)
    row = first_rows(numbers, size)
    known = np.flatnonzero(row >= 0)
    order = np.argsort(drawn(seed, ids.gather(row[known])), kind="stable")
    place = np.zeros(size, np.int32)
    place[known[order]] = np.arange(len(known))
    return looked_up(place, numbers), len(known)


def uniform(
    frame: pl.DataFrame, seed: int, by: Literal["row", "user", "item"] = "row"
) -> pl.Series:
    """A number in [0, 1) for each row of a log's frame; with `by`, the same for rows of one id."""
    draws = _of_rows(frame, seed) if by == "row" else drawn(seed, frame[by])
    return pl.Series("draw", _shares(draws))


def numbers(seed: int, *parts: Any) -> Floats:
    """A number in [0, 1) for each place of arrays of whole numbers: what it belongs to."""
    return _shares(drawn(seed, *parts))


def _shares(draws: Words) -> Floats:
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _of_rows(frame: pl.DataFrame, seed: int) -> Words:
    """All bits of the draw of each row: of its user, its item, and which of their rows it is."""
    pairs = drawn(seed, frame["user"], frame["item"])
    return stirred(pairs, occurrences(frame, pairs))


def occurrences(frame: pl.DataFrame, pairs: Words | None = None) -> NDArray[np.uint32]:
    """For each row, how many rows of the same user and item stand before it, by time and grade.

    `pairs` are random numbers that are equal where users and items are, if they are there already.
    """
    found = np.full(frame.height, 0, np.uint32)  # zeros would be mapped in small pages
    few = pl.DataFrame([frame[name] for name in _TOLD_BY if name in frame.columns])
    rows = np.arange(frame.height)
    if repay(frame.height):
        again = alike(drawn(0, few["user"], few["item"]) if pairs is None else pairs)
        rows, few = np.flatnonzero(again), taken(few, [again]).frames[0]
    columns = few.get_columns()
    (users, size), (items, _) = map(codes, columns[:2])
    runs = settled(equals((users, size), items), columns[2:])
    nth = np.arange(len(runs.rows)) - np.repeat(runs.ends - runs.sizes, runs.sizes)
    found[looked_up(rows, runs.rows)] = nth
    return found


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


def mixed(state: Words) -> Words:
    """The finishing steps of splitmix64: every bit of the state moves about half of the result."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    state ^= state >> np.uint64(31)
    return state


def words(column: pl.Series) -> Words:
    """A number for each value: integers as they are, floats by their bits, texts by their hash."""
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


def _long(numbers: pl.Series) -> Words:
    """Integers of 128 bits as those of 64 where they fit, the others by the hash of their text."""
    signed, unsigned = (numbers.cast(kind, strict=False) for kind in (pl.Int64, pl.UInt64))
    found = _hashed(numbers.cast(pl.String)).copy()
    for fitting in (unsigned, signed):
        fits = fitting.is_not_null().to_numpy()
        found[fits] = fitting.drop_nulls().to_numpy().view(np.uint64)
    return found


def _hashed(texts: pl.Series) -> Words:
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


_BITS = np.uint64(10)
"""Rows are dealt out by so many bits of their numbers."""
_ROW = np.uint64(32)


def alike(words: Words) -> Flags:
    """The rows whose number other rows have too, and perhaps a few more: 42 of the 64 bits are
    compared.

    Rows are dealt out by the first bits of their numbers, so that what is looked up next stays in
    the processor's cache.
    """
    number, cuts = stretches(len(words), 1 << int(_BITS))
    counts = np.zeros((number, 1 << int(_BITS)), np.int64)
    tally, deal, find, rows = kernel(_tally), kernel(_deal), kernel(_find), frozen(words)
    spans = list(zip(cuts[:-1], cuts[1:], range(number), strict=True))
    together([partial(tally, rows, a, b, counts[n]) for a, b, n in spans])
    total = counts.sum(axis=0)
    ends = np.cumsum(total)
    places = ends - total + np.cumsum(counts, axis=0) - counts
    dealt, again = np.empty(len(words), np.uint64), np.zeros(len(words), bool)
    together([partial(deal, rows, a, b, places[n], dealt) for a, b, n in spans])
    in_blocks(lambda first, last: find(dealt, ends, first, last, again), len(ends), 1)
    return again


def _tally(words, first, last, counts):  # type: ignore[no-untyped-def]
    """How many numbers begin with the same bits."""
    for row in range(first, last):
        counts[words[row] >> (np.uint64(64) - _BITS)] += 1


def _deal(words, first, last, places, dealt):  # type: ignore[no-untyped-def]
    """The next bits of each number above its row, those with the same first bits together."""
    for row in range(first, last):
        start = words[row] >> (np.uint64(64) - _BITS)
        dealt[places[start]] = ((words[row] << _BITS) >> _ROW << _ROW) | np.uint64(row)
        places[start] += 1


def _find(dealt, ends, first, last, again):  # type: ignore[no-untyped-def]
    """Mark the rows whose bits another one of their portion has, by a hash table of each: numbers
    one higher than they were dealt, where 0 is an empty place."""
    one, row = np.uint64(1), np.uint64(0xFFFFFFFF)
    for portion in range(first, last):
        low, bits = ends[portion - 1] if portion else 0, 2
        while 1 << bits < 2 * (ends[portion] - low):
            bits += 1
        table, shift, mask = np.zeros(1 << bits, np.uint64), 64 - bits, np.uint64((1 << bits) - 1)
        for place in range(low, ends[portion]):
            mine = dealt[place] + one
            slot = mine >> np.uint64(shift)
            while table[slot] and (table[slot] ^ mine) >> _ROW:
                slot = (slot + one) & mask
            if table[slot]:
                again[(mine - one) & row] = again[(table[slot] - one) & row] = True
            else:
                table[slot] = mine
