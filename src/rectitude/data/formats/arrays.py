"""Arrays: sparse matrices as SciPy saves them, and top-K ids with one row per list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent
from rectitude.data.formats.fit import bound_of, require_numbers
from rectitude.data.frames import from_numpy, renamed
from rectitude.data.matrices import load
from rectitude.data.objects import open_sparse
from rectitude.data.table import ROW_NUMBER, Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.storage import Write

IDS = ("ids", "items", "preds", "")
"""Names that the array of items has in a file; the last is that of a lone array."""
MOST = 50_000_000
"""Rows and columns that a matrix is written with at most: its rows all take space."""


def read_sparse(file: File, want: WantedColumns) -> Source:
    """A sparse matrix: rows are users, columns are items, data is the score or grade."""
    from scipy.sparse import load_npz

    try:
        matrix = load_npz(file.path)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile, NotImplementedError) as error:
        raise UnreadableFile(
            f"{file.path} cannot be read as a sparse matrix: {str(error).rstrip('.')}.",
            "a file written by scipy.sparse.save_npz.",
        ) from error
    return replace(open_sparse(matrix, want), label=file.path.name)


def write_sparse(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """A CSR matrix; ids are its rows and columns."""
    from scipy.sparse import coo_array, csr_matrix

    frame = content.frame
    users, items = (require_numbers(frame[role], "a matrix", MOST) for role in ("list", "item"))
    number = frame[frame.columns[-1]].cast(float).to_numpy()
    lists = users if content.handed is None else require_numbers(content.handed, "a matrix", MOST)
    shape = (bound_of(lists), bound_of(items))
    matrix = csr_matrix(coo_array((number, (users.to_numpy(), items.to_numpy())), shape=shape))
    if matrix.nnz < frame.height or (users * max(shape[1], 1) + items).n_unique() < len(users):
        raise BadTable(
            "some rows repeat the user and item of another.",
            "every pair once: a matrix has one cell for it.",
        )
    return {path: partial(_save_sparse, matrix)}


def gaps(content: FileContent) -> tuple[str, ...]:
    """Rows that no list fills: whoever reads predictions takes each row for a list."""
    keys = content.frame["list"] if content.handed is None else content.handed
    missing = bound_of(require_numbers(keys, "a matrix", MOST)) - keys.n_unique()
    if content.kind != "predictions" or not missing:
        return ()
    return (f"{missing} rows belong to no user: they count as empty lists",)


def read_lists(file: File, want: WantedColumns) -> Source:
    """Ids in rows, best first; negative ids fill up lists that are too short, as implicit does.

    Users are the rows' numbers, or the array `users`; scores are the array `scores`.
    """
    arrays = load(file.path)
    ids = next((arrays[name] for name in IDS if name in arrays), np.empty(0))
    if want.what != "predictions" or ids.ndim != 2 or ids.dtype.kind not in "iuU":
        raise BadTable(
            f"{want.what} ({file.path.name}) is an array of {ids.dtype} with the shape"
            f" {ids.shape}.",
            "predictions as ids: one row per list, best first.",
            "scores of all items are given as rt.Scores(path) or --scores.",
        )
    return _rows(file.path.name, ids, arrays.get("users"), arrays.get("scores"))


def write_lists(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Rows of ids, -1 where a list has ended; in a `.npy` users are the numbers of rows."""
    items = require_numbers(content.frame["item"], "an array", 2**62).to_numpy()
    keys, place, row = _places(content)
    width = int(place.max()) + 1 if len(place) else 0
    ids = np.full((len(keys), width), -1, np.int64)
    ids[row, place] = items
    if path.suffix == ".npy":
        _require_rows(keys)
        return {path: partial(_save_arrays, {"": ids})}
    return {path: partial(_save_arrays, {"users": keys.to_numpy(), "ids": ids})}


def _rows(label: str, ids: NDArray[Any], users: Any, scores: Any) -> Source:
    if users is not None and np.shape(users) != ids.shape[:1]:
        raise BadTable(f"{label} has {len(ids)} lists and {np.size(users)} users.", "one for each.")
    if scores is not None and np.shape(scores) != ids.shape:
        raise BadTable(
            f"{label} has ids of the shape {ids.shape}, scores of {np.shape(scores)}.",
            "a score for each id.",
        )
    keys = from_numpy(np.arange(len(ids)) if users is None else np.asarray(users), "list")
    there = np.ones(ids.shape, bool) if ids.dtype.kind == "U" else ids >= 0
    row, place = np.nonzero(there)
    columns = {"list": keys.gather(row), "item": from_numpy(ids[row, place], "item")}
    if scores is not None:
        columns["score"] = from_numpy(np.asarray(scores)[row, place], "score")
    frame = pl.DataFrame([column.alias(name) for name, column in columns.items()])
    short = int(there.size - there.sum())
    names = {"list": ROW_NUMBER if users is None else "users", "item": "ids", "score": "scores"}
    back = {name: role for role, name in names.items()}

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return renamed(frame, {new: back[name] for new, name in chosen.items()})

    return Source(
        label, [names[role] for role in columns], take, {role: names[role] for role in columns},
        given=scores is None, handed=keys,
        recognised=f"{short} negative ids end lists that are short" if short else "",
    )  # fmt: skip


def _places(content: FileContent) -> tuple[Any, Integers, Integers]:
    """All lists, and for each row its place within the list and the list's row."""
    frame = content.frame
    keys = frame["list"] if content.handed is None else content.handed
    keys = keys.unique(maintain_order=True)
    at = pl.DataFrame({"list": keys}).with_row_index("row")
    rows = frame.select("list", pl.int_range(pl.len()).over("list").alias("place"))
    joined = rows.join(at, on="list", how="left", maintain_order="left")
    row: Integers = joined["row"].cast(pl.Int64).to_numpy()
    return keys, joined["place"].cast(pl.Int64).to_numpy(), row


def _require_rows(keys: Any) -> None:
    numbers = require_numbers(keys, "an array without users").to_numpy()
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise BadTable(
            f"users are not 0, 1, 2, ... in order (first: {list(numbers[:3])}).",
            "users that are the numbers of rows: a .npy file has no place for others.",
            "write a .npz file: it holds users beside ids.",
        )


def _save_sparse(matrix: Any, where: Path) -> None:
    from scipy.sparse import save_npz

    with where.open("wb") as file:  # given a name, SciPy would add an ending to it
        save_npz(file, matrix)


def _save_arrays(arrays: Mapping[str, NDArray[Any]], where: Path) -> None:
    with where.open("wb") as file:
        if "" in arrays:
            np.save(file, arrays[""], allow_pickle=False)
        else:
            np.savez(file, **arrays)  # type: ignore[arg-type]
