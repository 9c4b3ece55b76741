"""Recipe files, and the lines on which their steps and parameters stand."""

from __future__ import annotations

import os
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from rectitude.errors import UnreadableFile

_HEADING = re.compile(r"^[ \t]*\[\[\s*steps\s*\]\]", re.MULTILINE)
_INLINE = re.compile(r"\{")
_COMMENT = re.compile(r"(?m)^[ \t]*#.*$")


def read_toml(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it holds."""
    shown = os.fspath(path)
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UnreadableFile(
            f"the recipe {shown} cannot be read: {cause}.", "a TOML file with [[steps]]."
        ) from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        where = place.rstrip(")") or "the end of the document"
        raise UnreadableFile(
            f"{shown}, {where}: {message}.",
            "TOML: key = value, with text in quotes, under headings [[steps]].",
        ) from None


class Lines:
    """Where things stand in the text of a recipe."""

    def __init__(self, text: str, label: str) -> None:
        self.text = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        self.label = label

    @cached_property
    def _starts(self) -> list[int]:
        """Where each step begins: its heading, or the brace of an inline table."""
        found = _HEADING if _HEADING.search(self.text) else _INLINE
        return [match.start() for match in found.finditer(self.text)]

    def place(self, step: int, key: str) -> str:
        """The line of a parameter of a step, or of the step itself."""
        starts = [*self._starts, len(self.text)]
        first, last = (starts[min(at, len(starts) - 1)] for at in (step, step + 1))
        match = _assigned(key).search(self.text, first, last) if key else None
        return self._line(match.start(1) if match else first)

    def key(self, key: str) -> str:
        """The line of a key outside all steps."""
        match = re.search(rf"(?m)^[ \t]*(?:\[+\s*)?[\"']?({re.escape(key)})\b", self.text)
        return self._line(match.start(1) if match else 0)

    def _line(self, place: int) -> str:
        return f"{self.label}, line {self.text.count(chr(10), 0, place) + 1}"


def _assigned(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])[\"']?({re.escape(key)})[\"']?\s*=")
