"""Charts, each from plain numbers to SVG: lines, ranges, waterfalls and flows.

Colours are names of the page's style (`var(--s0)`), so that a chart follows the light and the dark
theme; `standalone` gives a file with colours of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

WIDTH = 720
ROW = 26
LONGEST = 32
BANDS = 8
"""Series whose intervals can be told apart; those of more are in their tooltips."""
CLOSE = 34.0
"""Labels along an axis stand at least so far apart."""
SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a86c8", "#7a4fbf", "#6b6b6b",
    "#b03060", "#2f6f4f",
)  # fmt: skip
"""Colours that people with the usual kinds of colour blindness can tell apart, and more after."""
MARKS = ("circle", "square", "triangle", "diamond")
_LIGHT = {"--ink": "#1b1f24", "--soft": "#5b6470", "--line": "#d5dae1", "--paper": "#ffffff"}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_TIP = re.compile(r' data-tip="([^"]*)"([^>]*)>')
Scale = Callable[[float], float]


class Point(NamedTuple):
    """A value at a place along the axis, with its interval if there is one."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    label: str = ""


class Range(NamedTuple):
    """A value with an interval in a row of its own."""

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
    """A stage of the data: how many rows came out of it, and how many it dropped."""

    label: str
    rows: int
    dropped: int = 0
    about: str = ""


class Box(NamedTuple):
    """Where a chart's own area lies inside its picture."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """A chart that notebooks show; `svg` is the picture, `html` a page that needs nothing else."""

    svg: str

    def html(self, title: str) -> str:
        """A page with the chart; marks tell their values."""
        shown = _TIP.sub(r"\2><title>\1</title>", self.svg)
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f"<title>{escape(title)}</title>\n"
            f'<body style="max-width: 60rem; margin: 2rem auto">\n{shown}</body>\n</html>\n'
        )

    def _repr_svg_(self) -> str:
        return self.svg


def lines(
    series: Mapping[str, Sequence[Point]], label: str, axis: str, places: Mapping[float, str]
) -> str:
    """Values of several series along an axis, with bands where they have intervals."""
    inside, height = panel(series, axis, places)
    return picture(inside, height, label)


def panel(
    series: Mapping[str, Sequence[Point]],
    axis: str,
    places: Mapping[float, str],
    zero: bool = True,
    marked: float | None = None,
) -> tuple[str, float]:
    """The inside of a chart of lines, and its height; the values shown begin at zero or near the
    least, and one place along the axis can be marked."""
    points = [point for own in series.values() for point in own]
    head, height = legend([cut(name) for name in series], 60, 20, WIDTH - 80)
    box = Box(60, height + 16, WIDTH - 16, height + 256)
    ends = [end for p in points for end in (p.value, p.low, p.high) if end is not None]
    ends += [0.0] if zero or not ends else []
    low, high = min(ends), max(ends)
    high += (high - low) * 0.05 or 1.0
    numbers = ticks(low, high)
    box = box._replace(left=max(box.left, 16 + 7.0 * max(len(shown(n)) for n in numbers)))
    y = linear(low, high, box.bottom, box.top)
    x = linear(min(places), max(places), box.left + 12, box.right - 12)
    parts = [head, across(box, numbers, y), _places(places, x, box.bottom + 18)]
    parts += [] if marked is None else [_down(box, x(marked))]
    parts.append(_axis(axis, box))
    bands = len(series) <= BANDS
    for nth, (name, own) in enumerate(series.items()):
        drawn = sorted(own)
        parts.append(_line(name, drawn, nth, x, y, _band(drawn, nth, x, y) if bands else ""))
    return "".join(parts), box.bottom + 48


def stacked(panels: Sequence[tuple[str, float]], label: str) -> str:
    """Panels one below the other."""
    parts, top = [], 0.0
    for inside, height in panels:
        parts.append(el("g", inside, transform=f"translate(0 {top:g})"))
        top += height
    return picture("".join(parts), top, label)


def _places(places: Mapping[float, str], x: Scale, y: float) -> str:
    """The labels along the axis, without those for which there is no room."""
    parts, free = [], -math.inf
    for at, words in sorted(places.items()):
        half = max(CLOSE, 7.0 * len(cut(words, 12)) + 8) / 2
        if x(at) - half >= free - 1e-9:
            parts.append(text(cut(words, 12), x(at), y, text_anchor="middle", class_="tick"))
            free = x(at) + half
    return "".join(parts)


def _band(drawn: Sequence[Point], nth: int, x: Scale, y: Scale) -> str:
    bounded = [(x(p.x), p.low, p.high) for p in drawn if p.low is not None and p.high is not None]
    if len(bounded) < 2:
        return ""
    upper = [f"{at:.1f},{y(high):.1f}" for at, _, high in bounded]
    lower = [f"{at:.1f},{y(low):.1f}" for at, low, _ in reversed(bounded)]
    return el("polygon", points=" ".join(upper + lower), fill=color(nth), fill_opacity=0.13)


def _line(name: str, drawn: Sequence[Point], nth: int, x: Scale, y: Scale, band: str) -> str:
    path = " ".join(f"{x(p.x):.1f},{y(p.value):.1f}" for p in drawn)
    line = el("polyline", points=path, class_="line", stroke=color(nth), fill="none")
    marks = [
        marker(
            MARKS[nth % len(MARKS)], x(p.x), y(p.value), 4.5, fill=color(nth), class_="mark",
            data_tip=f"{name}, {p.label}: {shown(p.value)}{_interval(p.low, p.high)}",
        )
        for p in drawn
    ]  # fmt: skip
    return el("g", band, line, *marks, class_="series", data_series=name)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({shown(low)} to {shown(high)})"


def ranges(rows: Sequence[Range], label: str, axis: str, zero: bool) -> str:
    """Values with their intervals, one below the other; a line at zero where that means
    something."""
    left = 30 + 7.0 * max(len(cut(row.label)) for row in rows)
    box = Box(left, 12, WIDTH - 20, 12 + ROW * len(rows) + 8)
    ends = [end for r in rows for end in (r.value, r.low, r.high) if end is not None]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    room = (high - low) * 0.04 or 1.0
    x = linear(low - (room if low < 0 else 0), high + room, box.left, box.right)
    parts = [along(box, ticks(low, high), x)]
    if zero:
        parts.append(_down(box, x(0)))
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
        tip = row.tip or f"{row.label}: {shown(row.value)}{_interval(row.low, row.high)}"
        parts.append(
            marker(MARKS[row.series % len(MARKS)], x(row.value), at, 5, fill=ink,
                   fill_opacity=faint, class_="mark", data_tip=tip)
        )  # fmt: skip
    parts.append(_axis(axis, box))
    return picture("".join(parts), box.bottom + 48, label)


def waterfall(bars: Sequence[Bar], label: str, axis: str) -> str:
    """From one number to another in steps."""
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
        words = shown(change) if bar.kind == "total" else f"{change:+.4g}"
        parts.append(text(cut(bar.label), box.left - 12, at + 15, text_anchor="end", class_="name"))
        parts.append(
            el("rect", x=start, y=at, width=max(end - start, 1.5), height=ROW - 8, rx=2,
               fill=inks[bar.kind], class_="mark", data_tip=f"{bar.label}: {words}")
        )  # fmt: skip
        parts.append(text(words, end + 6, at + 15, class_="tick"))
    parts.append(_axis(axis, box))
    return picture("".join(parts), box.bottom + 48, label)


def flow(stages: Sequence[FlowStage], label: str) -> str:
    """What entered and what each stage dropped: bars that grow narrower on the way down."""
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
    """An element; underscores in names of attributes stand for hyphens, values are escaped."""
    words = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_short(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{words}>{''.join(inside)}</{tag}>"


def _short(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text."""
    return el("text", escape(words), x=x, y=y, **attributes)


def color(nth: int) -> str:
    """The colour of a series."""
    return f"var(--s{nth % len(SERIES)})"


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """A scale from numbers to places in the picture."""
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover a range."""
    span = (high - low) or abs(high) or 1.0
    rough = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def shown(value: float, digits: int = 4) -> str:
    """A number as short as its size allows."""
    if value == 0:
        return "0"
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def marker(kind: str, x: float, y: float, size: float, **attributes: object) -> str:
    """A mark of a series, told apart by its form as well as by its colour."""
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
    """Lines across the chart at round numbers, with the numbers on the left."""
    parts = []
    for value in values:
        at = y(value)
        parts.append(el("line", x1=box.left, x2=box.right, y1=at, y2=at, class_="grid"))
        parts.append(text(shown(value), box.left - 8, at + 4, text_anchor="end", class_="tick"))
    return "".join(parts)


def along(box: Box, values: Sequence[float], x: Scale) -> str:
    """Lines down the chart at round numbers, with the numbers below."""
    parts = []
    for value in values:
        at = x(value)
        parts.append(el("line", x1=at, x2=at, y1=box.top, y2=box.bottom, class_="grid"))
        parts.append(text(shown(value), at, box.bottom + 18, text_anchor="middle", class_="tick"))
    return "".join(parts)


def legend(names: Sequence[str], x: float, y: float, width: float) -> tuple[str, float]:
    """The names of series with their marks, in lines no wider than this; and the height."""
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
    """The whole picture; the label is read aloud in its place."""
    return el(
        "svg", inside, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {height:g}",
        role="img", aria_label=label, class_="chart",
    )  # fmt: skip


def standalone(chart: str) -> str:
    """A chart as a file of its own, in the colours of the light theme."""
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
    """A label that fits; names often differ at their end, so that the middle gives way."""
    if len(words) <= most:
        return words
    end = (most - 1) // 2
    return f"{words[: most - 1 - end]}…{words[-end:]}"


def _down(box: Box, at: float) -> str:
    """A dashed line down the chart."""
    return el("line", x1=at, x2=at, y1=box.top, y2=box.bottom, class_="zero")


def _axis(words: str, box: Box) -> str:
    """What the axis below the chart shows."""
    middle = (box.left + box.right) / 2
    return text(words, middle, box.bottom + 38, text_anchor="middle", class_="axis")
