"""Errors that name the line of a key, and what several checks ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rectitude.errors import MissingExtra, RectitudeError, UnreadableFile, unknown_name
from rectitude.experiment.places import At
from rectitude.experiment.reading import Loaded


@contextmanager
def placed(loaded: Loaded, *at: str | int) -> Iterator[None]:
    """Errors inside name the line of a key."""
    try:
        yield
    except RectitudeError as error:
        where = loaded.places.where(at)
        found = error.found if error.found.startswith(where) else f"{where}: {error.found}"
        raise type(error)(found, error.expected, error.advice) from None


def require_keys(
    loaded: Loaded, table: At, given: Iterable[str], known: Iterable[str], what: str
) -> None:
    """An error at the line of the first key that is not known."""
    for key in given:
        if key not in known:
            where = loaded.places.where((*table, key))
            raise unknown_name("parameter", key, known, where=f"{where}: {what}")


def require_file(loaded: Loaded, at: At, name: str) -> None:
    """An error if a key names no file."""
    path = loaded.path(name, at)
    if not path.is_file():
        raise UnreadableFile(
            f"{loaded.places.where(at)}: {path} is no file.",
            "a file; paths are relative to the experiment's own file.",
        )


def require_package(loaded: Loaded, at: At, package: str, extra: str) -> None:
    """An error if a key needs a package that is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(
            f"{loaded.places.where(at)}: this needs {package}, which is not installed.", "",
            f"pip install 'rectitude[{extra}]'",
        )  # fmt: skip
