"""Ranks in Triton: one pass over a row for up to 16 targets, then corrections for listed columns.

Counts are added as 32-bit floats, exact up to 2^24 a lane: a comparison then costs one operation on
each of two pipes of the device (FSET and FADD), and not three on one. Rows are split over programs
where there are few; the parts are added as integers, so that their order does not matter.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .lists import ListedColumns
from .ranks import RankCounts

LANES, STEPS, WARPS = 32, 8, 1
"""Columns side by side, loads of these in a tile, and warps of a program."""
PROGRAMS = 1 << 14
"""Rows are split until there are this many programs."""
CHUNKS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
"""How many targets may share a pass."""


@triton.jit
def higher(left, right):
    """Return the larger of two scores, NaN if one is NaN."""
    return tl.where((right > left) | (right != right), right, left)


@triton.jit
def load_scores(base, columns, mask, interest_stride, INTERESTS: tl.constexpr, KIND: tl.constexpr):
    """Load the scores of some columns, merged over interests; NaN outside the mask."""
    values = load(base + columns, mask, float("nan")).to(KIND)
    for interest in tl.static_range(1, INTERESTS):
        other = load(base + interest * interest_stride + columns, mask, float("nan")).to(KIND)
        values = higher(values, other)
    return values


@triton.jit
def load(pointers, mask, other: tl.constexpr):
    """Load values; without a mask, all of them."""
    if mask is None:
        values = tl.load(pointers)
    else:
        values = tl.load(pointers, mask=mask, other=other)
    return values


@triton.jit
def span_of(offsets, row, width, CSR: tl.constexpr):
    """Return where the list of a row begins and ends."""
    if CSR:
        first = tl.load(offsets + row)
        last = tl.load(offsets + row + 1)
    else:
        first = row * width
        last = first + width
    return first, last


@triton.jit
def repeat(value, G: tl.constexpr, LANES: tl.constexpr):
    """Return a tuple of zeros, one vector of lanes for each target."""
    zeros = ()
    for _ in tl.static_range(G):
        zeros = zeros + (tl.full([LANES], value, tl.float32),)
    return zeros


@triton.jit
def load_targets(
    targets, at, last, base, valid, columns, interest_stride,
    G: tl.constexpr, INTERESTS: tl.constexpr, KIND: tl.constexpr, VALID: tl.constexpr,
    READY: tl.constexpr,
):  # fmt: skip
    """Return columns of targets, their scores (NaN if none), and 0, -1 (none) or -2 (invalid)."""
    numbers = ()
    scores = ()
    states = ()
    for g in tl.static_range(G):
        column = tl.load(targets + at + g, mask=at + g < last, other=-1).to(tl.int32)
        inside = (column >= 0) & (column < columns)
        state = tl.where(inside, 0, -1)
        if VALID:
            state = tl.where(tl.load(valid + column, mask=inside, other=1) != 0, state, -2)
        numbers = numbers + (column,)
        if not READY:
            known = inside & (state == 0)
            own = load_scores(base, column, known, interest_stride, INTERESTS, KIND)
            scores = scores + (own,)
        states = states + (state,)
    return numbers, scores, states


@triton.jit
def load_ready(ready, at, last, G: tl.constexpr):
    """Return the scores of targets that were computed before."""
    scores = ()
    for g in tl.static_range(G):
        scores = scores + (tl.load(ready + at + g, mask=at + g < last, other=float("nan")),)
    return scores


@triton.jit
def compare(above, equal, values, scores, G: tl.constexpr):
    """Add which values are above, and which equal, the score of each target."""
    more = ()
    same = ()
    for g in tl.static_range(G):
        more = more + (above[g] + (values > scores[g]).to(tl.float32),)
        same = same + (equal[g] + (values == scores[g]).to(tl.float32),)
    return more, same


@triton.jit
def keep_before(before, equal, numbers, tile, G: tl.constexpr):
    """Return the counts of equals that precede the target: those of all tiles that begin by it."""
    kept = ()
    for g in tl.static_range(G):
        kept = kept + (tl.where(tile <= numbers[g], equal[g], before[g]),)
    return kept


@triton.jit
def load_valid(
    base, columns, mask, valid, interest_stride,
    INTERESTS: tl.constexpr, KIND: tl.constexpr, VALID: tl.constexpr,
):  # fmt: skip
    """Load the scores of some columns; NaN for columns that are not valid."""
    values = load_scores(base, columns, mask, interest_stride, INTERESTS, KIND)
    if VALID:
        known = load(valid + columns, mask, 0)
        values = tl.where(known != 0, values, float("nan"))
    return values


@triton.jit
def count_rows(
    scores, row_stride, interest_stride, columns, part,
    targets, offsets, width, size, valid, counts, facts,
    CSR: tl.constexpr, G: tl.constexpr, INTERESTS: tl.constexpr, KIND: tl.constexpr,
    VALID: tl.constexpr, SPLIT: tl.constexpr, LANES: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    """Count a part of a row for all its targets, in chunks of G."""
    row = tl.program_id(0).to(tl.int64)
    rows = tl.num_programs(0)
    start = tl.program_id(1) * part
    stop = tl.minimum(start + part, columns)
    base = scores + row * row_stride
    lane = tl.arange(0, LANES)
    TILE: tl.constexpr = LANES * STEPS
    whole = start + (stop - start) // TILE * TILE
    first, last = span_of(offsets, row, width, CSR)
    chunks = tl.maximum((last - first + G - 1) // G, 1)
    poison = tl.zeros([LANES], KIND)  # NaN where a score is not finite
    for chunk in range(0, chunks):
        at = first + chunk * G
        numbers, own, states = load_targets(
            targets, at, last, base, valid, columns, interest_stride, G, INTERESTS, KIND, VALID,
            False,
        )  # fmt: skip
        above = repeat(0.0, G, LANES)
        equal = repeat(0.0, G, LANES)
        before = repeat(0.0, G, LANES)
        for tile in range(start, whole, TILE):
            before = keep_before(before, equal, numbers, tile, G)
            for step in tl.static_range(STEPS):
                here = tile + step * LANES + lane
                values = load_valid(
                    base, here, None, valid, interest_stride, INTERESTS, KIND, VALID
                )
                above, equal = compare(above, equal, values, own, G)
                poison += values * 0.0
        before = keep_before(before, equal, numbers, whole, G)
        for tile in range(whole, stop, LANES):
            here = tile + lane
            values = load_valid(
                base, here, here < stop, valid, interest_stride, INTERESTS, KIND, VALID
            )
            above, equal = compare(above, equal, values, own, G)
            poison += tl.where(here < stop, values, 0.0) * 0.0
        for g in tl.static_range(G):
            column = numbers[g]
            score = own[g]
            inside = (column >= start) & (column < stop)
            itself = tl.where(inside & (score == score), 1, 0)
            rest = before[g]
            tile = start + tl.minimum(tl.maximum(column - start, 0), whole - start) // TILE * TILE
            for step in tl.static_range(STEPS):
                here = tile + step * LANES + lane
                known = (here < column) & (here < stop)
                values = load_valid(
                    base, here, known, valid, interest_stride, INTERESTS, KIND, VALID
                )
                rest += (values == score).to(tl.float32)
            state = tl.where(tl.program_id(1) == 0, states[g], 0)
            store = at + g < last
            put(counts, at + g, state + total(above[g]), store, SPLIT)
            put(counts, size + at + g, total(equal[g]) - itself, store, SPLIT)
            put(counts, 2 * size + at + g, total(rest), store, SPLIT)
    if total(poison == 0.0) < LANES:
        look_at_holes(
            base, start, stop, valid, interest_stride, facts, row, rows,
            INTERESTS, KIND, VALID, SPLIT, 2 * TILE,
        )  # fmt: skip
    else:
        put(facts, 2 * rows + row, stop - start, None, SPLIT)
        if not SPLIT:
            tl.store(facts + row, 0)
            tl.store(facts + rows + row, -1)
            tl.store(facts + 3 * rows + row, 0)


@triton.jit
def total(lanes):
    """Return the sum of a vector of counts."""
    return tl.sum(lanes.to(tl.int32), 0)


@triton.jit
def put(pointer, at, value, mask, SPLIT: tl.constexpr):
    """Store an integer, or add it to those of other parts of the row."""
    if SPLIT:
        tl.atomic_add(pointer + at, value, mask=mask, sem="relaxed")
    else:
        tl.store(pointer + at, value, mask=mask)


@triton.jit
def look_at_holes(
    base, start, stop, valid, interest_stride, facts, row, rows,
    INTERESTS: tl.constexpr, KIND: tl.constexpr, VALID: tl.constexpr,
    SPLIT: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Count finite scores, NaN and -inf in a part of a row: a second pass, where it is needed."""
    lane = tl.arange(0, LANES)
    finite = tl.zeros([LANES], tl.int32)
    missing = tl.zeros([LANES], tl.int32)
    lowest = tl.zeros([LANES], tl.int32)
    first = tl.full([LANES], 2147483647, tl.int32)
    for tile in range(start, stop, LANES):
        here = tile + lane
        known = here < stop
        if VALID:
            known = known & (tl.load(valid + here, mask=known, other=0) != 0)
        values = load_scores(base, here, known, interest_stride, INTERESTS, KIND)
        hole = known & (values != values)
        missing += hole.to(tl.int32)
        finite += (tl.abs(values) < float("inf")).to(tl.int32)
        lowest += (values == float("-inf")).to(tl.int32)
        first = tl.minimum(first, tl.where(hole, here, 2147483647))
    number = tl.sum(missing, 0)
    put(facts, row, number, None, SPLIT)
    put(facts, 2 * rows + row, tl.sum(finite, 0), None, SPLIT)
    put(facts, 3 * rows + row, tl.sum(lowest, 0), None, SPLIT)
    column = tl.min(first, 0)
    if SPLIT:  # -1 is the largest unsigned integer
        unsigned = (facts + rows + row).to(tl.pointer_type(tl.uint32))
        tl.atomic_min(unsigned, column.to(tl.uint32), mask=number > 0, sem="relaxed")
    else:
        tl.store(facts + rows + row, tl.where(number > 0, column, -1))


@triton.jit
def count_listed(
    scores, row_stride, interest_stride, columns,
    targets, offsets, width, size, listed, listed_offsets, listed_width, valid, counts, facts,
    ready_own, ready_listed,
    CSR: tl.constexpr, LISTED_CSR: tl.constexpr, G: tl.constexpr, INTERESTS: tl.constexpr,
    KIND: tl.constexpr, VALID: tl.constexpr, AMONG: tl.constexpr, READY: tl.constexpr,
    LANES: tl.constexpr,
):  # fmt: skip
    """Count listed columns of a row: take them out of its counts, or (AMONG) count only them.

    If the scores are READY, there is no row of scores: `ready_own` has those of the targets, and
    `ready_listed` those of the listed columns, in their positions.
    """
    row = tl.program_id(0).to(tl.int64)
    rows = tl.num_programs(0)
    base = scores + row * row_stride
    lane = tl.arange(0, LANES)
    first, last = span_of(offsets, row, width, CSR)
    begin, end = span_of(listed_offsets, row, listed_width, LISTED_CSR)
    chunks = tl.maximum((last - first + G - 1) // G, 1)
    for chunk in range(0, chunks):
        at = first + chunk * G
        numbers, own, states = load_targets(
            targets,
            at,
            last,
            base,
            valid,
            columns,
            interest_stride,
            G,
            INTERESTS,
            KIND,
            VALID,
            READY,
        )
        if READY:
            own = load_ready(ready_own, at, last, G)
        above = repeat(0.0, G, LANES)
        equal = repeat(0.0, G, LANES)
        before = repeat(0.0, G, LANES)
        itself = repeat(0.0, G, LANES)
        distinct = tl.zeros([LANES], tl.int32)
        finite = tl.zeros([LANES], tl.int32)
        lowest = tl.zeros([LANES], tl.int32)
        missing = tl.zeros([LANES], tl.int32)
        hole = tl.full([LANES], 2147483647, tl.int32)
        for tile in range(begin, end, LANES):
            here = tile + lane
            column = tl.load(listed + here, mask=here < end, other=-1).to(tl.int32)
            previous = tl.load(listed + here - 1, mask=(here > begin) & (here < end), other=-1)
            new = (column >= 0) & (column < columns) & (column != previous.to(tl.int32))
            distinct += new.to(tl.int32)
            known = new
            if VALID:
                known = new & (tl.load(valid + column, mask=new, other=0) != 0)
            if READY:
                values = tl.load(ready_listed + here, mask=known, other=float("nan"))
            else:
                values = load_scores(base, column, known, interest_stride, INTERESTS, KIND)
            finite += (tl.abs(values) < float("inf")).to(tl.int32)
            lowest += (values == float("-inf")).to(tl.int32)
            missing += (known & (values != values)).to(tl.int32)
            hole = tl.minimum(hole, tl.where(known & (values != values), column, 2147483647))
            more = ()
            same = ()
            lower = ()
            found = ()
            for g in tl.static_range(G):
                level = (values == own[g]) & (column != numbers[g])
                more = more + (above[g] + (values > own[g]).to(tl.float32),)
                same = same + (equal[g] + level.to(tl.float32),)
                lower = lower + (before[g] + (level & (column < numbers[g])).to(tl.float32),)
                found = found + (itself[g] + (new & (column == numbers[g])).to(tl.float32),)
            above = more
            equal = same
            before = lower
            itself = found
        for g in tl.static_range(G):
            store = at + g < last
            place = counts + at + g
            if AMONG:
                tl.store(place, tl.where(states[g] < 0, states[g], total(above[g])), mask=store)
                tl.store(place + size, total(equal[g]), mask=store)
                tl.store(place + 2 * size, total(before[g]), mask=store)
            else:
                hidden = total(itself[g]) > 0
                old = tl.load(place, mask=store, other=0)
                new_above = tl.where(hidden, -2, old - total(above[g]))
                tl.store(place, tl.where(old < 0, old, new_above), mask=store)
                old = tl.load(place + size, mask=store, other=0) - total(equal[g])
                tl.store(place + size, tl.where(hidden, 0, old), mask=store)
                old = tl.load(place + 2 * size, mask=store, other=0) - total(before[g])
                tl.store(place + 2 * size, tl.where(hidden, 0, old), mask=store)
        if chunk == 0:
            place = facts + row
            tl.store(place + 4 * rows, tl.sum(distinct, 0))
            if AMONG:
                number = tl.sum(missing, 0)
                tl.store(place, number)
                tl.store(place + rows, tl.where(number > 0, tl.min(hole, 0), -1))
                tl.store(place + 2 * rows, tl.sum(finite, 0))
                tl.store(place + 3 * rows, tl.sum(lowest, 0))
            else:
                old = tl.load(place + 2 * rows)
                tl.store(place + 2 * rows, old - tl.sum(finite, 0))
                old = tl.load(place + 3 * rows)
                tl.store(place + 3 * rows, old - tl.sum(lowest, 0))


def count_dense(
    scores: Tensor,
    wanted: ListedColumns,
    hidden: ListedColumns | None,
    valid_columns: Tensor | None,
) -> RankCounts:
    """Count ranks on the device."""
    rows, _, columns = scores.shape
    tile = LANES * STEPS
    parts = max(1, min(-(-PROGRAMS // max(1, rows)), -(-columns // (16 * tile))))
    part = -(-columns // parts // tile) * tile if parts > 1 else columns
    parts = max(1, -(-columns // max(1, part)))
    results = _allocate(scores, wanted, zeros=parts > 1 or hidden is None)
    if parts > 1:
        results.rows[1].fill_(-1)
    if not rows:
        return results
    places = _places(scores, wanted)
    options = _options(scores, wanted, valid_columns)
    valid = scores if valid_columns is None else valid_columns.contiguous()
    row_stride, interest_stride = scores.stride(0), scores.stride(1)
    count_rows[(rows, parts)](
        scores, row_stride, interest_stride, columns, part, *places, valid, *results,
        SPLIT=parts > 1, LANES=LANES, STEPS=STEPS, num_warps=WARPS, **options,
    )  # fmt: skip
    if hidden is not None and hidden.columns.numel():
        _launch_listed(scores, wanted, hidden, valid_columns, results, among=False)
    elif hidden is not None:
        results.rows[4].zero_()
    return results


def count_candidates(scores: Tensor, wanted: ListedColumns, listed: ListedColumns) -> RankCounts:
    """Count candidates on the device."""
    results = _allocate(scores, wanted, zeros=False)
    if len(scores):
        _launch_listed(scores, wanted, listed, None, results, among=True)
    return results


def _launch_listed(
    scores: Tensor,
    wanted: ListedColumns,
    listed: ListedColumns,
    valid_columns: Tensor | None,
    results: RankCounts,
    among: bool,
) -> None:
    rows, _, columns = scores.shape
    offsets = listed.columns if listed.offsets is None else listed.offsets
    valid = scores if valid_columns is None else valid_columns.contiguous()
    count_listed[(rows,)](
        scores, scores.stride(0), scores.stride(1), columns, *_places(scores, wanted),
        listed.columns, offsets, listed.width(), valid, *results, scores, scores, READY=False,
        LISTED_CSR=listed.offsets is not None, AMONG=among, LANES=32, num_warps=1,
        **_options(scores, wanted, valid_columns),
    )  # fmt: skip


def _allocate(scores: Tensor, wanted: ListedColumns, zeros: bool) -> RankCounts:
    """Return room for the results; both are parts of one tensor."""
    make = torch.zeros if zeros else torch.empty
    rows, size = len(scores), wanted.columns.numel()
    both = make(3 * size + 5 * rows, dtype=torch.int32, device=scores.device)
    counts = both[: 3 * size].view(3, *wanted.columns.shape)
    return RankCounts(counts, both[3 * size :].view(5, rows))


def _places(scores: Tensor, wanted: ListedColumns) -> tuple[Tensor, Tensor, int, int]:
    offsets = wanted.columns if wanted.offsets is None else wanted.offsets
    return wanted.columns, offsets, wanted.width(), wanted.columns.numel()


def _options(
    scores: Tensor, wanted: ListedColumns, valid_columns: Tensor | None
) -> dict[str, object]:
    width = wanted.width()
    return {
        "CSR": wanted.offsets is not None,
        "G": next((chunk for chunk in CHUNKS if chunk >= width), CHUNKS[-1]),
        "INTERESTS": scores.shape[1],
        "KIND": tl.float64 if scores.dtype == torch.float64 else tl.float32,
        "VALID": valid_columns is not None,
    }
