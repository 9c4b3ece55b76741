"""Splits on disk: a folder with the parts, the ledger and the fingerprint, written atomically.

A folder has our own layout or that of another framework; both can be opened again.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from rectitude.data.formats.file import FileContent, Format
from rectitude.data.formats.fit import files_of, fit
from rectitude.data.formats.folders import (
    NAMES,
    NUMBERED,
    SEQUENCES,
    Framework,
    PartFiles,
    part_files,
    unused_files,
)
from rectitude.data.formats.registry import FORMATS
from rectitude.data.log import ROW, Log, open_log
from rectitude.data.table import Interactions
from rectitude.errors import UnreadableFile, UnwritableFile, unknown_name
from rectitude.splits.folds import of_parts
from rectitude.splits.sequences import sequences_of
from rectitude.splits.split import Split
from rectitude.splits.unknown import count_unknown
from rectitude.storage import explain_unwritable, read_stored, require_format, write_all

Notes = tuple[str, ...]
FORMAT, VERSION = "rectitude.split", 1
JSON = "split.json"
FileFormat = Literal["parquet", "csv", Framework]


def write(splits: Split | list[Split], folder: str | Path, form: FileFormat = "parquet") -> Notes:
    """Write a split into a new or empty folder; of a series, each split into its own subfolder.

    `form` is the file format of the parts, or a framework whose layout to use. Returns notes about
    values that had to be invented for it, such as grades, and about what was lost.
    """
    if form not in get_args(FileFormat):
        raise unknown_name("file format", form, get_args(FileFormat))
    target = Path(folder)
    _require_free(target)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    notes: dict[str, None] = {}
    try:
        with explain_unwritable(target, temporary):
            temporary.mkdir()
            for number, split in enumerate(splits if isinstance(splits, list) else [splits]):
                fold = split.name if isinstance(splits, list) else ""
                fold = str(number) if form in NUMBERED else fold
                folder = temporary / fold
                folder.mkdir(exist_ok=True)
                notes |= dict.fromkeys(_write_one(split, folder, form, fold or target.name))
            temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return tuple(notes)


def _require_free(target: Path) -> None:
    """Raise an error rather than overwrite anything."""
    full = target.is_dir() and any(target.iterdir())
    if full or (target.exists() and not target.is_dir()):
        what = "is a folder that contains files" if full else "is a file"
        raise UnwritableFile(f"{target} {what}.", "a new or empty folder.")
    if not target.parent.is_dir():
        raise UnwritableFile(f"{target.parent} does not exist.", "a folder inside an existing one.")


def _write_one(split: Split, folder: Path, form: FileFormat, name: str) -> Notes:
    if form in NAMES:
        files, notes = write_as(form, split, folder, name)
    else:
        files, notes = {part: f"{part}.{form}" for part, _ in split.parts()}, Notes()
        for part, log in split.parts():
            _write_part(log, folder / files[part], form)
    text = json.dumps(describe_split(split, files), indent=1)
    (folder / JSON).write_text(f"{text}\n", encoding="utf-8")
    return notes


def _write_part(part: Log, path: Path, form: FileFormat) -> None:
    if form == "csv":
        part.frame.write_csv(path)
    else:
        part.frame.write_parquet(path)


def describe_split(split: Split, files: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Describe a split for JSON: its parts, fingerprint and ledger."""
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
    """Write the parts in the layout of a framework; return their files, and notes.

    With a validation, train excludes it, as frameworks expect.
    """
    files = _files(framework, split, name)
    if framework in SEQUENCES:
        form = FORMATS[SEQUENCES[framework]]
        return files, _write_sequences(split, form, folder, files)
    sizes = _size(split, "user"), _size(split, "item")
    notes: dict[str, None] = {}
    for part, log in split.parts():
        if part in files:
            path = folder / files[part]
            path.parent.mkdir(exist_ok=True)
            content = FileContent(
                "truth", log.frame.drop(ROW).rename({"user": "list"}), sizes=sizes
            )
            notes |= dict.fromkeys(_write_parts(content, FORMATS[framework], path))
    return files, tuple(notes)


def _write_sequences(split: Split, form: Format, folder: Path, files: Mapping[str, str]) -> Notes:
    """Write parts with the sequence of items before each row."""
    notes: dict[str, None] = {}
    targets = sequences_of(split)
    for part, file in files.items():
        frame = targets["train" if part == "validation_train" else part].rename({"user": "list"})
        texts = frame["history"].list.eval(pl.element().cast(pl.String)).list.join(" ")
        _require_words(frame["item"])
        content = FileContent("truth", frame.drop(ROW, "history"), sizes=(0, 0))
        notes |= dict.fromkeys(_write_parts(content, form, folder / file, texts))
    rows = sum(log.frame.height for part, log in split.parts() if part in files)
    first = rows - sum(map(len, targets.values()))
    return (*notes, f"not kept: {first:,} rows before which their users have no other row")


def _require_words(items: pl.Series) -> None:
    """Raise an error for ids with spaces, which separate the items of a sequence."""
    broken = items.filter(items.cast(pl.String).str.contains(r"\s"))
    if len(broken):
        raise UnwritableFile(
            f"{len(broken):,} rows have an item id with a space (first: {broken[0]!r}).",
            "item ids without spaces, which separate the items of a sequence.",
        )


def _files(framework: str, split: Split, name: str) -> dict[str, str]:
    tuned = split.validation is not None
    inner = "0/" if tuned else ""
    names = {part: text.format(name=name, inner=inner) for part, text in NAMES[framework].items()}
    if tuned:
        names["validation_train"] = names.pop("train")
    parts = [part for part, _ in split.parts() if not (tuned and part == "train")]
    unsupported = [part for part in parts if part not in names]
    if unsupported:
        raise UnwritableFile(
            f"the split has the part {unsupported[0]}, which {framework} has no file for.",
            f"only the parts {', '.join(NAMES[framework])}.",
            "write parquet or csv instead.",
        )
    return {part: names[part] for part in parts}


def _size(split: Split, column: str) -> int:
    """Return one more than the highest integer id of all parts; 0 if ids are not integers."""
    columns = [log.frame[column] for _, log in split.parts()]
    ends: list[Any] = [ids.max() for ids in columns if ids.dtype.is_integer()]
    return max(ends, default=-1) + 1


def _write_parts(
    content: FileContent, form: Format, path: Path, history: pl.Series | None = None
) -> Notes:
    fitted = fit(content, form)
    content = fitted.content
    if history is not None:
        content = replace(content, frame=content.frame.with_columns(history=history))
    write_all(files_of(content, form, path))
    return (*fitted.made, *(f"not kept: {note}" for note in fitted.lost))


def open_parts(folder: str | Path, form: str = "") -> Split | list[Split]:
    """Open the split in a folder, or the series of splits, one per fold.

    File names decide what is what: train.csv and test.csv, RecBole's name.part1.inter, the numbered
    folders of Elliot and WarpRec, LensKit's train.parquet and test.parquet, files saved by RecPack.
    `form` sets the format of all files, which is otherwise detected from their content.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise UnreadableFile(f"{path} is not a folder.", "a folder with the parts of a split.")
    folds = part_files(path)
    splits, ignored = [_open_split(fold, form) for fold in folds], unused_files(path, folds)
    for split in splits if ignored else ():
        split.ledger.note("files left out", ", ".join(ignored))
    return splits[0] if len(splits) == 1 else splits


def require_unchanged(fold: PartFiles) -> None:
    """Raise an error if Parquet parts have changed since they were written."""
    if _find_record(fold) is not None:
        _require_same(_read_parts(fold, ""), fold)


def _read_parts(fold: PartFiles, form: str) -> Split:
    return of_parts({part: _log(path, form) for part, path in fold.files.items()})


def _open_split(fold: PartFiles, form: str) -> Split:
    split = replace(_read_parts(fold, form), name=fold.name)
    _require_same(split, fold)
    files = ", ".join(f"{part} = {path.name}" for part, path in fold.files.items())
    split.ledger.note("parts", files)
    count_unknown(split)
    return split


def _log(path: Path, form: str) -> Log:
    return open_log(Interactions(path, format=form) if form else path)


def _find_record(fold: PartFiles) -> Path | None:
    """Return the file with the fingerprint of Parquet parts; None if there is none. Other formats
    store ids as text, which changes the fingerprint."""
    record = fold.files["truth"].with_name(JSON)
    typed = all(path.suffix == ".parquet" for path in fold.files.values())
    return record if typed and record.is_file() else None


def _require_same(split: Split, fold: PartFiles) -> None:
    """Raise an error if a split does not have the fingerprint that was written with its parts."""
    record = _find_record(fold)
    if record is None:
        return
    stored = read_stored(record, "split", f"a file of the format {FORMAT!r}.")
    recorded = require_format(stored, str(record), "split", VERSION)["fingerprint"]
    if recorded != split.fingerprint:
        raise UnreadableFile(
            f"the parts in {record.parent} have the fingerprint {split.fingerprint}, but {JSON}"
            f" says {recorded}.",
            "unchanged parts.",
            f"split again, or remove {JSON} if the change is intended.",
        )
