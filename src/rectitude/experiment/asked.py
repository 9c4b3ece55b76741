"""What is asked of the lists, as `evaluate` takes it and as fingerprints hold it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rectitude.aggregate.definition import fingerprint
from rectitude.experiment.fingerprints import input_digest
from rectitude.experiment.places import At
from rectitude.experiment.reading import Loaded
from rectitude.metrics.names import parse_all
from rectitude.profiles import is_file, profile_of


def asked_of(loaded: Loaded) -> dict[str, Any]:
    """Metrics, what they mean and the convention, as they enter fingerprints."""
    chosen = loaded.config.evaluate.metrics
    metrics = [chosen] if isinstance(chosen, str) else list(chosen)
    return {"metrics": metrics, **convention_facts(loaded, metrics)}


def convention_facts(loaded: Loaded, metrics: list[str]) -> dict[str, Any]:
    """What these metrics mean here: a metric of one's own may mean something else tomorrow."""
    told = convention_of(loaded)
    profile = profile_of(told)
    meant = [fingerprint(profile.resolve(name)) for name in parse_all(metrics)]
    if isinstance(told, Mapping):
        told = {name: _content(value) for name, value in told.items()}
    return {"convention": _content(told), "definitions": meant}


def _content(told: Any) -> Any:
    """The hash of a profile that is a file of one's own; anything else as it is."""
    return input_digest(Path(told)) if isinstance(told, str) and is_file(told) else told


def convention_of(loaded: Loaded) -> Any:
    """The convention as `evaluate` takes it."""
    chosen, at = loaded.config.evaluate.convention, ("evaluate", "convention")
    if isinstance(chosen, str):
        return _profile(loaded, chosen, at)
    start = chosen.get("profile")
    if not isinstance(start, str):
        return chosen
    return {**chosen, "profile": _profile(loaded, start, (*at, "profile"))}


def against_of(loaded: Loaded) -> str:
    """The profile that the convention is explained against; empty if none is named."""
    return _profile(loaded, loaded.config.explain.against, ("explain", "against"))


def against_facts(loaded: Loaded) -> Any:
    """The same as it enters fingerprints."""
    return _content(against_of(loaded))


def _profile(loaded: Loaded, name: str, at: At) -> str:
    """The name of a profile; of one that is a file, its path from where the experiment lies."""
    return str(loaded.path(name, at)) if is_file(name) else name


def tables_of(loaded: Loaded) -> dict[str, Any]:
    """The tables about items and users, as `evaluate` takes them."""
    data = loaded.config.data
    named = {"items": data.items, "users": data.users}
    return {name: loaded.path(path, ("data", name)) for name, path in named.items() if path}


def table_facts(loaded: Loaded) -> dict[str, str]:
    """The hashes of these tables."""
    return {name: input_digest(path) for name, path in tables_of(loaded).items()}
