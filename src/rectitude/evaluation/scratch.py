"""Temporary files of tables that are larger than memory, and what a killed run left of them.

They are in a folder of their own, inside the one that the environment variable `RECTITUDE_SCRATCH`
names, or else inside the system's temporary folder. The name of the folder is a fingerprint of the
inputs and settings, and a lock file beside it belongs to the process that uses it. At the end, both
are removed. If a process is killed, the next one with the same inputs and settings goes on where it
stopped; any other one removes what it left behind.

A file whose name has no `.unfinished` is complete: it was renamed once all of it was written.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from filelock import FileLock, Timeout

from rectitude.errors import UnreadableFile, UnwritableFile
from rectitude.storage import explain_unwritable, remove_file

SETTING = "RECTITUDE_SCRATCH"
_PREFIX, _LOCK, _UNFINISHED = "rectitude-parts-", ".lock", ".unfinished"
_PIECES = "pieces"
_SIGN = 16
"""the bytes of a checksum"""
_ATTEMPTS = 3
"""new names to try: nobody else can be using them"""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of temporary files: the rows of tables by part, and the states of parts."""

    folder: Path

    def write(self, table: str, part: int, piece: int, rows: pl.DataFrame) -> Path:
        """Write some rows of a table that belong to a part; return the file. They count once the
        piece of the table that they come from is complete."""
        path = self._piece(table, f"{part:05d}", piece)
        with explain_unwritable(path, path):
            path.parent.mkdir(parents=True, exist_ok=True)
            rows.write_ipc(path, compression="uncompressed")
        return path

    def read(self, table: str, part: int, files: int | None = None) -> list[pl.DataFrame]:
        """Return the rows of a table that belong to a part, in the order they were written, which
        are in so many files."""
        folder = self.folder / self.folder_of(table, part)
        paths = sorted(folder.glob("*.arrow"))
        if files is not None and len(paths) != files:
            raise _gone(folder, f"has {len(paths)} of {files} temporary files")
        try:
            return [pl.read_ipc(path) for path in paths]
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _gone(folder, f"has temporary files that cannot be read: {error}") from error

    def finish_piece(
        self, table: str, piece: int, facts: pl.DataFrame, written: Sequence[Path]
    ) -> list[str]:
        """Note that all rows of a piece are written, and to which files, with a frame that says
        what they had in common, such as their types. Return the folders of the files."""
        path = self._piece(table, _PIECES, piece)
        self._write_complete(path, facts.write_ipc)
        sums = {self._name(file): _sum_up(file) for file in (*written, path)}
        listed = json.dumps(sums).encode()
        self._write_complete(path.with_suffix(".json"), lambda target: target.write_bytes(listed))
        return [*map(_parent, sums)]

    def find_piece(self, table: str, piece: int) -> tuple[pl.DataFrame, list[str]] | None:
        """Return what was noted about a piece, and the folders of its files; None if it is not
        complete, or no longer: temporary folders are cleaned, and disks fail."""
        path = self._piece(table, _PIECES, piece)
        with suppress(OSError, ValueError, pl.exceptions.PolarsError):
            sums = json.loads(path.with_suffix(".json").read_bytes())
            if all(_sum_up(self.folder / name) == found for name, found in sums.items()):
                return pl.read_ipc(path), [*map(_parent, sums)]
        return None

    def keep_state(self, plan: str, part: int, state: object) -> None:
        """Keep the state of a part that was evaluated under a plan."""
        content = pickle.dumps((state, _sum_up(self._values(plan, part))))
        signed = _sign(content) + content
        self._write_complete(self._state(plan, part), lambda target: target.write_bytes(signed))

    def find_state(self, plan: str, part: int) -> object:
        """Return the state of a part that was kept; None if there is none, or if it or the values
        that belong to it are damaged."""
        path = self._state(plan, part)
        signed = path.read_bytes() if path.exists() else b""
        sign, content = signed[:_SIGN], signed[_SIGN:]
        if sign != _sign(content):
            return None
        # Only this user can write into the folder, see `_is_own`, and only `keep_state` does.
        state, found = pickle.loads(content)  # noqa: S301
        return state if found == _sum_up(self._values(plan, part)) else None

    def folder_of(self, table: str, part: int) -> str:
        """Return the name of the folder of the rows of a table that belong to a part."""
        return f"{table}/{part:05d}"

    def _name(self, file: Path) -> str:
        return file.relative_to(self.folder).as_posix()

    def write_values(self, plan: str, part: int, values: pl.DataFrame) -> None:
        """Write the values per list of a part that was evaluated under a plan. They count once its
        state is kept."""
        path = self._values(plan, part)
        with explain_unwritable(path, path):
            path.parent.mkdir(parents=True, exist_ok=True)
            values.write_ipc(path, compression="uncompressed")

    def scan_values(self, plan: str, parts: int) -> list[pl.LazyFrame]:
        """Return the values per list of all parts that have any, without reading them."""
        paths = [self._values(plan, part) for part in range(parts)]
        return [pl.scan_ipc(path) for path in paths if path.exists()]

    def _values(self, plan: str, part: int) -> Path:
        return self.folder / f"values-{plan}" / f"{part:05d}.arrow"

    def _piece(self, table: str, group: str, piece: int) -> Path:
        return self.folder / table / group / f"{piece:05d}.arrow"

    def _state(self, plan: str, part: int) -> Path:
        return self.folder / f"states-{plan}" / f"{part:05d}"

    def _write_complete(self, path: Path, write: Callable[[Path], object]) -> None:
        unfinished = path.with_name(f"{path.name}{_UNFINISHED}")
        with explain_unwritable(path, unfinished):
            path.parent.mkdir(parents=True, exist_ok=True)
            write(unfinished)
            unfinished.replace(path)


def _sum_up(path: Path) -> int:
    """Return the checksum of a file; -1 if there is none."""
    return zlib.crc32(path.read_bytes()) if path.exists() else -1


def _sign(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_SIGN).digest()


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _gone(folder: Path, what: str) -> UnreadableFile:
    return UnreadableFile(
        f"{folder} {what}.",
        "that nothing changes temporary files while they are used.",
        f"evaluate again; {SETTING}=FOLDER in the environment names a folder that is not cleaned.",
    )


@contextmanager
def open_scratch(fingerprint: str) -> Iterator[Scratch]:
    """Yield the folder for inputs and settings with this fingerprint; remove it at the end. It is
    empty, or has what a killed process left in it."""
    root = Path(os.path.expanduser(os.environ.get(SETTING) or tempfile.gettempdir()))  # noqa: PTH111  (raises no error)
    if not os.path.isdir(root):  # noqa: PTH112  (raises no error, whatever the name)
        state = "is no folder" if os.path.exists(root) else "does not exist"  # noqa: PTH110
        raise UnwritableFile(
            f"{root}, the folder for temporary files, {state}.",
            "an existing folder with enough space for the tables.",
            f"create it, or name another one in the environment: {SETTING}=FOLDER.",
        )
    folder, lock = _claim_folder(root, fingerprint)
    try:
        _remove_leftovers(root, folder)
        yield Scratch(folder)
    finally:
        _remove(folder, lock)


def _claim_folder(root: Path, fingerprint: str) -> tuple[Path, FileLock]:
    """Return the folder for a fingerprint with its lock, or a new folder if another process is
    using that one, or if it belongs to somebody else."""
    for name in (fingerprint, *(secrets.token_hex(6) for _ in range(_ATTEMPTS))):
        folder = root / f"{_PREFIX}{name}"
        lock = FileLock(_lock_of(folder))
        with explain_unwritable(folder, folder), suppress(Timeout):
            lock.acquire(timeout=0)
            if _is_own(folder):
                return folder, lock
            lock.release()
            remove_file(_lock_of(folder))
    raise UnwritableFile(
        f"{root}, the folder for temporary files, cannot be written: it takes no lock file.",
        "a writable folder with enough space for the tables.",
        f"name another one in the environment: {SETTING}=FOLDER.",
    )


def _is_own(folder: Path) -> bool:
    """Create a folder that only this user can read and write, or check that it is one."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return own and not folder.is_symlink() and not about.st_mode & 0o022


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LOCK)


def _remove(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if os.name == "nt":  # an open file cannot be removed there
        lock.release()
    remove_file(_lock_of(folder))
    lock.release()


def _remove_leftovers(root: Path, own: Path) -> None:
    """Remove the folders of other processes that no longer run: nobody holds their lock."""
    for path in root.glob(f"{_PREFIX}*{_LOCK}"):
        folder = path.with_name(path.name.removesuffix(_LOCK))
        if folder == own or folder.is_symlink():
            continue
        lock = FileLock(path)
        with suppress(Timeout, OSError):  # in use, or of another user
            lock.acquire(timeout=0)
            _remove(folder, lock)
