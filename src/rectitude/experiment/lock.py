"""One writer per folder: a lock that dies with its process."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rectitude.errors import UnwritableFile

NAME = ".lock"
_HELD: set[Path] = set()
"""Folders that this process writes: the system's locks are between processes only."""
_GUARD = threading.Lock()


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the only writer of a folder, or say who is.

    The lock belongs to the process, so that one of a process that died is no hindrance; the number
    of the process stands in the file only to be told.
    """
    path = folder.resolve() / NAME
    with _GUARD:
        if path in _HELD:
            raise _busy(folder, "this process")
        _HELD.add(path)
    try:
        with _opened(path) as file:
            _take(file, folder)
            _tell(file)
            yield
    finally:
        _HELD.discard(path)


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("a+", encoding="utf-8")
    except OSError as error:
        raise UnwritableFile(
            f"{path.parent} cannot be written: {error.strerror}.",
            "a folder that may be written to.",
        ) from error


def _take(file: IO[str], folder: Path) -> None:
    try:
        _locked(file)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise _busy(folder, _owner(file)) from error
        raise UnwritableFile(
            f"{folder} cannot be locked: {error.strerror}.",
            "a file system with locks, so that one run at a time writes there.",
        ) from error


def _locked(file: IO[str]) -> None:
    """Take the system's lock; an OSError if another process has it."""
    if os.name == "nt":
        import msvcrt

        locking: Any = msvcrt
        file.seek(0)
        locking.locking(file.fileno(), locking.LK_NBLCK, 1)
        return
    import fcntl

    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _tell(file: IO[str]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps({"process": os.getpid()}))
    file.flush()


def _owner(file: IO[str]) -> str:
    """Who has the lock, as far as the file tells."""
    try:
        file.seek(0)
        return f"process {json.loads(file.read())['process']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _busy(folder: Path, owner: str) -> UnwritableFile:
    return UnwritableFile(
        f"{folder} is being written by {owner}.",
        "one run at a time in a folder.",
        "wait until it is done, or name another folder with --folder.",
    )
