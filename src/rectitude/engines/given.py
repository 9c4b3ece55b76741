"""The tables that an engine is given: out of their wrappers, and whether the engine can move
them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from rectitude.data.table import Source, is_wrapped
from rectitude.errors import BadArgument
from rectitude.evaluation.parts import Side


def unwrap(table: object) -> object:
    """Return the table in a wrapper, whose columns are named there."""
    if not is_wrapped(table):
        return table
    if table.users is not None:
        raise BadArgument(
            "rt.Lists has users=, and its rows are read by an engine.",
            "rt.Lists without users=.",
            "add a row with a list for each user, or use engine='local'.",
        )
    return table.source


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
