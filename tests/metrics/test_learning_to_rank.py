"""Metrics of learning-to-rank libraries, and how they weigh queries."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadGrades, RectitudeError

LISTS = {"q": ["a", "b", "c"]}
GRADES = {"q": {"a": 0.5, "b": 0, "c": 1}}
SHARES = {"gain": "linear", "gain_from": "positive"}


def value(name: str, truth: object, **switches: object) -> float:
    return rt.evaluate(LISTS, truth, [name], convention=switches)[name]


def test_pfound_is_the_chance_to_find_something_before_giving_up() -> None:
    # 0.5, then a look at b with 0.5 * 0.85, then at c with 0.85 of that
    expected = 0.5 + 0 + 0.5 * 0.85 * 0.85 * 1
    assert value("pfound[max_grade=1]", GRADES, **SHARES) == pytest.approx(expected)
    assert value("pfound[max_grade=1,decay=0]", GRADES, **SHARES) == 0.5


def test_pfound_refuses_grades_above_the_highest_and_a_decay_above_1() -> None:
    with pytest.raises(BadGrades, match="grade above"):
        value("pfound[max_grade=0.7]", GRADES, **SHARES)
    with pytest.raises(BadArgument, match="decay is 2"):
        value("pfound[decay=2]", GRADES)


def test_certain_err_stops_at_an_item_of_the_highest_grade() -> None:
    expected = 0.5 / 1 + 0.5 * 1 / 3
    assert value("certain_err[max_grade=1]", GRADES, **SHARES) == pytest.approx(expected)


def test_average_gain_is_the_mean_grade_of_the_top() -> None:
    truth = {"q": {"a": 3, "b": 0, "c": 2}}
    assert value("average_gain@2", truth, gain="linear") == 3 / 2
    assert value("average_gain@5", truth, gain="linear", precision_over="returned") == 5 / 3


def test_discount_by_position_divides_by_the_rank() -> None:
    truth = {"q": {"b": 3, "c": 2}}
    switches = {"gain": "linear", "discount": "position"}
    assert value("dcg", truth, **switches) == pytest.approx(3 / 2 + 2 / 3)
    assert value("ndcg", truth, **switches) == pytest.approx((3 / 2 + 2 / 3) / (3 + 2 / 2))


def test_graded_auc_compares_pairs_of_different_grades() -> None:
    # a > b is right, b < c and a < c are wrong
    assert value("graded_auc", {"q": {"a": 1, "b": 0, "c": 2}}) == pytest.approx(1 / 3)
    assert value("graded_auc", {"q": {"a": 1, "b": 1, "c": 0}}) == 1


def test_all_pairs_auc_orders_equal_grades_by_the_truth() -> None:
    assert value("all_pairs_auc", {"q": {"a": 1, "b": 1, "c": 0}}) == 1
    assert value("all_pairs_auc", {"q": {"b": 1, "a": 1, "c": 0}}) == pytest.approx(2 / 3)


def test_tied_pairs_count_half_if_ties_are_averaged() -> None:
    scored = pl.DataFrame({"user": ["q"] * 3, "item": ["a", "b", "c"], "score": [1.0, 1.0, 0.0]})
    truth = {"q": {"a": 1, "b": 0, "c": 0}}
    for name, expected in (("graded_auc", (0.5 + 1) / 2), ("all_pairs_auc", (0.5 + 1 + 1) / 3)):
        evaluation = rt.evaluate(scored, truth, [name], convention={"ties": "average"})
        assert evaluation[name] == pytest.approx(expected)


def test_best_rr_looks_for_the_highest_grade() -> None:
    truth = {"q": {"a": 1, "b": 0, "c": 2}}
    assert value("best_rr", truth) == 1 / 3
    assert value("best_rr@2", truth) == 0
    assert value("mrr", truth) == 1


TWO = {"p": ["b", "a"], "e": ["a"]}
WANTED = {"p": {"a": 1}, "e": {"a": 0}}
WEIGHTS = {"p": 4.0, "e": 2.0}


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        ("all", (4 * 0.5 + 2 * 1) / 6),
        ("defined", (4 * 0.5 + 1) / 6),
        ("average", (4 * 0.5 + 4 * 1) / 8),
        ("none", (0.5 + 1) / 2),
    ],
)
def test_a_list_with_0_over_0_weighs_as_the_convention_says(
    weighting: str, expected: float
) -> None:
    convention = {"truth_needed": "none", "undefined": "one", "weighting": weighting}
    evaluation = rt.evaluate(TWO, WANTED, ["map"], convention=convention, weights=WEIGHTS)
    assert evaluation["map"] == pytest.approx(expected)


def test_only_undefined_lists_have_the_value_of_0_over_0() -> None:
    convention = {"truth_needed": "none", "undefined": "one", "weighting": "average"}
    evaluation = rt.evaluate(
        {"e": ["a"]}, {"e": {"a": 0}}, ["map"], convention=convention, weights={"e": 2.0}
    )
    assert evaluation["map"] == 1


def test_a_mean_over_users_has_the_plain_weights_only() -> None:
    with pytest.raises(RectitudeError, match="contradict each other"):
        rt.Convention(unit="user", weighting="defined")


def test_names_of_xgboost_have_a_usual_cutoff_and_a_minus() -> None:
    lists = {"q": [f"d{n}" for n in range(40)], "e": ["x"]}
    truth = {"q": {"d35": 1}, "e": {"x": 0}}
    names = ["ndcg", "ndcg-", "ndcg@40-", "map@40"]
    scored = pl.DataFrame(
        [(q, d, -float(n)) for q, docs in lists.items() for n, d in enumerate(docs)],
        schema=["user", "item", "score"], orient="row",
    )  # fmt: skip
    evaluation = rt.evaluate(scored, truth, names, convention="xgboost")
    assert evaluation["ndcg"] == 0.5  # the relevant row is below the first 32
    assert evaluation["ndcg-"] == 0
    assert evaluation["ndcg@40-"] > 0
    assert evaluation["map@40"] == pytest.approx((1 / 36 + 1) / 2)


def test_ndcg_against_the_rows_of_the_truth_does_not_sort_them() -> None:
    # Gains a 1, b 0 and c 3; the rows of the truth are a, b, c, so that c is third there, too.
    truth = pl.DataFrame({"user": ["q"] * 3, "item": [*"abc"], "grade": [1, 0, 2]})
    any_row = {"relevant_from": "any"}
    assert rt.evaluate(LISTS, truth, "ndcg_of_rows", any_row)["ndcg_of_rows"] == 1
    best = {"q": [*"cab"]}
    found = rt.evaluate(best, truth, ["ndcg_of_rows", "ndcg_of_rows@1"], any_row)
    assert found["ndcg_of_rows"] == pytest.approx((3 + 1 / 1.584962500721156) / (1 + 3 / 2))
    assert found["ndcg_of_rows@1"] == 3  # against a, the first row
    turned = rt.evaluate(best, truth.reverse(), "ndcg_of_rows@1", any_row)
    assert turned["ndcg_of_rows@1"] == 1
