"""Inputs that once broke a promise, as lines of JSON: the words, and the files that were damaged.

`malformed.py` appends what it finds to found/corpus.jsonl. A line whose cause is mended belongs in
corpus.jsonl, which every run of the tests tries again.
"""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus.jsonl"
LARGEST = 20_000
"""Bytes of damaged files that an entry may hold."""


def entries() -> list[dict[str, Any]]:
    """The inputs of the corpus."""
    return [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]


def entry_of(
    words: tuple[str, ...],
    certain: bool,
    folder: Path,
    valid: Path,
    settings: Mapping[str, str],
) -> dict[str, Any] | None:
    """An input as an entry; None if its files are too large."""
    files = dict(_changed(folder, valid))
    size = sum(len(value) for made in files.values() for value in made.values())
    if size > LARGEST:
        return None
    return {"words": words, "certain": certain, "files": files, "settings": {**settings}}


def _changed(folder: Path, valid: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """What a folder holds that differs from the valid files, and what it lacks of them."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield name, {"link": os.readlink(path)}
        elif path.exists() and stat.S_ISFIFO(path.stat().st_mode):
            yield name, {"pipe": ""}
        elif path.is_file() and not _same(path, valid / name):
            yield name, _content(path.read_bytes())


def _same(path: Path, other: Path) -> bool:
    return other.is_file() and path.read_bytes() == other.read_bytes()


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def restore(files: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """Put the damaged files of an entry in place of the valid ones."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        ((how, value),) = content.items()
        if how == "link":
            path.symlink_to(value)
        elif how == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(value.encode() if how == "text" else base64.b64decode(value))
