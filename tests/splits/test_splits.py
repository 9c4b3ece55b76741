"""Splits by hand: who goes where, and what the ledger says of it."""

from __future__ import annotations

from datetime import date
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import (
    BadArgument,
    BadIds,
    BadTable,
    NothingToEvaluate,
    UnknownName,
)
from rectitude.splits.run import Series, Single
from rectitude.splits.split import SPLITTERS, Split

#        row: 0    1    2    3    4    5    6    7    8    9
ROWS = {
    "user": ["a", "a", "a", "a", "a", "b", "b", "b", "c", "d"],
    "item": [1, 2, 3, 4, 5, 1, 2, 6, 1, 7],
    "timestamp": [10, 20, 30, 40, 50, 15, 25, 60, 35, 70],
}


def log(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({**ROWS, **columns})


def rows(part: Any) -> list[int]:
    return sorted(part.frame["row"].to_list())


def one(how: str, table: object = None, **options: Any) -> Split:
    found = rt.split(log() if table is None else table, how, **options)
    assert isinstance(found, Split)
    return found


def several(how: str, table: object = None, **options: Any) -> list[Split]:
    found = rt.split(log() if table is None else table, how, **options)
    assert isinstance(found, list)
    return found


def test_leave_last_holds_out_the_latest_row_of_users_who_keep_one() -> None:
    split = one("leave_last")
    assert (rows(split.truth), rows(split.train)) == ([4, 7], [0, 1, 2, 3, 5, 6, 8, 9])
    assert split.ledger["short_groups"] == 2
    assert split.ledger["truth_users"] == 2


@pytest.mark.parametrize(
    ("short", "held"),
    [("some", [2, 3, 4, 6, 7]), ("all", [2, 3, 4, 5, 6, 7, 8, 9]), ("none", [2, 3, 4])],
)
def test_short_users_are_treated_as_asked(short: str, held: list[int]) -> None:
    assert rows(one("leave_last", n=3, short=short).truth) == held


def test_short_users_can_be_refused() -> None:
    with pytest.raises(BadArgument, match="fewer than 4 rows"):
        one("leave_last", n=3, short="error")


def test_equal_timestamps_go_by_item_then_by_file_if_asked() -> None:
    table = log(
        timestamp=[10, 20, 30, 50, 50, 15, 25, 60, 35, 70], item=[1, 2, 3, 9, 5, 1, 2, 6, 1, 7]
    )
    held = {
        ties: rows(one("leave_last", table, ties=ties).truth)
        for ties in ("content", "first", "last")
    }
    assert held == {"content": [3, 7], "first": [3, 7], "last": [4, 7]}


def test_leave_last_in_folds_moves_back_in_time() -> None:
    first, second = several("leave_last", n=1, folds=2)
    assert (rows(first.truth), rows(second.truth)) == ([3, 6], [4, 7])
    assert rows(first.train) == [0, 1, 2, 5]
    assert first.ledger["rows_in_no_part"] == 4


def test_the_latest_rows_of_train_can_be_shown() -> None:
    split = one("leave_last", n=1, shown=2)
    assert split.fold_in is not None
    assert rows(split.fold_in) == [2, 3, 5, 6]


def test_leave_random_leaves_as_many_as_leave_last() -> None:
    split = one("leave_random", n=2, seed=3)
    assert split.truth.frame.group_by("user").len().sort("user").rows() == [("a", 2), ("b", 2)]


@pytest.mark.parametrize(
    ("rounding", "held"), [("floor", 1), ("ceil", 2), ("round", 2), ("half_even", 2), ("above", 2)]
)
def test_a_ratio_is_rounded_as_asked(rounding: str, held: int) -> None:
    split = one("random_ratio", log().head(5), ratio=0.3, rounding=rounding)
    assert split.truth.frame.height == held


@pytest.mark.parametrize(("rounding", "held"), [("round", 3), ("half_even", 2), ("above", 3)])
def test_halves_are_rounded_as_asked(rounding: str, held: int) -> None:
    assert one("random_ratio", ratio=0.25, rounding=rounding).truth.frame.height == held


def test_three_tenths_of_ninety_are_twenty_seven() -> None:
    table = {"user": range(90), "item": range(90)}
    exact = one("random_ratio", table, ratio=0.7, of="train", rounding="floor")
    floats = one(
        "random_ratio", table, ratio=0.7, of="train", rounding="floor", arithmetic="binary"
    )
    assert (exact.truth.frame.height, floats.truth.frame.height) == (27, 28)


def test_random_ratio_per_user_takes_a_share_of_each() -> None:
    split = one("random_ratio", ratio=0.4, level="user", seed=1)
    assert split.truth.frame.group_by("user").len().sort("user").rows() == [("a", 2), ("b", 1)]


def test_validation_is_a_share_of_all_rows_and_inside_train() -> None:
    split = one("random_ratio", ratio=0.2, validation=0.3)
    assert split.validation is not None
    assert split.validation.truth.frame.height == 3
    assert set(rows(split.validation.truth)) | set(rows(split.validation.train)) == set(
        rows(split.train)
    )


def test_last_ratio_takes_the_latest_share_of_each_user() -> None:
    assert rows(one("last_ratio", ratio=0.4).truth) == [3, 4, 7]
    assert rows(one("last_ratio", ratio=0.4, least=4).truth) == [3, 4]


def test_last_span_takes_what_is_near_the_users_latest_row() -> None:
    assert rows(one("last_span", span=20).truth) == [3, 4, 7, 8, 9]


def test_at_time_divides_at_the_moment() -> None:
    split = one("at_time", t=50)
    assert (rows(split.truth), rows(split.train)) == ([4, 7, 9], [0, 1, 2, 3, 5, 6, 8])
    near = one("at_time", t=50, delta_in=15, delta_out=15)
    assert (rows(near.truth), rows(near.train)) == ([4, 7], [3, 8])
    assert near.ledger["rows_in_no_part"] == 6


def test_several_moments_give_a_series() -> None:
    first, second = several("at_time", t=[30, 50])
    assert (rows(first.truth), rows(second.truth)) == ([2, 3, 8], [4, 7, 9])


def test_the_best_moment_has_most_users_on_both_sides_and_is_the_latest() -> None:
    split = one("at_time", t="best", min_before=2, min_after=1)
    # a has two rows before 30 to 50, b before 30 to 60: both at 50
    assert split.ledger.notes["t"] == "50"


def test_time_ratio_keeps_equal_timestamps_together() -> None:
    table = log(timestamp=[1, 2, 3, 4, 9, 9, 9, 9, 9, 9])
    assert rows(one("time_ratio", table, ratio=0.2).truth) == [4, 5, 6, 7, 8, 9]
    assert one("time_ratio", table, ratio=0.2, cut="position").truth.frame.height == 2


def test_new_users_are_those_who_came_last() -> None:
    split = one("new_users", ratio=0.5)  # c begins at 35, d at 70
    assert (rows(split.truth), rows(split.train)) == ([8, 9], [0, 1, 2, 5, 6])
    assert split.ledger["rows_in_no_part"] == 3


def test_cold_users_are_found_with_all_their_rows() -> None:
    split = one("cold_users", ratio=0.5)
    assert split.truth.frame["user"].n_unique() == 2
    assert not set(split.truth.frame["user"]) & set(split.train.frame["user"])


def test_strong_generalisation_shows_part_of_new_users() -> None:
    split = one(
        "strong_generalisation", ratio=0.5, within={"how": "leave_last", "short": "all", "keep": 0}
    )
    assert split.fold_in is not None
    assert not set(split.truth.frame["user"]) & set(split.train.frame["user"])
    assert set(split.fold_in.frame["user"]) <= set(split.truth.frame["user"])


def test_timed_strong_generalisation_learns_nothing_from_later() -> None:
    table = log(user=["a", "b"] * 5, timestamp=range(10))
    split = one("strong_generalisation", table, ratio=0.5, t=6)
    assert split.fold_in is not None
    assert split.train.frame["timestamp"].to_list() in ([0, 2, 4], [1, 3, 5])
    assert max(split.fold_in.frame["timestamp"]) < 6 <= min(split.truth.frame["timestamp"])


def test_users_active_after_a_moment_are_evaluated_on_their_last_row() -> None:
    late = one("late_users", t=60, within={"how": "leave_last", "keep": 0, "short": "all"})
    assert late.fold_in is not None
    assert (rows(late.train), rows(late.fold_in), rows(late.truth)) == (
        [0, 1, 2, 3, 4, 8],
        [5, 6],
        [7, 9],
    )
    after = one("next_after", t=26)
    assert after.fold_in is not None
    assert (rows(after.train), rows(after.truth)) == ([0, 1, 5, 6], [4, 7, 8, 9])
    assert rows(after.fold_in) == [0, 1, 2, 3, 5, 6]


def test_folds_hold_every_row_once() -> None:
    folds = several("k_fold", folds=3)
    assert sorted(row for fold in folds for row in rows(fold.truth)) == list(range(10))
    assert sorted(len(rows(fold.truth)) for fold in folds) == [3, 3, 4]


def test_round_robin_folds_deal_out_rows_in_order() -> None:
    folds = several("k_fold", folds=2, level="user", draw="round_robin")
    assert [rows(fold.truth) for fold in folds] == [[0, 2, 4, 5, 7, 8, 9], [1, 3, 6]]


def test_folds_of_users_evaluate_each_user_once() -> None:
    folds = several("k_fold_users", log(user=["a", "b"] * 5), folds=2)
    users = [set(fold.truth.frame["user"]) for fold in folds]
    assert sorted(map(sorted, users)) == [["a"], ["b"]]


def test_windows_follow_each_other() -> None:
    first, second = several("windows", span=20, start=30)[:2]
    assert (rows(first.truth), rows(first.train)) == ([2, 3, 8], [0, 1, 5, 6])
    assert (rows(second.truth), len(rows(second.train))) == ([4, 7], 7)
    last = several("windows", span=20, folds=2)
    assert [rows(window.truth) for window in last] == [[3, 4, 8], [7, 9]]


def test_windows_may_end_with_the_day() -> None:
    days = log(timestamp=[day * 86_400 + 5 for day in range(10)])
    first, second = several("windows", days, span="2D", folds=2, end="unit")
    assert (rows(first.truth), rows(second.truth)) == ([6, 7], [8, 9])


def test_empty_windows_are_left_out_and_counted() -> None:
    table = log(timestamp=[10, 20, 30, 31, 32, 15, 25, 90, 91, 92])
    series = several("windows", table, span=10, start=30)
    assert [(window.name, window.truth.frame.height) for window in series] == [
        ("window-1", 3),
        ("window-7", 3),
    ]
    assert series[0].ledger["empty_windows"] == 5


def test_given_parts_are_kept_and_shared_pairs_counted() -> None:
    split = one("fixed", log().head(8), truth={"user": ["a", "c"], "item": [1, 1]})
    assert (split.train.frame.height, split.truth.frame.height) == (8, 2)
    assert split.ledger["pairs_in_train"] == 1


def test_any_two_splits_can_be_composed() -> None:
    split = one("at_time", t=50, validation={"how": "leave_last"})
    assert split.validation is not None
    assert rows(split.validation.truth) == [3, 6]
    assert "validation_truth_rows" in split.ledger


def test_a_series_can_be_composed_too() -> None:
    folds = several("k_fold", folds=2, validation={"how": "random_ratio", "ratio": 0.2})
    assert all(fold.validation is not None for fold in folds)


def test_a_recipe_is_applied_first() -> None:
    split = one("leave_last", recipe=[{"step": "n_filter", "users": 2}])
    assert sorted(set(split.train.frame["user"])) == ["a", "b"]
    assert any("n_filter" in note for note in split.ledger.notes.values())


def test_the_words_of_a_framework_may_ask_for_validation() -> None:
    table = log(user=["a", "b"] * 5, item=[1, 2] * 5, timestamp=range(10))
    words = {"scenario": "Timed", "t": 7, "t_validation": 4}
    split = rt.split(table, protocol="recpack", validation=True, **words)
    assert isinstance(split, Split)
    assert split.validation is not None
    assert rows(split.validation.truth) == [4, 5, 6]


def test_the_first_row_in_no_part_is_named() -> None:
    split = one("at_time", t=50, delta_in=15)
    assert split.ledger.entries["rows_in_no_part"].example == "row 1, user 'a', item 1"


def test_dates_can_be_written_as_text() -> None:
    day = 86_400
    table = log(timestamp=[1_700_000_000 + nth * day for nth in range(10)])
    text = one("at_time", table, t="2023-11-20", delta_out="2D")
    number = one("at_time", table, t=1_700_438_400, delta_out=2 * day)
    assert rows(text.truth) == rows(number.truth) == [6, 7]


def test_the_fingerprint_follows_content_not_order() -> None:
    table = log()
    same = one("leave_last", table.sample(fraction=1, shuffle=True, seed=4)).fingerprint
    assert one("leave_last", table).fingerprint == same
    assert one("leave_last", table, n=2).fingerprint != same


@pytest.mark.parametrize("ratio", [0, 1, -0.1, 1.5, "x", True])
def test_a_ratio_outside_zero_and_one_is_refused(ratio: object) -> None:
    for how in ("random_ratio", "last_ratio", "time_ratio", "cold_users", "new_users"):
        with pytest.raises(BadArgument, match=f"ratio (of split '{how}' )?is {ratio!r}"):
            one(how, ratio=ratio)


def test_more_rows_than_any_profile_has_are_refused() -> None:
    with pytest.raises(NothingToEvaluate, match=r"longest profile of .* has 5 rows"):
        one("leave_last", n=5)
    with pytest.raises(NothingToEvaluate, match="n is 9"):
        one("leave_random", n=9)


@pytest.mark.parametrize("t", [5, 10, 71, "2031-01-01"])
def test_a_moment_outside_the_data_is_refused(t: object) -> None:
    with pytest.raises(BadArgument, match="go from 10 to 70"):
        one("at_time", t=t)


def test_names_and_choices_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'leave_last'"):
        one("leave_lats")
    with pytest.raises(UnknownName, match="no parameter 'nn'"):
        one("leave_last", nn=1)
    with pytest.raises(BadArgument, match="ties of split 'leave_last' is 'newest'"):
        one("leave_last", ties="newest")
    with pytest.raises(
        BadArgument, match=r"(?s)level of split 'random_ratio' .*did you mean 'user'"
    ):
        one("random_ratio", level="usr")
    with pytest.raises(BadArgument, match="seed of split 'random_ratio' is 'x'"):
        one("random_ratio", seed="x")
    with pytest.raises(BadArgument, match="no t"):
        one("at_time")
    with pytest.raises(UnknownName, match="no parameter 'user'"):
        one("leave_last", unknown={"user": "drop"})
    with pytest.raises(BadArgument, match="users of unknown is 'forget'"):
        one("leave_last", unknown={"users": "forget"})
    with pytest.raises(BadArgument, match="both given"):
        rt.split(log(), "leave_last", protocol="elliot")


def test_a_log_without_time_is_refused_where_time_is_needed() -> None:
    with pytest.raises(BadTable, match="no timestamp column"):
        one("leave_last", log().drop("timestamp"))
    assert one("leave_random", log().drop("timestamp")).truth.frame.height == 2


def test_a_missing_timestamp_is_named() -> None:
    times = [10, 20, None, 40, 50, 15, 25, 60, 35, 70]
    with pytest.raises(BadTable, match=r"1 of 10 timestamps are missing.* \(first: row 3"):
        one("leave_last", log(timestamp=times))


def test_an_empty_log_is_refused() -> None:
    with pytest.raises(NothingToEvaluate, match="no rows"):
        one("leave_last", log().clear())


def test_parameters_that_would_change_nothing_are_refused() -> None:
    for how, given in {
        "at_time": {"t": 30, "delta_out": 1, "end": 90},
        "time_ratio": {"cut": "percentile", "validation": 0.2},
        "random_ratio": {"repeats": 2, "overlap": "none", "validation": 0.2},
        "strong_generalisation": {"delta_in": 3},
    }.items():
        with pytest.raises(BadArgument, match="expected no "):
            one(how, **given)
    with pytest.raises(BadArgument, match="min_before= is 50, but only t='best' uses it"):
        one("at_time", t=30, min_before=50)
    with pytest.raises(BadArgument, match="each truth ends where the next begins"):
        one("at_time", t=[26, 30], delta_out=1)
    with pytest.raises(BadArgument, match="number of times in t is 0"):
        one("at_time", t=[])


def test_windows_that_are_too_short_for_the_log_are_refused() -> None:
    with pytest.raises(BadArgument, match=r"a stride of 1e-09 .* makes [\d,]+ windows"):
        one("windows", span=1e-9, start=26)


def test_what_next_after_finds_was_never_learnt() -> None:
    table = pl.DataFrame({"user": [0] * 4, "item": [0] * 4, "timestamp": [0, 0, 0, 1]})
    split = one("next_after", table, t=1, n=2)
    assert split.truth.frame["timestamp"].to_list() == [1]
    assert split.fold_in is not None and split.fold_in.frame["row"].to_list() == [0, 1, 2]


def test_fixed_parts_with_ids_of_another_type_are_refused() -> None:
    with pytest.raises(BadIds, match=r"item ids are integer in .* but text in truth"):
        one("fixed", truth=pl.DataFrame({"user": ["one"], "item": ["two"]}))


def test_the_moment_of_a_split_can_be_read_from_its_account() -> None:
    dated = log().with_columns(pl.from_epoch(pl.col("timestamp") * 86_400))
    split = one("at_time", dated, t=date(1970, 1, 28))
    assert split.ledger.notes["how"] == "at_time(t='1970-01-28')"
    assert one("at_time", t=np.int64(26)).ledger.notes["how"] == "at_time(t=26)"


def test_splits_are_compared_by_their_rows() -> None:
    log = {"user": [1, 1, 1, 2, 2, 2], "item": [*"abcabd"], "timestamp": [*range(6)]}
    first, again = (rt.split(log, "leave_last") for _ in range(2))
    assert first == again
    assert hash(first) == hash(again)
    assert first in [None, again]
    assert first != rt.split(log, "leave_last", n=2)
    assert first != "a split"
    assert first.train == first.train
    assert first.train != first.truth


def test_type_checkers_know_which_ways_to_split_return_a_list() -> None:
    """The overloads of `rt.split` are right about every way to split."""
    for name, function in SPLITTERS.items():
        returned = function.__annotations__["return"]
        several = {"repeats", "folds"} & function.__annotations__.keys()
        assert (name in get_args(Series)) == (returned == "list[Split]"), name
        one = returned == "Split" or (returned == "Split | list[Split]" and bool(several))
        assert (name in get_args(Single)) == one, name
