"""Ranked lists as checks look at them: the place of every item, and rows that can be ranked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rectitude.auditing.pairs import PAIR

if TYPE_CHECKING:
    import polars as pl


def placed(lists: Any, order: str) -> pl.DataFrame:
    """Lists with the place of each item, from 1, and whether it stood further up (`again`), rows by
    user and place; what has no number is last."""
    import polars as pl

    if order == "score":
        key = pl.col("score").fill_nan(None)
        lists = lists.sort(
            "user", key, descending=[False, True], nulls_last=True, maintain_order=True
        )
    elif order == "rank":
        lists = lists.sort("user", "rank", nulls_last=True, maintain_order=True)
    frame: pl.DataFrame = lists.with_columns(
        place=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("user"),
        again=~pl.col(PAIR).is_first_distinct(),
    )
    return frame


def unrankable(order: str) -> pl.Expr:
    """Which rows have no finite number to be ranked by."""
    import polars as pl

    if order == "given":
        return pl.lit(False)
    return ~pl.col(order).cast(pl.Float64).is_finite().fill_null(False)


def cleaned(lists: pl.DataFrame, order: str) -> pl.DataFrame:
    """The rows that can be ranked."""
    return lists if order == "given" else lists.filter(~unrankable(order))


def once(truth: pl.DataFrame) -> pl.DataFrame:
    """The truth with each pair once, in its row of the highest grade."""
    if not truth[PAIR].is_duplicated().any():
        return truth
    if "grade" in truth.columns:
        truth = truth.sort("grade", descending=True, nulls_last=True, maintain_order=True)
    return truth.unique(PAIR, keep="first", maintain_order=True)
