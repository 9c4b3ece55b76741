"""Fingerprints: what a stage's output depends on, as one short hash."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

from rectitude._version import __version__
from rectitude.errors import UnreadableFile

FORMAT = 1
"""Raised when stages write something else than before."""
_DECIDING = "numpy, scipy, polars, numba, implicit, optuna, threadpoolctl"
"""Packages whose release can change bits, or whose absence."""
_OWN = (".py", ".toml")
"""What this package is made of: code, and profiles and protocols as data."""
_CHUNK = 1 << 20


def key_of(stage: str, facts: Mapping[str, Any]) -> str:
    """The fingerprint of a stage by all that decides its output."""
    said = json.dumps([stage, facts, _here()], sort_keys=True, default=str)
    return hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


@cache
def _here() -> dict[str, Any]:
    """What of this installation decides bits."""
    found = {name: package_version(name) for name in _DECIDING.split(", ")}
    own = {"rectitude": __version__, "code": _code(), "format": FORMAT}
    return {**own, "python": sys.version_info[:2], **found}


def _code() -> str:
    """A hash of this package's own files, so that a release that was patched is another one."""
    root = Path(__file__).resolve().parents[1]
    whole = hashlib.blake2b(digest_size=16)
    for path in sorted(one for one in root.rglob("*") if one.suffix in _OWN):
        whole.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
        _add(whole, path)
    return whole.hexdigest()


def package_version(name: str) -> str:
    """The release of an installed package; empty if it is not there."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def file_digest(path: Path) -> str:
    """A hash of the bytes of a file, or of all files in a folder."""
    whole = hashlib.blake2b(digest_size=16)
    try:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if path.is_dir():
                whole.update(f"\0{file.relative_to(path).as_posix()}\0".encode())
            if file.is_file():
                _add(whole, file)
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror}.", "a file that is there."
        ) from error
    return whole.hexdigest()


def input_digest(path: Path) -> str:
    """The hash of a file that several stages depend on, which is read once."""
    if path.is_dir() or not path.exists():
        return file_digest(path)
    state = path.stat()
    return _remembered(path, state.st_mtime_ns, state.st_size)


@cache
def _remembered(path: Path, _changed: int, _size: int) -> str:
    return file_digest(path)


def _add(whole: hashlib.blake2b, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            whole.update(chunk)


def environment() -> dict[str, Any]:
    """What the run was made with, for whoever wants to repeat it."""
    installed = {one.metadata["Name"]: one.version for one in distributions()}
    return {
        "rectitude": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "packages": dict(sorted(installed.items(), key=lambda one: str(one[0]).lower())),
    }
