"""Check before a run that the attributes of its slices and metrics exist.

Evaluation would find out too, but only after every model has been trained.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rectitude.data.read import read
from rectitude.data.table import Inputs, Table
from rectitude.errors import MissingNeed, nearest
from rectitude.evaluation.axes import OWN, Axis, parse_slicings, require_axes
from rectitude.evaluation.restrict import make_table
from rectitude.experiment.reading import Loaded
from rectitude.experiment.stages import convention_of, describe_metrics, tables_of
from rectitude.metrics.names import parse_all
from rectitude.options import locate_errors
from rectitude.profiles import profile_of
from rectitude.profiles.profile import Asked

_LISTS = ("list", "item", "grade", "timestamp", "score", "rank")
"""The columns that the truth and the lists of a run may have."""


def require_attributes(loaded: Loaded) -> None:
    """Raise an error, with its line, for a slice or metric whose attribute is in no table."""
    slicings = [parse_slicings([slicing]) for slicing in loaded.config.evaluate.slices]
    profile = profile_of(convention_of(loaded))
    metrics = [
        profile.resolve(name)
        for given in describe_metrics(loaded)["metrics"]
        for name in parse_all(given)
    ]
    if not any(map(_uses_columns, slicings)) and not any(any(columns_of(m)) for m in metrics):
        return
    tables = _read_tables(loaded)
    lists = replace(
        make_table({role: [] for role in _LISTS}, "run"),
        columns=dict(zip(_LISTS, _LISTS, strict=True)),
    )
    items, users = tables.get("items"), tables.get("users")
    sources = Inputs(lists, lists, train=lists, items=items, users=users)
    for number, slicing in enumerate(slicings):
        with locate_errors(loaded.key_lines.where(("evaluate", "slices", number))):
            require_axes(slicing, sources)
    with locate_errors(loaded.key_lines.where(("evaluate", "metrics"))):
        for metric in metrics:
            _require_columns(metric, tables)


def _uses_columns(slicing: list[tuple[Axis, ...]]) -> bool:
    return any(axis.name not in OWN for axes in slicing for axis in axes)


def columns_of(asked: Asked) -> Iterator[tuple[str, str]]:
    """Yield the columns that a metric reads, each with its table: users or items."""
    needs, values = asked.metric.needs, asked.numbers
    for table in ("items", "users"):
        if table in needs:
            names = {f"{table}_by"} if f"{table}_by" in values else {"by"}
            names |= {"of"} if table == "items" else set()  # of users, it is a metric
            yield from ((table, str(values[name])) for name in sorted(names) if name in values)


def _require_columns(asked: Asked, tables: Mapping[str, Table]) -> None:
    for table, column in columns_of(asked):
        known = tables[table].frame.columns if table in tables else []
        numbered = re.compile(rf"{re.escape(column)}\d+")  # one column per number of a vector
        if column in known or any(map(numbered.fullmatch, known)):
            continue
        close = nearest(column, known)
        raise MissingNeed(
            f"metric {str(asked.name)!r} needs the column {column!r} of {table}.",
            f"{table} = 'FILE' under [data], with this column.",
            f"did you mean {close}?" if close else "",
        )


def _read_tables(loaded: Loaded) -> dict[str, Table]:
    tables = {}
    for name, path in tables_of(loaded).items():
        with locate_errors(loaded.key_lines.where(("data", name))):
            tables[name] = read(path, name)  # type: ignore[arg-type]
    return tables
