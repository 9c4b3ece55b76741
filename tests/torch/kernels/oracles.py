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
