"""Novelty, unexpectedness and serendipity: by hand, and on bad input."""

from __future__ import annotations

from math import log2, sqrt
from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import MissingNeed, UndefinedValue

# a: three users of train, b: two, c: one; d is in the catalogue only.
TRAIN = pl.DataFrame({"user": [1, 2, 3, 1, 2, 3], "item": ["a", "a", "a", "b", "b", "c"]})
ITEMS = pl.DataFrame({"item": ["a", "b", "c", "d"]})


def value(name: str, lists: Any, truth: Any, **switches: Any) -> float:
    return rt.evaluate(lists, truth, name, switches or None, train=TRAIN, items=ITEMS)[name]


BY_HAND = [
    ("unseen_share@3", {1: ["a", "c", "d"]}, 2 / 3),
    ("unseen_share@1", {1: ["a", "c", "d"]}, 0.0),
    ("unseen_share@2", {9: ["a", "c"]}, 1.0),
    # the two most popular items that user 3 does not have: b alone; for a new user: a and b
    ("unexpectedness@2", {3: ["b", "d"]}, 1 / 2),
    ("unexpectedness@2", {9: ["b", "a"]}, 0.0),
    ("unexpectedness@2", {9: ["b", "c"]}, 1 / 2),
    ("unexpectedness@1", {9: ["b", "c"]}, 1.0),
    # popularity ranks: a 1, b 2, c 3, and d 5 = items + 1
    ("serendipity@4", {1: ["d", "c", "b", "a"]}, ((5 - 1) + (3 - 2)) / 4 / 4),
    ("serendipity@1", {1: ["d", "c", "b", "a"]}, (5 - 1) / 4),
    ("self_information@4", {1: ["a", "b", "c", "d"]}, (1 + log2(3) + 2 * log2(6)) / 4),
    ("self_information[least=0]@4", {1: ["a", "b", "c", "d"]}, (1 + log2(3) + log2(6)) / 4),
    ("own_train_coverage@2", {1: ["a", "c"]}, 1 / 2),
    ("train_coverage@2", {1: ["a", "d"]}, 1 / 3),
    ("train_coverage[others=1]@2", {1: ["a", "d"]}, 2 / 3),
]


@pytest.mark.parametrize(("name", "lists", "expected"), BY_HAND)
def test_a_metric_has_the_value_found_by_hand(name: str, lists: Any, expected: float) -> None:
    truth = {user: ["c", "d"] for user in lists}
    assert value(name, lists, truth) == pytest.approx(expected, abs=1e-14)


def test_history_serendipity_uses_all_training_items_of_the_user() -> None:
    # c and a share one user of 1 and 3; c and b none; nobody has d
    unlike = 1 - (1 / sqrt(3) + 0) / 2
    found = value("history_serendipity@2", {1: ["c", "d"]}, {1: ["c"]})
    assert found == pytest.approx(unlike / 2, abs=1e-14)
    assert value("history_serendipity@2", {1: ["c", "d"]}, {1: ["d"]}) == 1 / 2
    with pytest.raises(UndefinedValue):
        value("history_serendipity@2", {9: ["c", "d"]}, {9: ["c"]})


def test_popularity_of_hits_counts_train_and_truth_over_all_users() -> None:
    lists, truth = {1: ["c", "d"], 2: ["a"]}, {1: ["c", "a"], 2: ["d"]}
    # users 1, 2, 3; c has one row of train and one of the truth
    assert value("hit_popularity@2", lists, truth) == pytest.approx((2 / 3 / 2 + 0) / 2)
    halves = [({u: lists[u]}, {u: truth[u]}) for u in lists]
    evaluator = rt.Evaluator(["hit_popularity@2"])
    for one in halves:
        evaluator.update(*one, train=TRAIN, items=ITEMS)
    assert evaluator.compute()["hit_popularity@2"] == value("hit_popularity@2", lists, truth)


def test_short_missing_and_repetitive_lists_are_distinguished() -> None:
    lists = rt.Lists({1: ["a", "b", "a", "c"], 2: ["a"]}, users=[1, 2, 3])
    truth, counted = {1: ["a"], 2: ["b"], 3: ["c"]}, {"duplicates": "counted"}
    names = {
        "filled_share@4": (1 + 1 / 4 + 0) / 3,
        "full_list_share@4": 1 / 3,
        "full_list_share@1": 2 / 3,
        "covered_share": 2 / 3,
        "unrepeated_share@4": (3 / 4 + 1) / 2,
        "unrepeated_share@2": 1.0,
        "unrepeated_share[whole=1]@4": 1 / 2,
    }
    found = rt.evaluate(lists, truth, [*names], counted | {"undefined": "skip"})
    assert found.values() == pytest.approx(names)


def test_a_list_is_compared_with_a_reference_given_as_the_truth() -> None:
    lists = {1: ["a", "b", "c"], 2: ["a", "b", "c"]}
    other = pl.DataFrame({"user": [1, 1, 1, 2, 2, 2, 2], "item": [*"abc", *"xyzc"]})
    names = {
        "reference_overlap@3": (1 + 0) / 2,
        "reference_overlap": (1 + 1 / 3) / 2,
        "unlike_reference@3": (0 + 1) / 2,
        "rank_biased_overlap@3": (1 + 0) / 2,
        "least_item_promoted@2": 0.0,
        "least_item_promoted@3": (0 + 0) / 2,
    }
    found = rt.evaluate(lists, other, [*names])
    assert found.values() == pytest.approx(names)
    swapped = rt.evaluate({1: ["b", "a"]}, {1: ["a", "b"]}, "rank_biased_overlap[patience=0.5]@2")
    assert swapped["rank_biased_overlap[patience=0.5]@2"] == pytest.approx(0.5 / 1.5)
    # without a cutoff each list goes to the end of the longer of the two
    alone, beside = {1: ["a"]}, {1: ["a"], 2: [*"abcdefgh"]}
    for name, overlap in (("", (1 + 1 / 2 / 2) / (1 + 1 / 2)), ("@1", 1.0)):
        asked = f"rank_biased_overlap[patience=0.5]{name}"
        for given in (alone, beside):
            found = rt.evaluate(given, {1: ["a", "x"]}, asked)
            assert found[asked] == pytest.approx(overlap)
    deep = rt.evaluate({1: ["d", "a"]}, {1: [*"abcde"]}, "least_item_promoted@1")
    assert deep["least_item_promoted@1"] == 3 - 1


@pytest.mark.parametrize("name", ["own_train_coverage@3", "train_coverage@3", "train_gini@3"])
def test_empty_training_data_makes_the_value_undefined(name: str) -> None:
    train = pl.DataFrame({"user": [9], "item": ["a"]})
    given = {"train": train if name.startswith("own") else train.clear()}
    with pytest.raises(UndefinedValue, match="train has no items"):
        _ = rt.evaluate({1: ["a"]}, {1: ["a"]}, name, **given)[name]
    assert rt.evaluate({1: ["a"]}, {1: ["a"]}, name, {"undefined": "zero"}, **given)[name] == 0


def test_missing_inputs_are_named() -> None:
    for name in ("unexpectedness@3", "unseen_share@3", "serendipity@3", "hit_popularity@3"):
        with pytest.raises(MissingNeed, match="train"):
            _ = rt.evaluate({1: ["a"]}, {1: ["a"]}, name, items=ITEMS)[name]


def test_novelty_over_the_users_in_the_training_data_counts_users_without_a_list_as_1() -> None:
    lists = {"ann": ["tea", "rye", "tea", "jam"], "eve": ["tea", "oil"]}
    train = {"user": ["ann", "bob", "bob"], "item": ["tea", "rye", "tea"]}
    switches = {"duplicates": "counted", "truth_needed": "none"}
    found = rt.evaluate(
        lists, {"ann": ["jam"]}, "train_user_novelty@4", train=train, convention=switches
    )
    # ann has 1 of 4 items in the training data (tea, once), bob has no list, eve is unknown
    assert found["train_user_novelty@4"] == 1 - (1 / 4) / 2


def test_distance_to_the_history_ignores_relevance() -> None:
    lists, train = {"u": ["c", "d"]}, {"u": ["a", "b"], "v": ["a", "c"], "w": ["d"]}
    found = rt.evaluate(
        lists, {"u": ["d"]}, ["history_distance", "history_distance@1"], train=train
    )
    # c and a: v has both, a has 2 users, c has 1; c and b: no user; d: no user with both
    similar = 1 / sqrt(2 * 1)
    assert found["history_distance@1"] == pytest.approx(1 - similar / 2, rel=1e-15)
    assert found["history_distance"] == pytest.approx((1 - similar / 2 + 1) / 2, rel=1e-15)


def test_distance_to_the_history_by_vectors() -> None:
    items = {"item": ["a", "b", "c"], "vector": [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]}
    lists, train = {"u": ["c"], "v": ["c"]}, {"u": ["a", "b"], "v": ["a"]}
    found = rt.evaluate(
        lists, {"u": ["c"], "v": ["c"]}, "history_vector_distance[of=vector]", train=train,
        items=items,
    )  # fmt: skip
    # cosines of c: 1 with a, 0 with b
    assert found["history_vector_distance[of=vector]"] == ((1 - 1 / 2) + (1 - 1)) / 2
