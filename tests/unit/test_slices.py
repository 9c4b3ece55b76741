"""Slices of an evaluation: what is known, and what is not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.errors import MissingNeed, UnknownName
from rectitude.evaluation.slices import slices

TRAIN = {"ann": ["a", "b"], "bob": ["a", "c"]}
TRUTH = {"ann": ["c", "n"], "bob": ["b"], "eva": ["a"], "fay": ["n", "a"]}
LISTS = {"ann": ["c", "n"], "bob": ["x", "b"], "eva": ["b", "a"], "fay": ["n", "a"]}


def test_every_slice_has_its_own_truth_and_its_own_users() -> None:
    found = slices(LISTS, TRUTH, ["recall@2", "mrr"], train=TRAIN)
    assert list(found) == ["all", "warm", "unknown user", "unknown item", "both"]
    assert {name: one.result("mrr").counted for name, one in found.items()} == {
        "all": 4, "warm": 2, "unknown user": 2, "unknown item": 1, "both": 1,
    }  # fmt: skip
    assert {name: one["mrr"] for name, one in found.items()} == {
        "all": 0.75, "warm": 0.75, "unknown user": 0.5, "unknown item": 0.5, "both": 1.0,
    }  # fmt: skip
    assert found["all"].values() == rt.evaluate(LISTS, TRUTH, ["recall@2", "mrr"]).values()


def test_rows_of_all_slices_are_counted_and_add_up() -> None:
    ledger = slices(LISTS, TRUTH, "mrr", train={**TRAIN, "eva": ["n"], "fay": ["n"]})["all"].ledger
    rows = [entry.count for entry in ledger if entry.name.startswith("slice_")]
    assert rows == [6, 0, 0, 0]


def test_lists_without_truth_do_not_enter_a_slice_they_have_no_part_in() -> None:
    found = slices(LISTS, TRUTH, "hit@1", {"truth_needed": "none"}, train=TRAIN)
    assert found["both"].result("hit@1").counted == 1


def test_users_who_are_asked_for_are_those_of_the_slice() -> None:
    found = slices(LISTS, TRUTH, "mrr", train=TRAIN, users=["ann", "eva"])
    assert {name: one.result("mrr").counted for name, one in found.items()} == {
        "all": 2, "warm": 1, "unknown user": 1, "unknown item": 1,
    }  # fmt: skip


def test_a_slice_without_any_list_is_named_with_its_reason() -> None:
    lists = {user: items for user, items in LISTS.items() if user in TRAIN}
    found = slices(lists, TRUTH, "mrr", train=TRAIN)
    assert "unknown user" not in found
    assert "not evaluated: no user is common" in found["all"].ledger.notes["unknown user"]


def test_scores_and_positions_have_the_same_slices_as_lists() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(12, 12))
    train = np.zeros((12, 12))
    train[:8, :9] = random.random((8, 9)) < 0.5
    truth = [
        (u, i) for u in range(12) for i in range(12) if random.random() < 0.4 and not train[u, i]
    ]
    rows = [{"user": u, "item": i} for u, i in zip(*np.nonzero(train), strict=True)]
    lists = [
        {"user": u, "item": i, "score": scores[u, i]}
        for u in range(12)
        for i in range(12)
        if not train[u, i]
    ]
    told = pl.DataFrame(truth, schema=["user", "item"], orient="row")
    wanted = {n: one.values() for n, one in slices(lists, told, "ndcg@3", train=rows).items()}
    assert len(wanted) == 5
    for known in (rows, csr_matrix(train)):
        found = slices(rt.Scores(scores), told, "ndcg@3", train=known)
        assert {name: one.values() for name, one in found.items()} == wanted


def test_slices_by_what_is_known_need_training_and_a_known_name() -> None:
    with pytest.raises(MissingNeed, match="which users and items are known"):
        slices(LISTS, TRUTH, "mrr")
    with pytest.raises(UnknownName, match="known"):
        slices(LISTS, TRUTH, "mrr", by="know", train=TRAIN)
