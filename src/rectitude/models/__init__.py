"""Models: simple built-in ones, and any object with `fit` and `recommend`."""

from __future__ import annotations

from typing import Any

from rectitude.errors import BadArgument, unknown_name
from rectitude.extensions import Plugins, is_path
from rectitude.models import ease, factors, neighbours, popular, retrieval
from rectitude.models.predict import Predicted, fit_model, predict_split
from rectitude.models.protocol import Model, import_model
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
    "fit_model",
    "model_of",
    "predict_split",
]
MODULES = (popular, neighbours, ease, factors, retrieval)
"""The modules of the built-in models; importing a module registers its models."""
SERVED = "predictions"
"""The model name for lists that are read from a file."""


def model_of(name: str, *, plugins: Plugins = "on", **parameters: Any) -> Model:
    """Return a model by name, not yet fitted.

    The name is that of a built-in model, `predictions` for lists from a `source`, or the import
    path `package.module:Object` of your own model, unless `plugins` is "off".

    >>> model_of("item-knn", neighbours=50).name
    'item-knn'
    """
    if is_path(name):
        return import_model(name, parameters, plugins)
    if name == SERVED:
        if set(parameters) != {"source"}:
            raise BadArgument(
                f"model {name!r} was given {', '.join(parameters) or 'nothing'}.",
                "only source: a file or a table of lists.",
            )
        return Served(parameters["source"])
    if name not in MODELS:
        note = "name your own model by its import path, package.module:Object."
        raise unknown_name("model", name, [*MODELS, SERVED], note=note)
    MODELS[name].require(parameters)
    return Recommender(MODELS[name], parameters)
