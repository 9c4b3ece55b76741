"""Exact sums against fractions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rectitude.aggregate.sums import Sums
from rectitude.exact import (
    UNIT_BITS,
    digits,
    quotient,
    total,
    total_of_squares,
    total_repeated,
    totals_repeated,
    units,
    whole,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
tiny = st.floats(-1e-300, 1e-300)
huge = st.floats(min_value=1e300, allow_infinity=False) | st.floats(
    max_value=-1e300, allow_infinity=False
)
numbers = st.lists(
    finite | tiny | huge | st.sampled_from((0.0, -0.0, 5e-324, 2.0**960, 2.0**961)), max_size=40
)
states = st.builds(Sums, *[st.integers(-(2**2000), 2**2000)] * 5, *[st.integers(0, 2**60)] * 3)


def exact(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0)) * 2**UNIT_BITS


@given(numbers)
@example([1e308, 1e308, -1e308])
@example([5e-324] * 3)
@example([2.0**960, -(2.0**960), 5e-324])
@example([1.0, 2.0**-53, 2.0**-106, -1.0])
def test_total_is_the_sum_of_fractions(values: list[float]) -> None:
    assert total(np.array(values)) == exact(values)


@given(numbers, st.randoms())
def test_total_does_not_depend_on_order_or_batches(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    cut = len(values) // 3
    whole = total(np.array(values))
    assert total(np.array(shuffled)) == whole
    assert total(np.array(shuffled[:cut])) + total(np.array(shuffled[cut:])) == whole


ordinary = st.floats(1e-100, 1e100) | st.floats(-1e100, -1e-100) | st.just(0.0)


@given(st.lists(ordinary, max_size=20))
@example([0.1] * 3)
@example([2.0**40 + 1.5])
def test_squares_are_added_up_without_rounding(values: list[float]) -> None:
    expected = sum((Fraction(value) ** 2 for value in values), Fraction(0)) * 2**UNIT_BITS
    assert total_of_squares(np.array(values, float)) == expected


@given(st.lists(st.integers(-(2**3000), 2**3000), min_size=1, max_size=5))
@example([0])
@example([2**32 - 1, 1])
def test_digits_add_up_like_the_sums_they_represent(sums: list[int]) -> None:
    parts = [digits(number) for number in sums]
    longest = max(map(len, parts))
    added = sum(np.pad(part, (0, longest - len(part))) for part in parts)
    assert whole(np.asarray(added)) == sum(sums)


def test_total_of_many_numbers_of_every_size_is_exact() -> None:
    random = np.random.default_rng(3)
    values = random.standard_normal(20_000) * np.exp2(random.integers(-1000, 900, 20_000))
    assert total(values) == exact(values.tolist())
    shares = random.random(100_000)
    assert total(shares) == exact(shares.tolist())


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_total_refuses_numbers_that_are_not_finite(wrong: float) -> None:
    for values in ([wrong], [1.0, wrong], [wrong, 2.0**970]):
        with pytest.raises(ValueError, match="finite"):
            total(np.array(values))


@given(finite)
def test_units_are_exact(value: float) -> None:
    assert Fraction(units(value), 2**UNIT_BITS) == Fraction(value)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_mean_is_rounded_once(values: list[float]) -> None:
    mean = quotient(total(np.array(values)), len(values) << UNIT_BITS)
    assert mean == float(sum(map(Fraction, values)) / len(values))


@given(st.integers(-(2**3000), 2**3000), st.integers(1, 2**3000))
def test_a_quotient_is_the_nearest_float(above: int, below: int) -> None:
    try:
        expected = float(Fraction(above, below))
    except OverflowError:
        expected = math.copysign(math.inf, 1 if above > 0 else -1)
    assert quotient(above, below) == expected


def test_a_quotient_by_zero_is_nan_or_infinite() -> None:
    assert math.isnan(quotient(0, 0))
    assert quotient(1, 0) == math.inf
    assert quotient(-1, 0) == -math.inf
    assert quotient(units(1.0), 0) == math.inf
    assert quotient(-units(1e300), 0) == -math.inf


@given(states, states, states)
def test_states_add_in_any_order(one: Sums, two: Sums, three: Sums) -> None:
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Sums() == one


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.randoms())
def test_states_of_single_values_add_up_to_the_state_of_all(
    values: list[float], random: object
) -> None:
    one = [Sums(above=units(v), below=1 << UNIT_BITS, counted=1) for v in values]
    random.shuffle(one)  # type: ignore[attr-defined]
    whole = reduce(add, one)
    assert whole.counted == len(values)
    assert whole.value == float(sum(map(Fraction, values)) / len(values))


@given(states)
def test_states_survive_json(state: Sums) -> None:
    assert Sums.from_dict(json.loads(json.dumps(state.as_dict()))) == state


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_the_error_of_a_mean_is_the_standard_error(values: list[float]) -> None:
    array = np.array(values)
    ones = len(values) << UNIT_BITS
    state = Sums(total(array), ones, total(array * array), ones, total(array), counted=len(values))
    exactly = [Fraction(v) for v in values]
    mean = sum(exactly) / len(values)
    variance = sum((v - mean) ** 2 for v in exactly) / (len(values) - 1) / len(values)
    # squares are rounded to a float before they are added exactly
    assert state.error**2 == pytest.approx(float(variance), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.6309297535714575, 0.9, 1.0, 0.0])
@pytest.mark.parametrize("count", [2, 3, 7, 1000])
def test_the_error_of_equal_values_is_zero(value: float, count: int) -> None:
    array = np.full(count, value)
    ones = count << UNIT_BITS
    state = Sums(total(array), ones, total(array * array), ones, total(array), counted=count)
    assert 0 <= state.error**2 <= 1e-15


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False, width=64), st.integers(1, 1 << 30)
        ),
        max_size=20,
    )
)
def test_repeated_values_add_up_as_often_as_they_occur(pairs: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in pairs])
    times = np.array([number for _, number in pairs], np.int64)
    assert total_repeated(values, times) == sum(units(value) * n for value, n in pairs)


@given(st.lists(numbers, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_rows_of_repeated_values_add_up_as_each_alone(rows: list[list[float]], random: Any) -> None:
    width = max(map(len, rows))
    times = np.array([random.choice((0, 1, 3, 1000, 2**41)) for _ in range(width)], np.int64)
    padded = np.array([row + [0.0] * (width - len(row)) for row in rows]).reshape(len(rows), width)
    found, counts = totals_repeated(padded, times), times.tolist()
    for row, exact_sum in zip(padded.tolist(), found, strict=True):
        assert exact_sum == sum(units(v) * n for v, n in zip(row, counts, strict=True))
