"""The kernel that finds lists whose judged items stand alike."""

from __future__ import annotations

import numpy as np

from rectitude.kernels import HASH, subkernel


@subkernel
def same_values(ends, values, one, other):  # type: ignore[no-untyped-def]
    """Return whether two lists have the same values."""
    length = ends[one + 1] - ends[one]
    if ends[other + 1] - ends[other] != length:
        return False
    row = 0
    while row < length and values[ends[one] + row] == values[ends[other] + row]:
        row += 1
    return row == length


def alike_kernel(  # type: ignore[no-untyped-def]
    ends, ranks, grades, truth_ends, truth, facts, apart, most, table, first, times
):
    """Number the different lists in `first`, and count them in `times`; return how many there are,
    or -1 if there are more than `most`.

    `table` is a hash table of the lists found so far. Lists with the same hash are compared, so
    that a collision changes nothing.
    """
    mask = np.uint64(table.shape[0] - 1)
    found = 0
    for n in range(facts.shape[0]):
        code = np.uint64(facts[n]) * HASH + np.uint64(truth_ends[n + 1] - truth_ends[n])
        for row in range(ends[n], ends[n + 1]):
            code = (code ^ np.uint64(ranks[row])) * HASH
            code = (code ^ np.uint64(grades[row]) ^ (code >> np.uint64(29))) * HASH
        for row in range(truth_ends[n], truth_ends[n + 1]):
            code = (code ^ np.uint64(truth[row])) * HASH
            code ^= code >> np.uint64(32)
        place = (code >> np.uint64(20)) & mask
        number = np.int32(-1)
        while not apart[n] and table[place] >= 0:
            other = first[table[place]]
            same = facts[other] == facts[n] and same_values(truth_ends, truth, other, n)
            if same and same_values(ends, ranks, other, n) and same_values(ends, grades, other, n):
                number = table[place]
                break
            place = (place + np.uint64(1)) & mask
        if number < 0:
            if found == most:
                return -1
            number = np.int32(found)
            first[number] = n
            found += 1
            if not apart[n]:
                table[place] = number
        times[number] += 1
    return found
