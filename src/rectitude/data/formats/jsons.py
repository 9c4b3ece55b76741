"""JSON: an object of objects, as ranx writes it, and tables with one object per line."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from rectitude.data.columns import WantedColumns
from rectitude.data.formats.columnar import DAMAGED
from rectitude.data.formats.file import File, FileContent, write_bytes
from rectitude.data.frames import rename_columns
from rectitude.data.ids import whole_numbers
from rectitude.data.objects import open_mapping, open_rows
from rectitude.data.table import Source
from rectitude.data.values import IDS
from rectitude.errors import BadIds, BadScores, BadTable, DuplicateItems, UnreadableFile
from rectitude.memory import require_growth
from rectitude.storage import Write
from rectitude.texts import parse_json

_KEY = re.compile(rb'"([^"\\]*)"\s*:')
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_PIECES, _PIECE = 64, 1 << 16
_CELL = 16
"""The bytes of a value in a table, even an empty one."""


def read_lines(file: File, want: WantedColumns) -> Source:
    """Read one object per line; its keys are the columns, and a value may be a list of items."""
    whole = file.path if file.data is None else file.data
    _require_few_keys(file)
    try:
        frame = pl.read_ndjson(whole, infer_schema_length=None)
    except DAMAGED as error:
        raise _invalid_line(file, error) from error
    _refuse_surrogates(file)

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        for role, name in chosen.items():
            if role in IDS and frame[name].dtype == pl.String:
                _require_text(file, name)
        return rename_columns(frame, chosen)

    return Source(file.path.name, frame.columns, take)


def read_json(file: File, want: WantedColumns) -> Source:
    """Read {user: {item: number}}, {user: [items]}, rows or columns, like a dict or a list.

    JSON keys are always text, so ids may take the type of the ids in another table.
    """
    name, complete = file.path.name, "complete JSON."
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{file.path} is not UTF-8 (byte {error.start}).",
            "text in UTF-8.",
            "convert it, for example with: iconv -f latin1 -t utf-8",
        ) from None
    advice, unique = "it may be truncated; write it again.", partial(_require_unique_keys, name)
    document = parse_json(text, str(file.path), complete, advice, unique)
    source = open_document(document, want, name)
    if isinstance(document, list):
        require_growth(_CELL * len(document) * len(source.names), len(text), name)
    return replace(source, label=name)


def write_lines(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write one object per line."""
    raw = io.BytesIO()
    content.frame.write_ndjson(raw)
    return write_bytes(raw.getvalue(), path)


def write_json(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write an object of objects, {user: {item: number}}, as ranx reads it."""
    return write_bytes(json.dumps(collect_objects(content), ensure_ascii=False).encode(), path)


def collect_objects(content: FileContent) -> dict[str, dict[str, Any]]:
    """Return lists as an object of objects, {user: {item: number}}."""
    frame = content.frame
    number = frame[frame.columns[-1]]
    if number.null_count() or not number.is_finite().all():
        raise BadScores(
            f"the {number.name} column contains missing, NaN or infinite values.",
            "finite numbers: JSON has no others.",
            "remove these rows, or choose another format.",
        )
    whole = content.kind == "truth" and bool((number == number.round()).all())
    lists: dict[str, dict[str, Any]] = {}
    if content.list_keys is not None:
        lists = {str(key): {} for key in content.list_keys}
    for key, item, value in zip(frame["list"], frame["item"], number, strict=True):
        # ranx accepts only whole grades
        lists.setdefault(str(key), {})[str(item)] = int(value) if whole else value
    if sum(map(len, lists.values())) < frame.height:
        raise DuplicateItems(
            f"{frame.height - sum(map(len, lists.values()))} of {frame.height} rows repeat the"
            " user and item of another row.",
            "each item once per list: a JSON object has each key once.",
            "remove the repeated rows, or choose a table format, such as csv.",
        )
    return lists


def _require_unique_keys(name: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in counts.items() if count > 1)
        raise BadTable(
            f"{name}: the key {repeated!r} appears twice in one object.",
            "each key once: a later value would replace the earlier one.",
            "merge or rename the repeated keys.",
        )
    return result


def open_document(document: object, want: WantedColumns, name: str) -> Source:
    """Return a parsed document as a source."""
    if isinstance(document, list):
        rows = [tuple(row) if isinstance(row, list) else row for row in document]
        return open_rows(rows, want)
    if not isinstance(document, dict):
        raise BadTable(
            f"{name} contains a single {type(document).__name__}.",
            "an object or an array.",
            "write {user: {item: number}}, {user: [items]}, rows or columns.",
        )
    source = open_mapping(document, want)
    return _type_keys(source) if source.anonymous else source


def _type_keys(source: Source) -> Source:
    """Mark the keys as untyped text, or convert them to numbers if the items are numbers."""
    frame = source.take({name: name for name in source.names})
    if "item" not in frame.columns or frame["item"].dtype in (pl.String, pl.Null):
        return replace(source, text=True)
    keys, handed = whole_numbers(frame["list"]), source.handed
    all_keys = None if handed is None else whole_numbers(handed)
    if keys is None or (handed is not None and all_keys is None):
        return source
    frame = frame.with_columns(keys.alias("list"))
    return replace(source, take=lambda chosen: rename_columns(frame, chosen), handed=all_keys)


def _require_few_keys(file: File) -> None:
    """Raise an error if a table with a column for each key would be mostly empty, and huge.

    Of a large file, pieces from all over it are looked at.
    """
    keys: set[bytes] = set()
    with file.open() as content:
        size = content.seek(0, io.SEEK_END)
        step, lines, seen = max(size // _PIECES, _PIECE), 0, 0
        for start in range(0, size, step):
            content.seek(start)
            piece = content.read(_PIECE)
            keys.update(_KEY.findall(piece))
            lines, seen = lines + piece.count(b"\n"), seen + len(piece)
    rows = lines * size // max(seen, 1)
    require_growth(_CELL * len(keys) * rows, size, f"{file.path.name}, with {len(keys):,} keys,")


def _refuse_surrogates(file: File) -> None:
    """Raise an error for half of a surrogate pair: Polars would turn it into a zero."""
    content = file.content
    for number, line in enumerate(io.BytesIO(content if _SURROGATE.search(content) else b""), 1):
        if _SURROGATE.search(line):
            parse_json(line, f"{file.path.name}, line {number}", "text in UTF-8.", "fix this line.")


def _require_text(file: File, name: str) -> None:
    """Raise an error if some ids are numbers: Polars would turn a mix with text into text."""
    key = re.escape(json.dumps(name).encode())
    number = re.search(key + rb"\s*:\s*(-?\d[^,}\s]*)", file.content)
    if number:
        line = file.content.count(b"\n", 0, number.start()) + 1
        raise BadIds(
            f"{file.path.name}: {name!r} is the number {number[1].decode()} on line {line}, but"
            " text elsewhere.",
            "ids of one type.",
            "write all ids as text, or all as numbers.",
        )


def _invalid_line(file: File, error: BaseException) -> UnreadableFile:
    """Return the error that names the first line that is not an object."""
    for number, line in enumerate(io.BytesIO(file.content), 1):
        try:
            valid = not line.strip() or isinstance(json.loads(line), dict)
            reason = "it is another JSON value"
        except (ValueError, RecursionError) as parse_error:
            valid, reason = False, str(parse_error)
        if not valid:
            return UnreadableFile(
                f"{file.path.name}, line {number} is not a JSON object ({reason}): {line[:80]!r}.",
                "one object per line.",
                "fix this line; the last one may have been cut off.",
            )
    return UnreadableFile(
        f"{file.path} cannot be read as JSON lines: {str(error).splitlines()[0]}.",
        "objects whose values have one type for each key.",
        "write the values of each key with the same type.",
    )
