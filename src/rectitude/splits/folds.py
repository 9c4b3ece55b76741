"""Cross-validation over rows, and parts that somebody else made."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rectitude.data.ledger import Ledger
from rectitude.data.log import Log, open_log
from rectitude.splits import shares
from rectitude.splits.order import Order, Ties, at_random, by_time
from rectitude.splits.parting import accounted, parted, require_rows
from rectitude.splits.registry import splitter
from rectitude.splits.split import Split


@splitter
def k_fold(
    log: Log,
    *,
    folds: int = 5,
    level: Literal["all", "user", "item"] = "all",
    draw: Literal["random", "round_robin"] = "random",
    order: Order = "time",
    ties: Ties = "content",
    seed: int = 0,
) -> list[Split]:
    """Every row is to be found in one of the folds.

    Rows are dealt out one by one, over the whole log or within each user, in a random order or
    ("round_robin") as they stand.
    """
    shares.require_whole(folds, "folds", 2)
    random = draw == "random"
    standing = at_random(log, level, seed) if random else by_time(log, level, ties, order)
    fold = standing.before % folds
    return [parted(log, fold == nth, name=f"fold-{nth + 1}") for nth in range(folds)]


@splitter
def fixed(log: Log, *, truth: object, fold_in: object = None, validation: object = None) -> Split:
    """Parts that were given: the log is train, the others are tables."""
    found = open_log(truth)
    shown = None if fold_in is None else open_log(fold_in)
    inner = None if validation is None else Split(log, open_log(validation))
    split = Split(log, found, shown, ledger=Ledger(), validation=inner)
    require_rows(log, split)
    pairs = found.frame.select("user", "item")
    again = pairs.join(log.frame.select("user", "item").unique(), ["user", "item"], "semi")
    example = f"user {again['user'][0]}, item {again['item'][0]}" if again.height else ""
    split.ledger.count(
        "pairs_in_train", again.height, "rows of truth have a pair that is in train too",
        of=pairs.height, example=example, weight="warning",
    )  # fmt: skip
    return accounted(split, log, np.ones(log.frame.height, bool))
