"""`Slices`: the numbers of every slice, with counts and intervals, for printing and for
programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from rectitude.errors import unknown_name
from rectitude.render import (
    Drawable,
    Formulas,
    Grid,
    Printable,
    Tabular,
    comment_latex,
    csv,
    escape_markdown,
    interval,
)
from rectitude.render import number as format_number

WHOLE = "all"
LEAST = 30
"""with fewer lists, or relevant rows, a slice is too small: a t interval needs a mean of many
values"""
_MANY = 10
"""with this many intervals or more, a note warns about chance"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One metric in one slice."""

    by: str
    """the way to slice: "gender", "activity:4"; "all" for all lists"""
    slice: str
    metric: str
    value: float | None
    """None if it is undefined"""
    low: float | None = None
    high: float | None = None
    """the ends of the 95% confidence interval of a mean over lists, by Student's t"""
    counted: int | None = None
    """how many lists, or users, the value is over"""
    of: str = "lists"
    """what the slice is a subset of: lists, or rows of the truth"""
    lists: int = 0
    """lists in the slice"""
    relevant: int = 0
    """relevant rows of the truth in the slice"""
    share: float | None = None
    """the share of all lists, or of all relevant rows if the slices are subsets of rows"""
    reason: str = ""
    """why there is no value"""


@dataclass(frozen=True, repr=False)
class Slices(Printable, Tabular, Drawable):
    """Every metric in every slice."""

    numbers: tuple[Number, ...]
    notes: tuple[str, ...] = ()
    least_lists: int = LEAST
    least_relevant: int = LEAST

    def of(self, by: str, name: str, metric: str) -> Number:
        """Return one metric of one slice."""
        numbers = {(n.by, n.slice, n.metric): n for n in self.numbers}
        if (by, name, metric) in numbers:
            return numbers[by, name, metric]
        names = [", ".join(key) for key in numbers]
        raise unknown_name("number", ", ".join((by, name, metric)), names, "these slices")

    def values(self, by: str, metric: str) -> dict[str, float | None]:
        """Return the value of a metric in each slice."""
        return {n.slice: n.value for n in self.numbers if (n.by, n.metric) == (by, metric)}

    def readable_from(self, lists: int, relevant: int) -> Slices:
        """Return the same numbers with different limits below which a slice is too small."""
        return replace(self, least_lists=lists, least_relevant=relevant)

    def too_small(self, number: Number) -> bool:
        """Return whether a slice has too few lists or relevant rows to interpret."""
        counted = number.lists if number.counted is None else min(number.lists, number.counted)
        return counted < self.least_lists or number.relevant < self.least_relevant

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per number, for tables."""
        return [{**asdict(n), "too_small": self.too_small(n)} for n in self.numbers]

    def table(self) -> pl.DataFrame:
        """Return a table with one row per slice and metric."""
        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def to_polars(self) -> pl.DataFrame:
        """Return `table()`."""
        return self.table()

    def as_dict(self) -> dict[str, Any]:
        """Return the slices for JSON."""
        return {
            "numbers": self.rows(),
            "notes": list(self.notes),
            "least_lists": self.least_lists,
            "least_relevant": self.least_relevant,
        }

    def to_csv(self, formulas: Formulas = "quoted") -> str:
        """Return CSV text with one row per slice and metric, in full precision. Names that a
        spreadsheet would run as formulas get an apostrophe in front, unless they are "kept"."""
        return csv(self.rows(), formulas)

    def to_markdown(self) -> str:
        """Return one Markdown table per way to slice, followed by notes for the reader."""
        tables = [table.markdown() for table in self.tables()]
        notes = [f"- {escape_markdown(line[2:])}" for line in self.cautions()]
        return "\n\n".join([*tables, *(["\n".join(notes)] if notes else [])]) + "\n"

    def to_latex(self) -> str:
        """Return one LaTeX table per way to slice in booktabs style, with notes for the reader as
        comments."""
        notes = [f"{comment_latex(line[2:])}\n" for line in self.cautions()]
        return "\n".join(table.latex() for table in self.tables()) + "".join(notes)

    def tables(self) -> list[Grid]:
        """Return the printed tables, one per way to slice; the last row is for all lists."""
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
            return format_number(number.value)
        return f"{format_number(number.value)} {interval(number.low, number.high)}"

    def cautions(self) -> list[str]:
        """Return notes for the reader: which slices are too small, how many intervals there are,
        and why some values are missing."""
        numbers = [n for n in self.numbers if n.by != WHOLE]
        slices = {(n.by, n.slice) for n in numbers}
        small = {(n.by, n.slice) for n in numbers if self.too_small(n)}
        notes = list(self.notes)
        if small:
            notes.append(
                f"! {len(small):,} of {len(slices):,} slices have fewer than {self.least_lists} "
                f"lists or {self.least_relevant} relevant rows: too small to interpret (marked !)."
            )
        interval_count = sum(n.low is not None for n in numbers)
        if interval_count >= _MANY:
            notes.append(
                f"- {interval_count:,} intervals at 95%: expect about {0.05 * interval_count:.0f} "
                "to miss the true value by chance alone. A slice that stands out among many needs "
                "confirmation on new data."
            )
        reasons = {(n.by, n.slice, n.reason): n.metric for n in numbers if n.value is None}
        notes += [f"- {by}, {name}: {reason}" for by, name, reason in reasons]
        return notes

    def _shown(self) -> Iterator[str | Grid]:
        for number, table in enumerate(self.tables()):
            yield from ([""] if number else [])
            yield table
        yield from self.cautions()


def from_dict(stored: Mapping[str, Any]) -> Slices:
    """Return slices from the output of `as_dict`."""
    rows = [{k: v for k, v in row.items() if k != "too_small"} for row in stored["numbers"]]
    numbers = tuple(Number(**row) for row in rows)
    return Slices(numbers, tuple(stored["notes"]), stored["least_lists"], stored["least_relevant"])
