"""Making metrics of classes: which arguments a constructor takes, and which are numbers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from rectitude.errors import BadName, MissingNeed
from rectitude.torch.metrics.base import BaseMetric
from rectitude.torch.metrics.kinds import TopKMetric

_SHARED = ("k", "num_users", "num_items")
"""what every metric may ask for"""


def made(cls: type[BaseMetric], given: Mapping[str, Any]) -> BaseMetric:
    """A metric of a class, handed what its constructor takes of what there is."""
    takes = _parameters(cls)
    everything = any(one.kind is one.VAR_KEYWORD for one in takes.values())
    chosen = {n: v for n, v in given.items() if n in takes or (everything and n not in _SHARED)}
    missing = [
        name
        for name, one in takes.items()
        if one.default is one.empty and name not in chosen and one.kind is not one.VAR_KEYWORD
    ]
    if missing:
        raise MissingNeed(
            f"metric class {cls.__name__} needs {', '.join(missing)}.",
            f"nothing beyond {', '.join(sorted(given))}.",
            "give the parameter a default, or make the metric yourself.",
        )
    return cls(**chosen)


def typed(cls: type[BaseMetric], numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers as the constructor wants them: whole ones where its defaults are whole."""
    takes = _parameters(cls)
    for name, value in numbers.items():
        if isinstance(takes[name].default, int) and not float(value).is_integer():
            raise BadName(f"{name} of {cls.__name__} cannot be {value:g}.", "a whole number.")
    return {name: type(takes[name].default)(value) for name, value in numbers.items()}


def numbers_of(cls: type[BaseMetric]) -> dict[str, float]:
    """The constructor's own numbers: parameters with a number as their default."""
    return {
        name: float(one.default)
        for name, one in _parameters(cls).items()
        if isinstance(one.default, int | float)
        and not isinstance(one.default, bool)
        and name not in _SHARED
    }


def require_cutoff(cls: type[BaseMetric], k: int | None, name: str) -> None:
    """An error if a metric of the first k places was asked for without a cutoff."""
    if k is None and issubclass(cls, TopKMetric):
        raise BadName(f"{name!r} looks at the first places.", f"a cutoff: {name}@10.")


def _parameters(cls: type[BaseMetric]) -> dict[str, inspect.Parameter]:
    """The parameters of the constructor that can be given by name."""
    return {
        name: one
        for name, one in inspect.signature(cls).parameters.items()
        if one.kind is not one.VAR_POSITIONAL
    }
