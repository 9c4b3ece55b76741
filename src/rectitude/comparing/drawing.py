"""Random signs of users, and users drawn with replacement, as weights of their values.

Weights come from streams of their own, numbered from the seed, and sums of values are exact: what
is found depends on the seed alone, not on threads or on how much is held at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Floats
from rectitude.threads import together

BLOCK = 500_000
"""how many weights a thread holds at a time"""
_STREAM = 2**16
"""how many weights come from one stream, or as many as one row needs"""
Drawn = NDArray[np.signedinteger] | NDArray[np.unsignedinteger]
Weights = Callable[[int, int, int], Drawn]
"""The weights (rows, users), given how many users, the first row, and how many rows."""


def summable(values: Floats) -> Floats:
    """The values (users, columns), rounded so that all their weighted sums are exact.

    A sum of whole numbers below 2**53 is the same in any order. So each column is rounded to a
    multiple of a power of two, about 2**-52 of its largest value times the number of users.
    """
    step = _steps(values)
    return np.asarray(np.rint(values / step) * step, dtype=np.float64)


def _steps(values: Floats) -> Floats:
    """What each column is rounded to multiples of: a power of two."""
    _, exponent = np.frexp(np.abs(values).max(axis=0))
    lowest = np.maximum(exponent + (len(values) - 1).bit_length() - 52, -1022)
    found: Floats = np.ldexp(np.ones(values.shape[1]), lowest)
    return found


def slack(values: Floats) -> Floats:
    """How far sums of rounded values can be from those of the values themselves."""
    found: Floats = len(values) * _steps(values)
    return found


def weighted(values: Floats, rows: int, weights: Weights, block: int = BLOCK) -> Floats:
    """The sums (rows, columns) of summable values, once for each row of weights."""
    users = len(values)
    each = rows_a_stream(users)
    height = each * max(1, block // (each * users))
    found = np.empty((rows, values.shape[1]))
    columns = np.ascontiguousarray(values.T)

    def fill(start: int) -> None:
        stop = min(start + height, rows)
        drawn = np.empty((stop - start, users))
        for first in range(start, stop, each):
            drawn[first - start : first - start + each] = weights(
                users, first, min(each, stop - first)
            )
        # not a product of matrices: its own threads would wait for ours
        found[start:stop] = np.einsum("ru,cu->rc", drawn, columns)

    together([partial(fill, start) for start in range(0, rows, height)], rows * users > _STREAM)
    return found


def rows_a_stream(users: int) -> int:
    """How many rows of weights come from one stream."""
    return max(1, _STREAM // users)


def random_signs(seed: int) -> Weights:
    """Each user 0 or 1 times, by chance."""

    def drawn(users: int, first: int, rows: int) -> Drawn:
        words = -(-users // 64)
        bits = _stream(seed, users, first).integers(0, 2**64, (rows, words), dtype=np.uint64)
        return np.unpackbits(bits.view(np.uint8), axis=1, count=users)

    return drawn


def every_sign(users: int, first: int, rows: int) -> Drawn:
    """Each user 0 or 1 times: row by row, every way there is."""
    numbers = np.arange(first, first + rows)
    return numbers[:, None] >> np.arange(users) & 1


def random_users(seed: int) -> Weights:
    """How often each user was drawn, as many being drawn as there are."""

    def drawn(users: int, first: int, rows: int) -> Drawn:
        chosen = _stream(seed, users, first).integers(0, users, (rows, users))
        chosen += users * np.arange(rows)[:, None]
        return np.bincount(chosen.ravel(), minlength=rows * users).reshape(rows, users)

    return drawn


def _stream(seed: int, users: int, first: int) -> np.random.Generator:
    return np.random.default_rng((seed, first // rows_a_stream(users)))
