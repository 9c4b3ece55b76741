"""Ranks and best columns of products of user and item vectors, without a matrix of scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from .choice import choose
from .lists import ListedColumns, open_lists, sort_lists
from .ranks import STEP, RankCounts, among_block, count_block
from .top import MOST, Ties, Top, require_k, top_block

Metric = Literal["dot", "cosine"]
KINDS = (torch.float16, torch.bfloat16)
"""Vectors that Triton multiplies. Others are multiplied by torch, in blocks of users, and their
scores counted; the host waits between blocks if lists have offsets."""
STEP_ON_DEVICE = 1 << 28
"""Scores in a block on a CUDA device."""


def count_products(
    users: Tensor,
    items: Tensor,
    targets: Tensor,
    seen: Tensor | None = None,
    *,
    metric: Metric = "dot",
    target_offsets: Tensor | None = None,
    seen_offsets: Tensor | None = None,
    valid_columns: Tensor | None = None,
    seen_sorted: bool = False,
) -> RankCounts:
    """Count, for each target, the items whose product with the user is higher, and the same.

    `users` is (rows, length), or (rows, interests, length), whose products are merged by maximum;
    `items` is (columns, length). The other arguments and the result are those of `count_ranks`, but
    for `rows`: only the columns seen are counted, and the others are -1.

    The ranks are those of the function's own scores: products of the vectors as they are, with sums
    in 32 bits (64 for such vectors); another order of addition may give other ranks. 16-bit vectors
    are multiplied in tiles that are never stored. There, the
    scores of targets and of columns seen come from the same matrix instruction with the same shape
    and the same order over the length, so each score is the same bits wherever it is computed, and
    items with equal vectors are equal. Were it not so, a target would not equal itself, and `equal`
    would be -1.
    """
    users = open_vectors(users, items, metric)
    rows, columns = len(users), len(items)
    wanted = open_lists(targets, target_offsets, rows, "targets")
    hidden = None if seen is None else open_lists(seen, seen_offsets, rows, "seen columns")
    if hidden is not None and not seen_sorted:
        hidden = sort_lists(hidden, columns)
    if uses_triton(users, items):
        from .products_triton import count_tiled  # noqa: PLC0415  (imports triton)

        return count_tiled(users, items, wanted, hidden, valid_columns, metric)
    blocks = [
        count_block(scores, wanted.part(*span), hidden and hidden.part(*span), valid_columns)
        for scores, span in _blocks(users, items, metric)
    ]
    ranks = join(blocks, wanted)
    ranks.rows[:4] = -1
    return ranks


def products_among(
    users: Tensor,
    items: Tensor,
    targets: Tensor,
    candidates: Tensor,
    *,
    metric: Metric = "dot",
    target_offsets: Tensor | None = None,
    candidate_offsets: Tensor | None = None,
    candidates_sorted: bool = False,
) -> RankCounts:
    """Count, for each target, the candidates whose product is higher and the same.

    As `count_among`, from vectors: only products with targets and candidates are computed.
    """
    users = open_vectors(users, items, metric)
    rows, columns = len(users), len(items)
    wanted = open_lists(targets, target_offsets, rows, "targets")
    listed = open_lists(candidates, candidate_offsets, rows, "candidates")
    listed = listed if candidates_sorted else sort_lists(listed, columns)
    if uses_triton(users, items):
        from .products_triton import count_pairs  # noqa: PLC0415  (imports triton)

        return count_pairs(users, items, wanted, listed, metric)
    blocks = [
        among_block(scores, wanted.part(*span), listed.part(*span))
        for scores, span in _blocks(users, items, metric)
    ]
    return join(blocks, wanted)


def top_products(
    users: Tensor,
    items: Tensor,
    k: int,
    seen: Tensor | None = None,
    *,
    metric: Metric = "dot",
    seen_offsets: Tensor | None = None,
    valid_columns: Tensor | None = None,
    ties: Ties = "lowest column",
    seen_sorted: bool = False,
) -> Top:
    """Return the K items of each user with the highest products, best first, as `top_columns`."""
    users = open_vectors(users, items, metric)
    rows, columns = len(users), len(items)
    require_k(k)
    hidden = None if seen is None else open_lists(seen, seen_offsets, rows, "seen columns")
    if hidden is not None and not seen_sorted:
        hidden = sort_lists(hidden, columns)
    if uses_triton(users, items) and k <= MOST:
        from .products_triton import top_tiled  # noqa: PLC0415  (imports triton)

        return top_tiled(users, items, k, hidden, valid_columns, ties, metric)
    blocks = [
        top_block(scores, k, hidden and hidden.part(*span), valid_columns, ties)
        for scores, span in _blocks(users, items, metric)
    ]
    return Top(*(torch.cat(each) for each in zip(*blocks, strict=True)))


def open_vectors(users: Tensor, items: Tensor, metric: Metric) -> Tensor:
    """Return users as (rows, interests, length); raise an error if the shapes do not fit."""
    fits = users.ndim in (2, 3) and items.ndim == 2 and users.shape[-1] == items.shape[1]
    if not fits or not users.is_floating_point() or not items.is_floating_point():
        raise ValueError(
            f"the users are {users.dtype} of shape {tuple(users.shape)} and the items "
            f"{items.dtype} of shape {tuple(items.shape)}; floats of shape (rows, length) or "
            "(rows, interests, length), and (columns, length), fit."
        )
    if metric not in ("dot", "cosine"):
        raise ValueError(f"the metric is {metric!r}, but 'dot' and 'cosine' can be computed.")
    return users.detach()[:, None] if users.ndim == 2 else users.detach()


def uses_triton(users: Tensor, items: Tensor) -> bool:
    """Return whether the Triton kernels multiply these vectors."""
    same = users.dtype == items.dtype and users.dtype in KINDS and users.shape[1:].numel() > 0
    return choose(users.device) == "triton" and same and len(items) > 0


def inverse_lengths(vectors: Tensor) -> Tensor:
    """Return 1 over the length of each vector in at least 32 bits, 0 for a vector of zeros."""
    wide = vectors if vectors.dtype == torch.float64 else vectors.float()
    largest = wide.abs().amax(dim=-1, keepdim=True)
    lengths = (wide / torch.where(largest == 0, 1, largest)).norm(dim=-1) * largest[..., 0]
    return torch.where(lengths == 0, 0, 1 / lengths)


def _blocks(
    users: Tensor, items: Tensor, metric: Metric
) -> Iterator[tuple[Tensor, tuple[int, int]]]:
    """Yield scores (rows, interests, columns) of blocks of users, and which users they are."""
    kind = torch.promote_types(users.dtype, items.dtype)
    kind = kind if kind.itemsize > 2 else torch.float32
    left, right = users.to(kind), items.detach().to(kind)
    most = STEP_ON_DEVICE if users.is_cuda else STEP
    step = max(1, most // max(1, len(items) * users.shape[1]))
    for first in range(0, max(1, len(users)), step):
        last = min(first + step, len(users))
        with torch.autocast(left.device.type, enabled=False):
            scores = left[first:last] @ right.T
        if metric == "cosine":
            scores *= inverse_lengths(left[first:last])[..., None]
            scores *= inverse_lengths(right)
        yield scores, (first, last)


def join(blocks: list[RankCounts], wanted: ListedColumns) -> RankCounts:
    """Return the ranks of blocks of rows as one."""
    counts = torch.cat([block.counts.reshape(3, -1) for block in blocks], dim=1)
    rows = torch.cat([block.rows for block in blocks], dim=1)
    return RankCounts(counts.view(3, *wanted.columns.shape), rows)
