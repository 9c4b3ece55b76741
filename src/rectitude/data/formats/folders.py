"""Folders that hold one table, and folders that hold the parts of a split.

Each framework has its own file names for the parts (`test.tsv`, `name.part3.inter`, `u1.base`).
Words in these names identify the part. A subfolder holds another fold, or a validation fold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from rectitude.data.formats.columnar import scan_parquet
from rectitude.data.formats.compression import PACKED
from rectitude.data.frames import rename_columns
from rectitude.data.table import Source
from rectitude.errors import UnreadableFile
from rectitude.storage import real_path
from rectitude.texts import parse_json, read_text

SCHEMA = "schema.json"
Framework = Literal["recbole", "recbole-sequences", "elliot", "warprec", "recpack"]
"""Frameworks whose folders can be written."""
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
"""Part -> the words for it in file names."""
PART = {word: part for part, words in WORDS.items() for word in words}
ID_SUFFIX = "_id"
"""An optional suffix of these words; a file without it takes precedence."""
_RECBOLE: Mapping[str, str] = {
    "train": "{name}.train.inter", "validation_truth": "{name}.valid.inter",
    "truth": "{name}.test.inter",
}  # fmt: skip
NAMES: Mapping[str, Mapping[str, str]] = {
    "recbole": _RECBOLE,
    "recbole-sequences": _RECBOLE,
    "elliot": {
        "train": "{inner}train.tsv", "validation_truth": "{inner}val.tsv", "truth": "test.tsv",
    },
    "warprec": {"train": "train.tsv", "validation_truth": "validation.tsv", "truth": "test.tsv"},
    "recpack": {
        "train": "train.csv", "fold_in": "test_in.csv", "truth": "test_out.csv",
        "validation_fold_in": "validation_in.csv", "validation_truth": "validation_out.csv",
    },
}  # fmt: skip
"""Framework -> part -> file; `name` is the folder's name, `inner` the validation folder."""
SEQUENCES: Mapping[str, str] = {"recbole-sequences": "recbole"}
"""Layouts whose rows have the items before them, and the format of their files."""
NUMBERED: tuple[Framework, ...] = ("elliot",)
"""Frameworks that expect a numbered folder for each split, even for a single one."""
OTHER_ENDINGS = (
    ".yaml",
    ".json",
    ".md",
    ".log",
    ".negative",
    ".user",
    ".item",
    ".kg",
    ".link",
    ".net",
    ".query",
    ".group",
)
"""Endings of files in the same folder that are not parts."""
LEVELS = 2
"""How many levels of subfolders are searched: folds, and validation folds inside them."""


@dataclass(frozen=True, slots=True)
class PartFiles:
    """The files of one split."""

    name: str
    """the name of the fold; empty if there is only one split"""
    files: Mapping[str, Path]
    """part -> file"""


def part_files(folder: Path) -> list[PartFiles]:
    """Return the files of every split in a folder, folds sorted by number."""
    splits = [split for split in _find_splits(folder, "") if {"train", "truth"} <= set(split.files)]
    if splits:
        return splits
    names = sorted(entry.name for entry in folder.iterdir())
    raise UnreadableFile(
        f"{folder} does not contain a train and a test file, only:"
        f" {', '.join(names[:8]) or 'nothing'}.",
        "files such as train.csv and test.csv, or name.train.inter and name.test.inter, or a folder"
        " for each fold.",
        "pass the files one by one.",
    )


def unused_files(folder: Path, splits: Iterable[PartFiles]) -> tuple[str, ...]:
    """Return the files of a folder that belong to none of its splits but look like they might."""
    used = {path for split in splits for path in split.files.values()}
    left = [path for path in _entries(folder) if path not in used]
    names = [path.relative_to(folder).as_posix() for path in left]
    return tuple(name for name in names if not name.lower().endswith(OTHER_ENDINGS))


def _entries(folder: Path, levels: int = LEVELS) -> Iterator[Path]:
    """Yield the tables and other files of a folder and its subfolders."""
    for entry in _visible_entries(folder):
        if not entry.is_dir() or holds_table(entry):
            yield entry
        elif levels:
            yield from _entries(entry, levels - 1)


def _visible_entries(folder: Path) -> list[Path]:
    """Return the entries of a folder, numbered ones by number, without links that lead back."""
    here = real_path(folder)
    back = {here, *here.parents}
    entries = [entry for entry in folder.iterdir() if _is_visible(entry)]
    return sorted((entry for entry in entries if real_path(entry) not in back), key=_sort_key)


def _find_splits(folder: Path, name: str, levels: int = LEVELS) -> list[PartFiles]:
    """Return the splits of a folder and its subfolders.

    Subfolders without a truth are validation folds of the split around them.
    """
    entries = _visible_entries(folder)
    tables = [entry for entry in entries if not entry.is_dir() or holds_table(entry)]
    splits = [
        _name_split(name, prefix, files) for prefix, files in _group_files(folder, tables).items()
    ]
    inner_splits = [
        split for entry in entries if levels and entry not in tables
        for split in _find_splits(entry, f"{name}/{entry.name}" if name else entry.name, levels - 1)
    ]  # fmt: skip
    folds = [split for split in inner_splits if "truth" not in split.files]
    with_truth = [split for split in splits if "truth" in split.files]
    if len(with_truth) == 1 and folds:
        splits = [_add_validation(with_truth[0], fold) for fold in folds]
    return [*splits, *(split for split in inner_splits if split not in folds or not with_truth)]


def _name_split(name: str, prefix: str, files: Mapping[str, Path]) -> PartFiles:
    return PartFiles("/".join(filter(None, (name, prefix))), files)


def _add_validation(outer: PartFiles, fold: PartFiles) -> PartFiles:
    """Return a split with the training and validation data of a fold in a subfolder."""
    inner = {"validation_train" if part == "train" else part: f for part, f in fold.files.items()}
    train = outer.files.get("train", fold.files.get("train"))
    whole = {**outer.files, **inner, **({} if train is None else {"train": train})}
    return PartFiles(fold.name, whole)


def _group_files(folder: Path, tables: Iterable[Path]) -> dict[str, dict[str, Path]]:
    """Group files by the prefix before the word for their part: u1 and u2 are two splits."""
    groups: dict[str, dict[str, Path]] = {}
    parts = {path: match for path in tables if (match := _parse_part(path))[1]}
    for path in sorted(parts, key=_has_id_suffix):
        prefix, part = parts[path]
        group = groups.setdefault(prefix, {})
        if part not in group:
            group[part] = path
        elif _has_id_suffix(path) == _has_id_suffix(group[part]):
            raise UnreadableFile(
                f"{folder} has two files for {part}: {group[part].name} and {path.name}.",
                "one file for each part.",
                "pass the files one by one.",
            )
    for files in groups.values():
        second = files.get("validation_truth")
        if second is not None and "truth" not in files and ".part2." in f"{second.name}.":
            # There are only two parts, so the second is the truth.
            files["truth"] = files.pop("validation_truth")
    return {"" if len(groups) == 1 else prefix: files for prefix, files in groups.items()}


def _parse_part(path: Path) -> tuple[str, str]:
    """Return the prefix before the word for a part in a file name, and the part, or blanks."""
    bare = _uncompressed_name(path)
    if bare.lower().endswith(OTHER_ENDINGS):
        return "", ""
    pieces = bare.split(".")
    for position in (-2, -1):
        word = pieces[position].lower() if len(pieces) >= -position else ""
        part = PART.get(word) or PART.get(word.removesuffix(ID_SUFFIX))
        if part:
            return ".".join(pieces[:position]), part
    return "", ""


def _has_id_suffix(path: Path) -> bool:
    """Whether the word for a part in a file name has the id suffix."""
    return any(
        piece.lower().endswith(ID_SUFFIX) for piece in _uncompressed_name(path).split(".")[-2:]
    )


def _uncompressed_name(path: Path) -> str:
    """Return the name of a file without the ending of a compression."""
    return path.name if path.suffix.lower() not in PACKED else path.stem


def _is_visible(entry: Path) -> bool:
    return not entry.name.startswith((".", "_"))


def _sort_key(entry: Path) -> tuple[int, str]:
    """Return a sort key that sorts numbered folders by number."""
    return int(entry.name) if entry.name.isdecimal() else -1, entry.name


# folders that are one table


def holds_table(folder: Path) -> bool:
    """Whether a folder is one table: a LensKit dataset, or pieces or partitions, as Spark writes
    them."""
    is_dataset = (folder / SCHEMA).is_file()
    return folder.is_dir() and bool(is_dataset or _find_pieces(folder) or find_partitions(folder))


def find_files(folder: Path) -> list[Path]:
    """Return the files of a folder that is one table in many files: pieces or partitions."""
    return _find_pieces(folder) or find_partitions(folder)


def find_partitions(folder: Path) -> list[Path]:
    """Return the files of a partitioned folder: every subfolder names the value of a column, as in
    `user=1`. None if a file is a part of a split, because its folder is then a fold."""
    entries = [entry for entry in sorted(folder.iterdir()) if _is_visible(entry)]
    if not entries or not all(entry.is_dir() and "=" in entry.name for entry in entries):
        return []
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and _is_visible(path)]
    return [] if any(_parse_part(path)[1] for path in files) else files


def files_to_read_as(folder: Path, form: str) -> list[Path]:
    """Return the files of a folder that make up one table in a format that the user named; none
    without a named format, and none for a dataset of LensKit, whose folder is read as a whole."""
    if not form or (form == "lenskit" and (folder / SCHEMA).is_file()):
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_file() and _is_visible(path)]


def open_folder(folder: Path) -> tuple[Source, str]:
    """Open the table in a folder; return it and the reason why it was recognised."""
    if (folder / SCHEMA).is_file():
        return _open_lenskit(folder), f"lenskit (it is a LensKit dataset: it contains {SCHEMA})"
    pieces = _find_pieces(folder)
    if not pieces:
        raise UnreadableFile(f"{folder} is a folder.", "the path of a file.", _suggest_file(folder))
    return scan_parquet(folder, pieces), f"parquet (a table in {len(pieces)} pieces)"


def _find_pieces(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder, if they are pieces of one table."""
    files = [entry for entry in sorted(folder.iterdir()) if _is_visible(entry)]
    is_named_parquet = folder.suffix.lower() in (".parquet", ".pq")
    parquet_files = [f for f in files if f.is_file() and f.suffix.lower() in (".parquet", ".pq")]
    are_pieces = is_named_parquet or all(
        re.match(r"part[-.]?\d", file.name) for file in parquet_files
    )
    return parquet_files if are_pieces and len(parquet_files) == len(files) else []


def _open_lenskit(folder: Path) -> Source:
    """Open the interactions of a dataset; the ids of its numbered entities are in other tables."""
    name, entities = _read_relationship(folder)
    links = scan_parquet(folder / f"{name}.parquet", [folder / f"{name}.parquet"])
    ids = {f"{entity}_id": (f"{entity}_num", kind or entity) for entity, kind in entities.items()}
    numbers = {number for number, _ in ids.values()}
    names = [*ids, *(column for column in links.names if column not in numbers)]

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        columns = []
        for column in chosen.values():
            number, kind = ids.get(column, (column, ""))
            values = links.take({column: number})[column]
            columns.append(_look_up_entities(folder, kind, values) if kind else values)
        return rename_columns(pl.DataFrame(columns), chosen)

    return Source(folder.name, names, take)


def _look_up_entities(folder: Path, kind: str, numbers: pl.Series) -> pl.Series:
    table = scan_parquet(folder / f"{kind}.parquet", [folder / f"{kind}.parquet"])
    return table.take({"id": f"{kind}_id"})["id"].gather(numbers).alias(numbers.name)


def _read_relationship(folder: Path) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the entities of a dataset's interactions."""
    expected = "the schema of a dataset that LensKit saved."
    text = read_text(folder / SCHEMA, "schema", expected)
    schema = parse_json(text, str(folder / SCHEMA), expected)
    try:
        kinds = schema["relationships"]
        usual = schema.get("default_interaction")
        name = usual or next(name for name, kind in kinds.items() if kind.get("interaction"))
        return str(name), dict(kinds[name]["entities"])
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        raise UnreadableFile(
            f"{folder / SCHEMA} does not describe any interactions ({type(error).__name__}).",
            expected,
            "save the dataset again with LensKit.",
        ) from error


def _suggest_file(folder: Path) -> str:
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if not files:
        return "it contains no files."
    pattern = f"*{Path(files[0]).suffix}"
    return (
        f"pass one of its files: {', '.join(files[:8])}; or several as a pattern:"
        f" {folder.name}/{pattern}"
    )
