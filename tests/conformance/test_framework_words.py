"""What frameworks do with words, values and tables that golden cases do not hold."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.candidates.protocols import candidates_of
from rectitude.errors import BadName, NothingToEvaluate, UnknownName
from rectitude.prepare import prepare
from rectitude.splits.protocols import CONVERTERS, resolve, steps
from rectitude.splits.split import Split

LOG = {
    "user": [1, 1, 1, 1, 2, 2, 2, 3], "item": [1, 2, 3, 4, 1, 2, 3, 9],
    "rating": [1, 2, 3, 4, 5, 2, 4, 5], "timestamp": [5, 5, 7, 7, 1, 2, 3, 4],
}  # fmt: skip
DAY = 86_400


def left(framework: str, **words: Any) -> list[int]:
    """Rows that a framework's filter leaves."""
    return prepare(pl.DataFrame(LOG), steps(framework, words)).frame["row"].to_list()


def one(framework: str, table: object = LOG, **words: Any) -> Split:
    found = rt.split(table, protocol=framework, **words)
    assert isinstance(found, Split)
    return found


def test_recbole_divides_its_shares_by_their_sum() -> None:
    first, second, third = CONVERTERS["ratios"]("TS_721")
    assert sum([0.7, 0.2, 0.1]) < 1  # in floats
    assert (first, second, third) == (0.7 / 0.9999999999999999, 0.2 / 0.9999999999999999,
                                      0.1 / 0.9999999999999999)  # fmt: skip
    assert CONVERTERS["first_of_rest"]([first, second, third]) == first / (1 - third)


@pytest.mark.parametrize("order", ["TO", "RO"])
@pytest.mark.parametrize("method", ["TS_802", "RS_802_user", "RS_80_0_20_none"])
def test_recboles_second_share_may_be_nothing(method: str, order: str) -> None:
    split = one("recbole", method=method, order=order)
    assert split.validation is None
    assert split.train.frame.height + split.truth.frame.height == 8


def test_recboles_intervals_of_ratings_and_times_hold_together() -> None:
    assert left("recbole", val_interval={"timestamp": "[2,5]"}) == [0, 1, 5, 6, 7]
    both = {"rating": "[2,4]", "timestamp": "[2,5);(5,9]"}
    assert left("recbole", val_interval=both) == [2, 3, 5, 6]


def test_null_means_that_a_word_was_not_given() -> None:
    interval = {"user_inter_num_interval": "[4,inf)", "item_inter_num_interval": None}
    assert left("recbole", **interval, val_interval=None, rm_dup_inter=None) == [0, 1, 2, 3]
    words = {"method": "RatioSplit", "test_size": 0.25, "exclude_unknowns": False}
    assert resolve("cornac", {**words, "val_size": None}) == resolve("cornac", words)
    timed = {"scenario": "Timed", "t": 5, "validation": False}
    for moment in (None, 3):  # nobody looks at it
        words = {**timed, "t_validation": moment}
        assert resolve("recpack", words) == resolve("recpack", timed)


def windows(**words: Any) -> list[Split]:
    times = [0, 1, 2, 3, 7, 7, 8, 9]
    table = {**LOG, "timestamp": [DAY * day for day in times]}
    found = rt.split(table, protocol="rectools", method="TimeRangeSplitter", **words)
    assert isinstance(found, list)
    return found


KEEP = {"filter_cold_users": False, "filter_cold_items": False, "filter_already_seen": False}


def test_windows_of_rectools_that_are_empty_keep_the_numbers_of_the_others() -> None:
    series = windows(test_size="2D", n_splits=4, **KEEP)  # days 2-3, 4-5, 6-7, 8-9
    assert [split.name for split in series] == ["window-1", "window-3", "window-4"]


def test_a_window_that_filters_leave_empty_is_left_out_and_said() -> None:
    series = windows(test_size="2D", n_splits=4, filter_cold_items=False, filter_already_seen=False)
    assert [split.name for split in series] == ["window-1", "window-4"]
    assert series[0].ledger["empty_splits"] == 1
    with pytest.raises(NothingToEvaluate, match="nothing to find"):
        windows(test_size="1D")  # of the one user of day 9 nothing was learnt


def test_windows_of_rectools_may_begin_before_the_data() -> None:
    series = windows(test_size="4D", n_splits=4, **KEEP)
    assert [split.name for split in series] == ["window-3", "window-4"]
    assert series[0].ledger["empty_splits"] == 1
    with pytest.raises(BadName, match="the start of a window"):
        rt.split(LOG, "windows", span=4, folds=4)


def series(framework: str, **words: Any) -> list[Split]:
    found = rt.split(LOG, protocol=framework, **words)
    assert isinstance(found, list)
    return found


HOLDOUT = {"method": "LastN", "n": 1}


def test_lenskit_samples_users_again_without_meeting_any_twice() -> None:
    words = {"method": "sample_users", "holdout": HOLDOUT}
    users = [
        set(split.truth.frame["user"]) for split in series("lenskit", size=1, repeats=2, **words)
    ]
    assert [len(some) for some in users] == [1, 1]
    assert not users[0] & users[1]
    every = series("lenskit", size=2, repeats=2, **words)  # not enough: all are dealt out
    assert sorted(split.truth.frame.height for split in every) == [1, 2]
    assert one("lenskit", size=2, repeats=1, **words).truth.frame.height == 2


def test_lenskit_samples_records_with_and_without_overlap() -> None:
    words = {"method": "sample_records", "size": 3, "repeats": 2}
    rows = [set(split.truth.frame["row"]) for split in series("lenskit", **words)]
    assert [len(some) for some in rows] == [3, 3]
    assert not rows[0] & rows[1]
    again = series("lenskit", **{**words, "repeats": 3}, disjoint=False)
    assert [split.truth.frame.height for split in again] == [3, 3, 3]
    dealt = series("lenskit", **{**words, "repeats": 3}, disjoint=True)
    assert sorted(split.truth.frame.height for split in dealt) == [2, 3, 3]


@pytest.mark.parametrize(
    "words",
    [
        {"method": "sample_users", "size": 2},
        {"method": "sample_users", "size": 2, "holdout": "LastN"},
        {"method": "sample_users", "size": 2, "holdout": {"method": "LastN"}},
        {"method": "sample_users", "size": 2, "holdout": {**HOLDOUT, "field": "rating"}},
        {"method": "sample_users", "size": 4, "holdout": HOLDOUT},
        {"method": "sample_users", "holdout": HOLDOUT},
        {"method": "crossfold_users", "partitions": 2, "holdout": {"method": "SampleFrac"}},
        {"method": "crossfold_records"},
    ],
)
def test_what_lenskit_refuses_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(BadName):
        rt.split(LOG, protocol="lenskit", **words)


def test_cornac_deals_out_rows_that_are_left_over_by_its_own_draw() -> None:
    words = {"method": "CrossValidation", "n_folds": 3, "exclude_unknowns": False, "seed": 1}
    sizes = [split.truth.frame.height for split in series("cornac", **words)]
    assert sizes == [2, 4, 2]  # as Cornac's own CrossValidation deals out eight rows
    assert one("cornac", fold=1, **words).truth.frame.height == 4


@pytest.mark.parametrize("fold", [3, -1])
def test_a_fold_that_does_not_exist_is_refused(fold: int) -> None:
    with pytest.raises(BadName, match=f"fold is {fold}, and there are 3 folds"):
        one("cornac", method="CrossValidation", n_folds=3, fold=fold)


@pytest.mark.parametrize(("test", "valid", "sizes"), [
    (0.25, 3, (3, 3, 2)), (3, 0.2, (3, 2, 3)), (2, 3, (3, 3, 2)), (0.25, 0.2, (4, 2, 2)),
])  # fmt: skip
def test_cornacs_sizes_may_be_numbers_or_shares(
    test: float, valid: float, sizes: tuple[int, ...]
) -> None:
    words = {"method": "RatioSplit", "exclude_unknowns": False}
    split = one("cornac", test_size=test, val_size=valid, **words)
    assert split.validation is not None
    inner = split.validation
    parts = (inner.train, inner.truth, split.truth)
    assert tuple(part.frame.height for part in parts) == sizes


@pytest.mark.parametrize("chrono", [True, False])
def test_cornac_takes_numbers_of_rows_of_each_user_for_validation_too(chrono: bool) -> None:
    words = {"method": "StratifiedSplit", "chrono": chrono, "exclude_unknowns": False}
    split = one("cornac", test_size=1, val_size=1, **words)
    assert split.validation is not None
    assert sorted(split.truth.frame["user"]) == [1, 2, 3]
    assert sorted(split.validation.truth.frame["user"]) == [1, 2]


@pytest.mark.parametrize(
    ("framework", "words"),
    [
        ("elliot", {"strategy": "n_rounds_k_core", "core": 2}),
        ("daisyrec", {"name": "preprocess", "prepro": "abc"}),
        ("daisyrec", {"name": "preprocess", "prepro": "5core", "level": "x"}),
        ("recpack", {"filter": "MinItemsPerUser"}),
        ("recpack", {"filter": "MaxItemsPerUser", "count_duplicates": True}),
        ("recpack", {"filter": "NMostPopular"}),
    ],
)
def test_filters_that_a_framework_refuses_are_refused(
    framework: str, words: dict[str, Any]
) -> None:
    with pytest.raises(BadName):
        left(framework, **words)


def test_splits_without_the_number_of_rows_are_refused() -> None:
    with pytest.raises(BadName, match="was given no n"):
        one("recpack", splitter="MostRecentSplitter")


def test_elliots_negatives_from_files_are_not_drawn() -> None:
    split = one("elliot", strategy="temporal_hold_out", leave_n_out=1)
    assert candidates_of(split, "elliot", strategy="random", num_items=1).frame.height == 3
    with pytest.raises(BadName, match="strategy of elliot"):
        candidates_of(split, "elliot", strategy="fixed")


def test_recpacks_filters_take_their_own_names() -> None:
    assert left("recpack", filter="MinItemsPerUser", min_items_per_user=4) == [0, 1, 2, 3]
    assert left("recpack", filter="MinUsersPerItem", min_users_per_item=2) == [0, 1, 2, 4, 5, 6]
    assert left("recpack", filter="NMostRecent", N=2) == left("recpack", filter="NMostRecent", n=2)


def test_replays_days_are_counted_from_either_end() -> None:
    table = {**LOG, "timestamp": [DAY * day for day in (0, 1, 5, 9, 4, 4, 8, 9)]}

    def kept(**words: Any) -> list[int]:
        return prepare(pl.DataFrame(table), steps("replay", words)).frame["row"].to_list()

    assert kept(filter="GlobalDaysFilter", days=5) == [0, 1, 4, 5]
    assert kept(filter="GlobalDaysFilter", days=2, first=False) == [3, 6, 7]
    assert kept(filter="EntityDaysFilter", days=2) == [0, 1, 4, 5, 7]
    assert kept(filter="EntityDaysFilter", days=1, first=False) == [3, 6, 7]
    item = {"filter": "EntityDaysFilter", "days": 4, "entity_column": "item_id"}
    assert kept(**item) == [0, 1, 2, 3, 5, 6, 7]
    dates = {"start_date": "1970-01-05 00:00:00", "end_date": "1970-01-09 00:00:00"}
    assert kept(filter="TimePeriodFilter", **dates) == [2, 4, 5]
    assert kept(filter="TimePeriodFilter", start_date=None, end_date=dates["end_date"]) == [
        0, 1, 2, 4, 5,
    ]  # fmt: skip


def test_replay_leaves_one_of_items_that_follow_each_other() -> None:
    table = {**LOG, "item": [1, 1, 2, 1, 1, 1, 1, 1], "timestamp": [1, 2, 3, 4, 7, 6, 5, 8]}
    words = {"filter": "ConsecutiveDuplicatesFilter"}
    for keep, rows in (("first", [0, 2, 3, 6, 7]), ("last", [1, 2, 3, 4, 7])):
        recipe = steps("replay", {**words, "keep": keep})
        assert prepare(pl.DataFrame(table), recipe).frame["row"].to_list() == rows


def test_replay_settles_equal_times_by_item_if_it_is_named() -> None:
    words = {"filter": "NumInteractionsFilter", "num_interactions": 1, "item_column": "item_id"}
    assert left("replay", first=True, **words) == [0, 4, 7]
    assert left("replay", first=False, **words) == [3, 6, 7]


def test_names_of_columns_change_nothing() -> None:
    words = {"filter": "MinCountFilter", "num_entries": 4}
    assert left("replay", groupby_column="user_id", **words) == [0, 1, 2, 3]
    assert left("replay", by="user", query_column="user_id", **words) == [0, 1, 2, 3]
    counted = {"filter": "MinCountFilter", "num_entries": 2, "groupby_column": "item_id"}
    assert left("replay", **counted) == [0, 1, 2, 4, 5, 6]
    plan = resolve("replay", {"method": "LastNSplitter", "N": 1, "divide_column": "user_id"})
    named = {"query_column": "user_id", "timestamp_column": "timestamp"}
    words = {"method": "LastNSplitter", "N": 1, "divide_column": "user_id", **named}
    assert resolve("replay", words) == plan
    with pytest.raises(UnknownName, match="no parameter 'session_id_column'"):
        resolve("replay", {**words, "session_id_column": "session"})


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("users", "held", "sizes"), [
    (2, 2, {2}), (0.67, 0.5, {1, 2}), (1, 0.5, {1, 2}), (0.9, 1, {1}),
])  # fmt: skip
def test_replays_two_stages_hold_out_rows_of_some_users(
    users: float, held: float, sizes: set[int], shuffle: bool
) -> None:
    table = {**LOG, "user": [1, 1, 1, 1, 2, 2, 3, 3]}
    words = {"first_divide_size": users, "second_divide_size": held, "shuffle": shuffle}
    split = one("replay", table, method="TwoStageSplitter", **words)
    counts = split.truth.frame.group_by("user").len()
    assert counts.height == (users if isinstance(users, int) else int(users * 3))
    assert set(counts["len"]) <= sizes
    assert split.train.frame.height + split.truth.frame.height == 8
