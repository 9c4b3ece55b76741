"""Recipes: steps as data, checked before anything runs, and run one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, open_log
from rectitude.errors import BadName, NothingToEvaluate, unknown_name
from rectitude.options import (
    KeyLines,
    in_words,
    missing_from,
    options_of,
    read_text,
    read_toml,
    require_option,
    told_at,
    toml_lines,
)
from rectitude.prepare.steps import STEPS

Place = Callable[[int, str], str]
"""Where step i, or one of its parameters, stands: in words."""
_NEAR = 1 << 16
"""So many rows at a time are looked through for the first that was removed: it is mostly near."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One step of a recipe: its name, its parameters, and where it stands."""

    name: str
    parameters: Mapping[str, Any]
    place: str

    def __str__(self) -> str:
        given = ", ".join(f"{key} = {value!r}" for key, value in self.parameters.items())
        return f"{self.name}({given})"


def prepare(source: object, recipe: object) -> Log:
    """A log after all steps of a recipe: dicts with the name of a step under `step` and its
    parameters beside it, or the path of a TOML file with `[[steps]]`.

    The log's ledger says what each step met and left.
    """
    steps = read_recipe(recipe)
    log = open_log(source)
    if not log.frame.height:
        raise NothingToEvaluate(f"{log.source} holds no rows.", "at least one interaction.")
    size, log = log.counted, replace(log, ledger=log.ledger + Ledger())
    log.counted.extend(size)
    done = sum(name.startswith("step ") for name in log.ledger.notes)
    for number, step in enumerate(steps, done + 1):
        log = _run(log, step, number)
    return log


def read_recipe(recipe: object) -> list[Planned]:
    """The steps of a recipe, every one checked."""
    if isinstance(recipe, str | os.PathLike):
        return _from_file(recipe)
    if isinstance(recipe, Mapping):
        recipe = recipe.get("steps", [recipe])
    if isinstance(recipe, Sequence) and not isinstance(recipe, str | bytes):
        return planned(recipe)
    raise BadName(
        f"a recipe is {type(recipe).__name__}.",
        "a list of steps such as [{'step': 'k_core', 'users': 5, 'items': 5}], or a TOML file.",
    )


def planned(steps: Sequence[object], place: Place | None = None) -> list[Planned]:
    """Steps as dicts, each checked against the function that it names."""
    where = place or (lambda number, _: f"step {number + 1}")
    return [_checked(step, number, where) for number, step in enumerate(steps)]


def _from_file(path: str | os.PathLike[str]) -> list[Planned]:
    label = os.fspath(path)
    text = read_text(path, "recipe", "a TOML file with [[steps]].")
    stored = read_toml(
        text, label, "TOML: key = value, with text in quotes, under headings [[steps]]."
    )
    lines = KeyLines(label, toml_lines(text))
    for key in stored:
        if key not in ("steps", "about"):
            raise unknown_name("key", key, ("steps", "about"), where=lines.where((key,)))
    steps = stored.get("steps")
    if not isinstance(steps, list):
        raise BadName(f"{label} has no steps.", "a heading [[steps]] for each step.")
    return planned(steps, lambda number, key: lines.where(("steps", number, key)))


def _checked(step: object, number: int, where: Place) -> Planned:
    """A step with a known name, known parameters of the right type, and none missing."""
    if not isinstance(step, Mapping) or not isinstance(step.get("step"), str):
        raise BadName(
            f"{where(number, '')}: {step!r:.80} names no step.",
            "a table such as { step = 'k_core', users = 5, items = 5 }.",
        )
    name, place = step["step"], where(number, "step")
    if name not in STEPS:
        raise unknown_name("step", name, STEPS, where=f"{place}: the recipe")
    known = options_of(STEPS[name])
    given = {key: value for key, value in step.items() if key != "step"}
    for key, value in given.items():
        with told_at(where(number, key)):
            require_option(key, value, known, f"step {name}", whose=name)
    for key in missing_from(given, known):
        raise BadName(f"{place}: step {name} lacks {key!r}.", f"{in_words(known[key].kind)}.")
    return Planned(name, given, place)


def _run(log: Log, step: Planned, number: int) -> Log:
    """What one step left, with its account in the ledger."""
    with told_at(f"{step.place}: {step.name}"):
        left = STEPS[step.name](log, **step.parameters)
    if not left.frame.height:
        raise NothingToEvaluate(
            f"{step.place}: {step} left none of {log.frame.height:,} rows.",
            "at least one row after every step.",
            "loosen this step, or those before it.",
        )
    ledger, title = left.ledger, f"step {number}"
    ledger.note(title, str(step))
    size, after = log.size, left.size
    for word, had, has in zip(("rows", "users", "items"), size, after, strict=True):
        ledger.count(f"{title}: {word}", has, f"{word} left by {title}, {step.name}", had)
    example = _first_removed(log.frame, left.frame) if after[0] < size[0] else ""
    about = f"rows removed by {title}, {step.name}"
    ledger.count(f"{title}: removed", size[0] - after[0], about, size[0], example)
    return left


def _first_removed(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """The first row that a step removed, in words; steps that remove rows keep their order."""
    rows, left, place = before[ROW].to_numpy(), after[ROW].to_numpy(), 0
    while place < len(left) and rows[place] == left[place]:
        differ = rows[place : len(left)][:_NEAR] != left[place:][:_NEAR]
        place += int(differ.argmax()) if differ.any() else len(differ)
    found = before.row(place, named=True)
    return f"row {found[ROW] + 1}, user {found['user']!r}, item {found['item']!r}"
