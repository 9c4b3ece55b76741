"""The order in time of each user's interactions, whatever the order of rows.

Of equal times, `ties` says which row counts as the latest: by `content` (the highest item, then the
highest grade), or the `first` or the `last` one in the file, as some frameworks go by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from rectitude.data.log import ROW
from rectitude.prepare.ids import looked_up, ranks
from rectitude.prepare.peeling import counts

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

Ties = Literal["content", "first", "last"]
End = Literal["latest", "earliest"]
_BITS = 62
"""So many bits of a number are free to hold a user and a time."""


def later(frame: pl.DataFrame, ties: Ties = "content") -> pl.Series:
    """For each row, how many rows of its user are later: 0 for the latest."""
    order, users = timeline(frame, ties)
    return _placed(order, _ends(users) - 1 - np.arange(len(users)), "later")


def earlier(frame: pl.DataFrame, ties: Ties = "content") -> pl.Series:
    """For each row, how many rows of its user are earlier: 0 for the earliest."""
    order, users = timeline(frame, ties)
    return _placed(order, np.arange(len(users)) - _starts(users), "earlier")


def nearest_to(frame: pl.DataFrame, end: End, n: int, ties: Ties = "content") -> NDArray[np.bool_]:
    """Which rows are among the n latest (or earliest) of their user.

    The time of each user's n-th row is found among sorted numbers; only rows of just that time have
    to be put in order.
    """
    place = later if end == "latest" else earlier
    users = ranks(frame["user"]).to_numpy()
    keys = _user_and_time(frame, users, end)
    if keys is None:
        chosen: NDArray[np.bool_] = place(frame, ties).to_numpy() < n
        return chosen
    limits, wanted = _limits(keys, users, n)
    mine = looked_up(limits, users)
    kept = keys > mine
    at = np.flatnonzero(keys == mine)
    kept[at] = place(frame[at], ties).to_numpy() < wanted[users[at]]
    return kept


def _user_and_time(
    frame: pl.DataFrame, users: NDArray[np.uint32], end: End
) -> NDArray[np.int64] | None:
    """User and time as one number, later (or earlier) times higher; None if it does not fit."""
    times = frame["timestamp"].to_physical()
    if not (times.dtype.is_integer() and len(times)):
        return None
    low, high = cast("tuple[int, int]", (times.min(), times.max()))
    bits = max((high - low).bit_length(), 1)
    if bits + int(users.max()).bit_length() > _BITS:
        return None
    keys = users.astype(np.int64)
    keys <<= bits
    keys += (times - low if end == "latest" else high - times).to_numpy()
    return keys


def _limits(
    keys: NDArray[np.int64], users: NDArray[np.uint32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each user the n-th highest key, and how many rows that have just this key are wanted."""
    import polars as pl

    ordered = pl.Series(keys).sort().to_numpy()
    sizes = counts(users, int(users.max()) + 1)
    ends = np.cumsum(sizes)
    limits = ordered[ends - np.minimum(sizes, n)]
    above = ends - np.searchsorted(ordered, limits, side="right")
    return limits, np.minimum(sizes, n) - above


def timeline(
    frame: pl.DataFrame,
    ties: Ties = "content",
    groups: pl.Series | None = None,
    by: str = "timestamp",
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Row positions, user by user in time order, and the rank of the user at each.

    `groups` puts the numbers of other groups in place of the ranks of users, and `by` another
    column in place of time.
    """
    import polars as pl

    by_time = frame[by].arg_sort().to_numpy()
    bits = max(frame.height.bit_length(), 1)
    # One number holds the user and the place in time: sorting numbers is far faster than rows.
    ranked = ranks(frame["user"]) if groups is None else groups
    keys = ranked.to_numpy()[by_time].astype(np.int64)
    keys <<= bits
    keys |= np.arange(frame.height, dtype=np.uint32)
    keys = pl.Series(keys).sort().to_numpy()
    order = by_time[keys & ((1 << bits) - 1)]
    users = keys >> bits
    return _settled(frame, order, users, ties, by), users


def _settled(
    frame: pl.DataFrame, order: NDArray[np.uint32], users: NDArray[np.int64], ties: Ties, by: str
) -> NDArray[np.uint32]:
    """The same order with rows of equal user and time put as `ties` says."""
    import polars as pl

    times = frame[by].gather(order).to_physical().to_numpy()
    same = (times[1:] == times[:-1]) & (users[1:] == users[:-1])
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if not len(tied):
        return order
    runs = np.cumsum(np.append(False, ~same))[tied]
    content = [name for name in ("item", "grade") if name in frame.columns and ties == "content"]
    rows = frame.select(*content, ROW)[order[tied]]
    rows = rows.with_columns(pl.Series("run", runs), pl.Series("at", order[tied]))
    keys = ["run", *content, ROW]
    falling = [False, *[ties == "first"] * (len(keys) - 1)]
    settled = order.copy()
    settled[tied] = rows.sort(keys, descending=falling)["at"].to_numpy()
    return settled


def _starts(users: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the run of each row's user begins."""
    first = np.append(True, users[1:] != users[:-1]) if len(users) else np.empty(0, bool)
    starts: NDArray[np.int64] = np.maximum.accumulate(np.where(first, np.arange(len(users)), 0))
    return starts


def _ends(users: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the run of each row's user ends."""
    return len(users) - _starts(users[::-1])[::-1]


def _placed(order: NDArray[np.uint32], values: NDArray[Any], name: str) -> pl.Series:
    """Values in timeline order as a column in row order."""
    import polars as pl

    column = np.empty(len(order), np.uint32)
    column[order] = values
    return pl.Series(name, column)
