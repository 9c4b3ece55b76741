"""Arrays from files and memory. NumPy files are mapped, and code in them is never executed."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rectitude.data.formats.foreign import refuse_address, refuse_foreign
from rectitude.errors import BadScores, RectitudeError, UnreadableFile
from rectitude.memory import require_expansion
from rectitude.texts import require_regular

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_START = 1 << 16
_LOCAL_HEADER = 30  # bytes before the name of an archive member


def load(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npy` or `.npz` file by name; a `.npy` array is named ''.

    Arrays are mapped into memory, except compressed ones in an archive.
    """
    file = require_regular(path)
    try:
        arrays = _load(file)
        for array in arrays.values():
            # A row takes some bytes even if it is empty, and a header may claim any number of rows.
            _require_size(8 * max(np.shape(array), default=0), file, file.name)
    except RectitudeError:
        raise
    except Exception as error:  # of many types: zipfile has its own for damaged archives
        raise _unreadable(file, error) from error
    return arrays


def load_sparse(path: str | PathLike[str]) -> Any:
    """Return a sparse matrix that SciPy saved, with indices that fit its shape."""
    from scipy.sparse import load_npz

    file = require_regular(path)
    try:
        with file.open("rb") as opened, ZipFile(opened) as archive:
            for info in archive.infolist():
                _read_layout(file, archive, info)
        matrix = load_npz(file)
        _require_size(16 * matrix.shape[0], file, f"{file.name}, of shape {matrix.shape},")
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except RectitudeError:
        raise
    except Exception as error:  # of many types: SciPy does not check what it reads
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableFile(
            f"{file} cannot be read as a sparse matrix: {reason}.",
            "a file written by scipy.sparse.save_npz.",
            "it may be truncated; write it again.",
        ) from error
    return matrix


def _load(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as file:  # NumPy does not close archives that it cannot read
        archive = file.read(2) == b"PK"
        file.seek(0)
        if archive:
            return _load_archive(path, file)
    return {"": np.load(path, mmap_mode="r", allow_pickle=False)}


def _load_archive(path: Path, file: BinaryIO) -> dict[str, NDArray[Any]]:
    arrays = {}
    with np.load(file, allow_pickle=False) as contents, ZipFile(file) as archive:
        for name, info in zip(contents.files, archive.infolist(), strict=True):
            layout = _read_layout(path, archive, info)
            mapped = None if layout is None else _map_member(path, file, info, layout)
            arrays[name] = contents[name] if mapped is None else mapped
    return arrays


class _Layout(NamedTuple):
    """How an array lies in a member of an archive."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int
    """how many bytes of the member come before the values"""

    @property
    def size(self) -> int:
        """The bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize


def _read_layout(path: Path, archive: ZipFile, info: ZipInfo) -> _Layout | None:
    """Return the layout of an array in an archive, or None if it is no array; raise an error if it
    would take too much memory, or more than the archive holds."""
    if info.compress_type != ZIP_STORED:
        _require_size(info.file_size, path, f"{info.filename} in {path}")
    if not info.filename.endswith(".npy"):
        return None
    with archive.open(info) as member:
        version = npy.read_magic(member)
        if version not in _HEADERS:
            raise ValueError(f"{info.filename} has the version {version} of NumPy's format")
        layout = _Layout(*_HEADERS[version](member), member.tell())
    if layout.start + layout.size > info.file_size:
        needed = layout.start + layout.size
        raise ValueError(f"{info.filename} ends after {info.file_size} of {needed} bytes")
    return layout


def _require_size(need: int, path: Path, what: str) -> None:
    require_expansion(need, path.stat().st_size, what)


def _map_member(path: Path, file: BinaryIO, info: ZipInfo, layout: _Layout) -> NDArray[Any] | None:
    """Map a member of an archive in place; return None for one that must be loaded."""
    if info.compress_type != ZIP_STORED or not layout.size or layout.dtype.hasobject:
        return None  # nothing to map, or objects, which loading refuses
    file.seek(info.header_offset + _LOCAL_HEADER - 4)  # the lengths of name and extra field
    start = layout.start + _LOCAL_HEADER + sum(struct.unpack("<HH", file.read(4)))
    order: Literal["F", "C"] = "F" if layout.fortran else "C"
    return np.memmap(path, layout.dtype, "r", info.header_offset + start, layout.shape, order)


def mapped_file(array: NDArray[Any]) -> Path | None:
    """Return the file that an array is mapped from, to be read only; None for other arrays."""
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or base.mode != "r" or base.filename is None:
        return None
    return Path(base.filename)


def watch_file(path: Path | None) -> Callable[[], None]:
    """Return a function that raises an error if a file has changed since.

    Reading what was cut off a mapped file ends the process without a message. A file that was
    removed or replaced by another one is no problem: the mapped content stays.
    """
    if path is None or not path.exists():
        return lambda: None
    before = path.stat()

    def require_unchanged() -> None:
        try:
            now = path.stat()
        except OSError:
            return
        if now.st_ino != before.st_ino:
            return
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise UnreadableFile(
                f"{path} changed while it was read: it had {before.st_size:,} bytes, and has "
                f"{now.st_size:,} now.",
                "a file that nobody writes to.",
                "write a new file and rename it, and evaluate again.",
            )

    return require_unchanged


def _unreadable(path: Path, error: Exception) -> UnreadableFile:
    if not path.exists():
        refuse_address(path)
        return UnreadableFile(
            f"{path} does not exist.", "a .npy or .npz file.", "check the path and the name."
        )
    if path.is_dir():
        return UnreadableFile(f"{path} is a folder.", "a .npy or .npz file.")
    with path.open("rb") as file:
        refuse_foreign(path, path.suffix.lower(), file.read(_START))
    size = path.stat().st_size
    if "pickle" in str(error) or "Python objects" in str(error):
        return UnreadableFile(
            f"{path} contains Python objects or is not a NumPy file ({size:,} bytes).",
            "an array of numbers, written by numpy.save or numpy.savez.",
            "save ids as numbers or text: rectitude never loads Python objects from files.",
        )
    return UnreadableFile(
        f"{path} ({size:,} bytes) cannot be read: {error}.",
        "a complete .npy or .npz file.",
        "it may be truncated; write it again.",
    )


def matrix(source: object, what: str, dimensions: tuple[int, ...] = (2,)) -> NDArray[Any]:
    """Return an array of numbers with rows and columns; raise an error for anything else."""
    try:
        array = np.asarray(_to_host(source))
    except Exception as error:
        raise BadScores(
            f"{what} is of type {type(source).__name__}, which NumPy cannot read: {error}.",
            "an array of numbers.",
            "for a tensor on another device or with gradients: .detach().cpu().float().numpy().",
        ) from error
    if np.ma.is_masked(source):
        raise BadScores(
            f"{what} is a masked array, and its masked values would count as scores.",
            "a plain array.",
            "fill the masked values with -inf, or list these items in train=.",
        )
    if array.ndim == 0:
        raise BadScores(
            f"{what} is of type {type(source).__name__}.",
            "an array of numbers.",
            "to produce scores block by block, pass the function that produces them.",
        )
    require_dimensions(array.shape, what, dimensions)
    require_numbers(array.shape, what, None if array.dtype.kind in "fiub" else str(array.dtype))
    return array


def _to_host(source: Any) -> object:
    """Return a tensor of torch without gradients on the CPU, in a type that NumPy has; return
    anything else unchanged."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(source, torch.Tensor):
        return source
    tensor = source.detach().cpu()
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


_SHAPES = {1: "(rows,)", 2: "(rows, columns)", 3: "(rows, interests, columns)"}


def require_dimensions(shape: tuple[int, ...], what: str, allowed: tuple[int, ...]) -> None:
    """Raise an error if the number of dimensions is not allowed."""
    if len(shape) not in allowed:
        shapes = " or ".join(_SHAPES[number] for number in allowed)
        raise BadScores(f"{what} has the shape {shape}.", f"the shape {shapes}.")


def require_numbers(shape: tuple[int, ...], what: str, wrong_type: str | None) -> None:
    """Raise an error if an array is empty, or if it has a wrong type instead of real numbers."""
    if wrong_type is not None:
        raise BadScores(f"{what} has the type {wrong_type}.", "an array of floats or integers.")
    if 0 in shape:
        raise BadScores(
            f"{what} is empty: its shape is {shape}.", "at least one row and one column."
        )


def require_same_dimensions(users: int, items: int) -> None:
    """Raise an error if user vectors and item vectors differ in length."""
    if users != items:
        raise BadScores(
            f"user vectors have {users} dimensions and item vectors {items}.",
            "the same number of dimensions for both.",
        )


def require_finite_vectors(finite: NDArray[np.bool_], whose: str) -> None:
    """Raise an error if a user or item vector is not finite."""
    bad = np.flatnonzero(~finite)
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(finite)} {whose} vectors are not finite "
            f"(first: vector {int(bad[0])}).",
            "finite numbers only.",
            "fix the model: NaN or infinite weights often mean that training diverged.",
        )
