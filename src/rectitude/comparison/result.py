"""`Comparison`: models side by side, and the statistics of each difference."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

import polars as pl

from rectitude.comparison import effects, text
from rectitude.comparison.effects import Components
from rectitude.comparison.table import Extra, marks, model_rows
from rectitude.errors import RectitudeError, UnreadableFile, unknown_name
from rectitude.metrics.names import parse
from rectitude.profiles import PROFILES
from rectitude.render import Drawable, Formulas, as_pandas, csv
from rectitude.storage import read_stored, require_format, require_suffix, write_text

FORMAT = "rectitude.comparison"
FORMAT_VERSION = 1
Table = Literal["models", "differences"]
BOTH: tuple[Table, ...] = ("models", "differences")
_FLOATS = ("difference", "low", "high", "p", "corrected", "deviation", "effect", "rank_biserial",
           "superiority", "detectable")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A metric of a model minus that of a baseline, as means over the users that both share."""

    metric: str
    model: str
    baseline: str
    unit: str
    """what the numbers are in: "fraction" for metrics from 0 to 1, which are shown in percentage
    points; empty for others, which are in the metric's own unit"""
    users: int
    difference: float
    low: float
    high: float
    """the ends of the confidence interval of the difference"""
    relative: float | None
    """in percent of the baseline; None if that is 0"""
    statistic: float | None
    """the test statistic; None for sign flips, which have none"""
    p: float
    corrected: float
    """p corrected for all tests of the comparison"""
    deviation: float
    """the standard deviation of the users' differences"""
    effect: float
    """Cohen's dz: the mean difference in standard deviations of the differences"""
    rank_biserial: float
    superiority: float
    """the share of users for whom the model is better; ties count half"""
    better: int
    """users for whom the model is better"""
    worse: int
    detectable: float
    """the smallest difference that a t-test with this many users detects with a power of 80%"""
    equivalence: float | None = None
    """the corrected p of the equivalence test (TOST); None without a margin"""
    spread: Components | None = None
    """the variance of the differences by source, if there are several runs"""

    def as_dict(self) -> dict[str, Any]:
        """Return the difference for JSON; infinite numbers become null."""
        return {name: _null_if_infinite(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Drawable):
    """The numbers of several models, and tests of their differences."""

    values: Mapping[str, Mapping[str, float]]
    """by metric and model; the mean if there are several runs"""
    deviations: Mapping[str, Mapping[str, float]]
    """the standard deviation over runs, if there are several"""
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    """the ends of the confidence interval of each number that is a mean of users"""
    best: Mapping[str, str]
    """whether high or low values are better, by metric"""
    differences: tuple[Difference, ...]
    baseline: str | None
    test: str
    correction: str
    tests: int
    """how many tests were corrected together, including those of slices"""
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
        """Return the difference of a metric between two models; `baseline` defaults to that of the
        comparison."""
        name, against = self._find_metric(metric), baseline or self.baseline
        for row in self.differences:
            if (row.metric, row.model) == (name, model) and against in (None, row.baseline):
                return row
        names = [f"{row.metric} {row.model} {row.baseline}" for row in self.differences]
        requested = " ".join([name, model, *([against] if against else [])])
        raise unknown_name("difference", requested, names, where="this comparison")

    def __getitem__(self, metric: str) -> Mapping[str, float]:
        """Return the number of each model: comparison["ndcg@10"]["knn"]."""
        name = self._find_metric(metric)
        if name not in self.values:
            raise unknown_name("metric", metric, self.values, where="this comparison")
        return self.values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def _find_metric(self, metric: str) -> str:
        """Return a metric by the name that it has here, for that name or another one."""
        typed = parse(metric)[0]
        if str(typed) in self.values:
            return str(typed)
        try:
            return str(PROFILES["default"].translate(typed))
        except RectitudeError:
            return str(typed)

    def significant(self, one: Difference) -> bool:
        """Return whether the corrected p of a difference is below alpha."""
        return one.corrected < self.alpha

    def power(
        self, difference: float, metric: str, model: str, baseline: str | None = None
    ) -> float:
        """Return the power of a t-test with as many users to detect this difference, such as 0.01
        for one percentage point. Corrections are not considered."""
        row = self.of(metric, model, baseline)
        if not row.deviation:
            return float(difference != 0)
        return effects.power(difference / row.deviation, row.users, self.alpha)

    def users_needed(
        self, difference: float, metric: str, model: str, baseline: str | None = None
    ) -> int:
        """Return how many users a t-test needs to detect this difference with a power of 80%."""
        row = self.of(metric, model, baseline)
        return effects.users_needed(difference / row.deviation, self.alpha) if row.deviation else 2

    def letters(self, metric: str) -> dict[str, str]:
        """Return the letters of each model: models that share a letter do not differ significantly.
        If the comparison has a baseline, there are no letters and all are empty."""
        return {model: mark.letters for model, mark in marks(self, metric).items()}

    def rows(self, table: Table = "differences") -> list[dict[str, Any]]:
        """Return one row per difference, or per metric and model; rows of slices follow.

        Differences and the ends of their intervals are in `unit`: as fractions for metrics from 0
        to 1, else in the metric's own unit. `relative_percent` is in percent of the baseline.
        """
        _require_choices((table,), ())
        rows = self._rows() if table == "differences" else model_rows(self)
        rows = [{name: _null_if_infinite(value) for name, value in row.items()} for row in rows]
        if self.slices:
            rows = [{"slice": "all", **row} for row in rows]
        for label, comparison in self.slices.items():
            rows += [{"slice": label, **row} for row in comparison.rows(table)]
        return rows

    def _rows(self) -> list[dict[str, Any]]:
        rows = [
            diff.as_dict() | {"significant": self.significant(diff)} for diff in self.differences
        ]
        names = {"relative": "relative_percent"}
        return [{names.get(n, n): v for n, v in row.items() if n != "spread"} for row in rows]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        rows = [row.as_dict() | {"significant": self.significant(row)} for row in self.differences]
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "slice": self.slice,
            "values": {
                metric: _null_infinite(by_model) for metric, by_model in self.values.items()
            },
            "deviations": {
                metric: _null_infinite(by_model) for metric, by_model in self.deviations.items()
            },
            "intervals": {metric: dict(by_model) for metric, by_model in self.intervals.items()},
            "best": dict(self.best),
            "letters": {} if self.baseline else {name: self.letters(name) for name in self.values},
            "differences": rows,
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
            "slices": {label: part.as_dict() for label, part in self.slices.items()},
        }

    def to_json(self) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False)

    def to_csv(self, table: Table = "differences", formulas: Formulas = "quoted") -> str:
        """Return one CSV row per difference, or per metric and model, with full precision. Names
        that a spreadsheet would run as formulas get an apostrophe in front, unless they are
        "kept"."""
        return csv(self.rows(table), formulas)

    def to_polars(self, table: Table = "differences") -> pl.DataFrame:
        """Return `rows` as a Polars frame."""
        return pl.DataFrame(self.rows(table), infer_schema_length=None)

    def table(self, table: Table = "differences") -> pl.DataFrame:
        """Return a table with one row per difference, or per metric and model; see `rows`."""
        return self.to_polars(table)

    def to_pandas(self, table: Table = "differences") -> Any:
        """Return `rows` as a pandas frame."""
        return as_pandas(self.to_polars(table))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as JSON; the file is written completely or not at all."""
        require_suffix(
            path, "comparison", (".json",),
            "for a table, write comparison.to_polars() with write_parquet or write_csv.",
        )  # fmt: skip
        write_text(path, self.to_json())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Comparison:
        """Read a comparison that `save` wrote."""
        expected = "a file written by Comparison.save or rectitude compare --format json."
        return from_dict(read_stored(path, "comparison", expected), os.fspath(path))

    def to_text(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """Return the tables for a terminal. `show` adds columns next to each number: its confidence
        interval, and the change from the baseline in points or in percent."""
        return "\n\n".join(text.text(part, parts, show) for part in self._with_slices(parts, show))

    def to_markdown(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """Return the tables as Markdown: best in bold, second best underlined."""
        return "\n".join(
            text.markdown(part, parts, show) for part in self._with_slices(parts, show)
        )

    def to_latex(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """Return the tables as LaTeX with booktabs rules: best in bold, second best underlined.
        Captions say how models were tested."""
        blocks = [text.latex(part, parts, show) for part in self._with_slices(parts, show)]
        return "% needs \\usepackage{booktabs}\n" + "\n".join(blocks)

    def to_html(self, parts: Collection[Table] = BOTH, show: Collection[Extra] = ()) -> str:
        """Return the tables as HTML: best in bold, second best underlined."""
        return "".join(text.html(part, parts, show) for part in self._with_slices(parts, show))

    def words(self) -> str:
        """Describe each difference in words, for readers who rarely see tables of tests."""
        return "\n".join(
            line for part in self._with_slices(BOTH, ()) for line in text.sentences(part)
        )

    def _with_slices(self, parts: Collection[str], show: Collection[str]) -> list[Comparison]:
        """Return the comparisons of all users and of each slice."""
        _require_choices(parts, show)
        return [self, *self.slices.values()]

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()


def from_dict(stored: object, where: str = "this") -> Comparison:
    """Return a comparison from the output of `as_dict`."""
    facts = dict(require_format(stored, where, "comparison", FORMAT_VERSION))
    for name, known in text.METHODS.items():
        if facts[name] not in known:
            raise unknown_name(name, facts[name], known, where=where)
    try:
        slices = {label: from_dict(part, where) for label, part in facts["slices"].items()}
        tested = [] if facts["margin"] is None else ["equivalence"]
        facts["differences"] = tuple(_read_difference(row, tested) for row in facts["differences"])
        for name in ("values", "deviations"):
            facts[name] = {metric: _read_nan(by) for metric, by in facts[name].items()}
        facts["intervals"] = {
            metric: {model: tuple(ends) for model, ends in by.items()}
            for metric, by in facts["intervals"].items()
        }
        facts |= {"slices": slices, "notes": tuple(facts["notes"])}
        return Comparison(**{field.name: facts[field.name] for field in fields(Comparison)})
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableFile(f"{where} is damaged: {error!r}.", "a complete comparison.") from error


def _read_difference(row: Mapping[str, Any], tested: Sequence[str]) -> Difference:
    """Return a difference; its equivalence is read if it was `tested`."""
    facts = {name: value for name, value in row.items() if name != "significant"}
    spread = None if row["spread"] is None else Components(**row["spread"])
    lost = {name: math.nan for name in (*_FLOATS, *tested) if row[name] is None}
    untested = {} if tested else {"equivalence": None}
    return Difference(**facts | lost | untested | {"spread": spread})


def _read_nan(values: Mapping[str, float | None]) -> dict[str, float]:
    return {model: math.nan if value is None else value for model, value in values.items()}


def _require_choices(parts: Collection[str], show: Collection[str]) -> None:
    """Raise an error for unknown tables and columns."""
    for kind, names, choices in (("table", parts, Table), ("column", show, Extra)):
        for name in names:
            if name not in get_args(choices):
                raise unknown_name(kind, name, get_args(choices), where="a comparison")


def _null_infinite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _null_if_infinite(value) for name, value in values.items()}


def _null_if_infinite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
