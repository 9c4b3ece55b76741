"""What two profiles mean by the same name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.metrics import METRICS
from rectitude.metrics.names import Name, parse_all
from rectitude.profiles.profile import Asked, Profile

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """What one metric name means under two profiles, where that differs."""

    name: str
    metric: Pair
    """the metrics that the name stands for"""
    switches: dict[str, Pair]
    """the switches that can change it and are set differently"""
    numbers: dict[str, Pair]
    """the metric's own numbers that differ"""

    @property
    def same(self) -> bool:
        """Whether both mean the same quantity."""
        return self.metric[0] == self.metric[1] and not self.switches and not self.numbers

    def as_dict(self) -> dict[str, Any]:
        """The difference for JSON."""
        return {
            "name": self.name,
            "metric": list(self.metric),
            "switches": {switch: list(pair) for switch, pair in self.switches.items()},
            "numbers": {number: list(pair) for number, pair in self.numbers.items()},
        }


def compared(
    one: Profile, other: Profile, names: str | Iterable[str] | None = None
) -> list[Difference]:
    """Each metric that both profiles have, or those named, under one and under the other."""
    if names is None:
        shared = [*METRICS, *(key for key in one.metrics if key in other.metrics)]
        names = [name for name in shared if one.has(name) and other.has(name)]
    return [_difference(n, one.resolve(n), other.resolve(n)) for n in parse_all(names)]


def _difference(name: Name, one: Asked, other: Asked) -> Difference:
    own = {*one.metric.obeys, *other.metric.obeys}
    pairs = one.convention.differences(other.convention)
    matters = [s for s in pairs if SWITCHES[s].stage != "metrics" or s in own]
    numbers = {**one.numbers, **other.numbers}
    given = {number: (one.numbers.get(number), other.numbers.get(number)) for number in numbers}
    return Difference(
        str(name),
        (one.metric.name, other.metric.name),
        {switch: pairs[switch] for switch in matters},
        {number: pair for number, pair in given.items() if pair[0] != pair[1]},
    )
