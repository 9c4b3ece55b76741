"""What `evaluate` is handed for a golden case: predictions, truth and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Integers
from rectitude.candidates.reranking import pooled, reranked
from rectitude.conformance.cases import Case
from rectitude.errors import UnreadableFile
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits
from rectitude.predictions.scores import Scores


def arguments(case: Case, ranking: str) -> dict[str, Any]:
    """What `evaluate` is handed for a case; `ranking` is the file of a recorded order, or empty."""
    return _ARGUMENTS[case.kind](case, ranking)


def _lists(case: Case, ranking: str) -> dict[str, Any]:
    """Given lists, in the recorded order if there is one."""
    lists = _long_enough(case, _order(case, ranking or "recommendations.parquet"))
    train = _train(case)
    if case.options.get("list_items") == "in_train" and train is not None:
        lists = lists.join(train.select("item").unique(), "item", "semi", maintain_order="left")
    users = case.inputs / "users.parquet"
    handed = None
    if users.exists():
        table = _parquet(case, users.name)
        handed = table.filter("has_list")["user"] if "has_list" in table.columns else None
    given = {"predictions": Lists(lists, users=handed, rank="position"), "truth": _truth(case)}
    whose = case.options.get("users", "")
    if train is not None and "truth" not in whose:  # else the case says who counts, met or not
        given["train"] = train
    if case.options.get("catalogue") == "train_items":
        given["items"] = _parquet(case, "train.parquet").select("item").unique()
    return given


def _scores(case: Case, ranking: str) -> dict[str, Any]:
    """Dense scores, with what is masked, the candidates and the recorded order."""
    array = _array(case, "scores.npy")
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    padding = 0 if array.ndim == 3 else None
    users = _parquet(case, "rows.parquet")["user"]
    items = None
    if "exclude_unknowns" in case.options:  # a model there scores the items of train, no others
        items = _parquet(case, "train.parquet")["item"].unique().sort()
        array = array[..., items.to_numpy()]
    predictions = Scores(array, users=users, items=items, padding=padding)
    given = {"predictions": predictions, "truth": _truth(case)}
    masked = _masked(case)
    if masked is not None:
        given["train"] = masked
    if "candidates" in case.options:
        given["candidates"] = _parquet(case, case.options["candidates"])
    if (catalogue := _catalogue(case)) is not None:
        given["items"] = catalogue
    if "coef" in case.options:
        given["ranking"] = _reranked(case, array, int(ranking.removeprefix("@")))
    elif ranking:
        given["ranking"] = _order(case, ranking)
    return given


def _reranked(case: Case, scores: NDArray[Any], k: int) -> Integers:
    """The columns of each row, chosen among the best k of each interest so that categories vary.

    Item 0 is no item: it can be among the best, and is left out when places are given.
    """
    items = _parquet(case, "items.parquet").sort("item")
    categories = np.where(items["item"] == 0, -1, items["category"])
    return reranked(pooled(scores, k), categories, k, case.options["coef"])


def _logits(case: Case, ranking: str) -> dict[str, Any]:
    """Logits and their targets, with the recorded order of the classes."""
    given: dict[str, Any] = {
        "predictions": Logits(_array(case, "logits.npy")),
        "truth": _array(case, "targets.npy"),
    }
    if ranking:
        given["ranking"] = _array(case, ranking).astype(np.int64)
    return given


_VECTORS = tuple(f"{name}{n}" for name in ("bit", "feature") for n in range(64))
_OF_ITEMS = ("item", "category", "cluster", "popularity_order", *_VECTORS)
_ARGUMENTS: Mapping[str, Callable[[Case, str], dict[str, Any]]] = {
    "lists": _lists,
    "scores": _scores,
    "logits": _logits,
}


def needed(case: Case, needs: Iterable[str]) -> dict[str, Any]:
    """The tables that metrics need beside the lists: the catalogue, the training data."""
    read = {"items": _items, "train": _whole_train, "users": _users}
    columns = {"items": _OF_ITEMS, "train": ["user", "item"], "users": ["user", "cluster"]}
    tables = {need: read[need](case) for need in needs}
    return {n: t.select(c for c in columns[n] if c in t.columns) for n, t in tables.items()}


def _items(case: Case) -> pl.DataFrame:
    """The catalogue, with the recorded order of equally popular items if there is one."""
    items = _parquet(case, "items.parquet")
    if "popularity_order" not in case.options:
        return items
    order = _parquet(case, case.options["popularity_order"]).select("item", "position")
    return items.join(order.rename({"position": "popularity_order"}), "item", "left")


def _whole_train(case: Case) -> pl.DataFrame:
    return _parquet(case, "train.parquet")


def _users(case: Case) -> pl.DataFrame:
    return _parquet(case, "users.parquet")


def _long_enough(case: Case, lists: pl.DataFrame) -> pl.DataFrame:
    """The lists that have as many items as the case asks for."""
    return lists.filter(pl.len().over("user") >= case.options.get("min_list_length", 0))


def _train(case: Case) -> pl.DataFrame | None:
    """What each user had in training."""
    if not (case.inputs / "train.parquet").exists():
        return None
    return _parquet(case, "train.parquet").select("user", "item")


def _catalogue(case: Case) -> pl.DataFrame | None:
    """The items that scores are for, unless those in train are told apart: then they are known."""
    if not (case.inputs / "items.parquet").exists():
        return None
    items = _items(case)
    if "in_train" in items.columns:
        return None
    return items.select(column for column in _OF_ITEMS if column in items.columns)


def _truth(case: Case) -> pl.DataFrame:
    truth = _parquet(case, "truth.parquet")
    if case.options.get("users") == "in_candidates":  # the truth of others is not looked at
        offered = _parquet(case, case.options["candidates"]).select("user").unique()
        truth = truth.join(offered, "user", "semi", maintain_order="left")
    return truth.drop("grade") if case.options.get("grades") == "binary" else truth


def _masked(case: Case) -> pl.DataFrame | None:
    """The items that each user is not recommended; unless the case says which, those of train,
    with which the profile deals."""
    if "batch_size" in case.options:
        return _fillers(case)
    mask = case.options.get("mask", "none" if "candidates" in case.options else "train")
    tells_known = "exclude_unknowns" in case.options  # then train is needed to say who is known
    if (mask == "none" and not tells_known) or (mask == "train" and _train(case) is None):
        return None
    if not mask.startswith("train") and mask != "none":
        return _parquet(case, mask).select("user", "item")
    train = _parquet(case, "train.parquet")
    return train.select("user", "item") if case.options.get("mask") == "train" else train


def _fillers(case: Case) -> pl.DataFrame:
    """Masked items that bring the candidates of a user to the longest number in his batch, as a
    framework does that stacks them; any items will do that are no candidates."""
    items = _parquet(case, "items.parquet").select("item")
    offered = _parquet(case, case.options["candidates"]).select("user", "item")
    known = _truth(case).select("user", "item").join(items, "item", "semi")
    offered = pl.concat([offered, known]).unique()
    sizes = offered.group_by("user").len("size").sort("user").with_row_index()
    batch = pl.col("index") // case.options["batch_size"]
    sizes = sizes.with_columns(missing=pl.col("size").max().over(batch) - pl.col("size"))
    others = sizes.join(items, how="cross").join(offered, ["user", "item"], "anti")
    nth = pl.int_range(pl.len()).over("user")
    return others.filter(nth < pl.col("missing")).select("user", "item")


def _order(case: Case, file: str) -> pl.DataFrame:
    """A table of items by position, without its empty places."""
    table = _parquet(case, file).filter(pl.col("item").cast(pl.String) != "-1")
    return table.sort("position", maintain_order=True)


def _parquet(case: Case, name: str) -> pl.DataFrame:
    return pl.read_parquet(_path(case, name))


def _array(case: Case, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.load(_path(case, name))
    return array


def _path(case: Case, name: str) -> Path:
    path = case.inputs / name
    if not path.exists():
        raise UnreadableFile(
            f"{case.path.name} of profile {case.profile!r} needs {path}, which does not exist.",
            "every input that a case names.",
        )
    return path
