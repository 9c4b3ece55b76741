"""What a switch is: its stage, its sentence, its choices with theirs, and which values it takes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, cast

from rectitude.errors import BadName, nearest, unknown_name

Stage = Literal["truth", "order", "judge", "metrics", "aggregate", "present"]


def switch(stage: Stage, default: str, about: str, **choices: str) -> Any:
    """A switch with named choices, each explained in one sentence."""
    return field(default=default, metadata={"stage": stage, "about": about, "choices": choices})


def number(stage: Stage, default: float | None, about: str, least: float | None) -> Any:
    """A switch that is a number or None."""
    return field(default=default, metadata={"stage": stage, "about": about, "least": least})


@dataclass(frozen=True, slots=True)
class Switch:
    """What is known about one switch: its stage, its sentence, its choices and their sentences."""

    name: str
    stage: Stage
    about: str
    default: str | float | None
    choices: Mapping[str, str]
    least: float | None = None


def switches_of(declared: type) -> dict[str, Switch]:
    """The switches that a dataclass declares, by name."""
    facts: dict[str, Switch] = {}
    for f in dataclasses.fields(declared):
        texts = {"choices": {}, "least": None, **f.metadata}
        facts[f.name] = Switch(f.name, default=cast("str | float | None", f.default), **texts)
    return facts


def checked(switch: Switch, value: Any) -> Any:
    """A value that a switch takes, or an error with its choices."""
    if not switch.choices:
        return _checked_number(switch, value)
    if isinstance(value, str) and value in switch.choices:
        return value
    note = "" if nearest(str(value), switch.choices) else switch.about
    where = f"switch {switch.name!r}"
    raise unknown_name("choice", str(value), switch.choices, where=where, note=note)


def _checked_number(switch: Switch, value: Any) -> float | int | None:
    if value is None:
        return None
    whole = switch.name == "decimals"
    real = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    low = -math.inf if switch.least is None else switch.least
    if not real or value < low or (whole and value != int(value)):
        least = f" of at least {switch.least:g}" if switch.least is not None else ""
        kind = "a whole number" if whole else "a finite number"
        raise BadName(
            f"switch {switch.name!r} cannot be {value!r}.", f"{kind}{least}, or None.", switch.about
        )
    return int(value) if whole else float(value)
