"""Metrics of the C/W/L framework, and compatibility, computed by hand."""

from __future__ import annotations

from math import log2

import pytest

import rectitude as rt
from rectitude.errors import BadArgument

LISTS = {"ann": ["x", "a", "b"]}
TRUTH = {"ann": {"a": 1, "b": 1}}
SECOND, THIRD = 1 / log2(3), 1 / 2
BY_HAND = {
    # The user stops at rank 2, with a gain of 1; or at rank 3, if they want 2.
    "bpm@3": 1 / 2,
    "bpm[wanted_gain=2]@3": 2 / 3,
    "bpm[wanted_gain=2]@2": 1 / 2,
    "sdcg@3": (SECOND + THIRD) / (1 + SECOND + THIRD),
    # Ranks 1, 2 and 3 are reached with probability 1, (2/3)^2 and (2/3)^2 (3/4)^2.
    "insq@3": (4 / 9 + 1 / 4) / (1 + 4 / 9 + 1 / 4),
    # At rank 2 the user has what they want, so they go on with (2/3)^2 there, too.
    "inst@3": (4 / 9 + 16 / 81) / (1 + 4 / 9 + 16 / 81),
    # With a highest grade of 2, a and b gain 1/2 each.
    "nerr8@3": 1 / 2,
    "nerr8[max_grade=2]@3": (1 / 2 + 1 / 2 * 1 / 2) / (1 + 1 + 1 / 2),
    "nerr9[max_grade=2]@3": (1 / 2 * 1 / 2 + 1 / 6 * 1 / 2) / (1 + 1 / 2 + 1 / 6),
    "nerr10[max_grade=2,persistence=0.5]@3": (1 / 4 + 1 / 16) / (1 + 1 / 2 + 1 / 8),
    "nerr11[max_grade=2]@3": (4 / 18 + 1 / 16) / (1 + 4 / 9 + 1 / 8),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_metric_has_the_value_computed_by_hand(name: str) -> None:
    assert rt.evaluate(LISTS, TRUTH, name)[name] == pytest.approx(BY_HAND[name], rel=1e-14)


def test_without_a_cutoff_users_look_at_1000_ranks() -> None:
    reached = [(2 / (rank + 1)) ** 2 for rank in range(1, 1001)]
    found = rt.evaluate(LISTS, TRUTH, "insq")["insq"]
    assert found == pytest.approx((reached[1] + reached[2]) / sum(reached), rel=1e-12)


def test_grades_outside_the_scale_count_as_its_ends() -> None:
    graded = {"ann": {"a": 5, "b": 1}}
    name = "sdcg[min_grade=1,max_grade=3]@3"
    assert rt.evaluate(LISTS, graded, name)[name] == pytest.approx(
        SECOND / (1 + SECOND + THIRD), rel=1e-14
    )


def test_a_scale_without_extent_is_an_error() -> None:
    with pytest.raises(BadArgument, match="min_grade is 1 and max_grade 1"):
        _ = rt.evaluate(LISTS, TRUTH, "sdcg[min_grade=1]")["sdcg[min_grade=1]"]


def test_compatibility_is_the_overlap_with_the_ideal_list() -> None:
    # The ideal list is b, a. From depth 2 on, both tops share a, from depth 3 on also b:
    # (1/4 + 1/12) + 1/12; of the ideal list itself (1 + 1/4 + 1/12) + (1/4 + 1/12).
    graded = {"ann": {"a": 1, "b": 2}}
    names = ["compatibility[persistence=0.5]", "compatibility[persistence=0.5,over=ranks]"]
    found = rt.evaluate(LISTS, graded, names)
    assert found[names[0]] == pytest.approx((5 / 12) / (5 / 3), rel=1e-14)
    assert found[names[1]] == pytest.approx((5 / 12) / (1 + 1 / 2 + 1 / 4), rel=1e-14)


def test_a_missed_item_precedes_one_with_a_negative_score() -> None:
    lists, truth = {"ann": {"a": -1.0, "x": -2.0}}, {"ann": ["a", "b"]}
    names = ["compatibility[persistence=0.5]@2", "compatibility_by_score[persistence=0.5]@2"]
    found = rt.evaluate(lists, truth, names)
    ideal = (1 + 1 / 4) + 1 / 4
    assert found[names[0]] == pytest.approx((1 + 1 / 4) / ideal, rel=1e-14)  # a, b
    assert found[names[1]] == pytest.approx((1 / 4) / ideal, rel=1e-14)  # b, a
