"""An audit as text: what was found, worst first; what it does; what was fine; what was not
checked."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rectitude.tables import aligned, number

if TYPE_CHECKING:
    from rectitude.auditing.result import Audit, Finding, Pair

WIDTH = 100
_NONE = "none"
_NAMES = 12


def report(audit: Audit) -> str:
    """The whole report."""
    found = [one for one in audit.findings if one.severity != "fine"]
    lines = [*_heading(audit), ""]
    if found:
        lines += [aligned([_titles(audit), *(_cells(audit, one) for one in found)]), ""]
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


def _unmeasured(audit: Audit) -> Iterator[str]:
    """That metrics have no value, which is as serious as a finding; why stands in the heading."""
    if audit.failures:
        failed, of = len(audit.failures), len(audit.failures) + len(audit.values)
        yield "without a value (serious)"
        yield f"  {failed} of {of} metrics have no value (first: {next(iter(audit.failures))})."
        yield "  Advice: see above why; ask for metrics that what was handed over allows."
        yield ""


def _in_short(name: str, audit: Audit) -> list[str]:
    """The findings of another split of a series, in one paragraph."""
    found = [one for one in audit.findings if one.severity != "fine"]
    told = [f"{one.name} ({one.severity}) {one.count:,} of {one.of:,}" for one in found]
    failed = [f"{metric} has no value" for metric in audit.failures]
    return _wrapped(f"Split {name}: {', '.join([*told, *failed]) or 'nothing was found'}.")


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


def _wrapped(words: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
