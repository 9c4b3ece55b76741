"""The bootstrap with Poisson weights: how often a list counts in a resample depends on its id.

Drawing lists with replacement gives every list a count that is nearly Poisson distributed with
mean 1. Here each list gets such a count of its own, from a hash of the seed, the resample and its
id. So tables can be cut anywhere, and parts computed anywhere: their sums are whole numbers, which
add up to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rectitude.arrays import Floats, Integers
from rectitude.comparison.moments import Moments
from rectitude.kernels import HASH, freeze, kernel, should_compile
from rectitude.parallel import run_tasks

Words = NDArray[np.uint64]
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
"""the multipliers of SplitMix64 (Steele, Lea and Flood 2014)"""
_BITS = 62
"""the largest sum has fewer bits, so that it fits into 64"""
_WEIGHT_BITS = 4
"""the bits of the largest weight"""
_BLOCK = 500_000
"""how many weights a thread holds at a time in NumPy"""


def hash_ids(ids: pl.Series, seed: int) -> Words:
    """Return 64 bits for each id, from a hash keyed with the seed; 7 and "7" are alike."""
    key = seed.to_bytes(-(-max(seed.bit_length(), 1) // 8), "little")
    digests = (blake2b(str(one).encode(), digest_size=8, key=key).digest() for one in ids.to_list())
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


@cache
def _thresholds() -> Words:
    """Return where a number of 32 bits must lie for weights of at least 1, 2, 3 and so on."""
    shares = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(2**_WEIGHT_BITS - 1)])
    edges = np.rint(shares * 2.0**32).astype(np.uint64)
    edges.setflags(write=False)
    return edges


def draw_weights(keys: Words, first: int, rows: int) -> Integers:
    """Return how often each list counts in some resamples, (rows, lists)."""
    pairs = np.arange(first // 2, (first + rows + 1) // 2).astype(np.uint64)
    words = keys + (pairs[:, None] + np.uint64(1)) * HASH
    words = (words ^ (words >> np.uint64(30))) * _MIX[0]
    words = (words ^ (words >> np.uint64(27))) * _MIX[1]
    words ^= words >> np.uint64(31)
    halves = np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=1)
    drawn = np.searchsorted(_thresholds(), halves.reshape(-1, len(keys)), side="right")
    return drawn[first % 2 : first % 2 + rows].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """For each column and resample: the weighted sum of the values, in steps, and of weights."""

    sums: Integers
    """(columns, resamples)"""
    weights: Integers

    def __add__(self, other: Resamples) -> Resamples:
        return Resamples(self.sums + other.sums, self.weights + other.weights)

    def intervals(self, steps: Floats, alpha: float) -> list[Floats]:
        """Return the ends of the percentile interval of each column's mean. Resamples in which no
        list counts have no mean."""
        ends = []
        for sums, weights, step in zip(self.sums, self.weights, steps, strict=True):
            drawn = weights > 0
            means = step * (sums[drawn] / weights[drawn])
            ends.append(np.quantile(means, [alpha / 2, 1 - alpha / 2]))
        return ends


def find_steps(moments: Iterable[Moments]) -> Floats:
    """Return the power of two whose multiples the values of each column are rounded to: as fine as
    sums of 64 bits allow. It depends on the size of the whole alone, not on its parts."""
    exponents = [
        max(math.frexp(one.largest)[1] + one.users.bit_length() + _WEIGHT_BITS - _BITS, -1022)
        for one in moments
    ]
    return np.ldexp(np.ones(len(exponents)), exponents)


def resample(keys: Words, columns: Floats, steps: Floats, resamples: int) -> Resamples:
    """Return the weighted sums of columns (columns, lists), in which NaN means that a list has no
    value."""
    present = ~np.isnan(columns)
    whole = np.rint(np.where(present, columns, 0.0) / steps[:, None]).astype(np.int64)
    found = Resamples(*(np.zeros((len(columns), resamples), np.int64) for _ in range(2)))
    compiled = should_compile(len(keys) * resamples)
    height = 64 if compiled else max(1, _BLOCK // max(len(keys), 1))
    add = _add_in_kernel if compiled else _add_in_numpy
    inputs = (keys, whole, present, found)
    tasks = [
        partial(add, *inputs, first, min(first + height, resamples))
        for first in range(0, resamples, height)
    ]
    run_tasks(tasks, len(keys) * resamples > _BLOCK)
    return found


def _add_in_numpy(
    keys: Words, whole: Integers, present: NDArray[np.bool_], found: Resamples, first: int, end: int
) -> None:
    drawn = draw_weights(keys, first, end - first)
    found.sums[:, first:end] = np.einsum("cu,ru->cr", whole, drawn)
    found.weights[:, first:end] = np.einsum("cu,ru->cr", present.astype(np.int64), drawn)


def _add_in_kernel(
    keys: Words, whole: Integers, present: NDArray[np.bool_], found: Resamples, first: int, end: int
) -> None:
    inputs = (freeze(keys), freeze(whole.T), freeze(present.T), freeze(_thresholds()))
    kernel(poisson_kernel)(*inputs, first, end, found.sums, found.weights)


def poisson_kernel(keys, whole, present, edges, first, end, sums, weights):  # type: ignore[no-untyped-def]
    """Add the weighted values and the weights of some resamples, list by list."""
    for number in range(first, end):
        start = np.uint64(number // 2 + 1) * HASH
        for user in range(len(keys)):
            word = keys[user] + start
            word = (word ^ (word >> np.uint64(30))) * _MIX[0]
            word = (word ^ (word >> np.uint64(27))) * _MIX[1]
            word ^= word >> np.uint64(31)
            half = word >> np.uint64(32) if number % 2 else word & np.uint64(0xFFFFFFFF)
            times = 0
            while times < len(edges) and half >= edges[times]:
                times += 1
            if times == 0:
                continue
            for column in range(whole.shape[1]):
                if present[user, column]:
                    sums[column, number] += times * whole[user, column]
                    weights[column, number] += times
