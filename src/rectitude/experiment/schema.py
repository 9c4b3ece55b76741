"""The JSON schema of an experiment's file, and a file to start from."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from rectitude.experiment.config import Experiment
from rectitude.experiment.stages import STREAM

ADDRESS = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """The schema, with the names of steps, ways of splitting, candidates and models put in."""
    from rectitude.candidates.protocols import CANDIDATES
    from rectitude.models import MODELS
    from rectitude.prepare import STEPS
    from rectitude.splits.protocols import protocols
    from rectitude.splits.run import SPLITTERS

    found = Experiment.model_json_schema()
    tables = found["$defs"]
    named = {
        ("SplitBy", "how"): [*SPLITTERS, STREAM],
        ("SplitBy", "protocol"): protocols(),
        ("Offered", "kind"): CANDIDATES,
        ("Entrant", "model"): MODELS,
    }
    for (table, key), names in named.items():
        tables[table]["properties"][key]["enum"] = sorted(names)
    step = {"type": "object", "required": ["step"], "properties": {"step": {"enum": sorted(STEPS)}}}
    for choice in found["properties"]["prepare"]["anyOf"]:
        if choice["type"] == "array":
            choice["items"] = step
    return {"$schema": ADDRESS, **found, "title": "An experiment of rectitude"}


def schema_text() -> str:
    """The schema as it is kept in docs."""
    return json.dumps(schema(), indent=1, default=_default) + "\n"


def _default(value: Any) -> Any:
    return value.model_dump(exclude_defaults=True)


def starter_text() -> str:
    """A commented file that runs as it is; nothing is tuned in it where optuna is missing."""
    text = files("rectitude.experiment").joinpath("starter.toml").read_text("utf-8")
    if find_spec("optuna") is not None:
        return text
    lines = text.splitlines(keepends=True)
    return "".join(f"# {line}" if line.startswith("tune.") else line for line in lines)
