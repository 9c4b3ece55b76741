"""Ranked lists as checks look at them, and the most popular items where there are none."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from rectitude.auditing.parts import CELL

PAIRS = 2_000_000
"""so many pairs of users and items are looked at, to find those that users have not had"""


def placed(lists: Any, order: str) -> pl.DataFrame:
    """Lists with the place of each item, from 1, and whether it stood further up (`again`), rows by
    list and place; what has no number is last."""
    if order == "score":
        key = pl.col("score").fill_nan(None)
        lists = lists.sort(
            "list", key, descending=[False, True], nulls_last=True, maintain_order=True
        )
    elif order == "rank":
        lists = lists.sort("list", "rank", nulls_last=True, maintain_order=True)
    frame: pl.DataFrame = lists.with_columns(
        place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("list"),
        again=~pl.col(CELL).is_first_distinct(),
    )
    return frame


def unrankable(order: str) -> pl.Expr:
    """Which rows have no finite number to be ranked by."""
    if order == "given":
        return pl.lit(False)
    return ~pl.col(order).cast(pl.Float64).is_finite().fill_null(False)


def cleaned(lists: pl.DataFrame, order: str) -> pl.DataFrame:
    """The rows that can be ranked."""
    return lists if order == "given" else lists.filter(~unrankable(order))


def once(truth: pl.DataFrame) -> pl.DataFrame:
    """The truth with each item once in a list, in its row of the highest grade."""
    if not truth[CELL].is_duplicated().any():
        return truth
    if "grade" in truth.columns:
        truth = truth.sort("grade", descending=True, nulls_last=True, maintain_order=True)
    return truth.unique(CELL, keep="first", maintain_order=True)


def popular_lists(
    train: pl.DataFrame, truth: pl.DataFrame, depth: int, seen: Literal["kept", "removed"]
) -> pl.DataFrame:
    """The items that occur most often in train, for every list of the truth; where users do not
    come back to items, those that they have not had.

    Where there are very many lists, only the first few popular items are gone through, and users
    who had most of them get shorter lists.
    """
    keys = [name for name in ("list", "user") if name in truth.columns]
    lists = truth.select(keys).unique("list")
    many = max(5 * depth, PAIRS // max(1, lists.height))
    popular = (
        train.group_by("item").len().sort("len", "item", descending=[True, False])
        .head(many).select("item").with_row_index("place", 1)
    )  # fmt: skip
    removed = seen == "removed" and "user" in keys
    lists = lists.join(popular.head(many if removed else depth), how="cross")
    if removed:
        had = train.join(popular, on="item", how="semi").select("user", "item")
        lists = lists.join(had, on=["user", "item"], how="anti")
    lists = lists.sort("list", "place")
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("list")
    ranked = lists.select(*keys, "item", rank.alias("rank"), (-rank).alias("score"))
    return ranked.filter(pl.col("rank") <= depth)


def sound_weights(weights: pl.DataFrame) -> pl.DataFrame:
    """The lists that have one weight, finite and not below zero: others are refused."""
    weight = pl.col("weight")
    sound = weight.is_finite() & (weight >= 0) & (pl.len().over("list") == 1)
    return weights.filter(sound.fill_null(False)).select("list", "weight")
