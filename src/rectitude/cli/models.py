"""The models that are named on the command line: files, folders, several runs of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rectitude.cli.inputs import ranked_lists
from rectitude.cli.options import COMPRESSED, named_format
from rectitude.errors import BadName, UnreadableFile


def models_of(words: Sequence[str]) -> dict[str, list[Any]]:
    """What each model is given as: `FILE`, `FOLDER`, or `NAME=FILE,FILE` for several runs; a file
    may be a pattern such as `runs/a-*.zip`."""
    given = [_parts(word) for word in words]
    stems = Counter(_stem(files) for name, files in given if not name)
    found: dict[str, list[Any]] = {}
    for word, (name, files) in zip(words, given, strict=True):
        own = name or (_stem(files) if stems[_stem(files)] == 1 else word)
        if own in found:
            raise BadName(f"{own} is named twice.", "each model once.")
        found[own] = [_opened(file) for file in files]
    return found


def _parts(word: str) -> tuple[str, list[str]]:
    """The name of a model, if it has one, and its files."""
    if Path(word).exists():
        return "", [word]
    name, equals, files = word.partition("=")
    if not equals or "/" in name:
        name, files = "", word
    elif not (name and files):
        raise BadName(f"{word!r} names no model.", "NAME=FILE, such as a=run1.zip,run2.zip.")
    every = [files] if Path(files).exists() else files.split(",")
    return name, [file for part in every for file in _matching(part)]


def _matching(part: str) -> list[str]:
    """The files that a pattern stands for, by name."""
    if Path(part).exists() or not any(sign in part for sign in "*?["):
        return [part]
    path = Path(part)
    every = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    found = sorted(str(file) for file in every if not file.name.endswith(".lists.parquet"))
    if not found:
        raise UnreadableFile(f"no file matches {part}.", "a pattern of files that are there.")
    return found


def _stem(files: Sequence[str]) -> str:
    """A short name of a model: that of its first file without endings, or of its folder."""
    path = Path(named_format(files[0])[1])
    if path.is_dir():
        return path.resolve().name
    return Path(path.stem).stem if path.suffix in COMPRESSED else path.stem


def _opened(file: str) -> Any:
    """A file as `compare` takes it."""
    if Path(file).is_dir() or Path(file).suffix.lower() in (".json", ".zip"):
        return file
    return ranked_lists(file)
