"""Actors of Ray rank blocks of users to the bits of one process, also if one of them dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from engines.conftest import RAY, ray_of
from rectitude.errors import BadArgument
from rectitude.torch import evaluate

pytestmark = [RAY, pytest.mark.filterwarnings("ignore")]
USERS, ITEMS, METRICS = 300, 50, ["ndcg@5", "recall@10", "mrr"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_of(2) as ray:
        yield ray


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    random = np.random.default_rng(1)
    rows = {"user": random.integers(0, USERS, 900), "item": random.integers(0, ITEMS, 900)}
    table = pl.DataFrame(rows).unique(maintain_order=True)
    vectors = [torch.from_numpy(random.standard_normal((n, 8))) for n in (USERS, ITEMS)]
    return {"vectors": vectors, "truth": table[:300], "train": table[300:]}


def test_embeddings_have_the_bits_of_one_process(cluster: Any, tables: dict[str, Any]) -> None:
    options = {"metrics": METRICS, "train": tables["train"], "batch_size": 64}
    sides = (tables["vectors"], range(USERS), tables["truth"])
    done: list[int] = []
    in_actors = evaluate(*sides, **options, actors=2, progress=lambda n, _: done.append(n))
    assert in_actors == evaluate(*sides, **options)
    assert done[-1] == USERS


def test_a_model_whose_actor_dies_counts_every_block_once(
    cluster: Any, tables: dict[str, Any], tmp_path: Path
) -> None:
    users, items = tables["vectors"]
    died, alive = tmp_path / "died", os.getpid()

    def score(ids: torch.Tensor) -> torch.Tensor:
        if os.getpid() != alive and 200 in ids and not died.exists():
            died.touch()
            os._exit(1)
        return users[ids] @ items.T

    options = {"metrics": METRICS, "batch_size": 50}
    sides = (score, torch.arange(USERS), tables["truth"])
    assert evaluate(*sides, **options, actors=2) == evaluate(*sides, **options)
    assert died.exists()


def test_errors_of_actors_are_those_of_one_process(cluster: Any, tables: dict[str, Any]) -> None:
    users, items = tables["vectors"]
    broken = (users, torch.full_like(items, float("nan")))
    with pytest.raises(Exception) as here:
        evaluate(broken, range(USERS), tables["truth"])
    with pytest.raises(type(here.value)):
        evaluate(broken, range(USERS), tables["truth"], actors=1)


def test_actors_need_blocks_that_they_can_rank(tables: dict[str, Any]) -> None:
    with pytest.raises(BadArgument, match="beside a loader"):
        evaluate(len, [(1, 2)], actors=2)
    with pytest.raises(BadArgument, match="actors is 0"):
        evaluate(tables["vectors"], range(USERS), tables["truth"], actors=0)
