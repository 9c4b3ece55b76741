"""Splits by session, at random places, after a moment, of named users, and drawn as NumPy draws."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument, BadTable, NothingToEvaluate

LOG = pl.DataFrame(
    {
        "user": ["a"] * 4 + ["b"] * 3,
        "item": [1, 2, 3, 4, 1, 2, 3],
        "timestamp": [1, 2, 10, 11, 1, 5, 20],
    }
)
SESSIONS = [{"step": "session_gap", "gap": 5}]  # a: 1 2 | 3 4; b: 1 2 | 3


def pairs(part: rt.Interactions | object) -> list[tuple[str, int]]:
    return part.frame.select("user", "item").rows()  # type: ignore[attr-defined, union-attr]


def test_the_last_session_of_each_user_is_held_out_whole() -> None:
    split = rt.split(LOG, "last_sessions", recipe=SESSIONS)
    assert pairs(split.truth) == [("a", 3), ("a", 4), ("b", 3)]


def test_a_session_that_ends_after_the_moment_is_not_cut() -> None:
    split = rt.split(LOG, "late_sessions", t=11, recipe=SESSIONS)
    assert pairs(split.truth) == [("a", 3), ("a", 4), ("b", 3)]


def test_sessions_are_asked_for_with_the_step_that_makes_them() -> None:
    with pytest.raises(BadTable, match="session_gap"):
        rt.split(LOG, "last_sessions")


def test_the_first_row_after_a_moment_is_held_out_and_later_rows_are_in_no_part() -> None:
    split = rt.split(LOG, "next_after", t=5, rows="first")
    assert pairs(split.truth) == [("a", 3), ("b", 2)]
    assert pairs(split.train) == [("a", 1), ("a", 2), ("b", 1)]
    assert split.fold_in is not None
    assert pairs(split.fold_in) == pairs(split.train)


def test_a_truth_can_be_limited_to_the_first_rows_of_each_user() -> None:
    split = rt.split(LOG, "at_time", t=5, first=1)
    assert pairs(split.truth) == [("a", 3), ("b", 2)]
    assert pairs(split.train) == [("a", 1), ("a", 2), ("b", 1)]
    assert "2 of 7 rows are in no part" in str(split.ledger).replace("\n", " ")
    assert pairs(rt.split(LOG, "at_time", t=5, first=9).truth) == pairs(
        rt.split(LOG, "at_time", t=5).truth
    )


def test_the_first_rows_are_the_earliest_or_those_that_come_first_in_the_file() -> None:
    turned = LOG[::-1]
    assert sorted(pairs(rt.split(turned, "at_time", t=5, first=1).truth)) == [("a", 3), ("b", 2)]
    split = rt.split(turned, "at_time", t=5, first=1, order="file")
    assert sorted(pairs(split.truth)) == [("a", 4), ("b", 3)]
    with pytest.raises(BadArgument, match="only first= counts rows"):
        rt.split(LOG, "at_time", t=5, order="file")
    with pytest.raises(BadArgument, match="first"):
        rt.split(LOG, "at_time", t=5, first=0)


def test_each_window_and_each_of_several_moments_can_be_limited() -> None:
    # from 2 on, a has rows at 2 and 10, b at 5; from 11 on, a at 11; from 20 on, b at 20
    series = rt.split(LOG, "windows", start=2, span=9, first=1)
    assert [pairs(split.truth) for split in series] == [
        [("a", 2), ("b", 2)],
        [("a", 4)],
        [("b", 3)],
    ]
    series = rt.split(LOG, "at_time", t=[2, 10], first=1)
    assert [pairs(split.truth) for split in series] == [[("a", 2), ("b", 2)], [("a", 3), ("b", 3)]]


def test_named_users_are_evaluated_and_the_others_are_train() -> None:
    split = rt.split(LOG, "named_users", users=["b"], within={"how": "leave_last"})
    assert pairs(split.truth) == [("b", 3)]
    assert {user for user, _ in pairs(split.train)} == {"a"}
    with pytest.raises(BadArgument, match=r"1 of 2 named users are not in .* 'z'"):
        rt.split(LOG, "named_users", users=["b", "z"])


def test_random_next_rows_follow_what_is_learnt() -> None:
    starts = set()
    for seed in range(20):
        split = rt.split(LOG, "random_next", n=2, seed=seed)
        for user in ("a", "b"):
            before = [item for who, item in pairs(split.train) if who == user]
            held = [item for who, item in pairs(split.truth) if who == user]
            assert held == [len(before) + 1, len(before) + 2]
            starts.add((user, held[0]))
    assert starts == {("a", 2), ("a", 3), ("b", 2)}


def test_first_rows_are_train_and_only_later_rows_are_counted() -> None:
    split = rt.split(LOG, "after_first", within={"how": "last_ratio", "ratio": 0.5})
    assert pairs(split.truth) == [("a", 3), ("a", 4), ("b", 3)]  # half of 3 rounds to 2, of 2 to 1
    plain = rt.split(LOG, "last_ratio", ratio=0.5)
    assert pairs(plain.truth) == [("a", 3), ("a", 4), ("b", 2), ("b", 3)]


def test_later_rows_have_a_validation_of_their_own() -> None:
    within = {"how": "leave_last", "validation": {"how": "last_ratio", "ratio": 0.5}}
    split = rt.split(LOG, "after_first", within=within)
    assert split.validation is not None
    assert pairs(split.validation.truth) == [("a", 3)]  # of the later rows a 2, a 3 and b 2
    assert pairs(split.validation.train) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    with pytest.raises(NothingToEvaluate, match=r"no user of .* has more than 4 rows"):
        rt.split(LOG, "after_first", n=4)


def test_validation_may_be_a_number_of_rows() -> None:
    split = rt.split(LOG, "last_ratio", size=1, validation=2)
    assert pairs(split.truth) == [("a", 4), ("b", 3)]
    assert split.validation is not None
    assert pairs(split.validation.truth) == [("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    with pytest.raises(BadArgument, match="validation is -1"):
        rt.split(LOG, "last_ratio", validation=-1)


def test_cuts_are_rounded_and_parts_lie_between_them() -> None:
    rows = {"user": [1] * 15, "item": [*range(15)], "timestamp": [*range(15)]}
    split = rt.split(rows, "last_ratio", ratio=0.9, of="cuts", validation=0.7)
    assert split.validation is not None  # cuts at 10.5 and 13.5, halves to even: 10 and 14
    assert split.validation.truth.frame["item"].to_list() == [10, 11, 12, 13]
    assert split.truth.frame["item"].to_list() == [14]


def test_numpy_draws_what_scikit_learn_and_pandas_draw() -> None:
    drawn = np.random.RandomState(7).permutation(7)
    first = rt.split(LOG, "random_ratio", size=2, draw="numpy_truth_first", seed=7)
    last = rt.split(LOG, "random_ratio", size=2, draw="numpy_train_first", seed=7)
    assert set(first.truth.frame["row"]) == {*drawn[:2]}
    assert set(last.truth.frame["row"]) == {*drawn[-2:]}


def test_rows_drawn_one_by_one_follow_numpy() -> None:
    drawn = np.random.default_rng(7).random(7)
    split = rt.split(LOG, "random_rows", ratio=0.4, draw="numpy_generator", seed=7)
    assert set(split.truth.frame["row"]) == {*np.flatnonzero(drawn >= 0.6)}


def test_the_latest_rows_can_be_counted_instead_of_shared() -> None:
    assert pairs(rt.split(LOG, "time_ratio", size=2).truth) == [("a", 4), ("b", 3)]


def test_folds_that_overlap_draw_users_anew() -> None:
    series = rt.split(LOG, "k_fold_users", folds=2, size=2, shown="train", overlap="allowed")
    assert [set(split.truth.frame["user"]) for split in series] == [{"a", "b"}] * 2
