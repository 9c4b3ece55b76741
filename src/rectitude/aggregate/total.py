"""`Total`: what one metric has added up, and what it would be with every tie broken otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from rectitude.aggregate.by_group import ByGroup
from rectitude.aggregate.counts import Counted
from rectitude.aggregate.state import State

Sum = State | Counted | ByGroup


@dataclass(frozen=True, slots=True)
class Total:
    """Exact sums or counts, which add; `bounds` are the sums with all ties broken against and for
    the relevant items, None where a metric has none."""

    sum: Sum
    bounds: tuple[State, State] | None = None

    def __add__(self, other: Total) -> Total:
        bounds = None
        if self.bounds is not None and other.bounds is not None:
            (worst, best), (low, high) = self.bounds, other.bounds
            bounds = (worst + low, best + high)
        return Total(self.sum + cast("Any", other.sum), bounds)  # both are of one kind
