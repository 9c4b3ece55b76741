"""What was handed over to be audited, every table of it read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.auditing.codes import BY_LIST, TIME, USER
from rectitude.data.formats.file import opened
from rectitude.data.formats.lines import numbered_lines
from rectitude.data.log import ROW, Log
from rectitude.data.read import read
from rectitude.data.table import Table, What
from rectitude.errors import BadName, BadTable

if TYPE_CHECKING:
    from rectitude.data.dense import Dense


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed over, as it came."""

    train: object = None
    truth: object = None
    predictions: object = None
    validation: object = None
    items: object = None
    users: object = None
    folds: object = None
    weights: object = None
    list_key: str = USER
    columns: Mapping[str, str] | None = None
    shown: object = None
    """what is shown of the evaluated users: it counts as train"""
    noun: str = "item"
    """what is ranked: items, or classes"""
    left_out: tuple[str, ...] = ()
    """files of the folder that was given which are no part"""

    @property
    def keyed(self) -> bool:
        """Whether lists have a key of their own."""
        return self.list_key != USER


def tables_of(handed: Handed, dense: Dense | None) -> dict[str, Table]:
    """Every part, read."""
    listed: What = "truth" if handed.keyed else "log"
    sources: dict[str, tuple[object, What]] = {
        "train": (handed.train, "log"), "shown": (handed.shown, "log"),
        "truth": (handed.truth, listed), "validation": (handed.validation, listed),
        "items": (handed.items, "items"), "users": (handed.users, "users"),
        "weights": (handed.weights, "weights"),
        **{f"fold {name}": (one, "log") for name, one in _named(handed.folds).items()},
        "predictions": (None if dense is not None else handed.predictions, "predictions"),
    }  # fmt: skip
    tables = {
        name: _table(name, source, what, handed, dense)
        for name, (source, what) in sources.items()
        if source is not None
    }
    if "predictions" in tables and any(map(_holds_sets, tables.values())):
        raise BadName(
            "a part holds two sets a line, and predictions go by line.",
            "an audit of the parts alone, or tables with a column for the user.",
        )
    return _joined(tables)


def _named(folds: object) -> dict[str, object]:
    if folds is None:
        return {}
    if isinstance(folds, Mapping):
        return {str(name): one for name, one in folds.items()}
    if isinstance(folds, Sequence) and not isinstance(folds, str):
        return {str(number): one for number, one in enumerate(folds, 1)}
    raise BadName(f"folds is a {type(folds).__name__}.", "a dict or a list of tables.")


def _table(name: str, source: object, what: What, handed: Handed, dense: Dense | None) -> Table:
    if isinstance(source, Log):
        frame = source.frame.drop(ROW, strict=False).rename({USER: "list"})
        return Table(frame, dict.fromkeys(frame.columns, ""), source.source, False, False, None)
    if dense is not None and hasattr(source, "tocoo"):
        return _by_position(source, dense)
    # A truth that goes by list takes its times where they bear the usual name, or are named.
    hints = {TIME: TIME, **(handed.columns or {})}
    table = read(source, what, hints=hints, list_key=handed.list_key)
    if table.frame.is_empty():  # nothing says what kind of times its column would hold
        table = replace(table, frame=table.frame.drop(TIME, strict=False))
    path = getattr(source, "source", source)
    if isinstance(path, (str, PathLike)) and _holds_sets(table):
        return _by_first_set(path, table)
    if handed.keyed and name in BY_LIST and "list" not in table.frame.columns:
        raise BadTable(
            f"{name} ({table.source}) has no column {handed.list_key!r}.",
            "the key of lists in predictions and in truth: an audit goes by list.",
        )
    return table


def _by_position(source: Any, dense: Dense) -> Table:
    """A sparse matrix of the scores' shape, whose rows and columns are those of the scores."""
    from rectitude.engines.cells import named, table_made
    from rectitude.predictions.top import by_position

    cells = by_position(dense, source, "a part").tocoo()
    return table_made(named(dense, cells.row, cells.col), "sparse matrix")


def _holds_sets(table: Table) -> bool:
    """Whether a table was read from a file of two sets a line, such as symptoms and herbs."""
    return table.recognised.partition(" ")[0] == "sets"


def _by_first_set(path: str | PathLike[str], table: Table) -> Table:
    """Such a table with the first set of each line as its user, numbers ascending: the numbers of
    lines, by which it was read, say nothing across files."""
    import polars as pl

    lines = numbered_lines(opened(Path(fspath(path)).expanduser()))
    halves = lines.select(pl.col("line").str.split("\t"))
    first, second = (pl.col("line").list.get(side).str.extract_all(r"\S+") for side in (0, 1))
    user = first.list.eval(pl.element().sort_by(pl.element().cast(pl.Int64))).list.join(" ")
    frame = halves.select(user.alias("list"), second.alias("item"))
    return replace(table, frame=frame.filter(pl.col("item").list.len() > 0).explode("item"))


def _joined(tables: dict[str, Table]) -> dict[str, Table]:
    """The tables, what is shown of users added to train."""
    import polars as pl

    shown = tables.pop("shown", None)
    if shown is not None:
        frames = [tables["train"].frame, shown.frame]
        tables["train"] = replace(tables["train"], frame=pl.concat(frames, how="diagonal_relaxed"))
    return tables
