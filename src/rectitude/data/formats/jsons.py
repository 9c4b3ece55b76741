"""JSON: an object of objects as ranx writes it, and tables with one object a line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent, write_bytes
from rectitude.data.frames import renamed
from rectitude.data.ids import whole_numbers
from rectitude.data.objects import open_mapping, open_rows
from rectitude.data.table import Source
from rectitude.data.values import IDS
from rectitude.errors import BadIds, BadScores, BadTable, DuplicateItems, UnreadableFile
from rectitude.storage import Write


def read_lines(file: File, want: WantedColumns) -> Source:
    """One object a line, its keys the columns; a value may also be the list of a user's items."""
    whole = file.path if file.data is None else file.data
    try:
        frame = pl.read_ndjson(whole, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _bad_line(file, error) from error

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        for role, name in chosen.items():
            if role in IDS and frame[name].dtype == pl.String:
                _require_text(file, name)
        return renamed(frame, chosen)

    return Source(file.path.name, frame.columns, take)


def read_json(file: File, want: WantedColumns) -> Source:
    """What a dict or a list would be: {user: {item: number}}, {user: [items]}, rows, columns.

    Keys of objects are text, so that ids may take the type of the other side.
    """
    try:
        held = json.loads(file.content.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{file.path} is not UTF-8 (byte {error.start}).", "text in UTF-8."
        ) from None
    except _Twice as error:
        raise BadTable(
            f"{file.path.name}: the key {str(error)!r} stands twice in one object.",
            "every key once: a later one would take the place of the other.",
        ) from None
    except (ValueError, RecursionError) as error:
        at = f"line {getattr(error, 'lineno', '?')}, column {getattr(error, 'colno', '?')}"
        raise UnreadableFile(
            f"{file.path} is not JSON ({at}): {getattr(error, 'msg', error)}.",
            "complete JSON.",
            "it may be truncated; write it again.",
        ) from error
    return replace(_held(held, want, file.path.name), label=file.path.name)


def write_lines(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """One object a line."""
    raw = io.BytesIO()
    content.frame.write_ndjson(raw)
    return write_bytes(raw.getvalue(), path)


def write_json(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """An object of objects, {user: {item: number}}, as ranx reads it."""
    frame = content.frame
    number = frame[frame.columns[-1]]
    if number.null_count() or not number.is_finite().all():
        raise BadScores(
            f"the {number.name} column holds values that are missing, NaN or infinite.",
            "numbers: JSON has no others.",
        )
    if content.kind == "truth" and bool((number == number.round()).all()):
        number = number.cast(int)  # ranx takes whole grades only
    lists: dict[str, dict[str, Any]] = {}
    if content.handed is not None:
        lists = {str(key): {} for key in content.handed}
    for key, item, value in zip(frame["list"], frame["item"], number, strict=True):
        lists.setdefault(str(key), {})[str(item)] = value
    if sum(map(len, lists.values())) < frame.height:
        raise DuplicateItems(
            f"{frame.height - sum(map(len, lists.values()))} of {frame.height} rows repeat the"
            " user and item of another.",
            "every item once in a list: JSON objects hold a key once.",
        )
    return write_bytes(json.dumps(lists, ensure_ascii=False).encode(), path)


class _Twice(ValueError):
    """A key that stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return held


def _held(held: object, want: WantedColumns, name: str) -> Source:
    if isinstance(held, list):
        rows = [tuple(row) if isinstance(row, list) else row for row in held]
        return open_rows(rows, want)
    if not isinstance(held, dict):
        raise BadTable(f"{name} holds a {type(held).__name__}.", "an object or an array.")
    source = open_mapping(held, want)
    return _keyed(source) if source.anonymous else source


def _keyed(source: Source) -> Source:
    """The keys as text that may be numbers; as numbers at once beside items that are."""
    frame = source.take({name: name for name in source.names})
    if "item" not in frame.columns or frame["item"].dtype in (pl.String, pl.Null):
        return replace(source, text=True)
    keys, handed = whole_numbers(frame["list"]), source.handed
    every = None if handed is None else whole_numbers(handed)
    if keys is None or (handed is not None and every is None):
        return source
    frame = frame.with_columns(keys.alias("list"))
    return replace(source, take=lambda chosen: renamed(frame, chosen), handed=every)


def _require_text(file: File, name: str) -> None:
    """An error if ids are text here and numbers there: Polars would make text of all of them."""
    key = re.escape(json.dumps(name).encode())
    found = re.search(key + rb"\s*:\s*(-?\d[^,}\s]*)", file.content)
    if found:
        line = file.content.count(b"\n", 0, found.start()) + 1
        raise BadIds(
            f"{file.path.name}: {name!r} is the number {found[1].decode()} in line {line}, and text"
            " elsewhere.",
            "ids of one type.",
        )


def _bad_line(file: File, error: Exception) -> UnreadableFile:
    """The error that names the first line that is no object."""
    for number, line in enumerate(io.BytesIO(file.content), 1):
        try:
            good = not line.strip() or isinstance(json.loads(line), dict)
            said = "it is no object"
        except ValueError as found:
            good, said = False, str(found)
        if not good:
            return UnreadableFile(
                f"{file.path.name}, line {number} is not a JSON object ({said}): {line[:80]!r}.",
                "one object a line.",
                "fix this line; the last one may have been cut off.",
            )
    return UnreadableFile(
        f"{file.path} cannot be read as JSON lines: {str(error).splitlines()[0]}.",
        "objects with values of one type for each key.",
    )
