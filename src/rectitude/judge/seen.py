"""Count recommended items, and items of the truth, that the user already has in the training data.

Both are legitimate where users return to items. Otherwise, a model that recommends such items
wastes ranks, and training data that contains the test set makes every number meaningless. Lists are
counted here, row by row; dense scores are counted cell by cell while they are read.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Grouped, Integers
from rectitude.data.ledger import Ledger
from rectitude.judge.align import Aligned
from rectitude.judge.match import Ranking, match

TRUTH_IN_TRAIN = "truth rows have an item from the user's training data: train and test overlap"


def account_for_seen(sides: Aligned, training: Grouped, ledger: Ledger) -> None:
    """Count the items of lists, and of their truth, that are in the user's training data, given by
    its rows for each list."""
    lists, rows = _find_seen(sides, training, "predictions")
    about = f"lists contain items from the user's training data, {len(rows):,} rows in all"
    ledger.count(
        "lists_with_seen", len(np.unique(lists)), about, int(sides.handed.sum()),
        _label(sides, "predictions", lists, rows), "notice",
    )  # fmt: skip
    lists, rows = _find_seen(sides, training, "truth")
    ledger.count(
        "truth_in_train", len(rows), TRUTH_IN_TRAIN, int(sides.judgements.length.sum()),
        _label(sides, "truth", lists, rows), "warning",
    )  # fmt: skip


def _find_seen(sides: Aligned, training: Grouped, side: str) -> tuple[Integers, Integers]:
    """Return the rows of a table whose item is in the training data of the list's user, and their
    lists."""
    codes = sides.items.codes
    grouped = (sides.lists if side == "predictions" else sides.judgements).pack()
    items = grouped.take(codes[side]).whole[: int(grouped.length.sum())]
    matches, _ = match(Ranking(training, training.take(codes["train"]), None), grouped, items)
    position, first = np.unique(matches.truth, return_index=True)  # train may repeat a pair
    lists, rows = matches.list[first], grouped.rows(position)
    if sides.items.exact:
        return lists, rows
    train_rows = training.rows(training.start[lists] + matches.position[first])
    columns = sides.items.columns
    same = (columns[side][rows] == columns["train"][train_rows]).to_numpy()  # codes are hashes
    return lists[same], rows[same]


def _label(sides: Aligned, side: str, lists: Integers, rows: Integers) -> str:
    if not len(rows):
        return ""
    return f"list {sides.label(lists[0])}, item {sides.items.label(side, rows[0])!r}"
