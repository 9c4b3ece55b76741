"""From masks over the rows of a log to a `Split` whose ledger says where every row went."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

    Mask = np.ndarray[Any, np.dtype[np.bool_]]


def parted(
    log: Log,
    truth: Mask,
    *,
    train: Mask | None = None,
    fold_in: Mask | None = None,
    validation: Mask | None = None,
    name: str = "",
    ledger: Ledger | None = None,
) -> Split:
    """The parts of a log; train is all that is not truth unless it is given.

    `validation` marks rows of train that are to be found while a model is being tuned.
    """
    learnt = ~truth if train is None else train
    inner = None
    if validation is not None and validation.any():
        inner = Split(chosen(log, learnt & ~validation), chosen(log, validation))
        require_rows(log, inner)
    shown = None if fold_in is None else chosen(log, fold_in)
    split = Split(chosen(log, learnt), chosen(log, truth), shown, name, ledger or Ledger(), inner)
    require_rows(log, split)
    used = learnt | truth if fold_in is None else learnt | truth | fold_in
    return accounted(split, log, used)


def chosen(log: Log, mask: Mask) -> Log:
    """The rows that a mask marks, in the order of the log."""
    import polars as pl

    return log.with_frame(log.frame.filter(pl.Series(mask)))


def require_rows(log: Log, split: Split) -> None:
    """A split without anything to learn from or to find is an error, not a result."""
    for part, word in ((split.train, "learn from"), (split.truth, "find")):
        if part.frame.is_empty():
            raise NothingToEvaluate(
                f"the split leaves nothing to {word}: 0 of {log.frame.height:,} rows of"
                f" {log.source}.",
                "rows in train and in truth.",
                "choose a larger log, another ratio or number, or another way of splitting.",
            )


def accounted(split: Split, log: Log, used: Mask) -> Split:
    """The split with the sizes of the log and of its parts in the ledger, after those of before;
    `used` are the rows that are in some part."""
    ledger = log.ledger + split.ledger
    split = replace(split, ledger=ledger)
    rows, users, items = size(log)
    ledger.count("rows", rows, f"rows of {users:,} users and {items:,} items were split")
    account_parts(split)
    unused = int(used.size - used.sum())
    example = _row(log, int(used.argmin())) if unused else ""
    ledger.count("rows_in_no_part", unused, "rows are in no part", rows, example, "notice")
    return split


def _row(log: Log, at: int) -> str:
    first = log.frame.row(at, named=True)
    return f"row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}"


def account_parts(split: Split) -> None:
    """Write how much each part holds, over what was written before."""
    for name, part in split.parts():
        rows, users, items = size(part)
        about = f"rows of {users:,} users and {items:,} items in {name.replace('_', ' ')}"
        split.ledger.count(f"{name}_rows", rows, about)
        split.ledger.count(f"{name}_users", users, f"users in {name.replace('_', ' ')}")
        split.ledger.count(f"{name}_items", items, f"items in {name.replace('_', ' ')}")


def members(column: pl.Series, ids: pl.Series) -> Mask:
    """Which rows have one of these ids."""
    mask: Mask = column.is_in(ids.unique().implode()).to_numpy()
    return mask


def size(log: Log) -> tuple[int, int, int]:
    """Rows, users and items of a log."""
    return log.frame.height, _distinct(log.frame["user"]), _distinct(log.frame["item"])


def _distinct(ids: pl.Series) -> int:
    """How many different ids there are; whole numbers that lie close together are ticked off."""
    if ids.dtype.is_integer() and len(ids):
        values = ids.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < 8 * len(ids) + 1000:
            met = np.zeros(high - low + 1, bool)
            met[values - low if low else values] = True
            return int(met.sum())
    return ids.n_unique()
