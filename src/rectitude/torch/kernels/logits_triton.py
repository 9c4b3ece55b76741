"""Logits in Triton: counts, log-sum-exp and the best columns in one pass over a row.

A lane keeps its highest logit, and its sum of exponentials relative to that. The columns of the
best logit are not followed: a lane remembers the first and last tile in which its highest logit
occurred, and these tiles are read again at the end.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .logits import LogitCounts
from .ranks_triton import total

SHORT, STEPS_SHORT = 8192, 16
"""Rows of up to so many columns are read by one warp, in tiles of 32 times so many columns."""
LONG, STEPS_LONG = 128, 8
"""Lanes of longer rows, and loads in a tile."""


@triton.jit
def read_tile(
    base, tile, lane, columns, MASKED: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr,
    KIND: tl.constexpr,
):  # fmt: skip
    """Return the logits of a tile as a tuple of vectors; NaN outside the row."""
    values = ()
    for step in tl.static_range(STEPS):
        here = tile + step * LANES + lane
        if MASKED:
            value = tl.load(base + here, mask=here < columns, other=float("nan")).to(KIND)
        else:
            value = tl.load(base + here).to(KIND)
        values = values + (value,)
    return values


@triton.jit
def take_tile(
    base, tile, lane, columns, target, own, state,
    MASKED: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    """Return the state of the lanes after one more tile."""
    above, equal, before, best, second, amount, first, last = state
    before = tl.where(tile <= target, equal, before)
    values = read_tile(base, tile, lane, columns, MASKED, LANES, STEPS, KIND)
    top = best
    for step in tl.static_range(STEPS):
        value = values[step]
        above += (value > own).to(tl.float32)
        equal += (value == own).to(tl.float32)
        second = tl.maximum(second, tl.minimum(top, keep_number(value, MASKED)))
        top = tl.maximum(top, value)
    first = tl.where(top > best, tile, first)
    last = tl.where(occurs(values, top, STEPS), tile, last)
    base_of_sum = tl.where(tl.abs(top) < float("inf"), top, 0.0)
    part = tl.zeros([LANES], KIND)
    for step in tl.static_range(STEPS):
        raised = tl.exp(values[step] - base_of_sum)
        if MASKED:
            here = tile + step * LANES + lane
            raised = tl.where(here < columns, raised, 0.0)
        part += raised
    amount = amount * tl.exp(best - base_of_sum).to(tl.float64) + part.to(tl.float64)
    return above, equal, before, top, second, amount, first, last


@triton.jit
def keep_number(value, MASKED: tl.constexpr):
    """Return a value, -inf for NaN outside the row."""
    if MASKED:
        value = tl.where(value == value, value, float("-inf"))
    return value


@triton.jit
def occurs(values, top, STEPS: tl.constexpr):
    """Return whether a lane's highest logit is among its values of a tile."""
    highest = values[0]
    for step in tl.static_range(1, STEPS):
        highest = tl.maximum(highest, values[step])
    return highest == top


@triton.jit
def find_in_tile(base, tile, columns, best, without, LAST: tl.constexpr, WIDE: tl.constexpr):
    """Return the first or last column of a tile with the best logit, other than `without`."""
    here = tile + tl.arange(0, WIDE)
    values = tl.load(base + here, mask=here < columns, other=float("nan")).to(best.dtype)
    found = (values == best) & (here != without)
    if LAST:
        column = tl.max(tl.where(found, here, -1), 0)
    else:
        column = tl.min(tl.where(found, here, 2147483647), 0)
    return column


@triton.jit
def count_rows(
    logits, stride, columns, targets, counts, values,
    KIND: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Count one row."""
    row = tl.program_id(0).to(tl.int64)
    rows = tl.num_programs(0)
    base = logits + row * stride
    lane = tl.arange(0, LANES)
    TILE: tl.constexpr = LANES * STEPS
    target = tl.load(targets + row).to(tl.int32)
    inside = (target >= 0) & (target < columns)
    target = tl.where(inside, target, -1)
    own = tl.load(base + target, mask=inside, other=float("nan")).to(KIND)
    none = tl.zeros([LANES], tl.float32)
    lowest = tl.full([LANES], float("-inf"), KIND)
    tiles = tl.zeros([LANES], tl.int32)
    state = (none, none, none, lowest, lowest, tl.zeros([LANES], tl.float64), tiles, tiles)
    whole = columns // TILE * TILE
    for tile in range(0, whole, TILE):
        state = take_tile(base, tile, lane, columns, target, own, state, False, LANES, STEPS, KIND)
    if whole < columns:
        state = take_tile(base, whole, lane, columns, target, own, state, True, LANES, STEPS, KIND)
    above, equal, before, best, second, amount, first, last = state
    top = tl.max(best, 0)
    alone = tl.sum((best == top).to(tl.int32), 0) == 1
    second_value = tl.max(tl.where((best == top) & alone, second, best), 0)
    second_value = tl.where(alone, tl.maximum(second_value, tl.max(second, 0)), top)
    reference = tl.where(tl.abs(top) < float("inf"), top, 0.0)
    raised = tl.exp(tl.where(best == float("-inf"), reference, best) - reference)
    sums = tl.sum(amount * raised.to(tl.float64), 0)
    lse = tl.log(sums)
    wide = reference.to(tl.float64)
    tl.store(values + row, lse + (wide - own.to(tl.float64)))
    tl.store(values + rows + row, lse + wide)
    tl.store(values + 2 * rows + row, top.to(tl.float64))
    tl.store(values + 3 * rows + row, second_value.to(tl.float64))
    level = total(equal) - tl.where(own == own, 1, 0)
    tile = target // TILE * TILE
    here = tile + tl.arange(0, TILE)
    near = tl.load(base + here, mask=here < target, other=float("nan")).to(KIND)  # none if -1
    lower = tl.sum((near == own).to(tl.int32), 0)
    tl.store(counts + row, tl.where(inside, total(above), -1))
    tl.store(counts + rows + row, tl.where(inside, level, 0))
    tl.store(counts + 2 * rows + row, tl.where(inside, total(before) + lower, 0))
    tile = tl.min(tl.where(best == top, first, 2147483647), 0)
    first_best = find_in_tile(base, tile, columns, top, -1, False, TILE)
    tile = tl.max(tl.where(best == top, last, -1), 0)
    last_best = find_in_tile(base, tile, columns, top, -1, True, TILE)
    tl.store(counts + 3 * rows + row, first_best)
    tl.store(counts + 4 * rows + row, last_best)
    tl.store(counts + 5 * rows + row, tl.where(first_best == target, -1, first_best))
    if (first_best == target) & (last_best != target):
        tile = first_best
        other = 2147483647
        while (other == 2147483647) & (tile < columns):
            other = find_in_tile(base, tile, columns, top, target, False, TILE)
            tile += TILE
        tl.store(counts + 5 * rows + row, other)
    if sums == sums:
        tl.store(counts + 6 * rows + row, 0)
        tl.store(counts + 7 * rows + row, -1)
    else:
        count_holes(base, columns, counts + 6 * rows + row, rows, KIND, TILE)


@triton.jit
def count_holes(base, columns, place, rows, KIND: tl.constexpr, WIDE: tl.constexpr):
    """Store the number of NaN in a row and the first: a second pass, where there may be some."""
    lane = tl.arange(0, WIDE)
    missing = tl.zeros([WIDE], tl.int32)
    first = tl.full([WIDE], 2147483647, tl.int32)
    for tile in range(0, columns, WIDE):
        here = tile + lane
        values = tl.load(base + here, mask=here < columns, other=0.0).to(KIND)
        hole = values != values
        missing += hole.to(tl.int32)
        first = tl.minimum(first, tl.where(hole, here, 2147483647))
    number = tl.sum(missing, 0)
    tl.store(place, number)
    tl.store(place + rows, tl.where(number > 0, tl.min(first, 0), -1))


def count_dense(logits: Tensor, target: Tensor) -> LogitCounts:
    """Count logits on the device."""
    rows, columns = logits.shape
    counts = torch.empty((8, rows), dtype=torch.int32, device=logits.device)
    values = torch.empty((4, rows), dtype=torch.float64, device=logits.device)
    short = columns <= SHORT
    lanes, steps = (32, STEPS_SHORT) if short else (LONG, STEPS_LONG)
    if rows:
        count_rows[(rows,)](
            logits, logits.stride(0), columns, target.contiguous(), counts, values,
            KIND=tl.float64 if logits.dtype == torch.float64 else tl.float32,
            LANES=lanes, STEPS=steps, num_warps=lanes // 32,
        )  # fmt: skip
    return LogitCounts(counts, values)
