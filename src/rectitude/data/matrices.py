"""Arrays from files and memory: NumPy files are mapped, and nothing in them is executed."""

from __future__ import annotations

import math
import struct
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rectitude.errors import BadScores, UnreadableFile

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_LOCAL_HEADER = 30  # bytes that stand before the name of a member of an archive


def load(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a `.npy` or `.npz` file by name; that of a `.npy` file is named ''.

    Arrays are mapped into memory, except those that lie in an archive compressed.
    """
    where = Path(path).expanduser()
    try:
        return _loaded(where)
    except Exception as error:  # of many kinds: zipfile has its own for damaged archives
        raise _unreadable(where, error) from error


def _loaded(where: Path) -> dict[str, NDArray[Any]]:
    with where.open("rb") as file:  # NumPy does not close archives that it cannot read
        archive = file.read(2) == b"PK"
        file.seek(0)
        if archive:
            return _archived(where, file)
    return {"": np.load(where, mmap_mode="r", allow_pickle=False)}


def _archived(where: Path, file: BinaryIO) -> dict[str, NDArray[Any]]:
    arrays = {}
    with np.load(file, allow_pickle=False) as held, ZipFile(file) as archive:
        for name, info in zip(held.files, archive.infolist(), strict=True):
            mapped = _mapped(where, file, archive, info)
            arrays[name] = held[name] if mapped is None else mapped
    return arrays


def _mapped(where: Path, file: BinaryIO, archive: ZipFile, info: ZipInfo) -> NDArray[Any] | None:
    """A member of an archive mapped where it lies; None of one that must be loaded."""
    if info.compress_type != ZIP_STORED or not info.filename.endswith(".npy"):
        return None
    with archive.open(info) as member:
        header = _HEADERS.get(npy.read_magic(member))
        if header is None:
            return None
        shape, fortran, kind = header(member)
        begin = member.tell()
    size = math.prod(shape) * kind.itemsize
    if size == 0 or kind.hasobject:  # nothing to map, or what loading refuses
        return None
    if begin + size > info.file_size:
        raise ValueError(f"{info.filename} ends after {info.file_size} of {begin + size} bytes")
    file.seek(info.header_offset + _LOCAL_HEADER - 4)  # the lengths of name and extra field
    begin += _LOCAL_HEADER + sum(struct.unpack("<HH", file.read(4)))
    order: Literal["F", "C"] = "F" if fortran else "C"
    return np.memmap(where, kind, "r", info.header_offset + begin, shape, order)


def _unreadable(where: Path, error: Exception) -> UnreadableFile:
    if not where.exists():
        return UnreadableFile(f"{where} does not exist.", "a .npy or .npz file.")
    size = where.stat().st_size
    if "pickle" in str(error) or "Python objects" in str(error):
        return UnreadableFile(
            f"{where} holds Python objects or is no NumPy file ({size:,} bytes).",
            "an array of numbers, written by numpy.save or numpy.savez.",
            "objects are never loaded from files: save ids as numbers or text.",
        )
    return UnreadableFile(
        f"{where} ({size:,} bytes) cannot be read: {error}.",
        "a whole .npy or .npz file.",
        "it may be truncated; write it again.",
    )


def matrix(source: object, what: str, dimensions: tuple[int, ...] = (2,)) -> NDArray[Any]:
    """An array of numbers with rows and columns, or an error that says what was handed over."""
    try:
        array = np.asarray(source)
    except Exception as error:
        raise BadScores(
            f"{what} is a {type(source).__name__} that NumPy cannot read: {error}.",
            "an array of numbers.",
            "a tensor on another device, or one with gradients: .detach().cpu().float().numpy().",
        ) from error
    if np.ma.is_masked(source):
        raise BadScores(
            f"{what} is a masked array, whose masked values would count like all others.",
            "a plain array.",
            "fill them with -inf, or name them in train=.",
        )
    if array.ndim == 0:
        raise BadScores(
            f"{what} is a {type(source).__name__}.",
            "an array of numbers.",
            "blocks that are made one after the other: hand over the function that makes them.",
        )
    require_dimensions(array.shape, what, dimensions)
    require_numbers(array.shape, what, None if array.dtype.kind in "fiub" else str(array.dtype))
    return array


_SHAPES = {1: "(rows,)", 2: "(rows, columns)", 3: "(rows, interests, columns)"}


def require_dimensions(shape: tuple[int, ...], what: str, allowed: tuple[int, ...]) -> None:
    """An error if a shape has not as many dimensions as it may have."""
    if len(shape) not in allowed:
        shapes = " or ".join(_SHAPES[number] for number in allowed)
        raise BadScores(f"{what} has the shape {shape}.", f"{shapes}.")


def require_numbers(shape: tuple[int, ...], what: str, unreal: str | None) -> None:
    """An error if an array holds nothing, or something else than real numbers: its type."""
    if unreal is not None:
        raise BadScores(f"{what} has the type {unreal}.", "floats or integers.")
    if 0 in shape:
        raise BadScores(
            f"{what} is empty: its shape is {shape}.", "at least one row and one column."
        )


def require_same_dimensions(users: int, items: int) -> None:
    """An error if vectors of users and of items cannot be multiplied."""
    if users != items:
        raise BadScores(
            f"user vectors have {users} dimensions and item vectors {items}.",
            "the same number of dimensions.",
        )


def require_finite_vectors(finite: NDArray[np.bool_], whose: str) -> None:
    """An error if a vector of a user or an item is not finite."""
    bad = np.flatnonzero(~finite)
    if len(bad):
        raise BadScores(
            f"{len(bad)} of {len(finite)} {whose} vectors are not finite "
            f"(first: vector {int(bad[0])}).",
            "finite numbers.",
        )
