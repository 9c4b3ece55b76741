"""Models: simple ones that ship, and any object with `fit` and `recommend`."""

from __future__ import annotations

from typing import Any

from rectitude.errors import BadName, unknown_name
from rectitude.models import ease, factors, neighbours, popular, retrieval
from rectitude.models.predict import Predicted, learnt_from, predicted
from rectitude.models.protocol import Model, Plugins, imported, is_path
from rectitude.models.recommender import Recommender
from rectitude.models.registry import MODELS, RegisteredModel
from rectitude.models.served import Served

__all__ = [
    "MODELS",
    "MODULES",
    "Model",
    "Predicted",
    "Recommender",
    "RegisteredModel",
    "Served",
    "learnt_from",
    "model_of",
    "predicted",
]
MODULES = (popular, neighbours, ease, factors, retrieval)
"""Where the models are: importing a module registers its own."""
SERVED = "predictions"
"""The name under which lists of a file are a model."""


def model_of(name: str, *, plugins: Plugins = "on", **parameters: Any) -> Model:
    """A model by name, not yet fitted: one that ships, `predictions` from a `source`, or an object
    of one's own by its import path `package.module:Object`, unless `plugins` are "off".

    >>> model_of("item-knn", neighbours=50).name
    'item-knn'
    """
    if is_path(name):
        return imported(name, parameters, plugins)
    if name == SERVED:
        if set(parameters) != {"source"}:
            raise BadName(
                f"model {name!r} was given {', '.join(parameters) or 'nothing'}.",
                "source alone: a file or a table of lists.",
            )
        return Served(parameters["source"])
    if name not in MODELS:
        note = "a model of your own is named by its import path, package.module:Object."
        raise unknown_name("model", name, [*MODELS, SERVED], note=note)
    MODELS[name].require(parameters)
    return Recommender(MODELS[name], parameters)
