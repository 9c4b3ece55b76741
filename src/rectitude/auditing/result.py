"""The result of an audit: `Finding` for one check, and `Audit` for all of them.

Printed, it shows the findings, worst first, with their effects; then the checks that passed, and
the checks that were skipped.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rectitude.errors import unknown_name
from rectitude.render import Grid, Printable, Tabular, number

if TYPE_CHECKING:
    from rectitude.auditing.parts import Compared

FORMAT, FORMAT_VERSION = "rectitude.audit", 1
Severity = Literal["fine", "notice", "serious"]
SEVERITIES: tuple[Severity, ...] = ("serious", "notice", "fine")
"""worst first"""
Pair = tuple[float | None, float | None]
WIDTH = 100
FEW_LISTS = 30
"""Fewer lists than this say little about the others, unless they are most of them."""
_NONE = "none"
_NAMES = 12


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check returns: a count, a severity, and what to evaluate to measure the effect."""

    count: int
    of: int
    about: str
    """what was counted; the text follows the count, as in '3 of 10 lists are empty'"""
    severity: Severity = "serious"
    example: str = ""
    compare: Compared = None
    """the case as is, and without the finding; None if nothing can be evaluated"""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; its severity is "fine" if nothing is wrong."""

    name: str
    severity: Severity
    count: int
    of: int
    about: str
    example: str = ""
    effect: Mapping[str, Pair] = field(default_factory=dict)
    """metric -> its value as is, and without the finding; None if it has no value. Empty if nothing
    was measured, or if too few lists are left without the finding; see `lists_needed`"""
    lists: tuple[int, int] | None = None
    """how many lists count as is, and without the finding; None if nothing was measured"""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """metric -> the worst and the best value that ties allow"""
    advice: str = ""

    def __str__(self) -> str:
        example = f" (first: {self.example})" if self.example else ""
        return f"{self.count:,} of {self.of:,} {self.about}{example}"

    @property
    def too_few(self) -> str:
        """How many lists are left, if these are too few for an effect; otherwise empty."""
        if self.effect or self.lists is None:
            return ""
        as_is, left = self.lists
        remaining = f"only {left:,} of {as_is:,} lists" if left else f"none of {as_is:,} lists"
        return f"{remaining} would be left{', too few to compare' if left else ''}"

    @property
    def change(self) -> float:
        """The largest relative change of a metric; infinite if it has no value as is."""
        pairs = self.effect.values()
        if any(as_is is None and without is not None for as_is, without in pairs):
            return float("inf")
        changes = [
            abs(without - as_is) / abs(as_is)
            for as_is, without in pairs
            if as_is and without is not None
        ]
        return max(changes, default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as a dict for JSON."""
        return {
            "name": self.name,
            "severity": self.severity,
            "count": self.count,
            "of": self.of,
            "about": self.about,
            "example": self.example,
            "effect": {
                name: {"as_is": as_is, "without": without}
                for name, (as_is, without) in self.effect.items()
            },
            "too_few": self.too_few,
            "lists": None if self.lists is None else list(self.lists),
            "bounds": {
                name: {"worst": low, "best": high} for name, (low, high) in self.bounds.items()
            },
            "advice": self.advice,
        }


def lists_needed(lists: int) -> float:
    """Return how many lists must be left to compare a metric with its value over all lists.

    A mean over a few chosen lists is no estimate for the others. A tenth of the lists must be left,
    and at least 30, or half of them if there are fewer than 60.
    """
    return max(lists / 10, min(FEW_LISTS, lists / 2))


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Printable, Tabular):
    """The result of an audit: `audit["truth_in_train"]` is one finding, printing shows all."""

    findings: tuple[Finding, ...]
    """worst first; passed checks come last"""
    skipped: Mapping[str, str]
    """skipped check -> what it needs"""
    values: Mapping[str, float]
    """the metrics of the unchanged inputs"""
    failures: Mapping[str, str]
    """metrics without a value, and the reason"""
    profile: str
    relaxed: Mapping[str, tuple[Any, Any]]
    """switches that were replaced because they would raise an error: the requested choice, and the
    one that was used"""
    sizes: Mapping[str, int]
    """part -> number of rows"""
    measured_on: str
    """what the effects were measured on"""
    left_out: tuple[str, ...] = ()
    """files of the audited folder that are not parts of a split"""
    name: str = ""
    """the name of the split, if several were audited"""
    others: Mapping[str, Audit] = field(default_factory=dict)
    """the audits of the other splits of a series"""

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise unknown_name(
            "finding", name, [finding.name for finding in self.findings], where="this audit",
            note=self.skipped.get(name, "") and f"the check was skipped: it {self.skipped[name]}.",
        )  # fmt: skip

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The findings that make results wrong or meaningless."""
        return tuple(finding for finding in self.findings if finding.severity == "serious")

    @property
    def exit_code(self) -> int:
        """1 if any split has a serious finding or a metric without a value, otherwise 0."""
        in_others = any(audit.exit_code for audit in self.others.values())
        return int(bool(self.serious or self.failures or in_others))

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as a dict for JSON."""
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
                switch: {"asked": requested, "measured": used}
                for switch, (requested, used) in self.relaxed.items()
            },
            "sizes": dict(self.sizes),
            "measured_on": self.measured_on,
            "left_out": list(self.left_out),
            "name": self.name,
            "others": {name: audit.as_dict() for name, audit in self.others.items()},
        }

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row per finding, worst first; passed checks come last."""
        names = ("name", "severity", "count", "of", "about", "example", "advice")
        rows = [{name: getattr(finding, name) for name in names} for finding in self.findings]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_json(self) -> str:
        """Return the audit as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def _shown(self) -> Iterator[str | Grid]:
        return _shown(self)


def _shown(audit: Audit) -> Iterator[str | Grid]:
    """Yield the whole report."""
    findings = [finding for finding in audit.findings if finding.severity != "fine"]
    yield from (*_heading(audit), "")
    if findings:
        yield from (Grid(_titles(audit), [_cells(audit, finding) for finding in findings]), "")
    elif not audit.failures:
        yield from ("No problems were found.", "")
    yield from _describe_unmeasured(audit)
    yield from (line for finding in findings for line in _describe_finding(finding))
    passed = [finding.name for finding in audit.findings if finding.severity == "fine"]
    yield from _wrap(f"Passed: {', '.join(passed) or 'none'}.")
    names_of: dict[str, list[str]] = {}
    for name, reason in audit.skipped.items():
        names_of.setdefault(reason, []).append(name)
    for reason, names in names_of.items():
        yield from _wrap(f"Skipped ({reason}): {', '.join(names)}.")
    for name, other in audit.others.items():
        yield from _summarise(name, other)


def _heading(audit: Audit) -> Iterator[str]:
    sizes = ", ".join(f"{name} {size:,}" for name, size in audit.sizes.items())
    yield f"rows: {sizes}"
    if audit.left_out:
        yield from _wrap(f"files of the folder that were not audited: {_some(audit.left_out)}")
    if audit.others:
        yield f"split {audit.name}; {len(audit.others)} more at the end"
    if audit.values:
        values = ", ".join(f"{name} = {value:.6g}" for name, value in audit.values.items())
        yield f"{values}  (profile: {audit.profile})"
    for name, reason in audit.failures.items():
        yield f"{name} has no value: {reason}"
    yield f"effects are measured on {audit.measured_on}"
    changed = [f"{name}={used}" for name, (_, used) in audit.relaxed.items()]
    if changed:
        yield f"switches that would raise an error were relaxed: {', '.join(changed)}"


def _some(names: Sequence[str]) -> str:
    """Join the first names, and count the rest."""
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _titles(audit: Audit) -> list[str]:
    pairs = [title for name in _metrics(audit) for title in (name, "if fixed")]
    return ["finding", "severity", "count", "of", *pairs]


def _metrics(audit: Audit) -> list[str]:
    """Return the metrics on which an effect was measured."""
    return list(dict.fromkeys(name for finding in audit.findings for name in finding.effect))


def _cells(audit: Audit, finding: Finding) -> list[str]:
    pairs = [_pair(finding.effect.get(name)) for name in _metrics(audit)]
    values = [value for pair in pairs for value in pair]
    counts = [f"{finding.count:,}", f"{finding.of:,}"]
    return [finding.name, finding.severity, *counts, *values]


def _pair(pair: Pair | None) -> tuple[str, str]:
    if pair is None:
        return "", ""
    before, after = (_NONE if value is None else number(value) for value in pair)
    return before, after


def _describe_unmeasured(audit: Audit) -> Iterator[str]:
    """Report metrics without a value like a serious finding; the heading has the reasons."""
    if audit.failures:
        failed, of = len(audit.failures), len(audit.failures) + len(audit.values)
        yield "no value (serious)"
        yield f"  {failed} of {of} metrics have no value (first: {next(iter(audit.failures))})."
        yield "  Advice: see the reasons above; choose metrics that these inputs allow."
        yield ""


def _describe_finding(finding: Finding) -> Iterator[str]:
    """Describe a finding, its effect, and what to do."""
    yield f"{finding.name} ({finding.severity})"
    yield from _wrap(f"{finding}.", "  ")
    effect = "; ".join(_describe_change(name, pair) for name, pair in finding.effect.items())
    if effect:
        yield from _wrap(f"Effect{_describe_lists(finding)}: {effect}.", "  ")
    if finding.too_few:
        yield from _wrap(f"Effect: not measured, because {finding.too_few}.", "  ")
    bounds = "; ".join(
        f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in finding.bounds.items()
    )
    if bounds:
        yield from _wrap(f"Worst and best value: {bounds}.", "  ")
    yield from _wrap(f"Advice: {finding.advice}", "  ")
    yield ""


def _describe_lists(finding: Finding) -> str:
    """Say how many lists count before and after, if the number changes."""
    if finding.lists is None or finding.lists[0] == finding.lists[1]:
        return ""
    return f" ({finding.lists[0]:,} lists as is, {finding.lists[1]:,} if fixed)"


def _describe_change(name: str, pair: Pair) -> str:
    before, after = pair
    shown = " -> ".join(_pair(pair))
    if before is None or after is None:
        return f"{name} {shown}"
    if before == after:
        return f"{name} {number(before)}, unchanged"
    share = f" ({(after - before) / abs(before):+.1%})" if before else ""
    return f"{name} {shown}{share}"


def _summarise(name: str, audit: Audit) -> list[str]:
    """Summarise the findings of another split in one paragraph."""
    findings = [finding for finding in audit.findings if finding.severity != "fine"]
    described = [f"{f.name} ({f.severity}) {f.count:,} of {f.of:,}" for f in findings]
    failed = [f"{metric} has no value" for metric in audit.failures]
    return _wrap(f"Split {name}: {', '.join([*described, *failed]) or 'no problems were found'}.")


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
