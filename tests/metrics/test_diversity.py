"""How far apart the items of lists are: by hand, on bad input, and the same bits in any batches."""

from __future__ import annotations

from math import log2, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadTable,
    MissingNeed,
    UndefinedValue,
    UnknownName,
)
from rectitude.metrics.diversity import DISTANCES, sum_pair_distances

ITEMS = pl.DataFrame(
    {
        "item": ["a", "b", "c", "d", "z"],
        "embedding": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], None, [0.0, 0.0]],
        "feature0": [1, 0, 1, None, 0],
        "feature1": [0, 1, 1, None, 0],
        "genre": [["x"], ["y"], ["x", "y"], None, ["x"]],
        "category": ["x", "y", "x", None, "x"],
    }
)
TRAIN = pl.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": ["a", "b", "a", "c", "a", "b"]})


def value(name: str, items: list[str], **switches: Any) -> float:
    given = {"items": ITEMS, "train": TRAIN}
    return rt.evaluate({1: items}, {1: ["a"]}, name, switches or None, **given)[name]


BY_HAND = [
    ("ild@3", "abc", (1 + 2 * (1 - 1 / sqrt(2))) / 3),
    ("ild[distance=euclidean]@3", "abc", (sqrt(2) + 1 + 1) / 3),
    ("ild[distance=hamming]@3", "abc", (2 + 1 + 1) / 3),
    ("ild[distance=jaccard]@3", "abc", (1 + 1 / 2 + 1 / 2) / 3),
    ("ild[distance=euclidean,of=feature]@2", "abc", sqrt(2)),
    ("ild[distance=jaccard,of=genre]@3", "abc", 2 / 3),
    ("ild[distance=hamming,of=category]@3", "abc", 4 / 3),
    ("ild@4", "adbc", (1 + 2 * (1 - 1 / sqrt(2))) / 3),  # d has no vector
    ("ild@2", "az", 1.0),  # a vector of zeros has nothing in common with any
    ("ild[distance=euclidean]@2", "az", 1.0),
    ("ild[distance=jaccard]@2", "zz", 0.0),
    ("ild@2", "aa", 0.0),
    ("intra_list_similarity@3", "abc", 2 / sqrt(2) / 3),
    ("intra_list_similarity@3", "a", 1.0),
    ("cooccurrence_diversity@3", "abc", 1 - (2 / sqrt(6) + 1 / sqrt(3) + 0) / 3),
    ("cooccurrence_diversity@2", "ad", 1.0),
    ("distinct_categories@4", "abcd", 2 / 4),
    ("distinct_categories[by=genre]@2", "c", 2 / 2),
    ("category_entropy@3", "abc", -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3))),
    ("category_entropy[by=genre]@3", "abc", 1.0),
    ("category_entropy@2", "az", 0.0),
    ("category_entropy[patience=0.5]@2", "ab", -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3))),
    ("category_entropy[smooth=1]@1", "a", -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3))),
]


@pytest.mark.parametrize(("name", "items", "expected"), BY_HAND)
def test_a_metric_has_the_value_found_by_hand(name: str, items: str, expected: float) -> None:
    assert value(name, [*items], duplicates="counted") == pytest.approx(expected, abs=1e-14)


def test_a_list_of_one_item_has_no_distance_and_the_convention_sets_its_value() -> None:
    for name in ("ild@3", "ild[distance=euclidean]@3", "cooccurrence_diversity@3"):
        with pytest.raises(UndefinedValue):
            value(name, ["a"])
        assert value(name, ["a"], undefined="zero") == 0.0
        assert value(name, ["a"], undefined="one") == 1.0
    with pytest.raises(UndefinedValue):
        value("ild@3", ["d", "a"])  # one of two has a vector
    with pytest.raises(UndefinedValue):
        value("category_entropy@3", ["d"])


@pytest.mark.parametrize("wrong", ["patience=0", "patience=-1", "patience=2", "smooth=-1"])
def test_weights_of_categories_out_of_range_are_refused(wrong: str) -> None:
    with pytest.raises(BadArgument, match="patience"):
        value(f"category_entropy[{wrong}]@3", ["a", "b"])


def test_too_many_words_are_refused_before_they_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rectitude.metrics.diversity._VECTOR_CELLS", 9)
    with pytest.raises(BadTable, match="2 different values for 5 items"):
        value("ild[of=genre]@3", ["a", "b"])


def test_items_without_a_vector_are_counted_in_the_ledger() -> None:
    evaluation = rt.evaluate({1: ["a", "b", "d"]}, {1: ["a"]}, "ild@3", items=ITEMS)
    assert evaluation.ledger["items_without_embedding"] == 1


def test_missing_inputs_are_named() -> None:
    with pytest.raises(MissingNeed, match=r"'vector'.*embedding"):
        value("ild[of=vector]@3", ["a", "b"])
    with pytest.raises(MissingNeed, match="items"):
        _ = rt.evaluate({1: ["a"]}, {1: ["a"]}, "ild@3")["ild@3"]
    with pytest.raises(UnknownName, match="manhattan"):
        value("ild[distance=manhattan]@3", ["a", "b"])


def random_inputs(users: int, seed: int) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    lists = [
        (user, int(item), rank)
        for user in range(users)
        for rank, item in enumerate(rng.choice(40, rng.integers(1, 12), replace=False), 1)
    ]
    vectors = rng.normal(size=(40, 7))
    return {
        "lists": pl.DataFrame(lists, ["user", "item", "rank"], orient="row"),
        "truth": pl.DataFrame({"user": range(users), "item": rng.integers(0, 40, users)}),
        "train": pl.DataFrame(
            {"user": rng.integers(0, users, 400), "item": rng.integers(0, 35, 400)}
        ).unique(maintain_order=True),
        "items": pl.DataFrame(
            {
                "item": range(40),
                "embedding": [
                    None if n % 9 == 4 else row.tolist() for n, row in enumerate(vectors)
                ],
                "category": rng.integers(0, 5, 40),
            }
        ),
    }


FLOATS = [
    "ild@{3,10}", "ild[distance=euclidean]@10", "ild[distance=hamming]@10",
    "ild[distance=jaccard]@4", "intra_list_similarity@10", "cooccurrence_diversity@{2,10}",
    "distinct_categories@5", "category_entropy[patience=0.9]@10", "history_serendipity@10",
    "serendipity@{3,10}", "unexpectedness@{3,10}", "unseen_share@{3,10}", "self_information@5",
    "hit_popularity@10", "own_train_coverage@3", "entropy[base=2]@10",
]  # fmt: skip
SKIP = {"undefined": "skip"}


@pytest.mark.parametrize("kernels", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(3))
def test_any_batches_give_the_same_bits(
    kernels: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = random_inputs(60, seed)
    tables = {"train": given["train"], "items": given["items"]}
    whole = rt.evaluate(given["lists"], given["truth"], FLOATS, SKIP, **tables)
    monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
    rng = np.random.default_rng(seed)
    batch = pl.Series(rng.integers(0, 5, 60))
    evaluator = rt.Evaluator(FLOATS, convention=SKIP)
    for number in rng.permutation(5):
        mine = pl.Series("user", np.flatnonzero(batch == number))
        parts = [
            given[side].filter(pl.col("user").is_in(mine.implode())) for side in ("lists", "truth")
        ]
        evaluator.update(*parts, **tables)
    found = evaluator.compute()
    assert found.values() == whole.values()
    for name in whole.values():
        one, other = whole.result(name).values, found.result(name).values
        if one is not None and other is not None:
            order = np.argsort(found.per_list()["user"].to_numpy())
            assert np.array_equal(np.asarray(other)[order], np.asarray(one), equal_nan=True), name


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_list_has_the_same_distance_next_to_any_other_lists(distance: str) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(50, 13)).round(1)
    vectors[3], vectors[4] = np.nan, 0.0
    items = rng.integers(-1, 50, (300, 9))
    total, pairs = sum_pair_distances(vectors, items, distance)
    for cuts in ([1], [7, 8, 150], list(range(1, 300))):
        parts = [sum_pair_distances(vectors, part, distance) for part in np.split(items, cuts)]
        assert np.array_equal(np.concatenate([p[0] for p in parts]), total)
        assert np.array_equal(np.concatenate([p[1] for p in parts]), pairs)
    turned, _ = sum_pair_distances(vectors, items[:, ::-1], distance)
    assert turned == pytest.approx(total, abs=1e-10)  # the order of a list does not matter


@pytest.mark.parametrize("distance", DISTANCES)
def test_compiled_distances_have_the_bits_of_numpy(
    distance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(1)
    vectors, items = rng.normal(size=(50, 13)).round(1), rng.integers(-1, 50, (100, 6))
    vectors[3] = np.nan
    seen = []
    for kernels in ("numpy", "numba"):
        monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
        seen.append(sum_pair_distances(vectors, items, distance)[0])
    assert np.array_equal(*seen)


def test_scores_show_the_same_as_their_lists() -> None:
    rng = np.random.default_rng(2)
    given = random_inputs(20, 2)
    scores = rng.permutation(20 * 40).reshape(20, 40).astype(float)
    order = np.argsort(-scores, axis=1)[:, :10]
    lists = {user: row.tolist() for user, row in enumerate(order)}
    tables = {"items": given["items"]}
    names = ["ild@{3,10}", "distinct_categories@5", "category_entropy@10"]
    dense = rt.evaluate(rt.Scores(scores), given["truth"], names, SKIP, **tables)
    listed = rt.evaluate(lists, given["truth"], names, SKIP, **tables)
    assert dense.values() == listed.values()
    torch = pytest.importorskip("torch")
    from rectitude.torch import Evaluator

    evaluator = Evaluator(names, convention=SKIP)
    evaluator.update(rt.Scores(torch.from_numpy(scores)), given["truth"], **tables)
    assert evaluator.compute().values() == dense.values()
