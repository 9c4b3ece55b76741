"""Folders of parts as other frameworks look for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rectitude.data.formats import FORMATS
from rectitude.data.formats.fit import files_of, fit
from rectitude.data.formats.folders import NAMES
from rectitude.data.formats.format import Content
from rectitude.data.log import ROW, Log
from rectitude.errors import UnwritableFile
from rectitude.splits.split import Split
from rectitude.storage import write_all

Notes = tuple[str, ...]


def write_as(framework: str, split: Split, folder: Path, name: str) -> tuple[dict[str, str], Notes]:
    """Write the parts; their files, what had to be made for them, and what could not be kept.

    Where there is a validation, what is learnt from is without it, as frameworks take it.
    """
    files = _files(framework, split, name)
    sizes = _size(split, "user"), _size(split, "item")
    notes: dict[str, None] = {}
    for part, log in split.parts():
        if part in files:
            path = folder / files[part]
            path.parent.mkdir(exist_ok=True)
            notes |= dict.fromkeys(_written(framework, log, path, sizes))
    return files, tuple(notes)


def _files(framework: str, split: Split, name: str) -> dict[str, str]:
    tuned = split.validation is not None
    inner = "0/" if tuned else ""
    names = {part: text.format(name=name, inner=inner) for part, text in NAMES[framework].items()}
    if tuned:
        names["validation_train"] = names.pop("train")
    parts = [part for part, _ in split.parts() if not (tuned and part == "train")]
    homeless = [part for part in parts if part not in names]
    if homeless:
        raise UnwritableFile(
            f"the split has the part {homeless[0]}, and files of {framework} have no place for it.",
            f"no parts but {', '.join(NAMES[framework])}.",
            "write parquet or csv.",
        )
    return {part: names[part] for part in parts}


def _size(split: Split, column: str) -> int:
    """One more than the highest number among the ids of all parts; 0 if they are no numbers."""
    columns = [log.frame[column] for _, log in split.parts()]
    ends: list[Any] = [ids.max() for ids in columns if ids.dtype.is_integer()]
    return max(ends, default=-1) + 1


def _written(framework: str, log: Log, path: Path, sizes: tuple[int, int]) -> Notes:
    content = Content("truth", log.frame.drop(ROW).rename({"user": "list"}), sizes=sizes)
    fitted = fit(content, FORMATS[framework])
    write_all(files_of(fitted.content, FORMATS[framework], path))
    return (*fitted.made, *(f"not kept: {note}" for note in fitted.lost))
