"""The order of rows within a user, an item or the whole log, and where each row stands in it.

Rows of a group are brought together first, then each group is sorted by itself: by time or by a
random number, and what is still equal by the next column. Rows that are equal in all of them stay
in the order of the log.

Many frameworks sort with `sort_values` or `argsort` and do not ask for a stable sort. Which of
equal rows comes first then follows from the algorithm, NumPy's introsort, and from where all the
other rows stood; that order is here too.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.ids import codes, counts, has_128_bits, looked_up, ranks, stretches
from rectitude.data.log import Log
from rectitude.data.values import blocks, plain
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import thread_count, together

Whole = NDArray[np.int32]
Rows = NDArray[np.uint32]
Keys = NDArray[np.uint32]
Groups = tuple[Keys, int]
"""The number of the group of each row, from 0 on, and a bound that they stay below."""
Level = Literal["user", "item", "all"]
StableTies = Literal["content", "first", "last"]
Ties = Literal[StableTies, "introsort", "content_introsort"]
Order = Literal["time", "file"]
STABLE = 16
"""So many numbers at most are sorted by insertion, which leaves equal ones as they stood."""
_PREFIX = 16
"""A whole log is sorted in portions by so many leading bits of the key."""
_FEW = 16
"""Groups of at most so many rows are sorted by insertion."""
_32_BITS = 2**32


class SortedRuns(NamedTuple):
    """Rows of a log, group after group, and where each group ends."""

    rows: Rows
    ends: Integers

    @property
    def sizes(self) -> Integers:
        """How many rows each group has."""
        return np.diff(self.ends, prepend=0)


class RowStanding(NamedTuple):
    """For each row: how many rows of its group stand after it, and how many there are."""

    after: Whole
    size: Whole

    @property
    def before(self) -> Whole:
        """How many rows of the group stand before each row."""
        return self.size - 1 - self.after


def by_time(
    log: Log, level: Level = "user", ties: Ties = "content", order: Order = "time"
) -> RowStanding:
    """Where each row stands when rows go by time.

    Rows of equal time go by item, user and grade, so that the order of the file plays no part;
    "first" and "last" go by the file instead, and say which of the rows counts as the latest.
    "introsort" is as NumPy's introsort leaves the rows of a group that come in the order of the
    file, "content_introsort" those that come by item, user and grade. `order` "file" forgets time
    altogether.
    """
    if order == "file":
        return standing(log.frame, level, [])
    log.require("timestamp", "an order in time")
    if ties in ("introsort", "content_introsort"):
        return _standing(_introsorted(log.frame, level, ties))
    return standing(log.frame, level, in_time(log.frame, ties))


def in_time(frame: pl.DataFrame, ties: Ties = "content", by: str = "timestamp") -> list[pl.Series]:
    """The columns that put rows in the order of time, the later ones for rows of equal time."""
    if ties in ("last", "introsort"):
        return [frame[by]]
    if ties == "first":
        return [frame[by], pl.int_range(frame.height, 0, -1, eager=True)]
    others = [name for name in ("item", "user", "grade") if name in frame.columns]
    return [frame[by], *(frame[name] for name in others)]


def standing(frame: pl.DataFrame, level: Level, columns: Iterable[pl.Series]) -> RowStanding:
    """Where each row stands within its group when rows go by these columns."""
    return _standing(_arranged(frame, level, columns))


def _standing(runs: SortedRuns) -> RowStanding:
    rows, ends = runs
    after, size = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    if repay(len(rows)):
        kernel(_place)(frozen(rows), frozen(ends), after, size)
        return RowStanding(after, size)
    size[rows] = np.repeat(runs.sizes, runs.sizes)
    after[rows] = np.repeat(ends, runs.sizes) - 1 - np.arange(len(rows))
    return RowStanding(after, size)


def _place(rows, ends, after, size):  # type: ignore[no-untyped-def]
    """Where each row stands, in the order of the log."""
    first = 0
    for group in range(ends.shape[0]):
        last = ends[group]
        for place in range(first, last):
            after[rows[place]] = last - 1 - place
            size[rows[place]] = last - first
        first = last


def _arranged(frame: pl.DataFrame, level: Level, columns: Iterable[pl.Series]) -> SortedRuns:
    if level != "all":
        return ordered(codes(frame[level]), columns)
    every = np.arange(frame.height, dtype=np.uint32)
    rows = every if columns == [] else ordered(None, columns).rows
    return SortedRuns(rows, np.array([frame.height]))


def _introsorted(frame: pl.DataFrame, level: Level, ties: Ties) -> SortedRuns:
    """The rows of each group as introsort leaves them: another order than that of a stable sort
    only in long groups with equal times, so that no others are sorted again."""
    times, came = whole(frame["timestamp"]), in_time(frame, ties)[1:]
    if level == "all":
        rows = _arranged(frame, level, came).rows
        return SortedRuns(rows[introsort(times[rows])], np.array([frame.height]))
    runs = _arranged(frame, level, in_time(frame, ties))
    sizes = runs.sizes
    again = np.zeros(len(sizes), bool)
    again[np.searchsorted(runs.ends, _tied(times[runs.rows], runs.ends)[0], "right")] = True
    again &= sizes > STABLE
    places = np.flatnonzero(np.repeat(again, sizes))
    some = SortedRuns(runs.rows[places], np.cumsum(sizes[again]))
    some = settled(some, came or [pl.int_range(frame.height, eager=True)])
    runs.rows[places] = introsorted(some.rows, some.ends, times)
    return runs


def ordered(groups: Groups | None, columns: Iterable[pl.Series]) -> SortedRuns:
    """The rows of each group in the order of columns: a column decides between rows that are equal
    in all before it. Without groups, all rows are one."""
    rest = iter(columns)
    first = next(rest, None)
    keys = [] if first is None else narrow(first)
    runs, sorted_keys = _grouped(groups, numbers(keys[0]) if keys else None)
    tied, ends = _tied(sorted_keys, runs.ends)
    others = chain(keys[1:], rest)
    second = next(others, None) if len(tied) else None
    if second is not None:
        rows = runs.rows[tied]
        here = (_at(column, rows) for column in chain([second], others))
        runs.rows[tied] = rows[ordered(_numbered(ends), here).rows]
    return runs


def _numbered(ends: Integers) -> Groups:
    """Rows that stand group after group, as numbers of their groups."""
    return np.repeat(np.arange(len(ends), dtype=np.uint32), np.diff(ends, prepend=0)), len(ends)


def _at(column: pl.Series, rows: Rows) -> pl.Series:
    """What a column holds in these rows; times as the numbers behind them."""
    if not plain(column):
        return column.rechunk().gather(rows)
    return pl.Series(looked_up(column.to_physical().rechunk().to_numpy(), rows))


def settled(runs: SortedRuns, columns: Iterable[pl.Series]) -> SortedRuns:
    """The same groups, with the rows of each in the order of columns."""
    here = (_at(column, runs.rows) for column in columns)
    return SortedRuns(runs.rows[ordered(_numbered(runs.ends), here).rows], runs.ends)


def equals(groups: Groups, keys: Keys) -> SortedRuns:
    """The rows that share their group and their key with others, put together."""
    runs, keys = _grouped(groups, keys)
    tied, ends = _tied(keys, runs.ends)
    return SortedRuns(runs.rows[tied], ends)


def _grouped(groups: Groups | None, keys: Keys | None) -> tuple[SortedRuns, Keys]:
    """The rows of each group in the order of a key, and the keys."""
    if keys is None:
        keys = np.zeros(0 if groups is None else len(groups[0]), np.uint32)
    if groups is None:  # a start on sorting them all: portions that leading bits tell apart
        over = max(int(keys.max(initial=0)).bit_length() - _PREFIX, 0)
        groups = keys >> np.uint32(over), 1 << _PREFIX
    if not repay(len(keys)):
        rows = np.lexsort((keys, groups[0])).astype(np.uint32)
        return SortedRuns(rows, np.cumsum(counts(*groups))), keys[rows]
    packed, ends = gathered(groups, keys)
    rows, keys = _unpacked(packed, ends)
    return SortedRuns(rows, ends), keys


def gathered(groups: Groups, keys: Keys) -> tuple[NDArray[np.uint64], Integers]:
    """A key above its row in one number, for all rows, group after group, and where groups end."""
    found = counts(*groups)
    ends = np.cumsum(found)
    packed = np.empty(len(keys), np.uint64)
    kernel(_gather)(frozen(groups[0]), frozen(keys), ends - found, packed)
    return packed, ends


def _gather(groups, keys, cursor, packed):  # type: ignore[no-untyped-def]
    """The rows of each group one after the other, each number with its key above it."""
    for row in range(groups.shape[0]):
        group = groups[row]
        packed[cursor[group]] = np.uint64(keys[row]) << np.uint64(32) | np.uint64(row)
        cursor[group] += 1


def _unpacked(packed: NDArray[np.uint64], ends: Integers) -> tuple[Rows, Keys]:
    """Sort numbers that hold a key above a row, run by run, on several threads; take them apart."""
    sort = kernel(_sort)
    cuts = np.arange(0, len(packed), max(len(packed) // (4 * thread_count()), 1) + 1)
    bounds = [*np.unique(np.searchsorted(ends, cuts)), len(ends)]
    together([partial(sort, frozen(ends), a, b, packed) for a, b in pairwise(bounds)])
    rows = packed.astype(np.uint32)
    packed >>= np.uint64(32)
    return rows, packed.astype(np.uint32)


def _sort(ends, first, last, packed):  # type: ignore[no-untyped-def]
    """Sort the numbers of some groups, each by itself; a few are put in their places at once."""
    for group in range(first, last):
        low, high = ends[group - 1] if group else 0, ends[group]
        if high - low > _FEW:
            packed[low:high].sort()
            continue
        for place in range(low + 1, high):
            number, at = packed[place], place
            while at > low and packed[at - 1] > number:
                packed[at] = packed[at - 1]
                at -= 1
            packed[at] = number


def _tied(keys: NDArray[Any], ends: Integers) -> tuple[Integers, Integers]:
    """The places whose key a neighbour in the run has too, and where runs of them end."""
    if len(keys) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    same = keys[1:] == keys[:-1]
    same[ends[(ends > 0) & (ends < len(keys))] - 1] = False
    more = np.append(same, False)
    both = more.copy()
    both[1:] |= same
    places = np.flatnonzero(both)
    return places, np.flatnonzero(~more[places]) + 1


def narrow(column: pl.Series) -> list[pl.Series]:
    """Columns of whole numbers that span no more than 32 bits, in the same order: one, or two of
    which the second decides where the first is equal. Text and the like stay as they are."""
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
    if not column.dtype.is_integer() or has_128_bits(column):
        return ranks(column)
    low, high = cast("tuple[int, int]", (column.min() or 0, column.max() or 0))
    if not 0 <= low <= high < _32_BITS:
        column = (column if column.dtype == pl.UInt64 else column.cast(pl.Int64)) - low
    return column.cast(pl.UInt32).to_numpy()


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
    physical = column.to_physical()
    if not physical.dtype.is_integer() or has_128_bits(physical) or physical.dtype == pl.UInt64:
        return ranks(physical).astype(np.int64)
    if cast("int", physical.min() or 0) == np.iinfo(np.int64).min:
        return ranks(physical).astype(np.int64)
    return physical.cast(pl.Int64).to_numpy()


def ends_of(
    log: Log, level: Literal["user", "item"], end: Literal["first", "last"]
) -> tuple[pl.Series, NDArray[np.uint32]]:
    """The first or last time of each user or item by its number, and the number of each row.
    Numbers that no row has come with any time."""
    log.require("timestamp", "an order in time")
    groups, size = codes(log.frame[level])
    times = log.frame["timestamp"].to_physical()
    farthest = (times.max() if end == "first" else times.min()) if len(times) else 0
    extreme = np.minimum if end == "first" else np.maximum
    tables = stretches(len(groups), size)[0] if repay(len(groups)) else 1
    found = np.full((tables, size), farthest, times[:1].to_numpy().dtype)
    if repay(len(groups)):
        cuts, (parts,) = blocks(times)
        fill, mine = kernel(_earliest if end == "first" else _latest), frozen(groups)

        def work(table: int) -> None:
            for nth in range(table, len(parts), tables):
                fill(mine[cuts[nth] : cuts[nth + 1]], parts[nth], found[table])

        together([partial(work, table) for table in range(tables)])
    else:
        extreme.at(found[0], groups, times.to_numpy())
    ends = extreme.reduce(found, axis=0)
    return pl.Series("timestamp", ends).cast(log.frame["timestamp"].dtype), groups


def _earliest(groups, times, found):  # type: ignore[no-untyped-def]
    """Lower the time of each group to that of its earliest row."""
    for row in range(groups.shape[0]):
        found[groups[row]] = min(found[groups[row]], times[row])


def _latest(groups, times, found):  # type: ignore[no-untyped-def]
    """Raise the time of each group to that of its latest row."""
    for row in range(groups.shape[0]):
        found[groups[row]] = max(found[groups[row]], times[row])
