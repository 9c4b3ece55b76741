"""The source files that code of your own depends on: editing any of them invalidates what was
computed with it."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from rectitude.experiment.fingerprints import file_digest

_INSTALLED = ("site-packages", "dist-packages", Path(ast.__file__).parent.name)
"""The folders of installed packages and of the standard library, whose modules are not followed."""
_REMEMBERED: dict[int, tuple[Any, dict[str, str]]] = {}
"""Source hashes of modules from when they were first needed: Python keeps using the code that it
has loaded, even if the file changes. A module that is loaded again has a new spec."""


def sources_of(path: str) -> dict[str, str]:
    """Return the hashes of an object's source files: its package, or its module and the modules in
    the same folder that it imports; empty if the import fails, which is reported later."""
    try:
        module = import_module(path.partition(":")[0])
    except Exception:  # user code may raise anything
        return {}
    spec = module.__spec__ or module
    if id(spec) not in _REMEMBERED:
        _REMEMBERED[id(spec)] = (spec, _hash_sources(module))
    return _REMEMBERED[id(spec)][1]


def _hash_sources(module: ModuleType) -> dict[str, str]:
    top = sys.modules.get(module.__name__.partition(".")[0], module)
    roots = [Path(folder) for folder in getattr(top, "__path__", ())]
    files = [(root.parent, file) for root in roots for file in root.rglob("*.py")]
    if not roots and getattr(module, "__file__", None):
        path = Path(str(module.__file__))
        files = [(path.parent, file) for file in _with_local_imports(path)]
    return {file.relative_to(root).as_posix(): file_digest(file) for root, file in sorted(files)}


def _with_local_imports(module: Path) -> set[Path]:
    """Return a module and the modules in its folder that it imports, directly or indirectly."""
    files, queue = {module}, [module]
    while queue and module.parent.name not in _INSTALLED:
        names = _find_imports(queue.pop())
        imported = [file for name in names for file in _find_module(module.parent, name)]
        new = [file for file in imported if file not in files]
        files.update(new)
        queue += new
    return files


def _find_module(folder: Path, name: str) -> list[Path]:
    """Return the files of a module or package in a folder."""
    file = folder / f"{name}.py"
    return [*([file] if file.is_file() else []), *(folder / name).rglob("*.py")]


def _find_imports(file: Path) -> set[str]:
    """Return the top-level names that a file imports."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # not Python, or for another version
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return {name.partition(".")[0] for name in names}
