"""Zip archives from any source: a damaged one raises one kind of error, and members are read only
if they fit in memory."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from lzma import LZMAError
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from rectitude.errors import RectitudeError, UnreadableFile
from rectitude.memory import read_within, require_expansion
from rectitude.texts import require_regular

DAMAGED = (
    BadZipFile, EOFError, KeyError, LZMAError, OSError, OverflowError, RuntimeError, ValueError,
    struct.error, zlib.error,
)  # fmt: skip
"""What `zipfile` raises for archives that are damaged, encrypted or of an unknown version."""


@contextmanager
def open_archive(path: str | os.PathLike[str], expected: str, advice: str) -> Iterator[ZipFile]:
    """Open an archive; whatever is wrong with it is one kind of error."""
    try:
        with ZipFile(require_regular(path)) as archive:
            yield archive
    except RectitudeError:
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise UnreadableFile(
            f"{os.fspath(path)} cannot be read: {error.strerror}.", expected
        ) from error
    except DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableFile(
            f"{os.fspath(path)} is truncated or damaged: {reason}.", expected, advice
        ) from error


def read_member(archive: ZipFile, name: str) -> bytes:
    """Return the content of a member, if it does not expand to too much."""
    size = Path(str(archive.filename)).stat().st_size
    with archive.open(name) as member:  # never gives more than the size that the archive states
        return read_within(member, size, f"{name} in {archive.filename}")


def require_members(archive: ZipFile, names: Iterable[str]) -> None:
    """Raise an error if members would together expand to too much."""
    need = sum(archive.getinfo(name).file_size for name in names)
    size = Path(str(archive.filename)).stat().st_size
    require_expansion(need, size, str(archive.filename))


@contextmanager
def unpack(path: str | os.PathLike[str], expected: str, advice: str) -> Iterator[Path]:
    """Yield a temporary folder with the files of an archive, whose paths and sizes are checked
    before anything is written."""
    with (
        open_archive(path, expected, advice) as archive,
        tempfile.TemporaryDirectory(prefix="rectitude-") as folder,
    ):
        members = [member for member in archive.infolist() if not member.is_dir()]
        _require_safe(members, os.fspath(path), expected)
        require_members(archive, [member.filename for member in members])
        for member in members:
            target = Path(folder) / member.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(read_member(archive, member.filename))
        yield Path(folder)


def _require_safe(members: Iterable[ZipInfo], where: str, expected: str) -> None:
    """Raise an error for links, repeated names, and paths that lead out of the archive."""
    seen: set[str] = set()
    for member in members:
        name = member.filename
        parts = name.replace("\\", "/").split("/")
        reason = ""
        if ".." in parts or parts[0] in ("", "~") or ":" in parts[0]:
            reason = "an unsafe path, which leads outside of it"
        elif stat.S_ISLNK(member.external_attr >> 16):
            reason = "a link"
        elif name in seen:
            reason = "a file twice"
        seen.add(name)
        if reason:
            raise UnreadableFile(f"{where} contains {reason} ({name!r}).", expected)
