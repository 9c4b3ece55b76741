"""The rank of each positive among the negatives that were drawn for it, from scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rectitude.candidates.ids import fitting
from rectitude.candidates.value import Candidates, first
from rectitude.data.read import read
from rectitude.errors import BadScores

if TYPE_CHECKING:
    import polars as pl


def sampled_ranks(
    scores: object,
    candidates: Candidates,
    truth: object,
    ties: Literal["worst", "best"] = "worst",
) -> pl.DataFrame:
    """user, item, rank, negatives: where each positive stands among its distinct negatives.

    Other positives of the user take no place. `scores` is a table with a score for every candidate;
    an equal score stands before the positive under `ties="worst"`.
    """
    import polars as pl

    pairs = ["user", "item"]
    rows = candidates.source.unique(maintain_order=True)
    positives = fitting(read(truth, "truth"), rows).select(pairs).unique(maintain_order=True)
    rows = rows.join(_scored(scores, rows), on=pairs, how="left", maintain_order="left")
    _require_scores(rows)
    negatives = rows.join(positives, on=pairs, how="anti")
    own = rows.select(*pairs, "score").unique(maintain_order=True)
    found = positives.join(own, on=pairs, how="inner", maintain_order="left")
    linked = {"left_on": ["user", "item"], "right_on": ["user", "positive"]}
    keys = linked if candidates.linked else {"on": "user"}
    met = found.join(negatives, how="left", suffix="_other", **keys)
    other, mine = pl.col("score_other"), pl.col("score")
    before = other >= mine if ties == "worst" else other > mine
    counted = met.group_by(pairs, maintain_order=True).agg(
        rank=(before.fill_null(False).sum() + 1).cast(pl.Int64),
        negatives=other.count().cast(pl.Int64),
    )
    return counted.sort(pairs)


def _scored(scores: object, model: pl.DataFrame) -> pl.DataFrame:
    frame = fitting(read(scores, "predictions"), model)
    if "score" not in frame.columns:
        raise BadScores("the scores have no score column.", "columns user, item, score.")
    return frame.select("user", "item", "score")


def _require_scores(rows: pl.DataFrame) -> None:
    import polars as pl

    score = pl.col("score")
    missing = rows.filter(score.is_null() | score.cast(pl.Float64).is_nan())
    if missing.height:
        raise BadScores(
            f"{missing.height:,} of {rows.height:,} candidates have no score "
            f"(first: {first(missing, 'user', 'item')}).",
            "a score for every candidate of every user.",
        )
