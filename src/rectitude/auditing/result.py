"""What an audit says: `Finding`, one thing that was looked at, and `Audit`, all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rectitude.auditing import text
from rectitude.errors import unknown_name

if TYPE_CHECKING:
    from rectitude.auditing.parts import Compared

FORMAT, FORMAT_VERSION = "rectitude.audit", 1
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


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found; `audit["truth_in_train"]` is one finding, printing shows all."""

    findings: tuple[Finding, ...]
    """worst first; those that are fine stand last"""
    skipped: Mapping[str, str]
    """what was not checked -> what it needs"""
    values: Mapping[str, float]
    """the metrics as things are"""
    failures: Mapping[str, str]
    """metrics without a value, and why"""
    profile: str
    relaxed: Mapping[str, tuple[Any, Any]]
    """switches that were measured otherwise than asked, because they refuse what is to be counted:
    what was asked, and what was done"""
    sizes: Mapping[str, int]
    """part -> rows"""
    measured_on: str
    """what the effects were measured on, in words"""
    left_out: tuple[str, ...] = ()
    """files of the folder that was audited which are no part of a split"""
    name: str = ""
    """of the split, if it is the first of several"""
    others: Mapping[str, Audit] = field(default_factory=dict)
    """the audits of the other splits of a series"""

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise unknown_name(
            "finding", name, [finding.name for finding in self.findings], where="this audit",
            note=self.skipped.get(name, "") and f"not checked: {self.skipped[name]}.",
        )  # fmt: skip

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The findings that make results wrong or void."""
        return tuple(one for one in self.findings if one.severity == "serious")

    @property
    def exit_code(self) -> int:
        """1 if something serious was found or a metric has no value, in any split, else 0."""
        found = self.serious or self.failures or any(one.exit_code for one in self.others.values())
        return int(bool(found))

    def as_dict(self) -> dict[str, Any]:
        """The audit for JSON."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "serious": len(self.serious),
            "findings": [finding.as_dict() for finding in self.findings],
            "skipped": dict(self.skipped),
            "values": dict(self.values),
            "failures": dict(self.failures),
            "profile": self.profile,
            "relaxed": {
                switch: {"asked": asked, "measured": done}
                for switch, (asked, done) in self.relaxed.items()
            },
            "sizes": dict(self.sizes),
            "measured_on": self.measured_on,
            "left_out": list(self.left_out),
            "name": self.name,
            "others": {name: one.as_dict() for name, one in self.others.items()},
        }

    def to_json(self) -> str:
        """The audit as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return text.report(self)
