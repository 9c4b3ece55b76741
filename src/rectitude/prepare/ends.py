"""When users and items were first or last met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rectitude.compiled import frozen, kernel, repay
from rectitude.data.blocks import blocks
from rectitude.data.codes import codes

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
    found = np.full(size, times.max() if end == "first" else times.min())
    if repay(len(groups)):
        cuts, (parts,) = blocks(times)
        fill = kernel(_earliest if end == "first" else _latest)
        for nth, part in enumerate(parts):
            fill(frozen(groups[cuts[nth] : cuts[nth + 1]]), part, found)
    else:
        (np.minimum if end == "first" else np.maximum).at(found, groups, times.to_numpy())
    return pl.Series("timestamp", found).cast(log.frame["timestamp"].dtype), groups


def _earliest(groups, times, found):  # type: ignore[no-untyped-def]
    """Lower the time of each group to that of its earliest row."""
    for row in range(groups.shape[0]):
        found[groups[row]] = min(found[groups[row]], times[row])


def _latest(groups, times, found):  # type: ignore[no-untyped-def]
    """Raise the time of each group to that of its latest row."""
    for row in range(groups.shape[0]):
        found[groups[row]] = max(found[groups[row]], times[row])
