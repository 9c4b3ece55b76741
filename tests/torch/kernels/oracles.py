"""What the kernels must return, counted with NumPy one row and one target at a time."""

from __future__ import annotations

import numpy as np


def ranks_by_hand(scores, targets, seen=(), valid=None, candidates=None):
    """Return the counts (3, targets) and the facts (5) of one row, as `count_ranks` describes."""
    scores = np.asarray(scores, dtype=np.float64)
    columns = len(scores)
    kept = np.ones(columns, dtype=bool) if valid is None else np.array(valid, dtype=bool)
    looked_at = kept.copy()
    listed = sorted(
        {int(c) for c in (seen if candidates is None else candidates) if 0 <= c < columns}
    )
    if candidates is None:
        kept[listed] = False
    else:
        kept = np.isin(np.arange(columns), listed)
        looked_at = kept
    counts = np.zeros((3, len(targets)), dtype=np.int32)
    for place, target in enumerate(targets):
        if not 0 <= target < columns:
            counts[0, place] = -1
            continue
        if candidates is None and not kept[target]:
            counts[0, place] = -2
            continue
        others = [c for c in np.flatnonzero(kept) if c != target]
        own = scores[target]
        counts[0, place] = sum(scores[c] > own for c in others)
        counts[1, place] = sum(scores[c] == own for c in others)
        counts[2, place] = sum(scores[c] == own and c < target for c in others)
    holes = np.flatnonzero(np.isnan(scores) & looked_at)
    facts = [len(holes), holes[0] if len(holes) else -1, np.isfinite(scores[kept]).sum()]
    facts += [(scores[kept] == -np.inf).sum(), len(listed)]
    return counts, np.array(facts, dtype=np.int32)


def logits_by_hand(logits, target):
    """Return the counts (8) and values (4) of one row, as `count_logits` describes."""
    row = np.asarray(logits, dtype=np.float64)
    numbers, missing = np.arange(len(row)), np.isnan(row)
    inside = 0 <= target < len(row)
    own = row[target] if inside else np.nan
    level = (row == own) & (numbers != target)
    top = np.sort(row)[::-1]
    best = np.flatnonzero(row == top[0])
    other = best[best != target]
    counts = [(row > own).sum() if inside else -1, level.sum(), level[: max(target, 0)].sum()]
    counts += [best[0] if len(best) else -1, best[-1] if len(best) else -1]
    counts += [other[0] if len(other) else -1, missing.sum()]
    counts += [np.argmax(missing) if missing.any() else -1]
    shift = top[0] if np.isfinite(top[0]) else 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        total = np.log(np.exp(row - shift).sum()) + shift
        loss = total - own if np.isfinite(own) or own == -np.inf else np.exp(row).sum() - own
    second = top[1] if len(row) > 1 else -np.inf
    return np.array(counts, dtype=np.int32), np.array([loss, total, top[0], second])


def top_by_hand(scores, k, seen=(), valid=None, ties="lowest column"):
    """Return the best K columns of one row, -1 where there are fewer."""
    scores = np.asarray(scores, dtype=np.float64)
    columns = np.arange(len(scores))
    kept = ~np.isnan(scores) & ~np.isin(columns, np.asarray(seen, dtype=np.int64))
    if valid is not None:
        kept &= np.asarray(valid, dtype=bool)
    column = columns if ties == "lowest column" else -columns
    order = np.lexsort((column, -scores))
    best = order[kept[order]][:k]
    return np.pad(best, (0, k - len(best)), constant_values=-1)
