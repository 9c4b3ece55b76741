"""The models by name: what each learns, its parameters, and what it does about the unknown."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.errors import BadName, unknown_name
from rectitude.models.matrix import UserProfiles, Weights
from rectitude.models.protocol import Rest, UnknownItems, UnknownUsers
from rectitude.models.ranking import Scores
from rectitude.options import require_fitting

Progress = Callable[[int, int], None]
"""Called with what is done and with all."""
FoldIn = Literal["scored", "unknown"]
"""Whether users of whom there is nothing but a history are scored by it, or are unknown."""
COMMON: Mapping[str, tuple[Any, str]] = {
    "unknown_users": (UnknownUsers, "what users get of whom nothing is known"),
    "rest": (Rest, "what follows on the items that have a score"),
    "weights": (Weights, "what a pair of user and item weighs"),
}
"""Parameters that every model has beside its own: type and meaning."""


def anything_known(profiles: UserProfiles) -> Flags:
    """Who had any item of train."""
    flags: Flags = np.diff(profiles.rows.indptr) > 0
    return flags


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a model has learnt, as a function from users to scores."""

    score: Callable[[UserProfiles], Scores]
    items: pl.Series | None = None
    """the items it can score, sorted; those of train unless it says others"""
    knows: Callable[[UserProfiles], Flags] = anything_known
    """which users it can score"""
    note: Mapping[str, str] | None = None
    """what is to be known about the learning, for the ledger"""


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model that can be asked for by name."""

    name: str
    learn: Callable[..., Learnt]
    about: str
    """one sentence"""
    fold_in: FoldIn
    unknown_items: UnknownItems
    defaults: Mapping[str, Any]
    """of the parameters that all models have"""

    @property
    def own(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of this model alone."""
        taken = list(inspect.signature(self.learn).parameters.items())[1:]
        return {name: one for name, one in taken if name != "progress"}

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with its default; `...` stands for one that must be given."""
        own = {n: ... if p.default is p.empty else p.default for n, p in self.own.items()}
        return {**own, **self.defaults}

    def require(self, given: Mapping[str, Any]) -> None:
        """An error if a parameter is unknown, of the wrong type, or missing."""
        hints = {n: hint for n, hint in get_type_hints(self.learn).items() if n in self.own}
        hints |= {name: COMMON[name][0] for name in self.defaults}
        for name, value in given.items():
            if name not in hints:
                raise unknown_name("parameter", name, hints, where=f"model {self.name!r}")
            require_fitting(value, hints[name], f"{name} of model {self.name!r}")
        missing = [name for name, value in self.parameters.items() if value is ...]
        if set(missing) - set(given):
            raise BadName(
                f"model {self.name!r} was given no {' and no '.join(missing)}.", "a value for it."
            )


MODELS: dict[str, RegisteredModel] = {}
"""The models that ship, by name."""
_DEFAULTS = {"unknown_users": "popular", "rest": "popular", "weights": "binary"}


def model(
    name: str,
    *,
    fold_in: FoldIn,
    unknown_items: UnknownItems = "left_out",
    without: tuple[str, ...] = (),
) -> Callable[[Callable[..., Learnt]], Callable[..., Learnt]]:
    """Make a function from the matrix of train to what was learnt a model under a name.

    Its keywords are the parameters, and the first sentence of its docstring says what it is.
    `without` names common parameters that mean nothing to it.
    """

    def register(function: Callable[..., Learnt]) -> Callable[..., Learnt]:
        text = inspect.getdoc(function) or ""
        about = " ".join(text.partition("\n\n")[0].split())
        common = {n: v for n, v in _DEFAULTS.items() if n not in without}
        MODELS[name] = RegisteredModel(name, function, about, fold_in, unknown_items, common)
        return function

    return register


def positive(value: float, name: str, least: float = 1) -> None:
    """An error if a number is below what it can be."""
    if not value >= least:
        raise BadName(f"{name} is {value}.", f"a number from {least:g} on.")
