"""Short, empty and one-sided lists, on which frameworks differ: metrics and profiles, by hand."""

from __future__ import annotations

from math import isnan, log2
from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadName, UndefinedValue
from rectitude.metrics.names import parse


def value(metric: str, lists: Any, truth: Any, convention: Any = None) -> float:
    return rt.evaluate(lists, truth, metric, convention)[metric]


@pytest.mark.parametrize("items", [["a", "b"], ["x", "y"]])
def test_list_auc_needs_a_hit_and_a_miss(items: list[str]) -> None:
    lists, truth = {"u": items, "v": ["a", "x"]}, {"u": ["a", "b"], "v": ["a"]}
    evaluation = rt.evaluate(lists, truth, "list_auc_strict")
    assert isinstance(evaluation.failures["list_auc_strict"], UndefinedValue)
    assert value("list_auc_strict", lists, truth, {"undefined": "skip"}) == 1 / 1
    assert value("list_auc_strict", lists, truth, {"undefined": "zero"}) == (0 + 1) / 2


def test_list_auc_ends_at_the_cutoff() -> None:
    # x a y b: a is above y, b above none; at 3 a alone counts, above y and below x
    lists, truth = {"u": ["x", "a", "y", "b"]}, {"u": ["a", "b"]}
    assert value("list_auc_strict", lists, truth) == 1 / 4
    assert value("list_auc_strict@3", lists, truth) == 1 / 2


def test_the_ideal_list_may_be_as_short_as_the_list() -> None:
    lists, truth = {"u": ["x", "a"]}, {"u": ["a", "b", "c"]}
    assert value("ncrr@5", lists, truth) == pytest.approx((1 / 2) / (1 + 1 / 2 + 1 / 3), rel=1e-15)
    fit = {"ideal": "reachable_returned"}
    assert value("ncrr@5", lists, truth, fit) == pytest.approx((1 / 2) / (1 + 1 / 2), rel=1e-15)
    assert value("ncrr@1", lists, truth, fit) == 0 / 1


def test_an_empty_list_has_no_ideal_list() -> None:
    lists = rt.Lists({"v": ["a"]}, users=["u", "v"])
    fit = {"ideal": "reachable_returned", "undefined": "one"}
    assert value("ncrr", lists, {"u": ["a"], "v": ["a"]}, fit) == (1 + 1) / 2
    assert value("ncrr", lists, {"u": ["a"], "v": ["a"]}) == (0 + 1) / 2


def test_an_impatient_user_sees_the_first_item_only() -> None:
    lists, truth = {"u": ["a", "b", "x"]}, {"u": ["a", "b"]}
    assert value("normalised_rbp[persistence=0]", lists, truth) == 1 / 1
    assert value("normalised_rbp", {"u": ["x", "a"]}, truth) == pytest.approx(0.8 / 1.8, rel=1e-15)
    failures = rt.evaluate(lists, truth, "normalised_rbp[persistence=1]").failures
    assert isinstance(failures["normalised_rbp[persistence=1]"], BadArgument)


@pytest.mark.parametrize(
    "text", ["ndcg[log2(rank+1)]@10", "ndcg[log2(rank+1),gain=exp2]", "x[a(b)=1]"]
)
def test_a_variant_may_be_a_formula(text: str) -> None:
    (name,) = parse(text)
    assert str(name) == text


@pytest.mark.parametrize("text", ["ndcg[log2(]@10", "ndcg[log2()]", "ndcg[(rank)]", "ndcg[a(b]c)]"])
def test_an_incomplete_formula_is_refused(text: str) -> None:
    with pytest.raises(BadName, match="is not a valid"):
        parse(text)


LISTS = rt.Lists({"ann": ["x", "a"], "eve": ["x"]}, users=["ann", "bob", "eve"])
TRUTH = {"ann": {"a": 4, "b": 2, "c": 1}, "bob": {"a": 1}, "dan": {"a": 1}}
"""ann has a hit at rank 2 of 2, bob an empty list, dan none, and eve no truth."""


@pytest.mark.parametrize(("metric", "filled", "skipped"), [
    ("precision@5", (1 / 2 + 0 + 0) / 3, (1 / 2 + 0) / 2),  # bob: 0 / 0
    ("recall@5", (1 / 3 + 0 + 0) / 3, (1 / 3 + 0) / 2),  # eve: 0 / 0, as in all that follow
    ("recall@1", 0, 0),
    ("hit@5", (1 + 0 + 0) / 3, (1 + 0) / 2),
    ("mrr@5", (1 / 2 + 0 + 0) / 3, (1 / 2 + 0) / 2),
    ("map@5", (1 / 2) / 2 / 3, (1 / 2) / 2),  # over min(2, 3); bob and eve: 0 / 0
    ("ndcg@5", 1 / (2 + 1 / log2(3)) / 3, 1 / (2 + 1 / log2(3)) / 2),
    ("ndcg[gain=rating]@5", 4 / (4 + 2 + 1 / log2(3)) / 3, 4 / (4 + 2 + 1 / log2(3)) / 2),
    ("ndcg[log2(rank+1)]@1", 0, 0),
    ("dcg@5", (1 + 0 + 0) / 3, (1 + 0) / 2),
    ("rbp@5", 0.15 * 0.85 / 3, 0.15 * 0.85 / 2),
    ("rbp[normalized]@5", 0.85 / 1.85 / 3, 0.85 / 1.85),  # over the best 2; bob and eve: 0 / 0
])  # fmt: skip
def test_lenskit_counts_lists_and_fills_or_skips_what_is_undefined(
    metric: str, filled: float, skipped: float
) -> None:
    assert value(metric, LISTS, TRUTH, "lenskit-2025") == pytest.approx(filled, rel=1e-14)
    assert value(metric, LISTS, TRUTH, "lenskit-2026") == pytest.approx(skipped, rel=1e-14)


def test_lenskit_of_2025_has_a_dcg_for_users_without_truth() -> None:
    (old, new) = (rt.evaluate(LISTS, TRUTH, "dcg", p) for p in ("lenskit-2025", "lenskit-2026"))
    assert old.result("dcg").values[3] == 0
    assert isnan(new.result("dcg").values[3])


def test_daisyrec_sums_reciprocal_ranks_and_divides_by_the_hits() -> None:
    lists, truth = {"u": ["x", "a", "b"], "v": ["a"]}, {"u": ["a", "b", "c"], "v": ["b"]}
    names = ["mrr@5", "map@5", "ndcg@5", "precision@5", "f1@5", "auc@5"]
    two = {p: rt.evaluate(lists, truth, names, p) for p in ("daisyrec", "daisyrec-2.3")}
    for evaluation in two.values():
        assert evaluation["map@5"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 0) / 2, rel=1e-15)
        found = (1 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3))
        assert evaluation["ndcg@5"] == pytest.approx((found + 0) / 2, rel=1e-15)
        assert evaluation["precision@5"] == (2 / 3 + 0 / 1) / 2
        assert isnan(evaluation["f1@5"]) and isnan(evaluation["auc@5"])
        assert evaluation.result("auc@5").values[0] == 0 / 2
    assert two["daisyrec"]["mrr@5"] == pytest.approx((1 / 2 + 1 / 3 + 0) / 2, rel=1e-15)
    assert two["daisyrec-2.3"]["mrr@5"] == (1 / 2 + 0) / 2


def test_recbole_weights_users_by_their_relevant_items_and_rounds() -> None:
    scores = rt.Scores([[3.0, 3.0, 1.0, 2.0], [4.0, 3.0, 2.0, 1.0]])
    truth, train = {0: [0], 1: [0, 1, 3]}, {0: [3]}
    # 0: item 0 ties with 1 and is above 2, 1.5 of 2; 1: items 0, 1 above 2, item 3 below, 2 of 3
    evaluation = rt.evaluate(scores, truth, ["gauc", "map@2"], "recbole", train=train)
    assert evaluation["gauc"] == pytest.approx(round((1.5 / 2 + 3 * 2 / 3) / 4, 4), rel=1e-7)
    assert evaluation["map@2"] == round((1 / 2 + (1 + 1) / 2) / 2, 4)
