"""The tables that an engine is given: out of their wrappers, and whether the engine can move
them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import polars as pl

from rectitude.data.table import Source, is_wrapped
from rectitude.errors import BadArgument, UnreadableFile
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.parts import Side, users_of


def unwrap(table: object) -> object:
    """Return the table in a wrapper, whose columns are named there."""
    if not is_wrapped(table):
        return table
    form = getattr(table, "format", None)
    if form is not None:
        raise BadArgument(
            f"the format {form!r} is named for {table.source!r}, which is read by an engine.",
            "Parquet, or another format that the engine recognises by the ending of the path.",
            "convert the file (rectitude convert), or use engine='local'.",
        )
    return table.source


def take_users(given: RawInputs) -> pl.Series | None:
    """Return the users that are named beside the predictions; None if none are named."""
    users = users_of(given)
    if users is not None and given.list_key != "user":
        raise BadArgument(
            f"rt.Lists has users=, and lists are identified by {given.list_key!r}: nothing tells "
            "which user an empty list belongs to, by whom an engine divides the rows.",
            "rt.Lists without users=, or lists of users.",
            "use engine='local' to evaluate in memory.",
        )
    return users


def wrap(given: object, source: Source) -> object:
    """Return a source with the names of columns that were given with the table."""
    return replace(given, source=source) if is_wrapped(given) else source  # type: ignore[type-var]


def refuse_other(source: object, name: str, engine: str, wanted: str, advice: str) -> None:
    """Raise an error for a table that must be one of the engine's, because its rows are moved."""
    if name in get_args(Side):
        raise BadArgument(
            f"the predictions are read by {engine}, but {name} is of type {type(source).__name__}.",
            f"{wanted} or a path for predictions, truth, train, users and weights.",
            f"{advice}, or engine='local' to evaluate in memory.",
        )


def refuse_unreadable(path: str, engine: str, error: Exception) -> UnreadableFile:
    """Return the error for a path that an engine cannot read."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    telling = ("[FAILED_READ_FILE", "Exception: ")
    said = next((line for words in telling for line in lines if words in line), lines[0])
    return UnreadableFile(
        f"{engine} cannot read {path}: {said.strip():.300}",
        "the path of a file or folder that all its machines see, or for Spark the name of a table.",
    )
