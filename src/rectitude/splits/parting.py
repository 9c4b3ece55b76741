"""From masks over the rows of a log to a `Split` whose ledger says where every row went."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.blocks import flags_of
from rectitude.data.ledger import Ledger
from rectitude.data.log import ROW, Log, parts_of
from rectitude.errors import NothingToEvaluate
from rectitude.splits.split import Split

if TYPE_CHECKING:
    from rectitude.data.blocks import Mask


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

    `validation` marks rows of train that are to be found while a model is being tuned. Parts may
    come out empty here; whoever asked for the split says whether that is an error.
    """
    truth = flags_of(truth)
    learnt = ~truth if train is None else flags_of(train)
    shown = [] if fold_in is None else [flags_of(fold_in)]
    tuned = [] if validation is None else [flags_of(validation)]
    if tuned:
        tuned = [learnt & ~tuned[0], *tuned] if tuned[0].any() else []
    parts = parts_of(log, learnt, truth, *shown, *tuned)
    inner = Split(parts[-2], parts[-1]) if tuned else None
    split = Split(parts[0], parts[1], parts[2] if shown else None, name, ledger or Ledger(), inner)
    return accounted(split, log, reduce(np.logical_or, [learnt, truth, *shown]))


def holds_rows(split: Split) -> bool:
    """Whether there is something to learn from and something to find."""
    return not (split.train.frame.is_empty() or split.truth.frame.is_empty())


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


def accounted(split: Split, log: Log, used: Flags) -> Split:
    """The split with the sizes of the log and of its parts in the ledger, after those of before.

    `used` are the rows that are in some part.
    """
    split = replace(split, ledger=log.ledger + split.ledger)
    unused = ~used
    count = int(np.count_nonzero(unused))
    rows, users, items = log.size
    ledger = split.ledger
    ledger.count("rows", rows, f"rows of {users:,} users and {items:,} items were split")
    account_parts(split)
    example = _row(log, int(unused.argmax())) if count else ""
    ledger.count("rows_in_no_part", count, "rows are in no part", rows, example, "notice")
    return split


def _row(log: Log, at: int) -> str:
    first = log.frame.row(at, named=True)
    return f"row {first[ROW] + 1}, user {first['user']!r}, item {first['item']!r}"


def account_parts(split: Split) -> None:
    """Write how much each part holds, over what was written before."""
    for name, part in split.parts():
        rows, users, items = part.size
        about = f"rows of {users:,} users and {items:,} items in {name.replace('_', ' ')}"
        split.ledger.count(f"{name}_rows", rows, about)
        split.ledger.count(f"{name}_users", users, f"users in {name.replace('_', ' ')}")
        split.ledger.count(f"{name}_items", items, f"items in {name.replace('_', ' ')}")
