"""Parameters, values and tables of other frameworks that golden cases do not contain."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.errors import BadArgument, BadSetting, NothingToEvaluate, UnknownName
from rectitude.preparing import prepare
from rectitude.splits.protocols import CONVERTERS, resolve, steps
from rectitude.splits.split import Split

LOG = {
    "user": [1, 1, 1, 1, 2, 2, 2, 3], "item": [1, 2, 3, 4, 1, 2, 3, 9],
    "rating": [1, 2, 3, 4, 5, 2, 4, 5], "timestamp": [5, 5, 7, 7, 1, 2, 3, 4],
}  # fmt: skip
DAY = 86_400


def kept_rows(framework: str, **words: Any) -> list[int]:
    """Return the rows that a framework's filter keeps."""
    return prepare(pl.DataFrame(LOG), steps(framework, words)).frame["row"].to_list()


def single(framework: str, table: object = LOG, **words: Any) -> Split:
    split = rt.split(table, protocol=framework, **words)
    assert isinstance(split, Split)
    return split


def test_recbole_divides_shares_by_their_sum() -> None:
    first, second, third = CONVERTERS["ratios"]("TS_721")
    assert sum([0.7, 0.2, 0.1]) < 1  # in floats
    assert (first, second, third) == (0.7 / 0.9999999999999999, 0.2 / 0.9999999999999999,
                                      0.1 / 0.9999999999999999)  # fmt: skip
    assert CONVERTERS["first_of_rest"]([first, second, third]) == first / (1 - third)


@pytest.mark.parametrize("order", ["TO", "RO"])
@pytest.mark.parametrize("method", ["TS_802", "RS_802_user", "RS_80_0_20_none"])
def test_second_share_of_recbole_may_be_zero(method: str, order: str) -> None:
    split = single("recbole", method=method, order=order)
    assert split.validation is None
    assert split.train.frame.height + split.truth.frame.height == 8


def test_recbole_combines_intervals_of_ratings_and_times() -> None:
    assert kept_rows("recbole", val_interval={"timestamp": "[2,5]"}) == [0, 1, 5, 6, 7]
    both = {"rating": "[2,4]", "timestamp": "[2,5);(5,9]"}
    assert kept_rows("recbole", val_interval=both) == [2, 3, 5, 6]


def test_none_means_that_a_parameter_is_not_given() -> None:
    interval = {"user_inter_num_interval": "[4,inf)", "item_inter_num_interval": None}
    assert kept_rows("recbole", **interval, val_interval=None, rm_dup_inter=None) == [0, 1, 2, 3]
    words = {"method": "RatioSplit", "test_size": 0.25, "exclude_unknowns": False}
    assert resolve("cornac", {**words, "val_size": None}) == resolve("cornac", words)
    timed = {"scenario": "Timed", "t": 5, "validation": False}
    for time in (None, 3):  # it is ignored
        words = {**timed, "t_validation": time}
        assert resolve("recpack", words) == resolve("recpack", timed)


def windows(**words: Any) -> list[Split]:
    times = [0, 1, 2, 3, 7, 7, 8, 9]
    table = {**LOG, "timestamp": [DAY * day for day in times]}
    splits = rt.split(table, protocol="rectools", method="TimeRangeSplitter", **words)
    assert isinstance(splits, list)
    return splits


KEEP = {"filter_cold_users": False, "filter_cold_items": False, "filter_already_seen": False}


def test_empty_windows_of_rectools_do_not_renumber_the_others() -> None:
    series = windows(test_size="2D", n_splits=4, **KEEP)  # days 2-3, 4-5, 6-7, 8-9
    assert [split.name for split in series] == ["window-1", "window-3", "window-4"]


def test_window_that_is_empty_after_filters_is_left_out_and_reported() -> None:
    series = windows(test_size="2D", n_splits=4, filter_cold_items=False, filter_already_seen=False)
    assert [split.name for split in series] == ["window-1", "window-4"]
    assert series[0].ledger["empty_splits"] == 1
    with pytest.raises(NothingToEvaluate, match="no truth row is left"):
        windows(test_size="1D")  # the only user of day 9 has no training data


def test_windows_of_rectools_may_begin_before_the_data() -> None:
    series = windows(test_size="4D", n_splits=4, **KEEP)
    assert [split.name for split in series] == ["window-3", "window-4"]
    assert series[0].ledger["empty_splits"] == 1
    with pytest.raises(BadArgument, match="the start of a window"):
        rt.split(LOG, "windows", span=4, folds=4)


def series(framework: str, **words: Any) -> list[Split]:
    splits = rt.split(LOG, protocol=framework, **words)
    assert isinstance(splits, list)
    return splits


HOLDOUT = {"method": "LastN", "n": 1}


def test_repeated_user_samples_of_lenskit_do_not_overlap() -> None:
    words = {"method": "sample_users", "holdout": HOLDOUT}
    users = [
        set(split.truth.frame["user"]) for split in series("lenskit", size=1, repeats=2, **words)
    ]
    assert [len(sample) for sample in users] == [1, 1]
    assert not users[0] & users[1]
    exhaustive = series("lenskit", size=2, repeats=2, **words)  # users do not suffice: all are used
    assert sorted(split.truth.frame.height for split in exhaustive) == [1, 2]
    assert single("lenskit", size=2, repeats=1, **words).truth.frame.height == 2


def test_lenskit_leaves_out_training_data_if_only_the_test_part_is_wanted() -> None:
    words = {"method": "sample_users", "holdout": HOLDOUT, "size": 1, "test_only": True}
    for split in series("lenskit", repeats=2, **words):
        assert (split.train.frame.height, split.truth.frame.height) == (0, 1)
        assert split.ledger["train_rows_left_out"] == 7
    alone = single("lenskit", **words)  # without repeats, the framework ignores it
    assert alone.train.frame.height == 7
    for split in series("lenskit", repeats=3, **words):  # all users: folds, which keep it
        assert (split.train.frame.height, split.truth.frame.height) == (7, 1)
    for split in series("lenskit", repeats=3, disjoint=False, **words):
        assert split.train.frame.height == 0
    rows = {"method": "sample_records", "size": 4, "disjoint": True, "test_only": True}
    assert [split.train.frame.height for split in series("lenskit", repeats=2, **rows)] == [4, 4]
    with pytest.raises(UnknownName, match="no parameter 'test_only'"):
        rt.split(LOG, protocol="lenskit", method="split_global_time", time=4, test_only=True)


@pytest.mark.parametrize("order", ["TO", "RO"])
@pytest.mark.parametrize("method", ["TS_730", "RS_730_user", "RS_70_30_0_none"])
def test_without_a_test_share_recbole_evaluates_the_validation_rows(
    method: str, order: str
) -> None:
    split = single("recbole", method=method, order=order)
    assert split.validation is None
    assert split.truth.frame.height > 0
    assert split.train.frame.height + split.truth.frame.height == 8


def test_sequential_models_of_recbole_need_the_order_of_time() -> None:
    for method in ("RS_811_user", "TS_811", "LS_test_only"):
        with pytest.raises(BadArgument, match="order is 'RO'"):
            rt.split(LOG, protocol="recbole", method=method, order="RO", model_type="sequential")


def test_recommenders_takes_two_or_three_shares() -> None:
    words = {"method": "python_chrono_split", "ratio": [2.0, 1.0, 1.0]}
    assert single("recommenders", **words).validation is not None
    with pytest.raises(BadArgument, match="two or three shares"):
        rt.split(LOG, protocol="recommenders", **{**words, "ratio": [0.4, 0.3, 0.2, 0.1]})


def test_recommenders_filters_users_with_few_rows_before_the_split() -> None:
    split = single("recommenders", method="python_chrono_split", ratio=0.5, min_rating=4)
    assert {*split.train.frame["user"], *split.truth.frame["user"]} == {1}


def test_lenskit_samples_records_with_and_without_overlap() -> None:
    words = {"method": "sample_records", "size": 3, "repeats": 2}
    rows = [set(split.truth.frame["row"]) for split in series("lenskit", **words)]
    assert [len(sample) for sample in rows] == [3, 3]
    assert not rows[0] & rows[1]
    overlapping = series("lenskit", **{**words, "repeats": 3}, disjoint=False)
    assert [split.truth.frame.height for split in overlapping] == [3, 3, 3]
    disjoint = series("lenskit", **{**words, "repeats": 3}, disjoint=True)
    assert sorted(split.truth.frame.height for split in disjoint) == [2, 3, 3]


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
def test_parameters_that_lenskit_refuses_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(BadArgument):
        rt.split(LOG, protocol="lenskit", **words)


def test_cornac_assigns_remaining_rows_to_random_folds() -> None:
    words = {"method": "CrossValidation", "n_folds": 3, "exclude_unknowns": False, "seed": 1}
    sizes = [split.truth.frame.height for split in series("cornac", **words)]
    assert sizes == [2, 4, 2]  # like Cornac's CrossValidation on eight rows
    assert single("cornac", fold=1, **words).truth.frame.height == 4


@pytest.mark.parametrize("fold", [3, -1])
def test_fold_that_does_not_exist_is_refused(fold: int) -> None:
    with pytest.raises(BadArgument, match=f"fold is {fold}, but there are 3 folds"):
        single("cornac", method="CrossValidation", n_folds=3, fold=fold)


@pytest.mark.parametrize(("test", "valid", "sizes"), [
    (0.25, 3, (3, 3, 2)), (3, 0.2, (3, 2, 3)), (2, 3, (3, 3, 2)), (0.25, 0.2, (4, 2, 2)),
])  # fmt: skip
def test_sizes_of_cornac_may_be_numbers_or_shares(
    test: float, valid: float, sizes: tuple[int, ...]
) -> None:
    words = {"method": "RatioSplit", "exclude_unknowns": False}
    split = single("cornac", test_size=test, val_size=valid, **words)
    assert split.validation is not None
    inner = split.validation
    parts = (inner.train, inner.truth, split.truth)
    assert tuple(part.frame.height for part in parts) == sizes


@pytest.mark.parametrize("chrono", [True, False])
def test_cornac_accepts_numbers_of_rows_per_user_for_validation_too(chrono: bool) -> None:
    words = {"method": "StratifiedSplit", "chrono": chrono, "exclude_unknowns": False}
    split = single("cornac", test_size=1, val_size=1, **words)
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
    with pytest.raises((BadArgument, BadSetting)):
        kept_rows(framework, **words)


def test_split_without_the_number_of_rows_is_refused() -> None:
    with pytest.raises(BadArgument, match="has no value for n"):
        single("recpack", splitter="MostRecentSplitter")


def test_negatives_of_elliot_from_files_are_refused() -> None:
    split = single("elliot", strategy="temporal_hold_out", leave_n_out=1)
    assert make_candidates(split, "elliot", strategy="random", num_items=1).frame.height == 3
    with pytest.raises(BadArgument, match="strategy of elliot"):
        make_candidates(split, "elliot", strategy="fixed")


def test_filters_of_recpack_accept_the_parameter_names_of_recpack() -> None:
    assert kept_rows("recpack", filter="MinItemsPerUser", min_items_per_user=4) == [0, 1, 2, 3]
    assert kept_rows("recpack", filter="MinUsersPerItem", min_users_per_item=2) == [
        0,
        1,
        2,
        4,
        5,
        6,
    ]
    assert kept_rows("recpack", filter="NMostRecent", N=2) == kept_rows(
        "recpack", filter="NMostRecent", n=2
    )


def test_days_of_replay_are_counted_from_either_end() -> None:
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


def test_replay_keeps_one_of_consecutive_equal_items() -> None:
    table = {**LOG, "item": [1, 1, 2, 1, 1, 1, 1, 1], "timestamp": [1, 2, 3, 4, 7, 6, 5, 8]}
    words = {"filter": "ConsecutiveDuplicatesFilter"}
    for keep, rows in (("first", [0, 2, 3, 6, 7]), ("last", [1, 2, 3, 4, 7])):
        recipe = steps("replay", {**words, "keep": keep})
        assert prepare(pl.DataFrame(table), recipe).frame["row"].to_list() == rows


def test_replay_sorts_equal_times_by_item_if_the_column_is_given() -> None:
    words = {"filter": "NumInteractionsFilter", "num_interactions": 1, "item_column": "item_id"}
    assert kept_rows("replay", first=True, **words) == [0, 4, 7]
    assert kept_rows("replay", first=False, **words) == [3, 6, 7]


def test_column_names_change_nothing() -> None:
    words = {"filter": "MinCountFilter", "num_entries": 4}
    assert kept_rows("replay", groupby_column="user_id", **words) == [0, 1, 2, 3]
    assert kept_rows("replay", by="user", query_column="user_id", **words) == [0, 1, 2, 3]
    counted = {"filter": "MinCountFilter", "num_entries": 2, "groupby_column": "item_id"}
    assert kept_rows("replay", **counted) == [0, 1, 2, 4, 5, 6]
    plan = resolve("replay", {"method": "LastNSplitter", "N": 1, "divide_column": "user_id"})
    named = {"query_column": "user_id", "timestamp_column": "timestamp"}
    words = {"method": "LastNSplitter", "N": 1, "divide_column": "user_id", **named}
    assert resolve("replay", words) == plan
    with pytest.raises(UnknownName, match="no parameter 'session_id_column'"):
        resolve("replay", {**words, "session_id_column": "session"})


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("users", "held_out", "sizes"), [
    (2, 2, {2}), (0.67, 0.5, {1, 2}), (1, 0.5, {1, 2}), (0.9, 1, {1}),
])  # fmt: skip
def test_two_stages_of_replay_hold_out_rows_of_some_users(
    users: float, held_out: float, sizes: set[int], shuffle: bool
) -> None:
    table = {**LOG, "user": [1, 1, 1, 1, 2, 2, 3, 3]}
    words = {"first_divide_size": users, "second_divide_size": held_out, "shuffle": shuffle}
    split = single("replay", table, method="TwoStageSplitter", **words)
    counts = split.truth.frame.group_by("user").len()
    assert counts.height == (users if isinstance(users, int) else int(users * 3))
    assert set(counts["len"]) <= sizes
    assert split.train.frame.height + split.truth.frame.height == 8


def test_two_stages_of_replay_never_take_all_users() -> None:
    words = {"method": "TwoStageSplitter", "second_divide_size": 1}
    table = {**LOG, "user": [1, 1, 1, 1, 2, 2, 3, 3]}
    with pytest.raises(BadArgument, match="there are 3 users") as refused:
        single("replay", table, first_divide_size=3, **words)
    assert "at most 2" in str(refused.value)
    with pytest.raises(BadArgument):
        single("replay", table, first_divide_size=1.0, **words)


def test_folds_of_replay_have_one_strategy() -> None:
    assert resolve("replay", {"method": "KFolds", "n_folds": 2, "strategy": "query"})
    with pytest.raises(BadArgument, match="strategy is 'item'"):
        resolve("replay", {"method": "KFolds", "n_folds": 2, "strategy": "item"})


@pytest.mark.parametrize(
    ("spelled", "method"),
    [
        ({"RS": [0.8, 0.2, 0.0]}, "RS_820_user"),
        ({"RS": [0.8, 0.2, 0.0], "group_by": "user"}, "RS_820_user"),
        ({"RS": [7, 0, 3], "group_by": "none"}, "RS_703_none"),
        ({"split": {"RS": [0.6, 0.2, 0.2]}, "group_by": "None", "mode": "full"}, "RS_622_none"),
        ({"LS": "valid_only", "group_by": "user"}, "LS_valid_only"),
        ({"split": {"TS": [0.5, 0.5, 0]}}, "TS_550"),
    ],
)
@pytest.mark.parametrize("order", ["TO", "RO"])
def test_recbole_is_spelled_as_in_its_configuration(
    spelled: dict[str, Any], method: str, order: str
) -> None:
    assert single("recbole", **spelled, order=order) == single(
        "recbole", method=method, order=order
    )


def test_shares_of_recbole_that_are_spelled_out_are_divided_by_their_sum_once() -> None:
    assert CONVERTERS["ratios"]("TS_0.7_0.2_0.1")[0] == 0.7 / 0.9999999999999999
    assert CONVERTERS["ratios"]("RS_8.0_1.0_1.0_user") == [0.8, 0.1, 0.1]


@pytest.mark.parametrize(
    ("spelled", "found"),
    [
        ({"RS": [0.8, 0.2]}, r"RS is \[0.8, 0.2\]"),
        ({"RS": [0.8, True, 0.1]}, "three shares"),
        ({"TS": "8:1:1"}, "three shares"),
        ({"RS": [1, 0, 0]}, "above 0 for train"),
        ({"LS": "both"}, "valid_and_test"),
        ({"split": {"RS": [0.8, 0.1, 0.1], "LS": "test_only"}}, "one of RS, TS, LS"),
        ({"RS": [0.8, 0.1, 0.1], "LS": "test_only"}, "RS and LS were given together"),
        ({"RS": [0.8, 0.1, 0.1], "method": "RS_811_user"}, "RS and method were given together"),
        ({"RS": [0.8, 0.1, 0.1], "group_by": "item"}, "group_by is 'item'"),
        ({"RS": [0.8, 0.1, 0.1], "mode": "uni100"}, "rt.candidates"),
    ],
)
def test_settings_that_recbole_would_not_take_are_refused(
    spelled: dict[str, Any], found: str
) -> None:
    with pytest.raises(BadArgument, match=found):
        rt.split(LOG, protocol="recbole", **spelled)
