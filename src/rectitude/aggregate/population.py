"""Which lists count."""

from __future__ import annotations

from rectitude.arrays import Flags
from rectitude.convention import Convention
from rectitude.judge.judged import Judged


def counted(lists: Judged, convention: Convention, k: int | None) -> Flags:
    """(lists,) whether a list enters the mean under a convention."""
    with_truth = {
        "relevant": lambda: lists.relevant > 0,
        "judged": lambda: lists.in_truth,
        "none": lambda: lists.handed | lists.in_truth,
    }
    with_list = {
        "none": lambda: True,
        "handed": lambda: lists.handed,
        "items": lambda: lists.returned > 0,
        "hit": lambda: lists.hits(k) > 0,
    }
    flags: Flags = with_truth[convention.truth_needed]() & with_list[convention.list_needed]()
    return flags
