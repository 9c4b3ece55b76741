"""What can be known to be wrong with an experiment before anything runs: names, parameters, files
and packages, each told with the line of its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

from rectitude.candidates.protocols import CANDIDATES
from rectitude.candidates.sampling import plan_of
from rectitude.data.formats.registry import format_named
from rectitude.errors import BadName, MissingExtra, UnreadableFile, unknown_name
from rectitude.evaluation.axes import parse_slicings
from rectitude.experiment.config import NAME, STREAM, WORDS_OF_NAME, Entrant, SplitBy
from rectitude.experiment.models import Fielded
from rectitude.experiment.reading import Loaded
from rectitude.experiment.stages import against_of, convention_of
from rectitude.experiment.windows import prequential
from rectitude.metrics.names import parse_all
from rectitude.models import MODELS
from rectitude.models.protocol import Plugins
from rectitude.options import At, Options, options_of, require_option, require_options, told_at
from rectitude.prepare.recipe import planned, read_recipe
from rectitude.profiles import profile_of
from rectitude.splits.protocols import resolve
from rectitude.splits.run import SPLITTERS
from rectitude.splits.split import parameters
from rectitude.splits.unknown import unknown


def require_sound(
    loaded: Loaded, fielded: Sequence[Fielded], handed: bool, plugins: Plugins
) -> None:
    """An error, with its line, for whatever cannot work; `handed` if the data come from Python."""
    _require_data(loaded, handed)
    _require_recipe(loaded)
    _require_split(loaded)
    _require_candidates(loaded)
    _require_metrics(loaded)
    for one in fielded:
        _require_model(loaded, one, plugins)
    _require_names(loaded, fielded)
    baseline, known = loaded.config.compare.baseline, [one.name for one in fielded]
    if baseline and baseline not in known:
        where = loaded.places.where(("compare", "baseline"))
        raise unknown_name("model", baseline, known, where=f"{where}: this experiment")
    if loaded.config.mlflow is not None:
        require_package(loaded, ("mlflow",), "mlflow", "mlflow")


def _require_data(loaded: Loaded, handed: bool) -> None:
    config = loaded.config
    sources = {"path": config.data.path, "shop": config.data.shop, "parts": config.split.parts}
    given = [name for name, value in sources.items() if value] + ["data="] * handed
    if len(given) != 1:
        told = " and ".join(given) or "nothing"
        raise BadName(
            f"{loaded.places.where(('data',))}: interactions come from {told}.",
            "one source: path or shop under [data], or parts under [split].",
        )
    files: dict[At, str] = {
        ("data", name): getattr(config.data, name) for name in ("path", "items", "users")
    }
    files[("split", "parts")] = config.split.parts
    for at, path in files.items():
        if path and not loaded.path(path, at).exists():
            raise UnreadableFile(
                f"{loaded.places.where(at)}: {loaded.path(path, at)} does not exist.",
                "a file; paths are relative to the experiment's own file.",
            )
    if config.data.format:
        with placed(loaded, "data", "format"):
            format_named(config.data.format, "[data] format")


def _require_recipe(loaded: Loaded) -> None:
    given = loaded.config.prepare
    if isinstance(given, str):
        with placed(loaded, "prepare"):
            read_recipe(loaded.path(given, ("prepare",)))
    else:
        planned(given, lambda number, key: loaded.places.where(("prepare", number, key)))


def _require_split(loaded: Loaded) -> None:
    chosen = loaded.config.split
    own = chosen.parameters
    if chosen.parts:
        require_keys(loaded, ("split",), own, (), "a split from parts")
        return
    if chosen.protocol:
        with placed(loaded, "split", "protocol"):
            if chosen.how:
                raise BadName("how and protocol were both given.", "one of them.")
            resolve(chosen.protocol, own)
        return
    how = chosen.how or "leave_last"
    if how == STREAM:
        _require_stream(loaded)
        return
    with placed(loaded, "split", "how"):
        if how not in SPLITTERS:
            raise unknown_name("split", how, [*SPLITTERS, STREAM])
        known = parameters(how)
    what = f"split {how!r}"
    require_keys(loaded, ("split",), own, [*known, *SplitBy.model_fields], what)
    require_values(loaded, ("split",), own, known, what)
    with placed(loaded, "split"):
        require_options(own, known, what)
    _require_inner(loaded)


def _require_stream(loaded: Loaded) -> None:
    chosen = loaded.config.split
    own = chosen.parameters
    require_keys(loaded, ("split",), own, options_of(prequential), "split 'prequential'")
    for name in ("validation", "unknown"):
        if getattr(chosen, name):
            where = loaded.places.where(("split", name))
            raise BadName(f"{where}: 'prequential' takes no {name}.", f"a split that has {name}.")


def _require_inner(loaded: Loaded) -> None:
    """The split of train, and what happens to the unknown."""
    chosen = loaded.config.split
    if isinstance(chosen.validation, dict):
        inner = dict(chosen.validation)
        with placed(loaded, "split", "validation", "how"):
            how = inner.pop("how", None)
            if how is None:
                raise BadName("validation does not say how.", '{ how = "leave_last", n = 1 }.')
            known = parameters(how)
        require_keys(loaded, ("split", "validation"), inner, known, f"split {how!r}")
        with placed(loaded, "split", "validation"):
            require_options(inner, known, f"split {how!r}")
    policies = {str(side): policy for side, policy in chosen.unknown.items()}
    with placed(loaded, "split", "unknown"):
        require_options(policies, options_of(unknown), "unknown")


def _require_candidates(loaded: Loaded) -> None:
    chosen = loaded.config.candidates
    if not chosen.kind:
        require_keys(loaded, ("candidates",), chosen.parameters, ("kind",), "candidates")
        return
    if chosen.kind not in CANDIDATES:
        where = loaded.places.where(("candidates", "kind"))
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
                with placed(loaded, "candidates", name):
                    plan_of(100, {name: value})


def _require_metrics(loaded: Loaded) -> None:
    """Metrics and switches that exist; more shows when lists are judged."""
    with placed(loaded, "evaluate", "convention"):
        profile = profile_of(convention_of(loaded))
    asked = loaded.config.evaluate.metrics
    with placed(loaded, "evaluate", "metrics"):
        parse_all(asked)
    for number, name in enumerate([asked] if isinstance(asked, str) else asked):
        with placed(loaded, "evaluate", "metrics", number):
            for one in parse_all(name):
                profile.resolve(one)
    for number, slicing in enumerate(loaded.config.evaluate.slices):
        with placed(loaded, "evaluate", "slices", number):
            parse_slicings([slicing])
    explain = loaded.config.explain
    with placed(loaded, "explain", "metric"):
        for one in parse_all(explain.metric) if explain.metric else ():
            profile.resolve(one)
    with placed(loaded, "explain", "against"):
        profile_of(against_of(loaded) or None)
    for name, entrant in loaded.config.models.items():
        if entrant.tune is not None:
            with placed(loaded, "models", name, "tune", "metric"):
                for one in parse_all(entrant.tune.metric):
                    profile.resolve(one)


def _require_model(loaded: Loaded, fielded: Fielded, plugins: Plugins) -> None:
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
    own, what = fielded.entrant.parameters, f"model {fielded.kind!r}"
    require_keys(loaded, table, own, [*entry.options, *Entrant.model_fields], what)
    require_values(loaded, table, own, entry.options, what)
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


def _require_names(loaded: Loaded, fielded: Sequence[Fielded]) -> None:
    """Names of models are names of files: sound ones, none twice, whatever the case."""
    known: dict[str, str] = {}
    for one in fielded:
        where = loaded.places.where(("models", one.name))
        if re.fullmatch(NAME, one.name) is None:
            raise BadName(f"{where}: a model is named {one.name!r}.", f"{WORDS_OF_NAME}.")
        if one.name.lower() in known:
            other = known[one.name.lower()]
            raise BadName(f"{where}: {one.name!r} and {other!r} name one file.", "other names.")
        known[one.name.lower()] = one.name


def placed(loaded: Loaded, *at: str | int) -> AbstractContextManager[None]:
    """Errors inside name the line of a key."""
    return told_at(loaded.places.where(at))


def require_keys(
    loaded: Loaded, table: At, given: Iterable[str], known: Iterable[str], what: str
) -> None:
    """An error at the line of the first key that is not known."""
    for key in given:
        if key not in known:
            where = loaded.places.where((*table, key))
            raise unknown_name("parameter", key, known, where=f"{where}: {what}")


def require_values(
    loaded: Loaded, table: At, given: Mapping[str, Any], known: Options, what: str
) -> None:
    """An error at the line of the first parameter that has the wrong type."""
    for name, value in given.items():
        with placed(loaded, *table, name):
            require_option(name, value, known, what)


def require_file(loaded: Loaded, at: At, name: str) -> None:
    """An error if a key names no file."""
    path = loaded.path(name, at)
    if not path.is_file():
        raise UnreadableFile(
            f"{loaded.places.where(at)}: {path} is no file.",
            "a file; paths are relative to the experiment's own file.",
        )


def require_package(loaded: Loaded, at: At, package: str, extra: str) -> None:
    """An error if a key needs a package that is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"{loaded.places.where(at)}: this needs {package}, which is not installed.", "",
            f"pip install 'rectitude[{extra}]'",
        )  # fmt: skip
