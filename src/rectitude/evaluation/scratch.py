"""Temporary files of tables that are larger than memory.

They are in a folder of their own, inside the one that the environment variable `RECTITUDE_SCRATCH`
names, or else inside the system's temporary folder. It is removed at the end. If a process is
killed, the next one removes what it left behind.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from filelock import FileLock, Timeout

from rectitude.errors import UnwritableFile
from rectitude.storage import explain_unwritable

SETTING = "RECTITUDE_SCRATCH"
_PREFIX, _LOCK = "rectitude-parts-", ".lock"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of temporary files: the rows of tables, by part."""

    folder: Path

    def write(self, table: str, part: int, piece: int, rows: pl.DataFrame) -> None:
        """Write some rows of a table that belong to a part."""
        path = self.folder / table / f"{part:05d}" / f"{piece:05d}.arrow"
        with explain_unwritable(path, path):
            path.parent.mkdir(parents=True, exist_ok=True)
            rows.write_ipc(path, compression="uncompressed")

    def read(self, table: str, part: int) -> list[pl.DataFrame]:
        """Return the rows of a table that belong to a part, in the order they were written."""
        folder = self.folder / table / f"{part:05d}"
        return [pl.read_ipc(path) for path in sorted(folder.glob("*.arrow"))]


@contextmanager
def open_scratch() -> Iterator[Scratch]:
    """Yield a new folder for temporary files; remove it at the end."""
    root = Path(os.environ.get(SETTING) or tempfile.gettempdir()).expanduser()
    if not root.is_dir():
        raise UnwritableFile(
            f"{root}, the folder for temporary files, does not exist.",
            "an existing folder with enough space for the tables.",
            f"create it, or name another one in the environment: {SETTING}=FOLDER.",
        )
    _remove_leftovers(root)
    folder = root / f"{_PREFIX}{secrets.token_hex(6)}"
    with explain_unwritable(folder, folder):
        folder.mkdir(mode=0o700)
    lock = FileLock(folder / _LOCK)
    lock.acquire()
    try:
        yield Scratch(folder)
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def _remove_leftovers(root: Path) -> None:
    """Remove the folders of processes that no longer run: nobody holds their lock."""
    for folder in root.glob(f"{_PREFIX}*"):
        if folder.is_symlink() or not (folder / _LOCK).is_file():
            continue
        try:
            with FileLock(folder / _LOCK, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
        except (Timeout, OSError):  # in use, or of another user
            continue
