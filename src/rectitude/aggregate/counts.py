"""`Counted`: what a counts metric has added up. Whole numbers: sums are exact in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.arrays import Integers, added
from rectitude.data.stock import united

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts by name, and how many lists they are over."""

    counts: Mapping[str, Integers]
    lists: int = 0
    ids: pl.Series | None = None
    """the items that are counted, sorted; None where places in the counts stand for themselves"""

    def __add__(self, other: Counted) -> Counted:
        ids, where = united(self.ids, other.ids)
        names = dict.fromkeys([*self.counts, *other.counts])
        both = {
            name: [s.counts.get(name, np.zeros(0, int)) for s in (self, other)] for name in names
        }
        sums = {name: added(mine, theirs, where) for name, (mine, theirs) in both.items()}
        return Counted(sums, self.lists + other.lists, ids)

    def as_dict(self) -> dict[str, Any]:
        """The counts for JSON."""
        ids = None if self.ids is None else self.ids.to_list()
        counts = {n: c.tolist() for n, c in self.counts.items()}
        return {"lists": self.lists, "counts": counts, "ids": ids}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Counted:
        """Counts as `as_dict` wrote them."""
        import polars as pl

        counts = {name: np.array(c, np.int64) for name, c in stored["counts"].items()}
        ids = stored.get("ids")
        return Counted(counts, int(stored["lists"]), None if ids is None else pl.Series("id", ids))
