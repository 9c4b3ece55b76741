"""When users and items were first or last met."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.compiled import frozen, kernel, repay
from rectitude.data.blocks import blocks
from rectitude.data.codes import codes, stretches
from rectitude.threads import together

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rectitude.data.log import Log


def ends_of(
    log: Log, level: Literal["user", "item"], end: Literal["first", "last"]
) -> tuple[pl.Series, NDArray[np.uint32]]:
    """The first or last time of each user or item by its number, and the number of each row.
    Numbers that no row has come with any time."""
    import polars as pl

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
