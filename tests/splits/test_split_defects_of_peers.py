"""What goes wrong with splits in other frameworks, and does not here: a test for each."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import rectitude as rt
from rectitude.splits.split import Split
from rectitude.splits.unknown import slices

DAY = 86_400


def history(lengths: dict[str, int], step: int = 1) -> pl.DataFrame:
    """Users with so many rows each; their rows are interleaved in time."""
    rows = [
        (user, nth, nth * step + at)
        for at, (user, n) in enumerate(lengths.items())
        for nth in range(n)
    ]
    table = pl.DataFrame(rows, ["user", "item", "timestamp"], orient="row")
    return table.sort("timestamp", "user")


def one(table: object, *how: str, **options: Any) -> Split:
    found = rt.split(table, *how, **options)
    assert isinstance(found, Split)
    return found


def counts(part: Any) -> dict[str, int]:
    return dict(part.frame.group_by("user").len().rows())


def test_a_users_share_by_time_takes_no_rows_of_other_users() -> None:
    # DaisyRec's utfo takes ranges of row numbers of a table that is sorted by time.
    split = one(
        history({"a": 10, "b": 5, "c": 20}), protocol="daisyrec", method="utfo", test_size=0.2
    )
    assert counts(split.truth) == {"a": 2, "b": 1, "c": 4}
    assert split.truth.frame["row"].n_unique() == split.truth.frame.height


def test_a_users_random_share_can_be_used() -> None:
    # DaisyRec's ufo gives arrays of objects, which cannot index a table.
    split = one(history({"a": 10, "b": 5}), protocol="daisyrec", method="ufo", test_size=0.2)
    assert counts(split.truth) == {"a": 2, "b": 1}


def test_cross_validation_runs_and_is_random() -> None:
    # DaisyRec's cv raises; Elliot's random_cross_validation goes round-robin in the file.
    table = history({"a": 50})
    folds = [rt.split(table, "k_fold", folds=5, seed=seed) for seed in (1, 2)]
    first, other = (set(fold[0].truth.frame["row"]) for fold in folds)  # type: ignore[index]
    assert first != other
    assert first != set(range(0, 50, 5))


def test_random_leave_n_out_takes_users_with_fewer_rows() -> None:
    # Elliot raises ValueError for a user with fewer than n rows.
    split = one(history({"a": 10, "b": 2}), "leave_random", n=3)
    assert counts(split.truth) == {"a": 3, "b": 1}
    assert split.ledger["short_groups"] == 1


def test_no_row_before_the_boundary_is_in_the_truth_of_a_shuffled_file() -> None:
    # RecBole's TS masks unsorted rows with a sorted copy.
    table = history({"a": 20, "b": 20}).sample(fraction=1, shuffle=True, seed=1)
    split = one(table, "time_ratio", ratio=0.2)
    assert max(split.train.frame["timestamp"]) < min(split.truth.frame["timestamp"])


def test_a_share_that_rounds_to_nothing_is_nothing() -> None:
    # LensKit's LastFrac takes the whole profile: items[-0:].
    split = one(history({"a": 10, "b": 2}), "last_ratio", ratio=0.2)
    assert counts(split.truth) == {"a": 2}


def test_a_moment_may_be_text_where_timestamps_are_numbers() -> None:
    # LensKit: split_global_time(end=str) raises TypeError with numeric timestamps.
    table = history({"a": 10}, step=DAY)
    split = one(table, "at_time", t="1970-01-05", end="1970-01-07")
    assert split.truth.frame["item"].to_list() == [4, 5]


def test_a_moment_may_be_a_number_where_timestamps_are_dates() -> None:
    # LensKit 2026: split_global_time(int) compares times with and without a zone.
    table = history({"a": 10}, step=DAY)
    dates = table.with_columns(pl.from_epoch("timestamp"))
    for times in (dates, dates.with_columns(pl.col("timestamp").dt.replace_time_zone("UTC"))):
        assert one(times, "at_time", t=8 * DAY).truth.frame["item"].to_list() == [8, 9]


@pytest.mark.parametrize("how", ["leave_last", "leave_random", "random_ratio", "last_ratio"])
def test_the_container_makes_no_difference(how: str) -> None:
    # RePlay's pandas and Polars code hold out other rows for the same seed and the same n.
    table = history({"a": 10, "b": 3, "c": 1})
    options = {"n": 5} if how.startswith("leave") else {"ratio": 0.3}
    prints = [
        one(kind, how, **options).fingerprint
        for kind in (table, table.to_pandas(), table.to_dict())
    ]
    assert len(set(prints)) == 1


def test_users_with_fewer_than_n_rows_are_where_the_choice_says() -> None:
    # RePlay on Polars subtracts n from an unsigned count.
    table = history({"a": 10, "b": 2})
    held = {
        short: counts(one(table, "leave_last", n=3, keep=0, short=short).truth)
        for short in ("all", "none")
    }
    assert held == {"all": {"a": 3, "b": 2}, "none": {"a": 3}}


def test_a_test_fold_is_no_validation_data() -> None:
    # Cornac's CrossValidation hands the test fold to fit as validation.
    folds = rt.split(history({"a": 20}), "k_fold", validation={"how": "random_ratio"})
    assert isinstance(folds, list)
    for fold in folds:
        assert fold.validation is not None
        assert not set(fold.validation.truth.frame["row"]) & set(fold.truth.frame["row"])


def test_a_user_with_one_row_is_split_without_error() -> None:
    # Cornac's StratifiedSplit raises ValueError.
    table = history({"a": 10, "b": 1}).with_columns(pl.col("item") % 3)
    split = one(table, protocol="cornac", method="StratifiedSplit", chrono=True)
    assert counts(split.truth) == {"a": 2}
    assert split.ledger["rows_of_unknown_users"] == 1


def test_a_share_of_time_cuts_through_no_moment() -> None:
    # DaisyRec's tsbr and RePlay on Polars count positions.
    table = history({"a": 10}).with_columns(timestamp=pl.Series([1, 2, 3, 4, 5, 6, 7, 7, 7, 7]))
    split = one(table, "time_ratio", ratio=0.2)
    assert not set(split.train.frame["timestamp"]) & set(split.truth.frame["timestamp"])


@pytest.mark.parametrize("how", ["leave_last", "leave_random", "random_ratio", "k_fold"])
def test_equal_rows_of_time_do_not_follow_the_file(how: str) -> None:
    # DaisyRec and Elliot hold out the first of equal timestamps in the file, RecTools the last.
    table = history({"a": 8, "b": 8}).with_columns(timestamp=pl.lit(1, dtype=pl.Int64))
    turned = rt.split(table.reverse(), how)
    found = rt.split(table, how)
    both = [one if isinstance(one, list) else [one] for one in (found, turned)]
    assert [split.fingerprint for split in both[0]] == [split.fingerprint for split in both[1]]


def test_repeated_pairs_on_both_sides_are_counted_and_can_be_dropped() -> None:
    # RecPack keeps repeated pairs as separate interactions, in both halves.
    table = pl.DataFrame(
        {"user": ["a", "a", "b", "b"], "item": [1, 1, 1, 2], "timestamp": [1, 2, 1, 2]}
    )
    kept = one(table, "leave_last", unknown={"seen": "keep"})
    assert kept.ledger["rows_of_seen_pairs"] == 1
    assert counts(one(table, "leave_last", unknown={"seen": "drop"}).truth) == {"b": 1}


def test_unknown_users_are_told_apart_and_not_made_known_by_asking() -> None:
    # DaisyRec's lookup of an unknown user inserts him among the users of train.
    split = one(history({"a": 10, "b": 1}).with_columns(timestamp=pl.int_range(11)), "at_time", t=8)
    before = split.train.frame.height
    first, again = slices(split), slices(split)
    assert first.equals(again)
    assert split.train.frame.height == before


def test_what_the_policy_drops_is_counted() -> None:
    # RecTools drops unknown users, unknown items and seen pairs without a count.
    table = history({"a": 4, "b": 4}, step=3600).with_columns(pl.col("item") % 3)
    found = rt.split(
        table, protocol="rectools", method="TimeRangeSplitter", test_size="1H",
        filter_already_seen=False,
    )  # fmt: skip
    (split,) = found if isinstance(found, list) else [found]
    assert (split.ledger["rows_of_unknown_items"], split.ledger["rows_of_seen_pairs"]) == (0, 2)
