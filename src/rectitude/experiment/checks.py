"""Check an experiment before anything runs: names, parameters, files and packages.

Errors name the line of the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rectitude.candidate_sets.protocols import CANDIDATES
from rectitude.candidate_sets.sampling import plan_of
from rectitude.data.formats.foreign import refuse_address
from rectitude.data.formats.registry import format_named
from rectitude.data.formats.several import match_files
from rectitude.errors import BadExtension, BadSetting, MissingExtra, UnreadableFile, unknown_name
from rectitude.evaluation.axes import parse_slicings
from rectitude.experiment.attributes import require_attributes
from rectitude.experiment.config import NAME, STREAM, WORDS_OF_NAME, Entrant, SplitBy
from rectitude.experiment.models import ExperimentModel
from rectitude.experiment.reading import Loaded
from rectitude.experiment.stages import against_of, convention_of, metrics_of
from rectitude.experiment.windows import prequential
from rectitude.extensions import Plugins, import_object
from rectitude.metrics.names import parse_all
from rectitude.models import MODELS
from rectitude.options import (
    At,
    Options,
    locate_errors,
    options_of,
    require_option,
    require_options,
)
from rectitude.preparing.recipe import plan_steps, read_recipe
from rectitude.profiles import profile_of
from rectitude.splits.protocols import resolve
from rectitude.splits.split import parameters, require_parameters
from rectitude.splits.unknown import require_policies


def require_sound(
    loaded: Loaded, fielded: Sequence[ExperimentModel], has_data: bool, plugins: Plugins
) -> None:
    """Raise an error, with its line, for anything that cannot work; `has_data` says whether the
    data are passed in Python."""
    _require_data(loaded, has_data)
    _require_recipe(loaded)
    _require_split(loaded)
    _require_candidates(loaded)
    _require_metrics(loaded)
    require_attributes(loaded)
    for model in fielded:
        _require_model(loaded, model, plugins)
    _require_names(loaded, fielded)
    baseline, names = loaded.config.compare.baseline, [model.name for model in fielded]
    if baseline and baseline not in names:
        where = loaded.key_lines.where(("compare", "baseline"))
        raise unknown_name("model", baseline, names, where=f"{where}: this experiment")
    if loaded.config.mlflow is not None:
        require_package(loaded, ("mlflow",), "mlflow", "mlflow")


def _require_data(loaded: Loaded, has_data: bool) -> None:
    config = loaded.config
    sources = {"path": config.data.path, "shop": config.data.shop, "parts": config.split.parts}
    names = [name for name, value in sources.items() if value] + ["data="] * has_data
    if len(names) != 1:
        shown = " and ".join(names) or "none"
        raise BadSetting(
            f"{loaded.key_lines.where(('data',))}: sources of interactions: {shown}.",
            "exactly one: path or shop under [data], or parts under [split].",
        )
    files: dict[At, str] = {
        ("data", name): getattr(config.data, name) for name in ("path", "items", "users")
    }
    files[("split", "parts")] = config.split.parts
    for at, path in files.items():
        refuse_address(Path(path))
        found = loaded.path(path, at)
        if path and not found.exists() and not match_files(found):
            raise UnreadableFile(
                f"{loaded.key_lines.where(at)}: {loaded.path(path, at)} does not exist.",
                "an existing file; paths are relative to the experiment file.",
            )
    if config.data.format:
        with locate_errors_in(loaded, "data", "format"):
            format_named(config.data.format, "[data] format")


def _require_recipe(loaded: Loaded) -> None:
    recipe = loaded.config.prepare
    if isinstance(recipe, str):
        with locate_errors_in(loaded, "prepare"):
            read_recipe(loaded.path(recipe, ("prepare",)))
    else:
        plan_steps(recipe, lambda number, key: loaded.key_lines.where(("prepare", number, key)))


def _require_split(loaded: Loaded) -> None:
    chosen = loaded.config.split
    options = chosen.parameters
    if chosen.parts:
        require_keys(loaded, ("split",), options, (), "a split from parts")
        return
    if chosen.protocol:
        with locate_errors_in(loaded, "split", "protocol"):
            if chosen.how:
                raise BadSetting("both how and protocol are given.", "only one of them.")
            resolve(chosen.protocol, options)
        _require_inner(loaded)
        return
    how = chosen.how or "leave_last"
    if how == STREAM:
        _require_stream(loaded)
        return
    with locate_errors_in(loaded, "split", "how"):
        accepted = parameters(how, more=[STREAM])
    for key in options:
        with locate_errors_in(loaded, "split", key):
            require_parameters(how, [key], more=SplitBy.model_fields)
    label = f"split {how!r}"
    require_values(loaded, ("split",), options, accepted, label)
    with locate_errors_in(loaded, "split"):
        require_options(options, accepted, label)
    _require_inner(loaded)


def _require_stream(loaded: Loaded) -> None:
    chosen = loaded.config.split
    options = chosen.parameters
    require_keys(loaded, ("split",), options, options_of(prequential), "split 'prequential'")
    for name in ("validation", "unknown"):
        if getattr(chosen, name):
            where = loaded.key_lines.where(("split", name))
            raise BadSetting(
                f"{where}: the split 'prequential' does not support {name}.",
                f"another split, or no {name}.",
            )


def _require_inner(loaded: Loaded) -> None:
    """Check the validation split and the policies for unknown users and items."""
    chosen = loaded.config.split
    if isinstance(chosen.validation, dict):
        inner = dict(chosen.validation)
        with locate_errors_in(loaded, "split", "validation", "how"):
            how = inner.pop("how", None)
            if how is None:
                raise BadSetting(
                    "validation has no key how.", 'a table such as { how = "leave_last", n = 1 }.'
                )
            accepted = parameters(how)
        for key in inner:
            with locate_errors_in(loaded, "split", "validation", key):
                require_parameters(how, [key])
        with locate_errors_in(loaded, "split", "validation"):
            require_options(inner, accepted, f"split {how!r}")
    policies = {str(side): policy for side, policy in chosen.unknown.items()}
    with locate_errors_in(loaded, "split", "unknown"):
        require_policies(policies)


def _require_candidates(loaded: Loaded) -> None:
    chosen = loaded.config.candidates
    if not chosen.kind:
        require_keys(loaded, ("candidates",), chosen.parameters, ("kind",), "candidates")
        return
    if chosen.kind not in CANDIDATES:
        where = loaded.key_lines.where(("candidates", "kind"))
        raise unknown_name(
            "kind of candidates", chosen.kind, CANDIDATES, where=f"{where}: rectitude"
        )
    if chosen.kind == "given":
        require_keys(loaded, ("candidates",), chosen.parameters, ("source",), "given candidates")
        at: At = ("candidates", "source")
        require_file(loaded, at, str(chosen.parameters.get("source", "")))
    elif chosen.kind in ("full", "train_items"):
        require_keys(loaded, ("candidates",), chosen.parameters, (), f"{chosen.kind} candidates")
    elif chosen.kind == "sampled":
        for name, value in chosen.parameters.items():
            if name not in ("count", "seed"):
                with locate_errors_in(loaded, "candidates", name):
                    plan_of(100, {name: value})


def _require_metrics(loaded: Loaded) -> None:
    """Check that metrics, switches and kinds of slices exist."""
    with locate_errors_in(loaded, "evaluate", "convention"):
        profile = profile_of(convention_of(loaded))
    metrics = loaded.config.evaluate.metrics
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    with locate_errors_in(loaded, "evaluate", "metrics"):
        parse_all(metrics)
    for number, name in enumerate(names):
        key = name if isinstance(metrics, Mapping) else number
        with locate_errors_in(loaded, "evaluate", "metrics", key):
            for metric in parse_all(name):
                profile.resolve(metric)
    with locate_errors_in(loaded, "evaluate", "cutoffs"):
        metrics_of(loaded)
    for number, slicing in enumerate(loaded.config.evaluate.slices):
        with locate_errors_in(loaded, "evaluate", "slices", number):
            parse_slicings([slicing])
    explain = loaded.config.explain
    with locate_errors_in(loaded, "explain", "metric"):
        for metric in parse_all(explain.metric) if explain.metric else ():
            profile.resolve(metric)
    with locate_errors_in(loaded, "explain", "against"):
        profile_of(against_of(loaded) or None)
    for name, entrant in loaded.config.models.items():
        if entrant.tune is not None:
            with locate_errors_in(loaded, "models", name, "tune", "metric"):
                for metric in parse_all(entrant.tune.metric):
                    profile.resolve(metric)


def _require_model(loaded: Loaded, fielded: ExperimentModel, plugins: Plugins) -> None:
    """Check that a model exists and accepts its parameters; for a custom model, that it may run."""
    entrant, table = fielded.entrant, ("models", fielded.name)
    if fielded.source is not None:
        return
    sources = [name for name in ("model", "python", "predictions") if getattr(entrant, name)]
    with locate_errors_in(loaded, *table):
        if len(sources) > 1:
            raise BadSetting(f"{fielded.name} has {' and '.join(sources)}.", "only one of them.")
    if entrant.python:
        _require_plugin(loaded, fielded, plugins)
    elif entrant.predictions:
        accepted = ("predictions", "format")
        require_keys(loaded, table, entrant.parameters, accepted, "a model from a file")
        at: At = (*table, "predictions")
        if "{split}" not in entrant.predictions:
            require_file(loaded, at, entrant.predictions)
    else:
        _require_builtin(loaded, fielded)
    if entrant.tune is not None:
        _require_tuning(loaded, fielded)


def _require_plugin(loaded: Loaded, fielded: ExperimentModel, plugins: Plugins) -> None:
    path = fielded.entrant.python
    with locate_errors_in(loaded, "models", fielded.name, "python"):
        if plugins == "off":
            raise BadExtension(
                f"{path} is custom code, which --no-plugins does not allow.",
                "a built-in model, or predictions from a file.",
            )
        module = path.partition(":")[0]
        if not module or ":" not in path:
            raise BadSetting(f"python is {path!r}.", "an import path: package.module:Object.")
        import_object(path, "a built-in model, or predictions from a file", plugins)


def _require_builtin(loaded: Loaded, fielded: ExperimentModel) -> None:
    table = ("models", fielded.name)
    if fielded.kind not in MODELS:
        where = loaded.key_lines.where((*table, "model"))
        note = "to use your own model, set its import path: python = 'package.module:Object'."
        raise unknown_name("model", fielded.kind, MODELS, where=f"{where}: rectitude", note=note)
    entry = MODELS[fielded.kind]
    options, label = fielded.entrant.parameters, f"model {fielded.kind!r}"
    require_keys(loaded, table, options, [*entry.options, *Entrant.model_fields], label)
    require_values(loaded, table, options, entry.options, label)
    if fielded.entrant.tune is None:
        with locate_errors_in(loaded, *table):
            entry.require(options)


def _require_tuning(loaded: Loaded, fielded: ExperimentModel) -> None:
    at: At = ("models", fielded.name, "tune")
    require_package(loaded, at, "optuna", "tune")
    space = fielded.entrant.tune.space if fielded.entrant.tune else {}
    if fielded.entrant.predictions:
        raise BadSetting(
            f"{loaded.key_lines.where(at)}: lists from a file cannot be tuned.",
            "a model to tune, or no tune.",
        )
    if not fielded.entrant.python:
        accepted = MODELS[fielded.kind].parameters
        require_keys(loaded, (*at, "space"), space, accepted, f"model {fielded.kind!r}")
    for name, values in space.items():
        where = loaded.key_lines.where((*at, "space", name))
        if values == []:
            raise BadSetting(f"{where}: {name} is an empty list.", "a list of choices, or a range.")
        if name in fielded.entrant.parameters:
            raise BadSetting(f"{where}: {name} is both set and tuned.", "only one of them.")
    split = loaded.config.split
    if not (split.validation or split.parts or split.protocol):
        raise BadSetting(
            f"{loaded.key_lines.where(at)}: {fielded.name} is to be tuned, but the split has no"
            " validation part.",
            'a validation part, such as validation = { how = "leave_last", n = 1 } under [split].',
        )


def _require_names(loaded: Loaded, fielded: Sequence[ExperimentModel]) -> None:
    """Check names of models, which become file names: valid, and unique regardless of case."""
    names: dict[str, str] = {}
    for model in fielded:
        where = loaded.key_lines.where(("models", model.name))
        if re.fullmatch(NAME, model.name) is None:
            raise BadSetting(
                f"{where}: the name of a model is {model.name!r}.", f"{WORDS_OF_NAME}."
            )
        if model.name.lower() in names:
            other = names[model.name.lower()]
            raise BadSetting(
                f"{where}: {model.name!r} and {other!r} would share a file.",
                "names that are unique even if case is ignored.",
            )
        names[model.name.lower()] = model.name


def locate_errors_in(loaded: Loaded, *at: str | int) -> AbstractContextManager[None]:
    """Return a context manager that adds the line of a key to errors."""
    return locate_errors(loaded.key_lines.where(at))


def require_keys(
    loaded: Loaded, table: At, keys: Iterable[str], accepted: Iterable[str], label: str
) -> None:
    """Raise an error with the line of the first unknown key."""
    for key in keys:
        if key not in accepted:
            where = loaded.key_lines.where((*table, key))
            raise unknown_name("parameter", key, accepted, where=f"{where}: {label}")


def require_values(
    loaded: Loaded, table: At, values: Mapping[str, Any], accepted: Options, label: str
) -> None:
    """Raise an error with the line of the first parameter of the wrong type."""
    for name, value in values.items():
        with locate_errors_in(loaded, *table, name):
            require_option(name, value, accepted, label)


def require_file(loaded: Loaded, at: At, name: str) -> None:
    """Raise an error if a key does not name a file."""
    path = loaded.path(name, at)
    if not path.is_file():
        raise UnreadableFile(
            f"{loaded.key_lines.where(at)}: {path} is not a file.",
            "an existing file; paths are relative to the experiment file.",
        )


def require_package(loaded: Loaded, at: At, package: str, extra: str) -> None:
    """Raise an error if a key needs a package that is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"{loaded.key_lines.where(at)}: this needs {package}, which is not installed.", "",
            f"pip install 'rectitude[{extra}]'",
        )  # fmt: skip
