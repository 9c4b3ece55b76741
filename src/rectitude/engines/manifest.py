"""The manifest of an evaluation: what went in, and what computed it."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from rectitude._version import __version__
from rectitude.judge.sides import Sides
from rectitude.profiles import Profile


def manifest_of(sides: Sides, profile: Profile, prints: Mapping[str, str]) -> dict[str, Any]:
    """The tables with their rows, columns and fingerprints, the profile, and the versions."""
    import polars as pl

    inputs: dict[str, dict[str, Any]] = {
        side: {"source": table.source, "rows": table.frame.height, "columns": dict(table.columns)}
        for side, table in sides.sources.given().items()
    }
    for side, table in sides.sources.given().items():
        inputs[side] |= {"format": table.recognised} if table.recognised else {}
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        inputs["predictions"]["classes"] = dense.columns
    if sides.sources.offered is not None:
        inputs["candidates"] = {**sides.sources.offered}
    for side, mark in prints.items():
        inputs[side]["fingerprint"] = mark
    return {
        "rectitude": __version__,
        "profile": profile.label,
        "profile_versions": list(profile.versions),
        "inputs": inputs,
        "lists": len(sides.keys),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
    }
