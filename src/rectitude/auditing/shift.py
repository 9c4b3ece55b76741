"""Checks of popularity: whether the parts ask for the same kind of items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rectitude.auditing.parts import Compared, Parts, present
from rectitude.auditing.registry import check
from rectitude.auditing.result import Found, Severity
from rectitude.data.log import ROW
from rectitude.prepare.draws import uniform

if TYPE_CHECKING:
    import polars as pl

HEAD = 0.5
"""the head: the most popular items, which hold this share of the training rows"""
SHIFTED = 0.05
DEVIATIONS = 4.0
ADVICE = (
    "expect other values than on a random part of the same data: with fewer rows on popular items "
    "popular recommendations find less. A split by time shows such a shift as it is."
)


@check("learnt", "truth", advice=ADVICE)
def popularity_shift(parts: Parts) -> Found:
    """Whether the truth asks for popular items as often as train does; measured on a truth from
    which rows are drawn until it does."""
    truth = present(parts.truth)
    head, share = _head(present(parts.learnt))
    here = _on(head, truth)
    drawn = _drawn(truth, here, share)
    return _found(
        parts, here, share, "truth", None if drawn is None else parts.against(truth=drawn)
    )


@check("train", "validation", advice=ADVICE)
def popularity_shift_of_validation(parts: Parts) -> Found:
    """The same of validation, which plays no part in the metrics."""
    head, share = _head(present(parts.train))
    return _found(parts, _on(head, present(parts.validation)), share, "validation", None)


def _head(train: pl.DataFrame) -> tuple[pl.DataFrame, float]:
    """The most popular items that hold half of the training rows, and their share of them."""
    import polars as pl

    times = train.group_by("item").len().sort("len", "item", descending=[True, False])
    before = pl.col("len").cum_sum() - pl.col("len")
    head = times.filter(before < HEAD * train.height)
    return head.select("item"), int(head["len"].sum()) / max(1, train.height)


def _on(head: pl.DataFrame, part: pl.DataFrame) -> pl.Series:
    """Which rows of a part are of items in the head."""
    return part["item"].is_in(head["item"].implode())


def _found(parts: Parts, here: pl.Series, share: float, part: str, compare: Compared) -> Found:
    rows, on_head = len(here), int(here.sum())
    own = on_head / max(1, rows)
    noise = DEVIATIONS * (share * (1 - share) / max(1, rows)) ** 0.5
    severity: Severity = "notice" if abs(own - share) > max(SHIFTED, noise) else "fine"
    about = f"{part} rows are of the most popular items, which hold {share:.1%} of train"
    return Found(on_head, rows, f"({own:.1%}) {about}", severity, "", compare)


def _drawn(truth: pl.DataFrame, here: pl.Series, share: float) -> pl.DataFrame | None:
    """The truth without some rows, drawn by content, so that the head has its share of train."""
    on_head, rest = int(here.sum()), len(here) - int(here.sum())
    if not 0 < share < 1:
        return None
    keep_head = min(on_head, round(rest * share / (1 - share)))
    keep_rest = min(rest, round(on_head * (1 - share) / share))
    numbered = truth.with_columns(user="list").with_row_index(ROW)
    kept = numbered.with_columns(draw=uniform(numbered, 0))
    chosen = [
        kept.filter(side).sort("draw").head(many)[ROW]
        for side, many in ((here, keep_head), (~here, keep_rest))
    ]
    return truth[chosen[0].append(chosen[1]).sort()]
