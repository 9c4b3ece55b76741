"""The values of a list are the same bits alone and among longer lists, to whose length it is
padded."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_every_metric_in_batches import every_metric

import rectitude as rt

USERS, ITEMS = 10, 40
CONVENTION = {"undefined": "zero", "seen": "kept", "truth_needed": "none"}
MORE = ["ild[distance=euclidean]", "ild[distance=jaccard]", "ncis_precision[activation=softmax]",
        "alpha_dcg[alpha=0.3]", "alpha_ndcg[alpha=0.3]"]  # fmt: skip
NAMES = [name for name in every_metric("lists")
         if rt.METRICS[name.partition("[")[0].partition("@")[0]].kind == "list"] + MORE  # fmt: skip


@cache
def tables() -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    """Lists of 3 to 30 items and more subtopics from user to user, with all that metrics need."""
    rng = np.random.default_rng(0)
    items = [f"i{n}" for n in range(ITEMS)]
    listed = [
        (f"u{user}", items[item], float(rng.random()))
        for user in range(USERS)
        for item in rng.permutation(ITEMS)[: 3 + 3 * user]
    ]
    told = [
        (f"u{user}", items[item], float(rng.integers(0, 4)), int(topic))
        for user in range(USERS)
        for item in rng.permutation(ITEMS)[: 2 + 2 * user]
        for topic in rng.permutation(2 + user)[:2]
    ]
    had = [
        (f"u{user}", items[item], float(rng.random()))
        for user in range(USERS)
        for item in rng.permutation(ITEMS)[:5]
    ]
    about = {
        "item": items,
        "category": [f"c{n % 11}" for n in range(ITEMS)],
        "group": [f"g{n % 3}" for n in range(ITEMS)],
        "price": rng.random(ITEMS),
        "embedding": rng.normal(size=(ITEMS, 3)).tolist(),
        "previous": rng.random(ITEMS),
    }
    groups = {"user": [f"u{user}" for user in range(USERS)], "group": ["a", "b"] * (USERS // 2)}
    more = {
        "items": pl.DataFrame(about),
        "users": pl.DataFrame(groups),
        "train": pl.DataFrame(had, ["user", "item", "grade"], orient="row"),
    }
    lists = pl.DataFrame(listed, ["user", "item", "score"], orient="row")
    return lists, pl.DataFrame(told, ["user", "item", "grade", "subtopic"], orient="row"), more


@cache
def together() -> rt.Evaluation:
    lists, truth, more = tables()
    return rt.evaluate(lists, truth, NAMES, CONVENTION, **more)


@pytest.mark.parametrize("user", [f"u{user}" for user in range(USERS)])
def test_a_list_has_the_same_values_alone(user: str) -> None:
    lists, truth, more = tables()
    mine = pl.col("user") == user
    alone = rt.evaluate(lists.filter(mine), truth.filter(mine), NAMES, CONVENTION, **more)
    expected = together().per_list().filter(mine).rows(named=True)[0]
    values = alone.per_list().filter(mine).rows(named=True)[0]
    compared = [name for name in NAMES if name in expected and name in values]
    assert len(compared) > 150
    different = {name: (values[name], expected[name]) for name in compared
                 if values[name] != expected[name]}  # fmt: skip
    assert not different
