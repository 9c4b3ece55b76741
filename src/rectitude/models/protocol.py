"""`Model`: anything that learns from a log and recommends items.

Name your own model by its import path, `package.module:Object`. Naming a model runs its code.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl

from rectitude.candidate_sets.value import Candidates
from rectitude.data.log import Log
from rectitude.errors import BadExtension, RectitudeError
from rectitude.extensions import Plugins, import_object

UnknownUsers = Literal["popular", "empty"]
"""What users get whom a model does not know: the most popular items, or no list."""
UnknownItems = Literal["left_out", "scored"]
"""Whether items that are not in the training data are never recommended, or can be."""
Rest = Literal["popular", "left_out"]
"""What fills a list after the items that a model can score: popular items, or nothing."""
_CALLS = {"fit": (("train",), ()), "recommend": (("users", "k"), ("candidates", "seen"))}
"""How methods are called: the positional arguments, and the keywords."""


@runtime_checkable
class Model(Protocol):
    """An object with the methods `fit` and `recommend`.

    More is optional. `update(train)` learns from further rows. `unknown_users` and `unknown_items`
    describe what the model does with users and items that are not in the training data, and
    `ledger` holds its counts. `recommend` may take `history`, a log of interactions that are known
    in addition to the training data. `fit` and `recommend` may take `progress`, a function that is
    called with the amount done and the total.
    """

    def fit(self, train: Log) -> Any:
        """Learn from interactions and forget everything learnt before. Return the model or None."""

    def recommend(
        self,
        users: pl.Series,
        k: int,
        *,
        candidates: Candidates | None = None,
        seen: pl.DataFrame | None = None,
    ) -> object:
        """Return a table of user, item, and score or rank: at most k distinct items for each user.

        If `candidates` are given, recommend only the candidates of a user. Never recommend the
        pairs (user, item) in `seen`; None means the items that the model knows from the user.
        """


def import_model(path: str, parameters: Mapping[str, Any], plugins: Plugins = "on") -> Model:
    """Return the object at an import path; call a class or function with the parameters."""
    target = import_object(path, "a built-in model, or predictions from a file", plugins)
    if inspect.isclass(target) or not hasattr(target, "fit"):
        target = _make_model(path, target, parameters)
    elif parameters:
        raise BadExtension(
            f"{path} is a model object, but was given the parameters {', '.join(parameters)}.",
            "parameters only for a class or a function that makes a model.",
            "name the class instead, or leave out the parameters.",
        )
    return require_model(target, path)


def _make_model(path: str, maker: Any, parameters: Mapping[str, Any]) -> Any:
    if not callable(maker):
        raise BadExtension(
            f"{path} is of type {type(maker).__name__}.",
            "a model, or a class or function that makes one.",
        )
    try:
        return maker(**parameters)
    except RectitudeError:
        raise
    except Exception as error:
        call = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        raise BadExtension(
            f"{path}({call}) raised {type(error).__name__}: {error}.",
            "a class or function that accepts these parameters.",
        ) from error


def require_model(candidate: object, name: str) -> Model:
    """Return an object if it is a model; otherwise raise an error that says what is missing."""
    problems = [problem for method in _CALLS if (problem := _find_problem(candidate, method))]
    if problems or not isinstance(candidate, Model):
        raise BadExtension(
            f"{name} is not a model: {' and '.join(problems)}.",
            "fit(train) and recommend(users, k, *, candidates=None, seen=None).",
            "see docs/models.md for a model in ten lines.",
        )
    return candidate


def _find_problem(candidate: object, method: str) -> str:
    """Return why a method is missing or cannot be called; empty if it can."""
    function, owner = getattr(candidate, method, None), type(candidate).__name__
    if not callable(function):
        return f"{owner} has no method {method}()"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: calling it will show
        return ""
    positional, named = _CALLS[method]
    missing = [f"{name}=" for name in named if not takes(function, name)]
    if missing:
        return f"{owner}.{method}() must accept {' and '.join(missing)}"
    try:
        signature.bind(*[None] * len(positional), **dict.fromkeys(named))
    except TypeError as error:
        call = ", ".join([*positional, *(f"{name}=None" for name in named)])
        return f"{owner}.{method}() cannot be called as {method}({call}): {error}"
    return ""


def takes(function: Any, name: str) -> bool:
    """Return whether a function takes a keyword."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
