"""Count recommended items, and items of the truth, that the user has seen: in the training data,
or in `seen=` if that is given.

Both are legitimate where users return to items. Otherwise, a model that recommends such items
wastes ranks, and training data that contains the test set makes every number meaningless. Lists are
counted here, row by row; dense scores are counted cell by cell while they are read.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Grouped, Integers
from rectitude.data.ledger import Ledger
from rectitude.data.table import Inputs
from rectitude.judge.align import Aligned
from rectitude.judge.match import Ranking, match

_PLACES = {"train": "the user's training data", "seen": "the user's rows of seen="}
"""Where items were seen, in words."""


def describe_seen(sources: Inputs) -> str:
    """Return where the seen items come from, in words."""
    return _PLACES[sources.seen_in]


def describe_overlap(sources: Inputs) -> str:
    """Return the words for truth rows whose item the user has seen."""
    side = "train" if sources.seen_in == "train" else "seen="
    return f"truth rows have an item from {describe_seen(sources)}: {side} and test overlap"


def account_for_seen(sides: Aligned, seen: Grouped, ledger: Ledger) -> None:
    """Count the items of lists, and of their truth, that the user has seen, given by the rows of
    each list's user."""
    lists, rows = _find_seen(sides, seen, "predictions")
    about = f"lists contain items from {describe_seen(sides.sources)}, {len(rows):,} rows in all"
    ledger.count(
        "lists_with_seen", len(np.unique(lists)), about, int(sides.handed.sum()),
        _label(sides, "predictions", lists, rows), "notice",
    )  # fmt: skip
    lists, rows = _find_seen(sides, seen, "truth")
    ledger.count(
        "truth_in_train", len(rows), describe_overlap(sides.sources),
        int(sides.judgements.length.sum()),
        _label(sides, "truth", lists, rows), "warning",
    )  # fmt: skip


def _find_seen(sides: Aligned, seen: Grouped, side: str) -> tuple[Integers, Integers]:
    """Return the rows of a table whose item the list's user has seen, and their lists."""
    codes, where = sides.items.codes, sides.sources.seen_in
    grouped = (sides.lists if side == "predictions" else sides.judgements).pack()
    items = grouped.take(codes[side]).whole[: int(grouped.length.sum())]
    matches, _ = match(Ranking(seen, seen.take(codes[where]), None), grouped, items)
    position, first = np.unique(matches.truth, return_index=True)  # a pair may be repeated
    lists, rows = matches.list[first], grouped.rows(position)
    if sides.items.exact:
        return lists, rows
    seen_rows = seen.rows(seen.start[lists] + matches.position[first])
    columns = sides.items.columns
    same = (columns[side][rows] == columns[where][seen_rows]).to_numpy()  # codes are hashes
    return lists[same], rows[same]


def _label(sides: Aligned, side: str, lists: Integers, rows: Integers) -> str:
    return sides.first_pair(side, lists, rows) if len(rows) else ""
