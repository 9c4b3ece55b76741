"""The models by name: what each learns, its parameters, and what it does about the unknown."""

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
"""Called with what is done and with all."""
FoldIn = Literal["scored", "unknown"]
"""Whether users of whom there is nothing but a history are scored by it, or are unknown."""
COMMON: Options = {
    "unknown_users": Option(UnknownUsers, "popular"),
    "rest": Option(Rest, "popular"),
    "weights": Option(Weights, "binary"),
}
"""What every model takes beside its own: what users get of whom nothing is known, what follows on
the items that have a score, and what a pair of user and item weighs."""


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
    common: Options
    """what it takes of that which is common to models"""

    @property
    def own(self) -> Options:
        """What this model takes of its own."""
        taken = options_of(self.learn)
        return {name: one for name, one in taken.items() if name != "progress"}

    @property
    def options(self) -> Options:
        """All that it takes."""
        return {**self.own, **self.common}

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter with its default; `...` stands for one that must be given."""
        return {name: one.default for name, one in self.options.items()}

    def require(self, given: Mapping[str, Any]) -> None:
        """An error if a parameter is unknown, of the wrong type, or missing."""
        require_options(given, self.options, f"model {self.name!r}")


MODELS: dict[str, RegisteredModel] = {}
"""The models that ship, by name."""


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
        common = {n: one for n, one in COMMON.items() if n not in without}
        MODELS[name] = RegisteredModel(name, function, about, fold_in, unknown_items, common)
        return function

    return register
