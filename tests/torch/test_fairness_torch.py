"""Fairness metrics over tensors give exactly the values of arrays, in any batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch_ways import OnDevice

import rectitude as rt
from rectitude.torch import Evaluator

ROWS, COLUMNS = 14, 25
NAMES = [
    f"{name}@{k}"
    for name in (
        "reo", "rsp", "rsp[below=estimated]", "pop_reo[head=0.5]", "pop_reo_places[head=0.5]",
        "pop_rsp[head=0.5]", "bias_disparity_bs", "bias_disparity_bd[source=truth]",
        "item_mad_ranking", "item_mad_rating", "user_mad_ranking", "user_mad_rating",
        "srecall[by=group]", "mean_score",
    )
    for k in (2, 6)
]  # fmt: skip
CONVENTION = {"undefined": "zero"}


def world(seed: int) -> tuple[np.ndarray[Any, Any], pl.DataFrame, dict[str, Any]]:
    """Return scores of items, the truth, and tables about users and items."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    pairs = [(u, int(i)) for u in range(ROWS) for i in random.permutation(COLUMNS)[:9]]
    table = pl.DataFrame(pairs, ["user", "item"], orient="row")
    in_truth = pl.int_range(pl.len()).over("user") < 4
    tables = {
        "train": table.filter(~in_truth),
        "items": pl.DataFrame({"item": range(COLUMNS), "group": random.choice(3, COLUMNS)}),
        "users": pl.DataFrame({"user": range(ROWS), "group": random.choice(["m", "n"], ROWS)}),
    }
    return scores, table.filter(in_truth), tables


@pytest.mark.parametrize("way", [rt.Evaluator, Evaluator, OnDevice])
@pytest.mark.parametrize("seed", range(3))
def test_batches_of_scores_have_the_bits_of_one(seed: int, way: Any) -> None:
    scores, truth, tables = world(seed)
    users = list(range(ROWS))
    whole = rt.evaluate(rt.Scores(scores, users=users), truth, NAMES, CONVENTION, **tables)
    assert not whole.failures
    evaluator = way(NAMES, CONVENTION)
    for rows in np.array_split(np.random.default_rng(seed).permutation(ROWS), 4):
        batch = scores[rows] if way is rt.Evaluator else torch.from_numpy(scores[rows])
        batch_truth = truth.filter(pl.col("user").is_in(rows.tolist()))
        evaluator.update(rt.Scores(batch, users=rows.tolist()), batch_truth, **tables)
    added = evaluator.compute()
    assert {n: added[n].hex() for n in NAMES} == {n: whole[n].hex() for n in NAMES}


def test_embeddings_have_the_values_of_their_scores() -> None:
    random = np.random.default_rng(5)
    vectors = random.integers(-3, 4, (ROWS, 3)) / 4, random.normal(size=(COLUMNS, 3)).round(3)
    _, truth, tables = world(5)
    users = list(range(ROWS))
    scores = rt.Scores(vectors[0] @ vectors[1].T, users=users)
    embeddings = rt.Embeddings(*vectors, users=users)
    wanted = rt.evaluate(scores, truth, NAMES, CONVENTION, **tables)
    values = rt.evaluate(embeddings, truth, NAMES, CONVENTION, **tables)
    for name in NAMES:
        assert values[name] == pytest.approx(wanted[name], abs=1e-6), name
