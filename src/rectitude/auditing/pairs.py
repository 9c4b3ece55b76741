"""One number for each pair of user and item, the same in all parts: what is compared most."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

PAIR = "pair"
_LARGEST = 2**63 - 1


def with_pairs(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames; those that have users and items, with the number of the pair in each row."""
    import polars as pl

    both = {name: f for name, f in frames.items() if {"user", "item"} <= set(f.columns)}
    full = {name: frame for name, frame in both.items() if frame.height}
    numbers = _numbers(full) if full else {}
    none = pl.Series(PAIR, [], pl.Int64)
    numbered = {name: f.with_columns(numbers.get(name, none)) for name, f in both.items()}
    return {**frames, **numbered}


def _numbers(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.Series]:
    import polars as pl

    low_user, users = _range(frames, "user")
    low_item, items = _range(frames, "item")
    if users * items > _LARGEST:
        return _ranked(frames)
    pair = (pl.col("user") - low_user) * items + pl.col("item") - low_item
    return {name: frame.select(pair.alias(PAIR)).to_series() for name, frame in frames.items()}


def _range(frames: Mapping[str, pl.DataFrame], column: str) -> tuple[int, int]:
    """The lowest code of all frames, and how many there are up to the highest."""
    codes = [frame[column].to_numpy() for frame in frames.values()]
    low = min(int(own.min()) for own in codes)
    return low, max(int(own.max()) for own in codes) - low + 1


def _ranked(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.Series]:
    """The places of pairs among all of them, where products of codes would be too large."""
    import polars as pl

    together = pl.concat([frame.select("user", "item") for frame in frames.values()])
    place = pl.struct("user", "item").rank("dense").cast(pl.Int64).alias(PAIR)
    ranks = together.select(place).to_series()
    sizes = [frame.height for frame in frames.values()]
    starts = accumulate(sizes[:-1], initial=0)
    slices = zip(frames, starts, sizes, strict=True)
    return {name: ranks.slice(start, size) for name, start, size in slices}
