"""Estimates of full rankings from evaluations of sampled candidates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.candidate_sets.estimators import estimate, sampled_ranks
from rectitude.candidate_sets.sampling import sample_negatives
from rectitude.candidate_sets.sets import full
from rectitude.data.log import open_log
from rectitude.errors import BadArgument, MissingNeed
from rectitude.evaluation.estimates import estimates
from rectitude.splits.split import Split


@pytest.fixture(scope="module")
def split() -> Split:
    random = np.random.default_rng(4)
    rows = [(u, int(i)) for u in range(300) for i in random.choice(200, 12, False)]
    frame = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    late = pl.Series(range(frame.height)) % 4 == 0
    return Split(open_log(frame.filter(~late)), open_log(frame.filter(late)))


@pytest.fixture(scope="module")
def table(split: Split) -> pl.DataFrame:
    """Scores with ties that favour the truth."""
    pairs = pl.DataFrame({"user": range(300)}).join(pl.DataFrame({"item": range(200)}), how="cross")
    score = np.round(np.random.default_rng(1).normal(size=pairs.height), 2)
    relevant = split.truth.frame.select("user", "item").with_columns(more=1.5)
    scored = pairs.with_columns(score=score).join(relevant, on=["user", "item"], how="left")
    return scored.select("user", "item", pl.col("score") + pl.col("more").fill_null(0))


def scores_of(table: pl.DataFrame) -> rt.Scores:
    scores = table.sort("user", "item")["score"].to_numpy().reshape(300, 200)
    return rt.Scores(scores, items=range(200))


def test_an_estimate_uses_the_ranks_among_negatives(split: Split, table: pl.DataFrame) -> None:
    drawn, truth = sample_negatives(split, 40), split.truth.frame.select("user", "item")
    ranks = sampled_ranks(table, drawn, truth)
    items = round(drawn.settings["items_left"]) + 1
    wanted = estimate(
        ranks["rank"], "ndcg@10", negatives=40, items=items, users=ranks["user"].to_numpy(),
        over="users",
    )  # fmt: skip
    for predictions in (table, scores_of(table)):
        result = estimates(predictions, truth, "ndcg@10", candidates=drawn)["ndcg@10"]
        assert (result.sampled, result.positives) == (wanted.sampled, wanted.positives)
        assert result.value == pytest.approx(wanted.value, abs=1e-12)
        assert result.standard_error == pytest.approx(wanted.standard_error, abs=1e-12)


def test_an_estimate_is_close_to_the_full_ranking(split: Split, table: pl.DataFrame) -> None:
    truth, train = split.truth.frame.select("user", "item"), split.train.frame
    drawn = sample_negatives(split, 40, seed=2)
    result = estimates(table, truth, "recall@10", candidates=drawn)["recall@10"]
    negatives = table.join(pl.concat([truth, train.select("user", "item")]), on=["user", "item"],
                           how="anti")  # fmt: skip
    met = truth.join(table, on=["user", "item"]).join(negatives, on="user", suffix="_other")
    full_rank = met.group_by("user", "item").agg(
        rank=(pl.col("score_other") >= pl.col("score")).sum() + 1
    )
    whole = full_rank.group_by("user").agg((pl.col("rank") <= 10).mean())["rank"].mean()
    assert abs(result.value - whole) < 4 * result.standard_error
    assert result.sampled - whole > 10 * result.standard_error


def test_a_positive_without_a_score_ranks_last(split: Split, table: pl.DataFrame) -> None:
    truth = split.truth.frame.select("user", "item")
    unscored = pl.concat([truth, pl.DataFrame({"user": range(300), "item": [999] * 300})])
    drawn = sample_negatives(Split(split.train, open_log(unscored)), 40)
    result = estimates(scores_of(table), unscored, "recall@1", candidates=drawn, method="none")
    fewer = estimates(scores_of(table), truth, "recall@1", candidates=drawn, method="none")
    assert result["recall@1"].positives == fewer["recall@1"].positives + 300
    assert result["recall@1"].value < fewer["recall@1"].value


def test_candidates_that_are_not_a_uniform_sample_are_refused(
    split: Split, table: pl.DataFrame, tmp_path: Path
) -> None:
    truth = split.truth.frame.select("user", "item")
    refused = {
        "not a sample": full(split),
        "by popularity": sample_negatives(split, 40, weight="popularity"),
        "with replacement": sample_negatives(split, 40, replacement="with"),
        "for each positive": sample_negatives(split, 40, per="positive"),
    }
    for words, candidates in refused.items():
        with pytest.raises(BadArgument, match=words):
            estimates(table, truth, "mrr", candidates=candidates)
    drawn = sample_negatives(split, 40)
    best = table.sort("score", descending=True).group_by("user", maintain_order=True).head(20)
    with pytest.raises(MissingNeed, match="300 of 300 lists do not rank 40 negatives"):
        estimates(best, truth, "mrr", candidates=drawn)
    drawn.save(tmp_path / "c.parquet")
    stored = estimates(table, truth, "mrr", candidates=tmp_path / "c.parquet")
    assert stored == estimates(table, truth, "mrr", candidates=drawn)
