"""Slices of an evaluation by known and unknown users and items."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.errors import BadName, MissingNeed, UnknownName
from rectitude.evaluation.slices import slices

TRAIN = {"ann": ["a", "b"], "bob": ["a", "c"]}
TRUTH = {"ann": ["c", "n"], "bob": ["b"], "eva": ["a"], "fay": ["n", "a"]}
LISTS = {"ann": ["c", "n"], "bob": ["x", "b"], "eva": ["b", "a"], "fay": ["n", "a"]}


def test_every_slice_has_its_own_truth_and_its_own_users() -> None:
    evaluations = slices(LISTS, TRUTH, ["recall@2", "mrr"], train=TRAIN)
    assert list(evaluations) == ["all", "warm", "unknown user", "unknown item", "both"]
    assert {name: evaluation.result("mrr").counted for name, evaluation in evaluations.items()} == {
        "all": 4, "warm": 2, "unknown user": 2, "unknown item": 1, "both": 1,
    }  # fmt: skip
    assert {name: evaluation["mrr"] for name, evaluation in evaluations.items()} == {
        "all": 0.75, "warm": 0.75, "unknown user": 0.5, "unknown item": 0.5, "both": 1.0,
    }  # fmt: skip
    assert evaluations["all"].values() == rt.evaluate(LISTS, TRUTH, ["recall@2", "mrr"]).values()


def test_rows_of_all_slices_are_counted_and_add_up() -> None:
    ledger = slices(LISTS, TRUTH, "mrr", train={**TRAIN, "eva": ["n"], "fay": ["n"]})["all"].ledger
    rows = [entry.count for entry in ledger if entry.name.startswith("slice_")]
    assert rows == [6, 0, 0, 0]


def test_lists_without_truth_are_not_in_a_slice_of_rows() -> None:
    evaluations = slices(LISTS, TRUTH, "hit@1", {"truth_needed": "none"}, train=TRAIN)
    assert evaluations["both"].result("hit@1").counted == 1


def test_slices_contain_only_the_requested_users() -> None:
    evaluations = slices(LISTS, TRUTH, "mrr", train=TRAIN, users=["ann", "eva"])
    assert {name: evaluation.result("mrr").counted for name, evaluation in evaluations.items()} == {
        "all": 2, "warm": 1, "unknown user": 1, "unknown item": 1,
    }  # fmt: skip


def test_a_slice_that_cannot_be_evaluated_is_named_with_its_reason() -> None:
    lists = {user: items for user, items in LISTS.items() if user in TRAIN}
    evaluations = slices(lists, TRUTH, "mrr", train=TRAIN)
    assert "unknown user" not in evaluations
    assert "not evaluated: no user is in both" in evaluations["all"].ledger.notes["unknown user"]


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
    truth_table = pl.DataFrame(truth, schema=["user", "item"], orient="row")
    wanted = {
        n: evaluation.values()
        for n, evaluation in slices(lists, truth_table, "ndcg@3", train=rows).items()
    }
    assert len(wanted) == 5
    for known in (rows, csr_matrix(train)):
        evaluations = slices(rt.Scores(scores), truth_table, "ndcg@3", train=known)
        assert {name: evaluation.values() for name, evaluation in evaluations.items()} == wanted


def test_slices_by_known_need_training_data_and_a_valid_name() -> None:
    with pytest.raises(MissingNeed, match="train= is missing"):
        slices(LISTS, TRUTH, "mrr")
    with pytest.raises(UnknownName, match="known"):
        slices(LISTS, TRUTH, "mrr", by="know", train=TRAIN)


def test_many_crossed_attributes_are_refused_and_some_have_no_limit_of_labels() -> None:
    columns = {f"c{n}": [f"{user}-{n}" for user in range(40)] for n in range(9)}
    users = {"user": [*range(40)], **columns}
    lists = {user: ["a"] for user in range(40)}
    with pytest.raises(BadName, match="cross 9 attributes"):
        rt.evaluate(lists, lists, "mrr", users=users, slices=["+".join(columns)])
    evaluation = rt.evaluate(lists, lists, "mrr", users=users, slices=["+".join([*columns][:8])])
    assert evaluation.slices is not None
    assert len(evaluation.slices.numbers) == 41
