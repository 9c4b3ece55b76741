"""Ranks: for each target item, how many other columns of its row score higher and the same."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .choice import choose
from .lists import ListedColumns, open_lists, sort_lists

MISSING = -1
"""`above` of an empty position and of a column that does not exist."""
HIDDEN = -2
"""`above` of a target that is seen, or not a valid column."""


class RankCounts(NamedTuple):
    """Counts as 32-bit integers on the device of the scores.

    `counts` is (3, *targets): other columns that score higher, that score the same, and that
    score the same at a lower column. Seen and invalid columns are left out. Where the first is
    -1, there is no such column (empty positions among them); -2, the target itself is seen or
    invalid; the others are then 0. All are 0 for a target whose score is NaN.

    `rows` is (5, rows): columns with NaN, and the first of them (-1 if none), both with the seen
    ones; columns with a finite score and with -inf, without the seen ones; distinct columns seen.
    """

    counts: Tensor
    rows: Tensor


def count_ranks(
    scores: Tensor,
    targets: Tensor,
    seen: Tensor | None = None,
    *,
    target_offsets: Tensor | None = None,
    seen_offsets: Tensor | None = None,
    valid_columns: Tensor | None = None,
    seen_sorted: bool = False,
) -> RankCounts:
    """Count, for each target, the columns of its row that score higher and the same.

    `scores` is (rows, columns), or (rows, interests, columns), merged by maximum. `targets` and
    `seen` are (rows, any) column numbers with -1 for empty positions, or flat with offsets. A
    column that is seen twice counts once. `valid_columns` is a mask of the columns to rank.
    `seen_sorted` promises that the columns seen ascend in each row, with empty positions last.
    Nothing waits for the device. -0.0 and 0.0 are equal, and scores are compared as they are.
    """
    scores = open_scores(scores)
    rows, columns = scores.shape[0], scores.shape[2]
    wanted = open_lists(targets, target_offsets, rows, "targets")
    hidden = None if seen is None else open_lists(seen, seen_offsets, rows, "seen columns")
    if hidden is not None and hidden.columns.numel() and not seen_sorted:
        hidden = sort_lists(hidden, columns)
    return count_block(scores, wanted, hidden, valid_columns)


def count_block(
    scores: Tensor,
    wanted: ListedColumns,
    hidden: ListedColumns | None,
    valid_columns: Tensor | None,
) -> RankCounts:
    """Count ranks in scores of (rows, interests, columns)."""
    if choose(scores.device) == "triton":
        from .ranks_triton import count_dense  # noqa: PLC0415  (imports triton)

        return count_dense(scores, wanted, hidden, valid_columns)
    return count_plain(merge(scores), wanted, hidden, valid_columns)


def count_among(
    scores: Tensor,
    targets: Tensor,
    candidates: Tensor,
    *,
    target_offsets: Tensor | None = None,
    candidate_offsets: Tensor | None = None,
    candidates_sorted: bool = False,
) -> RankCounts:
    """Count, for each target, the candidates of its row that score higher and the same.

    A target counts no column of its own number, and need not be a candidate. A candidate listed
    twice counts once. `rows` of the result describes the candidates; the last is their number.
    """
    scores = open_scores(scores)
    rows, columns = scores.shape[0], scores.shape[2]
    wanted = open_lists(targets, target_offsets, rows, "targets")
    listed = open_lists(candidates, candidate_offsets, rows, "candidates")
    listed = listed if candidates_sorted else sort_lists(listed, columns)
    return among_block(scores, wanted, listed)


def among_block(scores: Tensor, wanted: ListedColumns, listed: ListedColumns) -> RankCounts:
    """Count candidates in scores of (rows, interests, columns)."""
    if choose(scores.device) == "triton":
        from .ranks_triton import count_candidates  # noqa: PLC0415  (imports triton)

        return count_candidates(scores, wanted, listed)
    return among_plain(merge(scores), wanted, listed)


def open_scores(scores: Tensor) -> Tensor:
    """Return scores as (rows, interests, columns) floats whose columns are side by side."""
    if scores.ndim not in (2, 3):
        raise ValueError(
            f"the scores have the shape {tuple(scores.shape)}; (rows, columns) and "
            "(rows, interests, columns) fit."
        )
    if not scores.is_floating_point() or scores.dtype.itemsize == 1:
        raise ValueError(f"the scores are of type {scores.dtype}, but floats can be compared.")
    scores = scores.detach()
    scores = scores[:, None] if scores.ndim == 2 else scores
    return scores if scores.stride(2) == 1 or scores.shape[2] <= 1 else scores.contiguous()


def merge(scores: Tensor) -> Tensor:
    """Return the highest score of each column over interests; NaN if one of them is NaN."""
    return scores[:, 0] if scores.shape[1] == 1 else scores.amax(dim=1)


STEP = 1 << 25
"""How many scores plain torch compares at a time."""


def count_plain(
    scores: Tensor,
    wanted: ListedColumns,
    hidden: ListedColumns | None,
    valid_columns: Tensor | None,
) -> RankCounts:
    """Count ranks in plain torch."""
    rows, columns = scores.shape
    kept = scores.new_ones((rows, columns + 1), dtype=torch.bool)
    if hidden is not None:
        kept[hidden.rows(), hidden.columns.long().clamp(-1, columns)] = False
        kept[:, columns] = True
    distinct = columns - kept[:, :columns].sum(dim=1)
    if valid_columns is not None:
        kept[:, :columns] &= valid_columns
    kept = kept[:, :columns]
    missing = scores.isnan()
    if valid_columns is not None:
        missing &= valid_columns
    facts = [missing.sum(dim=1), first_of(missing), (kept & scores.isfinite()).sum(dim=1)]
    facts += [(kept & (scores == float("-inf"))).sum(dim=1), distinct]
    counts = count_cells(scores.masked_fill(~kept, float("nan")), wanted, scores)
    return RankCounts(_mark(counts, wanted, kept), torch.stack(facts).to(torch.int32))


def first_of(marked: Tensor) -> Tensor:
    """Return the first marked column of each row, -1 if there is none."""
    if not marked.shape[1]:
        return marked.new_full((len(marked),), -1, dtype=torch.int64)
    return torch.where(marked.any(dim=1), marked.to(torch.int8).argmax(dim=1), -1)


def _mark(counts: Tensor, wanted: ListedColumns, kept: Tensor) -> Tensor:
    """Return the counts with -1 for targets that do not exist and -2 for targets not kept."""
    inside = (wanted.columns >= 0) & (wanted.columns < kept.shape[1])
    if not kept.shape[1]:
        counts[0].fill_(MISSING)
        return counts
    own = kept[wanted.rows(), torch.where(inside, wanted.columns, 0).long()]
    counts = torch.where(inside & own, counts, 0)
    counts[0] = torch.where(inside, torch.where(own, counts[0], HIDDEN), MISSING)
    return counts


def count_cells(lines: Tensor, wanted: ListedColumns, scores: Tensor) -> Tensor:
    """Count the columns of `lines` above and level with the score of each target in `scores`."""
    columns = lines.shape[1]
    row, column = wanted.rows().reshape(-1), wanted.columns.reshape(-1).long()
    inside = (column >= 0) & (column < columns)
    counts = torch.zeros((3, len(column)), dtype=torch.int32, device=lines.device)
    numbers = torch.arange(columns, device=lines.device)
    step = max(1, STEP // max(1, columns))
    for first in range(0, len(column) if columns else 0, step):
        here = slice(first, first + step)
        at = torch.where(inside[here], column[here], 0)
        own = torch.where(inside[here], scores[row[here], at], float("nan"))[:, None]
        line, at = lines[row[here]], at[:, None]
        equal = (line == own) & (numbers != at)
        parts = (line > own), equal, equal & (numbers < at)
        counts[:, here] = torch.stack([part.sum(dim=1) for part in parts]).to(torch.int32)
    return counts.view(3, *wanted.columns.shape)


def among_plain(scores: Tensor, wanted: ListedColumns, listed: ListedColumns) -> RankCounts:
    """Count candidates in plain torch: every column that is no candidate is hidden."""
    rows, columns = scores.shape
    chosen = scores.new_zeros((rows, columns + 1), dtype=torch.bool)
    chosen[listed.rows(), listed.columns.long().clamp(-1, columns)] = True
    chosen = chosen[:, :columns]
    lines = scores.masked_fill(~chosen, float("nan"))
    missing = chosen & scores.isnan()
    facts = [missing.sum(dim=1), first_of(missing), (chosen & scores.isfinite()).sum(dim=1)]
    facts += [(chosen & (scores == float("-inf"))).sum(dim=1), chosen.sum(dim=1)]
    counts = count_cells(lines, wanted, scores)
    everything = torch.ones_like(scores, dtype=torch.bool)
    return RankCounts(_mark(counts, wanted, everything), torch.stack(facts).to(torch.int32))
