"""What is asked of the lists, as `evaluate` takes it and as fingerprints hold it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rectitude.experiment.fingerprints import input_digest
from rectitude.experiment.reading import Loaded


def asked_of(loaded: Loaded) -> dict[str, Any]:
    """Metrics, convention and slices, as they enter fingerprints."""
    chosen = loaded.config.evaluate
    told: Any = chosen.convention
    if isinstance(told, str) and told.endswith(".toml"):
        told = input_digest(Path(str(convention_of(loaded))))
    metrics = [chosen.metrics] if isinstance(chosen.metrics, str) else list(chosen.metrics)
    return {"metrics": metrics, "convention": told, "slices": list(chosen.slices)}


def convention_of(loaded: Loaded) -> Any:
    """The convention as `evaluate` takes it."""
    chosen = loaded.config.evaluate.convention
    if isinstance(chosen, str) and chosen.endswith(".toml"):
        return str(loaded.path(chosen, ("evaluate", "convention")))
    return chosen


def tables_of(loaded: Loaded) -> dict[str, Any]:
    """The tables about items and users, as `evaluate` takes them."""
    data = loaded.config.data
    named = {"items": data.items, "users": data.users}
    return {name: loaded.path(path, ("data", name)) for name, path in named.items() if path}


def table_facts(loaded: Loaded) -> dict[str, str]:
    """The hashes of these tables."""
    return {name: input_digest(path) for name, path in tables_of(loaded).items()}
