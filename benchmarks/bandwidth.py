"""How fast memory can be read: the limit under every evaluation of an array, and its state.

Two threads of a shared machine may have the memory to themselves ("full") or hardly get more than
one thread alone ("shared"), changing by the minute. A time over the limit means something within
one state only, so every measured process is tagged and ratios of different states are never
pooled; "mixed" is a process during which the state changed or something else ran. NumPy is all
this needs, so that it runs in every contestant's environment.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

THREADS = 2
BLOCK = 1 << 18  # 8-byte words: 2 MB, small enough to share evenly, large enough to cost no time
BUFFER = 64 << 20  # floats: 256 MB, more than any last-level cache we expect
FULL_FROM, SHARED_BELOW, DISTURBED_BELOW = 1.5, 1.4, 0.8
STATES = ("full", "shared", "mixed")

_pool = ThreadPoolExecutor(THREADS)


def read_once(array: NDArray[Any], threads: int = THREADS) -> None:
    """Stream an array through the processor once: nothing that looks at all of it is faster."""
    words = array.reshape(-1).view(np.uint64)
    starts = iter(range(0, len(words), BLOCK))

    def stream() -> None:
        for start in starts:  # the threads take their blocks from one iterator
            np.bitwise_xor.reduce(words[start : start + BLOCK])

    if threads == 1:
        stream()
        return
    for running in [_pool.submit(stream) for _ in range(threads)]:
        running.result()


class Probe:
    """Reads a buffer of its own, which tells the state and evicts everything from the cache."""

    def __init__(self) -> None:
        self.buffer = np.ones(BUFFER, np.float32)

    def evict(self) -> None:
        """Leave nothing of the inputs in the processor's cache."""
        read_once(self.buffer)

    def gain(self) -> float:
        """How many times faster two threads read than one."""
        one = self._seconds(1)
        return one / self._seconds(THREADS)

    def _seconds(self, threads: int) -> float:
        begin = time.perf_counter()
        read_once(self.buffer, threads)
        return time.perf_counter() - begin


def state(gains: Sequence[float]) -> str:
    """The state of a process, from probes taken around every repeat."""
    ordered = sorted(gains)
    # A quarter of the probes may be disturbed by something else that ran for milliseconds.
    low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    if low >= FULL_FROM:
        return "full"
    return "shared" if low >= DISTURBED_BELOW and high < SHARED_BELOW else "mixed"
