"""MovieLens from its publisher: fetched once, resumed, checked, unpacked; or taken from a file."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from os import PathLike
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

from rectitude.errors import UnreadableFile, UnwritableFile, unknown_name

Name = Literal["latest-small", "32m"]
_PIECE = 1 << 20
LICENCE = (
    "MovieLens data is made by GroupLens Research, University of Minnesota. It may be used for "
    "research, and passed on, under the terms of the README.txt beside it: cite F. Maxwell Harper "
    "and Joseph A. Konstan, The MovieLens Datasets: History and Context, ACM TiiS 5(4), 2015; no "
    "endorsement is implied; commercial use needs permission."
)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive on the web, and what tells that it is the right one."""

    url: str
    size: int
    sha256: str


ARCHIVES: Mapping[str, Archive] = {
    "latest-small": Archive(
        "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip",
        978_202,
        "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
    ),
    "32m": Archive(
        "https://files.grouplens.org/datasets/movielens/ml-32m.zip",
        238_950_008,
        "e4a68655d7386b8f95f2f2424b2ff975dfdd15ffd59e0d864a14dca43e99d6ee",
    ),
}
"""The releases of 2018-09 and 2024-05. A `latest-small` that is published later has other content,
and is refused: a number that shall be reproduced needs a fixed one."""


def movielens(
    name: Name = "latest-small",
    folder: str | PathLike[str] = "data",
    *,
    path: str | PathLike[str] | None = None,
    archive: Archive | None = None,
    tell: Callable[[str], object] | None = None,
) -> Path:
    """The folder with ratings.csv, movies.csv and README.txt of a MovieLens release.

    It is fetched into `folder` unless it is there. `path` is an archive or an unpacked folder on
    this machine to use in place of the web. `archive` names another mirror, with its checksum.
    `tell` is handed the licence notice, which is otherwise written to standard error.
    """
    if name not in ARCHIVES:
        raise unknown_name("MovieLens release", name, ARCHIVES)
    (tell or _tell)(LICENCE)
    if path is not None and Path(path).is_dir():
        return _complete(Path(path))
    wanted = archive or ARCHIVES[name]
    target = Path(folder) / f"ml-{name}"
    if target.is_dir():
        return _complete(target)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFile(f"{folder} cannot be made: {error.strerror}.") from error
    if path is not None:
        _require_whole(Path(path), wanted)
        return unpack(Path(path), target)
    zipped = Path(folder) / f"ml-{name}.zip"
    fetch(wanted, zipped)
    unpacked = unpack(zipped, target)
    zipped.unlink()
    return unpacked


def fetch(archive: Archive, target: Path) -> Path:
    """Download an archive, going on where an earlier attempt stopped; checked before it gets its
    name, so that a file of that name is whole."""
    if target.exists():
        _require_whole(target, archive)
        return target
    part = target.with_name(target.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    if have > archive.size:
        part.unlink()
        have = 0
    if have < archive.size:
        _download(archive, part, have)
    try:
        _require_whole(part, archive)
    except UnreadableFile:
        if part.stat().st_size >= archive.size:  # nothing to go on with
            part.unlink()
        raise
    part.replace(target)
    return target


def unpack(zipped: Path, target: Path) -> Path:
    """Unpack an archive into a folder that appears only once it is whole.

    The folder inside the archive is left out. Names that would lead outside are refused before
    anything is written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent, prefix=".unpacking-") as scratch:
        inside = Path(scratch) / "whole"
        try:
            with ZipFile(zipped) as archive:
                _require_safe(archive, zipped)
                archive.extractall(inside)
        except BadZipFile as error:
            raise UnreadableFile(
                f"{zipped} is no whole archive: {error}.", "a zip file.", "download it again."
            ) from error
        found = sorted(inside.rglob("ratings.csv"))
        if not found:
            raise UnreadableFile(f"{zipped} holds no ratings.csv.", "a MovieLens archive.")
        shutil.move(found[0].parent, target)
    return _complete(target)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _complete(folder: Path) -> Path:
    missing = [name for name in ("ratings.csv", "movies.csv") if not (folder / name).is_file()]
    if missing:
        raise UnreadableFile(
            f"{folder} lacks {' and '.join(missing)}.",
            "an unpacked MovieLens release.",
            "remove the folder to fetch it again, or name another one.",
        )
    return folder


def _download(archive: Archive, part: Path, have: int) -> None:
    if not archive.url.startswith(("https://", "http://")):
        raise UnreadableFile(f"{archive.url} is no web address.", "https://...")
    asked = {"User-Agent": "rectitude", **({"Range": f"bytes={have}-"} if have else {})}
    request = Request(archive.url, headers=asked)  # noqa: S310  (http, as was just looked at)
    try:
        with urlopen(request, timeout=60) as answer:  # noqa: S310
            # A server that knows no ranges sends the whole file, which then begins anew.
            mode = "ab" if have and answer.status == 206 else "wb"
            with part.open(mode) as file:
                shutil.copyfileobj(answer, file, _PIECE)
    except (HTTPException, OSError) as error:
        got = part.stat().st_size if part.exists() else 0
        raise UnreadableFile(
            f"{archive.url} cannot be fetched: {error} ({got:,} of {archive.size:,} bytes).",
            "a connection to the web.",
            "call again to go on where it stopped, or hand over a file with path=.",
        ) from error


def _require_whole(path: Path, archive: Archive) -> None:
    """An error if a file is not what was published, by size and by checksum."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            found = _digest(file)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}.", "an archive.") from error
    if found == archive.sha256:
        return
    short = size < archive.size
    raise UnreadableFile(
        f"{path} has {size:,} bytes and the SHA-256 checksum {found[:16]}...",
        f"{archive.size:,} bytes and {archive.sha256[:16]}..., as published.",
        "call again to go on where it stopped."
        if short
        else "it is damaged or another release; remove it to fetch it again.",
    )


def _digest(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _require_safe(archive: ZipFile, zipped: Path) -> None:
    for info in archive.infolist():
        name = PurePosixPath(info.filename.replace("\\", "/"))
        linked = (info.external_attr >> 28) == 0xA
        if name.is_absolute() or ".." in name.parts or ":" in name.parts[0] or linked:
            raise UnreadableFile(
                f"{zipped} holds {info.filename!r}, which leads outside its folder.",
                "names of files below one folder.",
                "do not unpack this archive; fetch it from its publisher.",
            )
