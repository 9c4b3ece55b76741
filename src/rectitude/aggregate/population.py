"""Which lists count."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags
from rectitude.convention import Convention
from rectitude.judge.judged import Judged


def counted(lists: Judged, convention: Convention, k: int | None) -> Flags:
    """(lists,) whether a list enters the mean under a convention."""
    wanted = (convention.truth_needed, convention.list_needed)
    depth = k if convention.list_needed == "hit" else None
    return lists.once(
        ("counted", *wanted, depth),
        lambda: _with_truth(lists, wanted[0]) & _with_list(lists, wanted[1], k),
    )


def _with_truth(lists: Judged, needed: str) -> Flags:
    if needed == "relevant":
        return lists.relevant > 0
    return lists.in_truth if needed == "judged" else lists.handed | lists.in_truth


def _with_list(lists: Judged, needed: str, k: int | None) -> Flags:
    if needed == "hit":
        return lists.hits(k) > 0
    return {"none": np.ones(lists.size, bool), "handed": lists.handed, "items": lists.returned > 0}[
        needed
    ]
