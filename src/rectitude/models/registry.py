"""Models by name: how each learns, its parameters, and how it handles unknown users and items."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from rectitude.arrays import Flags
from rectitude.models.matrix import UserProfiles, Weights
from rectitude.models.protocol import Rest, UnknownItems, UnknownUsers
from rectitude.models.ranking import Scores
from rectitude.options import Option, Options, options_of, require_options

Progress = Callable[[int, int], None]
"""Called with the amount done and the total."""
FoldIn = Literal["scored", "unknown"]
"""Whether users who only have a history are scored from it, or count as unknown."""
COMMON: Options = {
    "unknown_users": Option(UnknownUsers, "popular"),
    "rest": Option(Rest, "popular"),
    "weights": Option(Weights, "binary"),
}
"""Parameters that most models share: what unknown users get, what fills a list after the scored
items, and how interactions are weighted."""


def anything_known(profiles: UserProfiles) -> Flags:
    """Return which users have an item of the training data."""
    flags: Flags = np.diff(profiles.rows.indptr) > 0
    return flags


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a model has learnt, as a function from user profiles to scores."""

    score: Callable[[UserProfiles], Scores]
    items: pl.Series | None = None
    """the items it can score, sorted; None for the items of the training data"""
    knows: Callable[[UserProfiles], Flags] = anything_known
    """returns which users it can score"""
    note: Mapping[str, str] | None = None
    """facts about the learning, for the ledger"""


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model that can be found by name."""

    name: str
    learn: Callable[..., Learnt]
    about: str
    """a description in one sentence"""
    fold_in: FoldIn
    unknown_items: UnknownItems
    common: Options
    """the shared parameters that it takes"""

    @property
    def own(self) -> Options:
        """The parameters that only this model takes."""
        parameters = options_of(self.learn)
        return {name: option for name, option in parameters.items() if name != "progress"}

    @property
    def options(self) -> Options:
        """All parameters."""
        return {**self.own, **self.common}

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with its default; `...` marks a required one."""
        return {name: option.default for name, option in self.options.items()}

    def require(self, given: Mapping[str, Any]) -> None:
        """Raise an error if a parameter is unknown, of the wrong type, or missing."""
        require_options(given, self.options, f"model {self.name!r}")


MODELS: dict[str, RegisteredModel] = {}
"""The built-in models by name."""


def model(
    name: str,
    *,
    fold_in: FoldIn,
    unknown_items: UnknownItems = "left_out",
    without: tuple[str, ...] = (),
) -> Callable[[Callable[..., Learnt]], Callable[..., Learnt]]:
    """Register a function as a model. It takes the matrix of training data and returns `Learnt`.

    Its keywords are the parameters, and the first sentence of its docstring describes the model.
    `without` names shared parameters that do not apply to it.
    """

    def register(function: Callable[..., Learnt]) -> Callable[..., Learnt]:
        text = inspect.getdoc(function) or ""
        about = " ".join(text.partition("\n\n")[0].split())
        common = {n: option for n, option in COMMON.items() if n not in without}
        MODELS[name] = RegisteredModel(name, function, about, fold_in, unknown_items, common)
        return function

    return register
