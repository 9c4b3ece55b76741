"""Candidates without sampling: the whole catalogue, the training items, or given items.

All ways to make candidates use a split as numbers: whom to evaluate on which items, and which items
each user had before.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers, distinct
from rectitude.candidate_sets.value import Candidates, describe_first
from rectitude.data.ids import cast_ids_like, fit_ids, ids_alone
from rectitude.data.ledger import Ledger
from rectitude.data.read import read
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split


def full(split: Split, items: object = None) -> Candidates:
    """Return every item for every user of the truth: the catalogue, or all items of the split.

    Items that are in the truth but not in the training data are included and counted.
    """
    parts = parts_of(split, items)
    ledger = Ledger()
    future_items = np.intersect1d(parts.future, parts.catalogue)
    ledger.count(
        "future_items", len(future_items), "items occur in the truth but not in the training data",
        of=len(parts.catalogue), weight="notice", example=_example(parts, future_items),
    )  # fmt: skip
    return _share_items(parts, parts.catalogue, "full", ledger)


def train_items(split: Split) -> Candidates:
    """Return every item of the training data and fold-in, for every user of the truth."""
    parts = parts_of(split)
    ledger = Ledger()
    future_items = parts.future
    ledger.count(
        "future_items", len(future_items),
        "items occur in the truth but not in the training data and are left out",
        of=len(parts.items), weight="notice", example=_example(parts, future_items),
    )  # fmt: skip
    return _share_items(parts, np.unique(parts.train["item"].to_numpy()), "train_items", ledger)


def take_given(split: Split, source: object) -> Candidates:
    """Return candidates from a table of users and items, or from item ids that all users share. A
    column `positive` of a Polars frame assigns candidates to positives.

    Users of the truth without candidates are counted: their lists are empty. Positives that are not
    candidates are counted too: they cannot be found.
    """
    if isinstance(source, Candidates):
        return source
    if _is_items_only(source):
        parts = parts_of(split, source)
        candidates = _share_items(parts, parts.catalogue, "given", Ledger())
    else:
        frame = _read_pairs(source, ids_alone(split.truth.frame))
        candidates = Candidates(frame, frame["user"].unique().sort(), {"kind": "given"})
    _count_gaps(candidates, ids_alone(split.truth.frame).unique(maintain_order=True))
    return candidates


def _read_pairs(source: object, truth: pl.DataFrame) -> pl.DataFrame:
    table = read(source, "candidates")
    if table.frame.is_empty():
        raise NothingToEvaluate("the candidates have no rows.", "at least one row.")
    frame = cast_ids_like(table, truth).select("user", "item")
    if not isinstance(source, pl.DataFrame) or "positive" not in source.columns:
        return frame.sort("user", "item")
    linked = fit_ids(source["positive"], frame["item"].dtype, table.source, table.text)
    return frame.with_columns(linked).sort("user", "positive", "item")


def _is_items_only(source: object) -> bool:
    if isinstance(source, (list, tuple)):
        return not any(isinstance(row, (tuple, list, dict)) for row in source)
    return isinstance(source, (pl.Series, np.ndarray, Set))


def _share_items(parts: SplitParts, numbers: Integers, kind: str, ledger: Ledger) -> Candidates:
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
        "repeated", frame.height - frame.n_unique(), "candidates are repeated and count once",
        of=frame.height, weight="notice", example=describe_first(repeated, *keys),
    )  # fmt: skip
    users = truth.select("user").unique(maintain_order=True)
    without = users.filter(~users["user"].is_in(candidates.owners.implode()))
    ledger.count(
        "users_without", without.height, "users of the truth have no candidates",
        of=users.height, weight="warning", example=describe_first(without, "user"),
    )  # fmt: skip
    lost = truth.join(frame.select(keys).unique(), on=keys, how="anti", maintain_order="left")
    ledger.count(
        "positives_outside", lost.height, "pairs of the truth are not candidates: never found",
        of=truth.height, weight="warning", example=describe_first(lost, "user", "item"),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SplitParts:
    """A split as numbers; users and items are numbered in the order of their ids."""

    users: pl.Series
    """all users of the split, sorted"""
    items: pl.Series
    """all items of the split and of the catalogue, sorted"""
    train: pl.DataFrame
    """pairs before the truth, including fold-in: user and item as numbers"""
    truth: pl.DataFrame
    """distinct pairs of the truth, sorted, as numbers"""
    catalogue: Integers
    """numbers of the items that can be candidates"""

    @property
    def future(self) -> Integers:
        """Numbers of the items that are in the truth but not in the training data."""
        wanted = self.truth["item"].unique().to_numpy()
        return np.setdiff1d(wanted, self.train["item"].unique().to_numpy())

    @property
    def counts(self) -> Floats:
        """(items) how often each item occurred before the truth."""
        counts = np.bincount(self.train["item"].to_numpy(), minlength=len(self.items))
        return counts.astype(np.float64)

    def keys(self, frame: pl.DataFrame) -> Integers:
        """Return pairs as single numbers, sorted and distinct."""
        return distinct(frame["user"].to_numpy() * len(self.items) + frame["item"].to_numpy())


def parts_of(split: Split, items: object = None) -> SplitParts:
    """Return a split as numbers. `items` is the catalogue; by default, all items of the split."""
    if split.truth.frame.is_empty():
        raise NothingToEvaluate(
            "the truth has no rows.", "at least one row to make candidates for."
        )
    seen = pl.concat([ids_alone(log.frame) for log in split.visible])
    truth = ids_alone(split.truth.frame)
    offered = None if items is None else _read_catalogue(items, seen["item"].dtype)
    users = pl.concat([seen["user"], truth["user"]]).unique().sort()
    everything = [seen["item"], truth["item"], *([] if offered is None else [offered])]
    known = pl.concat(everything).unique().sort()
    numbered = [_number_rows(frame, users, known) for frame in (seen, truth)]
    catalogue = known if offered is None else offered
    return SplitParts(
        users, known, numbered[0], numbered[1].unique().sort("user", "item"),
        np.sort(numbers_of(catalogue, known)),
    )  # fmt: skip


def _read_catalogue(items: object, dtype: pl.DataType) -> pl.Series:
    table = read(items, "items")
    return fit_ids(table.frame["item"], dtype, table.source, table.text).unique()


def numbers_of(ids: pl.Series, known: pl.Series) -> Integers:
    """Return the number of each id among the known ones."""
    numbered = pl.DataFrame({"id": known}).with_row_index("number")
    joined = pl.DataFrame({"id": ids}).join(numbered, on="id", how="left", maintain_order="left")
    numbers: Integers = joined["number"].to_numpy().astype(np.int64)
    return numbers


def _number_rows(frame: pl.DataFrame, users: pl.Series, items: pl.Series) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": numbers_of(frame["user"], users),
            "item": numbers_of(frame["item"], items),
        }
    )
