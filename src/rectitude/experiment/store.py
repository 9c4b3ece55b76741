"""The folder of a run: cached stages by fingerprint, and files for readers.

    config.toml         a copy of the experiment's file (.yaml, or .json for a dict)
    environment.json    Python, packages and machine of the run, and when it started
    manifest.json       every stage with its fingerprint and the hashes of its files
    resources.json      what each stage took: seconds, CPU seconds, peak memory, energy
    ledger.json         what each stage counted: rows dropped, ids unknown and so on
    results.json        metrics, definitions, comparison, audit, failures
    train.parquet       the split that the models were trained and tested on, also fold_in.parquet
    truth.parquet       if there is one; splits/NAME/ if there are several splits
    values/             values per user, Parquet; one folder per split if there are several
    predictions/        the ranked lists, Parquet
    report.html         the HTML report
    log.jsonl           events with their times
    stages/             outputs of the stages: a rerun reuses them

The folder of a stage gets its name only when it is complete. So even if a run is killed at any
point, every named folder can be trusted. Only one process at a time writes to a run's folder; its
lock is released when the process ends. Between stages, logs and splits are stored as Parquet, with
JSON for everything else.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log
from rectitude.errors import DuplicateTruth, UnwritableFile
from rectitude.experiment.fingerprints import file_digest
from rectitude.experiment.windows import facts_of as window_facts
from rectitude.splits.files import describe_split
from rectitude.splits.split import Split
from rectitude.storage import explain_unwritable, remove_file

STAGES = "stages"
SPLIT_FILES = ("train.parquet", "fold_in.parquet", "truth.parquet")
"""The parts of a split for readers."""
SHOWN = ("values", "predictions", "splits", *SPLIT_FILES)
"""Files and folders for readers, from which a run removes what belongs to no model or split."""
OWN = (STAGES, *SHOWN)
"""Files and folders that a run may remove or replace."""
LOCK = ".lock"
MARKS = (LOCK, "log.jsonl", "manifest.json")
"""Files that identify the folder of a run."""
DONE, LOG, SPLITS = "done.json", "log.json", "splits.json"
_TEMPORARY = ".part-"
Write = Callable[[Path], object]
Output = Mapping[str, Write]
"""The files of a stage: name -> function that writes it."""


@dataclass
class Store:
    """The folder of a run, and which of its stages this run used."""

    folder: Path
    used: dict[str, dict[str, Any]] = field(default_factory=dict)
    """stage -> its fingerprint and its files, in the order of use"""

    def make(self) -> None:
        """Create the folder if needed; raise an error if it is not the folder of a run."""
        self._require_run_folder()
        _catch_write_errors(
            self.folder, lambda: (self.folder / STAGES).mkdir(parents=True, exist_ok=True)
        )

    def _require_run_folder(self) -> None:
        """Raise an error for a folder with other content, which a run would remove."""
        is_run = any((self.folder / name).exists() for name in MARKS)
        present = [name for name in OWN if (self.folder / name).exists()]
        if present and not is_run:
            raise UnwritableFile(
                f"{self.folder} contains {' and '.join(present)}, but is not the folder of a run.",
                "a new folder, or the folder of a run: a run removes files that it does not need.",
                "choose another folder with --folder.",
            )

    def tidy(self) -> None:
        """Remove unfinished files of a run that was killed."""
        nested = [path for name in OWN for path in (self.folder / name).rglob(f"{_TEMPORARY}*")]
        for path in [*self.folder.glob(f"{_TEMPORARY}*"), *nested]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove every cached stage."""
        shutil.rmtree(self.folder / STAGES, ignore_errors=True)
        self.make()

    def find(self, stage: str, key: str) -> Path | None:
        """Return the folder of a cached stage; None if it is missing or its files have changed."""
        path = self.folder / STAGES / key
        try:
            files = read_json(path / DONE)["files"]
            if not all((path / name).is_file() and Path(name).name == name for name in files):
                return None
            if {name: file_digest(path / name) for name in files} != files:
                return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        self.used[stage] = {"key": key, "files": files}
        return path

    def keep(self, stage: str, key: str, output: Output) -> Path:
        """Write the files of a stage, all or none, and return its folder."""
        path = self.folder / STAGES / key
        temporary = self.folder / STAGES / f"{_TEMPORARY}{secrets.token_hex(4)}"
        try:
            _catch_write_errors(path, partial(temporary.mkdir, parents=True))
            for name, write in output.items():
                _catch_write_errors(self.folder, partial(write, temporary / name), temporary)
            files = {name: file_digest(temporary / name) for name in output}
            record = {"stage": stage, "key": key, "files": files}
            _catch_write_errors(path, partial(_write_json, record, temporary / DONE))
            shutil.rmtree(path, ignore_errors=True)
            _catch_write_errors(path, partial(temporary.replace, path))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.used[stage] = {"key": key, "files": files}
        return path

    def sweep(self) -> None:
        """Remove cached stages that this run did not use."""
        wanted = {stage["key"] for stage in self.used.values()}
        for path in (self.folder / STAGES).iterdir():
            if path.name not in wanted:
                shutil.rmtree(path, ignore_errors=True)

    def show(self, name: str, source: Path) -> None:
        """Link a file of a stage to a place for readers; copy it if the system has no links."""
        target = self.folder / name
        _catch_write_errors(target, lambda: target.parent.mkdir(parents=True, exist_ok=True))
        self._write_atomically(target, lambda where: _link_or_copy(source, where))

    def write(self, name: str, write: Write) -> None:
        """Write a file of the run's folder atomically."""
        self._write_atomically(self.folder / name, write)

    def write_json(self, name: str, value: object) -> None:
        """Write a JSON file atomically."""
        self.write(name, partial(_write_json, value))

    def _write_atomically(self, target: Path, write: Write) -> None:
        temporary = target.with_name(f"{_TEMPORARY}{secrets.token_hex(4)}")
        try:
            _catch_write_errors(target, partial(write, temporary), temporary)
            _catch_write_errors(target, partial(temporary.replace, target))
        finally:
            remove_file(temporary)

    def clean(self, wanted: Collection[str]) -> None:
        """Remove files for readers that belong to no model or split of this run."""
        for kind in SHOWN:
            inside = sorted((self.folder / kind).rglob("*"), reverse=True)
            for path in [*inside, self.folder / kind]:
                name = path.relative_to(self.folder).as_posix()
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
                elif not path.is_dir() and name not in wanted:
                    path.unlink(missing_ok=True)


def json_file(value: object) -> Write:
    """Return a function that writes a value as JSON."""
    return partial(_write_json, value)


def parquet_file(frame: pl.DataFrame) -> Write:
    """Return a function that writes a frame as Parquet; equal frames give equal bytes."""
    return lambda path: frame.rechunk().write_parquet(path)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text("utf-8"))


def _write_json(value: object, path: Path) -> None:
    text = json.dumps(value, indent=1, allow_nan=False, default=str)
    path.write_text(f"{text}\n", encoding="utf-8")


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _catch_write_errors(
    path: Path, action: Callable[[], object], written: Path | None = None
) -> None:
    """Perform a write, and turn failures such as a full disk into an error with advice."""
    with explain_unwritable(path, written, "finished stages are kept: run again to resume."):
        action()


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for writing, or raise an error that names the process that holds the lock.

    The lock is released when its process ends. The lock file contains the process id.
    """
    path = folder.resolve() / LOCK
    lock = FileLock(path, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise UnwritableFile(
            f"{folder} is in use by {_find_owner(path)}.",
            "one run at a time per folder.",
            "wait until it is done, or choose another folder with --folder.",
        ) from error
    except OSError as error:
        raise _explain_lock_error(path.parent, error) from error
    try:
        with suppress(OSError):  # Windows does not allow writing to a locked file
            path.write_text(json.dumps({"process": os.getpid()}), encoding="utf-8")
        yield
    finally:
        lock.release()


def _find_owner(path: Path) -> str:
    """Return who holds the lock, according to the lock file."""
    try:
        process = read_json(path)["process"]
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
    return "this process" if process == os.getpid() else f"process {process}"


def _explain_lock_error(folder: Path, error: OSError) -> UnwritableFile:
    if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
        return UnwritableFile(
            f"{folder} cannot be locked: {error.strerror}.",
            "a file system that supports locks, which keep two runs from writing to one folder.",
        )
    return UnwritableFile(f"{folder} cannot be written: {error.strerror}.", "a writable folder.")


def log_files(log: Log) -> Output:
    """Return the files of a log."""
    facts = {"source": log.source, "ledger": log.ledger.as_dict()}
    return {"log.parquet": parquet_file(log.frame), LOG: json_file(facts)}


def read_log(folder: Path) -> Log:
    """Read a log that `log_files` wrote."""
    facts = read_json(folder / LOG)
    frame = pl.read_parquet(folder / "log.parquet")
    return Log(frame, facts["source"], Ledger.from_dict(facts["ledger"]))


def split_files(splits: Sequence[Split]) -> Output:
    """Return the files of a series of splits."""
    parts = {
        f"{number}-{part}.parquet": parquet_file(log.frame)
        for number, split in enumerate(splits)
        for part, log in split.parts()
    }
    facts = [{**describe_split(split), "facts": window_facts(split)} for split in splits]
    return {**parts, SPLITS: json_file(facts)}


def facts_of(folder: Path) -> list[dict[str, Any]]:
    """Read the facts of each split in a series: name, sizes, fingerprint and ledger."""
    facts: list[dict[str, Any]] = read_json(folder / SPLITS)
    return facts


def read_split(folder: Path, number: int) -> Split:
    """Read one split of a series."""
    facts = facts_of(folder)[number]
    logs = {
        part: Log(pl.read_parquet(folder / f"{number}-{part}.parquet"), facts["source"])
        for part in facts["parts"]
    }
    outer = _build_split(logs, "")
    inner = _build_split(logs, "validation_") if "validation_train" in logs else None
    ledger = Ledger.from_dict(facts["ledger"])
    return replace(outer, name=facts["name"], ledger=ledger, validation=inner)


def _build_split(logs: dict[str, Log], prefix: str) -> Split:
    return Split(logs[f"{prefix}train"], logs[f"{prefix}truth"], logs.get(f"{prefix}fold_in"))


def require_pairs_once(folder: Path, number: int) -> None:
    """Raise an error if the truth of a split repeats a pair of user and item: no model could be
    evaluated, so it is better to stop before training."""
    truth = pl.read_parquet(folder / f"{number}-truth.parquet")
    repeated = truth.select("user", "item").is_duplicated()
    if repeated.any():
        first = truth.row(int(repeated.arg_max() or 0), named=True)
        raise DuplicateTruth(
            f"{int(repeated.sum()):,} of {truth.height:,} rows of the truth repeat a pair of user"
            f" and item (first: user {first['user']!r}, item {first['item']!r}).",
            "each pair once, or a convention that says how to count repeated pairs.",
            'add [[prepare]] step = "deduplicate", or set [evaluate] convention ='
            ' { duplicate_truth = "once" }.',
        )


def rows_known(split: Split) -> pl.DataFrame:
    """Return all rows known before the truth: training data and fold-in, if there is one."""
    frames = [log.frame for log in split.visible]
    return pl.concat(frames).drop(ROW)
