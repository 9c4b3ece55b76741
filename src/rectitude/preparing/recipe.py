"""Recipes: filter steps as data. All steps are checked before the first one runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, open_log
from rectitude.errors import BadSetting, NothingToEvaluate, unknown_name
from rectitude.options import (
    KeyLines,
    in_words,
    locate_errors,
    missing_from,
    options_of,
    require_option,
    toml_lines,
)
from rectitude.preparing.steps import STEPS
from rectitude.texts import parse_toml, read_settings

Place = Callable[[int, str], str]
"""Says where step i, or one of its parameters, was written."""
_NEAR = 1 << 16
"""How many rows to compare at a time to find the first removed row, which is usually early."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One step of a recipe: its name, its parameters, and where it was written."""

    name: str
    parameters: Mapping[str, Any]
    place: str

    def __str__(self) -> str:
        parameters = ", ".join(f"{key} = {value!r}" for key, value in self.parameters.items())
        return f"{self.name}({parameters})"


def prepare(source: object, recipe: object) -> Log:
    """Apply a recipe to a log: a list of dicts such as {"step": "k_core", "users": 5}, or the path
    of a TOML file with `[[steps]]`.

    The ledger of the log counts what each step removed.
    """
    steps = read_recipe(recipe)
    log = open_log(source)
    if not log.frame.height:
        raise NothingToEvaluate(f"{log.source} has no rows.", "at least one interaction.")
    size, log = log.counted, replace(log, ledger=log.ledger + Ledger())
    log.counted.extend(size)
    done = sum(name.startswith("step ") for name in log.ledger.notes)
    for number, step in enumerate(steps, done + 1):
        log = _run(log, step, number)
    return log


def read_recipe(recipe: object) -> list[Planned]:
    """Read and check the steps of a recipe."""
    if isinstance(recipe, str | os.PathLike):
        return _from_file(recipe)
    if isinstance(recipe, Mapping):
        recipe = recipe.get("steps", [recipe])
    if isinstance(recipe, Sequence) and not isinstance(recipe, str | bytes):
        return plan_steps(recipe)
    raise BadSetting(
        f"recipe is of type {type(recipe).__name__}.",
        "a list of steps such as [{'step': 'k_core', 'users': 5, 'items': 5}], or a TOML file.",
    )


def plan_steps(steps: Sequence[object], place: Place | None = None) -> list[Planned]:
    """Check steps given as dicts against the functions that they name."""
    where = place or (lambda number, _: f"step {number + 1}")
    return [_check_step(step, number, where) for number, step in enumerate(steps)]


def _from_file(path: str | os.PathLike[str]) -> list[Planned]:
    label = os.fspath(path)
    text = read_settings(path, "recipe", "a TOML file with [[steps]].")
    stored = parse_toml(
        text, label, "TOML: key = value, with text in quotes, under headings [[steps]]."
    )
    lines = KeyLines(label, toml_lines(text))
    for key in stored:
        if key not in ("steps", "about"):
            raise unknown_name("key", key, ("steps", "about"), where=lines.where((key,)))
    steps = stored.get("steps")
    if not isinstance(steps, list):
        raise BadSetting(f"{label} has no steps.", "a heading [[steps]] for each step.")
    return plan_steps(steps, lambda number, key: lines.where(("steps", number, key)))


def _check_step(step: object, number: int, where: Place) -> Planned:
    """Check the name of a step, and the names, types and presence of its parameters."""
    if not isinstance(step, Mapping) or not isinstance(step.get("step"), str):
        raise BadSetting(
            f"{where(number, '')}: {step!r:.80} does not name a step.",
            "a table such as { step = 'k_core', users = 5, items = 5 }.",
        )
    name, place = step["step"], where(number, "step")
    if name not in STEPS:
        raise unknown_name("step", name, STEPS, where=f"{place}: the recipe")
    accepted = options_of(STEPS[name])
    parameters = {key: value for key, value in step.items() if key != "step"}
    for key, value in parameters.items():
        with locate_errors(where(number, key)):
            require_option(key, value, accepted, f"step {name}", whose=name)
    for key in missing_from(parameters, accepted):
        kind = in_words(accepted[key].kind)
        raise BadSetting(f"{place}: step {name} lacks {key!r}.", f"{kind}.")
    return Planned(name, parameters, place)


def _run(log: Log, step: Planned, number: int) -> Log:
    """Run one step and record in the ledger what it removed."""
    with locate_errors(f"{step.place}: {step.name}"):
        left = STEPS[step.name](log, **step.parameters)
    if not left.frame.height:
        raise NothingToEvaluate(
            f"{step.place}: {step} removed all {log.frame.height:,} rows.",
            "at least one row after every step.",
            "relax this step, or an earlier one.",
        )
    ledger, title = left.ledger, f"step {number}"
    ledger.note(title, str(step))
    size, after = log.size, left.size
    for unit, before, now in zip(("rows", "users", "items"), size, after, strict=True):
        ledger.count(f"{title}: {unit}", now, f"{unit} left after {title}, {step.name}", before)
    example = _first_removed(log.frame, left.frame) if after[0] < size[0] else ""
    about = f"rows removed by {title}, {step.name}"
    ledger.count(f"{title}: removed", size[0] - after[0], about, size[0], example)
    return left


def _first_removed(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """Describe the first row that a step removed; such steps keep the order of rows."""
    rows, left, position = before[ROW].to_numpy(), after[ROW].to_numpy(), 0
    while position < len(left) and rows[position] == left[position]:
        differ = rows[position : len(left)][:_NEAR] != left[position:][:_NEAR]
        position += int(differ.argmax()) if differ.any() else len(differ)
    row = before.row(position, named=True)
    return f"row {row[ROW] + 1}, user {row['user']!r}, item {row['item']!r}"
