"""Cross-validation over rows, and parts that somebody else made."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rectitude.data.log import Log, open_log
from rectitude.data.numbers import require_whole
from rectitude.errors import BadName
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
    size: int | None = None,
    remainder: Literal["even", "drawn"] = "even",
    draw: Literal["random", "round_robin"] = "random",
    order: Order = "time",
    ties: Ties = "content",
    seed: int = 0,
) -> list[Split]:
    """Every row is to be found in one of the folds.

    Rows are dealt out evenly, over the whole log or within each user, in a random order or
    ("round_robin") as they stand. With a `size`, no more than so many are in each. `remainder`
    "drawn" gives each row that is left over to any fold, as Cornac does.
    """
    require_whole(folds, "folds", 2)
    if log.frame.height < folds:
        raise BadName(
            f"there are {log.frame.height} rows for {folds} folds.", "a row for each fold."
        )
    random = draw == "random"
    if random and level == "all":
        ends = _ends(log.frame.height, folds, size, remainder, seed)
        fold: Any = np.searchsorted(ends, cut_at_random(log, ends, seed).after, side="right")
    else:
        standing = at_random(log, level, seed) if random else by_time(log, level, ties, order)
        fold = standing.before % folds
        if size is not None:
            fold = np.where(standing.before // folds < size, fold, folds)
    return [parted(log, fold == nth, name=f"fold-{nth + 1}") for nth in range(folds)]


def _ends(rows: int, folds: int, size: int | None, remainder: str, seed: int) -> list[int]:
    """Where the folds of an order of all rows end."""
    if size is not None and size * folds < rows:
        require_whole(size, "size")
        return [size * nth for nth in range(1, folds + 1)]
    if remainder == "even" or size is not None:
        return [rows * nth // folds for nth in range(1, folds)]
    generator = np.random.RandomState(seed)
    generator.shuffle(np.repeat(np.arange(folds), rows // folds))  # drawn before the others
    over = generator.choice(folds, size=rows % folds)
    ends: list[int] = np.cumsum(rows // folds + np.bincount(over, minlength=folds)).tolist()
    return ends


@splitter
def fixed(log: Log, *, truth: object, fold_in: object = None, validation: object = None) -> Split:
    """Parts that were given: the log is train, the others are tables."""
    given = {"truth": truth, "fold_in": fold_in, "validation_truth": validation}
    opened = {name: open_log(part) for name, part in given.items() if part is not None}
    return of_parts({"train": log, **opened})
