"""Ranks and best items of products are those of the products in 64 bits.

The vectors have products that every order of addition computes exactly, so ranks must be the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kernel_cases import INTERPRETED, Listed, in_order, list_columns, on_device
from oracles import ranks_by_hand, top_by_hand

from rectitude.torch import kernels
from rectitude.torch.kernels import RankCounts

count_products = on_device(kernels.count_products)
products_among = on_device(kernels.products_among)
top_products = on_device(kernels.top_products)

TYPES = (torch.float16, torch.float32, torch.float64, *([] if INTERPRETED else [torch.bfloat16]))
METRICS = ("dot", "cosine")


def make_vectors(*shape: int, seed: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    """Return vectors of 16 signs, some of them twice as long: their lengths are 4 and 8."""
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (*shape, 16), generator=generator) * 2 - 1
    longer = torch.randint(1, 3, (*shape, 1), generator=generator)
    return (signs * longer).to(dtype)


def multiply(users: torch.Tensor, items: torch.Tensor, metric: str) -> np.ndarray:
    """Return (rows, columns) products in 64 bits, the highest of all interests."""
    left, right = users.double().numpy(), items.double().numpy()
    if metric == "cosine":
        with np.errstate(invalid="ignore"):
            left, right = (
                np.nan_to_num(side / np.linalg.norm(side, axis=-1, keepdims=True))
                for side in (left, right)
            )
    left = left[:, None] if left.ndim == 2 else left
    return (left @ right.T).max(axis=1)


def require_ranks(
    found: RankCounts, scores: np.ndarray, targets: Listed, valid: Any = None, **lists: Listed
) -> None:
    counts = in_order(found.counts, targets)
    for row, line in enumerate(scores):
        more = {what: one.rows[row] for what, one in lists.items()}
        wanted, facts = ranks_by_hand(line, targets.rows[row], valid=valid, **more)
        np.testing.assert_array_equal(counts[row], wanted, f"row {row}")
        if "candidates" in lists:
            np.testing.assert_array_equal(found.rows[:, row].numpy(), facts, f"row {row}")
        else:
            assert found.rows[:, row].tolist() == [-1, -1, -1, -1, facts[4]]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("metric", "form"), [("dot", "offsets"), ("cosine", "padded")])
def test_targets_stand_where_their_products_do(dtype: Any, metric: Any, form: str) -> None:
    users, items = make_vectors(3, seed=1, dtype=dtype), make_vectors(200, seed=2, dtype=dtype)
    items[7] = 0
    targets, seen = list_columns(3, 200, 3, form, 3), list_columns(3, 200, 20, form, 4)
    found = count_products(
        users, items, targets.columns, seen.columns, metric=metric,
        target_offsets=targets.offsets, seen_offsets=seen.offsets,
    )  # fmt: skip
    require_ranks(found, multiply(users, items, metric), targets, seen=seen)


@pytest.mark.parametrize("metric", METRICS)
def test_several_interests_are_merged_by_maximum(metric: Any) -> None:
    users, items = make_vectors(5, 3, seed=1), make_vectors(200, seed=2)
    targets = list_columns(5, 200, 12, "padded", 3)
    valid = torch.rand(200, generator=torch.Generator().manual_seed(3)) < 0.7
    found = count_products(users, items, targets.columns, metric=metric, valid_columns=valid)
    nothing = list_columns(5, 200, 0, "padded", 1)
    scores = multiply(users, items, metric)
    require_ranks(found, scores, targets, valid=valid.numpy(), seen=nothing)


def test_many_items_are_counted_in_parts_and_flushed() -> None:
    users, items = make_vectors(2, seed=1), make_vectors(12_700, seed=2)
    targets = list_columns(2, 12_700, 2, "padded", 3)
    found = count_products(users, items, targets.columns)
    nothing = list_columns(2, 12_700, 0, "padded", 1)
    require_ranks(found, multiply(users, items, "dot"), targets, seen=nothing)


def test_one_part_may_be_longer_than_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="missing: triton (pip install 'rectitude[dev]')")
    from rectitude.torch.kernels import products_triton

    monkeypatch.setattr(products_triton, "PROGRAMS", 1)
    users, items = make_vectors(1, seed=1), torch.ones(12_700, 16, dtype=torch.float16)
    targets = Listed([[12_699]], torch.tensor([[12_699]]), None)
    found = count_products(users, items, targets.columns)
    assert found.counts.flatten().tolist() == [0, 12_699, 12_699]


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (65, 2)])
def test_one_user_and_one_item_are_counted_as_others(shape: tuple[int, int]) -> None:
    users, items = make_vectors(shape[0], seed=1), make_vectors(shape[1], seed=2)
    targets, seen = list_columns(*shape, 2, "padded", 3), list_columns(*shape, 1, "padded", 4)
    found = count_products(users, items, targets.columns, seen.columns)
    require_ranks(found, multiply(users, items, "dot"), targets, seen=seen)


@pytest.mark.parametrize("form", ["padded", "offsets"])
@pytest.mark.parametrize("metric", METRICS)
def test_among_candidates_only_their_products_are_counted(form: str, metric: Any) -> None:
    users, items = make_vectors(4, 2, seed=1), make_vectors(300, seed=2)
    targets, candidates = list_columns(4, 300, 3, form, 3), list_columns(4, 300, 150, form, 4)
    found = products_among(
        users, items, targets.columns, candidates.columns, metric=metric,
        target_offsets=targets.offsets, candidate_offsets=candidates.offsets,
    )  # fmt: skip
    require_ranks(found, multiply(users, items, metric), targets, candidates=candidates)


@pytest.mark.parametrize(
    ("ties", "metric"), [("lowest column", "dot"), ("highest column", "cosine")]
)
def test_the_best_items_are_found_without_the_seen_ones(ties: Any, metric: Any) -> None:
    users, items = make_vectors(3, 2, seed=1), make_vectors(400, seed=2)
    items[:200] = items[0]
    seen = list_columns(3, 400, 20, "padded", 4)
    valid = torch.rand(400, generator=torch.Generator().manual_seed(3)) < 0.7
    found = top_products(
        users, items, 25, seen.columns, metric=metric, ties=ties, valid_columns=valid
    )
    for row, line in enumerate(multiply(users, items, metric)):
        best = top_by_hand(line, 25, seen.rows[row], valid.numpy(), ties)
        np.testing.assert_array_equal(found.columns[row].numpy(), best, f"row {row}")
        own = np.where(best < 0, np.nan, line[best])
        np.testing.assert_allclose(found.scores[row].double().numpy(), own, rtol=1e-6)


@pytest.mark.parametrize("k", [1, 100])
def test_users_with_very_many_equal_products_are_done_again(k: int) -> None:
    users, items = make_vectors(2, seed=1), make_vectors(1_000, seed=2)
    items[500:] = items[500]
    found = top_products(users, items, k)
    for row, line in enumerate(multiply(users, items, "dot")):
        np.testing.assert_array_equal(found.columns[row].numpy(), top_by_hand(line, k))
