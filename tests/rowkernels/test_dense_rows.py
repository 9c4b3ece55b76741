"""Dense rows, checked by hand: standings, masks, single targets and the inputs of kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rectitude.arrays import Integers, Ragged
from rectitude.rowkernels import rows
from rectitude.rowkernels.standings import MASKED

pytestmark = pytest.mark.usefixtures("kernels")


def wanted(*columns: list[int]) -> Ragged:
    start = np.cumsum([0, *map(len, columns)])
    return Ragged(start, np.array([column for row in columns for column in row], np.int64))


def places(
    scores: object, asked: Ragged, masked: Ragged | None = None, depth: int | None = None
) -> list[tuple[int, ...]]:
    found, broken = rows.count(np.array(scores, np.float32), asked, masked, depth)
    assert not broken.any()
    return list(zip(*(values.tolist() for values in found), strict=True))


def test_ties_count_themselves_and_those_with_a_lower_column() -> None:
    assert places([[1, 3, 1, 2, 1]], wanted([4, 1, 0, 2])) == [
        (2, 3, 2), (0, 1, 0), (2, 3, 0), (2, 3, 1)
    ]  # fmt: skip


def test_masked_columns_are_neither_above_nor_tied() -> None:
    scores = [[5, 1, 3, 1, 1, 9]]
    assert places(scores, wanted([4, 2, 0]), wanted([0, 1, 5])) == [
        (1, 2, 1),
        (0, 1, 0),
        (MASKED, 0, 0),
    ]


def test_an_item_without_a_column_has_no_rank() -> None:
    assert places([[1, 2], [2, 1]], wanted([-1], [0, -1])) == [(-1, 0, 0), (0, 1, 0), (-1, 0, 0)]


def test_depth_ends_at_the_columns_above_and_not_at_ties() -> None:
    scores = [[4, 4, 3, 3, 2]]
    assert places(scores, wanted([1, 3, 4]), depth=2) == [(0, 2, 1), (-1, 0, 0), (-1, 0, 0)]
    assert places(scores, wanted([1, 3, 4]), depth=3) == [(0, 2, 1), (2, 2, 1), (-1, 0, 0)]


def test_masked_columns_do_not_use_up_the_depth() -> None:
    assert places([[4, 3, 2, 1]], wanted([2, 3]), wanted([0, 1]), 1) == [(0, 1, 0), (-1, 0, 0)]


def test_rows_without_wanted_items_and_with_everything_masked() -> None:
    scores = [[1, 2], [1, 2], [1, 2]]
    asked, masked = wanted([], [0], [1]), wanted([], [0, 1], [])
    assert places(scores, asked, masked) == [(MASKED, 0, 0), (0, 1, 0)]
    found = rows.best(np.array(scores, np.float32), masked, 3)
    assert found.tolist() == [[1, 0, -1], [-1, -1, -1], [1, 0, -1]]


def test_infinite_scores_are_ordinary_and_zeros_equal() -> None:
    scores = [[-np.inf, 0.0, np.inf, -0.0, np.inf]]
    asked = wanted([0, 1, 2, 3, 4])
    assert places(scores, asked) == [(4, 1, 0), (2, 2, 0), (0, 2, 0), (2, 2, 1), (0, 2, 1)]
    assert rows.best(np.array(scores), None, 5).tolist() == [[2, 4, 1, 3, 0]]


def long_row(columns: int = 20_000) -> tuple[np.ndarray, Integers]:
    """Distinct scores in a scrambled order, and the columns from best to worst."""
    order = np.arange(columns) * 7919 % columns
    scores = np.empty((1, columns), np.float32)
    scores[0, order] = np.arange(columns, 0, -1)
    return scores, order


@pytest.mark.parametrize("depth", [1, 50, 100, 3000, None])
def test_items_of_a_long_row_are_found_down_to_the_depth(depth: int | None) -> None:
    scores, order = long_row()
    at = np.array([19_999, 0, 99, 49, 50, 100, 5000, 1, 2999, 3000])
    found, _ = rows.count(scores, wanted(order[at].tolist()), None, depth)
    expected = [place if depth is None or place < depth else -1 for place in at.tolist()]
    assert found.above.tolist() == expected


def test_a_long_row_of_high_masked_scores_hides_no_item() -> None:
    scores, order = long_row()
    asked, masked = wanted(order[[300, 399, 400]].tolist()), wanted(sorted(order[:300].tolist()))
    found, _ = rows.count(scores, asked, masked, 100)
    assert found.above.tolist() == [0, 99, -1]


def test_many_equal_scores_above_the_depth_are_counted_in_full() -> None:
    scores, order = long_row()
    scores[0, order[50:15_000]] = scores[0, order[50]]
    equal = np.flatnonzero(scores[0] == scores[0, order[50]]).tolist()
    asked = wanted([int(order[10]), equal[-1], int(order[18_000])])
    found, _ = rows.count(scores, asked, None, 100)
    assert found.above.tolist() == [10, 50, -1]
    assert found.tied.tolist() == [1, 14_950, 0]
    assert found.before.tolist() == [0, 14_949, 0]


@pytest.mark.parametrize("column", [0, 4_000, 19_999])
@pytest.mark.parametrize("asked", [[], [3], [0, 1, 2]])
@pytest.mark.parametrize("depth", [None, 2])
def test_a_nan_is_found_in_any_column(column: int, asked: list[int], depth: int | None) -> None:
    scores = np.concatenate([long_row()[0]] * 3)
    scores[1, column] = np.nan
    found, broken = rows.count(
        scores, wanted(asked, asked, asked), wanted([column], [column], []), depth
    )
    assert broken.tolist() == [False, True, False]
    middle = slice(len(asked), 2 * len(asked))
    assert set(found.above[middle].tolist()) <= {-1}
    singles, flags = rows.single(scores, np.array([5, 5, 5]), "loss")
    assert flags.tolist() == [False, True, False]
    assert (singles.above[1], singles.best[1], singles.second[1]) == (-1, -1, -1)
    assert np.isnan(singles.loss[1])  # type: ignore[index]


def test_a_nan_is_never_among_the_best() -> None:
    scores = np.array([[np.nan, 1, np.nan, 2]], np.float32)
    assert rows.best(scores, None, 4).tolist() == [[3, 1, -1, -1]]
    assert rows.best(np.full((1, 200), np.nan), None, 2).tolist() == [[-1, -1]]


def test_the_target_of_a_row_and_the_best_column() -> None:
    logits = np.array([[1, 5, 5, 2], [7, 0, 0, 0], [0, 1, 2, 3]], np.float64)
    found, _ = rows.single(logits, np.array([2, 0, -1]), "loss")
    assert found.above.tolist() == [0, 0, -1]
    assert found.tied.tolist() == [2, 1, 0]
    assert found.before.tolist() == [1, 0, 0]
    assert found.best.tolist() == [1, 0, 3]
    assert found.best_tied.tolist() == [2, 1, 1]
    assert found.second.tolist() == [1, -1, 3]
    expected = np.log(np.exp(logits).sum(axis=1)) - [5, 7, -np.inf]
    assert found.loss == pytest.approx(expected, rel=1e-14)


def test_the_loss_of_infinite_logits() -> None:
    low = np.full((4, 5000), -np.inf, np.float32)
    low[1:, 4500] = 3.0
    low[3, 0] = np.inf
    loss = rows.single(low, np.array([0, 4500, 0, 4500]), "loss")[0].loss
    assert np.isnan(loss).tolist() == [True, False, False, True]
    assert loss[1:3].tolist() == [0.0, np.inf]


@pytest.mark.parametrize("k", [1, 7, 1000, 1024, 1025, 25_000])
def test_the_best_of_a_long_row(k: int) -> None:
    scores, order = long_row()
    masked = np.sort(order[[0, 2, 7000]])
    left = order[~np.isin(order, masked)]
    found = rows.best(scores, Ragged(np.array([0, 3]), masked), k)
    assert found[0, : len(left)].tolist() == left[:k].tolist()
    assert set(found[0, len(left) :].tolist()) <= {-1}


@pytest.mark.parametrize("turn", [1, -1])
def test_the_best_of_a_sorted_row(turn: int) -> None:
    scores = np.arange(9_000.0)[None, ::turn].copy()
    expected = np.arange(9_000)[::-turn][:150]
    assert rows.best(scores, None, 150)[0].tolist() == expected.tolist()


def test_columns_may_be_32_or_64_bits_wide_and_scores_read_only(tmp_path: Path) -> None:
    scores = np.concatenate([long_row(3000)[0]] * 2)
    np.save(tmp_path / "scores.npy", scores)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    asked, masked = wanted([1, 2], [3]), wanted([4], [5, 6])
    narrow = [Ragged(each.offsets, each.values.astype(np.int32)) for each in (asked, masked)]
    before = scores.copy()
    one, _ = rows.count(scores, asked, masked, 20)
    two, _ = rows.count(mapped, *narrow, 20)
    assert np.stack(one).tolist() == np.stack(two).tolist()
    assert rows.best(scores, masked, 5).tolist() == rows.best(mapped, narrow[1], 5).tolist()
    assert (scores == before).all()


def test_empty_input_is_fine() -> None:
    nothing = Ragged(np.zeros(1, np.int64), np.empty(0, np.int64))
    found, broken = rows.count(np.empty((0, 5), np.float32), nothing, nothing, 3)
    assert len(found.above) == len(broken) == 0
    assert rows.best(np.empty((0, 5), np.float32), None, 3).shape == (0, 3)


@pytest.mark.parametrize("kernels", ["numba"], indirect=True)
def test_all_kinds_of_arrays_share_the_machine_code() -> None:
    from rectitude.kernels import kernel
    from rectitude.rowkernels.counting import count_kernel

    scores, _ = long_row(3000)
    for flag in (True, False):
        scores.setflags(write=flag)
        for width in (np.int32, np.int64):
            asked = Ragged(np.array([0, 1]), np.array([3], width))
            rows.count(scores, asked, asked, 5)
    signatures = kernel(count_kernel).signatures  # type: ignore[attr-defined]
    assert len([each for each in signatures if "float32" in str(each[0])]) == 1


@pytest.mark.parametrize("kernels", ["numpy"], indirect=True)
def test_small_inputs_do_not_import_numba() -> None:
    code = (
        "import sys, numpy as np; from rectitude.arrays import Ragged;"
        "from rectitude.rowkernels import rows; x = np.ones((5, 5));"
        "w = Ragged(np.arange(6), np.arange(5)); rows.count(x, w, w, 2);"
        "rows.single(x, np.arange(5), 'loss'); rows.best(x, w, 3); sys.exit('numba' in sys.modules)"
    )
    environment = {"RECTITUDE_KERNELS": "", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
