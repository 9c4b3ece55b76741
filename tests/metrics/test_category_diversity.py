"""How many pairs of items in a list have different categories."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadName, BadTable, MissingNeed

LISTS = {"ann": ["a", "b", "c", "d"], "bob": ["a", "c", "e"], "cem": ["a"]}
TRUTH = {"ann": ["a"], "bob": ["e"], "cem": ["a"]}
ITEMS = {"item": list("abcde"), "category": ["x", "x", "y", "z", None]}


def per_user(
    name: str, lists: Any = LISTS, items: Any = ITEMS, **more: Any
) -> dict[str, float | None]:
    evaluation = rt.evaluate(lists, TRUTH, name, {"undefined": "skip"}, items=items, **more)
    assert not evaluation.failures, evaluation.failures
    frame = evaluation.per_user()
    return dict(zip(frame["user"], frame[name], strict=True))


def test_pairs_of_different_categories_are_counted() -> None:
    found = per_user("category_diversity@4")
    assert found["ann"] == 5 / 6  # all pairs but a and b
    assert found["bob"] == 1.0  # e has no category: a and c are left
    assert found["cem"] is None  # one item makes no pair
    assert per_user("category_diversity@2")["ann"] == 0.0


def test_lists_and_scores_and_recorded_orders_agree() -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((20, 3, 30)).astype(np.float32)
    category = rng.integers(0, 4, 30)
    items = pl.DataFrame({"item": np.arange(30), "category": category})
    truth = {user: [int(rng.integers(30))] for user in range(20)}
    top = rt.Scores(scores).top(7)
    expected = [np.mean([category[i] != category[j] for i, j in combinations(r, 2)]) for r in top]
    lists = {user: row.tolist() for user, row in enumerate(top)}
    ways: list[tuple[Any, dict[str, Any]]] = [
        (rt.Scores(scores), {}), (lists, {}), (rt.Scores(scores), {"ranking": top}),
    ]  # fmt: skip
    for predictions, more in ways:
        evaluation = rt.evaluate(predictions, truth, "category_diversity@7", items=items, **more)
        assert evaluation["category_diversity@7"] == pytest.approx(np.mean(expected), abs=1e-15)


def test_batches_add_up() -> None:
    evaluator = rt.Evaluator(["category_diversity@3"], {"undefined": "skip"})
    for user, listed in LISTS.items():
        evaluator.update({user: listed}, {user: TRUTH[user]}, items=ITEMS)
    whole = rt.evaluate(LISTS, TRUTH, "category_diversity@3", {"undefined": "skip"}, items=ITEMS)
    assert evaluator.compute().values() == whole.values()
    assert whole["category_diversity@3"] == pytest.approx((2 / 3 + 1) / 2)


def test_a_repeated_row_changes_nothing_and_a_second_category_is_refused() -> None:
    twice = {"item": list("abcdea"), "category": ["x", "x", "y", "z", None, "x"]}
    assert per_user("category_diversity@4", items=twice)["ann"] == 5 / 6
    twice["category"][5] = "y"
    wrong = r"1 items of .* have several values in 'category' .first: item 'a'"
    with pytest.raises(BadTable, match=wrong):
        _evaluate("category_diversity@4", items=twice)


def test_missing_inputs_are_named() -> None:
    with pytest.raises(MissingNeed, match="needs a table of the catalogue"):
        _evaluate("category_diversity@4")
    none = "has no column 'category'; its columns besides the item: none"
    with pytest.raises(MissingNeed, match=none):
        _evaluate("category_diversity@4", items=list("abcde"))
    with pytest.raises(BadName, match="a cutoff: distinct_categories@10"):
        _evaluate("distinct_categories", items=ITEMS)


def _evaluate(name: str, **more: Any) -> float:
    return rt.evaluate(LISTS, TRUTH, name, **more)[name]
