"""Charts that turn plain numbers into SVG: lines, ranges, waterfalls, reliability and flows.

Colours refer to the style of the page (`var(--s0)`), which lets a chart follow the light or dark
theme. `standalone` replaces them with fixed colours, for a chart in its own file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

WIDTH = 720
ROW = 26
LONGEST = 32
BANDS = 8
"""The most series whose intervals are drawn as bands; with more, only tooltips show them."""
CLOSE = 34.0
"""The smallest distance between labels along an axis."""
SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a86c8", "#7a4fbf", "#6b6b6b",
    "#b03060", "#2f6f4f",
)  # fmt: skip
"""Colours of series; the first ones are safe for the common kinds of colour blindness."""
MARKS = ("circle", "square", "triangle", "diamond")
_LIGHT = {"--ink": "#1b1f24", "--soft": "#5b6470", "--line": "#d5dae1", "--paper": "#ffffff"}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_HEIGHT = re.compile(r'viewBox="0 0 \S+ (\S+)"')
Scale = Callable[[float], float]


class Point(NamedTuple):
    """A value at a position along the axis, with its interval if there is one."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    label: str = ""


class Range(NamedTuple):
    """A value with an interval, drawn in one row."""

    label: str
    value: float
    low: float | None
    high: float | None
    series: int = 0
    tip: str = ""
    certain: bool = True


class Bar(NamedTuple):
    """A bar from one value to another."""

    label: str
    start: float
    end: float
    kind: str = "total"


class FlowStage(NamedTuple):
    """A stage of the data flow: how many rows it kept, and how many it dropped."""

    label: str
    rows: int
    dropped: int = 0
    about: str = ""


class Bin(NamedTuple):
    """The predictions whose probability is in an interval, and how many of them are correct."""

    above: float
    up_to: float
    rows: int
    probability: float
    """their mean probability"""
    share_correct: float


class Box(NamedTuple):
    """The plotting area inside the picture."""

    left: float
    top: float
    right: float
    bottom: float


def lines(
    series: Mapping[str, Sequence[Point]], label: str, axis: str, positions: Mapping[float, str]
) -> str:
    """Draw several series along an axis, with bands for their intervals.

    `positions` are the labelled positions of the axis.
    """
    inside, height = panel(series, axis, positions)
    return picture(inside, height, label)


def panel(
    series: Mapping[str, Sequence[Point]],
    axis: str,
    positions: Mapping[float, str],
    zero: bool = True,
    marked: float | None = None,
) -> tuple[str, float]:
    """Return the inside of a line chart, and its height.

    The value axis begins at zero, or near the lowest value. One position can be marked.
    """
    points = [point for drawn in series.values() for point in drawn]
    head, height = legend([cut(name) for name in series], 60, 20, WIDTH - 80)
    box = Box(60, height + 16, WIDTH - 16, height + 256)
    ends = [end for p in points for end in (p.value, p.low, p.high) if end is not None]
    ends += [0.0] if zero or not ends else []
    low, high = min(ends), max(ends)
    high += (high - low) * 0.05 or 1.0
    numbers = ticks(low, high)
    box = box._replace(left=max(box.left, 16 + 7.0 * max(len(format_number(n)) for n in numbers)))
    y = linear(low, high, box.bottom, box.top)
    x = linear(min(positions), max(positions), box.left + 12, box.right - 12)
    parts = [head, across(box, numbers, y), _draw_labels(positions, x, box.bottom + 18)]
    parts += [] if marked is None else [_draw_dashes(box, x(marked))]
    parts.append(_draw_axis(axis, box))
    bands = len(series) <= BANDS
    for nth, (name, values) in enumerate(series.items()):
        drawn = sorted(values)
        band = _draw_band(drawn, nth, x, y) if bands else ""
        parts.append(_draw_line(name, drawn, nth, x, y, band))
    return "".join(parts), box.bottom + 48


def stack_panels(panels: Sequence[tuple[str, float]], label: str) -> str:
    """Stack panels below each other in one picture."""
    parts, top = [], 0.0
    for inside, height in panels:
        parts.append(el("g", inside, transform=f"translate(0 {top:g})"))
        top += height
    return picture("".join(parts), top, label)


def stack_pictures(pictures: Mapping[str, str], label: str) -> str:
    """Stack whole pictures below each other, each under its title."""
    panels = []
    for title, drawn in pictures.items():
        height, inside = _HEIGHT.search(drawn), drawn.partition(">")[2].rpartition("</svg>")[0]
        heading = text(title, 8, 18, font_weight="bold")
        room = 28 + (float(height[1]) if height else 0.0)
        panels.append((heading + el("g", inside, transform="translate(0 28)"), room))
    return stack_panels(panels, label)


def _draw_labels(positions: Mapping[float, str], x: Scale, y: float) -> str:
    """Draw the labels along the axis; leave out those that would overlap."""
    parts, free = [], -math.inf
    for at, words in sorted(positions.items()):
        half = max(CLOSE, 7.0 * len(cut(words, 12)) + 8) / 2
        if x(at) - half >= free - 1e-9:
            parts.append(text(cut(words, 12), x(at), y, text_anchor="middle", class_="tick"))
            free = x(at) + half
    return "".join(parts)


def _draw_band(drawn: Sequence[Point], nth: int, x: Scale, y: Scale) -> str:
    bounded = [(x(p.x), p.low, p.high) for p in drawn if p.low is not None and p.high is not None]
    if len(bounded) < 2:
        return ""
    upper = [f"{at:.1f},{y(high):.1f}" for at, _, high in bounded]
    lower = [f"{at:.1f},{y(low):.1f}" for at, low, _ in reversed(bounded)]
    return el("polygon", points=" ".join(upper + lower), fill=color(nth), fill_opacity=0.13)


def _draw_line(name: str, drawn: Sequence[Point], nth: int, x: Scale, y: Scale, band: str) -> str:
    path = " ".join(f"{x(p.x):.1f},{y(p.value):.1f}" for p in drawn)
    line = el("polyline", points=path, class_="line", stroke=color(nth), fill="none")
    marks = [
        marker(
            MARKS[nth % len(MARKS)], x(p.x), y(p.value), 4.5, fill=color(nth), class_="mark",
            data_tip=f"{name}, {p.label}: {_format_point(p)}",
        )
        for p in drawn
    ]  # fmt: skip
    return el("g", band, line, *marks, class_="series", data_series=name)


def _format_point(point: Point) -> str:
    return format_number(point.value) + _format_interval(point.low, point.high)


def _format_interval(low: float | None, high: float | None) -> str:
    return (
        "" if low is None or high is None else f" ({format_number(low)} to {format_number(high)})"
    )


def ranges(rows: Sequence[Range], label: str, axis: str, zero: bool) -> str:
    """Draw values with their intervals, one per row, with a line at zero if wanted."""
    left = 30 + 7.0 * max(len(cut(row.label)) for row in rows)
    box = Box(left, 12, WIDTH - 20, 12 + ROW * len(rows) + 8)
    ends = [end for r in rows for end in (r.value, r.low, r.high) if end is not None]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    room = (high - low) * 0.04 or 1.0
    x = linear(low - (room if low < 0 else 0), high + room, box.left, box.right)
    parts = [along(box, ticks(low, high), x)]
    if zero:
        parts.append(_draw_dashes(box, x(0)))
    for nth, row in enumerate(rows):
        at = box.top + ROW * nth + ROW / 2 + 4
        ink = color(row.series)
        faint = None if row.certain else 0.55
        parts.append(text(cut(row.label), box.left - 12, at + 4, text_anchor="end", class_="name"))
        if row.low is not None and row.high is not None:
            parts.append(
                el("line", x1=x(row.low), x2=x(row.high), y1=at, y2=at, stroke=ink,
                   class_="whisker", stroke_opacity=faint)
            )  # fmt: skip
        interval = _format_interval(row.low, row.high)
        tip = row.tip or f"{row.label}: {format_number(row.value)}{interval}"
        parts.append(
            marker(MARKS[row.series % len(MARKS)], x(row.value), at, 5, fill=ink,
                   fill_opacity=faint, class_="mark", data_tip=tip)
        )  # fmt: skip
    parts.append(_draw_axis(axis, box))
    return picture("".join(parts), box.bottom + 48, label)


def waterfall(bars: Sequence[Bar], label: str, axis: str) -> str:
    """Draw the steps from one number to another."""
    left = 30 + 7.0 * max(len(cut(bar.label)) for bar in bars)
    box = Box(left, 12, WIDTH - 90, 12 + ROW * len(bars) + 8)
    ends = [0.0, *(end for bar in bars for end in (bar.start, bar.end))]
    low, high = min(ends), max(ends)
    x = linear(low, high + (high - low) * 0.02, box.left, box.right)
    parts = [along(box, ticks(low, high), x)]
    inks = {"total": "var(--soft)", "up": "var(--s2)", "down": "var(--s1)"}
    for nth, bar in enumerate(bars):
        at = box.top + ROW * nth + 6
        start, end = sorted((x(bar.start), x(bar.end)))
        change = bar.end if bar.kind == "total" else bar.end - bar.start
        words = format_number(change) if bar.kind == "total" else f"{change:+.4g}"
        parts.append(text(cut(bar.label), box.left - 12, at + 15, text_anchor="end", class_="name"))
        parts.append(
            el("rect", x=start, y=at, width=max(end - start, 1.5), height=ROW - 8, rx=2,
               fill=inks[bar.kind], class_="mark", data_tip=f"{bar.label}: {words}")
        )  # fmt: skip
        parts.append(text(words, end + 6, at + 15, class_="tick"))
    parts.append(_draw_axis(axis, box))
    return picture("".join(parts), box.bottom + 48, label)


def reliability(series: Mapping[str, Sequence[Bin]], label: str, axis: str) -> str:
    """Draw how often predictions are correct against their probability, and below it the share of
    rows in each bin."""
    head, height = legend([cut(name) for name in series], 60, 20, WIDTH - 80)
    box = Box(60, height + 16, WIDTH - 16, height + 336)
    strip = Box(box.left, box.bottom + 12, box.right, box.bottom + 72)
    x, y = linear(0, 1, box.left, box.right), linear(0, 1, box.bottom, box.top)
    numbers = ticks(0, 1)
    parts = [head, across(box, numbers, y), along(strip._replace(top=box.top), numbers, x)]
    parts.append(el("line", x1=x(0), x2=x(1), y1=y(0), y2=y(1), class_="zero"))
    parts.append(_draw_shares(series, strip, x))
    for nth, (name, bins) in enumerate(series.items()):
        points = [
            Point(b.probability, b.share_correct, label=f"{_describe_bin(b)}, correct")
            for b in bins
        ]
        parts.append(_draw_line(name, points, nth, x, y, ""))
    parts.append(_draw_axis(axis, strip))
    return picture("".join(parts), strip.bottom + 48, label)


def _describe_bin(one: Bin) -> str:
    return f"{one.rows:,} rows with probability {format_number(one.probability)}"


def _draw_shares(series: Mapping[str, Sequence[Bin]], strip: Box, x: Scale) -> str:
    """Draw the share of rows in each bin, the series side by side."""
    sizes = {name: sum(b.rows for b in bins) for name, bins in series.items()}
    most = max(b.rows / sizes[name] for name, bins in series.items() for b in bins)
    y = linear(0, most, 0, strip.bottom - strip.top)
    parts = []
    for nth, (name, bins) in enumerate(series.items()):
        for b in bins:
            share = b.rows / sizes[name]
            width = (x(b.up_to) - x(b.above) - 2) / len(series)
            parts.append(
                el("rect", x=x(b.above) + 1 + nth * width, y=strip.bottom - y(share),
                   width=max(width, 0.5), height=y(share), fill=color(nth), fill_opacity=0.55,
                   class_="mark", data_tip=f"{name}, {_describe_bin(b)}: {share:.1%} of all rows")
            )  # fmt: skip
    return "".join(parts)


def flow(stages: Sequence[FlowStage], label: str) -> str:
    """Draw how many rows each stage kept and dropped: bars that get shorter from top to bottom."""
    most = max(stage.rows + stage.dropped for stage in stages) or 1
    left, width, step = 190.0, WIDTH - 190.0 - 150.0, 46
    parts = []
    for nth, stage in enumerate(stages):
        top = 10 + step * nth
        kept, lost = (width * n / most for n in (stage.rows, stage.dropped))
        tip = f"{stage.label}: {stage.rows:,} rows" + (f", {stage.about}" if stage.about else "")
        parts.append(text(cut(stage.label, 25), left - 12, top + 19, text_anchor="end",
                          class_="name"))  # fmt: skip
        parts.append(el("rect", x=left, y=top, width=max(kept, 1.5), height=28, rx=3,
                        fill="var(--s0)", class_="mark", data_tip=tip))  # fmt: skip
        if stage.dropped:
            parts.append(
                el("rect", x=left + max(kept, 1.5), y=top, width=max(lost, 2), height=28, rx=3,
                   fill="var(--s1)", fill_opacity=0.55, class_="mark",
                   data_tip=f"{stage.label}: {stage.dropped:,} rows dropped")
            )  # fmt: skip
        words = f"{stage.rows:,}" + (f"  (−{stage.dropped:,})" if stage.dropped else "")
        parts.append(text(words, left + max(kept, 1.5) + lost + 8, top + 19, class_="tick"))
    return picture("".join(parts), 14 + step * len(stages), label)


def el(tag: str, *inside: str, **attributes: object) -> str:
    """Return an element; underscores in attribute names become hyphens, and values are escaped."""
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_shorten(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{words}>{''.join(inside)}</{tag}>"


def _shorten(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """Return a line of text."""
    return el("text", escape(words), x=x, y=y, **attributes)


def color(nth: int) -> str:
    """Return the colour of a series."""
    return f"var(--s{nth % len(SERIES)})"


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Return a scale from numbers to coordinates in the picture."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers that cover a range."""
    span = (high - low) or abs(high) or 1.0
    rough = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with few digits."""
    if value == 0:
        return "0"
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def marker(kind: str, x: float, y: float, size: float, **attributes: object) -> str:
    """Draw a mark of a series; series differ in shape as well as in colour."""
    if kind == "circle":
        return el("circle", cx=x, cy=y, r=size, **attributes)
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "triangle": ((0, -1.25), (1.15, 0.9), (-1.15, 0.9)),
        "diamond": ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    }[kind]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return el("polygon", points=points, **attributes)


def across(box: Box, values: Sequence[float], y: Scale) -> str:
    """Draw horizontal grid lines at these values, with the numbers on the left."""
    parts = []
    for value in values:
        at = y(value)
        parts.append(el("line", x1=box.left, x2=box.right, y1=at, y2=at, class_="grid"))
        parts.append(
            text(format_number(value), box.left - 8, at + 4, text_anchor="end", class_="tick")
        )
    return "".join(parts)


def along(box: Box, values: Sequence[float], x: Scale) -> str:
    """Draw vertical grid lines at these values, with the numbers below."""
    parts = []
    for value in values:
        at = x(value)
        parts.append(el("line", x1=at, x2=at, y1=box.top, y2=box.bottom, class_="grid"))
        parts.append(
            text(format_number(value), at, box.bottom + 18, text_anchor="middle", class_="tick")
        )
    return "".join(parts)


def legend(names: Sequence[str], x: float, y: float, width: float) -> tuple[str, float]:
    """Return a legend that wraps at this width, and its height."""
    parts, at, line = [], x, y
    for nth, name in enumerate(names):
        room = 26 + 7.2 * len(name)
        if at > x and at + room > x + width:
            at, line = x, line + 20
        mark = marker(MARKS[nth % len(MARKS)], at + 6, line - 4, 4.5, fill=color(nth))
        parts.append(mark + text(name, at + 16, line, class_="name"))
        at += room
    return "".join(parts), line - y + 20


def picture(inside: str, height: float, label: str, width: float = WIDTH) -> str:
    """Return the whole picture; screen readers read the label."""
    return el(
        "svg", inside, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {height:g}",
        role="img", aria_label=label, class_="chart",
    )  # fmt: skip


def standalone(chart: str) -> str:
    """Return a chart that works as a file, in the colours of the light theme."""
    for name, value in (*_LIGHT.items(), *((f"--s{n}", c) for n, c in enumerate(SERIES))):
        chart = chart.replace(f"var({name})", value)
    ink, soft, line, paper = _LIGHT.values()
    style = (
        f"svg{{font-family:{_FONT};font-size:13px;background:{paper}}}text{{fill:{ink}}}"
        f".tick,.axis{{fill:{soft};font-size:12px}}.grid{{stroke:{line}}}"
        f".zero{{stroke:{soft};stroke-dasharray:4 3}}.line{{fill:none;stroke-width:2}}"
        f".whisker{{stroke-width:2}}"
    )
    head, rest = chart.split(">", 1)
    return f"{head}><style>{style}</style>{rest}\n"


def cut(words: str, most: int = LONGEST) -> str:
    """Shorten a label in the middle, because names often differ at their end."""
    if len(words) <= most:
        return words
    end = (most - 1) // 2
    return f"{words[: most - 1 - end]}…{words[-end:]}"


def _draw_dashes(box: Box, at: float) -> str:
    """Draw a vertical dashed line."""
    return el("line", x1=at, x2=at, y1=box.top, y2=box.bottom, class_="zero")


def _draw_axis(words: str, box: Box) -> str:
    """Draw the title of the horizontal axis."""
    middle = (box.left + box.right) / 2
    return text(words, middle, box.bottom + 38, text_anchor="middle", class_="axis")
