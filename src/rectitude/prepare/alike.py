"""Which rows of a long column of random-looking numbers are not alone with theirs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags
from rectitude.compiled import frozen, kernel
from rectitude.data.codes import stretches
from rectitude.threads import in_blocks, together

if TYPE_CHECKING:
    from rectitude.prepare.words import Words

_BITS = np.uint64(10)
_ROW = np.uint64(32)


def alike(words: Words) -> Flags:
    """The rows whose number other rows have too, and perhaps a few more: 42 of the 64 bits are
    compared.

    Rows are dealt out by the first bits of their numbers, so that what is looked up next stays in
    the processor's cache.
    """
    number, cuts = stretches(len(words), 1 << int(_BITS))
    counts = np.zeros((number, 1 << int(_BITS)), np.int64)
    tally, deal, find, rows = kernel(_tally), kernel(_deal), kernel(_find), frozen(words)
    spans = list(zip(cuts[:-1], cuts[1:], range(number), strict=True))
    together([partial(tally, rows, a, b, counts[n]) for a, b, n in spans])
    total = counts.sum(axis=0)
    ends = np.cumsum(total)
    places = ends - total + np.cumsum(counts, axis=0) - counts
    dealt, again = np.empty(len(words), np.uint64), np.zeros(len(words), bool)
    together([partial(deal, rows, a, b, places[n], dealt) for a, b, n in spans])
    in_blocks(lambda first, last: find(dealt, ends, first, last, again), len(ends), 1)
    return again


def _tally(words, first, last, counts):  # type: ignore[no-untyped-def]
    """How many numbers begin with the same bits."""
    for row in range(first, last):
        counts[words[row] >> (np.uint64(64) - _BITS)] += 1


def _deal(words, first, last, places, dealt):  # type: ignore[no-untyped-def]
    """The next bits of each number above its row, those with the same first bits together."""
    for row in range(first, last):
        start = words[row] >> (np.uint64(64) - _BITS)
        dealt[places[start]] = ((words[row] << _BITS) >> _ROW << _ROW) | np.uint64(row)
        places[start] += 1


def _find(dealt, ends, first, last, again):  # type: ignore[no-untyped-def]
    """Mark the rows whose bits another one of their portion has, by a hash table of each: numbers
    one higher than they were dealt, where 0 is an empty place."""
    one, row = np.uint64(1), np.uint64(0xFFFFFFFF)
    for portion in range(first, last):
        low, bits = ends[portion - 1] if portion else 0, 2
        while 1 << bits < 2 * (ends[portion] - low):
            bits += 1
        table, shift, mask = np.zeros(1 << bits, np.uint64), 64 - bits, np.uint64((1 << bits) - 1)
        for place in range(low, ends[portion]):
            mine = dealt[place] + one
            slot = mine >> np.uint64(shift)
            while table[slot] and (table[slot] ^ mine) >> _ROW:
                slot = (slot + one) & mask
            if table[slot]:
                again[(mine - one) & row] = again[(table[slot] - one) & row] = True
            else:
                table[slot] = mine
