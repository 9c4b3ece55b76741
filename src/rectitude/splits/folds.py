"""Cross-validation over rows, and parts that somebody else made."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rectitude.data.log import Log, open_log
from rectitude.data.numbers import require_whole
from rectitude.prepare.draws import at_random, cut_at_random
from rectitude.prepare.order import Order, Ties, by_time
from rectitude.splits.given import of_parts
from rectitude.splits.parting import parted
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

    Rows are dealt out evenly, over the whole log or within each user, in a random order or
    ("round_robin") as they stand.
    """
    require_whole(folds, "folds", 2)
    random = draw == "random"
    if random and level == "all":
        ends = [log.frame.height * nth // folds for nth in range(1, folds)]
        fold: Any = np.searchsorted(ends, cut_at_random(log, ends, seed).after, side="right")
    else:
        standing = at_random(log, level, seed) if random else by_time(log, level, ties, order)
        fold = standing.before % folds
    return [parted(log, fold == nth, name=f"fold-{nth + 1}") for nth in range(folds)]


@splitter
def fixed(log: Log, *, truth: object, fold_in: object = None, validation: object = None) -> Split:
    """Parts that were given: the log is train, the others are tables."""
    given = {"truth": truth, "fold_in": fold_in, "validation_truth": validation}
    opened = {name: open_log(part) for name, part in given.items() if part is not None}
    return of_parts({"train": log, **opened})
