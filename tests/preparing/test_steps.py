"""Every step of preparing, on tables small enough to work out by hand."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from rectitude.data.log import Log, open_log
from rectitude.errors import BadArgument, BadTable, NothingToEvaluate
from rectitude.preparing import STEPS, prepare

ROWS = [
    ("a", "x", 5.0, 10),
    ("a", "y", 3.0, 20),
    ("a", "x", 1.0, 30),
    ("b", "x", 4.0, 15),
    ("b", "z", 4.0, 15),
    ("c", "y", 2.0, 40),
]


def log(rows: list[tuple[Any, ...]] = ROWS, *columns: str) -> Log:
    names = columns or ("user", "item", "grade", "timestamp")
    return open_log({name: [row[at] for row in rows] for at, name in enumerate(names)})


def left(source: Log, step: str, **parameters: Any) -> list[int]:
    return sorted(STEPS[step](source, **parameters).frame["row"].to_list())


@pytest.mark.parametrize(
    ("parameters", "rows"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"keep": "last"}, [1, 2, 3, 4, 5]),
        ({"keep": "first"}, [0, 1, 3, 4, 5]),
        ({"keep": "sum"}, [1, 2, 3, 4, 5]),
        ({"keep": "first", "order": "file"}, [0, 1, 3, 4, 5]),
    ],
)
def test_one_row_of_each_pair_stays(parameters: dict[str, str], rows: list[int]) -> None:
    assert left(log(), "deduplicate", **parameters) == rows


def test_the_last_by_time_need_not_be_the_last_of_the_file() -> None:
    turned = log([("a", "x", 5.0, 30), ("a", "x", 1.0, 10)])
    assert left(turned, "deduplicate", keep="last") == [0]
    assert left(turned, "deduplicate", keep="last", order="file") == [1]


def test_of_repeats_at_the_same_time_content_decides_unless_the_file_should() -> None:
    tied = log([("a", "x", 5.0, 10), ("a", "x", 1.0, 10), ("a", "x", 2.0, 10)])
    assert left(tied, "deduplicate") == [0]
    assert left(tied, "deduplicate", ties="last") == [2]
    assert left(tied, "deduplicate", ties="first") == [0]
    assert left(tied, "deduplicate", keep="first", ties="first") == [2]


def test_repeats_are_summed_into_the_last_row() -> None:
    summed = STEPS["deduplicate"](log(), keep="sum").frame
    assert summed.filter(summed["row"] == 2).row(0) == ("a", "x", 6.0, 30, 2)


def test_repeats_can_be_refused_with_the_first_of_them() -> None:
    with pytest.raises(BadTable, match=r"2 of 6 rows repeat .*row 1, user 'a', item 'x'"):
        STEPS["deduplicate"](log(), keep="error")
    assert left(log(ROWS[1:]), "deduplicate", keep="error") == [0, 1, 2, 3, 4]


def test_negative_counts_are_not_summed() -> None:
    returned = log([("a", "x", 5.0, 10), ("a", "x", -5.0, 20)])
    with pytest.raises(BadTable, match=r"1 of 2 grades to sum .*row 2, -5"):
        STEPS["deduplicate"](returned, keep="sum")


@pytest.mark.parametrize(
    ("grade", "kind"), [(float("nan"), ""), (None, ""), (float("inf"), "finite ")]
)
@pytest.mark.parametrize("item", ["x", "y"])
def test_grades_that_are_no_numbers_are_not_summed(grade: Any, kind: str, item: str) -> None:
    rows = log([("a", "x", 5.0, 10), ("a", "x", 1.0, 20), ("a", item, grade, 30)])
    with pytest.raises(BadTable, match=rf"1 of 3 rows have no {kind}grade \(first: row 3\)"):
        STEPS["deduplicate"](rows, keep="sum")


def test_sums_that_no_number_holds_are_refused() -> None:
    large = log([("a", "x", 1.7e308, 10), ("a", "x", 1.7e308, 20), ("b", "x", 1.0, 1)])
    with pytest.raises(BadTable, match=r"1 of 1 duplicate pairs .*user 'a', item 'x'"):
        STEPS["deduplicate"](large, keep="sum")


def test_without_times_repeats_of_different_grades_need_a_choice() -> None:
    untimed = log([("a", "x", 5.0), ("a", "x", 1.0)], "user", "item", "grade")
    with pytest.raises(BadTable, match=r"1 pairs .* different grades"):
        STEPS["deduplicate"](untimed)
    assert left(untimed, "deduplicate", order="file") == [1]
    assert STEPS["deduplicate"](untimed, keep="sum").frame["grade"].to_list() == [6.0]
    alike = log([("a", "x", 5.0), ("a", "x", 5.0)], "user", "item", "grade")
    assert len(left(alike, "deduplicate")) == 1


def test_a_threshold_keeps_grades_that_reach_it() -> None:
    assert left(log(), "threshold", at=4) == [0, 3, 4]
    assert left(log(), "threshold", at="user_mean") == [0, 1, 3, 4, 5]
    assert left(log(), "threshold", at="global_mean") == [0, 3, 4]


def test_a_range_of_grades_has_open_and_closed_ends() -> None:
    assert left(log(), "grade_range", at_least=2, at_most=4) == [1, 3, 4, 5]
    assert left(log(), "grade_range", above=2, below=4) == [1]
    assert left(log(), "grade_range", above=1.5) == [0, 1, 3, 4, 5]


def test_equal_grades_reach_their_own_mean() -> None:
    tenths = [("a", "x", 3.3, 1), ("a", "y", 3.3, 2), ("a", "z", 3.3, 3)]
    assert left(log(tenths), "threshold", at="user_mean") == [0, 1, 2]
    middle = [("a", "x", 3.2, 1), ("a", "y", 3.4, 2), ("a", "z", 3.3, 3)]
    assert left(log(middle), "threshold", at="user_mean") == [1, 2]
    thirds = [("a", name, 1 / 3, 1) for name in "uvwxyz"]
    assert left(log(thirds), "threshold", at="global_mean") == [0, 1, 2, 3, 4, 5]


def test_a_threshold_needs_a_grade_in_every_row() -> None:
    with pytest.raises(BadTable, match="no grade column"):
        STEPS["threshold"](log(ROWS, "user", "item"), at=1)
    holes = log([("a", "x", 1.0, 1), ("a", "y", None, 2), ("a", "z", float("nan"), 3)])
    with pytest.raises(BadTable, match=r"2 of 3 rows have no grade \(first: row 2\)"):
        STEPS["threshold"](holes, at=1)


@pytest.mark.parametrize("at", [1, "user_mean", "global_mean"])
def test_infinite_grades_are_refused(at: Any) -> None:
    grades = [1.0, 2.0, 3.0, 1.0, 5.0, float("inf")]
    endless = log([("a", place, grade, 1) for place, grade in enumerate(grades)])
    with pytest.raises(BadTable, match=r"1 of 6 rows have no finite grade \(first: row 6\)"):
        STEPS["threshold"](endless, at=at)
    with pytest.raises(BadTable, match="no finite grade"):
        STEPS["grade_range"](endless, at_least=2)


def reaching_mean(grades: list[float], users: list[Any]) -> list[int]:
    """The rows that reach the mean of their user, in fractions."""
    values = [Fraction(grade) for grade in grades]
    own = {user: [v for v, u in zip(values, users, strict=True) if u == user] for user in users}
    means = {user: sum(mine) / len(mine) for user, mine in own.items()}
    return [row for row, value in enumerate(values) if value >= means[users[row]]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "grades",
    [
        [1e308, 1.7e308, 1.7e308, 1.0, 2.0, 3.0],
        [1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.0, -5e-324],
        [1 / 3, 1 / 3, 1 / 3, 1e300, 1e300, 5e-324],
        [1.0 + 2**-52, 1.0, 1.0 - 2**-53],
        [2.0**53 + 2, 2.0**53, 2.0**53 - 1, 0.5],
        [1e16 + 2, 1e16, 1e16 + 4, 0.1],
    ],
)
def test_means_are_exact_whatever_the_size_of_grades(grades: list[float]) -> None:
    rows = log([("a", place, grade, 1) for place, grade in enumerate(grades)])
    expected = reaching_mean(grades, ["a"] * len(grades))
    assert left(rows, "threshold", at="global_mean") == expected
    assert left(rows, "threshold", at="user_mean") == expected


@pytest.mark.parametrize("highest", [1.0, 1e9, 1e12, 1e200])
def test_one_large_grade_leaves_the_means_of_others_exact(highest: float) -> None:
    random = np.random.default_rng(5)
    grades, users = random.random(20_000), random.integers(0, 40, 20_000)
    near = grades[(users == 1) & (np.arange(20_000) > 0)]
    grades[1], users[1] = near.mean(), 1  # all but the mean of the user
    grades[0], users[0] = highest, 0
    table = open_log({"user": users, "item": users, "grade": grades})
    expected = reaching_mean(grades.tolist(), users.tolist())
    assert left(table, "threshold", at="user_mean") == expected
    everybody = reaching_mean(grades.tolist(), [0] * 20_000)
    assert left(table, "threshold", at="global_mean") == everybody


def test_an_n_filter_counts_both_sides_once() -> None:
    chain = log([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z"), ("c", "z")], "user", "item")
    assert left(chain, "n_filter", users=2, items=2) == [1, 2, 3]
    assert left(chain, "n_filter", users=2) == [0, 1, 2, 3]
    assert left(chain, "n_filter", items=2) == [1, 2, 3, 4]


def test_rounds_of_a_core_take_users_then_items_until_nothing_goes() -> None:
    chain = log([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z"), ("c", "z")], "user", "item")
    assert left(chain, "k_core", users=2, items=2, rounds=1) == [1, 2]
    assert left(chain, "k_core", users=2, items=2, rounds=1, order="items_first") == [2, 3]
    assert left(chain, "k_core", users=2, items=2, rounds=1, order="together") == [1, 2, 3]
    with pytest.raises(NothingToEvaluate, match=r"k_core\(users = 2, items = 2\) removed all 5"):
        prepare(chain, [{"step": "k_core", "users": 2, "items": 2}])


def test_a_core_is_found_by_both_kernels(kernels: str) -> None:
    square = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    tail = [("b", "z"), ("c", "z"), ("c", "w")]
    assert left(log(square + tail, "user", "item"), "k_core", users=2, items=2) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int8, pl.UInt32, pl.Float64, pl.String, pl.Date])
def test_ids_of_any_type_are_counted(kind: type[pl.DataType], kernels: str) -> None:
    ids = pl.Series([3, 3, 5, 5, 7]).cast(pl.Int32 if kind == pl.Date else kind).cast(kind)
    frame = pl.DataFrame({"user": ids, "item": ids.reverse()})
    assert left(open_log(frame), "n_filter", users=2) == [0, 1, 2, 3]
    assert left(open_log(frame), "n_filter", items=2, repeats="once") == [1, 2, 3, 4]
    shifted = frame.select(pl.col("user", "item").cast(pl.Int64, strict=False) - 90)
    if kind != pl.Date:
        assert left(open_log(shifted), "n_filter", users=2) == [0, 1, 2, 3]


def test_repeats_count_as_rows_or_once() -> None:
    assert left(log(), "items_per_user", at_least=3) == []
    assert left(log(), "items_per_user", at_least=3, repeats="counted") == [0, 1, 2]
    assert left(log(), "users_per_item", at_least=3, repeats="counted") == [0, 2, 3]
    assert left(log(), "users_per_item", at_most=1) == [4]
    assert left(log(), "k_core", users=3, repeats="once") == []
    assert left(log(), "cold_users", at_most=2) == [3, 4, 5]
    assert left(log(), "cold_users", at_most=2, repeats="once") == [0, 1, 2, 3, 4, 5]


def test_bounds_hold_on_both_sides_when_nothing_more_goes() -> None:
    assert left(log(), "between", users_at_least=1, users_at_most=2) == [3, 4, 5]
    assert left(log(), "between", users_at_most=2, items_at_most=1) == [4]
    assert left(log(), "between", items_at_least=2, users_at_least=2) == [0, 2]


@pytest.mark.parametrize(
    ("step", "parameters"),
    [
        ("k_core", {"users": -1, "items": 2}),
        ("k_core", {}),
        ("k_core", {"users": 2, "rounds": 0}),
        ("n_filter", {"users": 0, "items": 0}),
        ("items_per_user", {"at_least": -1}),
        ("users_per_item", {"at_least": 3, "at_most": 2}),
        ("latest", {"n": 0}),
        ("popular_items", {"n": -3}),
        ("sample_users", {}),
        ("sample_users", {"n": 2, "share": 0.5}),
        ("sample_users", {"share": 1.5}),
        ("sample_users", {"n": 4}),
        ("last_days", {"n": 0}),
        ("time_window", {}),
        ("time_window", {"start": "soon"}),
        ("session_gap", {"gap": "a while"}),
        ("threshold", {"at": float("nan")}),
        ("grade_range", {}),
    ],
)
def test_numbers_that_mean_nothing_are_refused(step: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        STEPS[step](log(), **parameters)


def test_the_most_popular_items_stay_and_the_lower_id_at_the_border() -> None:
    assert left(log(), "popular_items", n=1) == [0, 2, 3]
    assert left(log(), "popular_items", n=1, repeats="once") == [0, 2, 3]
    assert left(log(), "popular_items", n=2) == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("step", ["popular_items", "recent_items"])
def test_no_item_stays_if_zero_are_asked_for(step: str) -> None:
    assert left(log(), step, n=0) == []
    even = log([("a", "y"), ("a", "x")], "user", "item")
    assert left(even, "popular_items", n=1) == [1]


def test_the_most_recent_items_stay() -> None:
    assert left(log(), "recent_items", n=1) == [1, 5]
    assert left(log(), "recent_items", n=2) == [0, 1, 2, 3, 5]


def test_the_latest_and_the_earliest_rows_of_each_user_stay() -> None:
    assert left(log(), "latest", n=1) == [2, 4, 5]
    assert left(log(), "latest", n=1, ties="first") == [2, 3, 5]
    assert left(log(), "latest", n=2) == [1, 2, 3, 4, 5]
    assert left(log(), "earliest", n=1) == [0, 3, 5]
    assert left(log(), "earliest", n=1, ties="first") == [0, 4, 5]


def test_a_window_begins_with_its_start_and_ends_before_its_end() -> None:
    assert left(log(), "time_window", start=15, end=30) == [1, 3, 4]
    assert left(log(), "time_window", end=20) == [0, 3, 4]


def test_days_are_days_in_seconds_milliseconds_and_dates() -> None:
    seconds = [0, 86_400, 2 * 86_400, 3 * 86_400]
    start = 1_600_000_000
    dates = [dt.datetime(2020, 1, 1 + day) for day in range(4)]
    for times in (
        [start + second for second in seconds],
        [(start + second) * 1000 for second in seconds],
        dates,
        [str(date) for date in dates],
    ):
        days = log([("a", n, 1.0, time) for n, time in enumerate(times)])
        assert left(days, "last_days", n=2) == [2, 3]
        assert left(days, "last_days", n=2.5) == [1, 2, 3]
    assert left(days, "time_window", start="2020-01-02", end=dt.date(2020, 1, 4)) == [1, 2]
    assert left(days, "time_window", start="2020-01-02T01:00+02:00") == [1, 2, 3]


def test_a_session_ends_with_a_pause_longer_than_the_gap() -> None:
    rows = [("b", "x", 1.0, 100), ("a", "x", 1.0, 0), ("a", "y", 1.0, 30), ("a", "z", 1.0, 61)]
    sessions = STEPS["session_gap"](log(rows), gap=30).frame["session"].to_list()
    assert sessions == [2, 0, 0, 1]
    assert STEPS["session_gap"](log(rows)).frame["session"].to_list() == [1, 0, 0, 0]


def test_a_sample_holds_all_rows_of_as_many_users_as_asked_for() -> None:
    many = log([(user, item) for user in range(40) for item in range(3)], "user", "item")
    some = STEPS["sample_users"](many, n=7, seed=1)
    assert some.size == (21, 7, 3)
    assert STEPS["sample_users"](many, share=0.25, seed=1).size == (30, 10, 3)
    others = STEPS["sample_users"](many, n=7, seed=2)
    assert set(others.frame["user"]) != set(some.frame["user"])


@pytest.mark.parametrize("step", ["latest", "earliest", "recent_items", "last_days"])
def test_steps_that_go_by_time_need_times(step: str) -> None:
    with pytest.raises(BadTable, match="no timestamp column"):
        STEPS[step](log(ROWS, "user", "item"), n=1)


def test_between_may_count_items_in_what_users_left() -> None:
    table = open_log({"user": ["a", "a", "b", "c", "c", "d", "d"], "item": [1, 2, 1, 1, 3, 2, 3]})
    bounds = {"users_at_least": 2, "items_at_most": 2}
    assert left(table, "between", **bounds, order="users_first") == [0, 1, 3, 4, 5, 6]
    assert left(table, "between", **bounds) == [5, 6]
