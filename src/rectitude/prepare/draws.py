"""Random numbers that belong to the content of rows, not to their place in a file.

A draw is a splitmix64 of the seed, the ids themselves, and which of the rows of the same pair it
is. Shuffled rows, other rows that were removed, another machine or another release of Polars change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.compiled import repay
from rectitude.data.codes import codes, first_rows, looked_up
from rectitude.data.taking import taken
from rectitude.prepare.alike import alike
from rectitude.prepare.order import Level, Standing, equals, settled, standing
from rectitude.prepare.words import drawn, stirred
from rectitude.threads import in_blocks

if TYPE_CHECKING:
    import polars as pl

    from rectitude.data.log import Log
    from rectitude.prepare.words import Words

_64_BITS = 2**64 - 1
_BLOCK = 1 << 14
_WIDE = 8
"""The nth of evenly lying numbers is looked for so many times the root of their number around the
place where it should be: 16 standard deviations or more."""
_TOLD_BY = ("user", "item", "timestamp", "grade")
"""What tells the rows of a pair apart."""


def at_random(log: Log, level: Level, seed: int) -> Standing:
    """Where each row stands in an order that the seed and the content of rows decide."""
    return standing(log.frame, level, _keys(log.frame, _of_rows(log.frame, seed)))


def _keys(frame: pl.DataFrame, draws: Words) -> Iterator[pl.Series]:
    """Draws as columns to sort by, and ids for draws that happen to be equal."""
    import polars as pl

    yield pl.Series((draws >> np.uint64(32)).astype(np.uint32))
    yield pl.Series(draws.astype(np.uint32))
    yield from (frame["user"], frame["item"])


def cut_at_random(log: Log, ends: Sequence[int], seed: int) -> Standing:
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
    return Standing(after, size)


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
    import polars as pl

    draws = _of_rows(frame, seed) if by == "row" else drawn(seed, frame[by])
    return pl.Series("draw", _shares(draws))


def numbers(seed: int, *parts: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A number in [0, 1) for each place of arrays of whole numbers: what it belongs to."""
    return _shares(drawn(seed, *parts))


def _shares(draws: Words) -> np.ndarray[Any, np.dtype[np.float64]]:
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _of_rows(frame: pl.DataFrame, seed: int) -> Words:
    """All bits of the draw of each row: of its user, its item, and which of their rows it is."""
    pairs = drawn(seed, frame["user"], frame["item"])
    return stirred(pairs, occurrences(frame, pairs))


def occurrences(
    frame: pl.DataFrame, pairs: Words | None = None
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """For each row, how many rows of the same user and item stand before it, by time and grade.

    `pairs` are random numbers that are equal where users and items are, if they are there already.
    """
    import polars as pl

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
