"""Writing files whole or not at all, and knowing what kind of file was read."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rectitude.errors import UnreadableFile, UnwritableFile

Write = Callable[[Path], object]
"""Something that writes a file of this name."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, so that it is never half-written."""
    write_all({Path(path): lambda where: where.write_text(text, encoding="utf-8")})


def make_folder(path: str | os.PathLike[str]) -> Path:
    """A folder, made if it is not there."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFile(
            f"{folder} cannot be made: {error.strerror or error}.",
            "the name of a folder, or a new one in a folder that may be written to.",
        ) from error
    return folder


def write_all(files: Mapping[Path, Write]) -> None:
    """Write files under temporary names, and move them into place once all of them are whole.

    What stands at a name keeps its mode, and a link keeps pointing where it points. Pipes and
    devices cannot be replaced: they are written to.
    """
    moves: dict[Path, Path] = {}
    try:
        for path, write in files.items():
            target = Path(os.path.realpath(path))
            special = target.exists() and not target.is_file()
            moves[target] = target if special else _beside(target)
            _attempt(path, partial(write, moves[target]))
        for target, temporary in moves.items():
            if temporary != target:
                _attempt(target, partial(_move, temporary, target))
    finally:
        for target, temporary in moves.items():
            if temporary != target:
                temporary.unlink(missing_ok=True)


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def _move(temporary: Path, target: Path) -> None:
    if target.exists():
        shutil.copymode(target, temporary)
    temporary.replace(target)


def _attempt(path: Path, action: Callable[[], object]) -> None:
    try:
        action()
    except OSError as error:
        raise UnwritableFile(
            f"{path} cannot be written: {error.strerror or error}.",
            "a file in a folder that exists and may be written to.",
        ) from error


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def read_stored(path: str | os.PathLike[str], kind: str, expected: str) -> Any:
    """What a JSON file holds, or an error that says what kind of file it should be."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableFile(
            f"{os.fspath(path)} cannot be read as {_a(kind)}: {error}.", expected
        ) from error


def require_format(stored: object, where: str, kind: str, newest: int) -> Mapping[str, Any]:
    """What was read from JSON, or an error if it is nothing of that kind or of a later version."""
    found = stored.get("format") if isinstance(stored, Mapping) else type(stored).__name__
    if not isinstance(stored, Mapping) or found != f"rectitude.{kind}":
        raise UnreadableFile(f"{where} holds {found!r}.", f"one {kind}, format 'rectitude.{kind}'.")
    if stored.get("version") not in range(1, newest + 1):
        raise UnreadableFile(
            f"{where} is {_a(kind)} of version {stored.get('version')!r}.",
            f"version {newest}.",
            "a newer rectitude may read it.",
        )
    return stored
