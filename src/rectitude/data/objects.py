"""Plain Python and SciPy: dicts, sets, rows and sparse matrices."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set, Sized
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from rectitude.data.columns import POSITIONS, WantedColumns, listed, names_columns
from rectitude.data.frames import from_values, renamed, series
from rectitude.data.table import Source
from rectitude.errors import BadTable


def open_mapping(mapping: Mapping[Any, Any], want: WantedColumns) -> Source:
    """A dict as a source: of columns, of lists, of dicts with numbers, or of sets."""
    if all(isinstance(key, str) for key in mapping) and names_columns(list(mapping), want):
        return _columns(mapping, want)
    if want.what == "weights":
        return _weights(mapping)
    if want.what in ("items", "users"):
        raise BadTable(
            f"{want.what} (dict) has no {want.word(POSITIONS[want.what][0])} column;"
            f" its keys: {listed(map(str, mapping))}.",
            "a dict of columns, a frame, a path or a list of ids.",
        )
    kind = _one_kind(mapping, want)
    if kind == "dict":
        return _numbers(mapping, want)
    if kind == "set":
        return _sets(mapping, want)
    return _lists(mapping)


def open_rows(rows: Sequence[object], want: WantedColumns) -> Source:
    """A list as a source: of dicts, of tuples, or of ids where ids alone make the table."""
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _dicts(rows)  # type: ignore[arg-type]
    if want.what in ("items", "users") and not any(isinstance(row, tuple) for row in rows):
        return open_ids(rows, want)
    return _tuples(rows, want)


def open_ids(ids: object, want: WantedColumns) -> Source:
    """Ids alone, as a source of items or of users."""
    role = POSITIONS[want.what][0]
    listing = _sorted(ids) if isinstance(ids, Set) else ids
    return _anonymous("ids", {role: series(listing, role)})


def are_ids(source: object) -> bool:
    """Whether these are ids alone, no rows."""
    if isinstance(source, (list, tuple)):
        return not any(isinstance(row, (tuple, list, dict)) for row in source)
    return isinstance(source, (pl.Series, np.ndarray, Set))


def open_sparse(matrix: Any, want: WantedColumns) -> Source:
    """A sparse matrix: rows are users, columns are items, data is the score or grade.

    Values that are stored are kept even if they are zero: a stored zero is a score.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise BadTable(
            f"{want.what} (sparse matrix) has {matrix.ndim} dimensions of {matrix.dtype}.",
            "two dimensions, users by items, of real numbers.",
        )
    csr = matrix.tocsr()
    rows = np.arange(csr.shape[0], dtype=np.int64)
    columns = {
        "list": pl.Series(np.repeat(rows, np.diff(csr.indptr))),
        "item": pl.Series(csr.indices.astype(np.int64)),
        **{role: series(csr.data, "data") for role in _number(want)},
    }
    handed = pl.Series("list", rows) if want.what == "predictions" else None
    return _anonymous("sparse matrix", columns, handed=handed)


def _number(want: WantedColumns) -> list[str]:
    """The role of a number that comes with a user and an item; candidates have none."""
    return [role for role in POSITIONS[want.what] if role in ("score", "grade", "weight")]


def _anonymous(
    label: str, columns: Mapping[str, pl.Series], given: bool = False,
    handed: pl.Series | None = None,
) -> Source:  # fmt: skip
    """Columns that are known by their place, and have no names in the source."""
    frame = pl.DataFrame([column.alias(role) for role, column in columns.items()])
    roles = {role: role for role in columns}
    return Source(label, list(roles), lambda chosen: renamed(frame, chosen), roles, anonymous=True,
                  given=given, handed=handed)  # fmt: skip


def _columns(mapping: Mapping[str, Any], want: WantedColumns) -> Source:
    sizes = {name: len(v) if _is_list(v) else None for name, v in mapping.items()}
    if len(set(sizes.values())) > 1 or None in sizes.values():
        told = ", ".join(f"{name!r}: {size or 'no sequence'}" for name, size in sizes.items())
        raise BadTable(
            f"{want.what} (dict of columns) has columns of different lengths: {told}.",
            "sequences of one length.",
        )

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return pl.DataFrame([series(mapping[name], new) for new, name in chosen.items()])

    return Source("dict of columns", list(mapping), take)


def _is_list(value: object) -> bool:
    return (
        isinstance(value, Sized)
        and isinstance(value, Iterable)
        and not isinstance(value, (str, bytes, Mapping, Set))
    )


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "dict"
    if isinstance(value, Set):
        return "set"
    return "list" if _is_list(value) else type(value).__name__


def _one_kind(mapping: Mapping[Any, Any], want: WantedColumns) -> str:
    """What the values of the dict are: all dicts, all sets or all lists."""
    expected = "{user: [items]}, {user: {item: number}} or a dict of columns."
    first = ""
    for key, value in mapping.items():
        kind = _kind(value)
        first = first or kind
        if kind not in ("dict", "set", "list") or kind != first:
            before = f" after a {first}" if kind != first else ""
            raise BadTable(
                f"{want.what} (dict): the value of {key!r} is a {kind}{before}: {value!r:.60}.",
                expected,
                "put the items of each user in a list, also where there is only one.",
            )
    return first


def _lists(mapping: Mapping[Any, Collection[object]]) -> Source:
    keys, owners = _owners(mapping)
    return _anonymous("dict of lists", {"list": owners, "item": _joined(mapping.values())},
                      given=True, handed=keys)  # fmt: skip


def _joined(parts: Collection[Collection[object]]) -> pl.Series:
    """All items, one list after the other; arrays are joined without touching each value."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if parts and len(arrays) == len(parts) and len({array.dtype for array in arrays}) == 1:
        return series(np.concatenate(arrays), "item")
    return from_values(list(chain.from_iterable(parts)), "item")


def _owners(mapping: Mapping[Any, Sized]) -> tuple[pl.Series, pl.Series]:
    """The keys, and for each value inside the dict the key it belongs to."""
    keys = from_values(list(mapping), "list")
    sizes = np.fromiter(map(len, mapping.values()), np.int64, len(mapping))
    return keys, keys.gather(np.repeat(np.arange(len(mapping)), sizes))


def _numbers(mapping: Mapping[Any, Mapping[Any, object]], want: WantedColumns) -> Source:
    keys, owners = _owners(mapping)
    columns = {
        "list": owners,
        "item": from_values(list(chain.from_iterable(mapping.values())), "item"),
    }
    for role in _number(want):
        values = chain.from_iterable(inner.values() for inner in mapping.values())
        columns[role] = from_values(list(values), role)
    return _anonymous("dict of dicts", columns, handed=keys)


def _sets(mapping: Mapping[Any, Set[Any]], want: WantedColumns) -> Source:
    if want.what == "predictions":
        raise BadTable(
            "predictions (dict of sets): a set has no order.",
            "{user: [items, best first]} or {user: {item: score}}.",
        )
    keys, owners = _owners(mapping)
    items = from_values([item for part in mapping.values() for item in _sorted(part)], "item")
    return _anonymous("dict of sets", {"list": owners, "item": items}, handed=keys)


def _sorted(part: Set[Any]) -> list[Any]:
    """The set in an order that does not change from one process to the next."""
    try:
        return sorted(part)
    except TypeError:
        return sorted(part, key=repr)


def _weights(mapping: Mapping[Any, object]) -> Source:
    wrong = [key for key, value in mapping.items() if not isinstance(value, (Real, type(None)))]
    if wrong:
        raise BadTable(
            f"weights (dict): the value of {wrong[0]!r} is {mapping[wrong[0]]!r:.60}.",
            "{user: number} or a dict of columns.",
        )
    return _anonymous("dict of numbers", {
        "list": from_values(list(mapping), "list"),
        "weight": from_values(list(mapping.values()), "weight"),
    })  # fmt: skip


def _dicts(rows: Sequence[Mapping[str, object]]) -> Source:
    names = list(dict.fromkeys(chain.from_iterable(rows)))

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return pl.DataFrame(
            [from_values([row.get(name) for row in rows], new) for new, name in chosen.items()]
        )

    return Source("list of dicts", names, take)


def _tuples(rows: Sequence[object], want: WantedColumns) -> Source:
    places = POSITIONS[want.what]
    width = len(rows[0]) if rows and isinstance(rows[0], tuple) else 0
    least = min(2, len(places))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, tuple) or len(row) != width or width < least:
            raise BadTable(
                f"{want.what} (list): row {number} is a {type(row).__name__}: {row!r:.60}.",
                f"tuples ({', '.join(map(want.word, places))}) of one length, or dicts.",
            )
    filled = places[:width] if rows else places[:least]
    columns = [[row[at] for row in rows] for at in range(len(filled))]  # type: ignore[index]
    return _anonymous("list of tuples", {
        role: from_values(column, role) for role, column in zip(filled, columns, strict=True)
    })  # fmt: skip
