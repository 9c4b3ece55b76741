"""`Trace`: how the value of one list is computed.

Printed, it shows the list, whether the list counts, and the numerator and denominator.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rectitude.explanation.trace.lines import Ideal, TraceLine, WantedLine
from rectitude.metrics.registry import format_parameter
from rectitude.render import Grid, Printable

_LISTED = 10
_HEADINGS = {
    "rank": "rank", "item": "item", "score": "score", "grade": "grade", "hits": "hits",
    "gain": "gain", "discount": "discount", "adds": "adds", "total": "sum",
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Trace(Printable):
    """How the value of one list is computed."""

    user: Any
    metric: str
    title: str
    formula: str
    profile: str
    cutoff: int | None
    lines: tuple[TraceLine, ...]
    """the first ranks of the list; in long lists, only judged items after that"""
    wanted: tuple[WantedLine, ...]
    """the items of the truth"""
    returned: int
    relevant: int
    reachable: int
    """relevant items that fit the cutoff"""
    hits: float
    """relevant items up to the cutoff"""
    counts: bool
    """whether the list counts in the overall value"""
    reasons: tuple[str, ...]
    ideal: tuple[Ideal, ...]
    """the ideal list, if the metric divides by one"""
    choices: Mapping[str, str]
    """the switches that the metric obeys, with a description of the choice in force"""
    numbers: Mapping[str, float | str]
    above: float | None = None
    below: float | None = None
    value: float | None = None
    """the value of the list; None if the list does not count or its value is undefined"""
    counted: Mapping[str, Mapping[int, int]] | None = None
    """what the list adds to the counts, for metrics without values per list"""

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as a dict for JSON."""
        return {"format": "rectitude.trace", "version": 1, **asdict(self)}

    def to_json(self) -> str:
        """Return the trace as JSON text; ids of types that JSON lacks become text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False, default=str)

    def _shown(self) -> list[str]:
        return [text(self)]


def text(trace: Trace) -> str:
    """Return the steps as text, as you would check them by hand."""
    head = f"{trace.metric} of {trace.user!r} = {_outcome(trace)}  (profile: {trace.profile})"
    steps = [_list_step(trace), _counts_step(trace), *_fraction_steps(trace)]
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    formula = [trace.title, textwrap.fill(f"  = {trace.formula}", 100, subsequent_indent="    ")]
    formula += [
        f"  {number} = {format_parameter(value)}" for number, value in trace.numbers.items()
    ]
    formula += [f"  {switch}: {words}" for switch, words in trace.choices.items()]
    return "\n".join([head, "", *formula, "", "\n\n".join(numbered)])


def _outcome(trace: Trace) -> str:
    if trace.value is not None:
        return f"{trace.value:.10g}"
    if trace.counted is not None:
        return "no value for a single list; it adds to counts"
    return "undefined" if trace.counts else "no value, because the list does not count"


def _list_step(trace: Trace) -> str:
    facts = f"The list: {trace.returned:,} items. Relevant items: {trace.relevant:,}; "
    if trace.cutoff is None:
        facts += f"hits: {trace.hits:g}."
    else:
        facts += f"at most {trace.reachable:,} of them fit into the top {trace.cutoff}; "
        facts += f"hits in the top {trace.cutoff}: {trace.hits:g}."
    lines = [facts]
    if trace.lines:
        lines += _indent(_table(trace.lines))
    if trace.returned > len(trace.lines):
        lines.append("   Ranks that are not shown contain no item of the truth.")
    lines += _describe_misses(trace)
    return "\n".join(lines)


def _table(lines: Sequence[TraceLine]) -> str:
    """Return the ranks as a table without empty columns."""
    columns = [
        name
        for name in _HEADINGS
        if name in ("rank", "item") or any(getattr(line, name) is not None for line in lines)
    ]
    rows = [[_cell(line, name) for name in columns] for line in lines]
    return Grid([_HEADINGS[name] for name in columns], rows).text()


def _cell(line: TraceLine, name: str) -> str:
    if name == "rank":
        first, last = line.tied or (line.rank, line.rank)
        return f"{first} to {last}" if first < last else str(line.rank)
    value = getattr(line, name)
    if value is None:
        return ""
    if name == "grade":
        return f"{value:g}" if line.relevant else f"{value:g} (not relevant)"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _describe_misses(trace: Trace) -> list[str]:
    missed = [line for line in trace.wanted if line.relevant and line.rank is None]
    if not missed:
        return []
    shown = ", ".join(f"{line.item} (grade {line.grade:g})" for line in missed[:_LISTED])
    more = f" and {len(missed) - _LISTED:,} more" if len(missed) > _LISTED else ""
    return [f"   Relevant, but not in the list: {shown}{more}."]


def _counts_step(trace: Trace) -> str:
    verdict = "The list counts:" if trace.counts else "The list does not count:"
    return "\n".join([verdict, *(f"   {reason}" for reason in trace.reasons)])


def _fraction_steps(trace: Trace) -> list[str]:
    if trace.counted is not None:
        return [_describe_counts(trace)]
    steps = [f"Numerator: {_sum([line.adds for line in trace.lines], trace.above)}"]
    below = f"Denominator: {_sum([line.adds for line in trace.ideal], trace.below)}"
    if trace.ideal:
        rows = [
            [str(line.rank), f"{line.gain:.6g}", f"{line.discount:.6g}", f"{line.adds:.6g}"]
            for line in trace.ideal
        ]
        table = Grid(["rank", "gain", "discount", "adds"], rows).text()
        below = "\n".join([f"{below}, from the ideal list:", *_indent(table)])
    steps.append(below)
    fraction = f"{trace.above:.10g} / {trace.below:.10g}"
    return [*steps, f"Value: {fraction} = {_describe_division(trace)}"]


def _describe_division(trace: Trace) -> str:
    if not trace.below:
        value = "undefined" if trace.value is None else f"{trace.value:g}"
        return f"0/0, which is {value} under this convention"
    return f"{(trace.above or 0.0) / trace.below:.10g}"


def _sum(terms: Sequence[float | None], whole: float | None) -> str:
    """Write out the sum of the terms that are not 0, if there are a few."""
    nonzero = [term for term in terms if term]
    if len(nonzero) < 2 or len(nonzero) > _LISTED:
        return f"{whole:.10g}"
    return " + ".join(f"{term:.6g}" for term in nonzero) + f" = {whole:.10g}"


def _describe_counts(trace: Trace) -> str:
    lines: list[str] = []
    for name, counts in (trace.counted or {}).items():
        lines += [f"   {name}[{index}] + {count}" for index, count in counts.items()]
    return "\n".join(["The list adds to the counts of all lists:", *(lines or ["   nothing"])])


def _indent(table: str) -> list[Any]:
    return [f"   {line}" for line in table.splitlines()]
