"""Ids of 128 bits, such as UUIDs as numbers, are prepared, split and evaluated like all others."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rectitude as rt
from rectitude.preparing import prepare

OPTIONS: dict[str, dict[str, Any]] = {
    "random_ratio": {"ratio": 0.2}, "last_ratio": {"ratio": 0.2}, "time_ratio": {"ratio": 0.2},
    "leave_last": {}, "leave_random": {}, "at_time": {"t": 40}, "k_fold": {"folds": 2},
    "strong_generalisation": {"ratio": 0.4}, "cold_users": {"ratio": 0.3},
    "new_users": {"ratio": 0.3},
}  # fmt: skip
STEPS = [
    {"step": "deduplicate"}, {"step": "k_core", "users": 2, "items": 2},
    {"step": "popular_items", "n": 4}, {"step": "sample_users", "n": 4},
]  # fmt: skip
WIDE = [name for name in ("Int128", "UInt128") if hasattr(pl, name)]
FAR = [
    (kind, first) for kind in WIDE for first in (2**64, 2**100, 2**127 - 20, -(2**100))
    if first > 0 or kind == "Int128"
]  # fmt: skip


def log_of(kind: str, first: int) -> pl.DataFrame:
    drawn = np.random.default_rng(5)
    pairs = [(first + int(drawn.integers(9)), first + int(drawn.integers(7))) for _ in range(60)]
    ids = {side: pl.Series(values, dtype=getattr(pl, kind)) for side, values
           in zip(("user", "item"), zip(*pairs, strict=True), strict=True)}  # fmt: skip
    frame = pl.DataFrame({**ids, "timestamp": range(60)})
    return frame.unique(["user", "item"], keep="first", maintain_order=True)


def parts(log: pl.DataFrame, how: str) -> list[list[int]]:
    splits: Any = rt.split(log, how, seed=3, **OPTIONS[how])
    first = splits[0] if isinstance(splits, (list, tuple)) else splits
    assert first.fingerprint
    return [part.frame["row"].to_list() for part in (first.train, first.truth)]


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("how", OPTIONS)
def test_small_ids_of_128_bits_are_split_like_those_of_64(kind: str, how: str) -> None:
    assert parts(log_of(kind, 0), how) == parts(log_of("Int64", 0), how)


@pytest.mark.parametrize(("kind", "first"), FAR)
@pytest.mark.parametrize("how", OPTIONS)
def test_ids_beyond_64_bits_are_split(kind: str, first: int, how: str) -> None:
    train, truth = parts(log_of(kind, first), how)
    assert train
    assert truth
    assert not {*train} & {*truth}


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step["step"])
def test_ids_beyond_64_bits_are_prepared(kind: str, step: dict[str, Any]) -> None:
    near, far = (prepare(log_of(kind, first), [step]).frame for first in (0, 2**100))
    if step["step"] == "sample_users":  # who is drawn depends on the ids
        assert near["user"].n_unique() == far["user"].n_unique()
    else:
        assert near["row"].to_list() == far["row"].to_list()


@pytest.mark.parametrize("kind", WIDE)
def test_ids_beyond_64_bits_are_evaluated(kind: str) -> None:
    for first in (0, 2**100):
        log = log_of(kind, first)
        lists = log.select("user", "item", score=-pl.col("timestamp").cast(pl.Float64))
        truth = log.filter(pl.col("timestamp") % 3 == 0)
        evaluation = rt.evaluate(lists, truth, ["ndcg@3"], train=log.head(4))
        small = rt.evaluate(
            *(
                frame.with_columns((pl.col("user", "item") - first).cast(pl.Int64))
                for frame in (lists, truth)
            ),
            ["ndcg@3"],
            train=log_of("Int64", 0).head(4),
        )
        assert evaluation.results["ndcg@3"].value == small.results["ndcg@3"].value
