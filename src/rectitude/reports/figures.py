"""The figures of a report: for each, a chart, a note in words, and its data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rectitude.metrics.names import Name, parse
from rectitude.reports import charts
from rectitude.reports.charts import Bar, Bin, Point, Range
from rectitude.reports.content import Content

Row = dict[str, Any]
FEW = 40
"""The most rows in one chart."""
APART = (
    "The test compares means over the users that both models have, so this difference is not that"
    " of the values in the table; see the notes below."
)
RELIABILITY = (
    "On the dashed line, predictions are correct as often as their probability says; below it they"
    " are too confident, above it not confident enough. The bars show the share of rows in each"
    " bin: where they are low, the line varies by chance."
)
_NO_TIME = re.compile(r"(seed|fold|repeat)-")


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of the report."""

    name: str
    """also the name of its files"""
    title: str
    chart: str
    """SVG"""
    data: list[Row]
    note: str = ""


def figures(content: Content) -> dict[str, list[Figure]]:
    """Return the figures of every section that has any."""
    sections = {
        "curves": curves(content),
        "differences": differences(content),
        "slices": slices(content),
        "windows": windows(content),
        "calibration": calibration(content),
        "flow": flow(content),
        "explain": explain(content),
    }
    return {section: drawn for section, drawn in sections.items() if drawn}


def curves(content: Content) -> list[Figure]:
    """Draw each metric that has several cutoffs."""
    groups: dict[str, dict[int, str]] = {}
    for name in content.values:
        parsed = parse(name)[0]
        if parsed.at is not None and parsed.at.isdigit():
            base = str(Name(parsed.base, parsed.variants))
            groups.setdefault(base, {})[int(parsed.at)] = name
    drawn = (_draw_curve(content, base, at) for base, at in groups.items() if len(at) > 1)
    return [figure for figure in drawn if figure.data]


def _draw_curve(content: Content, base: str, at: Mapping[int, str]) -> Figure:
    series: dict[str, list[Point]] = {}
    data: list[Row] = []
    for k, name in sorted(at.items()):
        for model, value in content.values[name].items():
            if value.value is None:
                continue
            point = Point(float(k), value.value, value.low, value.high, f"top {k}")
            series.setdefault(model, []).append(point)
            data.append({"metric": base, "cutoff": k, "model": model, **_ends(value)})
    positions = {float(k): str(k) for k in at}
    label = f"{base} of {len(series)} models at the cutoffs {', '.join(map(str, sorted(at)))}"
    chart = charts.lines(series, label, "cutoff", positions)
    return Figure(f"curve-{_plain(base)}", f"{base} by cutoff", chart, data)


def _ends(value: Any) -> Row:
    return {"value": value.value, "low": value.low, "high": value.high}


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name).strip("-")


def differences(content: Content) -> list[Figure]:
    """Draw the paired differences with their confidence intervals, one chart per metric."""
    if content.comparison is None:
        return []
    by_metric: dict[str, list[Row]] = {}
    for row in content.comparison["differences"]:
        if row["difference"] is not None:
            by_metric.setdefault(row["metric"], []).append(row)
    return [_draw_differences(content, metric, rows) for metric, rows in by_metric.items()]


def _draw_differences(content: Content, metric: str, rows: list[Row]) -> Figure:
    models = content.models
    percent = all(row["unit"] == "fraction" for row in rows)
    times = 100.0 if percent else 1.0
    bases = dict.fromkeys(row["baseline"] for row in rows)
    baseline = f" from {next(iter(bases))}" if len(bases) == 1 else ""
    drawn = [
        Range(
            row["model"] if baseline else f"{row['model']} − {row['baseline']}",
            times * row["difference"], _scale(row["low"], times), _scale(row["high"], times),
            models.index(row["model"]) if row["model"] in models else 0,
            _describe_row(row, times, "pp" if percent else ""),
            bool(row["significant"]),
        )
        for row in rows[:FEW]
    ]  # fmt: skip
    unit = "percentage points" if percent else "difference"
    title = f"Differences of {metric}{baseline}"
    chart = charts.ranges(drawn, f"{title}, with confidence intervals", unit, zero=True)
    apart = any(text.startswith(f"{metric} of ") for text in notes(content))
    note = f"Faint marks: the difference is not significant.{_describe_left_out(len(rows))}"
    note += f" {APART}" if apart else ""
    keep = ("metric", "model", "baseline", "difference", "low", "high", "p", "corrected",
            "effect", "users", "significant")  # fmt: skip
    data = [{name: row[name] for name in keep} for row in rows]
    return Figure(f"difference-{_plain(metric)}", title, chart, data, note)


def notes(content: Content) -> list[str]:
    """Return the notes of the comparison."""
    return [] if content.comparison is None else list(content.comparison.get("notes", ()))


def _describe_left_out(rows: int) -> str:
    return f" The chart shows the first {FEW} of {rows}; the table shows all." if rows > FEW else ""


def _scale(value: float | None, times: float) -> float | None:
    return None if value is None else value * times


def _describe_row(row: Row, times: float, unit: str) -> str:
    ends = [f"{times * row[end]:+.3g}" if row[end] is not None else "?" for end in ("low", "high")]
    return (
        f"{row['model']} minus {row['baseline']}: {times * row['difference']:+.3g} {unit}"
        f" ({ends[0]} to {ends[1]}), corrected p {_format_p(row['corrected'])}"
    )


def _format_p(corrected: float | None) -> str:
    return "?" if corrected is None else f"{corrected:.3g}"


def slices(content: Content) -> list[Figure]:
    """Draw each metric by each slicing."""
    groups: dict[tuple[str, str], list[Any]] = {}
    main = content.main or next(iter(content.values), "")
    for row in sorted(content.slices, key=lambda row: row.metric != main):
        groups.setdefault((row.metric, row.by), []).append(row)
    drawn = (_draw_slices(content, metric, by, rows) for (metric, by), rows in groups.items())
    return [figure for figure in drawn if figure is not None]


def _draw_slices(content: Content, metric: str, by: str, rows: list[Any]) -> Figure | None:
    models = content.models
    order = {name: nth for nth, name in enumerate(dict.fromkeys(row.slice for row in rows))}
    rows = sorted(rows, key=lambda row: order[row.slice])
    defined = [row for row in rows if row.value is not None]
    drawn = [
        Range(
            f"{row.slice}, {row.model}" if len(models) > 1 else row.slice, row.value, row.low,
            row.high, models.index(row.model),
            certain=not row.warning,
        )
        for row in defined[:FEW]
    ]  # fmt: skip
    if not drawn:
        return None
    title = f"{metric} by {_describe_slicing(by)}"
    chart = charts.ranges(drawn, title, metric, zero=False)
    name = f"slice-{_plain(metric)}-{_plain(by)}"
    note = _describe_gaps(rows) + _describe_left_out(len(defined))
    data = [asdict(row) for row in rows]
    return Figure(name, title, chart, data, note.strip())


def _describe_slicing(by: str) -> str:
    """Describe a slicing in words: 'activity:3' is 'activity, 3 groups'."""
    axis, _, groups = by.partition(":")
    if by == "known":
        return "known and unknown users and items"
    return f"{axis}, {groups} groups" if groups.isdigit() else by


def _describe_gaps(rows: list[Any]) -> str:
    """Say what the chart cannot: why marks are faint, and which slices have no value."""
    warnings = sorted({row.warning for row in rows if row.warning})
    defined = {row.slice for row in rows if row.value is not None}
    empty = [name for name in dict.fromkeys(row.slice for row in rows) if name not in defined]
    faint = f" Faint marks: {'; '.join(warnings)}." if warnings else ""
    return faint + (f" Without a value: {', '.join(empty)}." if empty else "")


def windows(content: Content) -> list[Figure]:
    """Draw each metric over the time windows."""
    if len(content.windows) < 2:
        return []
    names = dict.fromkeys(name for window in content.windows for name in window.values)
    drawn = (_draw_windows(content, name) for name in names)
    return [figure for figure in drawn if any(row["value"] is not None for row in figure.data)]


def in_time(content: Content) -> bool:
    """Return whether the splits follow each other in time; folds and seeds do not."""
    return not any(_NO_TIME.match(window.label) for window in content.windows)


def _draw_windows(content: Content, metric: str) -> Figure:
    series: dict[str, list[Point]] = {}
    data: list[Row] = []
    for nth, window in enumerate(content.windows):
        for model, value in window.values.get(metric, {}).items():
            if value is not None:
                series.setdefault(model, []).append(Point(float(nth), value, label=window.label))
            data.append(
                {"window": window.label, "model": model, "metric": metric, "value": value}
                | dict(window.facts)
            )
    positions = {float(nth): window.label for nth, window in enumerate(content.windows)}
    axis, title = ("window", "over time") if in_time(content) else ("split", "by split")
    chart = charts.lines(series, f"{metric} of each {axis}", axis, positions)
    return Figure(f"window-{_plain(metric)}", f"{metric} {title}", chart, data)


def calibration(content: Content) -> list[Figure]:
    """Draw a reliability diagram of all models for each way to bin their probabilities."""
    binned = {
        metric: models for metric, models in content.calibration.items() if any(models.values())
    }
    return [_draw_reliability(metric, models) for metric, models in binned.items()]


def _draw_reliability(metric: str, models: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    keys = Bin._fields
    series = {
        model: [Bin(**{key: row[key] for key in keys}) for row in rows]
        for model, rows in models.items()
        if rows
    }
    data = [{"metric": metric, "model": model, **row} for model in models for row in models[model]]
    title = f"How often predictions are correct, by their probability ({metric})"
    chart = charts.reliability(series, title, "predicted probability")
    return Figure(f"calibration-{_plain(metric)}", title, chart, data, RELIABILITY)


def flow(content: Content) -> list[Figure]:
    """Draw how many rows each stage kept and dropped."""
    if not content.flow:
        return []
    stages = [charts.FlowStage(s.label, s.rows, s.dropped, s.about) for s in content.flow]
    chart = charts.flow(stages, "Rows that each stage kept and dropped")
    data = [asdict(stage) for stage in content.flow]
    return [Figure("flow", "From the log to the parts of the split", chart, data)]


def explain(content: Content) -> list[Figure]:
    """Draw the steps from one value of a metric to another."""
    explanation = content.explanation
    if explanation is None:
        return []
    steps = explanation["waterfall"]
    bars = [Bar(s["label"], s["start"], s["end"], _kind(nth, s, len(steps)))
            for nth, s in enumerate(steps)]  # fmt: skip
    model = f" of {explanation['model']}" if "model" in explanation else ""
    ends = f"from {steps[0]['label']} to {steps[-1]['label']}"
    label = f"How {explanation['metric']}{model} changes {ends}"
    chart = charts.waterfall(bars, label, explanation["metric"])
    return [Figure("explain", label, chart, [dict(s) for s in steps])]


def _kind(nth: int, step: Mapping[str, Any], size: int) -> str:
    if nth in (0, size - 1):
        return "total"
    return "up" if step["end"] >= step["start"] else "down"


def every(sections: Mapping[str, Iterable[Figure]]) -> list[Figure]:
    """Return all figures, in the order of the page."""
    return [figure for drawn in sections.values() for figure in drawn]
