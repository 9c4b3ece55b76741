"""Ranks of targets, best columns and the loss are those of logits in 64 bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from kernel_cases import CASES, make_scores, on_device
from oracles import logits_by_hand

from rectitude.torch import kernels
from rectitude.torch.kernels import LogitCounts

count_logits = on_device(kernels.count_logits)


def targets_of(rows: int, columns: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(9)
    targets = torch.randint(0, columns, (rows,), generator=generator)
    targets[rows // 2 :: 4] = columns  # no class
    targets[rows // 2 + 1 :: 4] = -1
    return targets


def require_counts(found: LogitCounts, logits: torch.Tensor, targets: torch.Tensor) -> None:
    for row, line in enumerate(logits.double().numpy()):
        counts, values = logits_by_hand(line, int(targets[row]))
        got = found.counts[:, row].numpy().copy()
        loss, lse, *best = found.values[:, row].tolist()
        if counts[6]:  # best columns have no meaning, nor has the loss
            got[3:6], counts[3:6] = 0, 0
            assert np.isnan(lse)
        else:
            assert best == values[2:].tolist(), f"best of row {row}"
            np.testing.assert_allclose(  # the documented precision of the loss
                (loss, lse), values[:2], rtol=1e-6, atol=1e-6, err_msg=f"row {row}"
            )
        np.testing.assert_array_equal(got, counts, f"row {row}")


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_every_kind_of_logits_is_counted_as_in_64_bits(kind: str, dtype: torch.dtype) -> None:
    logits, targets = make_scores(kind, (3, 530), dtype), targets_of(3, 530)
    require_counts(count_logits(logits, targets), logits, targets)


@pytest.mark.parametrize("columns", [1, 2, 511, 512])
def test_rows_of_any_length_are_counted(columns: int) -> None:
    logits, targets = make_scores("tied", (2, columns), torch.float32), targets_of(2, columns)
    require_counts(count_logits(logits, targets), logits, targets)


@pytest.mark.parametrize("kind", ["tied", "missing"])
def test_long_rows_are_counted_with_more_lanes(kind: str) -> None:
    logits, targets = make_scores(kind, (2, 8_200), torch.float32), targets_of(2, 8_200)
    require_counts(count_logits(logits, targets), logits, targets)


def test_the_best_columns_are_found_wherever_they_lie() -> None:
    logits = torch.zeros(3, 1_100)
    places = [(0, 1_099), (511, 512), (1_024, 1_025)]
    for row, places_of_row in enumerate(places):
        logits[row, list(places_of_row)] = 2.0
    for column in (0, 1):  # the target is the first, or the last, of the best
        targets = torch.tensor([both[column] for both in places])
        found = count_logits(logits, targets)
        require_counts(found, logits, targets)
        assert found.counts[5].tolist() == [both[1 - column] for both in places]


def test_logits_of_no_rows_give_empty_counts() -> None:
    found = count_logits(torch.empty(0, 4), torch.empty(0, dtype=torch.int64))
    assert (found.counts.shape, found.values.shape) == ((8, 0), (4, 0))
