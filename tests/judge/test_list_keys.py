"""Several lists per user, duplicates in lists and truth, and their ledger entries."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadTable, DuplicateItems, DuplicateTruth

SESSIONS = {"user": ["ann", "ann", "bob"], "session": [1, 2, 3], "item": ["a", "x", "a"]}


def test_a_truth_keyed_by_user_applies_to_all_lists_of_the_user() -> None:
    truth = {"user": ["ann", "bob", "bob"], "item": ["a", "a", "b"]}
    evaluation = rt.evaluate(SESSIONS, truth, "recall", list_key="session")
    assert evaluation["recall"] == (1 / 1 + 0 / 1 + 1 / 2) / 3
    by_user = rt.evaluate(SESSIONS, truth, "recall", {"unit": "user"}, list_key="session")
    assert by_user["recall"] == ((1 + 0) / 2 + 1 / 2) / 2


def test_frames_contain_lists_and_their_users() -> None:
    truth = {"user": ["ann", "bob"], "item": ["a", "a"]}
    evaluation = rt.evaluate(SESSIONS, truth, "hit", list_key="session")
    assert evaluation.per_list().rows(named=True) == [
        {"list": 1, "user": "ann", "hit": 1.0},
        {"list": 2, "user": "ann", "hit": 0.0},
        {"list": 3, "user": "bob", "hit": 1.0},
    ]
    assert evaluation.per_user().rows() == [("ann", 1 / 2), ("bob", 1.0)]


def test_a_user_of_the_truth_without_any_list_is_a_miss_or_mentioned() -> None:
    truth = {"user": ["ann", "bob", "eve"], "item": ["a", "a", "a"]}
    evaluation = rt.evaluate(SESSIONS, truth, "hit", {"unit": "user"}, list_key="session")
    # "every user with truth counts and a missing list is a miss": eve has no list at all
    warnings = [entry for entry in evaluation.ledger.warnings() if "eve" in str(entry)]
    assert evaluation["hit"] == (1 / 2 + 1 + 0) / 3 or warnings


def test_a_list_that_belongs_to_two_users_is_refused() -> None:
    lists = {"user": ["ann", "bob"], "session": [1, 1], "item": ["a", "x"]}
    truth = {"user": ["ann"], "session": [1], "item": ["a"]}
    with pytest.raises(BadTable, match="several users"):
        rt.evaluate(lists, truth, "hit", list_key="session")


def test_a_list_that_belongs_to_another_user_in_the_truth_is_refused() -> None:
    lists = {"user": ["ann", "bob"], "session": [1, 2], "item": ["a", "x"]}
    truth = {"user": ["bob", "bob"], "session": [1, 2], "item": ["a", "a"]}
    with pytest.raises(BadTable):
        rt.evaluate(lists, truth, "hit", list_key="session")


def test_users_restrict_lists_by_their_owner() -> None:
    truth = {"user": ["ann", "bob"], "item": ["a", "a"]}
    evaluation = rt.evaluate(SESSIONS, truth, "hit", list_key="session", users=["ann"])
    assert evaluation["hit"] == (1 + 0) / 2
    assert evaluation.per_user().rows() == [("ann", 1 / 2)]


def test_training_users_are_the_owners_of_lists() -> None:
    truth = {"user": ["ann", "bob"], "item": ["a", "a"]}
    evaluation = rt.evaluate(
        SESSIONS, truth, "hit", {"unknown_users": "drop"}, list_key="session", train={"bob": ["a"]}
    )
    assert evaluation["hit"] == 1


def test_lists_without_users_need_only_the_key() -> None:
    lists = {"query": [1, 1, 2], "item": ["x", "a", "a"]}
    evaluation = rt.evaluate(lists, {"query": [1, 2], "item": ["a", "a"]}, "mrr", list_key="query")
    assert evaluation["mrr"] == (1 / 2 + 1) / 2


def test_an_item_twice_in_a_list_is_an_error_that_names_it(kernels: str) -> None:
    lists = {"u": ["a", "b"], "v": ["x", "a", "x", "x"]}
    with pytest.raises(DuplicateItems) as caught:
        rt.evaluate(lists, {"u": ["a"], "v": ["a"]}, "mrr")
    message = str(caught.value)
    assert "1 of 2 lists contain an item twice (first: list 'v', item 'x')" in message
    assert "expected each item once per list" in message and "duplicates='first'" in message


def test_an_item_twice_in_a_list_keeps_its_first_rank_or_counts_each_time(kernels: str) -> None:
    lists, truth = {"u": ["a", "x", "a", "b"]}, {"u": ["a", "b"]}
    first = rt.evaluate(
        lists, truth, ["mrr[reciprocal_rank=sum]", "precision"], {"duplicates": "first"}
    )
    # a x b
    assert first["mrr[reciprocal_rank=sum]"] == 1 + 1 / 3
    assert first["precision"] == 2 / 3
    counted = rt.evaluate(lists, truth, ["mrr[reciprocal_rank=sum]", "precision"],
                          {"duplicates": "counted"})  # fmt: skip
    # a x a b
    assert counted["mrr[reciprocal_rank=sum]"] == 1 + 1 / 3 + 1 / 4
    assert counted["precision"] == 3 / 4
    assert first.ledger["lists_with_duplicates"] == counted.ledger["lists_with_duplicates"] == 1


def test_the_higher_score_of_a_repeated_item_counts(kernels: str) -> None:
    rows = pl.DataFrame({"user": [1] * 3, "item": [7, 8, 7], "score": [1.0, 2.0, 3.0]})
    evaluation = rt.evaluate(rows, {1: [7]}, ["mrr", "precision"], {"duplicates": "first"})
    assert evaluation.values() == {"mrr": 1.0, "precision": 1 / 2}
    assert rt.evaluate(rows[::-1], {1: [7]}, "mrr", {"duplicates": "first"})["mrr"] == 1


def test_a_pair_twice_in_the_truth_is_an_error_that_names_it(kernels: str) -> None:
    truth = {"user": ["u", "v", "v", "v"], "item": ["a", "a", "b", "a"]}
    with pytest.raises(DuplicateTruth) as caught:
        rt.evaluate({"u": ["a"], "v": ["a"]}, truth, "mrr")
    message = str(caught.value)
    assert "1 of 4 truth rows repeat a pair of list and item (first: list 'v', item 'a')" in message
    assert "duplicate_truth='once'" in message


def test_the_highest_grade_of_a_repeated_pair_counts(kernels: str) -> None:
    truth = {"user": ["u"] * 3, "item": ["a", "a", "b"], "grade": [1, 3, 1]}
    convention = {"duplicate_truth": "once", "gain": "linear"}
    evaluation = rt.evaluate({"u": ["a"]}, truth, ["dcg", "recall"], convention)
    assert evaluation.values() == {"dcg": 3.0, "recall": 1 / 2}
    assert evaluation.ledger["truth_duplicates"] == 1
    counted = rt.evaluate({"u": ["a"]}, truth, ["dcg", "recall"],
                          {"duplicate_truth": "counted", "gain": "linear"})  # fmt: skip
    assert counted.values() == {"dcg": 1.0 + 3.0, "recall": 2 / 3}
    assert counted.ledger["truth_duplicates"] == 1


def test_the_ledger_counts_users_and_lists() -> None:
    lists = {"u": ["a", "x"], "v": ["x"], "w": ["a"], "e": []}
    truth = {"u": {"a": 1}, "v": {"a": 0}, "z": {"a": 1}, "e": {"a": 1}}
    ledger = rt.evaluate(lists, truth, "hit@2").ledger
    found = {name: ledger[name] for name in (
        "users_in_truth", "users_with_list", "users_without_list", "users_without_relevant",
        "lists_not_in_truth", "lists_empty", "lists_short", "truth_rows", "prediction_rows",
    )}  # fmt: skip
    assert found == {
        "users_in_truth": 4,  # u v z e
        "users_with_list": 3,  # u v e
        "users_without_list": 1,  # z
        "users_without_relevant": 1,  # v
        "lists_not_in_truth": 1,  # w
        "lists_empty": 1,  # e
        "lists_short": 2,  # v and w have 1 item of 2
        "truth_rows": 4,
        "prediction_rows": 4,
    }
    assert "order" in ledger.notes and "as given" in ledger.notes["order"]
