"""`Counted`: what a counts metric has added up. Whole numbers: sums are exact in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rectitude.arrays import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts by name, and how many lists they are over."""

    counts: Mapping[str, Integers]
    lists: int = 0

    def __add__(self, other: Counted) -> Counted:
        names = dict.fromkeys([*self.counts, *other.counts])
        both = {name: _as_long(self, other, name) for name in names}
        sums = {name: mine + theirs for name, (mine, theirs) in both.items()}
        return Counted(sums, self.lists + other.lists)

    def as_dict(self) -> dict[str, Any]:
        """The counts for JSON."""
        return {"lists": self.lists, "counts": {n: c.tolist() for n, c in self.counts.items()}}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> Counted:
        """Counts as `as_dict` wrote them."""
        counts = {name: np.array(c, np.int64) for name, c in stored["counts"].items()}
        return Counted(counts, int(stored["lists"]))


def _as_long(left: Counted, right: Counted, name: str) -> list[Integers]:
    """The counts of one name on both sides, the shorter filled up with zeros."""
    both = [side.counts.get(name, np.zeros(0, np.int64)) for side in (left, right)]
    size = max(map(len, both))
    return [np.pad(counts, (0, size - len(counts))) for counts in both]
