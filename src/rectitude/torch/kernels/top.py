"""The K columns with the highest scores of each row, exactly, with stated ties."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from .choice import choose
from .lists import ListedColumns, open_lists, sort_lists
from .ranks import merge, open_scores

Ties = Literal["lowest column", "highest column"]
MOST = 1000
"""The largest K of the Triton kernels; plain torch takes any."""


class Top(NamedTuple):
    """Columns (32-bit integers, -1 where a row has fewer than K) and their scores (then NaN)."""

    columns: Tensor
    scores: Tensor


def top_columns(
    scores: Tensor,
    k: int,
    seen: Tensor | None = None,
    *,
    seen_offsets: Tensor | None = None,
    valid_columns: Tensor | None = None,
    ties: Ties = "lowest column",
    seen_sorted: bool = False,
) -> Top:
    """Return the K columns of each row with the highest scores, best first.

    Columns with equal scores come in the order of `ties`; -0.0 and 0.0 are equal. Columns that are
    seen, not valid, or NaN are left out. Interests and `seen` are given as in `count_ranks`.
    """
    scores = open_scores(scores)
    rows, columns = scores.shape[0], scores.shape[2]
    require_k(k)
    hidden = None if seen is None else open_lists(seen, seen_offsets, rows, "seen columns")
    if hidden is not None and not seen_sorted:
        hidden = sort_lists(hidden, columns)
    return top_block(scores, k, hidden, valid_columns, ties)


def top_block(
    scores: Tensor, k: int, hidden: ListedColumns | None, valid_columns: Tensor | None, ties: Ties
) -> Top:
    """Return the best columns of scores of (rows, interests, columns)."""
    if choose(scores.device) == "triton" and k <= MOST and scores.dtype != torch.float64:
        from .top_triton import top_dense  # noqa: PLC0415  (imports triton)

        return top_dense(scores, k, hidden, valid_columns, ties)
    return top_plain(merge(scores), k, hidden, valid_columns, ties)


def require_k(k: int) -> None:
    """Raise an error if K is not positive."""
    if k < 1:
        raise ValueError(f"k is {k}, but at least 1 column can be returned.")


def top_plain(
    scores: Tensor, k: int, hidden: ListedColumns | None, valid_columns: Tensor | None, ties: Ties
) -> Top:
    """Return the best columns in plain torch, by a stable sort of each row."""
    rows, columns = scores.shape
    left_out = torch.cat([scores.isnan(), scores.new_zeros((rows, 1), dtype=torch.bool)], dim=1)
    if valid_columns is not None:
        left_out[:, :columns] |= ~valid_columns
    if hidden is not None:
        left_out[hidden.rows(), hidden.columns.long().clamp(-1, columns)] = True
    out = left_out[:, :columns]
    if ties == "highest column":
        scores, out = scores.flip(1), out.flip(1)
    filled = scores.masked_fill(out, float("-inf"))
    by_score = filled.sort(dim=1, descending=True, stable=True).indices
    by_both = out.gather(1, by_score).to(torch.int8).sort(dim=1, stable=True).indices
    order = by_score.gather(1, by_both)[:, :k]
    gone, values = out.gather(1, order), scores.gather(1, order)
    order = columns - 1 - order if ties == "highest column" else order
    best = Top(order.masked_fill(gone, -1), values.masked_fill(gone, float("nan")))
    return Top(widen(best.columns, k, -1).to(torch.int32), widen(best.scores, k, float("nan")))


def widen(columns: Tensor, k: int, fill: float) -> Tensor:
    """Return (rows, K), with a filling on the right."""
    return torch.nn.functional.pad(columns, (0, k - columns.shape[1]), value=fill)
