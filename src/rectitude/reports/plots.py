"""`plot`: a result as one chart, from the figures of the report."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

from rectitude.aggregate.evaluation import Evaluation, Result
from rectitude.aggregate.slices import Slices
from rectitude.comparison.result import Comparison
from rectitude.errors import NothingToEvaluate, unknown_name
from rectitude.explanation.explain.result import Explanation
from rectitude.metrics.names import Name, parse
from rectitude.render import Chart
from rectitude.reports import charts
from rectitude.reports.charts import Range
from rectitude.reports.content import Content, Value, content_of, slices_of
from rectitude.reports.figures import Figure, every, figures
from rectitude.storage import write_text

Plotted = Evaluation | Comparison | Slices | Explanation


def plot(result: Plotted, metrics: Sequence[str], path: str | os.PathLike[str] | None) -> Chart:
    """Draw a result, or some of its metrics; write the chart as an HTML page if there is a path."""
    kind = type(result).__name__
    where = "these slices" if isinstance(result, Slices) else f"this {kind.lower()}"
    drawn = _choose(_figures_of(result), metrics, where)
    if not drawn:
        raise NothingToEvaluate(f"there is nothing to draw in {where}.", "at least one value.")
    whole = charts.stack_pictures({figure.title: figure.chart for figure in drawn}, kind)
    chart = Chart(charts.standalone(whole))
    if path is not None:
        write_text(
            path, chart.svg if os.fspath(path).lower().endswith(".svg") else chart.html(kind)
        )
    return chart


def _figures_of(result: Plotted) -> list[Figure]:
    """Return the figures that a report on the result has."""
    sections = figures(_content_of(result))
    if isinstance(result, Evaluation):
        curves = {
            name for f in sections.get("curves", ()) for row in f.data for name in _names(row)
        }
        rest = {name: one for name, one in result.results.items() if _base(name) not in curves}
        sections = {"values": _draw_values(rest), **sections}
    return every(sections)


def _draw_values(results: Mapping[str, Result]) -> list[Figure]:
    """Draw the numbers that are on no curve, because they have no cutoff or only one."""
    rows = [
        Range(name, result.value, *(result.interval or (None, None)))
        for name, result in results.items()
        if math.isfinite(result.value)
    ]
    if not rows:
        return []
    data = [{"metric": row.label, "value": row.value} for row in rows]
    return [Figure("values", "Values", charts.ranges(rows, "Values", "value", zero=False), data)]


def _content_of(result: Plotted) -> Content:
    if isinstance(result, Slices):
        values = {number.metric: {"": Value(value=None)} for number in result.numbers}
        slices = slices_of("", result.as_dict())
        return Content(title="Slices", values=values, best={}, definitions={}, slices=slices)
    if isinstance(result, Explanation):
        explained = result.as_dict()
        return Content(
            title="Explanation", values={}, best={}, definitions={}, explanation=explained
        )
    if isinstance(result, Evaluation):
        return content_of({str(result.manifest.get("profile", "default")): result})
    return content_of(result)


def _choose(drawn: list[Figure], metrics: Sequence[str], where: str) -> list[Figure]:
    """Return the figures of some metrics, or all of them."""
    if not metrics:
        return drawn
    known = dict.fromkeys(name for f in drawn for row in f.data for name in _names(row))
    for name in metrics:
        if not {name, _base(name)} & {*known}:
            raise unknown_name("metric", name, known, where=where)
    wanted = {*metrics, *map(_base, metrics)}
    return [f for f in drawn if any(wanted & {*_names(row)} for row in f.data)]


def _names(row: Mapping[str, object]) -> list[str]:
    return [str(row["metric"])] if "metric" in row else []


def _base(name: str) -> str:
    """Return the name of a metric without its cutoff, as curves name it."""
    parsed = parse(name)[0]
    return str(Name(parsed.base, parsed.variants))
