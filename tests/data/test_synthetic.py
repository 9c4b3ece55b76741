"""Synthetic purchases have the structure of a real shop, and equal seeds give equal purchases."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rectitude.data.log import open_log
from rectitude.data.synthetic import (
    CATEGORIES,
    GROUPS,
    Habits,
    purchase_chunks,
    purchases,
    shop,
    write_purchases,
)
from rectitude.errors import BadArgument, UnwritableFile

ROWS = 60_000


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return purchases(ROWS, seed=3)


def test_equal_seeds_give_equal_purchases_and_leave_numpy_alone(log: pl.DataFrame) -> None:
    before = np.random.get_state()[1].tolist()
    assert purchases(ROWS, seed=3).equals(log)
    assert not purchases(ROWS, seed=4).equals(log)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("rows", [1, 10, 10_000])
def test_the_number_of_rows_is_as_requested(rows: int) -> None:
    assert purchases(rows).height == rows


@pytest.mark.parametrize("rows", [0, -1, 1.5, "x", None, True])
def test_invalid_numbers_of_rows_are_refused(rows: Any, tmp_path: Path) -> None:
    message = rf"rows is {rows!r}\.\s+expected a whole number of at least 1\."
    for make in (purchases, purchase_chunks, partial(write_purchases, tmp_path / "p.parquet")):
        with pytest.raises(BadArgument, match=message):
            make(rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [-1, 1.5, "x", None, True])
def test_seeds_that_are_not_whole_numbers_are_refused(seed: Any, tmp_path: Path) -> None:
    makers = (purchases, purchase_chunks, partial(write_purchases, tmp_path / "p.parquet"))
    for make in (*(partial(maker, 10) for maker in makers), shop):
        with pytest.raises(BadArgument, match=rf"seed is {seed!r}\.\s.*whole number of at least 0"):
            make(seed=seed)
    assert list(tmp_path.iterdir()) == []


def test_numpy_numbers_are_accepted() -> None:
    assert purchases(np.int64(10), np.uint8(3)).equals(purchases(10, 3))
    assert Habits(repeats=np.float32(0.5)).repeats == 0.5


@pytest.mark.parametrize("sizes", [{"users": 0}, {"items": 1.5}, {"users": "x"}])
def test_a_shop_without_users_or_items_is_refused(sizes: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match="whole number of at least 1"):
        shop(**sizes)


@pytest.mark.parametrize("name", ["late_items", "retired_items", "loyalty", "repeats"])
@pytest.mark.parametrize("share", [2, 5.0, -0.1, float("nan"), "x", None, True])
def test_habits_that_are_shares_lie_between_0_and_1(name: str, share: Any) -> None:
    with pytest.raises(BadArgument, match=rf"{name} is {share!r}\.\s.*a number from 0 to 1\."):
        Habits(**{name: share})


@pytest.mark.parametrize("name", ["skew", "drift"])
@pytest.mark.parametrize("spread", [-1, 51, float("nan"), float("inf"), "x"])
def test_spreads_are_neither_negative_nor_too_large_for_floats(name: str, spread: Any) -> None:
    with pytest.raises(BadArgument, match=rf"{name} is {spread!r}\.\s.*a number from 0 to 50\."):
        Habits(**{name: spread})


@pytest.mark.parametrize(
    "habit", [{"days": 0}, {"days": 1.5}, {"start": "soon"}, {"start": 20211201}]
)
def test_start_must_be_a_date_and_days_positive(habit: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match=f"{next(iter(habit))} is "):
        Habits(**habit)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "habits",
    [
        {"late_items": 1.0, "retired_items": 1.0},
        {"skew": 50.0, "drift": 50.0},
        {"repeats": 1.0, "loyalty": 1.0, "days": 1},
        {"skew": 0, "drift": 0, "late_items": 0, "retired_items": 0, "loyalty": 0, "repeats": 0},
    ],
)
def test_the_bounds_of_every_range_are_valid(habits: dict[str, Any]) -> None:
    for seed in range(40):
        assert purchases(30, seed, Habits(**habits)).height == 30


def test_purchases_are_a_log_in_the_order_of_time(log: pl.DataFrame) -> None:
    assert log["timestamp"].is_sorted()
    opened = open_log(log.select("user", "item", "timestamp"))
    assert opened.size == (ROWS, log["user"].n_unique(), log["item"].n_unique())
    assert log.null_count().sum_horizontal().item() == 0
    assert set(log["category"]) == set(CATEGORIES)
    assert set(log["group"]) == set(GROUPS)
    assert log["quantity"].min() >= 1
    assert log["price"].min() > 0


def test_an_item_has_one_category_and_price_and_a_user_one_group(log: pl.DataFrame) -> None:
    items = log.group_by("item").agg(pl.col("category", "price").n_unique())
    assert items.select(pl.col("category", "price").max()).row(0) == (1, 1)
    assert log.group_by("user").agg(pl.col("group").n_unique())["group"].max() == 1


def test_trade_customers_buy_more_often_and_more_at_a_time(log: pl.DataFrame) -> None:
    by = log.group_by("group").agg(
        quantity=pl.col("quantity").median(), rows=pl.len() / pl.col("user").n_unique()
    )
    trade, private = (by.filter(group=name).row(0, named=True) for name in ("trade", "private"))
    assert trade["quantity"] > private["quantity"]
    assert trade["rows"] > private["rows"]


def halves(log: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    cut = log["timestamp"][9 * log.height // 10]
    return log.filter(pl.col("timestamp") < cut), log.filter(pl.col("timestamp") >= cut)


def test_late_customers_and_items_are_missing_in_the_first_half(log: pl.DataFrame) -> None:
    early, late = halves(log)
    for column in ("user", "item"):
        unknown = set(late[column]) - set(early[column])
        assert 0 < len(unknown) < 0.5 * late[column].n_unique()


def repeat_share(log: pl.DataFrame) -> float:
    return 1 - log.select("user", "item").n_unique() / log.height


def top_share(log: pl.DataFrame) -> float:
    sold = log["item"].value_counts(sort=True)["count"]
    return sold.head(len(sold) // 10).sum() / log.height


def drift(log: pl.DataFrame) -> float:
    half = log.height // 2
    parts = [log[:half], log[half:]]
    first, second = (part.group_by("item").len() for part in parts)
    both = first.join(second, on="item", how="full", coalesce=True).fill_null(0)
    return float(both.select(pl.corr("len", "len_right", method="spearman")).item())


def favourites(log: pl.DataFrame) -> float:
    """Return the share of the three largest categories, over customers with enough purchases."""
    large = log.filter(pl.len().over("user") >= 30)
    sizes = large.group_by("user", "category").len().sort("len", descending=True)
    top = sizes.group_by("user").agg(top=pl.col("len").head(3).sum(), all=pl.col("len").sum())
    return top["top"].sum() / top["all"].sum()


@pytest.mark.parametrize(
    ("measure", "weaker"),
    [
        (repeat_share, {"repeats": 0.0}),
        (top_share, {"skew": 0.2}),
        (favourites, {"loyalty": 0.0}),
    ],
)
def test_each_habit_has_an_effect(measure, weaker, log: pl.DataFrame) -> None:  # type: ignore[no-untyped-def]
    assert measure(log) > 1.15 * measure(purchases(ROWS, 3, replace(Habits(), **weaker)))


def test_without_drift_halves_of_the_year_are_alike(log: pl.DataFrame) -> None:
    steady = purchases(
        ROWS, 3, Habits(drift=0.0, late_items=0.0, retired_items=0.0, repeats=0.0)
    )  # fmt: skip
    assert drift(steady) > drift(log) + 0.1


def test_chunks_are_whole_customers_and_form_the_table(log: pl.DataFrame) -> None:
    chunks = list(purchase_chunks(1_000_000, 3))
    assert len(chunks) > 1
    users = [set(chunk["user"].unique()) for chunk in chunks]
    assert all(not first & second for first, second in pairwise(users))
    whole = pl.concat(purchase_chunks(ROWS, 3)).sort("timestamp", "user", "item", "quantity")
    assert whole.equals(log)


def test_a_written_file_holds_the_same_rows(log: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "purchases.parquet"
    write_purchases(path, ROWS, seed=3)
    read = pl.read_parquet(path)
    assert read.sort("timestamp", "user", "item", "quantity").equals(log)
    with pytest.raises(UnwritableFile, match="cannot be written"):
        write_purchases(tmp_path / "none" / "p.parquet", 10)
    assert [found.name for found in tmp_path.iterdir()] == ["purchases.parquet"]


def quartiles(values: pl.Series) -> list[float]:
    return [float(values.quantile(q)) for q in (0.25, 0.5, 0.75)]


def test_statistics_follow_those_of_a_real_shop(real_data: Path) -> None:
    path = real_data / "online-retail-ii" / "interactions.parquet"
    if not path.exists():
        pytest.skip("the folder of public data sets has no online-retail-ii")
    real = pl.read_parquet(path).rename({"ts": "timestamp"}).sort("timestamp")
    synthetic = purchases(real.height)
    sizes = [(len(set(t["user"])), len(set(t["item"]))) for t in (real, synthetic)]
    np.testing.assert_allclose(sizes[1], sizes[0], rtol=0.1)
    for measure in (repeat_share, top_share, drift):
        assert measure(synthetic) == pytest.approx(measure(real), rel=0.12)
    for keys in (["user"], ["item"], ["user", "timestamp"]):
        expected, actual = (quartiles(t.group_by(keys).len()["len"]) for t in (real, synthetic))
        np.testing.assert_allclose(actual, expected, rtol=0.5)
    for column in ("price", "quantity"):
        np.testing.assert_allclose(quartiles(synthetic[column]), quartiles(real[column]), rtol=0.2)
