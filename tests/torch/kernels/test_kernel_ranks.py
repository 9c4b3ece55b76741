"""Ranks are those of scores in 64 bits, counted by hand, in whatever form lists are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kernel_cases import (
    CASES,
    TYPES,
    Listed,
    in_order,
    list_columns,
    make_scores,
    merge_by_hand,
    on_device,
)
from oracles import ranks_by_hand

from rectitude.torch import kernels
from rectitude.torch.kernels import RankCounts

count_among = on_device(kernels.count_among)
count_ranks = on_device(kernels.count_ranks)

WIDE = 300
"""One whole tile of the kernel and a part of another."""


def require_ranks(found: RankCounts, scores: torch.Tensor, targets: Listed, **by_hand: Any) -> None:
    lists = {what: one.rows for what, one in by_hand.items() if isinstance(one, Listed)}
    rest = {what: value for what, value in by_hand.items() if what not in lists}
    counts = in_order(found.counts, targets)
    for row, line in enumerate(merge_by_hand(scores)):
        more = {what: rows[row] for what, rows in lists.items()}
        wanted, facts = ranks_by_hand(line, targets.rows[row], **more, **rest)
        np.testing.assert_array_equal(counts[row], wanted, f"row {row}")
        np.testing.assert_array_equal(found.rows[:, row].numpy(), facts, f"facts of row {row}")


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_targets_stand_where_they_do_in_64_bits(kind: str, dtype: torch.dtype) -> None:
    scores = make_scores(kind, (2, WIDE), dtype)
    targets = list_columns(2, WIDE, 2, "padded", 1)
    require_ranks(count_ranks(scores, targets.columns), scores, targets)


@pytest.mark.parametrize("kind", ["tied", "infinite", "missing"])
@pytest.mark.parametrize("form", ["padded", "offsets"])
def test_columns_seen_are_taken_out_even_if_they_repeat(kind: str, form: str) -> None:
    scores = make_scores(kind, (3, 40), torch.float32)
    targets = list_columns(3, 40, 4, form, 1)
    seen = list_columns(3, 40, 50, form, 2)
    found = count_ranks(
        scores, targets.columns, seen.columns,
        target_offsets=targets.offsets, seen_offsets=seen.offsets,
    )  # fmt: skip
    require_ranks(found, scores, targets, seen=seen)


@pytest.mark.parametrize("kind", ["tied", "missing"])
def test_columns_that_are_not_valid_are_left_out(kind: str) -> None:
    scores = make_scores(kind, (4, WIDE), torch.float32)
    targets, seen = list_columns(4, WIDE, 3, "padded", 1), list_columns(4, WIDE, 9, "padded", 2)
    valid = torch.rand(WIDE, generator=torch.Generator().manual_seed(3)) < 0.7
    found = count_ranks(scores, targets.columns, seen.columns, valid_columns=valid)
    require_ranks(found, scores, targets, seen=seen, valid=valid.numpy())


@pytest.mark.parametrize("kind", ["tied", "infinite", "missing"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_several_interests_are_merged_by_maximum(kind: str, dtype: torch.dtype) -> None:
    scores = make_scores(kind, (3, 3, WIDE), dtype)
    targets, seen = list_columns(3, WIDE, 2, "padded", 1), list_columns(3, WIDE, 9, "padded", 2)
    found = count_ranks(scores, targets.columns, seen.columns)
    require_ranks(found, scores, targets, seen=seen)


@pytest.mark.parametrize("most", [1, 16, 23])
def test_more_targets_than_share_a_pass_are_counted_in_several(most: int) -> None:
    scores = make_scores("tied", (2, 60), torch.float32)
    targets = list_columns(2, 60, most, "offsets", 1)
    found = count_ranks(scores, targets.columns, target_offsets=targets.offsets)
    require_ranks(found, scores, targets)


@pytest.mark.parametrize("kind", ["tied", "missing"])
def test_long_rows_are_counted_in_parts(kind: str) -> None:
    scores = make_scores(kind, (2, 4_200), torch.float32)
    targets, seen = list_columns(2, 4_200, 2, "padded", 1), list_columns(2, 4_200, 40, "padded", 2)
    found = count_ranks(scores, targets.columns, seen.columns)
    require_ranks(found, scores, targets, seen=seen)


@pytest.mark.parametrize("shape", [(1, 1), (6, 1), (1, WIDE), (2, 256)])
def test_one_row_and_one_column_are_counted_as_others(shape: tuple[int, int]) -> None:
    scores = make_scores("tied", shape, torch.float32)
    targets = list_columns(*shape, 2, "padded", 1, outside=False)
    seen = list_columns(*shape, 1, "padded", 2)
    found = count_ranks(scores, targets.columns, seen.columns)
    require_ranks(found, scores, targets, seen=seen)


def test_nothing_is_counted_where_there_are_no_rows_or_targets() -> None:
    none = torch.empty((0, 2), dtype=torch.int64)
    found = count_ranks(torch.empty(0, 5), none, none)
    assert (found.counts.shape, found.rows.shape) == ((3, 0, 2), (5, 0))
    scores = make_scores("missing", (3, 50), torch.float32)
    targets = list_columns(3, 50, 0, "padded", 1)
    seen = list_columns(3, 50, 4, "padded", 2)
    require_ranks(count_ranks(scores, targets.columns, seen.columns), scores, targets, seen=seen)


def test_scores_may_be_part_of_a_larger_tensor() -> None:
    large = make_scores("tied", (6, 90), torch.float32)
    for scores in (large[::3, 5:71], large.T[:4, :6], large[:2, ::3]):
        targets = list_columns(*scores.shape, 3, "padded", 1)
        require_ranks(count_ranks(scores, targets.columns), scores, targets)


@pytest.mark.parametrize("kind", ["random", "tied", "infinite", "missing"])
@pytest.mark.parametrize("form", ["padded", "offsets"])
def test_among_candidates_only_these_are_counted(kind: str, form: str) -> None:
    scores = make_scores(kind, (3, 80), torch.float32)
    targets, candidates = list_columns(3, 80, 3, form, 1), list_columns(3, 80, 60, form, 2)
    found = count_among(
        scores, targets.columns, candidates.columns,
        target_offsets=targets.offsets, candidate_offsets=candidates.offsets,
    )  # fmt: skip
    require_ranks(found, scores, targets, candidates=candidates)


@pytest.mark.parametrize("dtype", TYPES)
def test_candidates_of_several_interests_are_merged_by_maximum(dtype: torch.dtype) -> None:
    scores = make_scores("tied", (3, 2, 80), dtype)
    targets = list_columns(3, 80, 3, "padded", 1)
    candidates = list_columns(3, 80, 20, "padded", 2)
    found = count_among(scores, targets.columns, candidates.columns)
    require_ranks(found, scores, targets, candidates=candidates)
