"""Retrieval: vectors from arrays, files and frames; of users, or averaged over their items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rectitude.arrays import Ragged
from rectitude.errors import BadIds, BadScores, BadTable
from rectitude.models import model_of
from rectitude.models.ranking import Limits, Products, best

TRAIN = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "z"]})
IDS = ["z", "y", "x", "new"]
ITEMS = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [1.0, 0.5]])


def recommend(users: list[str], k: int = 2, /, **parameters: Any) -> list[tuple[str, str]]:
    model: Any = model_of("embeddings", **parameters).fit(TRAIN)  # type: ignore[arg-type]
    table = model.recommend(users, k)
    pairs: list[tuple[str, str]] = table.select("user", "item").rows()
    return pairs


def test_users_without_vectors_are_the_mean_of_their_items() -> None:
    # a: mean of (2, 0) and (1, 1) = (1.5, 0.5): new 1.75, z 0.5
    assert recommend(["a"], items=ITEMS, item_ids=IDS) == [("a", "new"), ("a", "z")]


def test_vectors_of_users_are_used_if_given() -> None:
    users = pl.DataFrame({"user": ["b", "c"], "v": [[0.0, 1.0], [1.0, 0.0]]})
    parameters = {"items": ITEMS, "item_ids": IDS, "users": users}
    assert recommend(["b", "c"], **parameters) == [
        ("b", "y"),
        ("b", "new"),
        ("c", "x"),
        ("c", "new"),
    ]
    model: Any = model_of("embeddings", unknown_users="empty", **parameters).fit(TRAIN)  # type: ignore[arg-type]
    assert model.recommend(["a"], 2).is_empty()
    assert model.ledger["users_not_known"] == 1


def test_cosine_ignores_lengths() -> None:
    users = pl.DataFrame({"user": ["c"], "one": [0.6], "two": [0.8]})
    parameters = {"items": ITEMS, "item_ids": IDS, "users": users}
    assert recommend(["c"], 4, **parameters)[0] == ("c", "y")
    order = [item for _, item in recommend(["c"], 4, likeness="cosine", **parameters)]
    assert order == ["y", "new", "z", "x"]


@pytest.mark.parametrize("kind", ["npz", "parquet list", "parquet columns", "npy"])
def test_vectors_come_from_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"items.{kind.split(maxsplit=1)[0]}"
    parameters: dict[str, Any] = {"items": path}
    if kind == "npz":
        np.savez(path, vectors=ITEMS, ids=np.array(IDS))
    elif kind == "npy":
        np.save(path, ITEMS)
        parameters["item_ids"] = IDS
    elif kind == "parquet list":
        pl.DataFrame({"item": IDS, "vector": ITEMS.tolist()}).write_parquet(path)
    else:
        pl.DataFrame({"item": IDS, "one": ITEMS[:, 0], "two": ITEMS[:, 1]}).write_parquet(path)
    assert recommend(["a"], **parameters) == [("a", "new"), ("a", "z")]


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        ({"items": ITEMS, "item_ids": IDS[:2]}, BadIds, "2 ids were given for 4 item vectors"),
        ({"items": ITEMS, "item_ids": ["x"] * 4}, BadIds, "1 items have more than one vector"),
        ({"items": ITEMS, "item_ids": [1, 2, 3, 4]}, BadIds, "ids of the same type"),
        (
            {"items": ITEMS * np.nan, "item_ids": IDS},
            BadScores,
            "4 of 4 item vectors are not finite",
        ),
        (
            {"items": ITEMS, "item_ids": IDS, "users": np.ones((1, 3)), "user_ids": ["a"]},
            BadScores,
            "3 dimensions, item vectors have 2",
        ),
        (
            {"items": pl.DataFrame({"item": ["x", "y"], "v": [[1.0], [1.0, 2.0]]})},
            BadScores,
            "between 1 and 2 dimensions",
        ),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    parameters: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        recommend(["a"], **parameters)


def test_an_archive_of_other_arrays_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", one=ITEMS, other=ITEMS)
    with pytest.raises(BadTable, match="holds one, other"):
        recommend(["a"], items=tmp_path / "two.npz")


def test_products_keep_every_item_that_rounding_could_bring_to_the_top(kernels: str) -> None:
    """Many items have equal products that differ only in the order of summation."""
    random = np.random.default_rng(0)
    base = random.normal(size=64)
    left = random.normal(size=(3, 64))
    right = np.array([base[random.permutation(64)] for _ in range(300)])
    right[1::2] = right[::2][:, ::-1]
    left[:] = 1.0 / 3.0
    products = Products(left, right)
    nothing = Ragged(np.zeros(4, np.int64), np.zeros(0, np.int64))
    cells = best(products, 10, Limits(np.arange(3), 300, nothing, None))
    exact = products.exact(np.zeros(300, np.int64), np.arange(300))
    order = np.lexsort((np.arange(300), -exact))[:10]
    assert cells.item.reshape(3, 10).tolist() == [order.tolist()] * 3
