"""Repeated rows and rank columns: what counts how often, and at which rank."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadTable

LIST = {"u": ["a", "x", "a", "b"]}
TRUTH = {"user": ["u"] * 4, "item": ["a", "b", "b", "c"]}
JOINED = {"duplicates": "joined", "duplicate_truth": "counted"}
COUNTED = {"duplicates": "counted", "duplicate_truth": "counted"}


def value(metric: str, convention: Any, lists: Any = LIST, truth: Any = TRUTH) -> float:
    return rt.evaluate(lists, truth, metric, convention)[metric]


def test_an_item_that_a_list_repeats_adds_a_relevant_item_if_tables_are_joined() -> None:
    # a counts at ranks 1 and 3, b twice at rank 4, c is missed: 5 relevant items
    assert value("recall@2", JOINED) == 1 / 5
    assert value("recall", JOINED) == 4 / 5
    assert value("recall", COUNTED) == 4 / 4  # c is one of 4 rows, and a is found twice
    assert value("ndcg@1", {**JOINED, "ideal": "reachable"}) == 1
    assert value("f1@4", JOINED) == 2 * 4 / (4 + 5)


def test_the_precision_of_a_rank_is_added_once_whatever_is_repeated_there() -> None:
    assert value("map_by_rank", JOINED) == pytest.approx((1 / 1 + 2 / 3 + 4 / 4) / 5, rel=1e-15)
    assert value("map", JOINED) == pytest.approx((1 / 1 + 2 / 3 + 3 / 4 + 4 / 4) / 5, rel=1e-15)


def test_ndcg_of_joins_counts_a_pair_of_the_truth_n_times_n_times() -> None:
    lists, truth = {"u": ["x", "a"]}, {"user": ["u"] * 3, "item": ["a", "a", "b"]}
    second = 1 / log2(3)
    # a counts 2 * 2 times at rank 2; the ideal list has a at four places, then b, cut at 2
    assert value("ndcg_of_joins@2", COUNTED, lists, truth) == pytest.approx(
        4 * second / (1 + second), rel=1e-15
    )
    assert value("ndcg_of_joins@1", COUNTED, lists, truth) == 0 / 1


def test_ndcg_of_joins_takes_negative_grades_as_negative_gains() -> None:
    convention = {"gain": "linear", "relevant_from": "any", "undefined": "skip"}
    truth = {"u": {"a": 2, "b": -1}}
    assert value("ndcg_of_joins@1", convention, {"u": ["b", "a"]}, truth) == -1 / 2


def test_joined_repeats_do_not_depend_on_the_order_of_rows() -> None:
    rows = {"user": ["u"] * 4, "item": ["b", "a", "x", "a"], "rank": [4, 1, 2, 3]}
    truth = {"user": ["u"] * 4, "item": ["b", "c", "a", "b"]}
    for metric in ("map_by_rank", "recall@3", "ndcg@4"):
        assert value(metric, JOINED, rows, truth) == value(metric, JOINED)


GAPS = {"user": ["u"] * 3 + ["v"] * 2, "item": ["a", "x", "b", "a", "b"], "rank": [1, 2, 5, 3, 3]}
WANTED = {"u": ["b"], "v": ["a", "b"]}
KEPT = {"ranks": "kept"}


def test_ranks_can_be_taken_as_they_are() -> None:
    evaluation = rt.evaluate(GAPS, WANTED, ["mrr", "mrr@4", "precision@5", "filled_share@3"], KEPT)
    assert evaluation.values() == {
        "mrr": pytest.approx((1 / 5 + 1 / 3) / 2, rel=1e-15),
        "mrr@4": pytest.approx((0 + 1 / 3) / 2, rel=1e-15),
        "precision@5": pytest.approx((1 / 5 + 2 / 5) / 2, rel=1e-15),
        "filled_share@3": pytest.approx((2 / 3 + 2 / 3) / 2, rel=1e-15),
    }
    assert value("map_by_rank", KEPT, GAPS, WANTED) == pytest.approx((1 / 5 + 2 / 3 / 2) / 2)


def test_an_empty_rank_is_a_miss_above_the_items_below_it() -> None:
    # u: a, x and two empty ranks are above b; v: two empty ranks are above a and b
    assert value("pauc@5", KEPT, GAPS, WANTED) == pytest.approx((1 / 5 + 6 / 10) / 2, rel=1e-15)


def test_shown_items_are_those_up_to_the_kept_rank() -> None:
    evaluation = rt.evaluate(GAPS, WANTED, ["distinct_items@2", "distinct_items@3"], KEPT)
    assert evaluation.values() == {"distinct_items@2": 2, "distinct_items@3": 3}


def test_kept_ranks_may_come_in_batches_of_different_width() -> None:
    evaluator = rt.Evaluator(["mrr", "distinct_items@3", "filled_share@3"], KEPT)
    whole = rt.evaluate(GAPS, WANTED, ["mrr", "distinct_items@3", "filled_share@3"], KEPT)
    for user, rows in (("u", slice(0, 3)), ("v", slice(3, 5))):
        part = {name: column[rows] for name, column in GAPS.items()}
        evaluator.update(part, {user: WANTED[user]})
    assert evaluator.compute().values() == whole.values()


@pytest.mark.parametrize(("switches", "fate"), [
    ({}, "only the order counts; ranks='kept' keeps the ranks"),
    (KEPT, "kept as they are"),
])  # fmt: skip
def test_the_ledger_counts_lists_whose_ranks_have_gaps_or_repeats(switches, fate) -> None:
    ledger = rt.evaluate(GAPS, WANTED, "mrr", switches).ledger
    assert str(ledger.entries["ranks_uneven"]) == (
        f"2 of 2 lists have a rank column with gaps or repeats: {fate} (first: 'u')"
    )


@pytest.mark.parametrize("ranks", [[1, 2, 3], [3, 1, 2], [0, 1, 2]])
def test_ranks_that_follow_each_other_in_any_order_are_no_gaps(ranks) -> None:
    lists = {"user": ["u"] * 3, "item": ["a", "b", "c"], "rank": ranks}
    assert rt.evaluate(lists, {"u": ["a"]}, "mrr").ledger["ranks_uneven"] == 0


@pytest.mark.parametrize("rank", [0, 1.5])
def test_kept_ranks_must_be_whole_numbers_from_1(rank) -> None:
    lists = {"user": ["u"] * 2, "item": ["a", "b"], "rank": [rank, 2]}
    with pytest.raises(BadTable, match="not a whole number from 1 on"):
        rt.evaluate(lists, {"u": ["a"]}, "mrr", KEPT)
