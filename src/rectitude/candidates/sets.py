"""Candidates that nobody draws: the whole catalogue, the items of training, sets that are given.

The ids of a split in numbers: who is evaluated, on what, and what each user has met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers, distinct
from rectitude.candidates.value import Candidates, first
from rectitude.data.ids import fitted, fitting, ids_alone, numbers_in
from rectitude.data.ledger import Ledger
from rectitude.data.objects import are_ids
from rectitude.data.read import read
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split


@dataclass(frozen=True, slots=True)
class SplitParts:
    """A split whose users and items are numbered in the order of their ids."""

    users: pl.Series
    """all users of the split, sorted"""
    items: pl.Series
    """all items of the split and of the catalogue, sorted"""
    train: pl.DataFrame
    """what was met before the truth, fold-in included: user and item as numbers"""
    truth: pl.DataFrame
    """pairs of the truth, sorted, each once, as numbers"""
    catalogue: Integers
    """numbers of the items that may be offered"""

    @property
    def future(self) -> Integers:
        """Numbers of the items that the truth is the first to hold."""
        met = self.truth["item"].unique().to_numpy()
        return np.setdiff1d(met, self.train["item"].unique().to_numpy())

    @property
    def counts(self) -> Floats:
        """(items) how often each was met before the truth."""
        counts = np.bincount(self.train["item"].to_numpy(), minlength=len(self.items))
        return counts.astype(np.float64)

    def keys(self, frame: pl.DataFrame) -> Integers:
        """Pairs as single numbers, sorted, each once."""
        return distinct(frame["user"].to_numpy() * len(self.items) + frame["item"].to_numpy())


def parts_of(split: Split, items: object = None) -> SplitParts:
    """A split in numbers. `items` is the catalogue; without one, it is what the split holds."""
    logs = [split.train, *([split.fold_in] if split.fold_in else [])]
    if split.truth.frame.is_empty():
        raise NothingToEvaluate("the truth has no rows, so nobody needs candidates.")
    met = pl.concat([ids_alone(log.frame) for log in logs])
    found = ids_alone(split.truth.frame)
    offered = None if items is None else _catalogue(items, met["item"].dtype)
    users = pl.concat([met["user"], found["user"]]).unique().sort()
    everything = [met["item"], found["item"], *([] if offered is None else [offered])]
    known = pl.concat(everything).unique().sort()
    numbered = [_numbered(frame, users, known) for frame in (met, found)]
    whole = known if offered is None else offered
    return SplitParts(
        users, known, numbered[0], numbered[1].unique().sort("user", "item"),
        np.sort(numbers_in(whole, known)),
    )  # fmt: skip


def _catalogue(items: object, dtype: pl.DataType) -> pl.Series:
    table = read(items, "items")
    return fitted(table.frame["item"], dtype, table.source, table.text).unique()


def _numbered(frame: pl.DataFrame, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": numbers_in(frame["user"], users),
            "item": numbers_in(frame["item"], items),
        }
    )


def full(split: Split, items: object = None) -> Candidates:
    """Every item for every user of the truth: those of the catalogue, or all that the split holds.

    Items that the truth is the first to hold are among them, and counted.
    """
    parts = parts_of(split, items)
    ledger = Ledger()
    ahead = np.intersect1d(parts.future, parts.catalogue)
    ledger.count(
        "future_items", len(ahead), "items are met in the truth for the first time",
        of=len(parts.catalogue), weight="notice", example=_example(parts, ahead),
    )  # fmt: skip
    return _shared(parts, parts.catalogue, "full", ledger)


def train_items(split: Split) -> Candidates:
    """Every item that training or fold-in holds, for every user of the truth."""
    parts = parts_of(split)
    ledger = Ledger()
    ahead = parts.future
    ledger.count(
        "future_items", len(ahead), "items are met in the truth for the first time and left out",
        of=len(parts.items), weight="notice", example=_example(parts, ahead),
    )  # fmt: skip
    return _shared(parts, np.unique(parts.train["item"].to_numpy()), "train_items", ledger)


def given(split: Split, source: object) -> Candidates:
    """Candidates from a table of users and items, or from item ids alone, the same for all. A
    column `positive` of a Polars frame links rows to positives.

    Users of the truth without candidates and positives that are none are counted: their lists stay
    empty, and such positives cannot be found.
    """
    if isinstance(source, Candidates):
        return source
    if are_ids(source):
        parts = parts_of(split, source)
        candidates = _shared(parts, parts.catalogue, "given", Ledger())
    else:
        frame = _pairs(source, ids_alone(split.truth.frame))
        candidates = Candidates(frame, frame["user"].unique().sort(), {"kind": "given"})
    _count_gaps(candidates, ids_alone(split.truth.frame).unique(maintain_order=True))
    return candidates


def _pairs(source: object, model: pl.DataFrame) -> pl.DataFrame:
    table = read(source, "candidates")
    if table.frame.is_empty():
        raise NothingToEvaluate("the candidates have no rows.")
    frame = fitting(table, model).select("user", "item")
    if not isinstance(source, pl.DataFrame) or "positive" not in source.columns:
        return frame.sort("user", "item")
    linked = fitted(source["positive"], frame["item"].dtype, table.source, table.text)
    return frame.with_columns(linked).sort("user", "positive", "item")


def _shared(parts: SplitParts, numbers: Integers, kind: str, ledger: Ledger) -> Candidates:
    owners = parts.users.gather(parts.truth["user"].unique().sort())
    frame = parts.items.gather(numbers).alias("item").to_frame()
    ledger.count("candidates", frame.height, f"items for each of {len(owners):,} users")
    return Candidates(frame, owners.alias("user"), {"kind": kind}, None, ledger)


def _example(parts: SplitParts, numbers: Integers) -> str:
    return f"item {parts.items[int(numbers[0])]!r}" if len(numbers) else ""


def _count_gaps(candidates: Candidates, truth: pl.DataFrame) -> None:
    frame, ledger = candidates.frame, candidates.ledger
    keys = [name for name in ("user", "item") if name in frame.columns]
    repeated = frame.filter(frame.is_duplicated())
    ledger.count(
        "repeated", frame.height - frame.n_unique(), "candidates are given again and count once",
        of=frame.height, weight="notice", example=first(repeated, *keys),
    )  # fmt: skip
    users = truth.select("user").unique(maintain_order=True)
    without = users.filter(~users["user"].is_in(candidates.owners.implode()))
    ledger.count(
        "users_without", without.height, "users of the truth have no candidates",
        of=users.height, weight="warning", example=first(without, "user"),
    )  # fmt: skip
    lost = truth.join(frame.select(keys).unique(), on=keys, how="anti", maintain_order="left")
    ledger.count(
        "positives_outside", lost.height, "pairs of the truth are no candidates: never found",
        of=truth.height, weight="warning", example=first(lost, "user", "item"),
    )  # fmt: skip
