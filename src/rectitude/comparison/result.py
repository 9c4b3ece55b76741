"""`Comparison`: models side by side, and what each difference is worth."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from rectitude.comparison import effects, text
from rectitude.comparison.effects import Components
from rectitude.comparison.table import Extra, marks, model_rows
from rectitude.errors import unknown_name
from rectitude.metrics.names import parse
from rectitude.render import csv

FORMAT = "rectitude.comparison"
FORMAT_VERSION = 1
Table = Literal["models", "differences"]
BOTH: tuple[Table, ...] = ("models", "differences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric of a model less that of a baseline, as means over the users that both have."""

    metric: str
    model: str
    baseline: str
    unit: str
    """"pp" for metrics from 0 to 1, which are shown in percentage points; empty for others"""
    users: int
    difference: float
    low: float
    high: float
    """the ends of the interval of the difference"""
    relative: float | None
    """in percent of the baseline; None where that is 0"""
    statistic: float | None
    """what the test computes; None where it has none"""
    p: float
    corrected: float
    """p with regard to all tests of the comparison"""
    deviation: float
    """the standard deviation of the users' differences"""
    effect: float
    """Cohen's dz: the mean difference in standard deviations of the differences"""
    rank_biserial: float
    superiority: float
    """the share of users for whom the model is better, equal ones counting half"""
    better: int
    """users for whom the model is better"""
    worse: int
    detectable: float
    """the difference that a t-test of so many users finds four times out of five"""
    equivalence: float | None = None
    """p of being farther apart than the margin, corrected; None without a margin"""
    spread: Components | None = None
    """the variance of the differences by source, where there are several runs"""

    def as_dict(self) -> dict[str, Any]:
        """The difference for JSON; null where a number is infinite."""
        return {name: _finite(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """The numbers of several models, and tests of their differences."""

    values: Mapping[str, Mapping[str, float]]
    """by metric and model; of several runs, the mean"""
    deviations: Mapping[str, Mapping[str, float]]
    """the standard deviation over runs, where there are several"""
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    """the ends of the interval of each number that is a mean of users"""
    best: Mapping[str, str]
    """which values of each metric are better: high or low"""
    differences: tuple[Difference, ...]
    baseline: str | None
    test: str
    correction: str
    tests: int
    """how many tests were corrected together, those of slices included"""
    interval: str
    alpha: float
    resamples: int
    seed: int
    runs: int = 1
    margin: float | None = None
    notes: tuple[str, ...] = ()
    slice: str = ""
    """which slice this is, such as "gender: f"; empty for all users"""
    slices: Mapping[str, Comparison] = field(default_factory=dict)
    """the same models on each slice, by its label"""

    def of(self, metric: str, model: str, baseline: str | None = None) -> Difference:
        """The difference of a metric between two models; the baseline need not be named twice."""
        name, against = str(parse(metric)[0]), baseline or self.baseline
        for one in self.differences:
            if (one.metric, one.model) == (name, model) and against in (None, one.baseline):
                return one
        known = [f"{one.metric} {one.model} {one.baseline}" for one in self.differences]
        asked = " ".join([name, model, *([against] if against else [])])
        raise unknown_name("difference", asked, known, where="this comparison")

    def significant(self, one: Difference) -> bool:
        """Whether the corrected p of a difference is below alpha."""
        return one.corrected < self.alpha

    def power(
        self, difference: float, metric: str, model: str, baseline: str | None = None
    ) -> float:
        """How often a t-test of as many users finds a difference as large as this, such as 0.01
        for one percentage point; it is not corrected."""
        one = self.of(metric, model, baseline)
        if not one.deviation:
            return float(difference != 0)
        return effects.power(difference / one.deviation, one.users, self.alpha)

    def users_needed(
        self, difference: float, metric: str, model: str, baseline: str | None = None
    ) -> int:
        """How many users a t-test needs to find a difference as large as this four times out of
        five."""
        one = self.of(metric, model, baseline)
        return effects.needed(difference / one.deviation, self.alpha) if one.deviation else 2

    def letters(self, metric: str) -> dict[str, str]:
        """Models that share a letter do not differ significantly. They are for comparisons of all
        with all; with a baseline, all are empty."""
        return {model: mark.letters for model, mark in marks(self, metric).items()}

    def rows(self, table: Table = "differences") -> list[dict[str, Any]]:
        """One row per difference, or per number of a model; those of slices follow."""
        _require_known((table,), ())
        found = self._rows() if table == "differences" else model_rows(self)
        found = [{name: _finite(value) for name, value in row.items()} for row in found]
        if self.slices:
            found = [{"slice": "all", **row} for row in found]
        for label, one in self.slices.items():
            found += [{"slice": label, **row} for row in one.rows(table)]
        return found

    def _rows(self) -> list[dict[str, Any]]:
        kept = [one.as_dict() | {"significant": self.significant(one)} for one in self.differences]
        return [{name: v for name, v in row.items() if name != "spread"} for row in kept]

    def as_dict(self) -> dict[str, Any]:
        """The comparison for JSON."""
        every = [one.as_dict() | {"significant": self.significant(one)} for one in self.differences]
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "slice": self.slice,
            "values": {metric: _all_finite(of) for metric, of in self.values.items()},
            "deviations": {metric: _all_finite(of) for metric, of in self.deviations.items()},
            "intervals": {metric: dict(of) for metric, of in self.intervals.items()},
            "best": dict(self.best),
            "letters": {} if self.baseline else {name: self.letters(name) for name in self.values},
            "differences": every,
            "baseline": self.baseline,
            "test": self.test,
            "correction": self.correction,
            "tests": self.tests,
            "interval": self.interval,
            "alpha": self.alpha,
            "resamples": self.resamples,
            "seed": self.seed,
            "runs": self.runs,
            "margin": self.margin,
            "notes": list(self.notes),
            "slices": {label: one.as_dict() for label, one in self.slices.items()},
        }

    def to_json(self) -> str:
        """The comparison as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def to_csv(self, table: Table = "differences") -> str:
        """One row per difference, or per number of a model, with full precision."""
        return csv(self.rows(table))

    def to_text(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """The tables for a terminal; `show` asks for more beside each number: its interval, and
        the change from the baseline in points and relative."""
        return "\n\n".join(text.text(one, parts, show) for one in self._every(parts, show))

    def to_markdown(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """The tables as Markdown, best bold and second best underlined."""
        return "\n".join(text.markdown(one, parts, show) for one in self._every(parts, show))

    def to_latex(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """The tables in the style of booktabs, best bold and second best underlined; captions say
        how models were tested."""
        blocks = [text.latex(one, parts, show) for one in self._every(parts, show)]
        return "% needs \\usepackage{booktabs}\n" + "\n".join(blocks)

    def to_html(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """The tables as HTML, best bold and second best underlined."""
        return "".join(text.html(one, parts, show) for one in self._every(parts, show))

    def words(self) -> str:
        """Each difference in a sentence or two, for those who seldom read tables of tests."""
        return "\n".join(line for one in self._every(BOTH, ()) for line in text.sentences(one))

    def _every(self, parts: Collection[str], show: Collection[str]) -> list[Comparison]:
        """All users, then each slice."""
        _require_known(parts, show)
        return [self, *self.slices.values()]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__


def _require_known(parts: Collection[str], show: Collection[str]) -> None:
    """Refuse tables and columns that are none."""
    for what, asked, known in (("table", parts, Table), ("column", show, Extra)):
        for name in asked:
            if name not in get_args(known):
                raise unknown_name(what, name, get_args(known), where="a comparison")


def _all_finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in values.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
