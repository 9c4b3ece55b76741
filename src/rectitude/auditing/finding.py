"""`Finding`: what a check found, how much of it, and what it does to the metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rectitude.auditing.parts import Compared

Severity = Literal["fine", "notice", "serious"]
SEVERITIES: tuple[Severity, ...] = ("serious", "notice", "fine")
"""worst first"""
Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Found:
    """What a check says: how many, how bad, and what to evaluate to see what it does."""

    count: int
    of: int
    about: str
    """what was counted, in words that follow the count"""
    severity: Severity = "serious"
    example: str = ""
    compare: Compared = None
    """as it is, and without what was found; None where there is nothing that could be evaluated"""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of an audit, or one thing that was checked and found fine."""

    name: str
    severity: Severity
    count: int
    of: int
    about: str
    example: str = ""
    effect: Mapping[str, Pair] = field(default_factory=dict)
    """metric -> its value as it is, and without what was found; None where it has no value"""
    lists: tuple[int, int] | None = None
    """how many lists these values are over, as it is and without; None if nothing was measured"""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """metric -> the worst and the best value that equal scores allow"""
    advice: str = ""

    def __str__(self) -> str:
        example = f" (first: {self.example})" if self.example else ""
        return f"{self.count:,} of {self.of:,} {self.about}{example}"

    @property
    def change(self) -> float:
        """The largest change of a metric, as a share of its value; infinite where it has none."""
        if any(one is None and two is not None for one, two in self.effect.values()):
            return float("inf")
        pairs = [(one, two) for one, two in self.effect.values() if one is not None]
        shares = [abs(two - one) / abs(one) for one, two in pairs if two is not None and one]
        return max(shares, default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return {
            "name": self.name,
            "severity": self.severity,
            "count": self.count,
            "of": self.of,
            "about": self.about,
            "example": self.example,
            "effect": {
                name: {"as_is": one, "without": two} for name, (one, two) in self.effect.items()
            },
            "lists": None if self.lists is None else list(self.lists),
            "bounds": {
                name: {"worst": low, "best": high} for name, (low, high) in self.bounds.items()
            },
            "advice": self.advice,
        }
