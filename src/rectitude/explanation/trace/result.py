"""`Trace`: how the value of one list comes about. As text: the list, whether it counts, what is
divided by what."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rectitude.explanation.trace.lines import Ideal, TraceLine, WantedLine
from rectitude.metrics.registry import written
from rectitude.render import Grid

_LISTED = 10
_HEADINGS = {
    "rank": "rank", "item": "item", "score": "score", "grade": "grade", "hits": "hits",
    "gain": "gain", "discount": "discount", "adds": "adds", "total": "sum",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trace:
    """How the value of one list comes about."""

    user: Any
    metric: str
    title: str
    formula: str
    profile: str
    cutoff: int | None
    lines: tuple[TraceLine, ...]
    """the list, from the first rank on; where it is long, its judged items only after that"""
    wanted: tuple[WantedLine, ...]
    """what the truth holds"""
    returned: int
    relevant: int
    reachable: int
    """relevant items that fit the cutoff"""
    hits: float
    """relevant items up to the cutoff"""
    counts: bool
    """whether the list enters the overall value"""
    reasons: tuple[str, ...]
    ideal: tuple[Ideal, ...]
    """the best list, where the metric divides by one"""
    choices: Mapping[str, str]
    """the metric's own switches with the sentence of the choice in force"""
    numbers: Mapping[str, float | str]
    above: float | None = None
    below: float | None = None
    value: float | None = None
    """the value of the list; None where it does not count or is undefined"""
    counted: Mapping[str, Mapping[int, int]] | None = None
    """what the list adds to the counts of a metric that has no values per list"""

    def as_dict(self) -> dict[str, Any]:
        """The trace for JSON."""
        return {"format": "rectitude.trace", "version": 1, **asdict(self)}

    def to_json(self) -> str:
        """The trace as JSON text; ids that JSON has no word for as text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False, default=str)

    def __str__(self) -> str:
        return text(self)


def text(trace: Trace) -> str:
    """The steps, as a person would check them."""
    head = f"{trace.metric} of {trace.user!r} = {_outcome(trace)}  (profile: {trace.profile})"
    steps = [_list_step(trace), _counts_step(trace), *_fraction_steps(trace)]
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    formula = [trace.title, textwrap.fill(f"  = {trace.formula}", 100, subsequent_indent="    ")]
    formula += [f"  {number} = {written(value)}" for number, value in trace.numbers.items()]
    formula += [f"  {switch}: {words}" for switch, words in trace.choices.items()]
    return "\n".join([head, "", *formula, "", "\n\n".join(numbered)])


def _outcome(trace: Trace) -> str:
    if trace.value is not None:
        return f"{trace.value:.10g}"
    if trace.counted is not None:
        return "no value of its own: it adds to counts"
    return "undefined" if trace.counts else "none: the list does not count"


def _list_step(trace: Trace) -> str:
    facts = f"The list: {trace.returned:,} items. Relevant in the truth: {trace.relevant:,}; "
    if trace.cutoff is None:
        facts += f"found in the list: {trace.hits:g}."
    else:
        facts += f"fitting the cutoff: {trace.reachable:,}; found up to rank {trace.cutoff}: "
        facts += f"{trace.hits:g}."
    lines = [facts]
    if trace.lines:
        lines += _indented(_table(trace.lines))
    if trace.returned > len(trace.lines):
        lines.append("   Ranks that are not shown hold no item of the truth.")
    lines += _missed(trace)
    return "\n".join(lines)


def _table(lines: Sequence[TraceLine]) -> str:
    """The ranks; columns that nothing stands in are left out."""
    there = [
        name
        for name in _HEADINGS
        if name in ("rank", "item") or any(getattr(line, name) is not None for line in lines)
    ]
    rows = [[_cell(line, name) for name in there] for line in lines]
    return Grid([_HEADINGS[name] for name in there], rows).text()


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


def _missed(trace: Trace) -> list[str]:
    missed = [one for one in trace.wanted if one.relevant and one.rank is None]
    if not missed:
        return []
    shown = ", ".join(f"{one.item} (grade {one.grade:g})" for one in missed[:_LISTED])
    more = f" and {len(missed) - _LISTED:,} more" if len(missed) > _LISTED else ""
    return [f"   Relevant, but not ranked: {shown}{more}."]


def _counts_step(trace: Trace) -> str:
    verdict = "The list counts:" if trace.counts else "The list does not count:"
    return "\n".join([verdict, *(f"   {reason}" for reason in trace.reasons)])


def _fraction_steps(trace: Trace) -> list[str]:
    if trace.counted is not None:
        return [_counts_said(trace)]
    steps = [f"Above: {_sum([line.adds for line in trace.lines], trace.above)}"]
    below = f"Below: {_sum([line.adds for line in trace.ideal], trace.below)}"
    if trace.ideal:
        rows = [
            [str(one.rank), f"{one.gain:.6g}", f"{one.discount:.6g}", f"{one.adds:.6g}"]
            for one in trace.ideal
        ]
        table = Grid(["rank", "gain", "discount", "adds"], rows).text()
        below = "\n".join([f"{below}, the best list:", *_indented(table)])
    steps.append(below)
    fraction = f"{trace.above:.10g} / {trace.below:.10g}"
    return [*steps, f"Value: {fraction} = {_divided(trace)}"]


def _divided(trace: Trace) -> str:
    if not trace.below:
        worth = "undefined" if trace.value is None else f"{trace.value:g}"
        return f"0/0, which is {worth} here"
    return f"{(trace.above or 0.0) / trace.below:.10g}"


def _sum(terms: Sequence[float | None], whole: float | None) -> str:
    """The terms that are not 0 and what they add up to."""
    there = [term for term in terms if term]
    if len(there) < 2 or len(there) > _LISTED:
        return f"{whole:.10g}"
    return " + ".join(f"{term:.6g}" for term in there) + f" = {whole:.10g}"


def _counts_said(trace: Trace) -> str:
    said: list[str] = []
    for name, counts in (trace.counted or {}).items():
        said += [f"   {name}[{place}] + {count}" for place, count in counts.items()]
    return "\n".join(["It adds to the counts of all lists:", *(said or ["   nothing"])])


def _indented(table: str) -> list[Any]:
    return [f"   {line}" for line in table.splitlines()]
