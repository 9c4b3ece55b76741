"""One list taken out of all: judged by itself, it has the ranks it has among the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rectitude.arrays import Grouped, Integers
from rectitude.data.dense import Block, Dense
from rectitude.data.table import Inputs
from rectitude.errors import BadName, UnknownIds, nearest
from rectitude.judge.align import Aligned

_COMPARED = 20_000  # keys that are searched for the nearest names


@dataclass(frozen=True, slots=True)
class Alone:
    """The sides with one list, and its number there.

    A truth must say something of somebody: if it says nothing of this list, another comes with it,
    of which nothing was predicted.
    """

    sides: Aligned
    number: int

    @property
    def key(self) -> Any:
        """The key of the list."""
        return self.sides.keys[self.number]

    def column(self, name: str) -> Any:
        """A column of the list's rows of the predictions: `item` codes or `score`."""
        low, size = self.sides.lists.start[self.number], self.sides.lists.length[self.number]
        return self.sides.column(name).whole[low : low + size]

    def scores(self) -> dict[int, float]:
        """The score of each item by code, the first where it stands twice; empty if there are
        none."""
        predictions, dense = self.sides.sources.predictions, self.sides.sources.dense
        if dense is not None:
            codes, scores = self.sides.items.codes["predictions"].whole, next(dense.blocks())[0]
        elif "score" in predictions.frame.columns:
            codes, scores = self.column("item")[::-1], self.column("score")[::-1]
        else:
            return {}
        return dict(zip(codes.tolist(), scores.astype(float).tolist(), strict=True))

    def codes(self, shown: Integers) -> list[int]:
        """The codes of the items that judging shows in the first places, -1 for none."""
        dense = self.sides.sources.dense
        if dense is not None:
            known = self.sides.items.codes["predictions"].whole
        else:
            known = np.unique(self.sides.column("item").whole)
        return [int(known[number]) if number >= 0 else -1 for number in shown.tolist()]


def number_of(sides: Aligned, user: object) -> int:
    """The number of a list by its key, or by its user where he has one list only."""
    keys, text = [str(key) for key in sides.keys.to_list()], str(user)
    if text in keys:
        return keys.index(text)
    people = [str(one) for one in sides.users.to_list()]
    lists: list[int] = []
    if not sides.by_user and text in people:
        lists = np.flatnonzero(sides.owners == people.index(text)).tolist()
    if len(lists) == 1:
        return lists[0]
    if lists:
        shown = ", ".join(keys[one] for one in lists[:10])
        raise BadName(f"user {text!r} has {len(lists)} lists.", f"the key of one: {shown}.")
    close = nearest(text, keys[:_COMPARED])
    raise UnknownIds(
        f"neither predictions nor truth have a list {text!r}; they have {len(keys):,} others "
        f"(first: {sides.label(0)}).",
        "the key of a list: its user, or what list_key= names.",
        f"did you mean {close}?" if close else "",
    )


def alone(sides: Aligned, number: int) -> Alone:
    """One list, with its rows on both sides."""
    lists = [number]
    if sides.judgements.length[number] == 0:
        lists += np.flatnonzero(sides.judgements.length)[:1].tolist()
    chosen = np.array(sorted(lists))
    own = chosen == number
    predicted = sides.lists.repeated(chosen).only(own).packed()
    truth = sides.judgements.repeated(chosen)
    few = np.where(own, truth.length, np.minimum(truth.length, 1))
    sources = sides.sources
    if sources.dense is not None:
        sources, predicted = _one_row(sources, sources.dense, predicted)
    people, owners = np.unique(sides.owners[chosen], return_inverse=True)
    one = replace(
        sides,
        sources=sources,
        keys=sides.keys.gather(chosen),
        owners=owners.reshape(-1),
        users=sides.users.gather(people),
        lists=predicted,
        judgements=Grouped(truth.start, few, truth.order).packed(),
        handed=sides.handed[chosen] & own,
        known_users=None if sides.known_users is None else sides.known_users[chosen],
        weights=None if sides.weights is None else sides.weights[chosen],
        placed={},
        readings={},
    )
    return Alone(one, int(np.flatnonzero(own)[0]))


def _one_row(sources: Inputs, dense: Dense, lists: Grouped) -> tuple[Inputs, Grouped]:
    """Scores with the row of the one list that has any; with the first row if none has."""
    there = lists.length > 0
    row = int(lists.rows(lists.start[there])[0]) if there.any() else 0
    block = _row(dense, row)
    table = replace(dense.table, frame=dense.table.frame[row : row + 1])
    one = replace(
        dense, rows=1, blocks=lambda: iter([block]), table=table, depth=None, progress=None
    )
    seen = None if sources.seen is None else sources.seen.block(row, row + 1)
    recorded = None if sources.recorded is None else sources.recorded[row : row + 1]
    narrowed = replace(sources, predictions=table, dense=one, seen=seen, recorded=recorded)
    return narrowed, Grouped(np.zeros(len(there), np.int64), there.astype(np.int64))


def _row(dense: Dense, row: int) -> Block:
    """(1, columns) one row of the scores."""
    first = 0
    for block in dense.blocks():
        if row < first + len(block):
            return block[row - first : row - first + 1]
        first += len(block)
    raise BadName(f"the scores end before row {row}.", f"{dense.rows} rows.")
