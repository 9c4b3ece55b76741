"""`Audit`: all findings, worst first, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rectitude.auditing import text
from rectitude.auditing.finding import Finding
from rectitude.errors import unknown_name

FORMAT, FORMAT_VERSION = "rectitude.audit", 1


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
        """1 if something serious was found or a metric has no value, else 0."""
        return int(bool(self.serious or self.failures))

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
        }

    def to_json(self) -> str:
        """The audit as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        return text.report(self)
