"""Values per list kept with a stored evaluation: as Parquet beside the JSON, or in a zip with it.

The Parquet file names the document that it belongs to, so that values are never taken for those of
another evaluation.
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
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers
from rectitude.errors import BadIds, UnreadableFile
from rectitude.storage import Write, read_stored, write_all

DOCUMENT, LISTS = "evaluation.json", "evaluation.lists.parquet"
_BELONGS = "rectitude.evaluation"
_WEIGHT = "weight"


@dataclass(frozen=True)
class Kept:
    """A document as JSON text, and the values per list behind it, if they are kept."""

    text: str
    lists: pl.DataFrame | None = None
    weights: Floats | None = None
    """of the lists, where they have any"""

    def write_lists(self, where: Path | IO[bytes]) -> None:
        """Write the values per list as Parquet."""
        lists = pl.DataFrame() if self.lists is None else self.lists
        for name, kind in lists.schema.items():
            if kind == pl.Object:
                raise BadIds(f"{name}s are Python objects, which no file holds.", "texts, numbers.")
        if self.weights is not None:
            lists = lists.with_columns(pl.Series(_WEIGHT, self.weights))
        mark = {_BELONGS: fingerprint(json.loads(self.text))}
        lists.write_parquet(where, metadata=mark)


def is_zip(path: str | os.PathLike[str]) -> bool:
    """Whether a path is to be, or is, a zip."""
    return Path(path).suffix.lower() == ".zip"


def beside(path: str | os.PathLike[str]) -> Path:
    """Where the values per list of a stored evaluation stand."""
    return Path(path).with_suffix(".lists.parquet")


def fingerprint(document: Mapping[str, Any]) -> str:
    """What tells the results of a document from those of others."""
    results = json.dumps(document.get("results"), sort_keys=True)
    return hashlib.sha256(results.encode()).hexdigest()[:32]


def write(path: str | os.PathLike[str], kept: Kept) -> None:
    """Write a document, and its values per list if there are any: in a zip, or beside it."""
    if is_zip(path):
        write_all({Path(path): zip_writer({"": kept})})
        return
    files: dict[Path, Write] = {
        Path(path): lambda where: where.write_text(kept.text, encoding="utf-8")
    }
    if kept.lists is not None:
        files[beside(path)] = kept.write_lists
    write_all(files)


def zip_writer(every: Mapping[str, Kept]) -> Write:
    """What writes documents into one zip, each in the folder of its name, or in none."""

    def whole(where: Path) -> None:
        with ZipFile(where, "w") as archive:
            for name, kept in every.items():
                folder = f"{quote(name, safe=' ')}/" if name else ""
                archive.writestr(ZipInfo(folder + DOCUMENT), kept.text, ZIP_DEFLATED)
                if kept.lists is not None:
                    held = io.BytesIO()
                    kept.write_lists(held)
                    archive.writestr(ZipInfo(folder + LISTS), held.getvalue(), ZIP_STORED)

    return whole


def read(path: str | os.PathLike[str], expected: str) -> tuple[Any, pl.DataFrame | None]:
    """A document as JSON holds it, and its values per list if they stand with it."""
    if is_zip(path):
        every = read_zip(path, expected)
        if [*every] != [""]:
            raise UnreadableFile(
                f"{os.fspath(path)} holds {len(every)} evaluations: {', '.join(every)}.", expected,
                "rt.compare and rectitude compare read all of them.",
            )  # fmt: skip
        return every[""]
    document, file = read_stored(path, "evaluation", expected), beside(path)
    return document, _lists(file, document) if file.is_file() else None


def read_zip(
    path: str | os.PathLike[str], expected: str
) -> dict[str, tuple[Any, pl.DataFrame | None]]:
    """The documents of a zip by the name of their folder."""
    where = os.fspath(path)
    try:
        with ZipFile(path) as archive:
            inside = archive.namelist()
            folders = [name.removesuffix(DOCUMENT) for name in inside if _is_document(name)]
            if not folders:
                raise UnreadableFile(f"{where} holds no {DOCUMENT}.", expected)
            found = {folder: _member(archive, folder) for folder in folders}
    except (OSError, BadZipFile, ValueError) as error:
        raise UnreadableFile(f"{where} cannot be read: {error}.", expected) from error
    return {unquote(folder.removesuffix("/")): one for folder, one in found.items()}


def keys_of(
    lists: pl.DataFrame,
) -> tuple[pl.Series, Integers, pl.Series, bool, Floats | None]:
    """The keys of lists, the number of each one's user, the users, whether they are the keys, and
    the weights of the lists."""
    by_user, owner = "list" not in lists.columns, lists["user"]
    users = owner if owner.n_unique() == len(owner) else owner.unique().sort()
    same = len(users) == len(owner)
    owners = np.arange(len(owner)) if same else users.search_sorted(owner).to_numpy()
    weights = lists[_WEIGHT].to_numpy() if _WEIGHT in lists.columns else None
    keys = owner if by_user else lists["list"]
    return keys, owners.astype(np.int64), users, by_user, weights


def _is_document(name: str) -> bool:
    return name.rpartition("/")[2] == DOCUMENT


def _member(archive: ZipFile, folder: str) -> tuple[Any, pl.DataFrame | None]:
    document = json.loads(archive.read(folder + DOCUMENT))
    lists = folder + LISTS
    if lists not in archive.namelist():
        return document, None
    return document, _lists(io.BytesIO(archive.read(lists)), document)


def _lists(file: Path | IO[bytes], document: Any) -> pl.DataFrame | None:
    """The values per list, if they are those of the document."""
    try:
        mark = pl.read_parquet_metadata(file).get(_BELONGS)
        if not isinstance(document, Mapping) or mark != fingerprint(document):
            return None
        if not isinstance(file, Path):
            file.seek(0)
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        where = file if isinstance(file, Path) else LISTS
        raise UnreadableFile(
            f"{where} cannot be read: {error}.", "values per list as Parquet."
        ) from error
