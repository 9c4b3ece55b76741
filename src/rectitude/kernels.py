"""Compiled kernels for large inputs: when they repay, and how they are made.

A kernel stands beside its NumPy twin and returns the same integers, bit for bit. Numba is
imported and compiles when a kernel is first used, and keeps the machine code on disk. Kernels
release the GIL and work on blocks, so plain threads share the work.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
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
        _numba()
    except ImportError:
        return False
    return True


@cache
def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of loops over arrays, to be compiled for the types it meets."""
    numba = _numba()

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
    options: Any = _numba().njit(nogil=True, boundscheck=False, error_model="numpy")
    compiled: Callable[..., Any] = options(function)
    return compiled


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A part that adds up floats in whatever order is fastest: whole vectors at once.

    It stands inside its kernel: a copy of its own is compiled to another order than the kernel's,
    and is called only until the kernel comes from disk.
    """
    loose = {"reassoc", "contract", "nsz"}
    options: Any = _numba().njit(
        nogil=True, boundscheck=False, error_model="numpy", fastmath=loose, forceinline=True
    )
    compiled: Callable[..., Any] = options(function)
    return compiled


@cache
def _numba() -> Any:
    """Numba, and most of what it would import when the first kernel is called."""
    with nothing_collected():
        numba = import_module("numba")
        with suppress(ImportError):  # a part of numba that it does not promise to keep
            import_module("numba.np.arraymath")
    return numba


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Python does not look for garbage here: imports make very many objects that all stay, and
    looking through them again and again takes a fifth of the time."""
    if not gc.isenabled() or gc.get_freeze_count():  # the caller's own arrangement
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # now all objects count as old, among which Python looks less often
        gc.enable()


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """A read-only, contiguous view: numba compiles anew for each mixture of these properties."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view
