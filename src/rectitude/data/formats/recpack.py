"""RecPack: a csv of interactions (`iid, uid, interactionid, ts`) and properties beside it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.data.columns import Wanted
from rectitude.data.formats.file import File, opened
from rectitude.data.formats.fit import require_numbers
from rectitude.data.formats.format import Content
from rectitude.data.formats.separated import read_sniffed, write_separated
from rectitude.data.source import Source
from rectitude.data.table import What
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write

if TYPE_CHECKING:
    import polars as pl

PROPERTIES = "_properties.yaml"
NAMES = {"list": "uid", "item": "iid", "timestamp": "ts"}


def sniff(file: File, what: What) -> str | None:
    """The properties by name, the table by the column that only RecPack has."""
    if file.path.name.endswith(PROPERTIES):
        return "its name is that of RecPack's properties"
    first = file.lines[0].split(",") if file.lines else []
    return "its header holds interactionid" if {"uid", "iid", "interactionid"} <= {*first} else None


def read(file: File, want: Wanted) -> Source:
    """The table, checked against its properties where they stand beside it."""
    path = file.path
    if path.name.endswith(PROPERTIES):
        file = opened(path.with_name(path.name.removesuffix(PROPERTIES) + ".csv"))
    beside = file.path.with_name(file.path.stem + PROPERTIES)
    properties = _properties(beside) if beside.exists() else {}
    source = read_sniffed(file, want)
    for role in ("list", "item"):
        if NAMES[role] not in source.names:
            raise BadTable(
                f"{file.path.name} has no column {NAMES[role]!r}: {', '.join(source.names)}.",
                "RecPack's columns iid, uid, interactionid and ts.",
            )
    _require_timestamps(file.path, source, properties)
    roles = {role: name for role, name in NAMES.items() if name in source.names}
    if want.what != "log":
        roles.pop("timestamp", None)
    sizes = ", ".join(f"{name} {value}" for name, value in properties.items())
    return replace(source, roles=roles, recognised=f"{beside.name}: {sizes}" if sizes else "")


def write(content: Content, path: Path) -> Mapping[Path, Write]:
    """Two files, as `InteractionMatrix.load` takes them."""
    import polars as pl

    frame = content.frame
    users = require_numbers(frame["list"], "RecPack")
    items = require_numbers(frame["item"], "RecPack")
    number = pl.Series("interactionid", range(len(users)), dtype=pl.Int64)
    columns = [items.alias("iid"), users.alias("uid"), number]
    timed = "timestamp" in frame.columns
    table = pl.DataFrame([*columns, *([frame["timestamp"].alias("ts")] if timed else [])])
    sizes = content.sizes or (_size(users), _size(items))
    properties = {"has_timestamps": timed, "num_items": sizes[1], "num_users": sizes[0]}
    beside = path.with_name(path.stem + PROPERTIES)
    return {**write_separated(replace(content, frame=table), path),
            beside: partial(_write_properties, properties)}  # fmt: skip


def _size(positions: pl.Series) -> int:
    return int(positions.to_numpy().max()) + 1 if len(positions) else 0


def _write_properties(properties: Mapping[str, object], where: Path) -> object:
    yaml = _yaml()
    return where.write_text(yaml.safe_dump(dict(properties)), encoding="utf-8")


def _properties(path: Path) -> dict[str, object]:
    """What the properties say; only plain values are ever made of YAML."""
    yaml = _yaml()
    try:
        held = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        said = str(error).splitlines()[0]
        raise UnreadableFile(f"{path} cannot be read: {said}.", "plain YAML.") from error
    if not isinstance(held, dict):
        raise UnreadableFile(f"{path} holds {held!r:.60}.", "num_users, num_items, has_timestamps.")
    return {str(name): value for name, value in held.items()}


def _yaml() -> Any:
    return importlib.import_module("yaml")


def _require_timestamps(path: Path, source: Source, properties: Mapping[str, object]) -> None:
    if properties.get("has_timestamps") is True and "ts" not in source.names:
        raise BadTable(
            f"{path.name} has no column 'ts', and its properties say has_timestamps.",
            "both to agree.",
            f"fix {path.stem + PROPERTIES}.",
        )
