"""The axes of slices: how to write them, where their values come from, and which list or row is in
which slice.

`gender` makes a slice of each value of a column, `price:10,50` cuts at edges, `activity:4` makes
four slices of equal size, and `gender+activity:2` crosses both. Values come from the tables of
users and items, the training data, the truth or the predictions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct, run_starts
from rectitude.data.ids import Column, number_ids, occurs_in
from rectitude.data.table import ATTRIBUTE, Inputs, Table
from rectitude.data.times import convert_times, ticks_by
from rectitude.errors import BadArgument, BadName, BadTable, MissingNeed, UnknownName, unknown_name
from rectitude.evaluation.restrict import make_table
from rectitude.evaluation.restrict import name_cells as names_of
from rectitude.judge.align import Aligned
from rectitude.judge.attributes import Attributes, Memberships
from rectitude.parallel import Once
from rectitude.splits.unknown import SLICES

Of = Literal["lists", "rows"]
NO_VALUE = "no value"
NOT_IN_TRAIN = "not in train"
MOST_VALUES = 50
"""the largest number of distinct values that each get a slice; a column with more must be cut"""
MOST_PARTS = 100
MOST_CROSSED = 8
"""the largest number of attributes whose slices are crossed"""
_ABOUT = re.compile(r"(?P<name>.+?)(?::(?P<cut>[-+]?\d[-+0-9.,:eTZ ]*))?")
_EXAMPLE = "a name such as gender, activity:4, price:10,50,100 or gender+activity:2."


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute to slice by: its name, and how its values are cut, if they are."""

    name: str
    parts: int | None = None
    """cut into this many slices of about equal size"""
    edges: tuple[float | str, ...] = ()
    """where slices begin: numbers, or dates as text"""
    found: tuple[float, ...] = ()
    """the same as numbers, if they depend on values that a part of the tables lacks"""

    def __str__(self) -> str:
        cut = ",".join(e if isinstance(e, str) else _format_number(e) for e in self.edges)
        cut += "," if len(self.edges) == 1 and not isinstance(self.edges[0], str) else ""
        return self.name + (f":{self.parts or cut}" if self.parts or cut else "")


@dataclass(frozen=True, slots=True)
class CodedAxis:
    """The labels of each list, or of each row of the truth, on one axis."""

    unit: Integers
    """(pairs,) the list or row, ascending"""
    number: Integers
    """(pairs,) the number of the label"""
    labels: tuple[str, ...]
    fixed: bool
    """whether the labels come from edges and so do not depend on the data"""


@dataclass(frozen=True, slots=True)
class Slicing:
    """A slicing of one evaluation: which lists or rows are in which slice."""

    name: str
    of: Of
    """what a slice is a subset of: the lists, or the rows of the truth"""
    keys: tuple[tuple[str, ...], ...]
    """(slices,) the label on each axis"""
    members: tuple[Integers, ...]
    """(slices,) the numbers of lists or of rows of the truth, ascending"""
    orders: tuple[tuple[str, ...] | None, ...]
    """(axes,) all labels in order if they come from edges, else None"""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the slices."""
        return tuple(map(label, self.keys))


def label(key: tuple[str, ...]) -> str:
    """Return the name of a slice, from its label on each axis."""
    return ", ".join(key)


def parse_slicing(given: object) -> tuple[Axis, ...]:
    """Parse one slicing: text, an `Axis`, or several of these, which are crossed.

    >>> parse_slicing("gender+price:10,50")
    (Axis(name='gender', parts=None, edges=()), Axis(name='price', parts=None, edges=(10.0, 50.0)))
    """
    axes: tuple[Axis, ...] = ()
    if isinstance(given, Axis):
        axes = (given,)
    elif isinstance(given, str):
        axes = tuple(_parse_axis(word) for word in re.split(r"\+(?!\d)", given))
    elif isinstance(given, Iterable):
        axes = tuple(axis for element in given for axis in parse_slicing(element))
    if not axes:
        raise BadName(f"{given!r} is not a valid slice specification.", _EXAMPLE)
    if len(axes) > MOST_CROSSED:
        raise BadName(
            f"the slices {name_axes(axes[:3])}+... cross {len(axes)} attributes.",
            f"at most {MOST_CROSSED}; more leave hardly a list in each slice.",
        )
    return axes


def parse_slicings(given: object) -> list[tuple[Axis, ...]]:
    """Parse several ways to slice. Nested ones are crossed."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    requests: Iterable[object] = given if several else () if given is None else (given,)  # type: ignore[assignment]
    slicings = [parse_slicing(slicing) for slicing in requests]
    names = [name_axes(axes) for axes in slicings]
    for name in names:
        if names.count(name) > 1:
            raise BadName(f"the slices {name!r} are requested twice.", "each kind of slice once.")
    return slicings


def name_axes(axes: Sequence[Axis]) -> str:
    """Return the name of a slicing, which `parse_slicing` can read."""
    return "+".join(map(str, axes))


def columns_of_axes(slicings: Sequence[Sequence[Axis]]) -> tuple[str, ...]:
    """Return the columns of predictions and truth that slices may need."""
    names = [axis.name for axes in slicings for axis in axes]
    bare = [name.removeprefix("truth.").removeprefix("predictions.") for name in names]
    return tuple(dict.fromkeys([*names, *bare]))


def _parse_axis(word: str) -> Axis:
    match = _ABOUT.fullmatch(word.strip())
    if match is None:
        raise BadName(f"{word!r} is not a valid slice specification.", _EXAMPLE)
    name, cut = match["name"].strip(), match["cut"]
    if cut is None:
        return Axis(name)
    if cut.isdecimal():
        if not 2 <= int(cut) <= MOST_PARTS:
            raise BadName(
                f"{word!r} sets the number of slices to {cut}.",
                f"a number from 2 to {MOST_PARTS}.",
                f"to cut at the single edge {cut}, add a comma: {name}:{cut},",
            )
        return Axis(name, int(cut))
    return Axis(
        name, edges=tuple(_parse_edge(edge.strip(), word) for edge in cut.split(",") if edge)
    )


def _parse_edge(text: str, word: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        raise BadName(f"{word!r} has the edge {text!r}.", "a number or a date.") from error
    return text


def quantiles(values: Floats, parts: int, name: str, counts: Integers | None = None) -> Floats:
    """Return the edges of slices of about equal size. Equal values stay in the same slice.

    `counts` says how often each value occurs, if each is given once. There are fewer edges than
    requested if many values are equal.
    """
    ordered, numbers = np.unique(values, return_counts=True)
    if counts is not None:
        numbers = counts[np.argsort(values)]
    after = np.cumsum(numbers)
    size = int(after[-1]) if len(after) else 0
    if len(ordered) < 2:
        reason = f"all {size:,} values are {_format_number(ordered[0])}" if size else ""
        raise BadTable(
            f"{name!r} cannot be cut into {parts} slices: {reason or 'it has no values'}.",
            "at least two different values.",
        )
    position = np.arange(1, parts) * size / parts
    edge = np.searchsorted(after, position.astype(int), side="right")
    before = after[edge] - numbers[edge]
    later = (position - before > after[edge] - position) & (after[edge] < size)
    edge = np.where(later, np.minimum(edge + 1, len(ordered) - 1), edge)
    edges: Floats = ordered[np.unique(np.maximum(edge, 1))]
    return edges


def ranges(edges: Sequence[str]) -> tuple[str, ...]:
    """Return the labels of the ranges between edges; an edge belongs to the range above it."""
    between = [f"{low} to < {high}" for low, high in pairwise(edges)]
    return (f"< {edges[0]}", *between, f">= {edges[-1]}")


def format_edges(edges: Iterable[float]) -> list[str]:
    """Format edges for display, with four digits if they still differ."""
    numbers = list(edges)
    short = [_format_number(edge, ".4g") for edge in numbers]
    return short if len(set(short)) == len(short) else [_format_number(edge) for edge in numbers]


def _format_number(value: float, form: str = "") -> str:
    whole = math.isfinite(value) and float(value).is_integer()
    return str(int(value)) if whole else format(float(value), form)


def cross_axes(name: str, of: Of, axes: Sequence[CodedAxis]) -> Slicing:
    """Return the slices of all axes together. A single axis with edges keeps its empty slices."""
    unit, code = axes[0].unit, axes[0].number
    labels = [(text,) for text in axes[0].labels]
    for axis in axes[1:]:
        unit, left, right = _join_units(unit, axis.unit)
        pairs = code[left] * len(axis.labels) + axis.number[right]
        # Only those that occur are numbered: the product of many axes has no 64-bit number.
        used, code = np.unique(pairs, return_inverse=True)
        numbers = zip(*np.divmod(used, len(axis.labels)), strict=True)
        labels = [(*labels[before], axis.labels[number]) for before, number in numbers]
    order = np.argsort(code, kind="stable")
    starts = run_starts(code[order])
    members: dict[tuple[str, ...], Integers] = {}
    for number, units in zip(code[order][starts], np.split(unit[order], starts[1:]), strict=False):
        members[labels[number]] = units
    if len(axes) == 1 and axes[0].fixed:
        members = {(text,): unit[:0] for text in axes[0].labels[:-1]} | members
    orders = tuple(axis.labels if axis.fixed else None for axis in axes)
    keys = in_order(members, orders)
    return Slicing(name, of, tuple(keys), tuple(members[key] for key in keys), orders)


def _join_units(left_units: Integers, right_units: Integers) -> tuple[Integers, Integers, Integers]:
    """Return all pairs of positions with the same unit: the unit, and the position on each side.
    Both sides are ascending."""
    size = max(int(left_units.max(initial=-1)), int(right_units.max(initial=-1))) + 1
    counts = np.bincount(right_units, minlength=size)
    start = np.cumsum(counts) - counts
    left = np.repeat(np.arange(len(left_units)), counts[left_units])
    nth = np.arange(len(left)) - np.repeat(
        np.cumsum(counts[left_units]) - counts[left_units], counts[left_units]
    )
    return left_units[left], left, start[left_units[left]] + nth


def in_order(
    keys: Iterable[tuple[str, ...]], orders: Sequence[tuple[str, ...] | None]
) -> list[tuple[str, ...]]:
    """Sort slices by their edges, or by their values: numbers by size, missing values last."""
    slices = list(keys)
    label_orders = [
        _sort_labels(sorted({key[axis] for key in slices})) if order is None else order
        for axis, order in enumerate(orders)
    ]
    positions = [{text: n for n, text in enumerate(order)} for order in label_orders]
    return sorted(slices, key=lambda key: tuple(positions[n][text] for n, text in enumerate(key)))


def _sort_labels(texts: Sequence[str]) -> list[str]:
    values = [text for text in texts if text != NO_VALUE]
    try:
        values.sort(key=float)
    except ValueError:
        values.sort()
    return [*values, *([NO_VALUE] if NO_VALUE in texts else [])]


_MICROSECONDS = 10**6
_UNIX = 10**8
"""numbers below this many seconds (in the year 1973) may not be Unix times"""


def label_units(axis: Axis, about: Attributes, column: str, entry: Integers) -> CodedAxis:
    """Label each unit by the column value of its entry."""
    if not (axis.parts or axis.edges):
        return _code_by_value(axis, about.memberships(column), entry, about.size)
    if about.table is None:
        return cut_by(axis, about.values(column), entry)  # raises: the column is missing
    table, dated = _dates_to_numbers(axis, about.table, column)
    values = replace(about, table=table, kept=Once()).values(column)
    return cut_by(axis, values, entry, dated=dated)


def _dates_to_numbers(axis: Axis, table: Table, column: str) -> tuple[Table, bool]:
    """Return the table with dates as microseconds, and whether the column contained dates."""
    values = table.frame[column]
    if not (values.dtype.is_temporal() or any(isinstance(edge, str) for edge in axis.edges)):
        return table, False
    present = values.is_not_null()
    moments = convert_times(values.filter(present), table.source)
    numbers = np.full(len(values), np.nan)
    numbers[present.to_numpy()] = moments.to_physical().cast(pl.Float64).to_numpy()
    frame = table.frame.with_columns(pl.Series(column, numbers))
    return replace(table, frame=frame), moments.dtype.is_temporal()


def cut_by(
    axis: Axis, values: Floats, entry: Integers, missing: str = NO_VALUE, dated: bool = False
) -> CodedAxis:
    """Label each unit by the value of its entry, cut at edges or into slices with an equal number
    of entries."""
    present = values[~np.isnan(values)]
    edges = np.array(axis.found) if axis.found else find_edges(axis, present, dated)
    if axis.parts:
        names = _format_labels(axis, edges, dated)
    else:
        names = [e if isinstance(e, str) else format_edges([e])[0] for e in axis.edges]
    if np.any(edges[1:] <= edges[:-1]):
        raise BadName(f"the edges of {str(axis)!r} are not ascending.", "edges from low to high.")
    unit_values = values[entry]
    number = np.searchsorted(edges, unit_values, side="right")
    number[np.isnan(unit_values)] = len(edges) + 1
    return CodedAxis(np.arange(len(unit_values)), number, (*ranges(names), missing), fixed=True)


def find_edges(axis: Axis, present: Floats, dated: bool, counts: Integers | None = None) -> Floats:
    """Return where the slices of an axis begin, by all values that are present."""
    if axis.parts:
        return quantiles(present, axis.parts, axis.name, counts)
    second = _MICROSECONDS if dated else ticks_by(float(present.max(initial=0)))
    return np.array([_to_ticks(edge, second) for edge in axis.edges])


def _format_labels(axis: Axis, edges: Floats, dated: bool) -> list[str]:
    """Format edges for display; Unix times are shown as dates."""
    second = _MICROSECONDS if dated else ticks_by(float(edges.max()))
    if dated or (axis.name == "time" and edges.min() >= _UNIX * second):
        return [_format_day(edge) for edge in (edges * (_MICROSECONDS / second)).tolist()]
    return format_edges(edges.tolist())


def _to_ticks(edge: float | str, second: int) -> float:
    if not isinstance(edge, str):
        return edge
    when = datetime.fromisoformat(edge)
    return when.replace(tzinfo=when.tzinfo or UTC).timestamp() * second


def _format_day(microseconds: float) -> str:
    when = datetime.fromtimestamp(microseconds / _MICROSECONDS, tz=UTC).replace(tzinfo=None)
    return when.isoformat(sep=" ").removesuffix(" 00:00:00")


def _code_by_value(axis: Axis, memberships: Memberships, entry: Integers, size: int) -> CodedAxis:
    """Make a slice of every value. A unit with several values is in several slices; a unit without
    one is in the slice for missing values."""
    if not len(memberships.number):
        zeros = np.zeros(len(entry), np.int64)
        return CodedAxis(np.arange(len(entry)), zeros, (NO_VALUE,), fixed=False)
    counts = np.bincount(memberships.entry, minlength=size)
    start = np.cumsum(counts) - counts
    unit_counts = counts[entry]
    length = np.maximum(unit_counts, 1)
    unit = np.repeat(np.arange(len(entry)), length)
    nth = np.arange(len(unit)) - np.repeat(np.cumsum(length) - length, length)
    position = np.minimum(start[entry][unit] + nth, len(memberships.number) - 1)
    number = np.where(unit_counts[unit] > 0, memberships.number[position], len(memberships.names))
    many = len(distinct(number))
    if many > MOST_VALUES:
        raise BadArgument(
            f"{axis.name!r} has {many:,} different values.",
            f"at most {MOST_VALUES}.",
            f"if they are numbers, cut them into groups: {axis.name}:4 or {axis.name}:10,50,100.",
        )
    return CodedAxis(
        unit, number, (*map(_format_value, memberships.names.to_list()), NO_VALUE), fixed=False
    )


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_edges([value])[0] if isinstance(value, float) else str(value)


OWN = {"known": "row", "activity": "user", "popularity": "item", "time": "row"}
"""built-in axes that need no column, and what each describes"""
_DESCRIBES = {"users": "user", "items": "item", "truth": "list", "predictions": "list"}
"""what the rows of a table describe"""
_ROLES = ("grade", "timestamp", "score", "rank")
"""columns of predictions and truth that have a role but can also define slices"""
_DEFAULT_PARTS = 4


class _Origin(NamedTuple):
    """Where the values of an axis come from, and what has them: a user, an item, a list or a
    row."""

    kind: str
    table: str = ""
    column: str = ""


class _Units(NamedTuple):
    """What is sliced, and the inputs that give its users, items and lists."""

    of: Of
    sources: Inputs
    sides: Aligned


def require_axes(slicings: Sequence[Sequence[Axis]], sources: Inputs) -> None:
    """Raise an error for axes that cannot be used, before anything is computed."""
    for axis in [axis for axes in slicings for axis in axes]:
        _find_origin(axis, sources)
        if axis.name in ("known", "activity", "popularity"):
            train_of(sources)
        if axis.name == "activity" and _has_targets(sources):
            raise MissingNeed(
                "activity is counted per user, and rows of logits have no users.",
                "popularity, or a column of users= with one row per row of logits.",
            )


def slicing_of(axes: Sequence[Axis], sources: Inputs, sides: Aligned) -> Slicing:
    """Return which list or row is in which slice. Slices are subsets of the rows of the truth if
    any axis describes rows or items; logits have one target per list, so these are lists too."""
    origins = [_find_origin(axis, sources) for axis in axes]
    of_rows = any(origin.kind in ("item", "row") for origin in origins)
    of: Of = "rows" if of_rows and not _has_targets(sources) else "lists"
    units = _Units(of, sources, sides)
    coded = [_code_units(axis, origin, units) for axis, origin in zip(axes, origins, strict=True)]
    return cross_axes(name_axes(axes), of, coded)


def _find_origin(axis: Axis, sources: Inputs) -> _Origin:
    if axis.name in OWN:
        return _Origin(OWN[axis.name], column=axis.name)
    side, dot, column = axis.name.partition(".")
    if dot and side in _DESCRIBES and column in _usable_columns(sources, side):
        return _Origin("row" if side == "truth" else _DESCRIBES[side], side, column)
    having = [side for side in _DESCRIBES if axis.name in _usable_columns(sources, side)]
    if having == ["truth", "predictions"]:
        having = ["truth"]
    if not having:
        raise _unknown_axis(axis.name, sources)
    if len(having) > 1:
        raise BadArgument(
            f"{axis.name!r} is a column of {' and of '.join(having)}.",
            f"the name of one of them: {' or '.join(f'{side}.{axis.name}' for side in having)}.",
        )
    return _Origin(_DESCRIBES[having[0]], having[0], axis.name)


def _usable_columns(sources: Inputs, side: str) -> dict[str, str]:
    """Return the columns of a table that can define slices, with their names in the frame."""
    table: Table | None = getattr(sources, side)
    if table is None:
        return {}
    if side in ("users", "items"):
        key = "list" if side == "users" else "item"
        return {name: name for name in table.frame.columns if name != key}
    kept = {n.removeprefix(ATTRIBUTE): n for n in table.frame.columns if n.startswith(ATTRIBUTE)}
    with_role = {name: role for role, name in table.columns.items() if name and role in _ROLES}
    return with_role | kept


def _unknown_axis(name: str, sources: Inputs) -> UnknownName:
    columns = [c for side in _DESCRIBES for c in _usable_columns(sources, side)]
    unused = [c for table in (sources.truth, sources.predictions) for c in table.left]
    note = "use a column of users=, items=, the truth or the predictions, or one of " + (
        ", ".join(OWN) + "."
    )
    return unknown_name("attribute", name, {*OWN, *columns, *unused}, "this evaluation", note)


def _code_units(axis: Axis, origin: _Origin, units: _Units) -> CodedAxis:
    if axis.name == "known":
        number = _flag_known(units.sources)
        number = number if units.of == "rows" else number[_rows_of_targets(units)]
        return CodedAxis(np.arange(len(number)), number, (*SLICES, NO_VALUE), fixed=True)
    axis = with_parts(axis)
    if axis.name in ("activity", "popularity"):
        return _count_train(axis, units)
    if origin.kind == "row":
        return _code_rows(axis, origin, units)
    table = _find_table(origin, units.sources)
    key = "item" if origin.kind == "item" else "list"
    about = Column.of(table, key)
    entry, row, size = entries(_ids_of_units(origin.kind, units), about, origin.kind)
    attributes = Attributes("item" if key == "item" else "user", table, row, size)
    if origin.kind == "list":
        _require_single(attributes, origin)
    return label_units(axis, attributes, origin.column, entry)


def with_parts(axis: Axis) -> Axis:
    """Return a built-in axis with the number of its slices, if nothing says how it is cut."""
    whole = axis.parts or axis.edges or axis.name == "known"
    return axis if whole or axis.name not in OWN else replace(axis, parts=_DEFAULT_PARTS)


def depends_on_all(axis: Axis) -> bool:
    """Return whether it depends on all values of an axis where it is cut."""
    return bool(with_parts(axis).parts) or any(isinstance(edge, str) for edge in axis.edges)


def table_of(axis: Axis, sources: Inputs) -> str:
    """Return the input with the values of an axis."""
    if axis.name in ("known", "activity", "popularity"):
        return "train"
    return _find_origin(axis, sources).table or "truth"


def values_to_cut(axis: Axis, sources: Inputs) -> tuple[Floats, bool]:
    """Return the values that decide where an axis is cut, one for each user, item, list or row that
    has one, and whether they are dates."""
    if axis.name in ("activity", "popularity"):
        key = "list" if axis.name == "activity" else "item"
        counts = train_of(sources).frame[key].unique_counts()
        return counts.to_numpy().astype(np.float64), False
    origin = _find_origin(axis, sources)
    if origin.kind == "row":
        about = _attributes_of_rows(axis, origin, sources)
    else:
        table = _find_table(origin, sources)
        key = "item" if origin.kind == "item" else "list"
        row, _, size = entries(Column.of(table, key), Column.of(table, key), origin.kind)
        about = Attributes("item" if key == "item" else "user", table, row, size)
    if about.table is None:
        raise ValueError("attributes of a table without the table")
    dates, dated = _dates_to_numbers(axis, about.table, origin.column)
    values = replace(about, table=dates, kept=Once()).values(origin.column)
    return values[~np.isnan(values)], dated


def _find_table(origin: _Origin, sources: Inputs) -> Table:
    """Return the table, with the column under the name of the axis."""
    table: Table = getattr(sources, origin.table)
    name = _usable_columns(sources, origin.table)[origin.column]
    if origin.kind != "list":
        return table
    if "list" not in table.frame.columns:
        raise MissingNeed(
            f"{origin.column!r} is a column of {origin.table}, which has no list keys.",
            f"{origin.table} with the column {sources.key!r}.",
        )
    columns = {"list": table.frame["list"], origin.column: table.frame[name]}
    return replace(make_table(columns, table.source), text=table.text)


def _ids_of_units(kind: str, units: _Units) -> Column:
    """Return the user, item or list of every list, or of every row of the truth."""
    sources, sides = units.sources, units.sides
    if units.of == "lists" and kind == "item":
        targets = sources.truth.frame["item"].gather(_rows_of_targets(units))
        return Column(targets, "the targets")
    if units.of == "lists":
        ids = sides.keys if kind == "list" else sides.users.gather(sides.owners)
        return Column(ids, "the lists")
    truth = sources.truth
    name = {"user": owner_of(sources), "item": "item", "list": "list"}[kind]
    if name not in truth.frame.columns:
        raise MissingNeed(
            "the truth does not say which list a row belongs to.",
            f"a truth with the column {sources.key!r}, to cross lists and items.",
        )
    return Column.of(truth, name)


def _has_targets(sources: Inputs) -> bool:
    """Return whether the predictions are logits, with one target per list."""
    return sources.dense is not None and sources.dense.kind == "logits"


def _rows_of_targets(units: _Units) -> Integers:
    """Return (lists,) the row of the truth with the target of each list."""
    keys, truth = Column(units.sides.keys, "the lists"), units.sources.truth
    key, row, size = entries(keys, Column.of(truth, "list"), "list")
    row_of_key = np.zeros(size, np.int64)
    row_of_key[row] = np.arange(len(row))
    rows: Integers = row_of_key[key]
    return rows


def entries(units: Column, table: Column, kind: str) -> tuple[Integers, Integers, int]:
    """Return the entry number of each unit and of each table row, and the number of entries."""
    numbering = number_ids({"units": units, "table": table}, kind)
    return numbering.numbers["units"], numbering.numbers["table"], len(numbering)


def _require_single(about: Attributes, origin: _Origin) -> None:
    column = origin.column
    entry = about.memberships(column).entry
    several = distinct(entry[1:][entry[1:] == entry[:-1]])
    if len(several):
        raise BadTable(
            f"{len(several):,} lists have several values of {column!r}.",
            "one value per list.",
            f"use truth.{column} to slice the rows of the truth."
            if origin.table == "truth"
            else "",
        )


def _code_rows(axis: Axis, origin: _Origin, units: _Units) -> CodedAxis:
    """Label rows by an attribute that each row of the truth has."""
    about = _attributes_of_rows(axis, origin, units.sources)
    return label_units(axis, about, origin.column, np.arange(about.size))


def _attributes_of_rows(axis: Axis, origin: _Origin, sources: Inputs) -> Attributes:
    """Return an attribute of the rows of the truth, as if each row was a user."""
    truth = sources.truth
    name = _usable_columns(sources, "truth").get(origin.column)
    if name is None and "timestamp" in truth.frame.columns:
        name = "timestamp"
    if name is None:
        raise MissingNeed(
            "the truth has no timestamps.",
            "a truth with one column of timestamps.",
            "name the column: columns={'timestamp': ...} (--columns timestamp=...).",
        )
    values = truth.frame[name]
    if axis.name == "time":
        values = convert_times(values, truth.source)
    rows = np.arange(len(values))
    table = make_table({"list": rows, origin.column: values}, truth.source)
    return Attributes("user", table, rows, len(rows))


def _count_train(axis: Axis, units: _Units) -> CodedAxis:
    """Label units by the number of training rows of their user, or of their item."""
    sources, train = units.sources, train_of(units.sources)
    kind, key = ("user", "list") if axis.name == "activity" else ("item", "item")
    has_users = any("user" in t.frame.columns for t in (sources.predictions, sources.truth))
    if kind == "user" and sources.key != "user" and not has_users:
        raise MissingNeed(
            f"activity is counted per user, but the user of each {sources.key!r} is unknown.",
            "a user column next to the list key.",
        )
    table, counts = Column.of(train, key), None
    if kind == "item" and sources.known_items is not None:
        table, counts = Column(sources.known_items, train.source, train.text), sources.known_rows
    entry, row, size = entries(_ids_of_units(kind, units), table, kind)
    rows = np.bincount(row, counts, minlength=size).astype(np.float64)
    rows[rows == 0] = np.nan
    return cut_by(axis, rows, entry, NOT_IN_TRAIN)


def _flag_known(sources: Inputs) -> Integers:
    """Return whether the user and the item are in the training data, as a code for each row of the
    truth."""
    truth, train = sources.truth, train_of(sources)
    user = np.zeros(truth.frame.height, bool)  # rows of logits have no users
    if not _has_targets(sources):
        user = ~is_in((truth, owner_of(sources)), (train, "list"), "user")
    known = Column.of(train, "item")
    if sources.known_items is not None:
        known = Column(sources.known_items, train.source, train.text)
    item = ~occurs_in(Column.of(truth, "item"), known, "item")
    code: Integers = user + 2 * item.astype(np.int64)
    return code


def is_in(left: tuple[Table, str], right: tuple[Table, str], what: str) -> Flags:
    """Return whether each id in a column of one table also occurs in a column of another,
    (rows,)."""
    return occurs_in(Column.of(*left), Column.of(*right), what)


def owner_of(sources: Inputs) -> str:
    """Return the column of the truth that contains users."""
    return "user" if "user" in sources.truth.frame.columns else "list"


def train_of(sources: Inputs) -> Table:
    """Return the training data as a table."""
    if sources.train is not None:
        return sources.train
    if _has_targets(sources):
        return _require_train_targets(sources)
    cells, dense = sources.trained_cells, sources.dense
    if cells is None or dense is None:
        raise MissingNeed(
            "train= is missing, so known users and items cannot be determined.",
            "train= with the training data (as a table if candidates= is given).",
        )
    ids = names_of(dense, *cells.pairs())
    return make_table({"list": ids.get("user", ids["list"]), "item": ids["item"]}, "train")


def _require_train_targets(sources: Inputs) -> Table:
    if sources.train_targets is None:
        raise MissingNeed(
            "train= is missing, so it is unknown how popular each target is.",
            "train= with the targets of the training data: an array of class numbers, or a table "
            "of users and items.",
            "on the command line: --train-targets FILE.",
        )
    return sources.train_targets
