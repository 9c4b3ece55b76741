"""What `evaluate` is handed for a golden case: predictions, truth and what goes with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rectitude.conformance.cases import Case
from rectitude.errors import UnreadableFile
from rectitude.predictions.dense import Scores
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits

if TYPE_CHECKING:
    import polars as pl


def arguments(case: Case, ranking: str) -> dict[str, Any]:
    """What `evaluate` is handed for a case; `ranking` is the file of a recorded order, or empty."""
    return _ARGUMENTS[case.kind](case, ranking)


def _lists(case: Case, ranking: str) -> dict[str, Any]:
    """Given lists, in the recorded order if there is one."""
    lists = _order(case, ranking or "recommendations.parquet")
    users = case.inputs / "users.parquet"
    handed = None
    if users.exists():
        table = _parquet(case, users.name)
        handed = table.filter("has_list")["user"] if "has_list" in table.columns else None
    given = {"predictions": Lists(lists, users=handed, rank="position"), "truth": _truth(case)}
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
    given = {"predictions": Scores(array, users=users, padding=padding), "truth": _truth(case)}
    masked = _masked(case)
    if masked is not None:
        given["train"] = masked
    if "candidates" in case.options:
        given["candidates"] = _parquet(case, case.options["candidates"])
    if ranking:
        given["ranking"] = _order(case, ranking)
    return given


def _logits(case: Case, ranking: str) -> dict[str, Any]:
    """Logits and their targets, with the recorded order of the classes."""
    given: dict[str, Any] = {
        "predictions": Logits(_array(case, "logits.npy")),
        "truth": _array(case, "targets.npy"),
    }
    if ranking:
        given["ranking"] = _array(case, ranking).astype(np.int64)
    return given


_ARGUMENTS: Mapping[str, Callable[[Case, str], dict[str, Any]]] = {
    "lists": _lists,
    "scores": _scores,
    "logits": _logits,
}


def _truth(case: Case) -> pl.DataFrame:
    truth = _parquet(case, "truth.parquet")
    return truth.drop("grade") if case.options.get("grades") == "binary" else truth


def _masked(case: Case) -> pl.DataFrame | None:
    """The items that each user is not recommended."""
    mask = case.options.get("mask", "none")
    if mask == "none":
        return None
    if not mask.startswith("train"):
        return _parquet(case, mask).select("user", "item")
    train = _parquet(case, "train.parquet")
    if mask == "train_relevant":
        train = train.filter(train["grade"] >= case.options["relevant_from"])
    return train.select("user", "item")


def _order(case: Case, file: str) -> pl.DataFrame:
    """A table of items by position, without its empty places."""
    import polars as pl

    table = _parquet(case, file).filter(pl.col("item").cast(pl.String) != "-1")
    return table.sort("position", maintain_order=True)


def _parquet(case: Case, name: str) -> pl.DataFrame:
    import polars as pl

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
