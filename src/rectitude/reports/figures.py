"""From the content of a report to its figures: a chart, what it shows in words, and its data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rectitude.metrics.names import Name, parse
from rectitude.reports import charts
from rectitude.reports.charts import Bar, Point, Range
from rectitude.reports.content import Content

Row = dict[str, Any]
FEW = 40
"""Rows of a chart before it becomes a wall."""
APART = (
    "What is tested is the mean over the users that both have; the numbers of the table differ by"
    " something else, which the notes below say."
)
_NO_TIME = re.compile(r"(seed|fold|repeat)-")


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart of the report."""

    name: str
    """also of the files in which it and its data are written"""
    title: str
    chart: str
    """SVG"""
    data: list[Row]
    note: str = ""


def figures(content: Content) -> dict[str, list[Figure]]:
    """The figures of every section that has any."""
    found = {
        "curves": curves(content),
        "differences": differences(content),
        "slices": slices(content),
        "windows": windows(content),
        "flow": flow(content),
        "explain": explain(content),
    }
    return {section: own for section, own in found.items() if own}


def curves(content: Content) -> list[Figure]:
    """A metric at its cutoffs, where there are several."""
    groups: dict[str, dict[int, str]] = {}
    for name in content.values:
        one = parse(name)[0]
        if one.at is not None and one.at.isdigit():
            whole = str(Name(one.base, one.variants))
            groups.setdefault(whole, {})[int(one.at)] = name
    made = (_curve(content, base, at) for base, at in groups.items() if len(at) > 1)
    return [figure for figure in made if figure.data]


def _curve(content: Content, base: str, at: Mapping[int, str]) -> Figure:
    series: dict[str, list[Point]] = {}
    data: list[Row] = []
    for k, name in sorted(at.items()):
        for model, value in content.values[name].items():
            if value.value is None:
                continue
            point = Point(float(k), value.value, value.low, value.high, f"top {k}")
            series.setdefault(model, []).append(point)
            data.append({"metric": base, "cutoff": k, "model": model, **_ends(value)})
    places = {float(k): str(k) for k in at}
    label = f"{base} of {len(series)} models at the cutoffs {', '.join(map(str, sorted(at)))}"
    chart = charts.lines(series, label, "cutoff", places)
    return Figure(f"curve-{_plain(base)}", f"{base} by cutoff", chart, data)


def _ends(value: Any) -> Row:
    return {"value": value.value, "low": value.low, "high": value.high}


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name).strip("-")


def differences(content: Content) -> list[Figure]:
    """Paired differences with their intervals, a chart for each metric."""
    if content.comparison is None:
        return []
    by_metric: dict[str, list[Row]] = {}
    for one in content.comparison["differences"]:
        by_metric.setdefault(one["metric"], []).append(one)
    return [_forest(content, metric, rows) for metric, rows in by_metric.items()]


def _forest(content: Content, metric: str, rows: list[Row]) -> Figure:
    models = content.models
    percent = all(row["unit"] == "pp" for row in rows)
    times = 100.0 if percent else 1.0
    bases = dict.fromkeys(row["baseline"] for row in rows)
    whose = f" from {next(iter(bases))}" if len(bases) == 1 else ""
    drawn = [
        Range(
            row["model"] if whose else f"{row['model']} − {row['baseline']}",
            times * row["difference"], _times(row["low"], times), _times(row["high"], times),
            models.index(row["model"]) if row["model"] in models else 0,
            _said(row, times, "pp" if percent else ""),
            bool(row["significant"]),
        )
        for row in rows[:FEW]
    ]  # fmt: skip
    unit = "percentage points" if percent else "difference"
    title = f"Differences of {metric}{whose}"
    chart = charts.ranges(drawn, f"{title}, with intervals", unit, zero=True)
    apart = any(one.startswith(f"{metric} of ") for one in notes(content))
    note = f"Faint where the difference is not significant.{_left_out(len(rows))}"
    note += f" {APART}" if apart else ""
    keep = ("metric", "model", "baseline", "difference", "low", "high", "p", "corrected",
            "effect", "users", "significant")  # fmt: skip
    data = [{name: row[name] for name in keep} for row in rows]
    return Figure(f"difference-{_plain(metric)}", title, chart, data, note)


def notes(content: Content) -> list[str]:
    """What the comparison says of itself."""
    return [] if content.comparison is None else list(content.comparison.get("notes", ()))


def _left_out(rows: int) -> str:
    return f" The first {FEW} of {rows} are drawn; all are in the table." if rows > FEW else ""


def _times(value: float | None, times: float) -> float | None:
    return None if value is None else value * times


def _said(row: Row, times: float, unit: str) -> str:
    ends = [f"{times * row[end]:+.3g}" if row[end] is not None else "?" for end in ("low", "high")]
    return (
        f"{row['model']} less {row['baseline']}: {times * row['difference']:+.3g} {unit}"
        f" ({ends[0]} to {ends[1]}), corrected p {row['corrected']:.3g}"
    )


def slices(content: Content) -> list[Figure]:
    """Each metric by each way of slicing."""
    groups: dict[tuple[str, str], list[Any]] = {}
    main = content.main or next(iter(content.values), "")
    for one in sorted(content.slices, key=lambda one: one.metric != main):
        groups.setdefault((one.metric, one.by), []).append(one)
    made = (_sliced(content, metric, by, own) for (metric, by), own in groups.items())
    return [figure for figure in made if figure is not None]


def _sliced(content: Content, metric: str, by: str, own: list[Any]) -> Figure | None:
    models = content.models
    order = {name: nth for nth, name in enumerate(dict.fromkeys(one.slice for one in own))}
    own = sorted(own, key=lambda one: order[one.slice])
    having = [one for one in own if one.value is not None]
    drawn = [
        Range(
            f"{one.slice}, {one.model}", one.value, one.low, one.high, models.index(one.model),
            certain=not one.warning,
        )
        for one in having[:FEW]
    ]  # fmt: skip
    if not drawn:
        return None
    title = f"{metric} by {_way(by)}"
    chart = charts.ranges(drawn, title, metric, zero=False)
    name = f"slice-{_plain(metric)}-{_plain(by)}"
    note = _slice_note(own) + _left_out(len(having))
    data = [asdict(one) for one in own]
    return Figure(name, title, chart, data, note.strip())


def _way(by: str) -> str:
    """How slices were made, in words: 'activity:3' are three parts by activity."""
    what, _, parts = by.partition(":")
    if by == "known":
        return "known and unknown users and items"
    return f"{what}, {parts} parts" if parts.isdigit() else by


def _slice_note(own: list[Any]) -> str:
    """What the chart cannot say: why marks are faint, and which slices have none."""
    warned = sorted({one.warning for one in own if one.warning})
    there = {one.slice for one in own if one.value is not None}
    empty = [name for name in dict.fromkeys(one.slice for one in own) if name not in there]
    faint = f" Faint: {'; '.join(warned)}." if warned else ""
    return faint + (f" Without a value: {', '.join(empty)}." if empty else "")


def windows(content: Content) -> list[Figure]:
    """Each metric over the windows of time."""
    if len(content.windows) < 2:
        return []
    names = dict.fromkeys(name for window in content.windows for name in window.values)
    made = (_over_time(content, name) for name in names)
    return [one for one in made if any(row["value"] is not None for row in one.data)]


def in_time(content: Content) -> bool:
    """Whether splits follow each other in time; folds and seeds do not."""
    return not any(_NO_TIME.match(window.label) for window in content.windows)


def _over_time(content: Content, metric: str) -> Figure:
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
    places = {float(nth): window.label for nth, window in enumerate(content.windows)}
    what, title = ("window", "over time") if in_time(content) else ("split", "by split")
    chart = charts.lines(series, f"{metric} of each {what}", what, places)
    return Figure(f"window-{_plain(metric)}", f"{metric} {title}", chart, data)


def flow(content: Content) -> list[Figure]:
    """What entered, and what was dropped where."""
    if not content.flow:
        return []
    stages = [charts.FlowStage(s.label, s.rows, s.dropped, s.about) for s in content.flow]
    chart = charts.flow(stages, "Rows that each stage left and dropped")
    data = [asdict(stage) for stage in content.flow]
    return [Figure("flow", "From the log to the parts of the split", chart, data)]


def explain(content: Content) -> list[Figure]:
    """From one number to another of the same name."""
    found = content.explanation
    if found is None:
        return []
    steps = found["waterfall"]
    bars = [Bar(s["label"], s["start"], s["end"], _kind(nth, s, len(steps)))
            for nth, s in enumerate(steps)]  # fmt: skip
    whose = f" of {found['model']}" if "model" in found else ""
    ends = f"from {steps[0]['label']} to {steps[-1]['label']}"
    label = f"How {found['metric']}{whose} changes {ends}"
    chart = charts.waterfall(bars, label, found["metric"])
    return [Figure("explain", label, chart, [dict(s) for s in steps])]


def _kind(nth: int, step: Mapping[str, Any], size: int) -> str:
    if nth in (0, size - 1):
        return "total"
    return "up" if step["end"] >= step["start"] else "down"


def every(sections: Mapping[str, Iterable[Figure]]) -> list[Figure]:
    """All figures, in the order of the page."""
    return [figure for own in sections.values() for figure in own]
