"""Formats of libraries that are plain tables with particular column names.

RecPack writes a csv of interactions (`iid, uid, interactionid, ts`) and a file of properties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from rectitude.data.columns import POSITIONS, WantedColumns, quote_names
from rectitude.data.formats import columnar, jsons
from rectitude.data.formats.file import (
    File,
    FileContent,
    Kind,
    open_content,
    require_text,
    suffix_of,
)
from rectitude.data.formats.fit import require_numbers, upper_bound
from rectitude.data.formats.recognise import PROPERTIES, is_arrow, is_json_lines, is_parquet
from rectitude.data.formats.separated import read_headerless, read_separated, write_separated
from rectitude.data.table import Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write
from rectitude.texts import parse_yaml, read_settings

Writer = Callable[[FileContent, Path], Mapping[Path, Write]]
TAB = "\t"


@dataclass(frozen=True, slots=True)
class Layout:
    """The column names of a library, and its default kind of file."""

    predictions: Mapping[str, str]
    truth: Mapping[str, str]
    separator: str = ","
    header: bool = True

    def names(self, kind: str) -> Mapping[str, str]:
        """Return the columns of one kind of table by role."""
        return self.predictions if kind == "predictions" else self.truth

    def roles(self, kind: Kind) -> tuple[str, ...]:
        """Return the roles besides list and item."""
        return tuple(role for role in self.names(kind) if role not in ("list", "item"))


def _name_columns(user: str, item: str, **others: str) -> dict[str, str]:
    return {"list": user, "item": item, **others}


PLAIN = Layout(
    _name_columns("user", "item", score="score", rank="rank"),
    _name_columns("user", "item", grade="grade", timestamp="timestamp"),
)
TSV = replace(PLAIN, separator=TAB)
BARE = replace(TSV, header=False)
RECBOLE = Layout(
    _name_columns("user_id:token", "item_id:token", score="score:float"),
    _name_columns(
        "user_id:token", "item_id:token", grade="rating:float", timestamp="timestamp:float"
    ),
    TAB,
)
ELLIOT = Layout(
    _name_columns("userId", "itemId", score="score"),
    _name_columns("userId", "itemId", grade="rating", timestamp="timestamp"),
    TAB,
    header=False,
)
SESSIONS = Layout({}, _name_columns("session", "item", timestamp="timestamp"), TAB, header=False)
WARPREC = Layout(
    _name_columns("user_id", "item_id", score="rating"),
    _name_columns("user_id", "item_id", grade="rating", timestamp="timestamp"),
    TAB,
)
LENSKIT = Layout(
    _name_columns("user_id", "item_id", score="score", rank="rank"),
    _name_columns("user_id", "item_id", grade="rating", timestamp="timestamp"),
)
RECTOOLS = Layout(
    _name_columns("user_id", "item_id", score="score", rank="rank"),
    _name_columns("user_id", "item_id", grade="weight", timestamp="datetime"),
)
REPLAY = Layout(
    _name_columns("query_id", "item_id", score="rating"),
    _name_columns("query_id", "item_id", grade="rating", timestamp="timestamp"),
)
MICROSOFT = Layout(
    _name_columns("userID", "itemID", score="prediction"),
    _name_columns("userID", "itemID", grade="rating", timestamp="timestamp"),
)


def reader(layout: Layout) -> Callable[[File, WantedColumns], Source]:
    """Return a reader for tables with the column names of a library, in any kind of file."""

    def read(file: File, want: WantedColumns) -> Source:
        container = _choose_reader(file) if layout.header else read_headerless
        if container in (read_headerless, read_separated):
            require_text(file)
        source = container(file, want)
        return _impose_roles(source, layout, want) if layout.header else source

    return read


def writer(layout: Layout) -> Writer:
    """Return a writer for tables with the column names of a library, in any kind of file."""

    def write(content: FileContent, path: Path) -> Mapping[Path, Write]:
        names = layout.names(content.kind)
        frame = content.frame.rename({role: names[role] for role in content.frame.columns})
        renamed = replace(content, frame=frame)
        container = _typed_writers().get(suffix_of(path)) if layout.header else None
        if container is not None:
            return container(renamed, path)
        separator = {".tsv": TAB, ".csv": ","}.get(suffix_of(path), layout.separator)
        return write_separated(renamed, path, separator=separator, header=layout.header)

    return write


def write_recbole(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write an atomic file, always separated by tabs; a column `history` has sequences of items."""
    names = {**RECBOLE.names(content.kind), "history": "item_id_list:token_seq"}
    frame = content.frame.rename({role: names[role] for role in content.frame.columns})
    return write_separated(replace(content, frame=frame), path, separator=TAB)


def _choose_reader(file: File) -> Callable[[File, WantedColumns], Source]:
    """Return the reader for the kind of file, decided by its content."""
    kinds = {
        is_parquet: columnar.read_parquet,
        is_arrow: columnar.read_arrow,
        is_json_lines: jsons.read_lines,
    }
    return next((read for test, read in kinds.items() if test(file, "log")), read_separated)


def is_typed(path: Path) -> bool:
    """Whether files with this ending have typed columns."""
    return suffix_of(path) in _typed_writers()


def _typed_writers() -> dict[str, Writer]:
    parquet, arrow, lines = columnar.write_parquet, columnar.write_arrow, jsons.write_lines
    return {
        ".parquet": parquet, ".pq": parquet, ".arrow": arrow, ".feather": arrow, ".ipc": arrow,
        ".jsonl": lines, ".ndjson": lines,
    }  # fmt: skip


def _impose_roles(source: Source, layout: Layout, want: WantedColumns) -> Source:
    """Give columns the roles that the library defines, instead of recognising their names."""
    names = layout.names(want.what)
    allowed = (
        {*POSITIONS[want.what], "rank"} if want.what == "predictions" else POSITIONS[want.what]
    )
    roles = {role: name for role, name in names.items() if role in allowed and name in source.names}
    missing = [names[role] for role in ("list", "item") if role in allowed and role not in roles]
    if missing:
        wanted = ", ".join(names.values())
        raise BadTable(
            f"{want.what} ({source.label}) has the columns {quote_names(source.names)}.",
            f"the columns of the named format: {wanted}.",
            "leave out the format; columns are then recognised by name.",
        )
    return replace(source, roles=roles)


NAMES = {"list": "uid", "item": "iid", "timestamp": "ts"}


def read_recpack(file: File, want: WantedColumns) -> Source:
    """Read the table, and check it against its file of properties if there is one."""
    path = file.path
    if path.name.endswith(PROPERTIES):
        file = open_content(path.with_name(path.name.removesuffix(PROPERTIES) + ".csv"))
    properties_file = file.path.with_name(file.path.stem + PROPERTIES)
    properties = _read_properties(properties_file) if properties_file.exists() else {}
    source = read_separated(file, want)
    for role in ("list", "item"):
        if NAMES[role] not in source.names:
            raise BadTable(
                f"{file.path.name} has no column {NAMES[role]!r}; its columns:"
                f" {', '.join(source.names)}.",
                "RecPack's columns iid, uid, interactionid and ts.",
                "rename the columns, or leave out the format.",
            )
    _require_timestamps(file.path, source, properties)
    roles = {role: name for role, name in NAMES.items() if name in source.names}
    if want.what != "log":
        roles.pop("timestamp", None)
    sizes = ", ".join(f"{name} {value!s:.40}" for name, value in properties.items())
    recognised = f"{properties_file.name}: {sizes}" if sizes else ""
    width = properties.get("num_items")
    return replace(
        source, roles=roles, recognised=recognised, width=width if isinstance(width, int) else None
    )


def write_recpack(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write two files, as `InteractionMatrix.load` expects them."""
    frame = content.frame
    users = require_numbers(frame["list"], "RecPack")
    items = require_numbers(frame["item"], "RecPack")
    number = pl.Series("interactionid", range(len(users)), dtype=pl.Int64)
    columns = [items.alias("iid"), users.alias("uid"), number]
    has_times = "timestamp" in frame.columns
    table = pl.DataFrame([*columns, *([frame["timestamp"].alias("ts")] if has_times else [])])
    sizes = content.sizes or (upper_bound(users), upper_bound(items))
    properties = {"has_timestamps": has_times, "num_items": sizes[1], "num_users": sizes[0]}
    properties_file = path.with_name(path.stem + PROPERTIES)
    return {**write_separated(replace(content, frame=table), path),
            properties_file: partial(_write_properties, properties)}  # fmt: skip


def _write_properties(properties: Mapping[str, object], path: Path) -> object:
    import yaml

    return path.write_text(yaml.safe_dump(dict(properties)), encoding="utf-8")


def _read_properties(path: Path) -> dict[str, object]:
    """Return the properties; the YAML is loaded safely, as plain values only."""
    text = read_settings(path, "file", "plain YAML.", "write it again with RecPack.")
    document, _ = parse_yaml(text, str(path), "plain YAML, as RecPack writes it.")
    if not isinstance(document, dict):
        raise UnreadableFile(
            f"{path} contains {document!r:.60}.",
            "the properties num_users, num_items and has_timestamps.",
            "write it again with RecPack.",
        )
    return {str(name): value for name, value in document.items()}


def _require_timestamps(path: Path, source: Source, properties: Mapping[str, object]) -> None:
    if properties.get("has_timestamps") is True and "ts" not in source.names:
        raise BadTable(
            f"{path.name} has no column 'ts', but its properties say has_timestamps.",
            "a column 'ts' if has_timestamps is true.",
            f"fix {path.stem + PROPERTIES}.",
        )
