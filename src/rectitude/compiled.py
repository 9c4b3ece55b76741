"""Compiled kernels for large inputs: when they repay, and how they are made.

A kernel stands beside its NumPy twin and returns the same integers, bit for bit. Numba is
imported and compiles when a kernel is first used, and keeps the machine code on disk. Kernels
release the GIL and work on blocks, so plain threads share the work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPAYS_FROM_ROWS = 2_000_000
REPAYS_ONCE_LOADED = 50_000
HASH = np.uint64(0x9E3779B97F4A7C15)


def repay(rows: int) -> bool:
    """Whether kernels should do this work: it is large, or they are loaded and it is not small.

    `RECTITUDE_KERNELS=numpy` or `=numba` decides instead.
    """
    wanted = os.environ.get("RECTITUDE_KERNELS", "")
    if wanted in ("numpy", "numba"):
        return wanted == "numba"
    loaded = "numba" in sys.modules and kernel.cache_info().currsize > 0
    if rows < (REPAYS_ONCE_LOADED if loaded else REPAYS_FROM_ROWS):
        return False
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


@cache
def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of loops over arrays, to be compiled for the types it meets."""
    import numba

    def made(cache: bool) -> Callable[..., Any]:
        options = numba.njit(nogil=True, cache=cache, boundscheck=False, error_model="numpy")
        compiled: Callable[..., Any] = options(function)
        return compiled

    try:
        return made(cache=True)
    except RuntimeError:  # no folder to keep the machine code in
        return made(cache=False)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels call; it becomes part of their machine code."""
    import numba

    options: Any = numba.njit(nogil=True, boundscheck=False, error_model="numpy")
    compiled: Callable[..., Any] = options(function)
    return compiled


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A part that adds up floats in whatever order is fastest: whole vectors at once."""
    import numba

    loose = {"reassoc", "contract", "nsz"}
    options: Any = numba.njit(nogil=True, boundscheck=False, error_model="numpy", fastmath=loose)
    compiled: Callable[..., Any] = options(function)
    return compiled


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only, contiguous view: numba compiles anew for each mixture of these properties."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view
