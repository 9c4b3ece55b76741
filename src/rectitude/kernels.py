"""Compiled kernels for large inputs: when they pay off, and how they are compiled.

Every kernel has a NumPy twin that returns the same integers, bit for bit. Numba is imported, and
compiles, when a kernel is first used; `kernel_cache` keeps the machine code on disk. Kernels
release the GIL and work on blocks, so plain threads can share the work.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.errors import BadArgument, MissingExtra, TooLarge

REPAYS_FROM_ROWS = 2_000_000
REPAYS_ONCE_LOADED = 50_000
HASH = np.uint64(0x9E3779B97F4A7C15)


def should_compile(rows: int) -> bool:
    """Whether kernels pay off: the input is large, or numba is loaded and the input is not small.

    The environment variable `RECTITUDE_KERNELS=numpy` or `=numba` overrides this. Nothing is
    compiled if numba's own `NUMBA_DISABLE_JIT` is set. A large input without numba is worth one
    warning in a process.
    """
    setting = os.environ.get("RECTITUDE_KERNELS", "")
    if setting in ("numpy", "numba"):
        return setting == "numba" and _must_compile()
    if setting:
        raise BadArgument(
            f"RECTITUDE_KERNELS is {setting!r}.",
            "numba or numpy.",
            "unset it, to compile where it pays.",
        )
    loaded = "numba" in sys.modules and kernel.cache_info().currsize > 0
    if rows < (REPAYS_ONCE_LOADED if loaded else REPAYS_FROM_ROWS):
        return False
    try:
        return _may_compile()
    except ImportError as error:
        _warn_of_slowness(str(error))
        return False


def _may_compile() -> bool:
    return _has_space() and not _numba().config.DISABLE_JIT


def _has_space() -> bool:
    """Whether numba is loaded, or can be within the memory that this process may use."""
    from rectitude.memory import has_space_for_kernels  # noqa: PLC0415  (for large inputs only)

    return "numba" in sys.modules or has_space_for_kernels()


def _must_compile() -> bool:
    if not _has_space():
        raise TooLarge(
            "RECTITUDE_KERNELS=numba asks for compiled kernels, but the address space of this"
            " process is limited (ulimit -v), and does not leave enough to compile them.",
            "a higher limit, or none.",
            "raise the limit, or unset RECTITUDE_KERNELS: NumPy gives the same results.",
        )
    try:
        return _may_compile()
    except ImportError as error:
        raise MissingExtra(
            f"RECTITUDE_KERNELS=numba asks for compiled kernels, but: {error}.",
            advice="pip install 'rectitude[speed]'",
        ) from error


@cache
def _warn_of_slowness(reason: str) -> None:
    warnings.warn(
        f"This input is large, and kernels cannot be compiled: {reason}. NumPy gives the same "
        "results, but takes several times as long. pip install 'rectitude[speed]' installs numba; "
        "RECTITUDE_KERNELS=numpy hides this message.",
        RuntimeWarning,
        stacklevel=3,
    )


@cache
def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that loops over arrays, for the argument types it is called with."""
    compiled = subkernel(function)
    from rectitude.kernel_cache import KernelCache, warn_without_folder  # noqa: PLC0415  (imports numba)

    try:
        compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
    except (RuntimeError, OSError):  # there is no folder to cache the machine code in
        warn_without_folder()
    return compiled


def subkernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that kernels call; it becomes part of their machine code."""
    options: Any = _numba().njit(nogil=True, boundscheck=False, error_model="numpy")
    compiled: Callable[..., Any] = options(function)
    return compiled


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that adds floats in the fastest order: whole vectors at once.

    The function is always inlined into its kernel. A separately compiled copy could add in a
    different order, and it would be used only until the kernel is loaded from the cache on disk.
    """
    loose = {"reassoc", "contract", "nsz"}
    options: Any = _numba().njit(
        nogil=True, boundscheck=False, error_model="numpy", fastmath=loose, forceinline=True
    )
    compiled: Callable[..., Any] = options(function)
    return compiled


@cache
def _numba() -> Any:
    """Import numba, with most of what it would import when the first kernel is called."""
    with without_gc():
        numba = import_module("numba")
        with suppress(ImportError):  # a private module of numba, which may disappear
            import_module("numba.np.arraymath")
    return numba


@contextmanager
def without_gc() -> Iterator[None]:
    """Turn off garbage collection inside this block.

    Imports create very many objects that all stay alive. Searching them for garbage again and again
    takes a fifth of the import time.
    """
    if not gc.isenabled() or gc.get_freeze_count():  # the caller manages garbage collection
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # moves all objects to the oldest generation, which is searched less often
        gc.enable()


def freeze(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only, contiguous view. Numba compiles a kernel again for every combination of
    these two properties, so all inputs get the same one."""
    view = np.ascontiguousarray(values).view()
    view.setflags(write=False)
    return view
