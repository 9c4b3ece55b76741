"""The best columns are those of a stable sort, whatever the ties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kernel_cases import CASES, Listed, list_columns, make_scores, merge_by_hand, on_device
from oracles import top_by_hand

from rectitude.torch import kernels
from rectitude.torch.kernels import Top

top_columns = on_device(kernels.top_columns)

NOTHING = Listed([[]] * 99, torch.empty(0), None)


def require_best(
    found: Top, scores: torch.Tensor, k: int, seen: Listed = NOTHING,
    valid: object = None, ties: str = "lowest column",
) -> None:  # fmt: skip
    for row, line in enumerate(merge_by_hand(scores)):
        best = top_by_hand(line, k, seen.rows[row], valid, ties)
        np.testing.assert_array_equal(found.columns[row].numpy(), best, f"row {row}")
        own = np.where(best < 0, np.nan, line[best])
        np.testing.assert_array_equal(found.scores[row].double().numpy(), own, f"row {row}")


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_every_kind_of_scores_is_ordered_as_in_64_bits(kind: str, dtype: torch.dtype) -> None:
    scores = make_scores(kind, (2, 300), dtype)
    require_best(top_columns(scores, 10), scores, 10)


@pytest.mark.parametrize(
    ("ties", "k"), [("lowest column", 1_000), ("highest column", 100), ("highest column", 1)]
)
def test_equal_scores_come_in_the_stated_order(ties: str, k: int) -> None:
    scores = make_scores("tied", (2, 1_100), torch.float32)
    scores[1] = 1.0
    seen = list_columns(2, 1_100, 30, "padded", 1)
    found = top_columns(scores, k, seen.columns, ties=ties)  # type: ignore[arg-type]
    require_best(found, scores, k, seen, ties=ties)


@pytest.mark.parametrize("form", ["padded", "offsets"])
@pytest.mark.parametrize("kind", ["tied", "infinite", "missing"])
def test_columns_seen_and_invalid_are_left_out(form: str, kind: str) -> None:
    scores = make_scores(kind, (2, 400), torch.float32)
    seen = list_columns(2, 400, 40, form, 1)
    valid = torch.rand(400, generator=torch.Generator().manual_seed(3)) < 0.6
    found = top_columns(scores, 20, seen.columns, seen_offsets=seen.offsets, valid_columns=valid)
    require_best(found, scores, 20, seen, valid.numpy())


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 900), (2, 7)])
def test_rows_with_fewer_columns_than_asked_for_are_filled_up(shape: tuple[int, int]) -> None:
    scores = make_scores("tied", shape, torch.float32)
    require_best(top_columns(scores, 12), scores, 12)
    seen = torch.arange(shape[1]).expand(shape)
    assert top_columns(scores, 3, seen).columns.tolist() == [[-1, -1, -1]] * shape[0]


@pytest.mark.parametrize("kind", ["tied", "missing"])
def test_several_interests_are_merged_by_maximum(kind: str) -> None:
    scores = make_scores(kind, (3, 3, 600), torch.float16)
    require_best(top_columns(scores, 15), scores, 15)


def test_so_many_columns_may_be_seen_that_no_quantile_helps() -> None:
    scores = make_scores("random", (1, 5_000), torch.float32)
    seen = list_columns(1, 5_000, 4_500, "padded", 1)
    require_best(top_columns(scores, 9, seen.columns), scores, 9, seen)


@pytest.mark.parametrize("ties", ["lowest column", "highest column"])
def test_the_best_of_parts_are_merged(monkeypatch: pytest.MonkeyPatch, ties: str) -> None:
    pytest.importorskip("triton", reason="missing: triton (pip install 'rectitude[dev]')")
    from rectitude.torch.kernels import top_triton

    monkeypatch.setattr(top_triton, "SPLIT_FROM", 500)
    scores = make_scores("tied", (1, 2_100), torch.float32)
    seen = list_columns(1, 2_100, 10, "padded", 1)
    found = top_columns(scores, 30, seen.columns, ties=ties)  # type: ignore[arg-type]
    require_best(found, scores, 30, seen, ties=ties)
