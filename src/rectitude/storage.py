"""Write files completely or not at all, and check what kind of file was read."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rectitude.errors import RectitudeError, UnreadableFile, UnwritableFile
from rectitude.texts import parse_json, read_text

_COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst"})
Write = Callable[[Path], object]
"""A function that writes a file to the given path."""


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file; readers never see a half-written one."""
    write_all({Path(path): lambda target: target.write_text(text, encoding="utf-8")})


def require_suffix(
    path: str | os.PathLike[str], kind: str, allowed: Sequence[str], advice: str
) -> None:
    """Raise an error if the name of a file promises something else than what would be written.

    Pipes and devices may have any name.
    """
    where = Path(path)
    if where.suffix.lower() in allowed or (where.exists() and not where.is_file()):
        return
    ending = f"ends in {where.suffix!r}" if where.suffix else "has no ending"
    raise UnwritableFile(
        f"the name {where} {ending}.",
        f"a name that ends in {' or '.join(allowed)}, as which {_with_article(kind)} is saved.",
        advice,
    )


@contextmanager
def made_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a folder; create it if it does not exist, and remove it if it then stays empty."""
    folder = Path(path)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFile(
            f"{folder} cannot be created: {error.strerror or error}.",
            "an existing folder, or a new one inside a writable folder.",
        ) from error
    try:
        yield folder
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def write_all(files: Mapping[Path, Write]) -> None:
    """Write files under temporary names, and rename them once all of them are complete.

    A file that is replaced keeps its mode, and links keep their targets. Pipes and devices cannot
    be replaced; they are written to directly.
    """
    moves: dict[Path, Path] = {}
    _UNFINISHED.append(moves)
    try:
        for path, write in files.items():
            target = Path(os.path.realpath(path))
            special = target.exists() and not target.is_file()
            moves[target] = target if special else _temporary_name(target)
            with explain_unwritable(path, moves[target]):
                write(moves[target])
        for target, temporary in moves.items():
            if temporary != target:
                with explain_unwritable(target, temporary):
                    _move(temporary, target)
    finally:
        for target, temporary in moves.items():
            if temporary != target:
                remove_file(temporary)
        _UNFINISHED.remove(moves)


_UNFINISHED: list[dict[Path, Path]] = []
"""the temporary names of files that are being written"""


def remove_unfinished() -> None:
    """Remove files that are being written, because the process is about to end."""
    for moves in _UNFINISHED:
        for target, temporary in moves.items():
            if temporary != target:
                remove_file(temporary)


def _temporary_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}")


def _move(temporary: Path, target: Path) -> None:
    if target.exists():
        shutil.copymode(target, temporary)
    temporary.replace(target)


def remove_file(path: Path) -> None:
    """Remove a file that may not exist. If that fails, as on a read-only disk, it stays: whatever
    went wrong before is what people need to know."""
    with suppress(OSError):
        path.unlink(missing_ok=True)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NUMBER = r"os error (\d+)"
"""how Polars names an error of the system"""


@contextmanager
def explain_unwritable(path: Path, written: Path | None = None, advice: str = "") -> Iterator[None]:
    """Turn an error of the system, or of Polars, into one that names the file or folder `path`.

    `written` is where it is written first. If the disk is full, its size says how much is needed.
    """
    try:
        yield
    except RectitudeError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) and not type(error).__module__.startswith("polars"):
            raise
        number, reason = _explain_number(error, written or path)
        expected = "a file in an existing, writable folder."
        if number in _FULL:
            expected = _describe_need(number, written or path)
            advice = advice or "free some space, or choose another folder."
        found = f"{path} cannot be written: {reason}."
        raise UnwritableFile(found, expected, advice) from error


def _explain_number(error: Exception, written: Path) -> tuple[int, str]:
    """Return the number of the system's error, 0 if there is none, and the reason in words.

    Polars loses the number if only the end of a file does not fit.
    """
    in_words = re.search(_NUMBER, str(error))
    number = getattr(error, "errno", None) or (int(in_words[1]) if in_words else 0)
    if not number and _free_space(written) < _LITTLE:
        number = errno.ENOSPC
    return number, os.strerror(number) if number else str(error).strip().rstrip(".")


_LITTLE = 1 << 16  # bytes


def _describe_need(number: int, written: Path) -> str:
    """Return how much space is needed at least: what was written, and what is left."""
    files = [path for path in (written, *written.rglob("*")) if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    if number == errno.EFBIG:
        return f"that files larger than {_in_words(size)} are allowed (ulimit -f)."
    size += _free_space(written)
    return f"more than {_in_words(size)} of space for it." if size else "free space on the disk."


def _free_space(path: Path) -> int:
    folder = next(folder for folder in path.absolute().parents if folder.is_dir())
    return shutil.disk_usage(folder).free


def _in_words(size: float) -> str:
    """Return a number of bytes in words."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def short_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a folder, or of a file without its extensions."""
    name = Path(path)
    if name.is_dir():
        return name.resolve().name
    return Path(name.stem).stem if name.suffix in _COMPRESSED else name.stem


def real_path(path: Path) -> Path:
    """Return where a path leads. A link that points to itself is returned as it is."""
    return Path(os.path.realpath(path))


def require_readable(path: Path) -> None:
    """Raise an error that says why a file cannot be read, before anything guesses from that."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise UnreadableFile(
            f"{path} cannot be read: {error.strerror or error}.",
            "a file that you may read.",
        ) from error


def read_stored(path: str | os.PathLike[str], kind: str, expected: str) -> Any:
    """Read a JSON file, or raise an error that says what kind of file it should be."""
    return parse_json(read_text(path, kind, expected), os.fspath(path), expected)


def require_format(stored: object, where: str, kind: str, newest: int) -> Mapping[str, Any]:
    """Return the stored JSON object, or raise an error if its kind or version does not fit, or if
    one of its keys is missing or has the wrong type."""
    file_format = stored.get("format") if isinstance(stored, Mapping) else type(stored).__name__
    if not isinstance(stored, Mapping) or file_format != f"rectitude.{kind}":
        raise UnreadableFile(
            f"{where} contains {file_format!r}.",
            f"{_with_article(kind)}, with the format 'rectitude.{kind}'.",
        )
    if stored.get("version") not in range(1, newest + 1):
        raise UnreadableFile(
            f"{where} is {_with_article(kind)} of version {stored.get('version')!r}.",
            f"version {newest} or older.",
            "install a newer version of rectitude to read it.",
        )
    require_keys(stored, where, kind)
    return stored


def require_keys(stored: object, where: str, kind: str) -> None:
    """Raise an error if a key of a stored JSON object is missing or has the wrong type."""
    from rectitude.documents import require_document  # noqa: PLC0415  (pydantic loads slowly)

    require_document(stored, where, kind)
