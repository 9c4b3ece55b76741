"""What the function of a metric says of itself: its sentence, its switches and its own numbers and
texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.errors import unknown_name

_signature = lru_cache(inspect.signature)


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a function, read once where possible: it takes a while."""
    return (_signature if isinstance(function, FunctionType) else inspect.signature)(function)


def is_ours(function: Callable[..., Any]) -> bool:
    """Whether a function is one of this library; what wraps one says that it is, and is not."""
    return function.__module__.startswith("rectitude.") and not hasattr(function, "__wrapped__")


def about(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def keywords(
    function: Callable[..., Any], counts: Callable[..., Any] | None = None
) -> tuple[tuple[str, ...], dict[str, float | str]]:
    """The switches, and the own numbers and texts, among the keyword-only parameters of a metric's
    function and of what counts for it."""
    switches: list[str] = []
    numbers: dict[str, float | str] = {}
    counting = {} if counts is None else inspect.signature(counts).parameters
    for name, parameter in {**counting, **inspect.signature(function).parameters}.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "facts":
            continue
        if parameter.default is not parameter.empty:
            given = parameter.default
            numbers[name] = given if isinstance(given, str) else float(given)
            continue
        if name not in SWITCHES or SWITCHES[name].stage != "metrics":
            known = [s.name for s in SWITCHES.values() if s.stage == "metrics"]
            raise unknown_name(
                "switch", name, known, where=f"metric {function.__name__!r}",
                note="a keyword-only parameter is a switch; give it a default to make it a number.",
            )  # fmt: skip
        switches.append(name)
    return tuple(switches), numbers


def taken(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function takes of the keyword arguments for a metric."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {name: value for name, value in given.items() if name in own}


def written(value: float | str) -> str:
    """A metric's own number or text, as people read it."""
    return value if isinstance(value, str) else f"{value:g}"
