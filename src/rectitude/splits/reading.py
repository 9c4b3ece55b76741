"""Splits from disk: folders as this library writes them, and as other frameworks do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rectitude.data.formats.folders import PartFiles, files_left, part_files
from rectitude.data.interactions import Interactions
from rectitude.data.log import Log, open_log
from rectitude.errors import UnreadableFile
from rectitude.splits.given import of_parts
from rectitude.splits.split import Split
from rectitude.splits.writing import FORMAT, JSON
from rectitude.storage import read_stored


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
