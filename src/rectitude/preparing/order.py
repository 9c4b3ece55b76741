"""The order of rows within each user, each item or the whole log, and the position of each row.

Rows are grouped first. Then each group is sorted separately by time or by a random number; further
columns break ties. Rows that are equal in all columns keep the order of the log.

Many frameworks call `sort_values` or `argsort` without asking for a stable sort. The order of equal
rows then depends on the algorithm, NumPy's introsort, and on the positions of all other rows. This
module reproduces that order too.
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
from rectitude.data.ids import codes, counts, divide_rows, has_128_bits, look_up, ranks
from rectitude.data.log import Log
from rectitude.data.values import blocks, is_plain_numeric
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import run_tasks, thread_count

Whole = NDArray[np.int32]
Rows = NDArray[np.uint32]
Keys = NDArray[np.uint32]
Groups = tuple[Keys, int]
"""The group number of each row, from 0, and a bound that is above all of them."""
Level = Literal["user", "item", "all"]
StableTies = Literal["content", "first", "last"]
Ties = Literal[StableTies, "introsort", "content_introsort"]
Order = Literal["time", "file"]
_IN_FILE_ORDER = (
    "or, if its rows are in the order of time: order='file', with leave_last, last_ratio or k_fold "
    "(command line: --set order=file)."
)
STABLE = 16
"""Up to this many numbers, NumPy sorts by insertion, which keeps equal numbers in order."""
_PREFIX = 16
"""A whole log is first divided into portions by this many leading bits of the key."""
_FEW = 16
"""Groups of up to this many rows are sorted by insertion."""
_32_BITS = 2**32


class SortedRuns(NamedTuple):
    """The rows of a log, group after group, and the position at which each group ends."""

    rows: Rows
    ends: Integers

    @property
    def sizes(self) -> Integers:
        """The number of rows of each group."""
        return np.diff(self.ends, prepend=0)


class RowStanding(NamedTuple):
    """For each row: how many rows of its group follow it, and the size of the group."""

    after: Whole
    size: Whole

    @property
    def before(self) -> Whole:
        """How many rows of the group precede each row."""
        return self.size - 1 - self.after


def by_time(
    log: Log, level: Level = "user", ties: Ties = "content", order: Order = "time"
) -> RowStanding:
    """Return the position of each row when rows are sorted by time.

    By default, item, user and grade break ties in time, and the order of the file does not matter.
    "first" and "last" use the order of the file instead: the first or the last of the rows counts
    as the latest. "introsort" is the order in which NumPy's introsort leaves the rows of a group
    if they start in file order; "content_introsort", if they start sorted by item, user and grade.
    With `order="file"`, time is ignored.
    """
    if order == "file":
        return standing(log.frame, level, [])
    log.require("timestamp", "an order in time", _IN_FILE_ORDER)
    if ties in ("introsort", "content_introsort"):
        return _locate_rows(_introsort_groups(log.frame, level, ties))
    return standing(log.frame, level, in_time(log.frame, ties))


def in_time(frame: pl.DataFrame, ties: Ties = "content", by: str = "timestamp") -> list[pl.Series]:
    """Return the columns that sort rows by time: the time itself, then columns that break ties."""
    if ties in ("last", "introsort"):
        return [frame[by]]
    if ties == "first":
        return [frame[by], pl.int_range(frame.height, 0, -1, eager=True)]
    tie_breakers = [name for name in ("item", "user", "grade") if name in frame.columns]
    return [frame[by], *(frame[name] for name in tie_breakers)]


def standing(frame: pl.DataFrame, level: Level, columns: Iterable[pl.Series]) -> RowStanding:
    """Return the position of each row in its group when rows are sorted by these columns."""
    return _locate_rows(_arrange(frame, level, columns))


def _locate_rows(runs: SortedRuns) -> RowStanding:
    """Return the position of each row, in the order of the log."""
    rows, ends = runs
    after, size = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    if should_compile(len(rows)):
        kernel(_fill_standing)(freeze(rows), freeze(ends), after, size)
        return RowStanding(after, size)
    size[rows] = np.repeat(runs.sizes, runs.sizes)
    after[rows] = np.repeat(ends, runs.sizes) - 1 - np.arange(len(rows))
    return RowStanding(after, size)


def _fill_standing(rows, ends, after, size):  # type: ignore[no-untyped-def]
    """Fill in, for each row, how many rows of its group follow it, and the size of the group."""
    first = 0
    for group in range(ends.shape[0]):
        last = ends[group]
        for position in range(first, last):
            after[rows[position]] = last - 1 - position
            size[rows[position]] = last - first
        first = last


def _arrange(frame: pl.DataFrame, level: Level, columns: Iterable[pl.Series]) -> SortedRuns:
    if level != "all":
        return order_groups(codes(frame[level]), columns)
    in_file_order = np.arange(frame.height, dtype=np.uint32)
    rows = in_file_order if columns == [] else order_groups(None, columns).rows
    return SortedRuns(rows, np.array([frame.height]))


def _introsort_groups(frame: pl.DataFrame, level: Level, ties: Ties) -> SortedRuns:
    """Sort each group as introsort does.

    The result differs from a stable sort only in long groups with equal times, so only these are
    sorted again.
    """
    times, start_order = whole(frame["timestamp"]), in_time(frame, ties)[1:]
    if level == "all":
        rows = _arrange(frame, level, start_order).rows
        return SortedRuns(rows[introsort(times[rows])], np.array([frame.height]))
    runs = _arrange(frame, level, in_time(frame, ties))
    sizes = runs.sizes
    unstable = np.zeros(len(sizes), bool)
    tied = _find_ties(times[runs.rows], runs.ends)[0]
    unstable[np.searchsorted(runs.ends, tied, "right")] = True
    unstable &= sizes > STABLE
    positions = np.flatnonzero(np.repeat(unstable, sizes))
    groups = SortedRuns(runs.rows[positions], np.cumsum(sizes[unstable]))
    groups = settle_ties(groups, start_order or [pl.int_range(frame.height, eager=True)])
    runs.rows[positions] = introsort_rows(groups.rows, groups.ends, times)
    return runs


def order_groups(groups: Groups | None, columns: Iterable[pl.Series]) -> SortedRuns:
    """Sort the rows of each group by columns; each column breaks the ties of those before it.
    Without groups, all rows form one group."""
    rest = iter(columns)
    first = next(rest, None)
    keys = [] if first is None else narrow(first)
    runs, sorted_keys = _sort_groups(groups, numbers(keys[0]) if keys else None)
    tied, ends = _find_ties(sorted_keys, runs.ends)
    others = chain(keys[1:], rest)
    second = next(others, None) if len(tied) else None
    if second is not None:
        rows = runs.rows[tied]
        tie_breakers = (_take(column, rows) for column in chain([second], others))
        runs.rows[tied] = rows[order_groups(_number_groups(ends), tie_breakers).rows]
    return runs


def _number_groups(ends: Integers) -> Groups:
    """Return the group number of each row, for rows that are listed group after group."""
    return np.repeat(np.arange(len(ends), dtype=np.uint32), np.diff(ends, prepend=0)), len(ends)


def _take(column: pl.Series, rows: Rows) -> pl.Series:
    """Return the values of a column in these rows; times as the integers that store them."""
    if not is_plain_numeric(column):
        return column.rechunk().gather(rows)
    return pl.Series(look_up(column.to_physical().rechunk().to_numpy(), rows))


def settle_ties(runs: SortedRuns, columns: Iterable[pl.Series]) -> SortedRuns:
    """Return the same groups, with the rows of each sorted by columns."""
    values = (_take(column, runs.rows) for column in columns)
    return SortedRuns(runs.rows[order_groups(_number_groups(runs.ends), values).rows], runs.ends)


def equals(groups: Groups, keys: Keys) -> SortedRuns:
    """Return the rows that share both group and key with another row, in groups of equals."""
    runs, keys = _sort_groups(groups, keys)
    tied, ends = _find_ties(keys, runs.ends)
    return SortedRuns(runs.rows[tied], ends)


def _sort_groups(groups: Groups | None, keys: Keys | None) -> tuple[SortedRuns, Keys]:
    """Sort the rows of each group by a key; return the rows and their keys."""
    if keys is None:
        keys = np.zeros(0 if groups is None else len(groups[0]), np.uint32)
    if groups is None:  # divide all rows into portions by the leading bits of the key
        over = max(int(keys.max(initial=0)).bit_length() - _PREFIX, 0)
        groups = keys >> np.uint32(over), 1 << _PREFIX
    if not should_compile(len(keys)):
        rows = np.lexsort((keys, groups[0])).astype(np.uint32)
        return SortedRuns(rows, np.cumsum(counts(*groups))), keys[rows]
    packed, ends = gather_keys(groups, keys)
    rows, keys = _sort_packed(packed, ends)
    return SortedRuns(rows, ends), keys


def gather_keys(groups: Groups, keys: Keys) -> tuple[NDArray[np.uint64], Integers]:
    """Pack the key and the number of each row into one integer, the key in the upper bits.

    Return these integers, group after group, and the position at which each group ends.
    """
    sizes = counts(*groups)
    ends = np.cumsum(sizes)
    packed = np.empty(len(keys), np.uint64)
    kernel(_gather)(freeze(groups[0]), freeze(keys), ends - sizes, packed)
    return packed, ends


def _gather(groups, keys, cursor, packed):  # type: ignore[no-untyped-def]
    """Write keys and row numbers group after group; `cursor` is the next position of each group."""
    for row in range(groups.shape[0]):
        group = groups[row]
        packed[cursor[group]] = np.uint64(keys[row]) << np.uint64(32) | np.uint64(row)
        cursor[group] += 1


def _sort_packed(packed: NDArray[np.uint64], ends: Integers) -> tuple[Rows, Keys]:
    """Sort packed keys and rows, group by group, on several threads, and unpack them."""
    sort = kernel(_sort)
    cuts = np.arange(0, len(packed), max(len(packed) // (4 * thread_count()), 1) + 1)
    bounds = [*np.unique(np.searchsorted(ends, cuts)), len(ends)]
    run_tasks([partial(sort, freeze(ends), a, b, packed) for a, b in pairwise(bounds)])
    rows = packed.astype(np.uint32)
    packed >>= np.uint64(32)
    return rows, packed.astype(np.uint32)


def _sort(ends, first, last, packed):  # type: ignore[no-untyped-def]
    """Sort the numbers within each group from `first` to `last`; short groups by insertion."""
    for group in range(first, last):
        low, high = ends[group - 1] if group else 0, ends[group]
        if high - low > _FEW:
            packed[low:high].sort()
            continue
        for position in range(low + 1, high):
            number, at = packed[position], position
            while at > low and packed[at - 1] > number:
                packed[at] = packed[at - 1]
                at -= 1
            packed[at] = number


def _find_ties(keys: NDArray[Any], ends: Integers) -> tuple[Integers, Integers]:
    """Return the positions whose key equals that of a neighbour in the same group, and where each
    run of equal keys ends among them."""
    if len(keys) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    same = keys[1:] == keys[:-1]
    same[ends[(ends > 0) & (ends < len(keys))] - 1] = False
    equals_next = np.append(same, False)
    tied = equals_next.copy()
    tied[1:] |= same
    positions = np.flatnonzero(tied)
    return positions, np.flatnonzero(~equals_next[positions]) + 1


def narrow(column: pl.Series) -> list[pl.Series]:
    """Turn a column into integers that span at most 32 bits and sort in the same way.

    Return one column, or two if needed; the second breaks the ties of the first. Text and other
    types that are not numbers stay as they are.
    """
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
    wide = whole.view(np.uint64) - np.array(low, whole.dtype).view(np.uint64)  # may wrap around
    over = (high - low).bit_length() - 32
    halves = wide >> np.uint64(over), wide & np.uint64((1 << over) - 1)
    return [pl.Series(half.astype(np.uint32)) for half in halves]


def numbers(column: pl.Series) -> NDArray[np.uint32]:
    """Return integers from 0 that sort in the same way as a column from `narrow`."""
    if not column.dtype.is_integer() or has_128_bits(column):
        return ranks(column)
    low, high = cast("tuple[int, int]", (column.min() or 0, column.max() or 0))
    if not 0 <= low <= high < _32_BITS:
        column = (column if column.dtype == pl.UInt64 else column.cast(pl.Int64)) - low
    return column.cast(pl.UInt32).to_numpy()


def introsort(numbers: Integers) -> Integers:
    """Return the positions that sort integers in ascending order, ties as introsort leaves them.

    The integers are sorted as dates, for which NumPy always uses introsort. For numbers it uses
    vector instructions, and the order of equal numbers then depends on the processor.
    """
    return np.argsort(numbers.view("datetime64[ns]"), kind="quicksort")


def introsort_rows(rows: NDArray[Any], ends: Integers, numbers: Integers) -> NDArray[Any]:
    """Sort each group of rows by the numbers of its rows; rows are listed group after group."""
    keys, result = numbers[rows], rows.copy()
    for low, high in pairwise([0, *ends.tolist()]):
        result[low:high] = rows[low:high][introsort(keys[low:high])]
    return result


def whole(column: pl.Series) -> Integers:
    """Return integers that sort like a column. The lowest int64 is not among them: as a date it
    would be a missing value (NaT)."""
    physical = column.to_physical()
    if not physical.dtype.is_integer() or has_128_bits(physical) or physical.dtype == pl.UInt64:
        return ranks(physical).astype(np.int64)
    if cast("int", physical.min() or 0) == np.iinfo(np.int64).min:
        return ranks(physical).astype(np.int64)
    return physical.cast(pl.Int64).to_numpy()


def ends_of(
    log: Log, level: Literal["user", "item"], end: Literal["first", "last"]
) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Return the first or last time of each user or item, by its number, and the number of each
    row. The time of a number that no row has is arbitrary."""
    log.require("timestamp", "an order in time")
    groups, size = codes(log.frame[level])
    times = log.frame["timestamp"].to_physical()
    farthest = (times.max() if end == "first" else times.min()) if len(times) else 0
    extreme = np.minimum if end == "first" else np.maximum
    tables = divide_rows(len(groups), size)[0] if should_compile(len(groups)) else 1
    extremes = np.full((tables, size), farthest, times[:1].to_numpy().dtype)
    if should_compile(len(groups)):
        cuts, (chunks,) = blocks(times)
        fill, numbers = kernel(_earliest if end == "first" else _latest), freeze(groups)

        def work(table: int) -> None:
            for nth in range(table, len(chunks), tables):
                fill(numbers[cuts[nth] : cuts[nth + 1]], chunks[nth], extremes[table])

        run_tasks([partial(work, table) for table in range(tables)])
    else:
        extreme.at(extremes[0], groups, times.to_numpy())
    ends = extreme.reduce(extremes, axis=0)
    return pl.Series("timestamp", ends).cast(log.frame["timestamp"].dtype), groups


def _earliest(groups, times, earliest):  # type: ignore[no-untyped-def]
    """Lower the time of each group to that of its earliest row."""
    for row in range(groups.shape[0]):
        earliest[groups[row]] = min(earliest[groups[row]], times[row])


def _latest(groups, times, latest):  # type: ignore[no-untyped-def]
    """Raise the time of each group to that of its latest row."""
    for row in range(groups.shape[0]):
        latest[groups[row]] = max(latest[groups[row]], times[row])
