"""The run's folder: stages that are kept by their fingerprint, and what is shown of them.

    config.toml         as it was written (.yaml, or .json of a dict)
    environment.json    what the run was made with, and when
    manifest.json       every stage with its fingerprint and the hashes of its files
    ledger.json         what each stage met and did
    results.json        numbers, definitions, comparison, audit, failures
    values/             values per user, Parquet; below a folder for each split if there are several
    predictions/        the lists, Parquet
    report.html         the page
    log.jsonl           what happened when
    stages/             what stages wrote: a rerun goes on from there

A stage's folder appears under its name once it is whole. Whatever ends a run, and wherever, what is
under a name can be relied on.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.errors import UnwritableFile
from rectitude.experiment.fingerprints import file_digest

if TYPE_CHECKING:
    import polars as pl

STAGES = "stages"
OWN = (STAGES, "values", "predictions")
"""Folders in a run's folder in which nothing is kept but what a run needs."""
MARKS = (".lock", "log.jsonl", "manifest.json")
"""What tells the folder of a run."""
DONE = "done.json"
_TEMPORARY = ".part-"
Write = Callable[[Path], object]
Output = Mapping[str, Write]
"""The files of a stage: name -> what writes it."""


@dataclass
class Store:
    """What a run's folder holds, and which stages of it this run used."""

    folder: Path
    used: dict[str, dict[str, Any]] = field(default_factory=dict)
    """stage -> its fingerprint and its files, in the order in which they were needed"""

    def make(self) -> None:
        """Make the folder, if it is not there; one whose content is not of a run stays as it is."""
        self._require_own()
        _attempt(self.folder, lambda: (self.folder / STAGES).mkdir(parents=True, exist_ok=True))

    def _require_own(self) -> None:
        """An error if a folder is somebody else's that a run would clean up in."""
        marked = any((self.folder / name).exists() for name in MARKS)
        held = [name for name in OWN if (self.folder / name).exists()]
        if held and not marked:
            raise UnwritableFile(
                f"{self.folder} holds {' and '.join(held)}, and no run has written there.",
                "a new folder, or that of a run: what a run does not need there is removed.",
                "name another folder with --folder.",
            )

    def tidy(self) -> None:
        """Remove what a run that died left unfinished."""
        inside = [left for name in OWN for left in (self.folder / name).rglob(f"{_TEMPORARY}*")]
        for left in [*self.folder.glob(f"{_TEMPORARY}*"), *inside]:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove every stage."""
        shutil.rmtree(self.folder / STAGES, ignore_errors=True)
        self.make()

    def find(self, stage: str, key: str) -> Path | None:
        """The folder of a stage that is there and as it was written; None if it has to be made."""
        place = self.folder / STAGES / key
        try:
            files = json.loads((place / DONE).read_text("utf-8"))["files"]
            if {name: file_digest(place / name) for name in files} != files:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        self.used[stage] = {"key": key, "files": files}
        return place

    def keep(self, stage: str, key: str, output: Output) -> Path:
        """Write the files of a stage, all or none, and give its folder."""
        place = self.folder / STAGES / key
        beside = self.folder / STAGES / f"{_TEMPORARY}{secrets.token_hex(4)}"
        try:
            _attempt(place, partial(beside.mkdir, parents=True))
            for name, write in output.items():
                _attempt(self.folder, partial(write, beside / name))
            files = {name: file_digest(beside / name) for name in output}
            told = {"stage": stage, "key": key, "files": files}
            _attempt(place, partial(_write_json, told, beside / DONE))
            shutil.rmtree(place, ignore_errors=True)
            _attempt(place, partial(beside.replace, place))
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        self.used[stage] = {"key": key, "files": files}
        return place

    def sweep(self) -> None:
        """Remove the stages that this run did not use."""
        wanted = {one["key"] for one in self.used.values()}
        for place in (self.folder / STAGES).iterdir():
            if place.name not in wanted:
                shutil.rmtree(place, ignore_errors=True)

    def show(self, name: str, source: Path) -> None:
        """Put a file of a stage where people look for it; a link where the system has them."""
        target = self.folder / name
        _attempt(target, lambda: target.parent.mkdir(parents=True, exist_ok=True))
        self._move(target, lambda where: _linked(source, where))

    def write(self, name: str, write: Write) -> None:
        """Write a file of the folder itself, whole or not at all."""
        self._move(self.folder / name, write)

    def write_json(self, name: str, value: object) -> None:
        """Write JSON, whole or not at all."""
        self.write(name, partial(_write_json, value))

    def _move(self, target: Path, write: Write) -> None:
        beside = target.with_name(f"{_TEMPORARY}{secrets.token_hex(4)}")
        try:
            _attempt(target, partial(write, beside))
            _attempt(target, partial(beside.replace, target))
        finally:
            beside.unlink(missing_ok=True)

    def clean(self, kinds: Iterable[str], wanted: Collection[str]) -> None:
        """Remove the shown files that belong to no model or split of this run any more."""
        for kind in kinds:
            for path in sorted((self.folder / kind).rglob("*"), reverse=True):
                name = path.relative_to(self.folder).as_posix()
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
                elif not path.is_dir() and name not in wanted:
                    path.unlink()


def json_file(value: object) -> Write:
    """Writes a value as JSON."""
    return partial(_write_json, value)


def parquet_file(frame: pl.DataFrame) -> Write:
    """Writes a frame as Parquet; equal frames give equal bytes, whatever pieces they came in."""
    return lambda path: frame.rechunk().write_parquet(path)


def read_json(path: Path) -> Any:
    """What a JSON file of a stage holds."""
    return json.loads(path.read_text("utf-8"))


def _write_json(value: object, path: Path) -> None:
    text = json.dumps(value, indent=1, allow_nan=False, default=str)
    path.write_text(f"{text}\n", encoding="utf-8")


def _linked(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _attempt(path: Path, action: Callable[[], object]) -> None:
    """Do what may fail for want of space or of the right to."""
    from polars.exceptions import PolarsError

    try:
        action()
    except (OSError, PolarsError) as error:
        if isinstance(error, UnwritableFile):
            raise
        cause = getattr(error, "strerror", None) or str(error).strip()
        raise UnwritableFile(
            f"{path} cannot be written: {cause}.",
            "a folder that may be written to, with space left.",
            "what was finished before is kept: run again to go on from there.",
        ) from error
