"""Judged lists as rows of scores and grades, a block at a time, for metrics that take tensors.

After judging there are ranks, not scores. A row has a column for each place, best first, whose
score falls from place to place, and after them a column for each judged item that stands in none.
Places without an item and items without a place are masked by a score of minus infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rectitude.arrays import Floats, Integers
from rectitude.errors import BadGrades, DuplicateTruth
from rectitude.judge.judged import Judged
from rectitude.torch.metrics.blocks import Best, Blocks
from rectitude.torch.metrics.checks import Facts

CELLS = 1 << 21
"""how many scores a block of rows holds at most, unless a single row has more"""


class Rows(NamedTuple):
    """Some lists as rows."""

    preds: Tensor
    ground: Tensor
    lists: Tensor
    """(rows,) their numbers within the block, from 0"""
    places: int
    """columns that are places, in order"""

    def known(self, blocks: Blocks, k: int | None) -> None:
        """Tell what needs no search: the best columns are the first ones, and all is sound."""
        depth = self.places if k is None else min(k, self.places)
        columns = torch.arange(depth).expand(len(self.preds), -1)
        scores = self.preds[:, :depth]
        blocks.largest = depth
        blocks.keep(f"top_{depth}", (self.preds,), Best(columns, scores, scores > -torch.inf))
        sound = Facts(nan=0, infinite=0, lowest=0, highest=len(self.preds) - 1)
        blocks.keep("checks", (self.preds, self.ground, self.lists), sound)


def blocks_of(lists: Judged, places: int) -> Iterator[tuple[slice, Rows]]:
    """The lists in blocks, and where each block is; items below the places count as not ranked."""
    _require_plain(lists)
    rest = _outside(lists, places)
    spare = np.bincount(rest.list, minlength=lists.size)
    width = places + int(spare.max(initial=0))
    step = max(1, CELLS // max(width, 1))
    for first in range(0, lists.size, step):
        here = slice(first, min(first + step, lists.size))
        yield here, _rows(lists, rest, here, places, places + int(spare[here].max(initial=0)))


def places_of(lists: Judged) -> int:
    """How many places the longest list has."""
    return int(max(lists.returned.max(initial=0), lists.rank.max(initial=0)))


class _Outside(NamedTuple):
    """Judged items that stand in no place, by list: their rows in the truth."""

    list: Integers
    row: Integers
    nth: Integers
    """how many of the list come before"""


def _outside(lists: Judged, places: int) -> _Outside:
    inside = lists.rank <= places
    placed = np.zeros(len(lists.truth.values), bool)
    placed[lists.truth.offsets[lists.list[inside]] + lists.place[inside]] = True
    row = np.flatnonzero(~placed)
    owner = lists.truth.rows()[row]
    return _Outside(owner, row, np.arange(len(row)) - np.searchsorted(owner, owner))


def _rows(lists: Judged, rest: _Outside, here: slice, places: int, width: int) -> Rows:
    size = here.stop - here.start
    preds = np.full((size, width), -np.inf)
    returned = lists.returned[here, None] > np.arange(places)
    preds[:, :places] = np.where(returned, np.arange(places, 0, -1.0), -np.inf)
    ground = np.zeros((size, width))
    first, last = np.searchsorted(lists.list, (here.start, here.stop))
    own, rank = lists.list[first:last] - here.start, lists.rank[first:last] - 1
    inside = rank < places
    ground[own[inside], rank[inside]] = _relevant(lists, lists.grade[first:last])[inside]
    first, last = np.searchsorted(rest.list, (here.start, here.stop))
    own, column = rest.list[first:last] - here.start, places + rest.nth[first:last]
    ground[own, column] = _relevant(lists, lists.truth.values[rest.row[first:last]])
    return Rows(torch.from_numpy(preds), torch.from_numpy(ground), torch.arange(size), places)


def _relevant(lists: Judged, grades: Floats) -> Floats:
    """The grades of relevant items, 0 for the others: what is above 0 is relevant in a tensor."""
    return np.where(lists.is_relevant(grades), grades, 0.0)


def _require_plain(lists: Judged) -> None:
    """Refuse lists that rows cannot hold."""
    grades = lists.truth.values
    lost = lists.is_relevant(grades) & (grades <= 0)
    if lost.any():
        raise BadGrades(
            f"{int(lost.sum())} relevant items have a grade of 0 or below.",
            "grades above 0 for relevant items, as metrics on tensors tell them by that.",
            "choose relevant_from above 0.",
        )
    same = (np.diff(lists.list) == 0) & (np.diff(lists.rank) == 0)
    if same.any():
        raise DuplicateTruth(
            f"{int(same.sum())} places hold an item that the truth counts twice.",
            "each item once, as a tensor has one grade for it.",
            "set duplicate_truth='once'.",
        )
