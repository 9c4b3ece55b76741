"""`scores_from`: items with a score below a threshold are not recommended."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadTable

LISTS = {"u": {"a": 5.0, "x": 4.0, "b": 3.0}, "v": {"a": 2.0}}
TRUTH = {"u": {"a": 5, "b": 4, "x": 1}, "v": {"a": 4}}
FAQ = {"profile": "surprise", "relevant_from": 3.5, "scores_from": 3.5}


def test_precision_and_recall_of_the_faq_of_surprise() -> None:
    # u: a and x are recommended, a and b are relevant; nothing is recommended to v.
    values = rt.evaluate(LISTS, TRUTH, ["precision@3", "recall@3"], convention=FAQ).values()
    assert values == {"precision@3": (1 / 2 + 0) / 2, "recall@3": (1 / 2 + 0) / 2}


def test_rating_metrics_use_all_scores() -> None:
    values = rt.evaluate(LISTS, TRUTH, ["mae", "precision@3"], convention=FAQ).values()
    assert values["mae"] == (0 + 3 + 1 + 2) / 4


def test_the_ledger_counts_the_items_left_out() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "precision@3", convention=FAQ)
    (entry,) = [e for e in evaluation.ledger if e.name == "rows_below_score"]
    assert (entry.count, entry.of) == (2, 4)


def test_a_rank_column_keeps_its_order() -> None:
    lists = pl.DataFrame(
        {"user": ["u"] * 3, "item": ["x", "b", "a"], "rank": [1, 2, 3], "score": [1.0, 3.6, 4.0]}
    )
    evaluation = rt.evaluate(lists, {"u": ["a"]}, "mrr", convention={"scores_from": 3.5})
    assert evaluation["mrr"] == 1 / 2


def test_lists_need_scores() -> None:
    with pytest.raises(BadTable, match="no score column"):
        rt.evaluate({"u": ["a"]}, {"u": ["a"]}, "mrr", convention={"scores_from": 1})


def test_dense_scores_are_refused() -> None:
    with pytest.raises(BadArgument, match="removes items from lists"):
        rt.evaluate(rt.Scores([[1.0, 2.0]]), {0: [1]}, "mrr", convention={"scores_from": 1})
