"""Splits on disk: a folder with the parts, the ledger and the fingerprint, whole or not at all.

Folders are written as this library keeps them or as another framework looks for them, and either
kind is opened again.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from rectitude.data.formats.file import FileContent
from rectitude.data.formats.fit import files_of, fit
from rectitude.data.formats.folders import (
    NAMES,
    NUMBERED,
    Framework,
    PartFiles,
    files_left,
    part_files,
)
from rectitude.data.formats.registry import FORMATS
from rectitude.data.log import ROW, Log, open_log
from rectitude.data.table import Interactions
from rectitude.errors import UnreadableFile, UnwritableFile, unknown_name
from rectitude.splits.folds import of_parts
from rectitude.splits.split import Split
from rectitude.storage import read_stored, write_all

Notes = tuple[str, ...]
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


def _require_free(target: Path) -> None:
    """Nothing that stands there already is written over."""
    full = target.is_dir() and any(target.iterdir())
    if full or (target.exists() and not target.is_dir()):
        what = "is a folder with files in it" if full else "is a file"
        raise UnwritableFile(f"{target} {what}.", "a folder that is new or empty.")
    if not target.parent.is_dir():
        raise UnwritableFile(f"{target.parent} does not exist.", "a folder inside one that does.")


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
    content = FileContent("truth", log.frame.drop(ROW).rename({"user": "list"}), sizes=sizes)
    fitted = fit(content, FORMATS[framework])
    write_all(files_of(fitted.content, FORMATS[framework], path))
    return (*fitted.made, *(f"not kept: {note}" for note in fitted.lost))


def open_parts(folder: str | Path, form: str = "") -> Split | list[Split]:
    """The split in a folder, or the series of splits, one for each fold.

    Files are told by their names: train.csv and test.csv, RecBole's name.part1.inter, Elliot's and
    WarpRec's folders with numbers, LensKit's train and test.parquet, what RecPack saved. `form`
    names the format of all files, in place of what their content suggests.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise UnreadableFile(f"{path} is no folder.", "a folder that holds the parts of a split.")
    found = part_files(path)
    splits, left = [_opened(one, form) for one in found], files_left(path, found)
    for split in splits if left else ():
        split.ledger.note("files left out", ", ".join(left))
    return splits[0] if len(splits) == 1 else splits


def _opened(found: PartFiles, form: str) -> Split:
    split = of_parts({part: _log(path, form) for part, path in found.files.items()})
    split = replace(split, name=found.name)
    _require_same(split, found)
    files = ", ".join(f"{part} = {path.name}" for part, path in found.files.items())
    split.ledger.note("parts", files)
    return split


def _log(path: Path, form: str) -> Log:
    return open_log(Interactions(path, format=form) if form else path)


def _require_same(split: Split, found: PartFiles) -> None:
    """An error if parts have changed since they were written, where nothing is lost in writing."""
    beside = found.files["truth"].with_name(JSON)
    typed = all(path.suffix == ".parquet" for path in found.files.values())
    if not typed or not beside.is_file():
        return
    told = read_stored(beside, "split", f"a file of the format {FORMAT!r}.").get("fingerprint")
    if told not in (None, split.fingerprint):
        raise UnreadableFile(
            f"{beside.parent} holds parts with the fingerprint {split.fingerprint}, and {JSON} says"
            f" {told}.",
            "the parts as they were written.",
            f"split again, or remove {JSON} if the change was meant.",
        )
