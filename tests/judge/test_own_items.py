"""`own_item`: an item whose id is the key of its list, such as a query that is also a document."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument

LISTS = {"q": {"q": 3.0, "a": 2.0, "b": 1.0}, "a": {"q": 2.0, "a": 1.0}}
TRUTH = {"q": {"b": 1}, "a": {"a": 1}}


def test_it_takes_a_rank_unless_it_is_removed() -> None:
    # q: b is at rank 3, then 2; a: a is at rank 2, then gone.
    kept = rt.evaluate(LISTS, TRUTH, "mrr")
    removed = rt.evaluate(LISTS, TRUTH, "mrr", {"own_item": "removed"})
    assert kept["mrr"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert removed["mrr"] == (1 / 2 + 0) / 2


def test_the_ledger_counts_it() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "mrr", {"own_item": "removed"})
    (entry,) = [e for e in evaluation.ledger if e.name == "rows_own_item"]
    assert (entry.count, entry.of) == (2, 5)


def test_ids_are_compared_as_text() -> None:
    lists = pl.DataFrame({"user": ["1", "1"], "item": [1, 2], "score": [2.0, 1.0]})
    truth = pl.DataFrame({"user": ["1"], "item": [2]})
    assert rt.evaluate(lists, truth, "mrr", {"own_item": "removed"})["mrr"] == 1.0


def test_beir_removes_it_and_can_keep_it() -> None:
    names = ["recall@2", "recall[identical]@2", "mrr_cut@2"]
    found = rt.evaluate(LISTS, {"q": {"b": 1}}, names, convention="beir")
    assert [*found.values().values()] == [1.0, 0.0, 0.5]


def test_dense_scores_are_refused() -> None:
    with pytest.raises(BadArgument, match="removes items from lists"):
        rt.evaluate(rt.Scores([[1.0, 2.0]]), {0: [1]}, "mrr", convention={"own_item": "removed"})
