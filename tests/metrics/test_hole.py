"""Holes: items that nobody ever judged."""

from __future__ import annotations

import pytest

import rectitude as rt
from rectitude.errors import NothingToEvaluate

LISTS = {"q": ["a", "x", "b"], "r": ["y", "a", "x"], "s": ["x", "z", "a"]}
TRUTH = {"q": {"a": 1, "b": 0}, "r": {"y": 1}}


def test_an_item_that_was_judged_for_another_list_is_no_hole() -> None:
    # Judged for anybody: a, b, y. At 2: x of q; nothing of r, although a was not judged for it.
    assert rt.evaluate(LISTS, TRUTH, "hole@2")["hole@2"] == 1 / (2 * 2)
    assert rt.evaluate(LISTS, TRUTH, "unjudged@2")["unjudged@2"] == (1 / 2 + 1 / 2) / 2


def test_lists_without_truth_can_add_holes_but_no_positions() -> None:
    # At 2: x of q, and x and z of s, which has no truth; 2 lists with truth, as in BEIR.
    assert (
        rt.evaluate(LISTS, TRUTH, "hole@2", convention={"truth_needed": "none"})["hole@2"] == 3 / 4
    )
    assert (
        rt.evaluate(LISTS, TRUTH, "hole@2", convention={"profile": "beir", "order": "given"})[
            "hole@2"
        ]
        == 3 / 4
    )


def test_batches_add_up() -> None:
    evaluator = rt.Evaluator("hole@2")
    for user in ("q", "r"):
        evaluator.update({user: LISTS[user]}, {user: TRUTH[user]})
    assert evaluator.compute()["hole@2"] == 1 / 4


def test_without_truth_there_is_nothing_to_divide_by() -> None:
    with pytest.raises(NothingToEvaluate):
        rt.evaluate(
            {"s": ["x"]},
            {"q": ["a"]},
            "hole@2",
            convention={"list_needed": "items", "truth_needed": "none"},
        )
