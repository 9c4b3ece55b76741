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
under a name can be relied on. A folder has one writer at a time, whose lock dies with its process.
Between stages, logs and splits are Parquet files, with JSON for what those do not hold.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout
from polars.exceptions import PolarsError

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log
from rectitude.errors import DuplicateTruth, UnwritableFile
from rectitude.experiment.fingerprints import file_digest
from rectitude.experiment.windows import facts_of as window_facts
from rectitude.splits.files import described
from rectitude.splits.split import Split

STAGES = "stages"
OWN = (STAGES, "values", "predictions")
"""Folders in a run's folder in which nothing is kept but what a run needs."""
LOCK = ".lock"
MARKS = (LOCK, "log.jsonl", "manifest.json")
"""What tells the folder of a run."""
DONE, LOG, SPLITS = "done.json", "log.json", "splits.json"
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


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the only writer of a folder, or say who is.

    The lock dies with its process. The file holds the number of the process for whoever comes next.
    """
    path = folder.resolve() / LOCK
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise UnwritableFile(
            f"{folder} is being written by {_owner(path)}.",
            "one run at a time in a folder.",
            "wait until it is done, or name another folder with --folder.",
        ) from error
    except OSError as error:
        raise _unlocked(path.parent, error) from error
    try:
        with suppress(OSError):  # Windows lets nobody write what is locked
            path.write_text(json.dumps({"process": os.getpid()}), encoding="utf-8")
        yield
    finally:
        lock.release()


def _owner(path: Path) -> str:
    """Who has the lock, as far as the file tells."""
    try:
        process = read_json(path)["process"]
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    return "this process" if process == os.getpid() else f"process {process}"


def _unlocked(folder: Path, error: OSError) -> UnwritableFile:
    if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
        return UnwritableFile(
            f"{folder} cannot be locked: {error.strerror}.",
            "a file system with locks, so that one run at a time writes there.",
        )
    return UnwritableFile(
        f"{folder} cannot be written: {error.strerror}.", "a folder that may be written to."
    )


def log_files(log: Log) -> Output:
    """The files of a log."""
    told = {"source": log.source, "ledger": log.ledger.as_dict()}
    return {"log.parquet": parquet_file(log.frame), LOG: json_file(told)}


def read_log(folder: Path) -> Log:
    """A log as `log_files` wrote it."""
    told = read_json(folder / LOG)
    frame = pl.read_parquet(folder / "log.parquet")
    return Log(frame, told["source"], Ledger.from_dict(told["ledger"]))


def split_files(splits: Sequence[Split]) -> Output:
    """The files of a series of splits."""
    parts = {
        f"{number}-{part}.parquet": parquet_file(log.frame)
        for number, split in enumerate(splits)
        for part, log in split.parts()
    }
    told = [{**described(split), "facts": window_facts(split)} for split in splits]
    return {**parts, SPLITS: json_file(told)}


def facts_of(folder: Path) -> list[dict[str, Any]]:
    """What each split of a series is: its name, sizes, fingerprint and ledger."""
    facts: list[dict[str, Any]] = read_json(folder / SPLITS)
    return facts


def read_split(folder: Path, number: int) -> Split:
    """One split of a series."""
    told = facts_of(folder)[number]
    logs = {
        part: Log(pl.read_parquet(folder / f"{number}-{part}.parquet"), told["source"])
        for part in told["parts"]
    }
    outer = _split(logs, "")
    inner = _split(logs, "validation_") if "validation_train" in logs else None
    ledger = Ledger.from_dict(told["ledger"])
    return replace(outer, name=told["name"], ledger=ledger, validation=inner)


def _split(logs: dict[str, Log], prefix: str) -> Split:
    return Split(logs[f"{prefix}train"], logs[f"{prefix}truth"], logs.get(f"{prefix}fold_in"))


def require_pairs_once(folder: Path, number: int) -> None:
    """An error if the truth of a split repeats a pair: no model could be evaluated, which is better
    said before they learn."""
    truth = pl.read_parquet(folder / f"{number}-truth.parquet")
    again = truth.select("user", "item").is_duplicated()
    if again.any():
        first = truth.row(int(again.arg_max() or 0), named=True)
        raise DuplicateTruth(
            f"{int(again.sum()):,} of {truth.height:,} rows of the truth repeat a pair of user and"
            f" item (first: user {first['user']!r}, item {first['item']!r}).",
            "each pair once, or a convention that says what repeats count.",
            'prepare with step = "deduplicate", or set [evaluate] convention ='
            ' { duplicate_truth = "once" }.',
        )


def known_of(split: Split) -> pl.DataFrame:
    """All that was met before the truth: train and, if there is one, fold-in."""
    frames = [log.frame for log in split.met]
    return pl.concat(frames).drop(ROW)
