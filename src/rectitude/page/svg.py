"""Charts are SVG text: elements, scales, and the frame that all of them share.

Colours are names of the page's style (`var(--s0)`), so that a chart follows the light and the dark
theme; `standalone` gives a file with colours of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH = 720
SERIES = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3a86c8", "#7a4fbf", "#6b6b6b",
    "#b03060", "#2f6f4f",
)  # fmt: skip
"""Colours that people with the usual kinds of colour blindness can tell apart, and more after."""
MARKS = ("circle", "square", "triangle", "diamond")
_LIGHT = {"--ink": "#1b1f24", "--soft": "#5b6470", "--line": "#d5dae1", "--paper": "#ffffff"}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

Scale = Callable[[float], float]


class Box(NamedTuple):
    """Where a chart's own area lies inside its picture."""

    left: float
    top: float
    right: float
    bottom: float


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
