"""Which engine moves the rows of an evaluation: it is named, or the type of the predictions tells.

An engine is a module of `rectitude.engines` with `open_tables`, which is imported only if it is
needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.util import find_spec

from rectitude.data.table import is_wrapped
from rectitude.errors import BadArgument, MissingExtra
from rectitude.evaluation.evaluate import EvaluatePlans
from rectitude.evaluation.inputs import RawInputs
from rectitude.evaluation.plan import Slicings

ENGINES: Mapping[str, tuple[str, str]] = {
    "spark": ("pyspark", "pyspark.sql"),
    "ray": ("ray", "ray.data"),
}
"""the package of each engine, and the modules below which the types of its tables are defined"""


def find_engine(given: RawInputs, engine: str | None) -> str | None:
    """Return the engine that was named, or whose tables the predictions and the truth are; None if
    there is none."""
    if engine is not None and engine not in ("local", *ENGINES):
        known = ", ".join(map(repr, ("local", *ENGINES)))
        raise BadArgument(f"engine is {engine!r}.", f"one of {known}.")
    if engine is not None:
        return None if engine == "local" else engine
    sides = (given.inputs["predictions"], given.inputs["truth"])
    found = {engine_of(table) for table in sides}
    return found.pop() if len(found) == 1 else None


def engine_of(table: object) -> str | None:
    """Return the engine that a table belongs to; None if it is not a table of an engine."""
    frame = table.source if is_wrapped(table) else table
    module = type(frame).__module__
    below = (name for name, (_, types) in ENGINES.items() if f"{module}.".startswith(f"{types}."))
    return next(below, None)


def open_engine(
    engine: str, given: RawInputs, slicings: Slicings
) -> AbstractContextManager[EvaluatePlans]:
    """Open the tables of an engine; yield the function that evaluates plans with it."""
    package = ENGINES[engine][0]
    if find_spec(package) is None:
        raise MissingExtra(
            f"engine={engine!r} needs {package}, which is not installed.",
            "",
            f"pip install 'rectitude[{engine}]'",
        )
    open_tables = import_module(f"rectitude.engines.{engine}").open_tables
    opened: AbstractContextManager[EvaluatePlans] = open_tables(given, slicings)
    return opened
