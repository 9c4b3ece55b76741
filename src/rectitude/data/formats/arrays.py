"""Arrays: sparse matrices saved by SciPy, and top-k ids with one row per list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.data.columns import WantedColumns
from rectitude.data.formats.file import File, FileContent
from rectitude.data.formats.fit import require_numbers, upper_bound
from rectitude.data.frames import from_numpy, rename_columns
from rectitude.data.matrices import load, load_sparse
from rectitude.data.objects import open_sparse
from rectitude.data.table import ROW_NUMBER, Source
from rectitude.errors import BadTable, UnreadableFile
from rectitude.memory import require_memory
from rectitude.storage import Write

IDS = ("ids", "items", "preds", "")
"""Names of the array of items in a file; the empty name is that of a single array."""
MOST_ROWS = 50_000_000
"""The most rows and columns of a matrix to write: even empty rows take space."""


def read_sparse(file: File, want: WantedColumns) -> Source:
    """Read a sparse matrix: rows are users, columns are items, values are scores or grades."""
    if file.head.startswith(b"\x93NUMPY"):
        raise UnreadableFile(
            f"{file.path} is a single array, not a sparse matrix.",
            "a file written by scipy.sparse.save_npz.",
            "for scores of all items, pass rt.Scores(path) or --scores.",
        )
    matrix = load_sparse(file.path)
    return replace(open_sparse(matrix, want), label=file.path.name)


def write_sparse(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write a CSR matrix; ids are its rows and columns."""
    from scipy.sparse import coo_array, csr_matrix

    frame = content.frame
    users, items = (
        require_numbers(frame[role], "a matrix", MOST_ROWS) for role in ("list", "item")
    )
    number = frame[frame.columns[-1]].cast(float).to_numpy()
    lists = (
        users
        if content.list_keys is None
        else require_numbers(content.list_keys, "a matrix", MOST_ROWS)
    )
    shape = (upper_bound(lists), upper_bound(items))
    matrix = csr_matrix(coo_array((number, (users.to_numpy(), items.to_numpy())), shape=shape))
    if matrix.nnz < frame.height or (users * max(shape[1], 1) + items).n_unique() < len(users):
        raise BadTable(
            "some rows repeat the user and item of another row.",
            "each pair of user and item once: a matrix has one cell per pair.",
            "remove the repeated rows, or choose a table format, such as csv.",
        )
    return {path: partial(_save_sparse, matrix)}


def describe_gaps(content: FileContent) -> tuple[str, ...]:
    """Return a remark about rows without a list: a reader would take each row for a list."""
    keys = content.frame["list"] if content.list_keys is None else content.list_keys
    missing = upper_bound(require_numbers(keys, "a matrix", MOST_ROWS)) - keys.n_unique()
    if content.kind != "predictions" or not missing:
        return ()
    return (f"{missing} rows do not belong to a user: they count as empty lists",)


def read_lists(file: File, want: WantedColumns) -> Source:
    """Read ids in rows, best first; negative ids pad short lists, as in implicit.

    Users are the row numbers, or the array `users`. Scores are the array `scores`.
    """
    arrays = load(file.path)
    ids = next((arrays[name] for name in IDS if name in arrays), np.empty(0))
    if want.what != "predictions" or ids.ndim != 2 or ids.dtype.kind not in "iuU":
        raise BadTable(
            f"{want.what} ({file.path.name}) is an array of {ids.dtype} with the shape"
            f" {ids.shape}.",
            "predictions as ids: one row per list, best first.",
            "pass scores of all items as rt.Scores(path) or --scores.",
        )
    return _open_lists(file.path.name, ids, arrays.get("users"), arrays.get("scores"))


def write_lists(content: FileContent, path: Path) -> Mapping[Path, Write]:
    """Write rows of ids, padded with -1; in a `.npy` file, users are the row numbers."""
    items = require_numbers(content.frame["item"], "an array", 2**62).to_numpy()
    keys, position, row = _locate_rows(content)
    width = int(position.max()) + 1 if len(position) else 0
    require_memory(
        8 * len(keys) * width, f"an array of {len(keys):,} lists with {width:,} items each",
        "choose a table format, such as Parquet, which does not pad short lists",
    )  # fmt: skip
    ids = np.full((len(keys), width), -1, np.int64)
    ids[row, position] = items
    if path.suffix == ".npy":
        _require_row_numbers(keys)
        return {path: partial(_save_arrays, {"": ids})}
    return {path: partial(_save_arrays, {"users": keys.to_numpy(), "ids": ids})}


def _open_lists(label: str, ids: NDArray[Any], users: Any, scores: Any) -> Source:
    if users is not None and np.shape(users) != ids.shape[:1]:
        raise BadTable(
            f"{label} has {len(ids)} lists and {np.size(users)} users.",
            "one user for each list.",
            "write the file again with arrays of matching shapes.",
        )
    if scores is not None and np.shape(scores) != ids.shape:
        raise BadTable(
            f"{label} has ids of shape {ids.shape}, but scores of shape {np.shape(scores)}.",
            "a score for each id.",
            "write the file again with arrays of matching shapes.",
        )
    keys = from_numpy(np.arange(len(ids)) if users is None else np.asarray(users), "list")
    present = np.ones(ids.shape, bool) if ids.dtype.kind == "U" else ids >= 0
    row, position = np.nonzero(present)
    columns = {"list": keys.gather(row), "item": from_numpy(ids[row, position], "item")}
    if scores is not None:
        columns["score"] = from_numpy(np.asarray(scores)[row, position], "score")
    frame = pl.DataFrame([column.alias(name) for name, column in columns.items()])
    padding = int(present.size - present.sum())
    names = {"list": ROW_NUMBER if users is None else "users", "item": "ids", "score": "scores"}
    roles = {name: role for role, name in names.items()}

    def take(chosen: Mapping[str, str]) -> pl.DataFrame:
        return rename_columns(frame, {new: roles[name] for new, name in chosen.items()})

    return Source(
        label, [names[role] for role in columns], take, {role: names[role] for role in columns},
        given=scores is None, handed=keys,
        recognised=f"{padding} negative ids pad short lists" if padding else "",
    )  # fmt: skip


def _locate_rows(content: FileContent) -> tuple[Any, Integers, Integers]:
    """Return the keys of all lists, and each row's position in its list and the list's row."""
    frame = content.frame
    keys = frame["list"] if content.list_keys is None else content.list_keys
    keys = keys.unique(maintain_order=True)
    rows_by_key = pl.DataFrame({"list": keys}).with_row_index("row")
    rows = frame.select("list", pl.int_range(pl.len()).over("list").alias("position"))
    joined = rows.join(rows_by_key, on="list", how="left", maintain_order="left")
    row: Integers = joined["row"].cast(pl.Int64).to_numpy()
    return keys, joined["position"].cast(pl.Int64).to_numpy(), row


def _require_row_numbers(keys: Any) -> None:
    numbers = require_numbers(keys, "an array without users").to_numpy()
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise BadTable(
            f"users are not 0, 1, 2, ... in order (first: {list(numbers[:3])}).",
            "users equal to the row numbers: a .npy file cannot store other users.",
            "write a .npz file, which stores users together with ids.",
        )


def _save_sparse(matrix: Any, path: Path) -> None:
    from scipy.sparse import save_npz

    with path.open("wb") as file:  # given a path, SciPy would append an ending to it
        save_npz(file, matrix)


def _save_arrays(arrays: Mapping[str, NDArray[Any]], path: Path) -> None:
    with path.open("wb") as file:
        if "" in arrays:
            np.save(file, arrays[""], allow_pickle=False)
        else:
            np.savez(file, **arrays)  # type: ignore[arg-type]
