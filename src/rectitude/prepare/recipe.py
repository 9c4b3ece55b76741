"""Recipes: steps as data, checked before anything runs, and run one after the other.

Recipe files, and the lines on which their steps and parameters stand.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, open_log
from rectitude.errors import (
    BadName,
    NothingToEvaluate,
    RectitudeError,
    UnreadableFile,
    unknown_name,
)
from rectitude.options import in_words, require_fitting
from rectitude.prepare.steps import STEPS

_HEADING = re.compile(r"^[ \t]*\[\[\s*steps\s*\]\]", re.MULTILINE)
_INLINE = re.compile(r"\{")
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")


def read_toml(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it holds."""
    shown = os.fspath(path)
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UnreadableFile(
            f"the recipe {shown} cannot be read: {cause}.", "a TOML file with [[steps]]."
        ) from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        where = place.rstrip(")") or "the end of the document"
        raise UnreadableFile(
            f"{shown}, {where}: {message}.",
            "TOML: key = value, with text in quotes, under headings [[steps]].",
        ) from None


class Lines:
    """Where things stand in the text of a recipe."""

    def __init__(self, text: str, label: str) -> None:
        self.text = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        self.label = label

    @cached_property
    def _starts(self) -> list[int]:
        """Where each step begins: its heading, or the brace of an inline table."""
        found = _HEADING if _HEADING.search(self.text) else _INLINE
        return [match.start() for match in found.finditer(self.text)]

    def place(self, step: int, key: str) -> str:
        """The line of a parameter of a step, or of the step itself."""
        starts = [*self._starts, len(self.text)]
        first, last = (starts[min(at, len(starts) - 1)] for at in (step, step + 1))
        match = _assigned(key).search(self.text, first, last) if key else None
        return self._line(match.start(1) if match else first)

    def key(self, key: str) -> str:
        """The line of a key outside all steps."""
        match = re.search(rf"(?m)^[ \t]*(?:\[+\s*)?[\"']?({re.escape(key)})\b", self.text)
        return self._line(match.start(1) if match else 0)

    def _line(self, place: int) -> str:
        return f"{self.label}, line {self.text.count(chr(10), 0, place) + 1}"


def _assigned(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])[\"']?({re.escape(key)})[\"']?\s*=")


_NEAR = 1 << 16
"""So many rows at a time are looked through for the first that was removed: it is mostly near."""
Place = Callable[[int, str], str]
"""Where step i, or one of its parameters, stands: in words."""


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
    text, stored = read_toml(path)
    lines = Lines(text, os.fspath(path))
    for key in stored:
        if key not in ("steps", "about"):
            raise unknown_name("key", key, ("steps", "about"), where=lines.key(key))
    steps = stored.get("steps")
    if not isinstance(steps, list):
        raise BadName(f"{os.fspath(path)} has no steps.", "a heading [[steps]] for each step.")
    return planned(steps, lines.place)


def _checked(step: object, number: int, where: Place) -> Planned:
    """A step with a known name, known parameters of the right type, and none missing."""
    if not isinstance(step, Mapping) or not isinstance(step.get("step"), str):
        raise BadName(
            f"{where(number, '')}: {step!r:.80} names no step.",
            "a table such as { step = 'k_core', users = 5, items = 5 }.",
        )
    name = step["step"]
    if name not in STEPS:
        raise unknown_name("step", name, STEPS, where=f"{where(number, 'step')}: the recipe")
    known, needed = _signature(name)
    given = {key: value for key, value in step.items() if key != "step"}
    for key, value in given.items():
        place = where(number, key)
        if key not in known:
            raise unknown_name("parameter", key, known, where=f"{place}: step {name}")
        require_fitting(value, known[key], f"{place}: {key} of {name}")
    missing = [key for key in needed if key not in given]
    if missing:
        raise BadName(
            f"{where(number, 'step')}: step {name} lacks {missing[0]!r}.",
            f"{in_words(known[missing[0]])}.",
        )
    return Planned(name, given, where(number, "step"))


@cache
def _signature(name: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The parameters of a step with their types, and those without a default."""
    step = STEPS[name]
    parameters = [one for one in inspect.signature(step).parameters.values() if one.name != "log"]
    hints = get_type_hints(step)
    needed = tuple(one.name for one in parameters if one.default is inspect.Parameter.empty)
    return {one.name: hints[one.name] for one in parameters}, needed


def _run(log: Log, step: Planned, number: int) -> Log:
    """What one step left, with its account in the ledger."""
    try:
        left = STEPS[step.name](log, **step.parameters)
    except RectitudeError as error:
        found = f"{step.place}: {step.name}: {error.found}"
        raise type(error)(found, error.expected, error.advice) from None
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
