"""Timestamps of all parts in one type, so that they can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rectitude.data.times import times
from rectitude.errors import BadTable

if TYPE_CHECKING:
    import polars as pl

TIME = "timestamp"


def with_times(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The frames with timestamps that can be compared: all numbers, or all points in time."""
    import polars as pl

    timed = {name: frame for name, frame in frames.items() if TIME in frame.columns}
    read = {name: times(frame[TIME], name) for name, frame in timed.items() if frame.height}
    read |= {
        name: column.cast(pl.Float64) for name, column in read.items() if column.dtype.is_integer()
    }
    kinds = {name: str(column.dtype) for name, column in read.items()}
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{kind} in {name}" for name, kind in kinds.items())
        raise BadTable(f"timestamps are {shown}.", "the same type in every part.")
    one = {name: frame.with_columns(read[name]) for name, frame in timed.items() if name in read}
    return {**frames, **one}


def shown(time: object) -> str:
    """A timestamp as a finding names it."""
    return f"{time:.15g}" if isinstance(time, float) else str(time)
