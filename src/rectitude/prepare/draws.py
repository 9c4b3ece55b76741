"""Random numbers that belong to the content of rows, not to their place in a file.

A draw is a splitmix64 of the seed, the ids themselves, and which of the rows of the same pair it
is. Shuffled rows, other rows that were removed, another machine or another release of Polars change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.data.codes import codes, looked_up
from rectitude.prepare.order import Level, Standing, settled, standing
from rectitude.prepare.repeats import repeats
from rectitude.prepare.words import STEP, mixed, words
from rectitude.threads import in_blocks

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.log import Log
    from rectitude.prepare.words import Words

_64_BITS = 2**64 - 1
_BLOCK = 1 << 14


def at_random(log: Log, level: Level, seed: int) -> Standing:
    """Where each row stands in an order that the seed and the content of rows decide."""
    return standing(log.frame, level, _keys(log.frame, _drawn(seed, *_pairs(log.frame))))


def _keys(frame: pl.DataFrame, draws: Words) -> Iterator[pl.Series]:
    """Draws as columns to sort by, and ids for draws that happen to be equal."""
    import polars as pl

    yield pl.Series((draws >> np.uint64(32)).astype(np.uint32))
    yield pl.Series(draws.astype(np.uint32))
    yield from (frame["user"], frame["item"])


def cut_at_random(log: Log, ends: Sequence[int], seed: int) -> Standing:
    """As `at_random` over the whole log, but only how many of these places a row stands behind:
    `after` is the last of them, or 0. Nothing has to be sorted for that."""
    draws = _drawn(seed, *_pairs(log.frame))
    rows = len(draws)
    inner = sorted({end for end in ends if 0 < end < rows})
    after, size = np.zeros(rows, np.int32), np.broadcast_to(np.int32(rows), rows)
    if inner:
        limits = np.partition(draws, [rows - end for end in inner])
        for end in inner:
            after[draws < limits[rows - end]] = end
    return Standing(after, size)


def places(ids: pl.Series, seed: int) -> tuple[Any, int]:
    """The place of each row's id in a random order of the ids, and how many ids there are."""
    numbers, size = codes(ids)
    row = np.full(size, -1, np.int64)
    row[numbers] = np.arange(len(numbers))
    known = np.flatnonzero(row >= 0)
    order = np.argsort(_drawn(seed, words(ids.gather(row[known]))), kind="stable")
    place = np.zeros(size, np.int64)
    place[known[order]] = np.arange(len(known))
    return looked_up(place, numbers), len(known)


def uniform(
    frame: pl.DataFrame, seed: int, by: Literal["row", "user", "item"] = "row"
) -> pl.Series:
    """A number in [0, 1) for each row of a log's frame; with `by`, the same for rows of one id."""
    import polars as pl

    parts = _pairs(frame) if by == "row" else [words(frame[by])]
    return pl.Series("draw", numbers(seed, *parts))


def numbers(seed: int, *parts: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A number in [0, 1) for each place of arrays of whole numbers: what it belongs to."""
    return (_drawn(seed, *parts) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _drawn(seed: int, *parts: Any) -> Words:
    """All bits of the draws, a block that fits the processor's cache at a time."""
    start = mixed(np.array([(seed + int(STEP)) & _64_BITS], np.uint64))
    drawn = np.empty(len(parts[0]), np.uint64)

    def work(first: int, last: int) -> None:
        for low in range(first, last, _BLOCK):
            here = slice(low, min(low + _BLOCK, last))
            state = start
            for part in parts:
                state = mixed(state + (part[here].astype(np.uint64) + np.uint64(1)) * STEP)
            drawn[here] = state

    in_blocks(work, len(drawn), _BLOCK)
    return drawn


def _pairs(frame: pl.DataFrame) -> list[Any]:
    """What a row's draw belongs to: its user, its item, and which of their rows it is."""
    return [words(frame["user"]), words(frame["item"]), occurrences(frame)]


def occurrences(frame: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """For each row, how many rows of the same user and item stand before it, by time and grade."""
    columns = [frame[name] for name in ("timestamp", "grade") if name in frame.columns]
    runs = settled(repeats(frame), columns)
    found = np.zeros(frame.height, np.uint32)
    found[runs.rows] = np.arange(len(runs.rows)) - np.repeat(runs.ends - runs.sizes, runs.sizes)
    return found
