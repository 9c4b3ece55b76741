"""Calibration against the training data, and metrics of a numeric attribute of items."""

from __future__ import annotations

from math import isclose, log, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadTable

ITEMS = {"item": list("abcde"), "category": ["x", "x", "y", "z", None],
         "genre": [["p"], ["p", "q"], ["q"], [], None],
         "price": [1.0, 2.0, 3.0, 4.0, None]}  # fmt: skip
TRAIN = {"ann": ["a", "a", "c"], "bob": ["e"], "cy": ["b", "d"], "dan": ["d"]}
LISTS = {"ann": list("bce"), "bob": list("abc"), "cy": list("da"), "dan": list("ab"), "eve": ["a"]}
TRUTH = {"ann": ["c"], "bob": ["e"], "cy": ["a"], "dan": ["b"], "eve": ["e"]}


def per_user(name: str, **more: Any) -> dict[str, float | None]:
    given: dict[str, Any] = {"items": ITEMS, "train": TRAIN} | more
    table = rt.evaluate(LISTS, TRUTH, name, {"undefined": "skip"}, **given).per_list()
    return dict(table.select("user", name).iter_rows())


def test_divergences_are_those_of_the_shares() -> None:
    kl, js = per_user("calibration_kl@3"), per_user("calibration_js@3")
    # ann: train x 2/3, y 1/3; list x 1/2, y 1/2; e has no category
    p, q = (2 / 3, 1 / 3), (1 / 2, 1 / 2)
    smooth = [0.99 * b + 0.01 * a for a, b in zip(p, q, strict=True)]
    expected = sum(a * log(a / b) for a, b in zip(p, smooth, strict=True))
    assert isclose(kl["ann"], expected, rel_tol=1e-12)
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    both = sum(
        a
        * log(
            a / m,
        )
        + b * log(b / m)
        for a, b, m in zip(p, q, middle, strict=True)
    )
    assert isclose(js["ann"], both / 2 / log(2), rel_tol=1e-12)
    hellinger = sqrt(sum((sqrt(a) - sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2)
    assert isclose(per_user("calibration_hellinger@3")["ann"], hellinger, rel_tol=1e-12)


@pytest.mark.parametrize("name", ["calibration_kl", "calibration_js", "calibration_hellinger"])
def test_ends_of_the_scale_and_undefined_users(name: str) -> None:
    found = per_user(f"{name}@3")
    assert found["cy"] == 0.0  # b and d in train, d and a in the list: x and z in both
    assert found["bob"] is None  # no item of their training data has a category
    assert found["eve"] is None  # not in train
    worst = {"calibration_kl": log(100), "calibration_js": 1.0, "calibration_hellinger": 1.0}
    assert isclose(found["dan"], worst[name], rel_tol=1e-12)


def test_an_item_with_several_values_counts_for_each_in_equal_parts() -> None:
    # cy: b is half p, half q, d has no genre; list: a is p
    found = per_user("calibration_kl[alpha=0.5,by=genre]@3")
    assert isclose(found["cy"], 0.5 * log(0.5 / 0.75) + 0.5 * log(0.5 / 0.25), rel_tol=1e-12)


@pytest.mark.parametrize("alpha", [0, 1.5, -1])
def test_an_alpha_out_of_range_is_refused(alpha: float) -> None:
    with pytest.raises(BadArgument, match="a number above 0 and at most 1"):
        evaluation = rt.evaluate(
            LISTS, TRUTH, f"calibration_kl[alpha={alpha}]@2", items=ITEMS, train=TRAIN
        )
        raise next(iter(evaluation.failures.values()))


def test_random_lists_equal_a_plain_count() -> None:
    rng = np.random.default_rng(7)
    genres = [[f"g{g}" for g in range(6) if rng.random() < 0.3] for _ in range(40)]
    items = pl.DataFrame({"item": np.arange(40), "genre": genres})
    train = pl.DataFrame({"user": rng.integers(0, 30, 400), "item": rng.integers(0, 40, 400)})
    scores = rng.random((30, 40))
    truth = {user: [int(rng.integers(40))] for user in range(30)}
    found = rt.evaluate(
        rt.Scores(scores), truth, ["calibration_kl[by=genre]@8", "category_coverage[by=genre]@8"],
        {"undefined": "skip", "seen": "kept"}, items=items, train=train,
    ).per_list()  # fmt: skip
    for user, value, coverage in found.iter_rows():
        top = np.argsort(-scores[user])[:8]
        had = train.filter(pl.col("user") == user)["item"]
        p, q = shares([genres[i] for i in had]), shares([genres[i] for i in top])
        assert coverage == len(q) / len({g for own in genres for g in own})
        if not p or not q:
            assert value is None
            continue
        expected = sum(a * log(a / (0.99 * q.get(g, 0.0) + 0.01 * a)) for g, a in p.items())
        assert isclose(value, expected, rel_tol=1e-9, abs_tol=1e-12)


def shares(rows: list[list[str]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in rows:
        for one in row:
            found[one] = found.get(one, 0.0) + 1 / len(row)
    return {one: many / sum(found.values()) for one, many in found.items()}


def test_coverage_of_categories_counts_each_once() -> None:
    assert per_user("category_coverage@3") == {
        "ann": 2 / 3, "bob": 2 / 3, "cy": 2 / 3, "dan": 1 / 3, "eve": 1 / 3
    }  # fmt: skip


def test_the_mean_price_leaves_out_items_without_a_price() -> None:
    found = per_user("mean_attribute@3")
    assert (found["ann"], found["bob"], found["cy"]) == (2.5, 2.0, 2.5)
    only = rt.evaluate({"eve": ["e"]}, TRUTH, "mean_attribute@3", {"undefined": "skip"},
                       items=ITEMS, users=["eve"])  # fmt: skip
    assert "every list that counts is undefined" in str(only.failures["mean_attribute@3"])


def test_hits_count_with_their_price() -> None:
    found = per_user("hit_value@2")
    assert found == {"ann": 3.0, "bob": 0.0, "cy": 1.0, "dan": 2.0, "eve": 0.0}
    assert per_user("hit_value@1")["ann"] == 0.0


def test_tied_hits_count_with_their_probability() -> None:
    lists = {"user": ["u"] * 4, "item": list("abcd"), "score": [1.0, 1.0, 1.0, 1.0]}
    found = rt.evaluate(lists, {"u": ["b", "d"]}, "hit_value@2", {"ties": "average"}, items=ITEMS)
    assert found["hit_value@2"] == (2.0 + 4.0) / 2


def test_a_price_that_is_not_a_number_is_named() -> None:
    with pytest.raises(BadTable, match=r"column 'category' of items= .* contains 'x'"):
        evaluation = rt.evaluate(LISTS, TRUTH, "mean_attribute[of=category]@3", items=ITEMS)
        raise next(iter(evaluation.failures.values()))
