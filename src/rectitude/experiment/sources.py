"""The files that a model of one's own comes from, so that editing any of them counts."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rectitude.experiment.fingerprints import file_digest

_INSTALLED = ("site-packages", "dist-packages")
_REMEMBERED: dict[int, tuple[Any, dict[str, str]]] = {}
"""What modules came from when they were first asked for: Python goes on with the code that it has
loaded, whatever becomes of the file. A module that is loaded again has another spec."""


def sources_of(path: str) -> dict[str, str]:
    """The hashes of the files of an object at an import path: its package, or its module and what
    that imports from beside it; none if it cannot be imported, which is said when it is made."""
    try:
        module = import_module(path.partition(":")[0])
    except Exception:  # whatever a module of somebody else's raises
        return {}
    loaded = module.__spec__ or module
    if id(loaded) not in _REMEMBERED:
        _REMEMBERED[id(loaded)] = (loaded, _digests(module))
    return _REMEMBERED[id(loaded)][1]


def _digests(module: ModuleType) -> dict[str, str]:
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    roots = [Path(place) for place in getattr(top, "__path__", ())]
    files = [(root.parent, file) for root in roots for file in root.rglob("*.py")]
    if not roots and getattr(module, "__file__", None):
        own = Path(str(module.__file__))
        files = [(own.parent, file) for file in _with_neighbours(own)]
    return {file.relative_to(root).as_posix(): file_digest(file) for root, file in sorted(files)}


def _with_neighbours(own: Path) -> set[Path]:
    """A module, and what it imports of its own folder, itself or through others."""
    found, waiting = {own}, [own]
    while waiting and own.parent.name not in _INSTALLED:
        names = _imported(waiting.pop())
        near = [one for name in names for one in _named(own.parent, name)]
        fresh = [one for one in near if one not in found]
        found.update(fresh)
        waiting += fresh
    return found


def _named(folder: Path, name: str) -> list[Path]:
    """The files of a module or package of a folder."""
    file = folder / f"{name}.py"
    return [*([file] if file.is_file() else []), *(folder / name).rglob("*.py")]


def _imported(file: Path) -> set[str]:
    """The first words of all that a file imports."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # no Python, or not of this release
        return set()
    names = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}
