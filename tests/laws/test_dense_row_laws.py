"""Dense rows against plain sorting, and the kernels against their NumPy twins, bit for bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies import environment

from rectitude.arrays import Ragged
from rectitude.rowkernels import rows
from rectitude.rowkernels.standings import MASKED

WAYS = ("numpy", "numba")
KINDS: dict[str, Any] = {
    "distinct": lambda random, shape: random.permuted(
        np.arange(shape[0] * shape[1], dtype=float).reshape(shape), axis=1
    ),
    "six values": lambda random, shape: random.integers(0, 6, shape).astype(float),
    "all equal": lambda random, shape: np.full(shape, 0.25),
    "infinite": lambda random, shape: random.choice([-np.inf, -0.0, 0.0, 1.0, np.inf], shape),
    "falling": lambda random, shape: -np.sort(random.standard_normal(shape), axis=1),
    "mostly equal": lambda random, shape: np.maximum(random.standard_normal(shape), 1.0),
}


class Case(NamedTuple):
    scores: NDArray[Any]
    wanted: Ragged
    masked: Ragged | None


@st.composite
def cases(draw: st.DrawFn) -> Case:
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = draw(st.sampled_from((1, 2, 3, 9, 63, 64, 65, 130, 1000, 2500)))
    shape = (draw(st.integers(1, 4)), columns)
    scores = KINDS[draw(st.sampled_from(sorted(KINDS)))](random, shape)
    kind = draw(st.sampled_from((np.float32, np.float64)))
    most = draw(st.sampled_from((0, 3, columns // 2, columns)))
    masked = None if draw(st.booleans()) else _drawn(random, shape, most)
    return Case(scores.astype(kind), _wanted(random, shape), masked)


def _drawn(random: np.random.Generator, shape: tuple[int, int], most: int) -> Ragged:
    """Up to so many columns of each row, ascending."""
    parts = [
        np.sort(random.permutation(shape[1])[: random.integers(0, most + 1)])
        for _ in range(shape[0])
    ]
    start = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
    return Ragged(start, np.concatenate(parts))


def _wanted(random: np.random.Generator, shape: tuple[int, int]) -> Ragged:
    """Some columns in any order, and some that do not exist."""
    drawn = _drawn(random, shape, min(shape[1], 12))
    start, column = drawn.offsets, drawn.values
    column[random.random(len(column)) < 0.1] = -1
    for first, last in pairwise(start):
        column[first:last] = random.permutation(column[first:last])
    return Ragged(start, column)


def _row(of: Ragged | None, row: int) -> list[int]:
    return [] if of is None else of.values[of.offsets[row] : of.offsets[row + 1]].tolist()


def _ordered(case: Case, row: int) -> list[int]:
    """Unmasked columns, best first, lower columns first among equals."""
    masked = set(_row(case.masked, row))
    left = [column for column in range(case.scores.shape[1]) if column not in masked]
    return sorted(left, key=lambda column: -case.scores[row, column])


def _stands(values: NDArray[Any], ordered: list[int], column: int, depth: int | None) -> Any:
    if column not in ordered:
        return (-1 if column < 0 else MASKED), 0, 0
    falling = values[ordered]
    above = int((falling > values[column]).sum())
    tied = int((falling == values[column]).sum())
    if depth is not None and above >= depth:
        return -1, 0, 0
    return above, tied, ordered.index(column) - above


def _numba(way: str) -> None:
    if way == "numba":
        pytest.importorskip("numba", reason="numba is not installed: pip install numba")


@pytest.mark.parametrize("way", WAYS)
@given(cases(), st.sampled_from((None, 1, 5, 100, 5000)))
def test_counting_gives_the_places_of_a_sorted_row(way: str, case: Case, depth: int | None) -> None:
    _numba(way)
    with environment(RECTITUDE_KERNELS=way):
        found, broken = rows.count(*case, depth)
    expected = [
        _stands(values, ordered, column, depth)
        for row, values in enumerate(case.scores)
        for ordered in [_ordered(case, row)]
        for column in _row(case.wanted, row)
    ]
    assert np.stack(found, axis=1).tolist() == [list(place) for place in expected]
    assert not broken.any()


@pytest.mark.parametrize("way", WAYS)
@given(cases(), st.sampled_from((1, 2, 10, 100, 1000, 3000)))
def test_the_best_columns_are_the_first_of_a_sorted_row(way: str, case: Case, k: int) -> None:
    _numba(way)
    with environment(RECTITUDE_KERNELS=way):
        found = rows.best(case.scores, case.masked, k)
    for row, columns in enumerate(found.tolist()):
        expected = _ordered(case, row)[:k]
        assert columns == expected + [-1] * (k - len(expected))


@pytest.mark.parametrize("way", WAYS)
@given(cases(), st.randoms(use_true_random=False))
def test_a_single_target_stands_where_a_sorted_row_has_it(
    way: str, case: Case, random: Any
) -> None:
    _numba(way)
    scores = case.scores
    target = np.array([random.randrange(-1, scores.shape[1]) for _ in scores])
    with environment(RECTITUDE_KERNELS=way):
        found, broken = rows.single(scores, target, "ranks")
    for row, values in enumerate(scores):
        ordered = _ordered(case._replace(masked=None), row)
        first = np.flatnonzero(values == values.max()).tolist()
        others = [column for column in first if column != target[row]]
        stands = _stands(values, ordered, target[row], None)
        assert (found.above[row], found.tied[row], found.before[row]) == stands
        assert (found.best[row], found.best_tied[row]) == (first[0], len(first))
        assert found.second[row] == (others[0] if others else -1)
    assert found.loss is None
    assert not broken.any()


@given(
    st.lists(st.floats(-300, 300, width=32), min_size=1, max_size=40),
    st.sampled_from((np.float32, np.float64)),
    st.integers(1, 300),
)
def test_both_losses_are_the_logarithm_of_the_sum(
    values: list[float], kind: type, times: int
) -> None:
    logits = np.tile(np.array(values, kind), times)[None]
    wide = logits[0].astype(np.longdouble)
    exact = np.log(np.exp(wide - wide.max()).sum()) + wide.max() - wide[0]
    losses = []
    for way in WAYS:
        _numba(way)
        with environment(RECTITUDE_KERNELS=way):
            singles, _ = rows.single(logits, np.array([0]), "loss")
            losses.append(singles.loss[0])  # type: ignore[index]
    assert losses[0] == pytest.approx(float(exact), rel=1e-13, abs=1e-13)
    assert losses[1] == pytest.approx(
        float(exact), rel=1e-13, abs=1e-6 if kind is np.float32 else 1e-13
    )


@settings(max_examples=25)
@given(cases(), st.sampled_from((None, 1, 30)), st.sampled_from((1, 20, 300)), st.booleans())
def test_kernels_threads_and_blocks_do_not_change_a_bit(
    case: Case, depth: int | None, k: int, broken: bool
) -> None:
    _numba("numba")
    if broken:
        case.scores[-1, -1] = np.nan
    target = np.full(len(case.scores), case.scores.shape[1] - 1)
    seen = []
    for way, threads, block in (("numpy", "1", 1 << 18), ("numpy", "2", 1), ("numba", "1", 1 << 18),
                                ("numba", "2", 1), ("numba", "3", 1300)):  # fmt: skip
        with (
            environment(RECTITUDE_KERNELS=way, RECTITUDE_THREADS=threads),
            patch.object(rows, "BLOCK", block),
        ):
            standings, flags = rows.count(*case, depth)
            singles, holes = rows.single(case.scores, target, "ranks")
            best = rows.best(case.scores, case.masked, k)
        answers = (*standings, flags, *singles[:6], holes, best)
        assert [answer.dtype for answer in answers] == [
            *[np.int64] * 3, np.bool_, *[np.int64] * 6, np.bool_, np.int64
        ]  # fmt: skip
        seen.append([answer.tolist() for answer in answers])
    assert all(answers == seen[0] for answers in seen[1:])
    assert seen[0][3] == [False] * (len(target) - 1) + [broken]
