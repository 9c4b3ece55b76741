"""Where the axes of a slicing come from: tables of users and items, training, and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rectitude.arrays import Flags, Integers, distinct, places
from rectitude.data.attributes import Attributes
from rectitude.data.cutting import cut_by, labelled
from rectitude.data.ids import Column, align
from rectitude.data.slicing import NO_VALUE, NOT_IN_TRAIN, Axis, Coded, Of, Slicing, crossed, named
from rectitude.data.sources import Sources
from rectitude.data.table import ATTRIBUTE, Table
from rectitude.data.times import times
from rectitude.engines.cells import named as names_of
from rectitude.engines.cells import table_made
from rectitude.errors import BadName, BadTable, MissingNeed, UnknownName, unknown_name
from rectitude.judge.sides import Sides
from rectitude.splits.unknown import SLICES

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
    sources: Sources
    sides: Sides


def require_axes(slicings: Sequence[Sequence[Axis]], sources: Sources) -> None:
    """Refuse what cannot be parted by before anything is computed."""
    for axis in [axis for axes in slicings for axis in axes]:
        _place(axis, sources)
        if axis.name in ("known", "activity", "popularity"):
            train_of(sources)


def slicing_of(axes: Sequence[Axis], sources: Sources, sides: Sides) -> Slicing:
    """Who belongs to which slice; of rows of the truth if any axis is about these or items."""
    found = [_place(axis, sources) for axis in axes]
    of: Of = "rows" if any(place.kind in ("item", "row") for place in found) else "lists"
    units = _Units(of, sources, sides)
    coded = [_coded(axis, place, units) for axis, place in zip(axes, found, strict=True)]
    return crossed(named(axes), of, coded)


def _place(axis: Axis, sources: Sources) -> _Place:
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


def _columns(sources: Sources, side: str) -> dict[str, str]:
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


def _unknown(name: str, sources: Sources) -> UnknownName:
    known = [c for side in _HAVE for c in _columns(sources, side)]
    left = [c for table in (sources.truth, sources.predictions) for c in table.left]
    note = "slices go by columns of users=, items=, the truth or the predictions, and by " + (
        ", ".join(OWN) + "."
    )
    return unknown_name("attribute", name, {*OWN, *known, *left}, "this evaluation", note)


def _coded(axis: Axis, place: _Place, units: _Units) -> Coded:
    if axis.name == "known":
        number = _known(units.sources)
        return Coded(np.arange(len(number)), number, (*SLICES, NO_VALUE), fixed=True)
    if axis.name in OWN and not (axis.parts or axis.edges):
        axis = replace(axis, parts=_USUAL_PARTS)
    if axis.name in ("activity", "popularity"):
        return _counted(axis, units)
    if place.kind == "row":
        return _by_row(axis, place, units)
    table = _table(place, units.sources)
    key = "item" if place.kind == "item" else "list"
    about = Column(table.frame[key], table.source, table.text)
    entry, row, size = entries(_ids(place.kind, units), about, place.kind)
    attributes = Attributes("item" if key == "item" else "user", table, row, size)
    if place.kind == "list":
        _require_single(attributes, place)
    return labelled(axis, attributes, place.column, entry)


def _table(place: _Place, sources: Sources) -> Table:
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
    return Column(truth.frame[name], truth.source, truth.text)


def entries(units: Column, table: Column, kind: str) -> tuple[Integers, Integers, int]:
    """The number of each unit's and each table row's entry, and how many entries there are."""
    codes = align({"units": units, "table": table}, kind).codes
    mine, theirs = codes["units"].whole, codes["table"].whole
    known = distinct(np.concatenate((mine, theirs)))
    return places(known, mine), places(known, theirs), len(known)


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


def _by_row(axis: Axis, place: _Place, units: _Units) -> Coded:
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


def _counted(axis: Axis, units: _Units) -> Coded:
    """Rows of train of the user, or with the item."""
    sources, train = units.sources, train_of(units.sources)
    kind, key = ("user", "list") if axis.name == "activity" else ("item", "item")
    told = any("user" in t.frame.columns for t in (sources.predictions, sources.truth))
    if kind == "user" and sources.key != "user" and not told:
        raise MissingNeed(
            f"activity is counted by user, and nothing says whose a {sources.key!r} is.",
            "a user column beside the list key.",
        )
    ids = Column(train.frame[key], train.source, train.text)
    entry, row, size = entries(_ids(kind, units), ids, kind)
    rows = np.bincount(row, minlength=size).astype(np.float64)
    rows[rows == 0] = np.nan
    return cut_by(axis, rows, entry, NOT_IN_TRAIN)


def _known(sources: Sources) -> Integers:
    """(rows of the truth) what training knows of the user and of the item."""
    truth, train = sources.truth, train_of(sources)
    user = ~held((truth, owner_of(sources)), (train, "list"), "user")
    item = ~held((truth, "item"), (train, "item"), "item")
    number: Integers = user + 2 * item.astype(np.int64)
    return number


def held(own: tuple[Table, str], other: tuple[Table, str], what: str) -> Flags:
    """(rows) whether the id in a column of one table stands in a column of another."""
    columns = {
        side: Column(table.frame[name], table.source, table.text)
        for side, (table, name) in (("own", own), ("other", other))
    }
    codes = align(columns, what).codes
    return np.isin(codes["own"].whole, codes["other"].whole)


def owner_of(sources: Sources) -> str:
    """The column of the truth that holds users."""
    return "user" if "user" in sources.truth.frame.columns else "list"


def train_of(sources: Sources) -> Table:
    """What training held, as a table."""
    if sources.train is not None:
        return sources.train
    if sources.seen is None or sources.dense is None:
        raise MissingNeed(
            "nothing says which users and items are known.",
            "train= with the training data; a table where there are candidates.",
        )
    cells, dense = sources.seen, sources.dense
    ids = names_of(dense, cells.rows(), cells.column)
    return table_made({"list": ids.get("user", ids["list"]), "item": ids["item"]}, "train")
