"""Splits on disk: a folder with the parts, the ledger and the fingerprint, whole or not at all."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from rectitude.data.formats.folders import NAMES, NUMBERED, Framework
from rectitude.data.log import Log
from rectitude.errors import UnwritableFile, unknown_name
from rectitude.splits.frameworks import Notes, write_as
from rectitude.splits.split import Split

FORMAT, VERSION = "rectitude.split", 1
JSON = "split.json"
FileFormat = Literal["parquet", "csv", Framework]


def write(splits: Split | list[Split], folder: str | Path, form: FileFormat = "parquet") -> Notes:
    """Write a split into a new or empty folder, a series into one folder for each of its splits.

    `form` is the format of the parts, or a framework whose folders are to be written. Returns what
    had to be made for that, such as grades, and what could not be kept.
    """
    if form not in get_args(FileFormat):
        raise unknown_name("file format", form, get_args(FileFormat))
    target = Path(folder)
    _require_free(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    notes: dict[str, None] = {}
    try:
        beside.mkdir()
        for number, split in enumerate(splits if isinstance(splits, list) else [splits]):
            fold = split.name if isinstance(splits, list) else ""
            fold = str(number) if form in NUMBERED else fold
            (beside / fold).mkdir(exist_ok=True)
            notes |= dict.fromkeys(_write_one(split, beside / fold, form, fold or target.name))
        beside.replace(target)
    except OSError as error:
        raise UnwritableFile(
            f"{target} cannot be written: {error.strerror or error}.",
            "a folder that may be written to.",
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return tuple(notes)


def described(split: Split, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a split is, for JSON: its parts, its fingerprint, its ledger."""
    parts: dict[str, dict[str, Any]] = {}
    for name, part in split.parts():
        rows, users, items = part.size
        parts[name] = {"rows": rows, "users": users, "items": items}
        if files and name in files:
            parts[name] |= {"file": files[name]}
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": split.name,
        "how": split.ledger.notes.get("how", ""),
        "source": split.train.source,
        "fingerprint": split.fingerprint,
        "parts": parts,
        "ledger": split.ledger.as_dict(),
    }


def _write_one(split: Split, folder: Path, form: FileFormat, name: str) -> Notes:
    if form in NAMES:
        files, notes = write_as(form, split, folder, name)
    else:
        files, notes = {part: f"{part}.{form}" for part, _ in split.parts()}, Notes()
        for part, log in split.parts():
            _write_part(log, folder / files[part], form)
    text = json.dumps(described(split, files), indent=1)
    (folder / JSON).write_text(f"{text}\n", encoding="utf-8")
    return notes


def _write_part(part: Log, path: Path, form: FileFormat) -> None:
    if form == "csv":
        part.frame.write_csv(path)
    else:
        part.frame.write_parquet(path)


def _require_free(target: Path) -> None:
    """Nothing that stands there already is written over."""
    full = target.is_dir() and any(target.iterdir())
    if full or (target.exists() and not target.is_dir()):
        what = "is a folder with files in it" if full else "is a file"
        raise UnwritableFile(f"{target} {what}.", "a folder that is new or empty.")
    if not target.parent.is_dir():
        raise UnwritableFile(f"{target.parent} does not exist.", "a folder inside one that does.")
