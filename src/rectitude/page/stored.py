"""Reports of what lies in files: folders of runs, evaluations, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from rectitude.aggregate.evaluation import from_dict
from rectitude.errors import BadName, UnreadableFile
from rectitude.page.content import Content, content_of, content_of_comparison
from rectitude.page.runs import content_of_run, side_by_side, told_apart
from rectitude.storage import read_stored, require_format

Paths = Sequence[str | PathLike[str]]
_EXPECTED = "the folder of a run, or a JSON file of an evaluation or a comparison."


def content_of_files(paths: Paths, title: str = "") -> Content:
    """What folders or files have to show: several runs or evaluations side by side, one
    comparison."""
    folders = [path for path in paths if Path(path).is_dir()]
    if folders and len(folders) < len(paths):
        raise BadName(
            f"{len(folders)} of {len(paths)} arguments are folders.", "runs or files, not both."
        )
    if folders:
        return content_of_run(paths[0], title) if len(paths) == 1 else side_by_side(paths, title)
    stored = {fspath(path): read_stored(path, "result", _EXPECTED) for path in paths}
    kinds = {path: _kind(one, path) for path, one in stored.items()}
    if len(paths) == 1 and set(kinds.values()) == {"comparison"}:
        ((path, one),) = stored.items()
        return content_of_comparison(require_format(one, path, "comparison", 1), title)
    names = map(_name, told_apart(paths))
    evaluations = {
        name: from_dict(stored[fspath(path)], fspath(path))
        for name, path in zip(names, paths, strict=True)
    }
    return content_of(evaluations, title)


def _kind(stored: object, path: str) -> str:
    found: Any = stored.get("format") if isinstance(stored, Mapping) else None
    kind = str(found).removeprefix("rectitude.")
    if kind not in ("evaluation", "comparison"):
        raise UnreadableFile(f"{path} holds {found!r}.", _EXPECTED)
    return kind


def _name(path: str) -> str:
    return path.removesuffix(".json").removesuffix(".evaluation")
