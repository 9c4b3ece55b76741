"""Slicings: how an evaluation is parted, as people write it, and who belongs to which slice.

`gender` parts by the values of a column, `price:10,50` by edges, `activity:4` into four parts of
equal size, `gender+activity:2` by both at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

import numpy as np

from rectitude.arrays import Floats, Integers, run_starts
from rectitude.errors import BadName, BadTable

Of = Literal["lists", "rows"]
NO_VALUE = "no value"
NOT_IN_TRAIN = "not in train"
MOST_VALUES = 50
"""how many values of a column are slices of their own; more must be cut"""
MOST_PARTS = 100
_ABOUT = re.compile(r"(?P<name>.+?)(?::(?P<cut>[-+]?\d[-+0-9.,:eTZ ]*))?")
_EXAMPLE = "such as gender, activity:4, price:10,50,100 or gender+activity:2."


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing to part by: its name, and how its values are cut, if they are."""

    name: str
    parts: int | None = None
    """so many parts of about equal size"""
    edges: tuple[float | str, ...] = ()
    """where parts begin: numbers, or dates as text"""

    def __str__(self) -> str:
        cut = ",".join(e if isinstance(e, str) else _number(e) for e in self.edges)
        cut += "," if len(self.edges) == 1 and not isinstance(self.edges[0], str) else ""
        return self.name + (f":{self.parts or cut}" if self.parts or cut else "")


@dataclass(frozen=True, slots=True)
class Coded:
    """Which labels each list, or each row of the truth, has on one axis."""

    unit: Integers
    """(pairs,) ascending"""
    number: Integers
    """(pairs,) the number of the label"""
    labels: tuple[str, ...]
    fixed: bool
    """whether the labels come from edges, so that they are the same for all data"""


@dataclass(frozen=True, slots=True)
class Slicing:
    """A slicing of one evaluation: who belongs to which slice."""

    name: str
    of: Of
    """what a slice is a part of: the lists, or the rows of the truth"""
    keys: tuple[tuple[str, ...], ...]
    """(slices,) the label on each axis"""
    members: tuple[Integers, ...]
    """(slices,) the numbers of lists or of rows of the truth, ascending"""
    orders: tuple[tuple[str, ...] | None, ...]
    """(axes,) all labels in their order where they come from edges, else None"""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the slices."""
        return tuple(map(label, self.keys))


def label(key: tuple[str, ...]) -> str:
    """The name of a slice, from its label on each axis."""
    return ", ".join(key)


def parse(given: object) -> tuple[Axis, ...]:
    """One slicing: a text, an `Axis`, or several of these, which are crossed.

    >>> parse("gender+price:10,50")
    (Axis(name='gender', parts=None, edges=()), Axis(name='price', parts=None, edges=(10.0, 50.0)))
    """
    if isinstance(given, Axis):
        return (given,)
    if isinstance(given, str):
        return tuple(_axis(word) for word in re.split(r"\+(?!\d)", given))
    if isinstance(given, Iterable):
        axes = tuple(axis for one in given for axis in parse(one))
        if axes:
            return axes
    raise BadName(f"{given!r} is no slicing.", _EXAMPLE)


def parse_all(given: object) -> list[tuple[Axis, ...]]:
    """Several slicings; what is nested is crossed."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    every: Iterable[object] = given if several else () if given is None else (given,)  # type: ignore[assignment]
    found = [parse(one) for one in every]
    names = [named(axes) for axes in found]
    for name in names:
        if names.count(name) > 1:
            raise BadName(f"the slices {name!r} were asked for twice.", "each once.")
    return found


def named(axes: Sequence[Axis]) -> str:
    """A slicing as `parse` reads it."""
    return "+".join(map(str, axes))


def kept_columns(slicings: Sequence[Sequence[Axis]]) -> tuple[str, ...]:
    """The columns of predictions and truth that may be needed."""
    names = [axis.name for axes in slicings for axis in axes]
    bare = [name.removeprefix("truth.").removeprefix("predictions.") for name in names]
    return tuple(dict.fromkeys([*names, *bare]))


def _axis(word: str) -> Axis:
    found = _ABOUT.fullmatch(word.strip())
    if found is None:
        raise BadName(f"{word!r} is no slicing.", _EXAMPLE)
    name, cut = found["name"].strip(), found["cut"]
    if cut is None:
        return Axis(name)
    if cut.isdecimal():
        if not 2 <= int(cut) <= MOST_PARTS:
            raise BadName(
                f"{word!r} asks for {cut} parts.",
                f"from 2 to {MOST_PARTS}; a single edge is written with a comma: {name}:{cut},",
            )
        return Axis(name, int(cut))
    return Axis(name, edges=tuple(_edge(edge.strip(), word) for edge in cut.split(",") if edge))


def _edge(text: str, word: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise BadName(f"{word!r} has the edge {text!r}.", "numbers, or dates.") from error
    return text


def quantiles(values: Floats, parts: int, name: str) -> Floats:
    """Where parts of about equal size begin; equal values stay together.

    There are fewer edges than asked for where many values are equal.
    """
    ordered = np.sort(values)
    above = ordered[ordered > ordered[0]] if len(ordered) else ordered
    if not len(above):
        known = f"all {len(values):,} values are {_number(ordered[0])}" if len(values) else ""
        raise BadTable(
            f"{name!r} cannot be cut into {parts} parts: {known or 'there is no value'}.",
            "at least two different values.",
        )
    wanted = np.arange(1, parts) * len(ordered) / parts
    at = ordered[wanted.astype(int)]
    before = np.searchsorted(ordered, at)
    after = np.searchsorted(ordered, at, side="right")
    later = (wanted - before > after - wanted) & (after < len(ordered))
    at = np.where(later, ordered[np.minimum(after, len(ordered) - 1)], at)
    return np.unique(np.maximum(at, above[0]))


def ranges(shown: Sequence[str]) -> tuple[str, ...]:
    """The parts between edges, in words; an edge belongs to the part above it."""
    between = [f"{low} to < {high}" for low, high in pairwise(shown)]
    return (f"< {shown[0]}", *between, f">= {shown[-1]}")


def shown(edges: Iterable[float]) -> list[str]:
    """Edges as people read them: short where that tells them apart."""
    every = list(edges)
    short = [_number(edge, ".4g") for edge in every]
    return short if len(set(short)) == len(short) else [_number(edge) for edge in every]


def _number(value: float, form: str = "") -> str:
    whole = math.isfinite(value) and float(value).is_integer()
    return str(int(value)) if whole else format(float(value), form)


def crossed(name: str, of: Of, axes: Sequence[Coded]) -> Slicing:
    """The slices of all axes together. A single axis with edges keeps its empty parts."""
    unit, code = axes[0].unit, axes[0].number
    for axis in axes[1:]:
        unit, left, right = _joined(unit, axis.unit)
        code = code[left] * len(axis.labels) + axis.number[right]
    order = np.argsort(code, kind="stable")
    starts = run_starts(code[order])
    sizes = [len(axis.labels) for axis in axes]
    found: dict[tuple[str, ...], Integers] = {}
    for number, mine in zip(code[order][starts], np.split(unit[order], starts[1:]), strict=False):
        at = np.unravel_index(number, sizes)
        found[tuple(axis.labels[n] for axis, n in zip(axes, at, strict=True))] = mine
    if len(axes) == 1 and axes[0].fixed:
        found = {(text,): unit[:0] for text in axes[0].labels[:-1]} | found
    orders = tuple(axis.labels if axis.fixed else None for axis in axes)
    keys = in_order(found, orders)
    return Slicing(name, of, tuple(keys), tuple(found[key] for key in keys), orders)


def _joined(one: Integers, other: Integers) -> tuple[Integers, Integers, Integers]:
    """All pairs of places with the same unit: the unit, and both places. Both sides ascend."""
    size = max(int(one.max(initial=-1)), int(other.max(initial=-1))) + 1
    times = np.bincount(other, minlength=size)
    start = np.cumsum(times) - times
    left = np.repeat(np.arange(len(one)), times[one])
    nth = np.arange(len(left)) - np.repeat(np.cumsum(times[one]) - times[one], times[one])
    return one[left], left, start[one[left]] + nth


def in_order(
    keys: Iterable[tuple[str, ...]], orders: Sequence[tuple[str, ...] | None]
) -> list[tuple[str, ...]]:
    """Slices in the order of their edges, or of their values: numbers by size, no value last."""
    every = list(keys)
    known = [
        _by_value(sorted({key[place] for key in every})) if order is None else order
        for place, order in enumerate(orders)
    ]
    at = [{text: n for n, text in enumerate(order)} for order in known]
    return sorted(every, key=lambda key: tuple(at[n][text] for n, text in enumerate(key)))


def _by_value(texts: Sequence[str]) -> list[str]:
    there = [text for text in texts if text != NO_VALUE]
    try:
        there.sort(key=float)
    except ValueError:
        there.sort()
    return [*there, *([NO_VALUE] if NO_VALUE in texts else [])]
