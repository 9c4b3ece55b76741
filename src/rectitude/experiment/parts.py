"""Logs and splits between stages: Parquet files, and JSON with what they do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log
from rectitude.errors import DuplicateTruth
from rectitude.experiment.store import Output, json_file, parquet_file, read_json
from rectitude.experiment.windows import facts_of as window_facts
from rectitude.splits.split import Split
from rectitude.splits.writing import described

if TYPE_CHECKING:
    import polars as pl

LOG, SPLITS = "log.json", "splits.json"


def log_files(log: Log) -> Output:
    """The files of a log."""
    told = {"source": log.source, "ledger": log.ledger.as_dict()}
    return {"log.parquet": parquet_file(log.frame), LOG: json_file(told)}


def read_log(folder: Path) -> Log:
    """A log as `log_files` wrote it."""
    told = read_json(folder / LOG)
    return Log(_frame(folder / "log.parquet"), told["source"], Ledger.from_dict(told["ledger"]))


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
        part: Log(_frame(folder / f"{number}-{part}.parquet"), told["source"])
        for part in told["parts"]
    }
    outer = _split(logs, "")
    inner = _split(logs, "validation_") if "validation_train" in logs else None
    ledger = Ledger.from_dict(told["ledger"])
    return replace(outer, name=told["name"], ledger=ledger, validation=inner)


def require_pairs_once(folder: Path, number: int) -> None:
    """An error if the truth of a split repeats a pair: no model could be evaluated, which is better
    said before they learn."""
    truth = _frame(folder / f"{number}-truth.parquet")
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


def _split(logs: dict[str, Log], prefix: str) -> Split:
    return Split(logs[f"{prefix}train"], logs[f"{prefix}truth"], logs.get(f"{prefix}fold_in"))


def known_of(split: Split) -> pl.DataFrame:
    """All that was met before the truth: train and, if there is one, fold-in."""
    import polars as pl

    frames = [split.train.frame, *([split.fold_in.frame] if split.fold_in else [])]
    return pl.concat(frames).drop(ROW)


def _frame(path: Path) -> pl.DataFrame:
    import polars as pl

    return pl.read_parquet(path)
