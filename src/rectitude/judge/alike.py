"""Lists whose judged items stand alike: metrics of ranks and grades have the same value for them.

Most lists of a large catalogue have no hit, or a single one, above the largest cutoff. Of many
thousands of lists, a few hundred differ; only these need to be measured, each counted as often as
it occurs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Integers, Ragged
from rectitude.judge.judged import Judged
from rectitude.kernels import HASH

_WORTH_FROM = 4_096
"""with fewer lists, comparing them costs as much as measuring them"""
_WORTH_UPTO = 0.5
"""the share of different lists up to which measuring only these pays off"""
Codes = NDArray[np.uint64]


class Alike(NamedTuple):
    """The different lists, and how often each of them occurs."""

    lists: Integers
    """the number of the first list of each kind, ascending"""
    times: Integers


def find_alike(lists: Judged, depth: int, alone: Integers) -> Alike | None:
    """Return the different lists; None if most of them differ, or if there are few.

    No metric looks below the rank `depth`. The lists in `alone` are kept apart from all others.
    Lists are compared by a hash first, and then in full, so that a collision changes nothing.
    """
    if lists.size < _WORTH_FROM or lists.last is not None or lists.listed is not None:
        return None
    parts = _parts_of(lists, depth)
    codes = np.zeros(lists.size, np.uint64)
    for part in parts:
        codes = _mix(codes + _code_of(part))
    codes[alone] = 0  # told apart below
    kinds, first, kind = np.unique(codes, return_index=True, return_inverse=True)
    if len(kinds) > _WORTH_UPTO * lists.size:
        return None
    single = _differ(parts, first[kind]) if len(kinds) < lists.size else np.zeros(lists.size, bool)
    single[alone] = True
    times = np.bincount(kind[~single], minlength=len(kinds))
    chosen = np.flatnonzero(single)
    found = np.concatenate([_first_of(kind, single, len(kinds))[times > 0], chosen])
    order = np.argsort(found)
    both = np.concatenate([times[times > 0], np.ones(len(chosen), np.int64)])
    return Alike(found[order], both[order])


def _parts_of(lists: Judged, depth: int) -> list[Ragged]:
    """Return what metrics of ranks and grades can see of each list, as integers."""
    truth = lists.truth
    flags = 2 * lists.handed + lists.in_truth
    facts = (truth.lengths << 32) + 4 * np.minimum(lists.returned, depth) + flags
    ends = np.searchsorted(lists.list, np.arange(lists.size + 1))
    parts = [
        Ragged(np.arange(lists.size + 1), facts),
        Ragged(ends, lists.rank),
        Ragged(ends, lists.grade.view(np.int64)),
    ]
    grades = truth.values.view(np.int64)
    all_same = not len(grades) or bool((grades == grades[0]).all())
    return parts if all_same else [*parts, Ragged(truth.offsets, grades)]


def _code_of(part: Ragged) -> Codes:
    """Return a hash of the values of each list and their order."""
    lengths = part.lengths
    place = np.arange(len(part.values)) - np.repeat(part.offsets[:-1], lengths)
    mixed = _mix(part.values.view(np.uint64) + _mix(place.view(np.uint64) + HASH))
    sums = np.concatenate(([np.uint64(0)], np.cumsum(mixed)))
    return sums[part.offsets[1:]] - sums[part.offsets[:-1]]  # modulo 2**64


def _mix(values: Codes) -> Codes:
    """Return integers whose bits all depend on all bits of the given ones."""
    mixed = (values ^ (values >> np.uint64(31))) * HASH
    return mixed ^ (mixed >> np.uint64(29))


def _differ(parts: list[Ragged], other: Integers) -> Flags:
    """Flag the lists that differ from another one in any part."""
    differs = np.zeros(len(other), bool)
    for part in parts:
        lengths, start = part.lengths, part.offsets[:-1]
        differs |= lengths != lengths[other]
        compared = np.where(differs, 0, lengths)
        rows = np.repeat(np.arange(len(other)), compared)
        place = np.arange(len(rows)) - np.repeat(np.cumsum(compared) - compared, compared)
        wrong = part.values[start[rows] + place] != part.values[start[other[rows]] + place]
        differs[rows[wrong]] = True
    return differs


def _first_of(kind: Integers, single: Flags, kinds: int) -> Integers:
    """Return the first list of each kind that is not told apart."""
    together = np.flatnonzero(~single)[::-1]
    first: Integers = np.zeros(kinds, np.int64)
    first[kind[together]] = together  # the last assignment stays: that of the first list
    return first
