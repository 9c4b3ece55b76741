"""Running totals of groups are computed separately, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from rectitude.arrays import accumulate_groups


@pytest.mark.parametrize("combine", [np.add, np.multiply])
@pytest.mark.parametrize("longest", [1, 5, 31, 32, 33, 200])
def test_every_group_accumulates_separately(combine: np.ufunc, longest: int) -> None:
    random = np.random.default_rng(longest)
    lengths = [*random.integers(1, longest + 1, 6).tolist(), longest]
    values = random.random(sum(lengths))
    group = np.repeat(np.arange(len(lengths)) * 3, lengths)
    found = accumulate_groups(combine, values, group)
    parts = np.split(values, np.cumsum(lengths)[:-1])
    alone = np.concatenate([combine.accumulate(part) for part in parts])
    assert found.tobytes() == alone.tobytes()


def test_an_empty_array_accumulates_to_an_empty_array() -> None:
    assert len(accumulate_groups(np.add, np.empty(0), np.empty(0, np.int64))) == 0


def test_the_input_is_not_changed() -> None:
    values = np.array([1.0, 2.0, 3.0])
    accumulate_groups(np.add, values, np.zeros(3, np.int64))
    assert values.tolist() == [1.0, 2.0, 3.0]
