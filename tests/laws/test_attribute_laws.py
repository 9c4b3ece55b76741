"""Metrics of attributes: any sharding gives the bits of one pass, of lists and of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rectitude as rt

NAMES = [
    "calibration_kl@3", "calibration_js[by=genre]@3", "calibration_hellinger[by=genre]@2",
    "category_coverage[by=genre]@3", "category_diversity@3", "mean_attribute@3", "hit_value@2",
    "group_gap[by=town,of=ndcg]@3", "group_ratio[by=town,of=recall]@2",
    "group_gap[by=town,of=calibration_js]@3", "group_gap[by=town,of=hit_value]@3",
]  # fmt: skip
SIZE, WIDTH = 24, 14
CONVENTION = {"undefined": "skip"}


def world(seed: int) -> dict[str, Any]:
    """Scores, a truth, training and attributes with holes."""
    rng = np.random.default_rng(seed)
    genres = [[f"g{g}" for g in range(4) if rng.random() < 0.4] for _ in range(WIDTH)]
    numbers = rng.random(WIDTH)
    items = pl.DataFrame(
        {
            "item": [f"i{i}" for i in range(WIDTH)],
            "category": [None if x < 0.2 else f"c{int(x * 5)}" for x in numbers],
            "genre": genres,
            "price": [None if x > 0.8 else x for x in numbers],
        }
    )
    users = [f"u{u}" for u in range(SIZE)]
    towns = [None if rng.random() < 0.2 else f"t{int(rng.integers(3))}" for _ in users]
    pairs = {(int(rng.integers(SIZE)), int(rng.integers(WIDTH))) for _ in range(SIZE * 3)}
    drawn = sorted(pairs)
    rng.shuffle(drawn)
    train = pl.DataFrame({"user": [f"u{u}" for u, _ in drawn], "item": [f"i{i}" for _, i in drawn]})
    truth = [(u, f"i{i}") for u in users for i in rng.permutation(WIDTH)[:2]]
    return {
        "scores": rng.permuted(np.tile(np.arange(WIDTH) / 7, (SIZE, 1)), axis=1),
        "users": pl.DataFrame({"user": users, "town": towns}),
        "items": items.sample(fraction=1.0, shuffle=True, seed=seed),
        "train": train,
        "truth": pl.DataFrame(truth, schema=["user", "item"], orient="row"),
    }


def lists_of(given: dict[str, Any], rows: np.ndarray) -> pl.DataFrame:
    """The best five items of some rows, as a table."""
    top = np.argsort(-given["scores"][rows], axis=1)[:, :5]
    users = [f"u{row}" for row in np.repeat(rows, 5)]
    score = np.take_along_axis(given["scores"][rows], top, axis=1).ravel()
    return pl.DataFrame({"user": users, "item": [f"i{i}" for i in top.ravel()], "score": score})


def part(given: dict[str, Any], rows: np.ndarray, kind: str) -> tuple[Any, Any, dict[str, Any]]:
    """Some rows as a batch: the table of users and training are those of the batch."""
    mine = pl.col("user").is_in([f"u{row}" for row in rows])
    items = [f"i{i}" for i in range(WIDTH)]
    predictions: Any = lists_of(given, rows)
    if kind == "scores":
        own = [f"u{row}" for row in rows]
        predictions = rt.Scores(given["scores"][rows], users=own, items=items)
    tables = {side: given[side].filter(mine) for side in ("users", "train")}
    return predictions, given["truth"].filter(mine), {**tables, "items": given["items"]}


@pytest.mark.parametrize("kind", ["lists", "scores"])
@settings(max_examples=15)
@given(st.integers(0, 1000), st.randoms(use_true_random=False), st.integers(1, 6))
def test_any_sharding_gives_the_bits_of_one_pass(
    kind: str, seed: int, random: Any, shards: int
) -> None:
    world_ = world(seed)
    predictions, truth, more = part(world_, np.arange(SIZE), kind)
    whole = rt.evaluate(predictions, truth, NAMES, CONVENTION, **more)
    shard = np.array([random.randrange(shards) for _ in range(SIZE)])
    evaluators = []
    for number in dict.fromkeys(shard.tolist()):
        one = rt.Evaluator(NAMES, CONVENTION)
        predictions, truth, more = part(world_, np.flatnonzero(shard == number), kind)
        one.update(predictions, truth, **more)
        evaluators.append(one)
    merged = sum(evaluators).compute()
    assert {n: v.hex() for n, v in merged.values().items()} == {
        n: v.hex() for n, v in whole.values().items()
    }
    assert merged.failures.keys() == whole.failures.keys()
    assert merged.ledger["items_without_price"] == whole.ledger["items_without_price"]
    assert merged.ledger["users_without_town"] == whole.ledger["users_without_town"]


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_rows_in_any_order_and_a_catalogue_in_any_order_give_the_same_bits(seed: int) -> None:
    world_ = world(seed)
    found = []
    for turned in (False, True):
        predictions, truth, more = part(world_, np.arange(SIZE), "lists")
        if turned:
            more = {side: table.reverse() for side, table in more.items()}
            predictions, truth = predictions.reverse(), truth.reverse()
        found.append(rt.evaluate(predictions, truth, NAMES, CONVENTION, **more).values())
    assert found[0] == found[1]


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_values_stay_within_the_bounds(seed: int) -> None:
    predictions, truth, more = part(world(seed), np.arange(SIZE), "scores")
    found = rt.evaluate(predictions, truth, NAMES, CONVENTION, **more)
    for result in found.results.values():
        low, high = rt.METRICS[result.metric].bounds
        assert low <= result.value <= high
