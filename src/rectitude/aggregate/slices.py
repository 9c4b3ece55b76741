"""`Slices`: the numbers of every slice, with counts and intervals, as people and programs read
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from rectitude.errors import unknown_name
from rectitude.render import Grid, csv, interval
from rectitude.render import number as shown

WHOLE = "all"
LEAST = 30
"""fewer lists, or relevant rows, are too few to read: Student's t leans on a mean of many"""
_MANY = 10
"""from so many intervals on a word is said about chance"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One metric of one slice."""

    by: str
    """the slicing: "gender", "activity:4"; "all" for all lists"""
    slice: str
    metric: str
    value: float | None
    """None where it is undefined"""
    low: float | None = None
    high: float | None = None
    """the ends of the 95% interval of a mean over lists, by Student's t"""
    counted: int | None = None
    """lists, or users, that the value is over"""
    of: str = "lists"
    """what the slice is a part of: lists, or rows of the truth"""
    lists: int = 0
    """lists in the slice"""
    relevant: int = 0
    """relevant rows of the truth in the slice"""
    share: float | None = None
    """of all lists, or of all relevant rows where slices are of rows"""
    reason: str = ""
    """why there is no value"""


@dataclass(frozen=True, repr=False)
class Slices:
    """Every metric in every slice."""

    numbers: tuple[Number, ...]
    notes: tuple[str, ...] = ()
    least_lists: int = LEAST
    least_relevant: int = LEAST

    def of(self, by: str, name: str, metric: str) -> Number:
        """One metric of one slice."""
        found = {(n.by, n.slice, n.metric): n for n in self.numbers}
        if (by, name, metric) in found:
            return found[by, name, metric]
        known = [", ".join(key) for key in found]
        raise unknown_name("number", ", ".join((by, name, metric)), known, "these slices")

    def values(self, by: str, metric: str) -> dict[str, float | None]:
        """A metric by slice."""
        return {n.slice: n.value for n in self.numbers if (n.by, n.metric) == (by, metric)}

    def readable_from(self, lists: int, relevant: int) -> Slices:
        """The same numbers, with another word on which slices are too small."""
        return replace(self, least_lists=lists, least_relevant=relevant)

    def too_small(self, number: Number) -> bool:
        """Whether a slice has too few lists or relevant rows to be read."""
        counted = number.lists if number.counted is None else min(number.lists, number.counted)
        return counted < self.least_lists or number.relevant < self.least_relevant

    def rows(self) -> list[dict[str, Any]]:
        """One row per number, for tables."""
        return [{**asdict(n), "too_small": self.too_small(n)} for n in self.numbers]

    def table(self) -> pl.DataFrame:
        """One row per slice and metric."""
        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def as_dict(self) -> dict[str, Any]:
        """The slices for JSON."""
        return {
            "numbers": self.rows(),
            "notes": list(self.notes),
            "least_lists": self.least_lists,
            "least_relevant": self.least_relevant,
        }

    def to_csv(self) -> str:
        """One row per slice and metric, with full precision."""
        return csv(self.rows())

    def to_markdown(self) -> str:
        """A table for each slicing as Markdown, and what a reader should know."""
        tables = [table.markdown() for table in self.tables()]
        told = [f"- {line[2:]}" for line in self.cautions()]
        return "\n\n".join([*tables, *(["\n".join(told)] if told else [])]) + "\n"

    def to_latex(self) -> str:
        """A table for each slicing as LaTeX, in the style of booktabs; what a reader should know
        stands in comments."""
        told = [f"% {line[2:]}\n" for line in self.cautions()]
        return "\n".join(table.latex() for table in self.tables()) + "".join(told)

    def tables(self) -> list[Grid]:
        """The tables for people, one for each slicing; all lists stand last."""
        whole = self._lines(WHOLE)
        metrics = list(dict.fromkeys(n.metric for n in self.numbers))
        names = [by for by in dict.fromkeys(n.by for n in self.numbers) if by != WHOLE]
        return [
            Grid([by, "lists", "relevant", "share", *metrics], [*self._lines(by), *whole])
            for by in names
        ]

    def _lines(self, by: str) -> list[list[str]]:
        lines: dict[str, list[str]] = {}
        for n in [n for n in self.numbers if n.by == by]:
            share = "" if n.share is None else f"{100 * n.share:.1f}%"
            first = [n.slice, f"{n.lists:,}", f"{n.relevant:,}", share]
            lines.setdefault(n.slice, first).append(self._cell(n))
        small = {n.slice for n in self.numbers if n.by == by and self.too_small(n)}
        return [
            [f"{name} !" if name in small else name, *rest] for name, (_, *rest) in lines.items()
        ]

    def _cell(self, number: Number) -> str:
        if number.value is None:
            return "undefined"
        if number.low is None or number.high is None:
            return shown(number.value)
        return f"{shown(number.value)} {interval(number.low, number.high)}"

    def cautions(self) -> list[str]:
        """What a reader should know: slices too small, intervals too many, and reasons."""
        parts = [n for n in self.numbers if n.by != WHOLE]
        every = {(n.by, n.slice) for n in parts}
        small = {(n.by, n.slice) for n in parts if self.too_small(n)}
        told = list(self.notes)
        if small:
            told.append(
                f"! {len(small):,} of {len(every):,} slices have fewer than {self.least_lists} "
                f"lists or {self.least_relevant} relevant rows: too small to read (marked !)."
            )
        ends = sum(n.low is not None for n in parts)
        if ends >= _MANY:
            told.append(
                f"- {ends:,} intervals of 95%: about {0.05 * ends:.0f} miss by chance alone; a "
                "slice that stands out among many is a question, not a finding."
            )
        reasons = {(n.by, n.slice, n.reason): n.metric for n in parts if n.value is None}
        told += [f"- {by}, {name}: {reason}" for by, name, reason in reasons]
        return told

    def __str__(self) -> str:
        tables = [table.text() for table in self.tables()]
        return "\n\n".join(tables) + "".join(f"\n{line}" for line in self.cautions())

    __repr__ = __str__


def from_dict(stored: Mapping[str, Any]) -> Slices:
    """Slices as `as_dict` wrote them."""
    kept = [{k: v for k, v in row.items() if k != "too_small"} for row in stored["numbers"]]
    numbers = tuple(Number(**row) for row in kept)
    return Slices(numbers, tuple(stored["notes"]), stored["least_lists"], stored["least_relevant"])
