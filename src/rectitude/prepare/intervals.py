"""Intervals as they are written in mathematics: [5,inf), (3,8], or several as in [1,3];[5,inf)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rectitude.errors import BadName

_NUMBER = r"\s*([+-]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))\s*"
_INTERVAL = re.compile(rf"\s*([\[(]){_NUMBER},{_NUMBER}([\])])\s*")


class Interval(NamedTuple):
    """Two ends and the brackets that say whether they belong to it."""

    opening: str
    low: float
    high: float
    closing: str

    def holds(self, numbers: Any) -> Any:
        """Which of some numbers lie inside."""
        above = numbers >= self.low if self.opening == "[" else numbers > self.low
        return above & (numbers <= self.high if self.closing == "]" else numbers < self.high)


def read_intervals(text: str) -> tuple[Interval, ...]:
    """The intervals of a text, one after the other with semicolons between them."""
    found = [_INTERVAL.fullmatch(one) for one in text.split(";")]
    if not all(found):
        raise BadName(f"an interval is {text!r}.", "intervals such as [5,inf) or [1,3];(5,8].")
    return tuple(
        Interval(one[1], float(one[2]), float(one[3]), one[4]) for one in found if one is not None
    )


def among(intervals: tuple[Interval, ...], numbers: Any) -> Any:
    """Which of some numbers lie in any of the intervals."""
    inside = intervals[0].holds(numbers)
    for one in intervals[1:]:
        inside = inside | one.holds(numbers)
    return inside
