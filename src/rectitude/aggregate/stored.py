"""Values per list, stored with an evaluation: as Parquet next to the JSON file, or both in one zip.

The Parquet file contains a fingerprint of its evaluation, so values are never read with the wrong
one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo, is_zipfile

import numpy as np
import polars as pl

from rectitude.archives import open_archive, read_member, require_members
from rectitude.arrays import Floats, Integers
from rectitude.data.formats.page_sizes import require_modest
from rectitude.errors import BadIds, RectitudeError, UnreadableFile
from rectitude.parallel import require_polars
from rectitude.storage import Write, read_stored, write_all
from rectitude.texts import parse_json, require_regular

DOCUMENT, LISTS = "evaluation.json", "evaluation.lists.parquet"
BELONGS = "rectitude.evaluation"
WEIGHT = "weight"
_AGAIN = "evaluate again and save the result."
_DAMAGED = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)


@dataclass(frozen=True, eq=False)
class Kept:
    """An evaluation as JSON text, and its values per list if they are kept."""

    text: str
    lists: pl.DataFrame | None = None
    weights: Floats | None = None
    """(lists,) the weight of each list; None without weights"""

    def frame(self) -> pl.DataFrame:
        """Return the values per list as they are stored, with the weights if there are any."""
        lists = pl.DataFrame() if self.lists is None else self.lists
        if self.weights is not None:
            lists = lists.with_columns(pl.Series(WEIGHT, self.weights))
        return lists

    def write_lists(self, where: Path | IO[bytes]) -> None:
        """Write the values per list as Parquet."""
        require_polars()
        lists = self.frame()
        for name, kind in lists.schema.items():
            if kind == pl.Object:
                raise BadIds(
                    f"{name} ids are Python objects, which cannot be saved.", "text or numbers."
                )
        lists.write_parquet(where, metadata=mark_lists(self.text))


def is_zip(path: str | os.PathLike[str]) -> bool:
    """Return whether a path ends in .zip."""
    return Path(path).suffix.lower() == ".zip"


def lists_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of the values per list that belong to a stored evaluation."""
    return Path(path).with_suffix(".lists.parquet")


def mark_lists(text: str) -> dict[str, str]:
    """Return the metadata of values per list that belong to an evaluation as JSON text."""
    return {BELONGS: fingerprint(json.loads(text))}


def fingerprint(document: Mapping[str, Any]) -> str:
    """Return a hash of the results in a document."""
    results = json.dumps(document.get("results"), sort_keys=True)
    return hashlib.sha256(results.encode()).hexdigest()[:32]


def write(path: str | os.PathLike[str], kept: Kept) -> None:
    """Write a document, and its values per list if there are any: both in a zip, or next to each
    other."""
    if is_zip(path):
        write_all({Path(path): zip_writer({"": kept})})
        return
    files: dict[Path, Write] = {
        Path(path): lambda where: where.write_text(kept.text, encoding="utf-8")
    }
    if kept.lists is not None:
        files[lists_path(path)] = kept.write_lists
    write_all(files)


def zip_writer(documents: Mapping[str, Kept]) -> Write:
    """Return a function that writes documents into one zip, each in a folder with its name (an
    empty name: in no folder)."""

    def write_zip(where: Path) -> None:
        with ZipFile(where, "w") as archive:
            for name, kept in documents.items():
                folder = f"{quote(name, safe=' ')}/" if name else ""
                archive.writestr(ZipInfo(folder + DOCUMENT), kept.text, ZIP_DEFLATED)
                if kept.lists is not None:
                    buffer = io.BytesIO()
                    kept.write_lists(buffer)
                    archive.writestr(ZipInfo(folder + LISTS), buffer.getvalue(), ZIP_STORED)

    return write_zip


def read(path: str | os.PathLike[str], expected: str) -> tuple[Any, pl.DataFrame | None]:
    """Read a document as parsed JSON, and its values per list if they are stored with it."""
    if is_zip(path):
        documents = read_zip(path, expected)
        if [*documents] != [""]:
            raise UnreadableFile(
                f"{os.fspath(path)} contains {len(documents)} evaluations: "
                f"{', '.join(documents)}.", expected,
                "to read all of them, use rt.compare or `rectitude compare`.",
            )  # fmt: skip
        return documents[""]
    document, file = read_stored(path, "evaluation", expected), lists_path(path)
    if not require_regular(file).is_file():
        return document, None
    return document, _read_lists(file, str(file), document)


def read_zip(
    path: str | os.PathLike[str], expected: str
) -> dict[str, tuple[Any, pl.DataFrame | None]]:
    """Read the documents of a zip, by the name of their folder."""
    where = os.fspath(path)
    with open_archive(path, expected, _AGAIN) as archive:
        folders = _find_documents(archive)
        if not folders:
            raise UnreadableFile(f"{where} does not contain {DOCUMENT}.", expected)
        require_members(archive, archive.namelist())
        documents = {folder: _read_member(archive, folder) for folder in folders}
    return {unquote(folder.removesuffix("/")): document for folder, document in documents.items()}


def holds_documents(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a zip of evaluations, as far as its list of members says."""
    if not is_zipfile(path):
        return False
    with open_archive(path, "a zip file.", "write it again.") as archive:
        return bool(_find_documents(archive))


def _find_documents(archive: ZipFile) -> list[str]:
    """Return the folders of a zip that contain a document."""
    names = archive.namelist()
    return [name.removesuffix(DOCUMENT) for name in names if name.rpartition("/")[2] == DOCUMENT]


def keys_of(
    lists: pl.DataFrame,
) -> tuple[pl.Series, Integers, pl.Series, bool, Floats | None]:
    """Return the keys of lists, the user number of each list, the users, whether users are the
    keys, and the weights of the lists."""
    by_user, owner = "list" not in lists.columns, lists["user"]
    users = owner if owner.n_unique() == len(owner) else owner.unique().sort()
    same = len(users) == len(owner)
    owners = np.arange(len(owner)) if same else users.search_sorted(owner).to_numpy()
    weights = lists[WEIGHT].to_numpy() if WEIGHT in lists.columns else None
    keys = owner if by_user else lists["list"]
    return keys, owners.astype(np.int64), users, by_user, weights


def _read_member(archive: ZipFile, folder: str) -> tuple[Any, pl.DataFrame | None]:
    document = parse_json(
        read_member(archive, folder + DOCUMENT), folder + DOCUMENT, "an evaluation as JSON."
    )
    lists = folder + LISTS
    if lists not in archive.namelist():
        return document, None
    return document, _read_lists(read_member(archive, lists), LISTS, document)


def _open(file: Path | bytes) -> Path | IO[bytes]:
    return io.BytesIO(file) if isinstance(file, bytes) else require_regular(file)


def _read_lists(file: Path | bytes, where: str, document: Any) -> pl.DataFrame | None:
    """Read the values per list if they belong to the document."""
    require_polars()
    try:
        mark = pl.read_parquet_metadata(_open(file)).get(BELONGS)
    except _DAMAGED as error:
        raise _explain_damage(where, error) from error
    if not isinstance(document, Mapping) or mark != fingerprint(document):
        return None
    return read_values(file, where)


def read_values(file: Path | bytes, where: str) -> pl.DataFrame:
    """Read a Parquet file with a user and values of metrics in each row."""
    try:
        opened = _open(file)
        require_modest(file, where)
        frame = pl.read_parquet(opened, glob=False)
    except RectitudeError:
        raise
    except _DAMAGED as error:
        raise _explain_damage(where, error) from error
    return require_values_per_list(frame, where)


def require_values_per_list(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Return a table with a user and values of metrics in each row, or raise an error."""
    if "user" not in frame.columns:
        raise UnreadableFile(
            f"{where} has the columns {', '.join(frame.columns[:10]) or 'of no table'}.",
            "a column user, and one for each metric.",
            _AGAIN,
        )
    for name, kind in frame.schema.items():
        is_id = name in ("user", "list")
        fits = kind.is_numeric() or kind == pl.String if is_id else kind.is_float()
        if not fits or (is_id and frame[name].has_nulls()):
            found = "has nulls" if fits else f"is of the type {kind}"
            expected = "ids that are numbers or text" if is_id else "values of a metric"
            raise UnreadableFile(f"{where}: column {name} {found}.", f"{expected}.", _AGAIN)
    return frame


def _explain_damage(where: str, error: BaseException) -> UnreadableFile:
    cause = str(error).strip().partition("\n")[0].rstrip(".")
    return UnreadableFile(
        f"{where} cannot be read: {cause}.", "values per list as Parquet.", _AGAIN
    )
