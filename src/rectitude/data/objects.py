"""Plain Python, SciPy and the objects of other libraries: dicts, sets, rows, sparse matrices,
series of lists, and runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set, Sized
from dataclasses import replace
from functools import partial
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from rectitude.data.columns import POSITIONS, WantedColumns, names_columns, quote_names
from rectitude.data.frames import from_values, open_frame, rename_columns, series
from rectitude.data.table import Source
from rectitude.errors import BadTable

TEXT_ADVICE = (
    "lists written as text must be parsed: json.loads for '[1, 2]' and '[\"a\"]', ast.literal_eval"
    " for \"['a']\"; or save the lists as Parquet or JSON."
)


def open_mapping(mapping: Mapping[Any, Any], want: WantedColumns) -> Source:
    """Return a dict of columns, lists, sets or dicts of numbers as a source."""
    if all(isinstance(key, str) for key in mapping) and names_columns(list(mapping), want):
        return _open_columns(mapping, want)
    if want.what == "weights":
        return _open_weights(mapping)
    if want.what in ("items", "users"):
        raise BadTable(
            f"{want.what} (dict) has no {want.word(POSITIONS[want.what][0])} column;"
            f" its keys: {quote_names(map(str, mapping))}.",
            "a dict of columns, a frame, a path or a list of ids.",
            "name the column of the ids, or pass only the ids as a list.",
        )
    kind = _kind_of_values(mapping, want)
    if kind == "dict":
        return _open_numbers(mapping, want)
    if kind == "set":
        return _open_sets(mapping, want)
    return _open_lists(mapping, want, "dict of lists")


def open_rows(rows: Sequence[object], want: WantedColumns) -> Source:
    """Return a list of dicts or tuples as a source; items and users may be a list of ids.

    Predictions and truth may be lists of lists, whose users are their positions.
    """
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _open_dicts(rows)  # type: ignore[arg-type]
    if want.what in ("predictions", "truth") and rows and all(map(_is_list, rows)):
        return _open_positions(rows, want)
    names = list(getattr(rows[0], "_fields", ())) if rows else []
    if names and names_columns(names, want) and len(set(map(type, rows))) == 1:
        return _open_named_tuples(rows, names)
    if want.what in ("items", "users") and not any(isinstance(row, tuple) for row in rows):
        return open_ids(rows, want)
    return _open_tuples(rows, want)


def open_ids(ids: object, want: WantedColumns) -> Source:
    """Return a collection of ids as a source of items or users."""
    role = POSITIONS[want.what][0]
    listing = _sort_set(ids) if isinstance(ids, Set) else ids
    return _source_without_names("ids", {role: series(listing, role)})


def are_ids(source: object) -> bool:
    """Whether a source is a collection of ids and not of rows."""
    if isinstance(source, (list, tuple)):
        return not any(isinstance(row, (tuple, list, dict)) for row in source)
    return isinstance(source, (pl.Series, np.ndarray, Set))


def open_sparse(matrix: Any, want: WantedColumns) -> Source:
    """Return a sparse matrix as a source: rows are users, columns are items.

    Its values are the scores or grades. Explicitly stored zeros are kept: they count as scores.
    """
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise BadTable(
            f"{want.what} (sparse matrix) has {matrix.ndim} dimensions and the type"
            f" {matrix.dtype}.",
            "real numbers in two dimensions, users by items.",
            "convert it, for example with scipy.sparse.csr_matrix(matrix, dtype=float).",
        )
    csr = matrix.tocsr()
    rows = np.arange(csr.shape[0], dtype=np.int64)
    columns = {
        "list": pl.Series(np.repeat(rows, np.diff(csr.indptr))),
        "item": pl.Series(csr.indices.astype(np.int64)),
        **{role: series(csr.data, "data") for role in _number_roles(want)},
    }
    handed = pl.Series("list", rows) if want.what == "predictions" else None
    source = _source_without_names("sparse matrix", columns, handed=handed)
    return replace(source, width=int(csr.shape[1]))


def _number_roles(want: WantedColumns) -> list[str]:
    """Return the role of the number next to a user and item; candidates have none."""
    return [role for role in POSITIONS[want.what] if role in ("score", "grade", "weight")]


def _source_without_names(
    label: str, columns: Mapping[str, pl.Series], given: bool = False,
    handed: pl.Series | None = None,
) -> Source:  # fmt: skip
    """Return a source whose columns are identified by position and have no names."""
    frame = pl.DataFrame([column.alias(role) for role, column in columns.items()])
    roles = {role: role for role in columns}
    take = partial(rename_columns, frame)
    return Source(label, list(roles), take, roles, anonymous=True, given=given, handed=handed)


def _open_columns(mapping: Mapping[str, Any], want: WantedColumns) -> Source:
    sizes = {name: len(v) if _is_sequence(v) else None for name, v in mapping.items()}
    if len(set(sizes.values())) > 1 or None in sizes.values():
        lengths = ", ".join(f"{name!r}: {size or 'not a sequence'}" for name, size in sizes.items())
        raise BadTable(
            f"{want.what} (dict of columns) has columns of different lengths: {lengths}.",
            "sequences of the same length.",
            "make all columns equally long; for one list per user, use {user: [items]}.",
        )

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return pl.DataFrame([series(mapping[name], new) for new, name in chosen.items()])

    return Source("dict of columns", list(mapping), take)


def _is_sequence(value: object) -> bool:
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
    return "list" if _is_sequence(value) else type(value).__name__


def _kind_of_values(mapping: Mapping[Any, Any], want: WantedColumns) -> str:
    """Return the kind of all values in the dict: dict, set or list."""
    expected = "{user: [items]}, {user: {item: number}} or a dict of columns."
    first = ""
    for key, value in mapping.items():
        kind = _kind(value)
        first = first or kind
        if kind not in ("dict", "set", "list") or kind != first:
            before = f", but the first value is of type {first}" if kind != first else ""
            raise BadTable(
                f"{want.what} (dict): the value of {key!r} is of type {kind}{before}:"
                f" {value!r:.60}.",
                expected,
                TEXT_ADVICE
                if isinstance(value, str) and value.startswith("[")
                else "put the items of each user in a list, even a single item.",
            )
    return first


def _open_lists(
    mapping: Mapping[Any, Collection[object]], want: WantedColumns, label: str
) -> Source:
    keys, owners = _repeat_keys(mapping)
    if _number_roles(want) and _hold_pairs(mapping.values(), want):
        pairs: list[Any] = list(chain.from_iterable(mapping.values()))
        columns = {"list": owners, "item": from_values([pair[0] for pair in pairs], "item")}
        role = _number_roles(want)[0]
        columns[role] = from_values([pair[1] for pair in pairs], role)
        return _source_without_names(f"{label} of pairs", columns, handed=keys)
    columns = {"list": owners, "item": _join_items(mapping.values())}
    return _source_without_names(label, columns, given=True, handed=keys)


def _hold_pairs(lists: Collection[Collection[object]], want: WantedColumns) -> bool:
    """Whether lists hold pairs of an item and a number.

    Pairs of whole numbers only are refused: they could also be ids with two parts.
    """
    first = next((items for items in lists if len(items)), ())
    if not _is_pair(next(iter(first), None)) or isinstance(first, np.ndarray):
        return False
    pairs: list[Any] = list(chain.from_iterable(lists))
    if not all(map(_is_pair, pairs)):
        return False
    if all(isinstance(number, Integral) for _, number in pairs):
        raise _unclear_pairs(pairs, want)
    return True


def _unclear_pairs(pairs: Sequence[Any], want: WantedColumns) -> BadTable:
    """Return the error for pairs whose second part may be a number or an id."""
    expected = "{user: {item: number}}, or ids that are single values."
    if any(isinstance(first, float) for first, _ in pairs):
        return BadTable(
            f"{want.what}: the lists hold pairs that begin with a fraction and end with a whole"
            f" number (first: {pairs[0]!r}).",
            expected,
            "the item comes first, then its number: [(item, number) for number, item in pairs].",
        )
    whole = all(isinstance(first, Integral) for first, _ in pairs)
    kind = "of whole numbers" if whole else "that end with a whole number"
    return BadTable(
        f"{want.what}: the lists hold pairs {kind} (first: {pairs[0]!r}), which could be an"
        " item and its number, or an id with two parts.",
        expected,
        "use {user: dict(pairs)} for items with numbers; join the parts of an id, for example"
        " '3-4'.",
    )


def _is_pair(value: object) -> bool:
    """Whether a value is an item with a number."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return False
    return isinstance(value[1], Real) and not isinstance(value[1], bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim == 1)


def _open_positions(rows: Sequence[Any], want: WantedColumns) -> Source:
    """Return a list of lists as a source; a user is the position of the list."""
    wrong = [(n, v) for n, row in enumerate(rows) for v in row if isinstance(v, float)]
    if wrong:
        number, value = wrong[0]
        scores = (
            "if each list holds the scores of all items, use np.array(predictions), or"
            " rt.Scores(np.array(predictions), users=..., items=...).\n  "
        )
        raise BadTable(
            f"{want.what} (list of lists): list {number} contains {value!r}, which is not an id.",
            "one list of items for each user, best first.",
            f"{scores if want.what == 'predictions' else ''}if each list is a row of user, item and"
            f" number, make it a tuple: [tuple(row) for row in {want.what}].",
        )
    return _open_lists(dict(enumerate(rows)), want, "list of lists")


def open_series(column: Any, want: WantedColumns) -> Source | None:
    """Return a series of lists as a source; users are the index of pandas, otherwise positions.

    Return None for anything else.
    """
    label = "Series of lists"
    if isinstance(column, pl.Series) and isinstance(column.dtype, pl.List):
        return _open_lists(dict(enumerate(column.to_list())), want, label)
    is_pandas = type(column).__module__.startswith("pandas") and hasattr(column, "index")
    if not is_pandas or not all(_kind(value) in ("list", "set") for value in column):
        return None
    if not column.index.is_unique:
        repeated = column.index[column.index.duplicated()].tolist()[0]
        raise BadTable(
            f"{want.what} ({label}): the index has {repeated!r} more than once.",
            "the user of each list as index, each once.",
            "set the index to the users: frame.set_index('user')['items'].",
        )
    lists = dict(zip(column.index.tolist(), column.tolist(), strict=True))
    if _kind_of_values(lists, want) == "set":
        return _open_sets(lists, want)
    return _open_lists(lists, want, label)


def open_run(run: Any, want: WantedColumns) -> Source | None:
    """Return a `Run` or `Qrels` of ranx as a source, by its `to_dict`; None for anything else.

    ranx turns every id into text, so the ids take the type of the other table.
    """
    if not hasattr(run, "to_dict") or not (hasattr(run, "run") or hasattr(run, "qrels")):
        return None
    source = _open_numbers(run.to_dict(), want)
    return replace(source, label=f"ranx {type(run).__name__}", text=True)


def open_holder(holder: Any) -> Source | None:
    """Return an object that holds a table as a source; None for anything else.

    These are `Interactions` and `Dataset` of RecTools, `ItemListCollection` and `Dataset` of
    LensKit. A dataset numbers its users and items, so its original ids are read.
    """
    if hasattr(holder, "get_raw_interactions"):
        table = holder.get_raw_interactions()
    elif hasattr(holder, "interaction_table"):
        table = holder.interaction_table(format="pandas", original_ids=True)
    elif hasattr(holder, "to_arrow") or hasattr(holder, "df"):
        table = holder.to_arrow() if hasattr(holder, "to_arrow") else holder.df
    else:
        return None
    opened = open_frame(table)
    return None if opened is None else replace(opened, label=type(holder).__name__)


def _join_items(lists: Collection[Collection[object]]) -> pl.Series:
    """Return the items of all lists, concatenated; arrays are joined without a loop over values."""
    arrays = [items for items in lists if isinstance(items, np.ndarray)]
    if lists and len(arrays) == len(lists) and len({array.dtype for array in arrays}) == 1:
        return series(np.concatenate(arrays), "item")
    return from_values(list(chain.from_iterable(lists)), "item")


def _repeat_keys(mapping: Mapping[Any, Sized]) -> tuple[pl.Series, pl.Series]:
    """Return the keys, and the key of each value, repeated for every value."""
    keys = from_values(list(mapping), "list")
    sizes = np.fromiter(map(len, mapping.values()), np.int64, len(mapping))
    return keys, keys.gather(np.repeat(np.arange(len(mapping)), sizes))


def _open_numbers(mapping: Mapping[Any, Mapping[Any, object]], want: WantedColumns) -> Source:
    keys, owners = _repeat_keys(mapping)
    columns = {
        "list": owners,
        "item": from_values(list(chain.from_iterable(mapping.values())), "item"),
    }
    for role in _number_roles(want):
        values = chain.from_iterable(inner.values() for inner in mapping.values())
        columns[role] = from_values(list(values), role)
    return _source_without_names("dict of dicts", columns, handed=keys)


def _open_sets(mapping: Mapping[Any, Set[Any]], want: WantedColumns) -> Source:
    if want.what == "predictions":
        raise BadTable(
            "predictions (dict of sets): the items of a set are not ranked.",
            "{user: [items, best first]} or {user: {item: score}}.",
            "sort the items of each user into a list, or pass their scores.",
        )
    keys, owners = _repeat_keys(mapping)
    items = from_values(
        [item for members in mapping.values() for item in _sort_set(members)], "item"
    )
    return _source_without_names("dict of sets", {"list": owners, "item": items}, handed=keys)


def _sort_set(members: Set[Any]) -> list[Any]:
    """Return the members of a set in an order that is the same in every process."""
    try:
        return sorted(members)
    except TypeError:
        return sorted(members, key=repr)


def _open_weights(mapping: Mapping[Any, object]) -> Source:
    wrong = [key for key, value in mapping.items() if not isinstance(value, (Real, type(None)))]
    if wrong:
        raise BadTable(
            f"weights (dict): the value of {wrong[0]!r} is {mapping[wrong[0]]!r:.60}.",
            "{user: number} or a dict of columns.",
            "give each user one number.",
        )
    return _source_without_names("dict of numbers", {
        "list": from_values(list(mapping), "list"),
        "weight": from_values(list(mapping.values()), "weight"),
    })  # fmt: skip


def _open_dicts(rows: Sequence[Mapping[str, object]]) -> Source:
    names = list(dict.fromkeys(chain.from_iterable(rows)))

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return pl.DataFrame(
            [from_values([row.get(name) for row in rows], new) for new, name in chosen.items()]
        )

    return Source("list of dicts", names, take)


def _open_named_tuples(rows: Sequence[Any], names: list[str]) -> Source:
    """Return named tuples as a source, such as the predictions of Surprise, or the documents of
    ir_measures."""

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return pl.DataFrame(
            [from_values([getattr(row, name) for row in rows], new) for new, name in chosen.items()]
        )

    return Source(f"list of {type(rows[0]).__name__}", names, take)


def _open_tuples(rows: Sequence[object], want: WantedColumns) -> Source:
    positions = POSITIONS[want.what]
    width = len(rows[0]) if rows and isinstance(rows[0], tuple) else 0
    least = min(2, len(positions))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, tuple) or len(row) != width or width < least:
            raise BadTable(
                f"{want.what} (list): row {number} is of type {type(row).__name__}: {row!r:.60}.",
                f"tuples ({', '.join(map(want.word, positions))}) of the same length, or dicts.",
            )
    roles = positions[:width] if rows else positions[:least]
    columns = [[row[position] for row in rows] for position in range(len(roles))]  # type: ignore[index]
    return _source_without_names("list of tuples", {
        role: from_values(column, role) for role, column in zip(roles, columns, strict=True)
    })  # fmt: skip
