"""What the kernels of dense rows are made of, compiled: importing this imports numba.

A compare of 64 neighbours gives 64 bits, so one branch skips a block that holds nothing of
interest, and each find costs a few cycles. No loop in Python compiles to these vector instructions:
written as one, the same search takes more than five times as long. The plain loops at the end do
compile to vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from rectitude.kernels import part

LANES = 64
PLACE = ir.IntType(32)
ARRAY: Any = make_array


def _instruction(function: Callable[..., Any]) -> Any:
    """A function that writes machine code into the kernels that call it."""
    return intrinsic(function)


def _vector(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Load the 64 values of an array that begin at an index."""
    data = ARRAY(kind)(context, builder, array).data
    element = context.get_data_type(kind.dtype)
    pointer = builder.gep(data, [index])
    pointer = builder.bitcast(pointer, ir.VectorType(element, LANES).as_pointer())
    return builder.load(pointer, align=context.get_abi_sizeof(element))


def _compared(predicate: str, unordered: Literal["counts", "fails"]) -> Any:
    """A function that compares 64 values from an index on with a limit, and gives a bit for each.

    The first value has the lowest bit. A NaN is unordered: whether it counts is to be said.
    """

    @_instruction
    def compare(typing_context: Any, values: Any, index: Any, limit: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = _vector(context, builder, signature.args[0], arguments[0], arguments[1])
            nothing = ir.Constant(vector.type, ir.Undefined)
            one = builder.insert_element(nothing, arguments[2], PLACE(0))
            everywhere = ir.Constant(ir.VectorType(PLACE, LANES), [0] * LANES)
            limits = builder.shuffle_vector(one, nothing, everywhere)
            build = builder.fcmp_unordered if unordered == "counts" else builder.fcmp_ordered
            return builder.bitcast(build(predicate, vector, limits), ir.IntType(LANES))

        return types.uint64(values, types.int64, values.dtype), generate

    return compare


not_below = _compared(">=", unordered="counts")
higher = _compared(">", unordered="fails")
equal = _compared("==", unordered="fails")


@_instruction
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@_instruction
def highest_bit(typing_context: Any, bits: Any) -> Any:
    """The number of the highest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        empty = builder.ctlz(arguments[0], ir.IntType(1)(1))
        return builder.sub(ir.IntType(64)(LANES - 1), empty)

    return types.int64(types.uint64), generate


@_instruction
def bit_count(typing_context: Any, bits: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@_instruction
def scaled(typing_context: Any, value: Any, power: Any) -> Any:
    """A 32-bit float times a power of two, which is added to its exponent; no limit is checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], ir.IntType(32))
        raised = builder.add(bits, builder.shl(arguments[1], ir.IntType(32)(23)))
        return builder.bitcast(raised, ir.FloatType())

    return types.float32(types.float32, types.int32), generate


@part
def longest(start):  # type: ignore[no-untyped-def]
    """The length of the longest row."""
    most = 0
    for row in range(len(start) - 1):
        most = max(most, start[row + 1] - start[row])
    return most


@part
def fetch(line, columns, values):  # type: ignore[no-untyped-def]
    """The scores of some columns; of column 0 where there is none."""
    for number in range(len(columns)):
        values[number] = line[max(columns[number], 0)]


@part
def bisect(rising, value):  # type: ignore[no-untyped-def]
    """How many of some ascending values are smaller. The steps do not depend on the value."""
    low, size = 0, len(rising)
    while size > 0:
        half = (size + 1) >> 1
        low += half * (rising[low + half - 1] < value)
        size -= half
    return low


@part
def count_above(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher. The sum is narrow so that whole vectors are compared."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] > limit))
    return np.int64(found)


@part
def count_least(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher or the same."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] >= limit))
    return np.int64(found)


@part
def count_equal(values, limit):  # type: ignore[no-untyped-def]
    """How many values are the same."""
    found = np.int32(0)
    for place in range(len(values)):
        found = np.int32(found + np.int32(values[place] == limit))
    return np.int64(found)


@part
def count_both(values, limit):  # type: ignore[no-untyped-def]
    """How many values are higher, and how many the same, if none is NaN."""
    more, least = 0, 0
    whole = len(values) // LANES * LANES
    for block in range(0, whole, LANES):
        more += bit_count(higher(values, block, limit))
        least += bit_count(not_below(values, block, limit))
    rest = values[whole:]
    return more + count_above(rest, limit), least - more + count_equal(rest, limit)
