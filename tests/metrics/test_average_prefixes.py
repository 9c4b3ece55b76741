"""Average recall, and precision and recall averaged over all prefixes of a list, by hand."""

from __future__ import annotations

from typing import Any

import pytest

import rectitude as rt
from rectitude.errors import BadArgument

# Hits at ranks 1, 3 and 5; b, a, c and d are relevant.
LIST = {"ann": ["b", "x", "a", "y", "c"]}
TRUTH = {"ann": {"a": 3, "b": 1, "c": 2, "d": 1, "n": 0}}


def value(name: str, lists: Any = None, truth: Any = None, convention: Any = None) -> float:
    return rt.evaluate(lists or LIST, truth or TRUTH, name, convention)[name]


def test_average_recall_adds_up_the_recall_at_each_hit() -> None:
    assert value("mar") == pytest.approx((1 / 4 + 2 / 4 + 3 / 4) / 4, rel=1e-15)
    assert value("mar@3") == pytest.approx((1 / 4 + 2 / 4) / 4, rel=1e-15)
    assert value("mar[ap_over=reachable]@3") == pytest.approx((1 / 4 + 2 / 4) / 3, rel=1e-15)
    assert value("mar[ap_over=k]@10") == pytest.approx((1 / 4 + 2 / 4 + 3 / 4) / 10, rel=1e-15)
    assert value("mar[ap_over=found]@3") == pytest.approx((1 / 4 + 2 / 4) / 2, rel=1e-15)


def test_average_recall_of_a_perfect_list_is_near_a_half() -> None:
    assert value("mar", {"u": ["a"]}, {"u": ["a"]}) == 1
    assert value("mar", {"u": ["a", "b", "c"]}, {"u": ["a", "b", "c"]}) == pytest.approx(4 / 6)


def test_prefix_precision_is_the_mean_of_the_precision_at_every_cutoff() -> None:
    each = [1 / 1, 1 / 2, 2 / 3, 2 / 4, 3 / 5]
    assert value("mean_prefix_precision") == pytest.approx(sum(each) / 5, rel=1e-15)
    assert value("mean_prefix_precision@3") == pytest.approx(sum(each[:3]) / 3, rel=1e-15)
    cutoffs = [value(f"precision@{k}") for k in range(1, 6)]
    assert value("mean_prefix_precision@5") == pytest.approx(sum(cutoffs) / 5, rel=1e-15)


def test_prefixes_go_on_after_the_end_of_a_short_list() -> None:
    each = [1 / 1, 1 / 2, 1 / 3, 1 / 4]  # one item, a hit
    assert value("mean_prefix_precision@4", {"u": ["a"]}, {"u": ["a", "b"]}) == pytest.approx(
        sum(each) / 4, rel=1e-15
    )
    assert value("mean_prefix_recall@4", {"u": ["x", "a"]}, {"u": ["a", "b"]}) == pytest.approx(
        (0 + 1 / 2 + 1 / 2 + 1 / 2) / 4, rel=1e-15
    )


def test_prefix_recall_is_the_mean_of_the_recall_at_every_cutoff() -> None:
    each = [1 / 4, 1 / 4, 2 / 4, 2 / 4, 3 / 4]
    assert value("mean_prefix_recall") == pytest.approx(sum(each) / 5, rel=1e-15)
    assert value("mean_prefix_recall@2") == pytest.approx(sum(each[:2]) / 2, rel=1e-15)


def test_an_empty_list_is_a_miss_and_an_empty_truth_undefined() -> None:
    lists = rt.Lists({"u": ["x"]}, users=["u", "v"])
    truth = {"u": ["a"], "v": ["a"]}
    for name in ("mean_prefix_precision", "mean_prefix_recall@3", "mar@3"):
        assert rt.evaluate(lists, truth, name)[name] == 0
    nothing = {"truth_needed": "judged", "undefined": "one"}
    assert value("mean_prefix_recall", {"u": ["a"]}, {"u": {"a": 0}}, nothing) == 1
    assert value("mean_prefix_precision", {"u": ["a"]}, {"u": {"a": 0}}, nothing) == 0


@pytest.mark.parametrize("name", ["mean_prefix_precision", "mean_prefix_recall"])
@pytest.mark.parametrize("end", ["", "@1", "@2", "@3", "@5"])
def test_averaged_ties_give_the_mean_over_both_orders(name: str, end: str) -> None:
    tied = {"u": {"b": 2.0, "a": 1.0, "x": 1.0}}
    orders = {1: ["b", "a", "x"], 2: ["b", "x", "a"]}
    wanted = {1: ["a", "b", "c"], 2: ["a", "b", "c"]}
    averaged = value(name + end, tied, {"u": ["a", "b", "c"]}, {"ties": "average"})
    assert averaged == pytest.approx(value(name + end, orders, wanted), rel=1e-14)


def test_recall_counts_more_in_f1_with_a_larger_beta() -> None:
    p, r = 2 / 3, 2 / 4
    assert value("f1[beta=2]@3") == pytest.approx((1 + 4) * p * r / (4 * p + r), rel=1e-15)
    assert value("f1[beta=0.5]@3") == pytest.approx(1.25 * p * r / (0.25 * p + r), rel=1e-15)
    assert value("f1[beta=0]@3") == pytest.approx(p, rel=1e-15)
    assert value("f1[beta=1]@3") == value("f1@3")


@pytest.mark.parametrize("beta", ["-1", "nan", "inf"])
def test_a_beta_out_of_range_is_refused(beta: str) -> None:
    evaluation = rt.evaluate(LIST, TRUTH, [f"f1[beta={beta}]@3", "recall@3"])
    assert isinstance(evaluation.failures[f"f1[beta={beta}]@3"], BadArgument)
    assert evaluation["recall@3"] == 2 / 4


def test_the_gain_above_a_threshold_counts_from_it() -> None:
    lists, truth = {"u": ["a", "b"]}, {"u": {"a": 3, "b": 5, "c": 2}}
    whole = (2 ** (3 + 1) - 1) + (2 ** (5 + 1) - 1) / 1.584962500721156
    assert value("dcg[gain=exp2_above]", lists, truth) == pytest.approx(whole, rel=1e-15)
    from_3 = {"gain": "exp2_above", "relevant_from": 3}
    whole = (2 ** (3 - 3 + 1) - 1) + (2 ** (5 - 3 + 1) - 1) / 1.584962500721156
    assert value("dcg", lists, truth, from_3) == pytest.approx(whole, rel=1e-15)
    ideal = 7 + 1 / 1.584962500721156
    assert value("ndcg", lists, truth, from_3) == pytest.approx(whole / ideal, rel=1e-15)
