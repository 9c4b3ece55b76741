"""Files that cannot be read, among the many of a table: they are left out if that was asked for.

A damaged part is often found only when it is read. So every file is read once before anything is
evaluated: a file is used as a whole or not at all, however the tables are cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, get_args

from rectitude.data.columns import want_columns
from rectitude.data.formats.folders import find_files
from rectitude.data.formats.several import match_files
from rectitude.data.read import open_file
from rectitude.data.table import What, is_wrapped
from rectitude.errors import BadArgument, UnreadableFile
from rectitude.evaluation.inputs import LeftOut, RawInputs

Policy = Literal["error", "left_out"]
_ROWS = 1_000_000
"""how many rows are read at a time"""


def leave_out_unreadable(given: RawInputs, policy: str, engine: str | None) -> RawInputs:
    """Return the inputs without the files that cannot be read, which are noted."""
    if policy not in get_args(Policy):
        raise BadArgument(f"unreadable is {policy!r}.", "'error' or 'left_out'.")
    if policy == "error":
        return given
    if engine not in (None, "local"):
        raise BadArgument(
            f"unreadable='left_out' and engine={engine!r} were given.",
            "one of them: engines read files in their own way.",
            "for Spark: spark.sql.files.ignoreCorruptFiles and ignoreMissingFiles.",
        )
    inputs: dict[str, object] = dict(given.inputs)
    noted: list[LeftOut] = []
    for side in get_args(What):
        files = _find_files(inputs.get(side))
        errors = {path: error for path in files if (error := _error_of(path, side, given))}
        if not errors:
            continue
        if len(errors) == len(files):
            raise UnreadableFile(
                f"none of the {len(files):,} files of {side}= can be read; {errors[files[0]]}",
                "at least one file that can be read.",
            )
        noted.append(LeftOut(side, _names(errors, files), len(files)))
        inputs[side] = _with_source(inputs[side], [path for path in files if path not in errors])
    return replace(given, inputs=inputs, left_out=tuple(noted))


def _find_files(source: object) -> list[Path]:
    """Return the files of a table that consists of several; none for any other source."""
    if is_wrapped(source):
        source = source.source
    if isinstance(source, list | tuple):
        several = bool(source) and all(isinstance(path, str | PathLike) for path in source)
        return [Path(fspath(path)).expanduser() for path in source] if several else []
    if not isinstance(source, str | PathLike):
        return []
    path = Path(fspath(source)).expanduser()
    return find_files(path) if path.is_dir() else match_files(path)


def _with_source(given: object, files: Sequence[Path]) -> object:
    wrapper: Any = given
    return replace(wrapper, source=[*files]) if is_wrapped(given) else [*files]


def _error_of(path: Path, side: What, given: RawInputs) -> str:
    """Return why a file cannot be read; empty if it can."""
    source: Any = given.inputs[side]
    named: Mapping[str, str] = source.columns if is_wrapped(source) else {}
    form = (getattr(source, "format", None) if is_wrapped(source) else None) or ""
    try:
        opened = open_file(path, want_columns(side, dict(named), given.list_key, form))
        pieces = [opened] if opened.parts is None else opened.parts.each(_ROWS)
        for piece in pieces:
            piece.take({name: name for name in piece.names})
    except UnreadableFile as error:
        return error.found
    return ""


def _names(some: Iterable[Path], files: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of some files, below the folder that all of them share."""
    root = os.path.commonpath([file.parent for file in files])
    return tuple(Path(os.path.relpath(path, root)).as_posix() for path in some)
