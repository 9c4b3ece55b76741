"""Folders: those that hold one table, and those that hold the parts of a split.

Frameworks write parts under names of their own (`test.tsv`, `name.part3.inter`, `u1.base`). What a
file is, is told by these words; a folder within holds another fold, or a fold of validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rectitude.data.formats.columnar import scanned
from rectitude.data.formats.file import PACKED
from rectitude.data.frames import renamed
from rectitude.data.table import Source
from rectitude.errors import UnreadableFile

SCHEMA = "schema.json"
Framework = Literal["recbole", "elliot", "warprec", "recpack"]
"""Those whose folders are written."""
WORDS: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training", "base", "part1", "full_training_data"),
    "fold_in": ("fold_in", "test_in", "test_data_in"),
    "truth": ("truth", "test", "part3", "test_out", "test_data_out"),
    "validation_train": ("validation_train", "validation_training_data"),
    "validation_fold_in": ("validation_fold_in", "validation_in", "validation_data_in"),
    "validation_truth": (
        "validation_truth", "validation", "valid", "val", "dev", "part2", "validation_out",
        "validation_data_out",
    ),
}  # fmt: skip
"""Part -> the words that files bear for it."""
PART = {word: part for part, words in WORDS.items() for word in words}
OF_IDS = "_id"
"""What such a word may end with; where there is a file of the bare word too, that one is meant."""
NAMES: Mapping[str, Mapping[str, str]] = {
    "recbole": {
        "train": "{name}.train.inter", "validation_truth": "{name}.valid.inter",
        "truth": "{name}.test.inter",
    },
    "elliot": {
        "train": "{inner}train.tsv", "validation_truth": "{inner}val.tsv", "truth": "test.tsv",
    },
    "warprec": {"train": "train.tsv", "validation_truth": "validation.tsv", "truth": "test.tsv"},
    "recpack": {
        "train": "train.csv", "fold_in": "test_in.csv", "truth": "test_out.csv",
        "validation_fold_in": "validation_in.csv", "validation_truth": "validation_out.csv",
    },
}  # fmt: skip
"""Framework -> part -> file; `name` is that of the folder, `inner` the folder of a validation."""
NUMBERED: tuple[Framework, ...] = ("elliot",)
"""Frameworks that look for a folder with a number for each split, also for a single one."""
BESIDE = (".yaml", ".json", ".md", ".log", ".negative", ".user", ".item", ".kg", ".link", ".net")
"""Endings of files that stand beside the parts and are none."""
LEVELS = 2
"""How deep folders are gone through: folds, and folds of validation within."""


@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of one split."""

    name: str
    """of the fold; empty where there is but one split"""
    files: Mapping[str, Path]
    """part -> file"""


def part_files(folder: Path) -> list[PartFiles]:
    """The files of every split in a folder, folds in the order of their numbers."""
    found = [one for one in _within(folder, "") if {"train", "truth"} <= set(one.files)]
    if found:
        return found
    there = sorted(entry.name for entry in folder.iterdir())
    raise UnreadableFile(
        f"{folder} holds no train and truth: {', '.join(there[:8]) or 'it is empty'}.",
        "files such as train.csv and test.csv, name.train.inter and name.test.inter, or a folder"
        " for each fold.",
        "name the files one by one.",
    )


def files_left(folder: Path, found: Iterable[PartFiles]) -> tuple[str, ...]:
    """The files of a folder that are no part of any of its splits and might be taken for one."""
    used = {path for one in found for path in one.files.values()}
    left = [path for path in _entries(folder) if path not in used]
    names = [path.relative_to(folder).as_posix() for path in left]
    return tuple(name for name in names if not name.lower().endswith(BESIDE))


def _entries(folder: Path, levels: int = LEVELS) -> Iterator[Path]:
    """The tables and other files of a folder and of those within."""
    for entry in sorted(filter(_visible, folder.iterdir()), key=_place):
        if entry.is_file() or holds_table(entry):
            yield entry
        elif levels:
            yield from _entries(entry, levels - 1)


def _within(folder: Path, name: str, levels: int = LEVELS) -> list[PartFiles]:
    """Own splits, and those of the folders within: without a truth they are folds of validation."""
    entries = sorted((entry for entry in folder.iterdir() if _visible(entry)), key=_place)
    tables = [entry for entry in entries if entry.is_file() or holds_table(entry)]
    own = [_named(name, prefix, files) for prefix, files in _grouped(folder, tables).items()]
    inner = [
        found for entry in entries if levels and entry not in tables
        for found in _within(entry, f"{name}/{entry.name}" if name else entry.name, levels - 1)
    ]  # fmt: skip
    folds = [one for one in inner if "truth" not in one.files]
    judged = [one for one in own if "truth" in one.files]
    if len(judged) == 1 and folds:
        own = [_validated(judged[0], fold) for fold in folds]
    return [*own, *(one for one in inner if one not in folds or not judged)]


def _named(name: str, prefix: str, files: Mapping[str, Path]) -> PartFiles:
    return PartFiles("/".join(filter(None, (name, prefix))), files)


def _validated(outer: PartFiles, fold: PartFiles) -> PartFiles:
    """A truth with the training and validation of a fold within."""
    inner = {"validation_train" if part == "train" else part: f for part, f in fold.files.items()}
    train = outer.files.get("train", fold.files.get("train"))
    whole = {**outer.files, **inner, **({} if train is None else {"train": train})}
    return PartFiles(fold.name, whole)


def _grouped(folder: Path, tables: Iterable[Path]) -> dict[str, dict[str, Path]]:
    """Files by what stands before the word for their part, so that u1 and u2 are two splits."""
    groups: dict[str, dict[str, Path]] = {}
    parts = {path: found for path in tables if (found := _part(path))[1]}
    for path in sorted(parts, key=_of_ids):
        prefix, part = parts[path]
        held = groups.setdefault(prefix, {})
        if part not in held:
            held[part] = path
        elif _of_ids(path) == _of_ids(held[part]):
            raise UnreadableFile(
                f"{folder} has two files for {part}: {held[part].name} and {path.name}.",
                "one of each part.",
                "name the files one by one.",
            )
    for files in groups.values():
        last = files.get("validation_truth")
        if last is not None and "truth" not in files and ".part2." in f"{last.name}.":
            files["truth"] = files.pop("validation_truth")  # two parts only: the second is judged
    return {"" if len(groups) == 1 else prefix: files for prefix, files in groups.items()}


def _part(path: Path) -> tuple[str, str]:
    """What stands before the word for a part in the name of a file, and the part; or nothing."""
    bare = _bare(path)
    if bare.lower().endswith(BESIDE):
        return "", ""
    pieces = bare.split(".")
    for place in (-2, -1):
        word = pieces[place].lower() if len(pieces) >= -place else ""
        part = PART.get(word) or PART.get(word.removesuffix(OF_IDS))
        if part:
            return ".".join(pieces[:place]), part
    return "", ""


def _of_ids(path: Path) -> bool:
    """Whether the word in the name of a file ends so."""
    return any(piece.lower().endswith(OF_IDS) for piece in _bare(path).split(".")[-2:])


def _bare(path: Path) -> str:
    """The name of a file without the ending of a compressed one."""
    return path.name if path.suffix.lower() not in PACKED else path.stem


def _visible(entry: Path) -> bool:
    return not entry.name.startswith((".", "_"))


def _place(entry: Path) -> tuple[int, str]:
    """Folders with numbers in the order of these."""
    return int(entry.name) if entry.name.isdecimal() else -1, entry.name


# folders that are one table


def holds_table(folder: Path) -> bool:
    """Whether a folder is one table: a dataset of LensKit, or Parquet in pieces as Spark writes."""
    return folder.is_dir() and ((folder / SCHEMA).is_file() or bool(_pieces(folder)))


def open_folder(folder: Path) -> tuple[Source, str]:
    """The table that a folder holds, and what says so."""
    if (folder / SCHEMA).is_file():
        return _lenskit(folder), f"lenskit (it is a dataset of LensKit: it holds {SCHEMA})"
    pieces = _pieces(folder)
    if not pieces:
        raise UnreadableFile(f"{folder} is a folder.", "a file.", _inside(folder))
    return scanned(folder, pieces), f"parquet (a table in {len(pieces)} pieces)"


def _pieces(folder: Path) -> list[Path]:
    """The Parquet files of which a folder consists, if they are pieces of one table."""
    files = [entry for entry in sorted(folder.iterdir()) if _visible(entry)]
    named = folder.suffix.lower() in (".parquet", ".pq")
    whole = [f for f in files if f.is_file() and f.suffix.lower() in (".parquet", ".pq")]
    pieces = named or all(re.match(r"part[-.]?\d", file.name) for file in whole)
    return whole if pieces and len(whole) == len(files) else []


def _lenskit(folder: Path) -> Source:
    """The interactions of a dataset: entities are numbered, their ids stand in tables beside."""
    name, entities = _relationship(folder)
    links = scanned(folder / f"{name}.parquet", [folder / f"{name}.parquet"])
    ids = {f"{entity}_id": (f"{entity}_num", kind or entity) for entity, kind in entities.items()}
    numbers = {number for number, _ in ids.values()}
    names = [*ids, *(column for column in links.names if column not in numbers)]

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        columns = []
        for column in chosen.values():
            number, kind = ids.get(column, (column, ""))
            values = links.take({column: number})[column]
            columns.append(_of_entity(folder, kind, values) if kind else values)
        return renamed(pl.DataFrame(columns), chosen)

    return Source(folder.name, names, take)


def _of_entity(folder: Path, kind: str, numbers: pl.Series) -> pl.Series:
    table = scanned(folder / f"{kind}.parquet", [folder / f"{kind}.parquet"])
    return table.take({"id": f"{kind}_id"})["id"].gather(numbers).alias(numbers.name)


def _relationship(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """The name and the entities of the interactions that a dataset is about."""
    try:
        schema = json.loads((folder / SCHEMA).read_text("utf-8"))
        kinds = schema["relationships"]
        usual = schema.get("default_interaction")
        name = usual or next(name for name, kind in kinds.items() if kind.get("interaction"))
        return str(name), dict(kinds[name]["entities"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise UnreadableFile(
            f"{folder / SCHEMA} names no interactions: {type(error).__name__}.",
            "a dataset that LensKit saved.",
        ) from error


def _inside(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    return f"name one of its files: {', '.join(files[:8])}" if files else "it holds no files."
