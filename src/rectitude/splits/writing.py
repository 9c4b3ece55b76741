"""Splits on disk: a folder with the parts, the ledger and the fingerprint, whole or not at all."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from rectitude.data.log import Log
from rectitude.errors import UnwritableFile, unknown_name
from rectitude.splits.split import Split

FORMAT, VERSION = "rectitude.split", 1
FileFormat = Literal["parquet", "csv"]


def write(splits: Split | list[Split], folder: str | Path, form: FileFormat = "parquet") -> None:
    """Write a split into a new or empty folder, a series into one folder for each of its splits."""
    if form not in get_args(FileFormat):
        raise unknown_name("file format", form, get_args(FileFormat))
    target = Path(folder)
    _require_free(target)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        beside.mkdir()
        for split in splits if isinstance(splits, list) else [splits]:
            inner = beside / split.name if isinstance(splits, list) else beside
            inner.mkdir(exist_ok=True)
            _write_one(split, inner, form)
        beside.replace(target)
    except OSError as error:
        raise UnwritableFile(
            f"{target} cannot be written: {error.strerror or error}.",
            "a folder that may be written to.",
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def described(split: Split, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What a split is, for JSON: its parts, its fingerprint, its ledger."""
    parts: dict[str, dict[str, Any]] = {}
    for name, part in split.parts():
        rows, users, items = part.size
        parts[name] = {"rows": rows, "users": users, "items": items}
        if files:
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


def _write_one(split: Split, folder: Path, form: FileFormat) -> None:
    files = {name: f"{name}.{form}" for name, _ in split.parts()}
    for name, part in split.parts():
        _write_part(part, folder / files[name], form)
    text = json.dumps(described(split, files), indent=1)
    (folder / "split.json").write_text(f"{text}\n", encoding="utf-8")


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
