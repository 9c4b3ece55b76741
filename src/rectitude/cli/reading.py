"""Which format each file was taken for, and why: a line on stderr once the work is done."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import typer

_WHERE = "rectitude.data.read"
_SAYS_ITSELF = ("convert", "demo")


class _Kept(logging.Handler):
    """The messages, each once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.lines[record.getMessage()] = None


def told(line: str) -> None:
    """Say that a file was read which is no table."""
    logging.getLogger(_WHERE).info(line)


@contextmanager
def reading_told(verb: str) -> Iterator[None]:
    """Say afterwards what was read as what. Files are read side by side, so lines are sorted."""
    kept, log = _Kept(), logging.getLogger(_WHERE)
    before = log.level
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(kept)
        log.setLevel(before)
        for line in () if verb in _SAYS_ITSELF else sorted(kept.lines):
            typer.secho(line, err=True, dim=True)
