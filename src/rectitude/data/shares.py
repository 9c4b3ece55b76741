"""Distributions over groups: what share of a user's training, or of a list, each group has.

Everything is counted in whole numbers first, so that no order of rows shows in the last bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rectitude.arrays import (
    Floats,
    Integers,
    distinct,
    offsets_of,
    places,
    run_starts,
    totals,
)
from rectitude.data.attributes import Memberships


class Shares(NamedTuple):
    """The groups that each owner has anything of; the shares of an owner add up to 1."""

    owner: Integers
    """(pairs,) ascending"""
    group: Integers
    """(pairs,) ascending within an owner"""
    share: Floats


class Pair(NamedTuple):
    """Two distributions of each owner, side by side; 0 where one of them has nothing of a group."""

    owner: Integers
    one: Floats
    other: Floats


def shares(owner: Integers, entry: Integers, members: Memberships, owners: int) -> Shares:
    """What share each group has of the entries that an owner has.

    An entry of several groups counts for each of them in equal parts; one without is left out.
    """
    size, groups = int(members.entry.max(initial=-1)) + 1, len(members.names)
    offsets = offsets_of(members.entry, size)
    many = np.append(np.diff(offsets), [0, 0])  # for an entry past the last one, and for none
    has = many[np.minimum(entry, size)]
    if many.max() > 1:
        keys, parts = _spread(owner, entry, has, members, offsets)
        pairs, weight = _weights(keys, parts, int(many.max()))
    else:
        known = np.flatnonzero(has)
        pairs, times = _counted(owner[known] * groups + members.number[offsets[entry[known]]])
        weight = times.astype(np.float64)
    whose = pairs // max(groups, 1)
    whole = totals(whose, owners, weight)
    return Shares(whose, pairs - whose * groups, weight / whole[whose])


def _spread(
    owner: Integers, entry: Integers, has: Integers, members: Memberships, offsets: Integers
) -> tuple[Integers, Integers]:
    """A pair of owner and group for each group of each entry, and how many groups share that."""
    rows = np.repeat(np.arange(len(entry)), has)
    begins = np.append(offsets, 0)[np.minimum(entry, len(offsets) - 1)]
    where = np.arange(len(rows)) + np.repeat(begins - (np.cumsum(has) - has), has)
    return owner[rows] * len(members.names) + members.number[where], has[rows]


def _weights(keys: Integers, parts: Integers, most: int) -> tuple[Integers, Floats]:
    """The different pairs, and the sum of 1 / parts of each, added from the fewest parts on."""
    kinds, times = _counted(keys * (most + 1) + parts)
    pair, part = np.divmod(kinds, most + 1)
    starts = run_starts(pair)
    place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(pair))))
    return pair[starts], totals(place, len(starts), times / part)


def _counted(keys: Integers) -> tuple[Integers, Integers]:
    """The different keys, ascending, and how often each is there."""
    if int(keys.max(initial=0)) <= 8 * len(keys) + 1024:
        times = np.bincount(keys)
        known = np.flatnonzero(times)
        return known, times[known]
    ordered = np.sort(keys)
    starts = run_starts(ordered)
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def paired(one: Shares, other: Shares) -> Pair:
    """Two distributions of each owner over all groups of either."""
    groups = int(max(one.group.max(initial=0), other.group.max(initial=0))) + 1
    mine, theirs = (side.owner * groups + side.group for side in (one, other))
    keys = distinct(mine, theirs)
    both = []
    for own, side in ((mine, one), (theirs, other)):
        share = np.zeros(len(keys))
        share[places(keys, own)] = side.share
        both.append(share)
    return Pair(keys // groups, both[0], both[1])
