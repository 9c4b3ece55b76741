"""What an audit says: `Finding`, one thing that was looked at, and `Audit`, all of them.

As text it says what was found, worst first, and what that does; then what was fine, and what was
not checked.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rectitude.errors import unknown_name
from rectitude.render import Grid, number

if TYPE_CHECKING:
    from rectitude.auditing.parts import Compared

FORMAT, FORMAT_VERSION = "rectitude.audit", 1
Severity = Literal["fine", "notice", "serious"]
SEVERITIES: tuple[Severity, ...] = ("serious", "notice", "fine")
"""worst first"""
Pair = tuple[float | None, float | None]
WIDTH = 100
_NONE = "none"
_NAMES = 12


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
        return report(self)


def report(audit: Audit) -> str:
    """The whole report."""
    found = [one for one in audit.findings if one.severity != "fine"]
    lines = [*_heading(audit), ""]
    if found:
        lines += [Grid(_titles(audit), [_cells(audit, one) for one in found]).text(), ""]
    elif not audit.failures:
        lines += ["Nothing was found.", ""]
    lines += _unmeasured(audit)
    lines += [line for one in found for line in _told(one)]
    fine = [one.name for one in audit.findings if one.severity == "fine"]
    lines += _wrapped(f"Fine: {', '.join(fine) or 'nothing'}.")
    reasons: dict[str, list[str]] = {}
    for name, reason in audit.skipped.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        lines += _wrapped(f"Not checked, {reason}: {', '.join(names)}.")
    lines += [line for name, one in audit.others.items() for line in _in_short(name, one)]
    return "\n".join(lines)


def _heading(audit: Audit) -> Iterator[str]:
    sizes = ", ".join(f"{name} {size:,}" for name, size in audit.sizes.items())
    yield f"rows: {sizes}"
    if audit.left_out:
        yield from _wrapped(f"files of the folder left out: {_some(audit.left_out)}")
    if audit.others:
        yield f"split {audit.name}; {len(audit.others)} others at the end"
    if audit.values:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in audit.values.items())
        yield f"{values}  (profile: {audit.profile})"
    for name, reason in audit.failures.items():
        yield f"{name} has no value: {reason}"
    yield f"effects are measured on {audit.measured_on}"
    changed = [f"{name}={done}" for name, (_, done) in audit.relaxed.items()]
    if changed:
        yield f"what would be refused is let through and counted: {', '.join(changed)}"


def _some(names: Sequence[str]) -> str:
    """The first names of many."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _titles(audit: Audit) -> list[str]:
    pairs = [title for name in _metrics(audit) for title in (name, "without")]
    return ["finding", "severity", "count", "of", *pairs]


def _metrics(audit: Audit) -> list[str]:
    """The metrics on which an effect was measured."""
    return list(dict.fromkeys(name for one in audit.findings for name in one.effect))


def _cells(audit: Audit, one: Finding) -> list[str]:
    pairs = [_pair(one.effect.get(name)) for name in _metrics(audit)]
    values = [value for pair in pairs for value in pair]
    return [one.name, one.severity, f"{one.count:,}", f"{one.of:,}", *values]


def _pair(pair: Pair | None) -> tuple[str, str]:
    if pair is None:
        return "", ""
    before, after = (_NONE if value is None else number(value) for value in pair)
    return before, after


def _unmeasured(audit: Audit) -> Iterator[str]:
    """That metrics have no value, which is as serious as a finding; why stands in the heading."""
    if audit.failures:
        failed, of = len(audit.failures), len(audit.failures) + len(audit.values)
        yield "without a value (serious)"
        yield f"  {failed} of {of} metrics have no value (first: {next(iter(audit.failures))})."
        yield "  Advice: see above why; ask for metrics that what was handed over allows."
        yield ""


def _told(one: Finding) -> Iterator[str]:
    """A finding in words: what, what it does, what to do."""
    yield f"{one.name} ({one.severity})"
    yield from _wrapped(f"{one}.", "  ")
    effect = "; ".join(_changed(name, pair) for name, pair in one.effect.items())
    if effect:
        yield from _wrapped(f"Effect{_over(one)}: {effect}.", "  ")
    bounds = "; ".join(
        f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in one.bounds.items()
    )
    if bounds:
        yield from _wrapped(f"Worst and best: {bounds}.", "  ")
    yield from _wrapped(f"Advice: {one.advice}", "  ")
    yield ""


def _over(one: Finding) -> str:
    """How many lists the values are over, where it is not the same number."""
    if one.lists is None or one.lists[0] == one.lists[1]:
        return ""
    return f" on {one.lists[0]:,} lists, and without on {one.lists[1]:,}"


def _changed(name: str, pair: Pair) -> str:
    before, after = pair
    shown = " -> ".join(_pair(pair))
    if before is None or after is None:
        return f"{name} {shown}"
    if before == after:
        return f"{name} {number(before)}, unchanged"
    share = f" ({(after - before) / abs(before):+.1%})" if before else ""
    return f"{name} {shown}{share}"


def _in_short(name: str, audit: Audit) -> list[str]:
    """The findings of another split of a series, in one paragraph."""
    found = [one for one in audit.findings if one.severity != "fine"]
    told = [f"{one.name} ({one.severity}) {one.count:,} of {one.of:,}" for one in found]
    failed = [f"{metric} has no value" for metric in audit.failures]
    return _wrapped(f"Split {name}: {', '.join([*told, *failed]) or 'nothing was found'}.")


def _wrapped(words: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
