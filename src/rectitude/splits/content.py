"""A hash of what a table holds, whatever the order of its rows, without sorting them.

Each row becomes a 64-bit number that all its values decide; the sums of two scrambles of these
numbers do not depend on their order, and tell tables apart in which any row differs.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from rectitude.prepare.words import STEP, mixed, words

if TYPE_CHECKING:
    import polars as pl

_OTHER = np.uint64(0xD1B54A32D192ED03)
ROWS = 1_000_000
"""How many rows are looked at together, so that little memory is needed beside the table."""


def digest(frame: pl.DataFrame) -> bytes:
    """The hash of a table: its columns' names, how many rows it has, and their contents."""
    sums = np.zeros(2, np.uint64)
    for block in frame.iter_slices(ROWS):
        state = np.zeros(block.height, np.uint64)
        for column in block:
            state = mixed(state + words(column) + STEP)
        sums += np.array([mixed(state).sum(), mixed(state ^ _OTHER).sum()], np.uint64)
    said = f"{frame.columns} {frame.height} {sums[0]} {sums[1]}"
    return hashlib.blake2b(said.encode(), digest_size=16).digest()
