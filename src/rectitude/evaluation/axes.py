"""What slices go by: axes as people write them, where their values come from, and which list or row
belongs to which slice.

`gender` parts by the values of a column, `price:10,50` by edges, `activity:4` into four parts of
equal size, `gender+activity:2` by both at once. Values stand in tables of users and items, in
training, or in the truth.
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
from rectitude.data.ids import Column, among, numbered
from rectitude.data.table import ATTRIBUTE, Inputs, Table
from rectitude.data.times import ticks_by, times
from rectitude.errors import BadName, BadTable, MissingNeed, UnknownName, unknown_name
from rectitude.evaluation.restrict import named as names_of
from rectitude.evaluation.restrict import table_made
from rectitude.judge.align import Aligned
from rectitude.judge.attributes import Attributes, Memberships
from rectitude.parallel import Once
from rectitude.splits.unknown import SLICES

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
class CodedAxis:
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


def parse_slicing(given: object) -> tuple[Axis, ...]:
    """One slicing: a text, an `Axis`, or several of these, which are crossed.

    >>> parse("gender+price:10,50")
    (Axis(name='gender', parts=None, edges=()), Axis(name='price', parts=None, edges=(10.0, 50.0)))
    """
    if isinstance(given, Axis):
        return (given,)
    if isinstance(given, str):
        return tuple(_axis(word) for word in re.split(r"\+(?!\d)", given))
    if isinstance(given, Iterable):
        axes = tuple(axis for one in given for axis in parse_slicing(one))
        if axes:
            return axes
    raise BadName(f"{given!r} is no slicing.", _EXAMPLE)


def parse_slicings(given: object) -> list[tuple[Axis, ...]]:
    """Several slicings; what is nested is crossed."""
    several = isinstance(given, Iterable) and not isinstance(given, str)
    every: Iterable[object] = given if several else () if given is None else (given,)  # type: ignore[assignment]
    found = [parse_slicing(one) for one in every]
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


def crossed(name: str, of: Of, axes: Sequence[CodedAxis]) -> Slicing:
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


_MICROSECONDS = 10**6
_UNIX = 10**8
"""numbers below so many seconds (of 1973) may be something else than Unix times"""


def labelled(axis: Axis, about: Attributes, column: str, entry: Integers) -> CodedAxis:
    """The labels of units, from the column of the entry that each belongs to."""
    if not (axis.parts or axis.edges):
        return _by_values(axis, about.memberships(column), entry, about.size)
    if about.table is None:
        return cut_by(axis, about.values(column), entry)  # says what is missing
    table, dated = _in_numbers(axis, about.table, column)
    values = replace(about, table=table, kept=Once()).values(column)
    return cut_by(axis, values, entry, dated=dated)


def _in_numbers(axis: Axis, table: Table, column: str) -> tuple[Table, bool]:
    """The table with dates as microseconds, and whether the column held any."""
    values = table.frame[column]
    if not (values.dtype.is_temporal() or any(isinstance(edge, str) for edge in axis.edges)):
        return table, False
    there = values.is_not_null()
    read = times(values.filter(there), table.source)
    numbers = np.full(len(values), np.nan)
    numbers[there.to_numpy()] = read.to_physical().cast(pl.Float64).to_numpy()
    frame = table.frame.with_columns(pl.Series(column, numbers))
    return replace(table, frame=frame), read.dtype.is_temporal()


def cut_by(
    axis: Axis, values: Floats, entry: Integers, missing: str = NO_VALUE, dated: bool = False
) -> CodedAxis:
    """The labels of units by the value of the entry that each belongs to, cut by edges or into
    parts of as many entries."""
    there = values[~np.isnan(values)]
    if axis.parts:
        edges = quantiles(there, axis.parts, axis.name)
        words = _words(axis, edges, dated)
    else:
        second = _MICROSECONDS if dated else ticks_by(float(there.max(initial=0)))
        edges = np.array([_moment(edge, second) for edge in axis.edges])
        words = [e if isinstance(e, str) else shown([e])[0] for e in axis.edges]
    if np.any(edges[1:] <= edges[:-1]):
        raise BadName(f"the edges of {str(axis)!r} do not ascend.", "edges from low to high.")
    mine = values[entry]
    number = np.searchsorted(edges, mine, side="right")
    number[np.isnan(mine)] = len(edges) + 1
    return CodedAxis(np.arange(len(mine)), number, (*ranges(words), missing), fixed=True)


def _words(axis: Axis, edges: Floats, dated: bool) -> list[str]:
    """Edges as people read them; numbers that are Unix times as dates, too."""
    second = _MICROSECONDS if dated else ticks_by(float(edges.max()))
    if dated or (axis.name == "time" and edges.min() >= _UNIX * second):
        return [_day(edge) for edge in (edges * (_MICROSECONDS / second)).tolist()]
    return shown(edges.tolist())


def _moment(edge: float | str, second: int) -> float:
    if not isinstance(edge, str):
        return edge
    when = datetime.fromisoformat(edge)
    return when.replace(tzinfo=when.tzinfo or UTC).timestamp() * second


def _day(microseconds: float) -> str:
    when = datetime.fromtimestamp(microseconds / _MICROSECONDS, tz=UTC).replace(tzinfo=None)
    return when.isoformat(sep=" ").removesuffix(" 00:00:00")


def _by_values(axis: Axis, found: Memberships, entry: Integers, size: int) -> CodedAxis:
    """Every value a slice; a unit with several stands in several, one with none in its own."""
    if not len(found.number):
        nothing = np.zeros(len(entry), np.int64)
        return CodedAxis(np.arange(len(entry)), nothing, (NO_VALUE,), fixed=False)
    times_each = np.bincount(found.entry, minlength=size)
    start = np.cumsum(times_each) - times_each
    mine = times_each[entry]
    length = np.maximum(mine, 1)
    unit = np.repeat(np.arange(len(entry)), length)
    nth = np.arange(len(unit)) - np.repeat(np.cumsum(length) - length, length)
    at = np.minimum(start[entry][unit] + nth, len(found.number) - 1)
    number = np.where(mine[unit] > 0, found.number[at], len(found.names))
    many = len(distinct(number))
    if many > MOST_VALUES:
        raise BadName(
            f"{axis.name!r} has {many:,} different values.",
            f"at most {MOST_VALUES}, or numbers that are cut: {axis.name}:4 or "
            f"{axis.name}:10,50,100.",
        )
    return CodedAxis(unit, number, (*map(_text, found.names.to_list()), NO_VALUE), fixed=False)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return shown([value])[0] if isinstance(value, float) else str(value)


OWN = {"known": "row", "activity": "user", "popularity": "item", "time": "row"}
"""what there is without any column, and what has it"""
_HAVE = {"users": "user", "items": "item", "truth": "list", "predictions": "list"}
"""what the rows of a table are about"""
_BESIDE = ("grade", "timestamp", "score", "rank")
"""columns of predictions and truth that have a role and may be gone by all the same"""
_USUAL_PARTS = 4


class _Place(NamedTuple):
    """Where the values of an axis stand, and what has them: a user, an item, a list or a row."""

    kind: str
    table: str = ""
    column: str = ""


class _Units(NamedTuple):
    """What is parted, and what tells the users, items and lists behind it."""

    of: Of
    sources: Inputs
    sides: Aligned


def require_axes(slicings: Sequence[Sequence[Axis]], sources: Inputs) -> None:
    """Refuse what cannot be parted by before anything is computed."""
    for axis in [axis for axes in slicings for axis in axes]:
        _place(axis, sources)
        if axis.name in ("known", "activity", "popularity"):
            train_of(sources)


def slicing_of(axes: Sequence[Axis], sources: Inputs, sides: Aligned) -> Slicing:
    """Who belongs to which slice; of rows of the truth if any axis is about these or items."""
    found = [_place(axis, sources) for axis in axes]
    of: Of = "rows" if any(place.kind in ("item", "row") for place in found) else "lists"
    units = _Units(of, sources, sides)
    coded = [_coded(axis, place, units) for axis, place in zip(axes, found, strict=True)]
    return crossed(named(axes), of, coded)


def _place(axis: Axis, sources: Inputs) -> _Place:
    if axis.name in OWN:
        return _Place(OWN[axis.name], column=axis.name)
    side, dot, column = axis.name.partition(".")
    if dot and side in _HAVE and column in _columns(sources, side):
        return _Place("row" if side == "truth" else _HAVE[side], side, column)
    having = [side for side in _HAVE if axis.name in _columns(sources, side)]
    if having == ["truth", "predictions"]:
        having = ["truth"]
    if not having:
        raise _unknown(axis.name, sources)
    if len(having) > 1:
        raise BadName(
            f"{axis.name!r} is a column of {' and of '.join(having)}.",
            f"one of them: {' or '.join(f'{side}.{axis.name}' for side in having)}.",
        )
    return _Place(_HAVE[having[0]], having[0], axis.name)


def _columns(sources: Inputs, side: str) -> dict[str, str]:
    """The columns of a table that slices may go by, and what they are called there."""
    table: Table | None = getattr(sources, side)
    if table is None:
        return {}
    if side in ("users", "items"):
        key = "list" if side == "users" else "item"
        return {name: name for name in table.frame.columns if name != key}
    kept = {n.removeprefix(ATTRIBUTE): n for n in table.frame.columns if n.startswith(ATTRIBUTE)}
    own = {name: role for role, name in table.columns.items() if name and role in _BESIDE}
    return own | kept


def _unknown(name: str, sources: Inputs) -> UnknownName:
    known = [c for side in _HAVE for c in _columns(sources, side)]
    left = [c for table in (sources.truth, sources.predictions) for c in table.left]
    note = "slices go by columns of users=, items=, the truth or the predictions, and by " + (
        ", ".join(OWN) + "."
    )
    return unknown_name("attribute", name, {*OWN, *known, *left}, "this evaluation", note)


def _coded(axis: Axis, place: _Place, units: _Units) -> CodedAxis:
    if axis.name == "known":
        number = _known(units.sources)
        return CodedAxis(np.arange(len(number)), number, (*SLICES, NO_VALUE), fixed=True)
    if axis.name in OWN and not (axis.parts or axis.edges):
        axis = replace(axis, parts=_USUAL_PARTS)
    if axis.name in ("activity", "popularity"):
        return _counted(axis, units)
    if place.kind == "row":
        return _by_row(axis, place, units)
    table = _table(place, units.sources)
    key = "item" if place.kind == "item" else "list"
    about = Column.of(table, key)
    entry, row, size = entries(_ids(place.kind, units), about, place.kind)
    attributes = Attributes("item" if key == "item" else "user", table, row, size)
    if place.kind == "list":
        _require_single(attributes, place)
    return labelled(axis, attributes, place.column, entry)


def _table(place: _Place, sources: Inputs) -> Table:
    """The table with the column under its own name."""
    table: Table = getattr(sources, place.table)
    at = _columns(sources, place.table)[place.column]
    if place.kind != "list":
        return table
    if "list" not in table.frame.columns:
        raise MissingNeed(
            f"{place.column!r} is a column of {place.table}, which does not say of which lists.",
            f"{place.table} with the column {sources.key!r}.",
        )
    columns = {"list": table.frame["list"], place.column: table.frame[at]}
    return replace(table_made(columns, table.source), text=table.text)


def _ids(kind: str, units: _Units) -> Column:
    """The user, item or list of every list, or of every row of the truth."""
    sources, sides = units.sources, units.sides
    if units.of == "lists":
        ids = sides.keys if kind == "list" else sides.users.gather(sides.owners)
        return Column(ids, "the lists")
    truth = sources.truth
    name = {"user": owner_of(sources), "item": "item", "list": "list"}[kind]
    if name not in truth.frame.columns:
        raise MissingNeed(
            "the truth does not say to which list a row belongs.",
            f"a truth with the column {sources.key!r}, where lists and items are crossed.",
        )
    return Column.of(truth, name)


def entries(units: Column, table: Column, kind: str) -> tuple[Integers, Integers, int]:
    """The number of each unit's and each table row's entry, and how many entries there are."""
    found = numbered({"units": units, "table": table}, kind)
    return found.numbers["units"], found.numbers["table"], len(found)


def _require_single(about: Attributes, place: _Place) -> None:
    column = place.column
    entry = about.memberships(column).entry
    several = distinct(entry[1:][entry[1:] == entry[:-1]])
    if len(several):
        raise BadTable(
            f"{len(several):,} lists have several values of {column!r}.",
            "one for each list.",
            f"truth.{column} goes by the rows of the truth." if place.table == "truth" else "",
        )


def _by_row(axis: Axis, place: _Place, units: _Units) -> CodedAxis:
    """An attribute that every row of the truth has for itself."""
    truth = units.sources.truth
    at = _columns(units.sources, "truth").get(place.column)
    if at is None and "timestamp" in truth.frame.columns:
        at = "timestamp"
    if at is None:
        raise MissingNeed(
            "nothing says when the rows of the truth were.",
            "a truth with one column of times.",
            "name it by columns={'timestamp': ...} (--columns timestamp=...).",
        )
    values = truth.frame[at]
    if axis.name == "time":
        values = times(values, truth.source)
    rows = np.arange(len(values))
    table = table_made({"list": rows, place.column: values}, truth.source)
    return labelled(axis, Attributes("user", table, rows, len(rows)), place.column, rows)


def _counted(axis: Axis, units: _Units) -> CodedAxis:
    """Rows of train of the user, or with the item."""
    sources, train = units.sources, train_of(units.sources)
    kind, key = ("user", "list") if axis.name == "activity" else ("item", "item")
    told = any("user" in t.frame.columns for t in (sources.predictions, sources.truth))
    if kind == "user" and sources.key != "user" and not told:
        raise MissingNeed(
            f"activity is counted by user, and nothing says whose a {sources.key!r} is.",
            "a user column beside the list key.",
        )
    entry, row, size = entries(_ids(kind, units), Column.of(train, key), kind)
    rows = np.bincount(row, minlength=size).astype(np.float64)
    rows[rows == 0] = np.nan
    return cut_by(axis, rows, entry, NOT_IN_TRAIN)


def _known(sources: Inputs) -> Integers:
    """(rows of the truth) what training knows of the user and of the item."""
    truth, train = sources.truth, train_of(sources)
    user = ~held((truth, owner_of(sources)), (train, "list"), "user")
    item = ~held((truth, "item"), (train, "item"), "item")
    number: Integers = user + 2 * item.astype(np.int64)
    return number


def held(own: tuple[Table, str], other: tuple[Table, str], what: str) -> Flags:
    """(rows) whether the id in a column of one table stands in a column of another."""
    return among(Column.of(*own), Column.of(*other), what)


def owner_of(sources: Inputs) -> str:
    """The column of the truth that holds users."""
    return "user" if "user" in sources.truth.frame.columns else "list"


def train_of(sources: Inputs) -> Table:
    """What training held, as a table."""
    if sources.train is not None:
        return sources.train
    if sources.seen is None or sources.dense is None:
        raise MissingNeed(
            "nothing says which users and items are known.",
            "train= with the training data; a table where there are candidates.",
        )
    cells, dense = sources.seen, sources.dense
    ids = names_of(dense, *cells.pairs())
    return table_made({"list": ids.get("user", ids["list"]), "item": ids["item"]}, "train")
