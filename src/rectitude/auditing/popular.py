"""The most popular items as predictions, to see what a split does before there is a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import polars as pl

PAIRS = 2_000_000
"""so many pairs of users and items are looked at, to find those that users have not had"""


def popular_lists(
    train: pl.DataFrame, truth: pl.DataFrame, depth: int, seen: Literal["kept", "removed"]
) -> pl.DataFrame:
    """The items that occur most often in train, for every user of the truth; where users do not
    come back to items, those that they have not had.

    Where there are very many users, only the first few popular items are gone through, and users
    who had most of them get shorter lists.
    """
    import polars as pl

    users = truth.select(pl.col("user").unique())
    many = max(5 * depth, PAIRS // max(1, users.height))
    popular = (
        train.group_by("item").len().sort("len", "item", descending=[True, False])
        .head(many).select("item").with_row_index("place", 1)
    )  # fmt: skip
    lists = users.join(popular.head(depth if seen == "kept" else many), how="cross")
    if seen == "removed":
        had = train.join(popular, on="item", how="semi").select("user", "item")
        lists = lists.join(had, on=["user", "item"], how="anti")
    lists = lists.sort("user", "place")
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("user")
    ranked = lists.select("user", "item", rank.alias("rank"), (-rank).alias("score"))
    return ranked.filter(pl.col("rank") <= depth)
