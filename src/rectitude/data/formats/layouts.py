"""Libraries whose files are plain tables with names of their own for the columns.

RecPack's is a csv of interactions (`iid, uid, interactionid, ts`) with properties beside it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.data.columns import POSITIONS, WantedColumns, listed
from rectitude.data.formats import columnar, jsons
from rectitude.data.formats.file import (
    File,
    FileContent,
    Kind,
    opened,
    require_text,
    suffix_of,
)
from rectitude.data.formats.fit import bound_of, require_numbers
from rectitude.data.formats.recognise import PROPERTIES, is_arrow, is_json_lines, is_parquet
from rectitude.data.formats.separated import read_headerless, read_separated, write_separated
from rectitude.data.table import Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write

Writer = Callable[[FileContent, Path], Mapping[Path, Write]]
TAB = "\t"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of the columns of a library, and the kind of file that it uses by itself."""

    predictions: Mapping[str, str]
    truth: Mapping[str, str]
    separator: str = ","
    header: bool = True

    def names(self, kind: str) -> Mapping[str, str]:
        """Role -> column, for one kind of table."""
        return self.predictions if kind == "predictions" else self.truth

    def roles(self, kind: Kind) -> tuple[str, ...]:
        """The columns beside list and item."""
        return tuple(role for role in self.names(kind) if role not in ("list", "item"))


def _named(user: str, item: str, **others: str) -> dict[str, str]:
    return {"list": user, "item": item, **others}


PLAIN = Layout(
    _named("user", "item", score="score", rank="rank"),
    _named("user", "item", grade="grade", timestamp="timestamp"),
)
TSV = replace(PLAIN, separator=TAB)
BARE = replace(TSV, header=False)
RECBOLE = Layout(
    _named("user_id:token", "item_id:token", score="score:float"),
    _named("user_id:token", "item_id:token", grade="rating:float", timestamp="timestamp:float"),
    TAB,
)
ELLIOT = Layout(
    _named("userId", "itemId", score="score"),
    _named("userId", "itemId", grade="rating", timestamp="timestamp"),
    TAB,
    header=False,
)
SESSIONS = Layout({}, _named("session", "item", timestamp="timestamp"), TAB, header=False)
WARPREC = Layout(
    _named("user_id", "item_id", score="rating"),
    _named("user_id", "item_id", grade="rating", timestamp="timestamp"),
    TAB,
)
LENSKIT = Layout(
    _named("user_id", "item_id", score="score", rank="rank"),
    _named("user_id", "item_id", grade="rating", timestamp="timestamp"),
)
RECTOOLS = Layout(
    _named("user_id", "item_id", score="score", rank="rank"),
    _named("user_id", "item_id", grade="weight", timestamp="datetime"),
)
REPLAY = Layout(
    _named("query_id", "item_id", score="rating"),
    _named("query_id", "item_id", grade="rating", timestamp="timestamp"),
)
MICROSOFT = Layout(
    _named("userID", "itemID", score="prediction"),
    _named("userID", "itemID", grade="rating", timestamp="timestamp"),
)


def reader(layout: Layout) -> Callable[[File, WantedColumns], Source]:
    """Read a table whose columns bear the names of a library, whatever file it is in."""

    def read(file: File, want: WantedColumns) -> Source:
        container = _container(file) if layout.header else read_headerless
        if container in (read_headerless, read_separated):
            require_text(file)
        source = container(file, want)
        return _imposed(source, layout, want) if layout.header else source

    return read


def writer(layout: Layout) -> Writer:
    """Write a table with the names of a library, in the kind of file that its ending names."""

    def write(content: FileContent, path: Path) -> Mapping[Path, Write]:
        names = layout.names(content.kind)
        frame = content.frame.rename({role: names[role] for role in content.frame.columns})
        renamed = replace(content, frame=frame)
        container = _writers().get(suffix_of(path)) if layout.header else None
        if container is not None:
            return container(renamed, path)
        separator = {".tsv": TAB, ".csv": ","}.get(suffix_of(path), layout.separator)
        return write_separated(renamed, path, separator=separator, header=layout.header)

    return write


def write_recbole(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """An atomic file: tabs always, whatever the name says."""
    names = RECBOLE.names(content.kind)
    frame = content.frame.rename({role: names[role] for role in content.frame.columns})
    return write_separated(replace(content, frame=frame), path, separator=TAB)


def _container(file: File) -> Callable[[File, WantedColumns], Source]:
    """How the table is stored, as its content says."""
    kinds = {
        is_parquet: columnar.read_parquet,
        is_arrow: columnar.read_arrow,
        is_json_lines: jsons.read_lines,
    }
    return next((read for test, read in kinds.items() if test(file, "log")), read_separated)


def is_typed(path: Path) -> bool:
    """Whether columns have types in the kind of file that an ending stands for."""
    return suffix_of(path) in _writers()


def _writers() -> dict[str, Writer]:
    parquet, arrow, lines = columnar.write_parquet, columnar.write_arrow, jsons.write_lines
    return {
        ".parquet": parquet, ".pq": parquet, ".arrow": arrow, ".feather": arrow, ".ipc": arrow,
        ".jsonl": lines, ".ndjson": lines,
    }  # fmt: skip


def _imposed(source: Source, layout: Layout, want: WantedColumns) -> Source:
    """The roles that the library gives to its columns, in place of what their names suggest."""
    names = layout.names(want.what)
    room = {*POSITIONS[want.what], "rank"} if want.what == "predictions" else POSITIONS[want.what]
    roles = {role: name for role, name in names.items() if role in room and name in source.names}
    missing = [names[role] for role in ("list", "item") if role in room and role not in roles]
    if missing:
        wanted = ", ".join(names.values())
        raise BadTable(
            f"{want.what} ({source.label}) has the columns {listed(source.names)}.",
            f"those of the format that was named: {wanted}.",
            "leave the format out, and columns are recognised by their names.",
        )
    return replace(source, roles=roles)


NAMES = {"list": "uid", "item": "iid", "timestamp": "ts"}


def read_recpack(file: File, want: WantedColumns) -> Source:
    """The table, checked against its properties where they stand beside it."""
    path = file.path
    if path.name.endswith(PROPERTIES):
        file = opened(path.with_name(path.name.removesuffix(PROPERTIES) + ".csv"))
    beside = file.path.with_name(file.path.stem + PROPERTIES)
    properties = _properties(beside) if beside.exists() else {}
    source = read_separated(file, want)
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


def write_recpack(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Two files, as `InteractionMatrix.load` takes them."""
    frame = content.frame
    users = require_numbers(frame["list"], "RecPack")
    items = require_numbers(frame["item"], "RecPack")
    number = pl.Series("interactionid", range(len(users)), dtype=pl.Int64)
    columns = [items.alias("iid"), users.alias("uid"), number]
    timed = "timestamp" in frame.columns
    table = pl.DataFrame([*columns, *([frame["timestamp"].alias("ts")] if timed else [])])
    sizes = content.sizes or (bound_of(users), bound_of(items))
    properties = {"has_timestamps": timed, "num_items": sizes[1], "num_users": sizes[0]}
    beside = path.with_name(path.stem + PROPERTIES)
    return {**write_separated(replace(content, frame=table), path),
            beside: partial(_write_properties, properties)}  # fmt: skip


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
