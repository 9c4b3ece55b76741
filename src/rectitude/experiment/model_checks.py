"""What can be known to be wrong with models before anything runs."""

from __future__ import annotations

from rectitude.errors import BadName, unknown_name
from rectitude.experiment.config import Entrant
from rectitude.experiment.fielded import Fielded
from rectitude.experiment.locating import placed, require_file, require_keys, require_package
from rectitude.experiment.places import At
from rectitude.experiment.reading import Loaded
from rectitude.models import MODELS
from rectitude.models.plugins import Plugins


def require_model(loaded: Loaded, fielded: Fielded, plugins: Plugins) -> None:
    """A model that exists, with parameters that it takes; of one's own, that its code may run."""
    entrant, table = fielded.entrant, ("models", fielded.name)
    if fielded.given is not None:
        return
    sources = [name for name in ("model", "python", "predictions") if getattr(entrant, name)]
    with placed(loaded, *table):
        if len(sources) > 1:
            raise BadName(f"{fielded.name} comes from {' and '.join(sources)}.", "one of them.")
    if entrant.python:
        _require_plugin(loaded, fielded, plugins)
    elif entrant.predictions:
        known = ("predictions", "format")
        require_keys(loaded, table, entrant.parameters, known, "a model from a file")
        at: At = (*table, "predictions")
        if "{split}" not in entrant.predictions:
            require_file(loaded, at, entrant.predictions)
    else:
        _require_shipped(loaded, fielded)
    if entrant.tune is not None:
        _require_tuning(loaded, fielded)


def _require_plugin(loaded: Loaded, fielded: Fielded, plugins: Plugins) -> None:
    path = fielded.entrant.python
    with placed(loaded, "models", fielded.name, "python"):
        if plugins == "off":
            raise BadName(
                f"{path} would run code of its own, and --no-plugins forbids that.",
                "a model that ships with rectitude, or predictions from a file.",
            )
        module = path.partition(":")[0]
        if not module or ":" not in path:
            raise BadName(f"python is {path!r}.", "an import path: package.module:Object.")


def _require_shipped(loaded: Loaded, fielded: Fielded) -> None:
    table = ("models", fielded.name)
    if fielded.kind not in MODELS:
        where = loaded.places.where((*table, "model"))
        note = "a model of your own is named by its import path: python = 'package.module:Object'."
        raise unknown_name("model", fielded.kind, MODELS, where=f"{where}: rectitude", note=note)
    entry = MODELS[fielded.kind]
    own = fielded.entrant.parameters
    known = [*entry.parameters, *Entrant.model_fields]
    require_keys(loaded, table, own, known, f"model {fielded.kind!r}")
    missing = {name: value for name, value in own.items() if entry.parameters[name] is ...}
    for name, value in own.items():
        with placed(loaded, *table, name):
            entry.require({**missing, name: value})
    if fielded.entrant.tune is None:
        with placed(loaded, *table):
            entry.require(own)


def _require_tuning(loaded: Loaded, fielded: Fielded) -> None:
    at: At = ("models", fielded.name, "tune")
    require_package(loaded, at, "optuna", "tune")
    space = fielded.entrant.tune.space if fielded.entrant.tune else {}
    if fielded.entrant.predictions:
        raise BadName(f"{loaded.places.where(at)}: lists from a file cannot be tuned.", "a model.")
    if not fielded.entrant.python:
        known = MODELS[fielded.kind].parameters
        require_keys(loaded, (*at, "space"), space, known, f"model {fielded.kind!r}")
    for name, values in space.items():
        where = loaded.places.where((*at, "space", name))
        if values == []:
            raise BadName(f"{where}: {name} has nothing to choose from.", "a list of choices.")
        if name in fielded.entrant.parameters:
            raise BadName(f"{where}: {name} is both set and searched for.", "one of them.")
    split = loaded.config.split
    if not (split.validation or split.parts or split.protocol):
        raise BadName(
            f"{loaded.places.where(at)}: {fielded.name} is to be tuned, and the split has no"
            " validation part.",
            'under [split]: validation = { how = "leave_last", n = 1 }.',
        )
