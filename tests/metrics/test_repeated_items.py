"""Items that stand in a list again, and groups without a value, in metrics of groups: by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import UndefinedValue, UnknownName
from rectitude.judge.places import up_to
from rectitude.parallel import Once

# The list of u shows the tail item c twice. Popular: a (4 rows), b (3), then c and d (1 each).
LISTS = pl.DataFrame(
    [("u", "a"), ("u", "c"), ("u", "c"), ("v", "b"), ("v", "d"), ("v", "a")],
    schema=["user", "item"], orient="row",
).with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))  # fmt: skip
TRUTH = pl.DataFrame({"user": ["u", "u", "v"], "item": ["a", "c", "d"]})
TRAIN = pl.DataFrame(
    {"user": [*"wxyzwxyuv"], "item": [*"aaaabbbdc"]}
)  # u has d, and v has c, in the training data
ITEMS = pl.DataFrame({"item": [*"abcd"], "group": ["one", "one", "two", "two"]})
USERS = pl.DataFrame({"user": [*"uvt"], "group": ["left", "left", "right"]})
COUNTED = {"duplicates": "counted"}


def value(name: str, **inputs: Any) -> float:
    given = {"train": TRAIN, "items": ITEMS, "users": USERS, **inputs}
    return rt.evaluate(LISTS, TRUTH, name, COUNTED, **given)[name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("long_tail_items[head=0.7]@3", (2 + 1) / 2),
        ("long_tail_items[again=left_out,head=0.7]@3", (1 + 1) / 2),
        ("long_tail_items[again=left_out,head=0.7]@2", (1 + 1) / 2),
        ("long_tail_share[head=0.7]@3", (2 / 3 + 1 / 3) / 2),
        ("long_tail_share[again=left_out,head=0.7]@3", (1 / 3 + 1 / 3) / 2),
        # group two: c and d could be shown 4 times less the 2 that are in the training data
        ("rsp[item_group=two]@3", 3 / 2),
        ("rsp[again=left_out,item_group=two]@3", 2 / 2),
        ("reo[item_group=two]@3", 3 / 2),
        ("reo[again=left_out,item_group=two]@3", 2 / 2),
        ("pop_rsp[again=left_out,head=0.7,item_group=tail]@3", 2 / 2),
        ("pop_reo[again=left_out,head=0.7,item_group=tail]@3", 2 / 2),
        ("pop_reo[head=0.7,item_group=tail]@3", 3 / 2),
    ],
)
def test_an_item_that_stands_in_a_list_again_is_counted_or_left_out(
    name: str, expected: float
) -> None:
    assert value(name) == pytest.approx(expected, abs=1e-15)


def test_lists_of_some_users_count_repeats_alike() -> None:
    # Only v counts in the mean: u has no truth.
    truth = TRUTH.filter(pl.col("user") == "v")
    name = "rsp[again=left_out,item_group=two]@3"
    found = rt.evaluate(
        LISTS, truth, name, {**COUNTED, "truth_needed": "relevant"},
        train=TRAIN, items=ITEMS, users=USERS,
    )  # fmt: skip
    assert found[name] == 1 / 1


def test_ranks_of_items_that_stand_in_a_list_again_are_empty() -> None:
    shown = np.array([[4, 7, 4, 4, -1], [1, 2, 3, 2, 1], [0, -1, -1, -1, -1]])
    firsts = up_to(shown, 5, (2,), Once()).firsts
    assert firsts.shown.tolist() == [[4, 7, -1, -1, -1], [1, 2, 3, -1, -1], [0, -1, -1, -1, -1]]
    assert firsts.own == 5


def test_a_group_without_a_value_can_make_the_whole_undefined() -> None:
    # Group three has no relevant item, is never shown, and u and v have all of it already.
    items = pl.concat([ITEMS, pl.DataFrame({"item": ["e"], "group": ["three"]})])
    train = pl.concat([TRAIN, pl.DataFrame({"user": ["u", "v"], "item": ["e", "e"]})])
    for name in ("reo", "rsp", "item_mad_ranking"):
        assert np.isfinite(value(f"{name}@3", items=items, train=train))
        with pytest.raises(UndefinedValue, match="group 'three' has no"):
            value(f"{name}[missing=undefined]@3", items=items, train=train)


def test_a_user_group_that_is_shown_nothing_has_a_bias_of_nothing_or_none() -> None:
    train = pl.concat([TRAIN, pl.DataFrame({"user": ["t"], "item": ["a"]})])
    shown = "bias_disparity_bd[item_group=one,user_group=right]@3"
    assert value(shown, train=train) == -1
    name = "bias_disparity_bd[item_group=one,unshown=undefined,user_group=right]@3"
    found = rt.evaluate(
        LISTS, TRUTH, name, {**COUNTED, "undefined": "zero"}, train=train, items=ITEMS, users=USERS
    )
    assert found[name] == 0


def test_rows_with_any_grade_but_0_are_choices() -> None:
    truth = TRUTH.with_columns(grade=pl.Series([-1, 0, 2]))
    name = "bias_disparity_bs[item_group=two,source=graded,user_group=left]@3"
    found = rt.evaluate(
        LISTS, truth, name, {**COUNTED, "truth_needed": "judged"}, train=TRAIN, items=ITEMS,
        users=USERS,
    )  # fmt: skip
    assert found[name] == (1 / 2) / (2 / 4)  # a and d were chosen, c has the grade 0


@pytest.mark.parametrize("name", ["long_tail_items[again=once]@3", "rsp[again=once]@3"])
def test_unknown_ways_to_treat_repeats_are_refused(name: str) -> None:
    with pytest.raises(UnknownName, match="counted"):
        value(name)


def test_topics_may_be_those_of_the_training_data() -> None:
    # Items of group three are in no training data; a and c have the topics of the other two.
    items = pl.concat([ITEMS, pl.DataFrame({"item": ["e"], "group": ["three"]})])
    assert value("srecall[by=group,over=train]@1", items=items) == (1 / 2 + 0) / 2
    assert value("srecall[by=group,over=catalogue]@1", items=items) == (1 / 3 + 0) / 2
