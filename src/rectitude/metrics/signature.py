"""What the function of a metric says of itself: its sentence, its switches and its numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from rectitude.convention import SWITCHES
from rectitude.errors import unknown_name


def about(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")


def keywords(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, float]]:
    """The switches and the own numbers among the keyword-only parameters."""
    switches, numbers = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name == "facts":
            continue
        if parameter.default is not parameter.empty:
            numbers[name] = float(parameter.default)
            continue
        if name not in SWITCHES or SWITCHES[name].stage != "metrics":
            known = [s.name for s in SWITCHES.values() if s.stage == "metrics"]
            raise unknown_name(
                "switch", name, known, where=f"metric {function.__name__!r}",
                note="a keyword-only parameter is a switch; give it a default to make it a number.",
            )  # fmt: skip
        switches.append(name)
    return tuple(switches), numbers
