"""Take one list out of all others; judging it alone gives the same ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rectitude.arrays import Grouped, Integers
from rectitude.data.dense import Block, Dense
from rectitude.data.table import Inputs
from rectitude.errors import BadArgument, UnknownIds, nearest
from rectitude.judge.align import Aligned

_COMPARED = 20_000  # at most this many keys are searched for similar ones


@dataclass(frozen=True, slots=True)
class Alone:
    """The inputs reduced to one list, and the number of that list.

    The truth must not be empty. If it has no row for this list, a second list with truth, but
    without predictions, comes with it.
    """

    sides: Aligned
    number: int

    @property
    def key(self) -> Any:
        """The key of the list."""
        return self.sides.keys[self.number]

    def column(self, name: str) -> Any:
        """Return a column of the list's rows in the predictions: `item` codes or `score`."""
        low, size = self.sides.lists.start[self.number], self.sides.lists.length[self.number]
        return self.sides.column(name).whole[low : low + size]

    def scores(self) -> dict[int, float]:
        """Return the score of each item by code; empty if there are no scores.

        If an item appears twice, its first score is returned.
        """
        predictions, dense = self.sides.sources.predictions, self.sides.sources.dense
        if dense is not None:
            codes, scores = self.sides.items.codes["predictions"].whole, next(dense.blocks())[0]
        elif "score" in predictions.frame.columns:
            codes, scores = self.column("item")[::-1], self.column("score")[::-1]
        else:
            return {}
        return dict(zip(codes.tolist(), scores.astype(float).tolist(), strict=True))

    def codes(self, shown: Integers) -> list[int]:
        """Return the codes of the items at the first ranks, -1 if a rank is empty."""
        dense = self.sides.sources.dense
        if dense is not None:
            codes = self.sides.items.codes["predictions"].whole
        else:
            codes = np.unique(self.sides.column("item").whole)
        return [int(codes[number]) if number >= 0 else -1 for number in shown.tolist()]


def number_of(sides: Aligned, user: object) -> int:
    """Return the number of a list, given its key, or its user if they have only one list."""
    keys, text = [str(key) for key in sides.keys.to_list()], str(user)
    if text in keys:
        return keys.index(text)
    users = [str(label) for label in sides.users.to_list()]
    lists: list[int] = []
    if not sides.by_user and text in users:
        lists = np.flatnonzero(sides.owners == users.index(text)).tolist()
    if len(lists) == 1:
        return lists[0]
    if lists:
        shown = ", ".join(keys[number] for number in lists[:10])
        raise BadArgument(
            f"user {text!r} has {len(lists)} lists.",
            f"the key of one of them, such as {shown}.",
            "pass the key of a list instead of the user.",
        )
    close = nearest(text, keys[:_COMPARED])
    raise UnknownIds(
        f"neither the predictions nor the truth have a list {text!r}; they have {len(keys):,} "
        f"lists (first: {sides.label(0)}).",
        "the key of a list: its user, or its value in the column list_key=.",
        f"did you mean {close}?" if close else "",
    )


def alone(sides: Aligned, number: int) -> Alone:
    """Return one list with its rows in predictions and truth."""
    lists = [number]
    if sides.judgements.length[number] == 0:
        lists += np.flatnonzero(sides.judgements.length)[:1].tolist()
    chosen = np.array(sorted(lists))
    is_traced = chosen == number
    predicted = sides.lists.repeat_lists(chosen).only(is_traced).pack()
    truth = sides.judgements.repeat_lists(chosen)
    lengths = np.where(is_traced, truth.length, np.minimum(truth.length, 1))
    sources = sides.sources
    if sources.dense is not None:
        sources, predicted = _one_row(sources, sources.dense, predicted)
    users, owners = np.unique(sides.owners[chosen], return_inverse=True)
    reduced = replace(
        sides,
        sources=sources,
        keys=sides.keys.gather(chosen),
        owners=owners.reshape(-1),
        users=sides.users.gather(users),
        lists=predicted,
        judgements=Grouped(truth.start, lengths, truth.order).pack(),
        handed=sides.handed[chosen] & is_traced,
        known_users=None if sides.known_users is None else sides.known_users[chosen],
        weights=None if sides.weights is None else sides.weights[chosen],
        placed={},
        readings={},
    )
    return Alone(reduced, int(np.flatnonzero(is_traced)[0]))


def _one_row(sources: Inputs, dense: Dense, lists: Grouped) -> tuple[Inputs, Grouped]:
    """Reduce dense scores to the row of the traced list, or to the first row if it has none."""
    has_row = lists.length > 0
    row = int(lists.rows(lists.start[has_row])[0]) if has_row.any() else 0
    block = _row(dense, row)
    table = replace(dense.table, frame=dense.table.frame[row : row + 1])
    single = replace(
        dense, rows=1, blocks=lambda: iter([block]), table=table, depth=None, progress=None
    )
    seen = None if sources.seen_cells is None else sources.seen_cells.block(row, row + 1)
    recorded = None if sources.recorded is None else sources.recorded[row : row + 1]
    narrowed = replace(sources, predictions=table, dense=single, seen_cells=seen, recorded=recorded)
    return narrowed, Grouped(np.zeros(len(has_row), np.int64), has_row.astype(np.int64))


def _row(dense: Dense, row: int) -> Block:
    """Return one row of the scores, with shape (1, columns)."""
    first = 0
    for block in dense.blocks():
        if row < first + len(block):
            return block[row - first : row - first + 1]
        first += len(block)
    raise BadArgument(
        f"the scores have {first} rows, so there is no row {row}.",
        f"{dense.rows} rows, as announced.",
        "check that the blocks can be read more than once.",
    )
