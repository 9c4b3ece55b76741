"""Building blocks of the kernels for dense rows. Importing this module imports numba.

Comparing 64 adjacent values gives 64 bits, so a single branch skips a block without any match, and
each match costs only a few cycles. Numba does not compile Python loops to these vector
instructions: as a loop, the same search takes more than five times as long. The plain loops at the
end do compile to vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from rectitude.kernels import subkernel

LANES = 64
INDEX_TYPE = ir.IntType(32)
MAKE_ARRAY: Any = make_array


def _make_intrinsic(function: Callable[..., Any]) -> Any:
    """Make an intrinsic: a function that writes machine code into the kernels that call it."""
    return intrinsic(function)


def _load_vector(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Load 64 values of an array, starting at an index."""
    data = MAKE_ARRAY(kind)(context, builder, array).data
    element = context.get_data_type(kind.dtype)
    pointer = builder.gep(data, [index])
    pointer = builder.bitcast(pointer, ir.VectorType(element, LANES).as_pointer())
    return builder.load(pointer, align=context.get_abi_sizeof(element))


def _make_comparison(predicate: str, unordered: Literal["counts", "fails"]) -> Any:
    """Make a function that compares 64 values from an index on with a limit; one bit per value.

    The first value has the lowest bit. NaN is unordered; `unordered` says whether it counts.
    """

    @_make_intrinsic
    def compare(typing_context: Any, values: Any, index: Any, limit: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = _load_vector(context, builder, signature.args[0], arguments[0], arguments[1])
            undefined = ir.Constant(vector.type, ir.Undefined)
            first_lane = builder.insert_element(undefined, arguments[2], INDEX_TYPE(0))
            zeros = ir.Constant(ir.VectorType(INDEX_TYPE, LANES), [0] * LANES)
            limits = builder.shuffle_vector(first_lane, undefined, zeros)
            build = builder.fcmp_unordered if unordered == "counts" else builder.fcmp_ordered
            return builder.bitcast(build(predicate, vector, limits), ir.IntType(LANES))

        return types.uint64(values, types.int64, values.dtype), generate

    return compare


not_below = _make_comparison(">=", unordered="counts")
higher = _make_comparison(">", unordered="fails")
equal = _make_comparison("==", unordered="fails")


@_make_intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Return the index of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@_make_intrinsic
def highest_bit(typing_context: Any, bits: Any) -> Any:
    """Return the index of the highest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        empty = builder.ctlz(arguments[0], ir.IntType(1)(1))
        return builder.sub(ir.IntType(64)(LANES - 1), empty)

    return types.int64(types.uint64), generate


@_make_intrinsic
def bit_count(typing_context: Any, bits: Any) -> Any:
    """Count the bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@_make_intrinsic
def scale(typing_context: Any, value: Any, power: Any) -> Any:
    """Multiply a float32 by a power of two through its exponent, without checking for overflow."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], ir.IntType(32))
        raised = builder.add(bits, builder.shl(arguments[1], ir.IntType(32)(23)))
        return builder.bitcast(raised, ir.FloatType())

    return types.float32(types.float32, types.int32), generate


@subkernel
def longest(start):  # type: ignore[no-untyped-def]
    """Return the length of the longest row."""
    length = 0
    for row in range(len(start) - 1):
        length = max(length, start[row + 1] - start[row])
    return length


@subkernel
def fetch(line, columns, values):  # type: ignore[no-untyped-def]
    """Copy the scores of some columns into `values`; column 0 replaces missing columns."""
    for number in range(len(columns)):
        values[number] = line[max(columns[number], 0)]


@subkernel
def bisect(rising, value):  # type: ignore[no-untyped-def]
    """Count the ascending values below `value`; the number of steps does not depend on it."""
    low, size = 0, len(rising)
    while size > 0:
        half = (size + 1) >> 1
        low += half * (rising[low + half - 1] < value)
        size -= half
    return low


@subkernel
def count_above(values, limit):  # type: ignore[no-untyped-def]
    """Count the values above a limit. A 32-bit sum lets the compiler use vector instructions."""
    total = np.int32(0)
    for position in range(len(values)):
        total = np.int32(total + np.int32(values[position] > limit))
    return np.int64(total)


@subkernel
def count_least(values, limit):  # type: ignore[no-untyped-def]
    """Count the values above or equal to a limit."""
    total = np.int32(0)
    for position in range(len(values)):
        total = np.int32(total + np.int32(values[position] >= limit))
    return np.int64(total)


@subkernel
def count_equal(values, limit):  # type: ignore[no-untyped-def]
    """Count the values equal to a limit."""
    total = np.int32(0)
    for position in range(len(values)):
        total = np.int32(total + np.int32(values[position] == limit))
    return np.int64(total)


@subkernel
def count_both(values, limit):  # type: ignore[no-untyped-def]
    """Count the values above a limit and those equal to it, if none is NaN."""
    above, at_least = 0, 0
    blocks_end = len(values) // LANES * LANES
    for block in range(0, blocks_end, LANES):
        above += bit_count(higher(values, block, limit))
        at_least += bit_count(not_below(values, block, limit))
    rest = values[blocks_end:]
    return above + count_above(rest, limit), at_least - above + count_equal(rest, limit)
