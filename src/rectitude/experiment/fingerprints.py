"""Fingerprints: a short hash of everything that the output of a stage depends on."""

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
from rectitude.data.formats.several import match_files
from rectitude.errors import UnreadableFile

FORMAT = 1
"""Increased whenever stages write a different format."""
_RELEVANT_PACKAGES = "numpy, scipy, polars, numba, implicit, optuna, threadpoolctl"
"""Packages whose version, or absence, can change results."""
_SOURCE_SUFFIXES = (".py", ".toml")
"""The files of this package: code, and data such as profiles and protocols."""
_CHUNK = 1 << 20


def key_of(stage: str, key_inputs: Mapping[str, Any]) -> str:
    """Return the fingerprint of a stage, given everything that its output depends on."""
    text = json.dumps([stage, key_inputs, _describe_installation()], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@cache
def _describe_installation() -> dict[str, Any]:
    """Return what in this installation can change results."""
    packages = {name: package_version(name) for name in _RELEVANT_PACKAGES.split(", ")}
    package = {"rectitude": __version__, "code": _hash_code(), "format": FORMAT}
    return {**package, "python": sys.version_info[:2], **packages}


def _hash_code() -> str:
    """Return a hash of the files of this package, which detects a patched installation."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(file for file in root.rglob("*") if file.suffix in _SOURCE_SUFFIXES):
        digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
        _add_file(digest, path)
    return digest.hexdigest()


def package_version(name: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def file_digest(path: Path) -> str:
    """Return a hash of the bytes of a file, or of all files in a folder or of a pattern."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        files = sorted(path.rglob("*")) if path.is_dir() else match_files(path) or [path]
        for file in files:
            if path.is_dir():
                digest.update(f"\0{file.relative_to(path).as_posix()}\0".encode())
            if file.is_file():
                _add_file(digest, file)
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror}.", "a readable file."
        ) from error
    return digest.hexdigest()


def input_digest(path: Path) -> str:
    """Return the hash of a file that several stages depend on; it is read only once."""
    if path.is_dir() or not path.exists():
        return file_digest(path)
    state = path.stat()
    return _hash_once(path, state.st_mtime_ns, state.st_size)


@cache
def _hash_once(path: Path, _changed: int, _size: int) -> str:
    return file_digest(path)


def _add_file(digest: hashlib.blake2b, path: Path) -> None:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)


def environment() -> dict[str, Any]:
    """Return versions and machine of the run, for anyone who wants to reproduce it."""
    installed = {package.metadata["Name"]: package.version for package in distributions()}
    return {
        "rectitude": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "packages": dict(sorted(installed.items(), key=lambda item: str(item[0]).lower())),
    }
