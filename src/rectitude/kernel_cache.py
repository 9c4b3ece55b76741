"""The cache of compiled kernels on disk, which never stops an evaluation.

Numba's own cache raises an error if its folder is full or one of its files is damaged, and runs
damaged machine code if only that is damaged. Here every file has a checksum. What cannot be read is
compiled anew and replaced; what cannot be written is compiled in every process. A warning says so,
once. Importing this module imports numba.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps


class _Damaged(Exception):
    """A file of the cache that does not contain what was written to it."""


class _CheckedFiles(CompileResultCacheImpl):
    """How machine code becomes a file: with its checksum and the processor it was made for."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return the name of the files, which differs from those without a checksum."""
        return f"checked-{super().get_filename_base(fullname, abiflags)}"

    def reduce(self, compiled: Any) -> tuple[bytes, bytes]:
        """Return what is written for compiled code."""
        content = dumps((compiled.codegen.magic_tuple(), super().reduce(compiled)))
        return hashlib.sha256(content).digest(), content

    def rebuild(self, target_context: Any, written: Any) -> Any:
        """Return the compiled code; None if it was made for another processor."""
        checksum, content = written
        if hashlib.sha256(content).digest() != checksum:
            raise _Damaged("its checksum is wrong")
        processor, reduced = pickle.loads(content)  # noqa: S301  (numba's cache is all pickle)
        if processor != target_context.codegen().magic_tuple():
            return None
        return super().rebuild(target_context, reduced)


class KernelCache(FunctionCache):
    """The cache of one kernel."""

    _impl_class = _CheckedFiles

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if it has to be compiled.

        Processes that write at the same time may mix up their files, so the signature of what was
        read is checked.
        """
        try:
            loaded = super().load_overload(sig, target_context)
        except MemoryError:  # the files may be fine
            return None
        except OSError as error:
            warn_once("read", f"the cache of compiled kernels cannot be read: {error}.")
            return None
        except Exception as error:  # unpickling damaged files raises anything
            reason = f"{type(error).__name__}: {error}"
            words = f"the cache of compiled kernels in {self.cache_path} was damaged ({reason})."
            warn_once("damaged", f"{words} Kernels are compiled anew, and the cache is replaced.")
            self._forget()
            return None
        known = getattr(sig, "args", sig)
        return loaded if loaded is not None and tuple(loaded.signature.args) == known else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write compiled code to the cache, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self.disable()
            warn_once("written", _describe_unwritable(f"in {self.cache_path}: {error}"))

    def _forget(self) -> None:
        """Empty the cache of this kernel, or stop using it."""
        try:
            self.flush()
        except OSError:
            self.disable()


def warn_without_folder() -> None:
    """Warn that there is no folder for the cache."""
    warn_once("written", _describe_unwritable("anywhere: no folder is writable"))


def _describe_unwritable(where: str) -> str:
    return (
        f"the cache of compiled kernels cannot be written {where}. Kernels are compiled anew in "
        "every process, which takes seconds; NUMBA_CACHE_DIR names another folder."
    )


_SHOWN: set[str] = set()
"""the kinds of warnings that this process has shown"""


def warn_once(kind: str, message: str) -> None:
    """Show a warning, unless one of its kind was shown before."""
    if kind not in _SHOWN:
        _SHOWN.add(kind)
        warnings.warn(message, RuntimeWarning, stacklevel=2)
