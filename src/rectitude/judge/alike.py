"""Lists whose judged items stand alike: metrics of ranks and grades have the same value for them.

Most lists of a large catalogue have no hit, or a single one, above the largest cutoff. Of many
thousands of lists, a few hundred differ; only these need to be measured, each counted as often as
it occurs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rectitude.arrays import Integers
from rectitude.judge.judged import Judged
from rectitude.kernels import freeze, kernel, should_compile

_WORTH_FROM = 4_096
"""with fewer lists, comparing them costs as much as measuring them"""
_WORTH_UPTO = 0.5
"""the share of different lists up to which measuring only these pays off"""
_FACTS_BITS = 2  # of the number that packs the facts of a list


class Alike(NamedTuple):
    """The different lists, and how often each of them occurs."""

    lists: Integers
    """the number of the first list of each kind, ascending"""
    times: Integers


def find_alike(lists: Judged, depth: int, alone: Integers, metrics: int) -> Alike | None:
    """Return the different lists; None if most of them differ, or if there is little to measure.

    No metric looks below the rank `depth`. The lists in `alone` are kept apart from all others.
    """
    size = lists.size
    plain = lists.last is None and lists.listed is None
    if size < _WORTH_FROM or not plain or not should_compile(size * metrics):
        return None
    from rectitude.rowkernels.alike import alike_kernel  # noqa: PLC0415  (imports numba)

    facts = np.minimum(lists.returned, depth) << _FACTS_BITS
    facts += 2 * lists.handed + lists.in_truth
    apart = np.zeros(size, bool)
    apart[alone] = True
    table = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
    first, times = np.empty(size, np.int64), np.zeros(size, np.int64)
    ends = np.searchsorted(lists.list, np.arange(size + 1))
    found = kernel(alike_kernel)(
        freeze(ends),
        freeze(lists.rank),
        freeze(lists.grade.view(np.int64)),
        freeze(lists.truth.offsets),
        freeze(lists.truth.values.view(np.int64)),
        freeze(facts),
        freeze(apart),
        int(_WORTH_UPTO * size),
        table,
        first,
        times,
    )
    return None if found < 0 else Alike(first[:found], times[:found])
