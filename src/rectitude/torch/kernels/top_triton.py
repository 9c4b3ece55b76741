"""The best columns in Triton: two reads of a row.

The first read keeps the highest score of each lane. At least K scores reach the K-th highest of
these, and few more do, since the lanes are many. The second read collects the scores that reach it,
packed with their columns into integers that order as they should; these are sorted. Seen columns
are dropped then: the first read allows for as many more. Where too many scores reach the threshold,
it is raised by bisection until enough do, and no more than there is room for.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .lists import ListedColumns
from .ranks_triton import load_valid, span_of
from .top import Ties, Top

FEW = 256
"""Fewer rows than this are split, and the best columns of the parts merged."""
SPLIT_FROM = 1 << 16
"""A part has at least so many columns."""


@triton.jit
def pack(values, columns, HIGHEST: tl.constexpr):
    """Return integers in the order of the scores, and of the columns where these are equal."""
    bits = tl.where(values == 0.0, 0.0, values).to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    if HIGHEST:
        low = columns
    else:
        low = 0x7FFFFFFF - columns
    return (key << 32) | low.to(tl.int64)


@triton.jit
def column_of(packed, HIGHEST: tl.constexpr):
    """Return the column of a packed integer."""
    low = (packed & 0x7FFFFFFF).to(tl.int32)
    if HIGHEST:
        column = low
    else:
        column = 0x7FFFFFFF - low
    return column


@triton.jit
def score_of(packed):
    """Return the score of a packed integer."""
    key = (packed >> 32).to(tl.int32)
    return tl.where(key < 0, key ^ 0x7FFFFFFF, key).to(tl.float32, bitcast=True)


@triton.jit
def is_listed(listed, begin, end, columns, mask):
    """Return which columns are in a sorted list, by bisection."""
    amount = (end - begin).to(tl.int32)
    step = 1
    while step * 2 <= amount:
        step *= 2
    less = tl.zeros_like(columns)
    while step > 0:
        try_at = less + step
        probe = mask & (try_at <= amount)
        entry = tl.load(listed + begin + try_at - 1, mask=probe, other=0).to(tl.int32)
        less = tl.where(probe & (entry < columns), try_at, less)
        step //= 2
    inside = mask & (less < amount)
    return inside & (tl.load(listed + begin + less, mask=inside, other=-1).to(tl.int32) == columns)


@triton.jit
def collect(
    base, start, stop, floor, lowest, valid, interest_stride, room, count, listed, begin, end,
    INTERESTS: tl.constexpr, VALID: tl.constexpr, HIGHEST: tl.constexpr, FILTER: tl.constexpr,
    CAP: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Store the packed scores that reach the floor, in any order, and how many there are."""
    lane = tl.arange(0, WIDE)
    tl.store(count, 0)
    tl.debug_barrier()
    for tile in range(start, stop, WIDE):
        here = tile + lane
        values = load_valid(
            base, here, here < stop, valid, interest_stride, INTERESTS, tl.float32, VALID
        )
        reach = values >= floor
        packed = pack(values, here, HIGHEST)
        if FILTER:
            reach = reach & (packed >= lowest)
            reach = reach & ~is_listed(listed, begin, end, here, reach)
        place = tl.atomic_add(count + tl.zeros_like(here), 1, mask=reach, sem="relaxed")
        tl.store(room + place, packed, mask=reach & (place < CAP))
    tl.debug_barrier()


@triton.jit
def count_reaching(
    base, start, stop, lowest, valid, interest_stride, listed, begin, end,
    INTERESTS: tl.constexpr, VALID: tl.constexpr, HIGHEST: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Return how many packed scores of a row reach a floor, without the listed columns."""
    lane = tl.arange(0, WIDE)
    amount = tl.zeros([WIDE], tl.int32)
    for tile in range(start, stop, WIDE):
        here = tile + lane
        values = load_valid(
            base, here, here < stop, valid, interest_stride, INTERESTS, tl.float32, VALID
        )
        amount += ((values == values) & (pack(values, here, HIGHEST) >= lowest)).to(tl.int32)
    for tile in range(begin, end, WIDE):
        at = tile + lane
        here = tl.load(listed + at, mask=at < end, other=-1).to(tl.int32)
        previous = tl.load(listed + at - 1, mask=(at > begin) & (at < end), other=-1).to(tl.int32)
        new = (here >= start) & (here < stop) & (here != previous)
        values = load_valid(base, here, new, valid, interest_stride, INTERESTS, tl.float32, VALID)
        amount -= ((values == values) & (pack(values, here, HIGHEST) >= lowest)).to(tl.int32)
    return tl.sum(amount, 0)


@triton.jit
def raise_floor(
    base, start, stop, k, valid, interest_stride, listed, begin, end,
    INTERESTS: tl.constexpr, VALID: tl.constexpr, HIGHEST: tl.constexpr,
    CAP: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Return a packed floor that at least K columns reach, and no more than there is room for."""
    low = tl.full([], -9223372036854775807, tl.int64)
    high = tl.full([], 9223372036854775807, tl.int64)
    amount = tl.full([], 2147483647, tl.int32)
    while (amount > CAP) & (high - 1 > low):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        reaching = count_reaching(
            base, start, stop, middle, valid, interest_stride, listed, begin, end,
            INTERESTS, VALID, HIGHEST, WIDE,
        )  # fmt: skip
        enough = reaching >= k
        low = tl.where(enough, middle, low)
        amount = tl.where(enough, reaching, amount)
        high = tl.where(enough, high, middle)
    return low


@triton.jit
def threshold_of(
    base, start, stop, need, valid, interest_stride,
    INTERESTS: tl.constexpr, VALID: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Return a score that at least `need` columns reach: a high quantile of the lanes' maxima."""
    lane = tl.arange(0, LANES)
    best = tl.full([LANES], float("-inf"), tl.float32)
    whole = start + (stop - start) // (LANES * STEPS) * (LANES * STEPS)
    for tile in range(start, whole, LANES * STEPS):
        for step in tl.static_range(STEPS):
            here = tile + step * LANES + lane
            values = load_valid(
                base, here, None, valid, interest_stride, INTERESTS, tl.float32, VALID
            )
            best = tl.maximum(best, values)
    for tile in range(whole, stop, LANES):
        here = tile + lane
        values = load_valid(
            base, here, here < stop, valid, interest_stride, INTERESTS, tl.float32, VALID
        )
        best = tl.maximum(best, values)
    order = tl.sort(best, descending=True)
    return tl.max(tl.where(lane == need - 1, order, float("-inf")), 0)


@triton.jit
def finish(
    room, amount, k, listed, begin, end, columns, scores,
    HIGHEST: tl.constexpr, CAP: tl.constexpr,
):  # fmt: skip
    """Drop listed columns from what was collected, sort it, and store the best K."""
    slot = tl.arange(0, CAP)
    nothing = tl.full([CAP], -9223372036854775807, tl.int64)
    packed = tl.load(room + slot, mask=slot < amount, other=-9223372036854775807)
    known = slot < amount
    if end > begin:
        column = column_of(packed, HIGHEST)
        known = known & ~is_listed(listed, begin, end, column, known)
    packed = tl.sort(tl.where(known, packed, nothing), descending=True)
    some = packed != nothing
    tl.store(columns + slot, tl.where(some, column_of(packed, HIGHEST), -1), mask=slot < k)
    tl.store(scores + slot, tl.where(some, score_of(packed), float("nan")), mask=slot < k)


@triton.jit
def find_best(
    base, start, stop, interest_stride, k, listed, begin, end, valid, room, count, columns, scores,
    INTERESTS: tl.constexpr, VALID: tl.constexpr, HIGHEST: tl.constexpr,
    LANES: tl.constexpr, STEPS: tl.constexpr, CAP: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Find and store the best columns of a part of a row."""
    need = k + (end - begin).to(tl.int32)
    floor = tl.full([], float("-inf"), tl.float32)
    if (stop - start > CAP) & (need <= LANES):
        floor = threshold_of(
            base, start, stop, need, valid, interest_stride, INTERESTS, VALID, LANES, STEPS
        )
    if (stop - start <= CAP) | (need <= LANES):
        collect(
            base, start, stop, floor, 0, valid, interest_stride, room, count, listed, begin, end,
            INTERESTS, VALID, HIGHEST, False, CAP, WIDE,
        )  # fmt: skip
    else:
        tl.store(count, CAP + 1)
        tl.debug_barrier()
    if tl.load(count) > CAP:
        lowest = raise_floor(
            base, start, stop, k, valid, interest_stride, listed, begin, end,
            INTERESTS, VALID, HIGHEST, CAP, WIDE,
        )  # fmt: skip
        collect(
            base, start, stop, float("-inf"), lowest, valid, interest_stride, room, count,
            listed, begin, end, INTERESTS, VALID, HIGHEST, True, CAP, WIDE,
        )  # fmt: skip
    finish(room, tl.load(count), k, listed, begin, end, columns, scores, HIGHEST, CAP)


@triton.jit
def top_rows(
    scores, row_stride, interest_stride, columns, part, k,
    listed, offsets, width, valid, room, counts, best_columns, best_scores,
    LISTED: tl.constexpr, CSR: tl.constexpr, INTERESTS: tl.constexpr, VALID: tl.constexpr,
    HIGHEST: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr, CAP: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """Find the best columns of a part of a row."""
    row = tl.program_id(0).to(tl.int64)
    place = row * tl.num_programs(1) + tl.program_id(1)
    start = tl.program_id(1) * part
    stop = tl.minimum(start + part, columns)
    begin = row * 0
    end = row * 0
    if LISTED:
        begin, end = span_of(offsets, row, width, CSR)
    find_best(
        scores + row * row_stride, start, stop, interest_stride, k, listed, begin, end, valid,
        room + place * CAP, counts + place, best_columns + place * k, best_scores + place * k,
        INTERESTS, VALID, HIGHEST, LANES, STEPS, CAP, WIDE,
    )  # fmt: skip


def top_dense(
    scores: Tensor, k: int, hidden: ListedColumns | None, valid_columns: Tensor | None, ties: Ties
) -> Top:
    """Return the best columns on the device."""
    rows, interests, columns = scores.shape
    parts = 1
    if rows < FEW:
        parts = max(1, min(4 * FEW // max(1, rows), columns // SPLIT_FROM))
    part = -(-columns // parts)
    lists = hidden if hidden is not None and hidden.columns.numel() else None
    need = k + (0 if lists is None else lists.width())
    cap = triton.next_power_of_2(max(64, k, min(need + need // 8 + 32, 4096)))
    lanes = triton.next_power_of_2(max(256, min(4 * need, 4096)))
    device = scores.device
    room = torch.empty((rows * parts, cap), dtype=torch.int64, device=device)
    counts = torch.empty(rows * parts, dtype=torch.int32, device=device)
    best = Top(
        torch.empty((rows, parts * k), dtype=torch.int32, device=device),
        torch.empty((rows, parts * k), dtype=torch.float32, device=device),
    )
    if rows:
        listed = counts if lists is None else lists.columns
        offsets = listed if lists is None or lists.offsets is None else lists.offsets
        top_rows[(rows, parts)](
            scores, scores.stride(0), scores.stride(1), columns, part, k,
            listed, offsets, need - k, scores if valid_columns is None else valid_columns,
            room, counts, *best,
            LISTED=lists is not None, CSR=lists is not None and lists.offsets is not None,
            INTERESTS=interests, VALID=valid_columns is not None,
            HIGHEST=ties == "highest column", LANES=lanes, STEPS=max(1, 2048 // lanes),
            CAP=cap, WIDE=1024, num_warps=warps_for(rows * parts, lanes),
        )  # fmt: skip
    best = best if parts == 1 else _merge(best, k, parts, ties)
    return Top(best.columns, best.scores.to(scores.dtype))


def warps_for(programs: int, lanes: int) -> int:
    """Return how many warps a program takes: more where programs are few, or have many lanes."""
    return 4 if lanes <= 1024 and programs >= 2048 else 8


def _merge(best: Top, k: int, parts: int, ties: Ties) -> Top:
    """Return the best K of the best of parts."""
    if ties == "highest column":
        best = Top(*(each.view(-1, parts, k).flip(1).reshape(each.shape) for each in best))
    filled = torch.where(best.columns < 0, float("-inf"), best.scores)
    by_score = filled.sort(dim=1, descending=True, stable=True).indices
    gone = (best.columns.gather(1, by_score) < 0).to(torch.int8)
    order = by_score.gather(1, gone.sort(dim=1, stable=True).indices)[:, :k]
    return Top(best.columns.gather(1, order), best.scores.gather(1, order))
