"""Items that the user already has in the training data, in lists and in the truth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import rectitude as rt
from rectitude.data import ids

LISTS = {"ann": ["tea", "rye", "jam"], "bob": ["oil", "jam"], "cat": ["rye"]}
TRUTH = {"ann": ["jam"], "bob": ["oil", "tea"], "cat": ["fig"]}
TRAIN = {"ann": ["tea", "rye", "fig", "tea"], "bob": ["oil"]}


def test_recommended_items_of_the_training_data_are_counted() -> None:
    ledger = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=TRAIN).ledger
    assert str(ledger.entries["lists_with_seen"]) == (
        "2 of 3 lists contain items from the user's training data, 3 rows in all "
        "(first: list 'ann', item 'rye')"
    )
    assert ledger.entries["lists_with_seen"].weight == "notice"


def test_a_test_set_inside_the_training_data_is_a_warning() -> None:
    ledger = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=TRAIN).ledger
    assert (
        "! 1 of 4 truth rows have an item from the user's training data: train and test overlap "
        "(first: list 'bob', item 'oil')"
    ) in str(ledger)
    whole = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=TRUTH).ledger
    assert whole["truth_in_train"] == whole["truth_rows"] == 4


def test_nothing_is_said_if_nothing_overlaps_or_no_train_is_given() -> None:
    apart = {"ann": ["fig"], "bob": ["rye"], "dan": ["tea", "oil"]}
    ledger = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=apart).ledger
    assert (ledger["lists_with_seen"], ledger["truth_in_train"]) == (0, 0)
    assert "overlap" not in str(ledger)
    assert "lists_with_seen" not in rt.evaluate(LISTS, TRUTH, "ndcg@3").ledger


def test_batches_count_what_the_whole_counts() -> None:
    whole = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=TRAIN).ledger
    evaluator = rt.Evaluator("ndcg@3")
    for user, items in LISTS.items():
        evaluator.update({user: items}, {user: TRUTH[user]}, train=TRAIN)
    added = evaluator.compute().ledger
    for name in ("lists_with_seen", "truth_in_train"):
        assert added.entries[name] == whole.entries[name]


@pytest.mark.parametrize("kernels", ["numpy", "numba"])
def test_large_text_ids_are_compared_as_ids(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
    monkeypatch.setattr(ids, "HASH_FROM_ROWS", 1)
    ledger = rt.evaluate(LISTS, TRUTH, "ndcg@3", train=TRAIN).ledger
    assert (ledger["lists_with_seen"], ledger["truth_in_train"]) == (2, 1)


@pytest.mark.parametrize("kernels", ["numpy", "numba"])
def test_counts_agree_with_a_join(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECTITUDE_KERNELS", kernels)
    random = np.random.default_rng(3)
    pairs = {size: random.integers(0, (40, 30), (size, 2)) for size in (400, 300, 900)}
    lists, truth, train = (
        pl.DataFrame(rows, schema=["user", "item"], orient="row") for rows in pairs.values()
    )
    lists, truth = (table.unique(maintain_order=True) for table in (lists, truth))
    ledger = rt.evaluate(lists, truth, "recall@5", train=train).ledger
    seen, known = (t.join(train, on=["user", "item"], how="semi") for t in (lists, truth))
    assert ledger["lists_with_seen"] == seen["user"].n_unique()
    assert f"{seen.height} rows in all" in str(ledger)
    assert ledger["truth_in_train"] == known.height


def test_the_training_data_of_a_session_is_that_of_its_user() -> None:
    lists = pl.DataFrame({"session": [1, 1, 2], "user": ["a", "a", "b"], "item": ["x", "y", "x"]})
    truth = pl.DataFrame({"session": [1, 2], "user": ["a", "b"], "item": ["y", "z"]})
    train = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "y"]})
    ledger = rt.evaluate(lists, truth, "mrr", train=train, list_key="session").ledger
    assert ledger["lists_with_seen"] == 1
    assert "2 rows in all (first: list 1, item 'x')" in str(ledger)
    assert ledger["truth_in_train"] == 1


@pytest.mark.parametrize("seen", ["kept", "last"])
def test_scores_that_are_not_masked_warn_as_lists_do(seen: str) -> None:
    scores = np.array([[0.9, 0.1, 0.5], [0.1, 0.8, 0.3]])
    truth, train = csr_matrix([[1, 0, 1], [0, 1, 0]]), csr_matrix([[1, 0, 0], [0, 0, 1]])
    whole = rt.evaluate(rt.Scores(scores), truth, "mrr", {"seen": seen}, train=train).ledger
    evaluator = rt.Evaluator("mrr", {"seen": seen})
    for row in (0, 1):
        batch = rt.Scores(scores[row : row + 1])
        evaluator.update(batch, truth[row : row + 1], train=train[row : row + 1])
    for ledger in (whole, evaluator.compute().ledger):
        line = (
            "1 of 3 truth rows have an item from the user's training data: train and test overlap"
        )
        assert line in str(ledger)


def test_masked_scores_still_say_that_they_are_misses() -> None:
    truth, train = csr_matrix([[1, 0, 1]]), csr_matrix([[1, 0, 0]])
    ledger = rt.evaluate(rt.Scores([[0.9, 0.1, 0.5]]), truth, "mrr", train=train).ledger
    assert ledger["truth_masked"] == 1
    assert "truth_in_train" not in ledger
