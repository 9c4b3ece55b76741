"""From masks over the rows of a log to a `Split` whose ledger says where every row went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, Size, sizes
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

    Mask = np.ndarray[Any, np.dtype[np.bool_]] | pl.Series


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
    truth, train, fold_in, validation = map(_bits, (truth, train, fold_in, validation))
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


def _bits(mask: Mask | None) -> Any:
    """A mask as Polars holds it: one bit for each row."""
    import polars as pl

    return mask if mask is None else pl.Series(mask)


def chosen(log: Log, mask: Mask) -> Log:
    """The rows that a mask marks, in the order of the log."""
    return log.with_frame(log.frame.filter(_bits(mask)))


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


def accounted(
    split: Split, log: Log, used: Mask, origin: Literal["log", "elsewhere"] = "log"
) -> Split:
    """The split with the sizes of the log and of its parts in the ledger, after those of before.

    `used` are the rows that are in some part; `origin` says whether parts hold rows of the log.
    """
    split = replace(split, ledger=log.ledger + split.ledger)
    unused = ~_bits(used)
    count = int(unused.sum())
    parts = [] if origin == "elsewhere" else [part for _, part in split.parts()]
    own = sizes(log, parts, covered=not count and bool(parts))
    rows, users, items = own[0]
    ledger = split.ledger
    ledger.count("rows", rows, f"rows of {users:,} users and {items:,} items were split")
    account_parts(split, own[1:])
    example = _row(log, int(unused.arg_max() or 0)) if count else ""
    ledger.count("rows_in_no_part", count, "rows are in no part", rows, example, "notice")
    return split


def _row(log: Log, at: int) -> str:
    first = log.frame.row(at, named=True)
    return f"row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}"


def account_parts(split: Split, known: Sequence[Size] = ()) -> None:
    """Write how much each part holds, over what was written before."""
    for (name, part), size in zip_longest(split.parts(), known):
        rows, users, items = size or part.size
        about = f"rows of {users:,} users and {items:,} items in {name.replace('_', ' ')}"
        split.ledger.count(f"{name}_rows", rows, about)
        split.ledger.count(f"{name}_users", users, f"users in {name.replace('_', ' ')}")
        split.ledger.count(f"{name}_items", items, f"items in {name.replace('_', ' ')}")
