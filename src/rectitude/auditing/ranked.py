"""Ranked lists for checks, and lists of the most popular items if there are no predictions."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from rectitude.auditing.parts import CELL

PAIRS = 2_000_000
"""At most about this many (user, item) pairs are examined to find unseen popular items."""


def place_items(lists: Any, order: str) -> pl.DataFrame:
    """Add the rank of each item (`place`, from 1), and whether the item is a repeat (`is_repeat`).

    Rows are sorted by list and rank; rows without a valid number come last.
    """
    if order == "score":
        key = pl.col("score").fill_nan(None)
        lists = lists.sort(
            "list", key, descending=[False, True], nulls_last=True, maintain_order=True
        )
    elif order == "rank":
        lists = lists.sort("list", "rank", nulls_last=True, maintain_order=True)
    frame: pl.DataFrame = lists.with_columns(
        place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("list"),
        is_repeat=~pl.col(CELL).is_first_distinct(),
    )
    return frame


def unrankable(order: str) -> pl.Expr:
    """Return which rows have no finite score or rank."""
    if order == "given":
        return pl.lit(False)
    return ~pl.col(order).cast(pl.Float64).is_finite().fill_null(False)


def clean_lists(lists: pl.DataFrame, order: str) -> pl.DataFrame:
    """Return the rows that can be ranked."""
    return lists if order == "given" else lists.filter(~unrankable(order))


def once(truth: pl.DataFrame) -> pl.DataFrame:
    """Keep each item once per list: its row with the highest grade."""
    if not truth[CELL].is_duplicated().any():
        return truth
    if "grade" in truth.columns:
        truth = truth.sort("grade", descending=True, nulls_last=True, maintain_order=True)
    return truth.unique(CELL, keep="first", maintain_order=True)


def popular_lists(
    train: pl.DataFrame, truth: pl.DataFrame, depth: int, seen: Literal["kept", "removed"]
) -> pl.DataFrame:
    """Recommend the most frequent items of train for every list of the truth.

    With `seen="removed"`, items that the user has in train are left out. If there are very many
    lists, only the most popular items are considered, so users who have seen most of them get
    shorter lists.
    """
    keys = [name for name in ("list", "user") if name in truth.columns]
    lists = truth.select(keys).unique("list")
    considered = max(5 * depth, PAIRS // max(1, lists.height))
    popular = (
        train.group_by("item").len().sort("len", "item", descending=[True, False])
        .head(considered).select("item").with_row_index("place", 1)
    )  # fmt: skip
    removed = seen == "removed" and "user" in keys
    lists = lists.join(popular.head(considered if removed else depth), how="cross")
    if removed:
        seen_items = train.join(popular, on="item", how="semi").select("user", "item")
        lists = lists.join(seen_items, on=["user", "item"], how="anti")
    lists = lists.sort("list", "place")
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("list")
    ranked = lists.select(*keys, "item", rank.alias("rank"), (-rank).alias("score"))
    return ranked.filter(pl.col("rank") <= depth)


def sound_weights(weights: pl.DataFrame) -> pl.DataFrame:
    """Return the lists with exactly one weight that is finite and not negative."""
    weight = pl.col("weight")
    sound = weight.is_finite() & (weight >= 0) & (pl.len().over("list") == 1)
    return weights.filter(sound.fill_null(False)).select("list", "weight")
