"""The ways of splitting by name, so that recipes, protocols and commands can name them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

from rectitude.data.log import Log
from rectitude.errors import BadName, unknown_name
from rectitude.prepare.kinds import require_fitting
from rectitude.splits.split import Split

Splitter = Callable[..., Split | list[Split]]
SPLITTERS: dict[str, Splitter] = {}
Given = TypeVar("Given", bound=Splitter)


def splitter(function: Given) -> Given:
    """Make a function a way of splitting under its own name."""
    SPLITTERS[function.__name__] = function
    return function


def parameters(how: str) -> Mapping[str, inspect.Parameter]:
    """What a way of splitting takes beside the log."""
    if how not in SPLITTERS:
        raise unknown_name("split", how, SPLITTERS)
    return dict(list(inspect.signature(SPLITTERS[how]).parameters.items())[1:])


def apply(how: str, log: Log, options: Mapping[str, Any], seed: int) -> Split | list[Split]:
    """Split a log, with a clear error for a name or choice that does not exist."""
    known = parameters(how)
    given = {"seed": seed, **options} if "seed" in known else dict(options)
    require_known(SPLITTERS[how], given, f"split {how!r}")
    return SPLITTERS[how](log, **given)


def single(how: Mapping[str, Any], log: Log, seed: int) -> Split:
    """One split by {"how": name, parameter: value, ...}, as splits inside of splits are written."""
    options = dict(how)
    name = options.pop("how", None)
    if name is None:
        raise BadName(f"{dict(how)!r} does not say how.", '{"how": "leave_last", "n": 1}.')
    found = apply(name, log, options, seed)
    if isinstance(found, list):
        raise BadName(f"split {name!r} gives a series of {len(found)} splits.", "one split.")
    return found


def require_known(function: Callable[..., Any], options: Mapping[str, Any], where: str) -> None:
    """Options that a function takes, of the right types, and nothing missing, or a clear error."""
    taken = dict(list(inspect.signature(function).parameters.items())[1:])
    hints = get_type_hints(function)
    for name, value in options.items():
        if name not in taken:
            raise unknown_name("parameter", name, taken, where=where)
        require_fitting(value, hints[name], f"{name} of {where}")
    missing = [n for n, one in taken.items() if one.default is one.empty and n not in options]
    if missing:
        raise BadName(f"{where} was given no {' and no '.join(missing)}.", "a value for it.")
