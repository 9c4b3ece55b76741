"""`Model`: what learns from a log and recommends, whoever wrote it.

A model of one's own is named by its import path, `package.module:Object`; naming one runs its code.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl

from rectitude.candidates.value import Candidates
from rectitude.data.log import Log
from rectitude.errors import BadName, RectitudeError, unknown_name

UnknownUsers = Literal["popular", "empty"]
"""What users get of whom a model knows nothing: what most users had, or no list."""
UnknownItems = Literal["left_out", "scored"]
"""Whether items that train does not hold are never recommended, or can be."""
Rest = Literal["popular", "left_out"]
"""What follows on the items that a model has a score for: popular ones, or nothing."""
Plugins = Literal["on", "off"]
_CALLS = {"fit": (1, ()), "recommend": (2, ("candidates", "seen"))}
"""How methods are called: with how many values, and with which keywords."""


@runtime_checkable
class Model(Protocol):
    """Two methods make a model.

    It may have more: `update(train)` learns from further rows, `unknown_users` and `unknown_items`
    say in words what it does with users and items that train does not hold, and `ledger` holds what
    it counted. `recommend` may take `history`, a log of what is shown of users beside train, and
    `fit` and `recommend` may take `progress`, which is called with what is done and with all.
    """

    def fit(self, train: Log) -> Any:
        """Learn from interactions, and forget what was learnt before; return the model, or
        nothing."""

    def recommend(
        self,
        users: pl.Series,
        k: int,
        *,
        candidates: Candidates | None = None,
        seen: pl.DataFrame | None = None,
    ) -> object:
        """A table of user, item, and score or rank: for each user at most k items, each once.

        Nothing but the candidates of a user may be recommended to him, if there are any, and
        nothing that `seen` (user, item) holds; None means what the model has met of the user.
        """


def is_path(name: str) -> bool:
    """Whether a name is an import path."""
    return ":" in name


def imported(path: str, given: Mapping[str, Any], plugins: Plugins = "on") -> Model:
    """The object at an import path; a class or function is called with the parameters."""
    _require_allowed(path, plugins)
    module, _, name = path.partition(":")
    found = _found(path, module, name)
    if inspect.isclass(found) or not hasattr(found, "fit"):
        found = _made(path, found, given)
    elif given:
        raise BadName(
            f"{path} is an object, and was given {', '.join(given)}.",
            "parameters for a class or a function that makes a model.",
        )
    return required(found, path)


def _require_allowed(path: str, plugins: Plugins) -> None:
    off = "plugins='off'" if plugins == "off" else "RECTITUDE_PLUGINS=off"
    if plugins == "off" or os.environ.get("RECTITUDE_PLUGINS", "") == "off":
        raise BadName(
            f"{path} would run code of its own, and {off} forbids that.",
            "a model that ships with rectitude, or predictions from a file.",
        )


def _found(path: str, module: str, name: str) -> Any:
    try:
        found: Any = import_module(module)
    except Exception as error:  # whatever a module of somebody else's raises
        raise BadName(
            f"{path}: {module!r} cannot be imported: {type(error).__name__}: {error}.",
            "a module that Python finds, as package.module:Object.",
            "install it, or set PYTHONPATH to the folder it lies in.",
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            known = [own for own in dir(found) if not own.startswith("_")]
            raise unknown_name("name", part, known, where=module)
        found = getattr(found, part)
    return found


def _made(path: str, maker: Any, given: Mapping[str, Any]) -> Any:
    if not callable(maker):
        raise BadName(f"{path} is a {type(maker).__name__}.", "a model, or what makes one.")
    try:
        return maker(**given)
    except RectitudeError:
        raise
    except Exception as error:
        words = ", ".join(f"{name}={value!r}" for name, value in given.items())
        raise BadName(
            f"{path}({words}) raised {type(error).__name__}: {error}.",
            "a model, made from the parameters given.",
        ) from error


def required(found: object, name: str) -> Model:
    """An object, if it is a model; else an error that says what it lacks."""
    lacks = [said for method in _CALLS if (said := _lacking(found, method))]
    if lacks or not isinstance(found, Model):
        raise BadName(
            f"{name} is no model: its {type(found).__name__} {' and '.join(lacks)}.",
            "fit(train) and recommend(users, k, *, candidates=None, seen=None).",
            "see docs/models.md for a model in ten lines.",
        )
    return found


def _lacking(found: object, method: str) -> str:
    own = getattr(found, method, None)
    if not callable(own):
        return f"has no method {method}"
    positional, named = _CALLS[method]
    try:
        inspect.signature(own).bind(*[None] * positional, **dict.fromkeys(named))
    except TypeError as error:
        return f"has a {method} that cannot be called so ({error})"
    except ValueError:  # written in C: calling it will show
        return ""
    return ""


def takes(function: Any, name: str) -> bool:
    """Whether a function takes a keyword."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
