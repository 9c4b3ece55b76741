"""`ByGroup`: what a metric has added up for each group of users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rectitude.aggregate.state import State


@dataclass(frozen=True, slots=True)
class ByGroup:
    """Exact sums by the name of the group; those of a group that only one side has are its own."""

    states: Mapping[str, State]

    def __add__(self, other: ByGroup) -> ByGroup:
        names = sorted({*self.states, *other.states})
        sides = (self.states, other.states)
        return ByGroup({n: sides[0].get(n, State()) + sides[1].get(n, State()) for n in names})

    @property
    def lists(self) -> int:
        """How many lists count."""
        return sum(state.lists for state in self.states.values())

    def as_dict(self) -> dict[str, Any]:
        """The sums for JSON."""
        return {name: state.as_dict() for name, state in self.states.items()}

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> ByGroup:
        """Sums as `as_dict` wrote them."""
        return ByGroup({name: State.from_dict(state) for name, state in stored.items()})
