"""Texts that are read whole, in JSON, TOML or YAML, whoever wrote them.

Only regular files are opened: a pipe may keep its reader waiting for ever, and a device has no end.
Whatever is wrong in a text, such as a thousand brackets inside each other, is one kind of error.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rectitude.errors import RectitudeError, UnreadableFile

MOST_BYTES = 1_000_000
"""The largest settings: files that a person writes, such as an experiment, recipe or profile."""
_MOST_YAML = 100_000  # PyYAML takes seconds for it
_MOST_NODES, _MOST_LEVELS = 100_000, 100
"""How much a YAML text may contain once its aliases are replaced."""
_SURROGATE = r"\\u[dD][89a-fA-F]"
"""Half of a surrogate pair as JSON writes it; alone, it stands for no character."""


def require_regular(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file; raise an error for a pipe or a device."""
    where = Path(path).expanduser()
    if is_special(where):
        raise special_file(where)
    return where


def is_special(path: Path) -> bool:
    """Whether a path exists and is neither a regular file nor a folder."""
    return not path.is_file() and path.exists() and not path.is_dir()


def special_file(path: Path) -> UnreadableFile:
    """Return the error for a pipe or a device."""
    return UnreadableFile(
        f"{path} is a pipe or a device, which can be read only once.",
        "a regular file.",
        "write the content of the pipe to a file first.",
    )


def read_text(path: str | os.PathLike[str], what: str, expected: str, advice: str = "") -> str:
    """Read a text file, or raise an error that says why it cannot be read."""
    file = require_regular(path)
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        found = f"the {what} {os.fspath(path)} cannot be read: {cause}."
        raise UnreadableFile(found, expected, advice) from error


def read_settings(path: str | os.PathLike[str], what: str, expected: str, advice: str = "") -> str:
    """Read a text file that a person wrote, which is never large."""
    file = require_regular(path)
    size = file.stat().st_size if file.is_file() else 0
    if size > MOST_BYTES:
        raise UnreadableFile(
            f"the {what} {os.fspath(path)} has {size:,} bytes.",
            f"at most {MOST_BYTES:,} bytes.",
            advice,
        )
    return read_text(path, what, expected, advice)


Pairs = Callable[[list[tuple[str, Any]]], Any]
"""A function that makes an object of its keys and values."""


def parse_json(
    text: str | bytes, label: str, expected: str, advice: str = "", pairs: Pairs | None = None
) -> Any:
    """Parse a JSON text, or raise an error with the line that is wrong."""

    def explain(error: Exception) -> str:
        if isinstance(error, json.JSONDecodeError):
            where = f"line {error.lineno}, column {error.colno}"
            return f"{label} is not JSON ({where}): {error.msg}."
        return f"{label} is not JSON: {error}."

    with _one_error(explain, label, expected, advice):
        parsed = json.loads(text, object_pairs_hook=pairs)
        source = text if isinstance(text, str) else text.decode("utf-8", "replace")
        if re.search(_SURROGATE, source):
            json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


def parse_toml(text: str, label: str, expected: str) -> dict[str, Any]:
    """Parse a TOML text, or raise an error with the line that is wrong."""
    import tomllib  # noqa: PLC0415  (most evaluations read no TOML)

    def explain(error: Exception) -> str:
        if not isinstance(error, tomllib.TOMLDecodeError):
            return f"{label}: {error}."
        message, _, position = str(error).partition(" (at ")
        return f"{label}, {position.rstrip(')') or 'the end of the document'}: {message}."

    with _one_error(explain, label, expected):
        return tomllib.loads(text)


def parse_yaml(text: str, label: str, expected: str) -> tuple[Any, Any]:
    """Parse a YAML text as plain values, or raise an error with the line that is wrong.

    Return the values, and the node at the root, which knows the line of each part.
    """
    import yaml

    def explain(error: Exception) -> str:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        return f"{label}{where}: {getattr(error, 'problem', None) or str(error).splitlines()[0]}."

    if len(text) > _MOST_YAML:
        found = f"{label} has {len(text):,} characters."
        raise UnreadableFile(found, f"YAML of at most {_MOST_YAML:,} characters.")
    with _one_error(explain, label, expected, errors=yaml.YAMLError):
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        _require_small(root, label)
        return None if root is None else _construct(loader, root, label), root


def _construct(loader: Any, root: Any, label: str) -> Any:
    """Return the values of a YAML text. PyYAML raises errors of many kinds for a value that does
    not have the form of its tag, such as `!!timestamp soon`."""
    try:
        return loader.construct_document(root)
    except (AttributeError, LookupError, TypeError) as error:
        raise UnreadableFile(
            f"{label} has a value that does not have the form of its tag, such as !!int or "
            "!!timestamp.",
            "values without tags, or in the form that their tags name.",
        ) from error


def _require_small(root: Any, label: str) -> None:
    """Raise an error if a YAML text with all aliases replaced is huge, or endless."""
    waiting, nodes = [(root, 1)], 0
    while waiting:
        node, level = waiting.pop()
        nodes += 1
        if nodes > _MOST_NODES or level > _MOST_LEVELS:
            much = f"{_MOST_NODES:,} values" if nodes > _MOST_NODES else f"{_MOST_LEVELS} levels"
            raise UnreadableFile(
                f"{label} contains more than {much}, with its aliases (*name) replaced.",
                "fewer.",
                "write out what the aliases stand for.",
            )
        value = getattr(node, "value", None)
        if isinstance(value, str):
            value.encode()
        for part in value if isinstance(value, list) else ():
            inner = part if isinstance(part, tuple) else (part,)
            waiting.extend((child, level + 1) for child in inner)


@contextmanager
def _one_error(
    explain: Callable[[Exception], str],
    label: str,
    expected: str,
    advice: str = "",
    errors: type[Exception] = ValueError,
) -> Iterator[None]:
    """Turn whatever a parser raises into one kind of error."""
    try:
        yield
    except RectitudeError:
        raise
    except UnicodeEncodeError:
        found = f"{label} contains half of a surrogate pair, which is not a character."
        raise UnreadableFile(found, expected, advice) from None
    except RecursionError:
        raise UnreadableFile(f"{label} is nested too deeply.", expected, advice) from None
    except (ValueError, errors) as error:  # also dates that do not exist
        if "Exceeds the limit" in str(error):
            found = (
                f"{label} contains a number of more than {sys.get_int_max_str_digits():,} digits."
            )
            raise UnreadableFile(found, expected, advice) from None
        raise UnreadableFile(explain(error), expected, advice) from None
