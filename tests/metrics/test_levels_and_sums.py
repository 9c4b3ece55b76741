"""Metrics with a level after the @, and metrics that are not means over lists."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

import rectitude as rt
from rectitude.errors import BadName

LISTS = {"u": ["a", "x"], "v": ["x", "b", "c"], "w": ["x"]}
TRUTH = {"u": ["a"], "v": ["b", "c"], "w": ["d"]}


def value(name: str, convention: object = None) -> float:
    return rt.evaluate(LISTS, TRUTH, name, convention)[name]


@pytest.mark.parametrize("level", ["0", "0.1", "0.10", ".5", "1", "1.00"])
def test_a_level_from_0_to_1_is_parsed(level: str) -> None:
    assert 0 <= value(f"iprec@{level}") <= 1


@pytest.mark.parametrize("level", ["5", "1.01", "-0.1", "x", "0.1.2", "1e-3", "nan"])
def test_an_invalid_level_is_refused_with_what_is_expected(level: str) -> None:
    with pytest.raises(BadName, match="a number from 0 to 1"):
        rt.evaluate(LISTS, TRUTH, f"iprec@{level}")
    if level == "5":
        with pytest.raises(BadName, match="level of 'iprec@5' is '5'"):
            rt.evaluate(LISTS, TRUTH, "iprec@5")


def test_a_level_out_of_range_in_brackets_fails_as_well() -> None:
    failures = rt.evaluate(LISTS, TRUTH, ["mrr", "iprec[level=2]"]).failures
    assert "level is 2" in str(failures["iprec[level=2]"])


def test_a_level_is_not_a_cutoff_so_the_whole_list_counts() -> None:
    scores = rt.Scores([[0.1 * n for n in range(40)]])
    truth = {0: [0, 39]}
    asked = ["iprec@1", "precision@3"]
    assert rt.evaluate(scores, truth, asked)["iprec@1"] == 2 / 40


def test_several_levels_can_be_given_in_braces() -> None:
    evaluation = rt.evaluate(LISTS, TRUTH, "iprec@{0,0.5,1}")
    assert list(evaluation) == ["iprec@0", "iprec@0.5", "iprec@1"]
    assert evaluation["iprec@0"] == pytest.approx((1 + 2 / 3 + 0) / 3, rel=1e-15)


def test_a_level_is_the_same_however_it_is_written() -> None:
    results = rt.evaluate(LISTS, TRUTH, ["iprec@0.5", "iprec@.50", "iprec[level=0.5]"]).results
    assert len({result.fingerprint for result in results.values()}) == 1
    assert "level = 0.5" in results["iprec@.50"].definition


def test_counts_are_sums_over_lists() -> None:
    names = ["num_q", "num_ret", "num_rel", "num_rel_ret", "num_ret@1"]
    assert list(rt.evaluate(LISTS, TRUTH, names).values().values()) == [3, 6, 4, 3, 3]


def test_counts_are_never_shown_in_percent() -> None:
    assert value("num_ret", {"scale": "percent"}) == 6
    assert value("precision@1", {"scale": "percent"}) == pytest.approx(100 / 3, rel=1e-15)


def test_a_missing_list_may_count_differently_in_sums() -> None:
    truth = {**TRUTH, "z": ["a", "b"]}
    evaluation = rt.evaluate(LISTS, truth, ["num_q", "num_q[missing=0]", "num_rel[missing=0]"])
    assert list(evaluation.values().values()) == [4, 3, 4]


def test_a_geometric_mean_is_the_exponential_of_the_mean_logarithm() -> None:
    values = rt.evaluate(LISTS, TRUTH, "map").per_list()["map"].to_list()
    logarithms = [log(max(one, 1e-5)) for one in values]
    evaluation = rt.evaluate(LISTS, TRUTH, "gm_map", intervals=True)
    assert evaluation["gm_map"] == pytest.approx(exp(sum(logarithms) / 3), rel=1e-14)
    assert evaluation.per_list()["gm_map"].to_list() == pytest.approx(logarithms, rel=1e-15)
    low, high = evaluation.result("gm_map").interval or (0.0, 0.0)
    assert 0 < low < evaluation["gm_map"] < high <= 1


def test_a_sum_has_no_interval() -> None:
    assert rt.evaluate(LISTS, TRUTH, "num_ret", intervals=True).result("num_ret").interval is None


def test_the_geometric_mean_of_1_and_0_is_that_of_1_and_the_floor() -> None:
    evaluation = rt.evaluate({"u": ["a"], "v": ["x"]}, {"u": ["a"], "v": ["b"]}, "gm_map")
    assert evaluation["gm_map"] == pytest.approx(sqrt(1e-5), rel=1e-14)


@pytest.mark.parametrize("name", ["gm_map", "gm_bpref@2", "num_ret", "num_rel_ret@1", "infap"])
def test_batches_give_the_same_bits(name: str) -> None:
    whole = rt.evaluate(LISTS, TRUTH, name)
    evaluator = rt.Evaluator(name)
    for user in ("w", "u", "v"):
        evaluator.update({user: LISTS[user]}, {user: TRUTH[user]})
    assert evaluator.compute()[name].hex() == whole[name].hex()


def test_infap_skips_items_that_were_drawn_but_not_judged() -> None:
    # a at rank 3, below n (judged not relevant) and s (drawn, not judged): of the two items drawn
    # above a, the one judged is not relevant
    lists, e = {"u": ["n", "s", "a"]}, 1e-5
    drawn = {"u": {"a": 1, "n": 0, "s": -1}}
    expected = (1 + 2 * (0 + e) / (1 + 2 * e)) / 3
    assert rt.evaluate(lists, drawn, "infap")["infap"] == pytest.approx(expected, rel=1e-15)
    # s is removed if only judged items are kept: a is then second
    dropped = rt.evaluate(lists, drawn, "infap", {"unjudged": "dropped"})["infap"]
    assert dropped == pytest.approx((1 + 1 * (0 + e) / (1 + 2 * e)) / 2, rel=1e-15)
