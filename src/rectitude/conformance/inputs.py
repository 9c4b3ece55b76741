"""The arguments of `evaluate` for a golden case: predictions, truth and other tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.candidate_sets.reranking import pool_interests, rerank
from rectitude.conformance.cases import Case
from rectitude.errors import UnreadableFile
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Scores


def arguments(case: Case, ranking: str) -> dict[str, Any]:
    """Return the arguments of `evaluate` for a case; `ranking` is a file with a recorded order, or
    empty."""
    return _ARGUMENTS[case.kind](case, ranking)


def _lists(case: Case, ranking: str) -> dict[str, Any]:
    """Return lists, in the recorded order if there is one, with truth and training data."""
    lists = _long_enough(case, _read_order(case, ranking or "recommendations.parquet"))
    train = _train(case)
    if case.options.get("list_items") == "in_train" and train is not None:
        lists = lists.join(train.select("item").unique(), "item", "semi", maintain_order="left")
    users = case.inputs / "users.parquet"
    with_list = None
    if users.exists():
        table = _parquet(case, users.name)
        with_list = table.filter("has_list")["user"] if "has_list" in table.columns else None
    if "rank" not in lists.columns:
        lists = lists.with_columns(rank=pl.col("position") + 1)
    predictions = Lists(lists.drop("position"), users=with_list, rank="rank")
    inputs: dict[str, Any] = {"predictions": predictions, "truth": _truth(case)}
    population = case.options.get("users", "")
    # If the case defines which users count, it does not matter who is in the training data.
    if train is not None and "truth" not in population:
        inputs["train"] = train
    if case.options.get("catalogue") == "train_items":
        inputs["items"] = _parquet(case, "train.parquet").select("item").unique()
    for option in ("candidates", "weights"):
        if option in case.options:
            inputs[option] = _parquet(case, case.options[option])
    return inputs


def _scores(case: Case, ranking: str) -> dict[str, Any]:
    """Return dense scores, with masked items, candidates and the recorded order."""
    array = _array(case, "scores.npy")
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    if "rows" in case.options:
        return _turn(case, array)
    padding = 0 if array.ndim == 3 else None
    users = _parquet(case, "rows.parquet")["user"]
    items: Any = range(array.shape[-1])  # ids are column numbers, also those without a score
    if "exclude_unknowns" in case.options:  # models there score only items of the training data
        items = _parquet(case, "train.parquet")["item"].unique().sort()
        array = array[..., items.to_numpy()]
    predictions = Scores(array, users=users, items=items, padding=padding)
    inputs = {"predictions": predictions, "truth": _truth(case)}
    masked = _read_mask(case)
    if masked is not None:
        inputs["train"] = masked
    if "candidates" in case.options:
        inputs["candidates"] = _parquet(case, case.options["candidates"])
    if (catalogue := _catalogue(case)) is not None:
        inputs["items"] = catalogue
    if "coef" in case.options:
        inputs["ranking"] = _rerank(case, array, int(ranking.removeprefix("@")))
    elif ranking:
        inputs["ranking"] = _read_order(case, ranking)
    return inputs


def _turn(case: Case, array: NDArray[Any]) -> dict[str, Any]:
    """Return scores in which every item is a row, or all cells are one row, with their truth."""
    truth, users = _truth(case), _parquet(case, "rows.parquet")["user"]
    if case.options["rows"] == "items":
        turned = truth.rename({"user": "item", "item": "user"})
        return {"predictions": Scores(array.T, items=users), "truth": turned}
    place = pl.col("user").replace_strict(users, range(len(users)), return_dtype=pl.Int64)
    cell = (place * array.shape[1] + pl.col("item")).alias("item")
    others = [name for name in truth.columns if name not in ("user", "item")]
    one = truth.select(pl.lit(0).alias("user"), cell, *others)
    return {"predictions": Scores(array.reshape(1, -1)), "truth": one}


def _rerank(case: Case, scores: NDArray[Any], k: int) -> Integers:
    """Rank the best k items of each interest again, for more diverse categories; return columns.

    Item 0 is padding: it can be among the best k of an interest, but it never gets a rank.
    """
    items = _parquet(case, "items.parquet").sort("item")
    categories = np.where(items["item"] == 0, -1, items["category"])
    return rerank(pool_interests(scores, k), categories, k, case.options["coef"])


def _logits(case: Case, ranking: str) -> dict[str, Any]:
    """Return logits and their targets, with the recorded order of the classes."""
    inputs: dict[str, Any] = {
        "predictions": Logits(_array(case, "logits.npy")),
        "truth": _array(case, "targets.npy"),
    }
    if ranking:
        inputs["ranking"] = _array(case, ranking).astype(np.int64)
    return inputs


_VECTORS = tuple(f"{name}{n}" for name in ("bit", "feature") for n in range(64))
_USER_COLUMNS = ("user", "cluster")
_ITEM_COLUMNS = (
    "item", "category", "cluster", "topics", "popularity_order", "features", *_VECTORS,
)  # fmt: skip
_ARGUMENTS: Mapping[str, Callable[[Case, str], dict[str, Any]]] = {
    "lists": _lists,
    "scores": _scores,
    "logits": _logits,
}


def tables_needed(case: Case, needs: Iterable[str]) -> dict[str, Any]:
    """Return the other tables that metrics need: the catalogue, the training data, the users."""
    readers = {"items": _items, "train": _whole_train, "users": _users}
    columns = {"items": _ITEM_COLUMNS, "train": ["user", "item", "grade"], "users": _USER_COLUMNS}
    tables = {need: readers[need](case) for need in needs}
    return {n: t.select(c for c in columns[n] if c in t.columns) for n, t in tables.items()}


def _items(case: Case) -> pl.DataFrame:
    """Return the catalogue, with the recorded order of equally popular items if there is one."""
    items = _parquet(case, "items.parquet")
    vector = [name for name in items.columns if name.startswith("feature")]
    if vector:  # also as one column
        items = items.with_columns(features=pl.concat_list(pl.col(vector).cast(pl.Float64)))
    if "popularity_order" not in case.options:
        return items
    order = _parquet(case, case.options["popularity_order"]).select("item", "position")
    return items.join(order.rename({"position": "popularity_order"}), "item", "left")


def _whole_train(case: Case) -> pl.DataFrame:
    return _parquet(case, "train.parquet")


def _users(case: Case) -> pl.DataFrame:
    return _parquet(case, "users.parquet")


def _long_enough(case: Case, lists: pl.DataFrame) -> pl.DataFrame:
    """Keep the lists that have at least as many items as the case asks for."""
    return lists.filter(pl.len().over("user") >= case.options.get("min_list_length", 0))


def _train(case: Case) -> pl.DataFrame | None:
    """Return the user-item pairs of the training data and their grades, if the case has any."""
    if not (case.inputs / "train.parquet").exists():
        return None
    train = _parquet(case, "train.parquet")
    return train.select(name for name in ("user", "item", "grade") if name in train.columns)


def _catalogue(case: Case) -> pl.DataFrame | None:
    """Return the catalogue of the scores; None if the case has none, or if it marks the items of
    the training data."""
    if not (case.inputs / "items.parquet").exists():
        return None
    items = _items(case)
    if "in_train" in items.columns:
        return None
    return items.select(column for column in _ITEM_COLUMNS if column in items.columns)


def _truth(case: Case) -> pl.DataFrame:
    truth = _parquet(case, "truth.parquet")
    if case.options.get("users") == "in_candidates":  # the truth of other users is ignored
        offered = _parquet(case, case.options["candidates"]).select("user").unique()
        truth = truth.join(offered, "user", "semi", maintain_order="left")
    return truth.drop("grade") if case.options.get("grades") == "binary" else truth


def _read_mask(case: Case) -> pl.DataFrame | None:
    """Return the items to mask for each user. Unless the case names them, these are the items of
    the training data, and the profile decides how to treat them."""
    if "batch_size" in case.options:
        return _fillers(case)
    mask = case.options.get("mask", "none" if "candidates" in case.options else "train")
    needs_train = "exclude_unknowns" in case.options  # to know which users and items are unknown
    if (mask == "none" and not needs_train) or (mask == "train" and _train(case) is None):
        return None
    if not mask.startswith("train") and mask != "none":
        return _parquet(case, mask).select("user", "item")
    train = _parquet(case, "train.parquet")
    return train.select("user", "item") if case.options.get("mask") == "train" else train


def _fillers(case: Case) -> pl.DataFrame:
    """Return masked items that pad the candidates of each user to the largest number in the batch.

    A framework that stacks candidates in batches does the same. Any items serve that are not
    candidates of the user.
    """
    items = _parquet(case, "items.parquet").select("item")
    offered = _parquet(case, case.options["candidates"]).select("user", "item")
    positives = _truth(case).select("user", "item").join(items, "item", "semi")
    offered = pl.concat([offered, positives]).unique()
    sizes = offered.group_by("user").len("size").sort("user").with_row_index()
    batch = pl.col("index") // case.options["batch_size"]
    sizes = sizes.with_columns(missing=pl.col("size").max().over(batch) - pl.col("size"))
    others = sizes.join(items, how="cross").join(offered, ["user", "item"], "anti")
    nth = pl.int_range(pl.len()).over("user")
    return others.filter(nth < pl.col("missing")).select("user", "item")


def _read_order(case: Case, file: str) -> pl.DataFrame:
    """Read a table of items, sorted by position, without empty positions (item -1)."""
    table = _parquet(case, file).filter(pl.col("item").cast(pl.String) != "-1")
    return table.sort("position", maintain_order=True)


def _parquet(case: Case, name: str) -> pl.DataFrame:
    return pl.read_parquet(_path(case, name))


def _array(case: Case, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.load(_path(case, name))
    return array


def _path(case: Case, name: str) -> Path:
    path = case.inputs / name
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise UnreadableFile(
            f"{case.path.name} of profile {case.profile!r} needs {path}, which {what}.",
            "all input files of the case.",
            "copy the missing file into the golden tree, or remove the case.",
        )
    return path
