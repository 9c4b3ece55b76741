"""Checks of several folds: what more than one of them holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rectitude.auditing.finding import Found
from rectitude.auditing.pairs import PAIR
from rectitude.auditing.parts import Parts
from rectitude.auditing.registry import check

if TYPE_CHECKING:
    import polars as pl


@check(
    "folds",
    advice="nothing, if folds are made of rows; if each user is to be in one fold, as when users "
    "are held out, split by user.",
)
def users_in_folds(parts: Parts) -> Found:
    """Users who are in more than one fold."""
    shared, of = _shared(parts, "user")
    return Found(
        shared.height, of, f"users are in several of {len(parts.folds)} folds", "notice",
        parts.first(shared), parts.without_users(shared),
    )  # fmt: skip


@check("folds", advice="split again: folds must not share rows, or their mean counts some twice.")
def pairs_in_folds(parts: Parts) -> Found:
    """Pairs of user and item that are in more than one fold."""
    shared, of = _shared(parts, PAIR)
    return Found(
        shared.height, of, f"pairs are in several of {len(parts.folds)} folds", "serious",
        parts.first(shared), parts.without_truth(shared, PAIR),
    )  # fmt: skip


def _shared(parts: Parts, by: str) -> tuple[pl.DataFrame, int]:
    """What more than one fold holds, and how many different ones there are."""
    import polars as pl

    once = [
        fold.select("user", "item", PAIR).unique(by, maintain_order=True)
        for fold in parts.folds.values()
    ]
    times = pl.concat(once).with_columns(folds=pl.len().over(by)).unique(by, maintain_order=True)
    shown = [name for name in ("user", "item", PAIR) if by != "user" or name == "user"]
    return times.filter(pl.col("folds") > 1).select(shown), times.height
