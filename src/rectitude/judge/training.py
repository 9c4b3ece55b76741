"""What training says of the judged lists: how often it held an item, what a user had not met."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers, distinct, places
from rectitude.data.ids import Column, align
from rectitude.judge.sides import Sides
from rectitude.predictions.top import codes_of, located


def times_met(sides: Sides, rows: Integers) -> Integers | None:
    """(rows,) how often training holds the item of each row of the truth; None without training."""
    truth, train = sides.sources.truth, sides.sources.train
    if train is None:
        return None
    items = Column(truth.frame["item"][rows], truth.source, truth.text)
    own, theirs = codes_of(items, train, "item")
    known, counts = np.unique(theirs, return_counts=True)
    return np.append(counts, 0)[places(known, own)]


def unseen_items(sides: Sides) -> Integers | None:
    """(lists,) items of the catalogue that the user had not in training.

    The catalogue is what `items=` says, else the columns of dense scores, else the items of train;
    None where there is none of these.
    """
    codes, dense = sides.items.codes, sides.sources.dense
    if "items" not in codes and dense is not None:
        return dense.columns - (dense.padding is not None) - _seen(sides)
    side = next((side for side in ("items", "train") if side in codes), None)
    return None if side is None else len(distinct(codes[side].whole)) - _seen(sides)


def _seen(sides: Sides) -> Integers:
    """(lists,) different items that the user had in training."""
    seen, train = sides.sources.seen, sides.sources.train
    counts = np.zeros(len(sides.keys), np.int64)
    if seen is not None:
        there = sides.lists.length > 0
        counts[there] = np.diff(seen.start)[sides.lists.rows(sides.lists.start[there])]
    if seen is not None or train is None:
        return counts
    owner = located(*codes_of(Column(sides.users, "lists"), train, "list"))
    items = align({"train": Column(train.frame["item"], train.source, train.text)}, "item").codes
    item = np.unique(items["train"].whole, return_inverse=True)[1]
    width = int(item.max(initial=0)) + 1
    pairs = distinct((owner * width + item)[owner >= 0])
    return np.bincount(pairs // width, minlength=len(sides.users))[sides.owners]
