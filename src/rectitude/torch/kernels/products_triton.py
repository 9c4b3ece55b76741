"""Products in Triton: tiles of scores are counted where they are computed, and never stored.

A tile is (users, items). Its columns are regrouped as the matrix instruction lays them out over
threads, so that counts are added within a thread; they are summed over threads at the end. Equal
scores before the target count in the same sum as equal ones, with another weight, and the sums are
flushed before they could overflow. The tile of the target itself is counted by a kernel of its own,
which also finds the score of the target.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from .lists import ListedColumns
from .products import Metric, inverse_lengths
from .ranks import RankCounts
from .ranks_triton import CHUNKS, count_listed, span_of
from .top import Ties, Top
from .top_triton import find_best, finish, pack

USERS, ITEMS, WARPS, STAGES = 64, 128, 4, 3
"""The shape of a tile, the same for every kernel, so that a score is the same bits in each."""
FLUSH = tl.constexpr(96)
"""Tiles between two flushes: a lane has a quarter of the 128 columns of a tile, below 4,096."""
PROGRAMS = 4096
GROUPS = 4
"""For the best K: four groups of items for each item needed."""
REDONE = 32
"""Programs, each with room for a row of scores, that redo users with very many equal scores."""


@triton.jit
def multiply(
    users, items, user_scale, item_scale, row, column, row_mask, column_mask,
    INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr, COSINE: tl.constexpr,
    USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Return a tile of scores, merged over interests; NaN outside the mask of columns."""
    for interest in tl.static_range(INTERESTS):
        part = tl.zeros([USERS, ITEMS], tl.float32)
        for k in tl.static_range(0, D, BK):
            d = k + tl.arange(0, BK)
            inside = d < D
            left = tl.load(
                users + (row * INTERESTS + interest)[:, None] * D + d[None, :],
                mask=row_mask[:, None] & inside[None, :],
                other=0.0,
            )
            right = tl.load(
                items + column[None, :].to(tl.int64) * D + d[:, None],
                mask=column_mask[None, :] & inside[:, None],
                other=0.0,
            )
            part = tl.dot(left, right, part)
        if COSINE:
            scale = tl.load(user_scale + row * INTERESTS + interest, mask=row_mask, other=0.0)
            part = part * scale[:, None]
            part = part * tl.load(item_scale + column, mask=column_mask, other=0.0)[None, :]
        if interest == 0:
            scores = part
        else:
            scores = tl.where((part > scores) | (part != part), part, scores)
    return tl.where(column_mask[None, :], scores, float("nan"))


@triton.jit
def only_row(scores, USERS: tl.constexpr):
    """Return the first row of a tile; the others are the same."""
    first = tl.arange(0, USERS)[:, None] == 0
    return tl.sum(tl.where(first, scores, 0.0), 0)


@triton.jit
def in_thread(flags, USERS: tl.constexpr, ITEMS: tl.constexpr):
    """Return how many flags of a tile are set, for each row and each of four lanes."""
    grouped = tl.reshape(flags.to(tl.float32), [USERS, ITEMS // 8, 4, 2])
    return tl.sum(tl.sum(grouped, 3), 1)


@triton.jit
def is_valid(column, columns, valid, VALID: tl.constexpr):
    """Return which columns exist and are valid."""
    known = (column >= 0) & (column < columns)
    if VALID:
        known = known & (tl.load(valid + column, mask=known, other=0) != 0)
    return known


@triton.jit
def count_own(
    users, items, user_scale, item_scale, columns, targets, offsets, width, size, valid,
    own, counts,
    CSR: tl.constexpr, INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr,
    COSINE: tl.constexpr, VALID: tl.constexpr, USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Store the scores of a user's targets, and begin their counts in their own tiles."""
    user = tl.program_id(0).to(tl.int64)
    first, last = span_of(offsets, user, width, CSR)
    row = user + tl.zeros([USERS], tl.int64)
    for at in range(first, last):
        target = tl.load(targets + at).to(tl.int32)
        exists = (target >= 0) & (target < columns)
        counted = is_valid(target, columns, valid, VALID)
        tile = tl.where(exists, target // ITEMS * ITEMS, columns)
        column = tile + tl.arange(0, ITEMS)
        known = is_valid(column, columns, valid, VALID)
        scores = multiply(
            users, items, user_scale, item_scale, row, column, row >= 0, known,
            INTERESTS, D, BK, COSINE, USERS, ITEMS,
        )  # fmt: skip
        line = only_row(scores, USERS)
        score = tl.sum(tl.where(column == target, line, 0.0), 0)
        score = tl.where(counted, score, float("nan"))
        lower = tl.sum(((line == score) & (column < target)).to(tl.int32), 0)
        tl.store(own + at, score)
        tl.store(counts + at, tl.where(exists, tl.where(counted, 0, -2), -1))
        tl.store(counts + size + at, tl.where(score == score, -1, 0))
        tl.store(counts + 2 * size + at, lower)


@triton.jit
def score_listed(
    users, items, user_scale, item_scale, columns, listed, offsets, width, scores,
    CSR: tl.constexpr, INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr,
    COSINE: tl.constexpr, USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Store the score of each listed column, in its position."""
    user = tl.program_id(0).to(tl.int64)
    first, last = span_of(offsets, user, width, CSR)
    row = user + tl.zeros([USERS], tl.int64)
    for tile in range(first, last, ITEMS):
        at = tile + tl.arange(0, ITEMS)
        column = tl.load(listed + at, mask=at < last, other=-1).to(tl.int32)
        known = (column >= 0) & (column < columns)
        values = multiply(
            users, items, user_scale, item_scale, row, column, row >= 0, known,
            INTERESTS, D, BK, COSINE, USERS, ITEMS,
        )  # fmt: skip
        tl.store(scores + at, only_row(values, USERS), mask=at < last)


@triton.jit
def count_tiles(
    users, items, user_scale, item_scale, rows, columns, part,
    targets, offsets, width, size, valid, own, counts,
    CSR: tl.constexpr, G: tl.constexpr, INTERESTS: tl.constexpr, D: tl.constexpr,
    BK: tl.constexpr, COSINE: tl.constexpr, VALID: tl.constexpr,
    USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Count a part of the items for the targets of a block of users."""
    row = tl.program_id(0).to(tl.int64) * USERS + tl.arange(0, USERS)
    exists = row < rows
    start = tl.program_id(1) * part
    stop = tl.minimum(start + part, columns)
    if CSR:
        first = tl.load(offsets + row, mask=exists, other=0)
        last = tl.load(offsets + row + 1, mask=exists, other=0)
    else:
        first = row * width
        last = tl.where(exists, first + width, first)
    most = tl.max(last - first, 0).to(tl.int32)
    for chunk in range(0, most, G):
        scores = ()
        numbers = ()
        for g in tl.static_range(G):
            at = first + chunk + g
            scores = scores + (tl.load(own + at, mask=at < last, other=float("nan")),)
            numbers = numbers + (tl.load(targets + at, mask=at < last, other=-1).to(tl.int32),)
        for block in range(start, stop, FLUSH * ITEMS):
            above, equal = count_block(
                users, items, user_scale, item_scale, row, exists, block,
                tl.minimum(block + FLUSH * ITEMS, stop), columns, valid, scores, numbers,
                G, INTERESTS, D, BK, COSINE, VALID, USERS, ITEMS,
            )  # fmt: skip
            for g in tl.static_range(G):
                at = first + chunk + g
                both = equal[g].to(tl.int32)
                add(counts + at, tl.sum(above[g].to(tl.int32), 1), at < last)
                level = tl.sum(both & 4095, 1)
                add(counts + size + at, level, at < last)
                lower = tl.sum(both >> 12, 1)
                add(counts + 2 * size + at, lower, (at < last) & (lower > 0))


@triton.jit
def add(pointers, values, mask):
    """Add integers to others; nothing depends on the order."""
    tl.atomic_add(pointers, values, mask=mask, sem="relaxed")


@triton.jit
def count_block(
    users, items, user_scale, item_scale, row, exists, start, stop, columns, valid,
    scores, numbers,
    G: tl.constexpr, INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr,
    COSINE: tl.constexpr, VALID: tl.constexpr, USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Return the counts above, and equal plus 4,096 times equal before, of each lane."""
    above = ()
    equal = ()
    for _ in tl.static_range(G):
        above = above + (tl.zeros([USERS, 4], tl.float32),)
        equal = equal + (tl.zeros([USERS, 4], tl.float32),)
    for tile in range(start, stop, ITEMS):
        column = tile + tl.arange(0, ITEMS)
        known = is_valid(column, columns, valid, VALID)
        values = multiply(
            users, items, user_scale, item_scale, row, column, exists, known,
            INTERESTS, D, BK, COSINE, USERS, ITEMS,
        )  # fmt: skip
        more = ()
        same = ()
        for g in tl.static_range(G):
            score = scores[g][:, None]
            weight = tl.where(tile + ITEMS <= numbers[g], 4097.0, 1.0)[:, None]
            more = more + (above[g] + in_thread(values > score, USERS, ITEMS),)
            same = same + (equal[g] + in_thread(values == score, USERS, ITEMS) * weight,)
        above = more
        equal = same
    return above, equal


@triton.jit
def group_maxima(
    users, items, user_scale, item_scale, rows, columns, group, valid, maxima,
    INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr, COSINE: tl.constexpr,
    VALID: tl.constexpr, USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Store the highest score of each user in a group of items."""
    row = tl.program_id(0).to(tl.int64) * USERS + tl.arange(0, USERS)
    start = tl.program_id(1) * group
    stop = tl.minimum(start + group, columns)
    best = tl.full([USERS, ITEMS], float("-inf"), tl.float32)
    for tile in range(start, stop, ITEMS):
        column = tile + tl.arange(0, ITEMS)
        values = multiply(
            users, items, user_scale, item_scale, row, column, row < rows,
            is_valid(column, columns, valid, VALID), INTERESTS, D, BK, COSINE, USERS, ITEMS,
        )  # fmt: skip
        best = tl.maximum(best, values)
    place = maxima + row * tl.num_programs(1) + tl.program_id(1)
    tl.store(place, tl.max(best, 1), mask=row < rows)


@triton.jit
def find_floors(maxima, groups, k, offsets, width, floors, counts,
    LISTED: tl.constexpr, CSR: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Store a score that enough items of a user reach: a high quantile of the groups' maxima."""
    row = tl.program_id(0).to(tl.int64)
    need = row * 0 + k
    if LISTED:
        begin, end = span_of(offsets, row, width, CSR)
        need += end - begin
    lane = tl.arange(0, LANES)
    best = tl.load(maxima + row * groups + lane, mask=lane < groups, other=float("-inf"))
    order = tl.sort(best, descending=True)
    floor = tl.max(tl.where(lane == need - 1, order, float("-inf")), 0)
    tl.store(floors + row, floor)
    tl.store(counts + row, 0)


@triton.jit
def collect_tiles(
    users, items, user_scale, item_scale, rows, columns, part, valid, floors, room, counts,
    INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr, COSINE: tl.constexpr,
    VALID: tl.constexpr, HIGHEST: tl.constexpr, CAP: tl.constexpr,
    USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Store the packed scores that reach the floors of their users, in any order."""
    row = tl.program_id(0).to(tl.int64) * USERS + tl.arange(0, USERS)
    start = tl.program_id(1) * part
    stop = tl.minimum(start + part, columns)
    floor = tl.load(floors + row, mask=row < rows, other=float("inf"))
    for tile in range(start, stop, ITEMS):
        column = tile + tl.arange(0, ITEMS)
        values = multiply(
            users, items, user_scale, item_scale, row, column, row < rows,
            is_valid(column, columns, valid, VALID), INTERESTS, D, BK, COSINE, USERS, ITEMS,
        )  # fmt: skip
        reach = (values >= floor[:, None]) & (row < rows)[:, None]
        if tl.max(tl.max(reach.to(tl.int32), 1), 0) > 0:
            where = counts + row[:, None] + tl.zeros([USERS, ITEMS], tl.int64)
            place = tl.atomic_add(where, 1, mask=reach, sem="relaxed")
            packed = pack(values, column[None, :] + tl.zeros([USERS, ITEMS], tl.int32), HIGHEST)
            kept = reach & (place < CAP)
            tl.store(room + row[:, None] * CAP + place, packed, mask=kept)


@triton.jit
def finish_rows(
    counts, room, k, listed, offsets, width, best_columns, best_scores,
    LISTED: tl.constexpr, CSR: tl.constexpr, HIGHEST: tl.constexpr, CAP: tl.constexpr,
):  # fmt: skip
    """Sort what was collected for a user, unless there was too much."""
    row = tl.program_id(0).to(tl.int64)
    amount = tl.load(counts + row)
    begin = row * 0
    end = row * 0
    if LISTED:
        begin, end = span_of(offsets, row, width, CSR)
    if amount <= CAP:
        finish(
            room + row * CAP, amount, k, listed, begin, end, best_columns + row * k,
            best_scores + row * k, HIGHEST, CAP,
        )  # fmt: skip


@triton.jit
def redo_rows(
    users, items, user_scale, item_scale, rows, columns, valid, line, counts, room, k,
    listed, offsets, width, best_columns, best_scores,
    LISTED: tl.constexpr, CSR: tl.constexpr, HIGHEST: tl.constexpr, CAP: tl.constexpr,
    INTERESTS: tl.constexpr, D: tl.constexpr, BK: tl.constexpr, COSINE: tl.constexpr,
    VALID: tl.constexpr, USERS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Find the best items of users with too many equal scores, from a whole row of scores."""
    line += tl.program_id(0).to(tl.int64) * columns
    user = tl.program_id(0).to(tl.int64)
    while user < rows:
        if tl.load(counts + user) > CAP:
            row = user + tl.zeros([USERS], tl.int64)
            for tile in range(0, columns, ITEMS):
                column = tile + tl.arange(0, ITEMS)
                values = multiply(
                    users, items, user_scale, item_scale, row, column, row >= 0,
                    is_valid(column, columns, valid, VALID), INTERESTS, D, BK, COSINE,
                    USERS, ITEMS,
                )  # fmt: skip
                tl.store(line + column, only_row(values, USERS), mask=column < columns)
            tl.debug_barrier()
            begin = user * 0
            end = user * 0
            if LISTED:
                begin, end = span_of(offsets, user, width, CSR)
            find_best(
                line, 0, columns, 0, k, listed, begin, end, valid, room + user * CAP,
                counts + user, best_columns + user * k, best_scores + user * k,
                1, False, HIGHEST, 512, 4, CAP, 1024,
            )  # fmt: skip
            tl.debug_barrier()
        user += tl.num_programs(0)


def count_tiled(
    users: Tensor,
    items: Tensor,
    wanted: ListedColumns,
    hidden: ListedColumns | None,
    valid_columns: Tensor | None,
    metric: Metric,
) -> RankCounts:
    """Count ranks of products on the device."""
    inputs, options = _inputs(users, items, metric)
    ranks, own = _begin(inputs, options, wanted, valid_columns)
    rows, columns, size = len(users), len(items), wanted.columns.numel()
    ranks.rows.fill_(-1)
    if not rows or not size:
        return ranks
    blocks = -(-rows // USERS)
    part = _part_of(columns, max(1, PROGRAMS // blocks))
    count_tiles[(blocks, -(-columns // part))](
        *inputs, rows, columns, part, *_places(wanted), size, _valid(valid_columns, users), own,
        ranks.counts, CSR=wanted.offsets is not None, G=_chunk(wanted),
        VALID=valid_columns is not None, num_warps=WARPS, num_stages=STAGES, **options,
    )  # fmt: skip
    if hidden is None or not hidden.columns.numel():
        ranks.rows[4].zero_()
        return ranks
    scores = _score(inputs, options, hidden, columns)
    _count_ready(users, columns, wanted, hidden, valid_columns, ranks, own, scores, among=False)
    ranks.rows[:4].fill_(-1)
    return ranks


def count_pairs(
    users: Tensor, items: Tensor, wanted: ListedColumns, listed: ListedColumns, metric: Metric
) -> RankCounts:
    """Count candidates by their products with users, on the device."""
    inputs, options = _inputs(users, items, metric)
    ranks, own = _begin(inputs, options, wanted, None)
    if len(users):
        scores = _score(inputs, options, listed, len(items))
        _count_ready(users, len(items), wanted, listed, None, ranks, own, scores, among=True)
    return ranks


def top_tiled(
    users: Tensor,
    items: Tensor,
    k: int,
    hidden: ListedColumns | None,
    valid_columns: Tensor | None,
    ties: Ties,
    metric: Metric,
) -> Top:
    """Return the best items on the device."""
    inputs, options = _inputs(users, items, metric)
    rows, columns, device = len(users), len(items), users.device
    lists = hidden if hidden is not None and hidden.columns.numel() else None
    need = k + (0 if lists is None else lists.width())
    cap = triton.next_power_of_2(max(64, k, min(need + need // 8 + 32, 4096)))
    groups = min(GROUPS * max(need, 64), 4096)
    group = _part_of(columns, groups)
    groups, lanes = -(-columns // group), triton.next_power_of_2(-(-columns // group))
    best = Top(
        torch.empty((rows, k), dtype=torch.int32, device=device),
        torch.empty((rows, k), dtype=torch.float32, device=device),
    )
    if not rows:
        return best
    maxima = torch.empty((rows, groups), dtype=torch.float32, device=device)
    floors = torch.empty(rows, dtype=torch.float32, device=device)
    counts = torch.empty(rows, dtype=torch.int32, device=device)
    room = torch.empty((rows, cap), dtype=torch.int64, device=device)
    blocks = -(-rows // USERS)
    tiles = {
        **options,
        "VALID": valid_columns is not None,
        "num_warps": WARPS,
        "num_stages": STAGES,
    }
    valid = _valid(valid_columns, users)
    group_maxima[(blocks, groups)](*inputs, rows, columns, group, valid, maxima, **tiles)
    listed = (counts, counts, 0) if lists is None else (lists.columns, *_places(lists)[1:])
    kinds = {"LISTED": lists is not None, "CSR": lists is not None and lists.offsets is not None}
    find_floors[(rows,)](
        maxima, groups, k, *listed[1:], floors, counts, LANES=lanes, num_warps=4, **kinds
    )
    del maxima
    part = _part_of(columns, max(1, PROGRAMS // blocks))
    highest = ties == "highest column"
    collect_tiles[(blocks, -(-columns // part))](
        *inputs, rows, columns, part, valid, floors, room, counts, HIGHEST=highest, CAP=cap, **tiles
    )
    finish_rows[(rows,)](
        counts, room, k, *listed, *best, HIGHEST=highest, CAP=cap, num_warps=4, **kinds
    )
    line = torch.empty((REDONE, columns), dtype=torch.float32, device=device)
    redo_rows[(min(REDONE, rows),)](
        *inputs, rows, columns, valid, line, counts, room, k, *listed, *best,
        HIGHEST=highest, CAP=cap, **kinds, **tiles,
    )  # fmt: skip
    return best


def _inputs(
    users: Tensor, items: Tensor, metric: Metric
) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], dict[str, object]]:
    """Return the vectors and their scales, and what the kernels must know of them."""
    users, items = users.contiguous(), items.detach().contiguous()
    scales = (users, users)
    if metric == "cosine":
        scales = (inverse_lengths(users), inverse_lengths(items))
    length = users.shape[2]
    options = {
        "INTERESTS": users.shape[1],
        "D": length,
        "BK": max(16, min(triton.next_power_of_2(length), 128)),
        "COSINE": metric == "cosine",
        "USERS": USERS,
        "ITEMS": ITEMS,
    }
    return (users, items, *scales), options


def _begin(
    inputs: tuple[Tensor, Tensor, Tensor, Tensor],
    options: dict[str, object],
    wanted: ListedColumns,
    valid_columns: Tensor | None,
) -> tuple[RankCounts, Tensor]:
    """Return room for ranks, with what the targets' own tiles say, and the targets' scores."""
    users, items = inputs[:2]
    rows, size, device = len(users), wanted.columns.numel(), users.device
    both = torch.empty(3 * size + 5 * rows, dtype=torch.int32, device=device)
    counts = both[: 3 * size].view(3, *wanted.columns.shape)
    own = torch.empty(size, dtype=torch.float32, device=device)
    if rows and size:
        count_own[(rows,)](
            *inputs, len(items), *_places(wanted), size, _valid(valid_columns, users), own, counts,
            CSR=wanted.offsets is not None, VALID=valid_columns is not None,
            num_warps=WARPS, num_stages=1, **options,
        )  # fmt: skip
    return RankCounts(counts, both[3 * size :].view(5, rows)), own


def _score(
    inputs: tuple[Tensor, Tensor, Tensor, Tensor],
    options: dict[str, object],
    lists: ListedColumns,
    columns: int,
) -> Tensor:
    """Return the score of each listed column, in its position."""
    users = inputs[0]
    scores = torch.empty(lists.columns.numel(), dtype=torch.float32, device=users.device)
    score_listed[(len(users),)](
        *inputs, columns, *_places(lists), scores,
        CSR=lists.offsets is not None, num_warps=WARPS, num_stages=1, **options,
    )  # fmt: skip
    return scores


def _count_ready(
    users: Tensor,
    columns: int,
    wanted: ListedColumns,
    listed: ListedColumns,
    valid_columns: Tensor | None,
    ranks: RankCounts,
    own: Tensor,
    scores: Tensor,
    among: bool,
) -> None:
    count_listed[(len(users),)](
        own, 0, 0, columns, *_places(wanted), wanted.columns.numel(), *_places(listed),
        _valid(valid_columns, users), *ranks, own, scores, READY=True, AMONG=among,
        CSR=wanted.offsets is not None, LISTED_CSR=listed.offsets is not None, G=_chunk(wanted),
        INTERESTS=1, KIND=tl.float32, VALID=valid_columns is not None, LANES=32, num_warps=1,
    )  # fmt: skip


def _places(lists: ListedColumns) -> tuple[Tensor, Tensor, int]:
    offsets = lists.columns if lists.offsets is None else lists.offsets
    return lists.columns, offsets, lists.width()


def _valid(valid_columns: Tensor | None, other: Tensor) -> Tensor:
    return other if valid_columns is None else valid_columns.contiguous()


def _chunk(wanted: ListedColumns) -> int:
    """Return how many targets share a pass over the items."""
    return next((chunk for chunk in CHUNKS if chunk >= wanted.width() or chunk >= 10), 10)


def _part_of(columns: int, parts: int) -> int:
    """Return the columns of a part, whole tiles."""
    return max(1, -(-columns // max(1, parts) // ITEMS)) * ITEMS
