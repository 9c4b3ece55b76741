"""How many items of the catalogue each user had not met in training."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers, distinct
from rectitude.data.ids import Column, align
from rectitude.judge.sides import Sides
from rectitude.predictions.top import located


def unseen_items(sides: Sides) -> Integers | None:
    """(lists,) items of the catalogue that the user had not in training.

    The catalogue is what `items=` says, else the columns of dense scores, else the items of train;
    None where there is none of these.
    """
    key = ("unseen",)
    if key not in sides.readings:
        size = _catalogue(sides)
        sides.readings[key] = None if size is None else size - _seen(sides)
    counted: Integers | None = sides.readings[key]
    return counted


def _catalogue(sides: Sides) -> int | None:
    codes, dense = sides.items.codes, sides.sources.dense
    if "items" not in codes and dense is not None:
        return dense.columns - (dense.padding is not None)
    side = next((side for side in ("items", "train") if side in codes), None)
    return None if side is None else len(distinct(codes[side].whole))


def _seen(sides: Sides) -> Integers:
    """(lists,) different items that the user had in training."""
    seen, train = sides.sources.seen, sides.sources.train
    counts = np.zeros(len(sides.keys), np.int64)
    if seen is not None:
        there = sides.lists.length > 0
        counts[there] = np.diff(seen.start)[sides.lists.rows(sides.lists.start[there])]
        return counts
    if train is None:
        return counts
    frame = train.frame
    theirs = Column(frame["list"], train.source, train.text)
    users = align({"users": Column(sides.users, "lists"), "train": theirs}, "user").codes
    items = align({"train": Column(frame["item"], train.source, train.text)}, "item").codes
    owner = located(users["users"].whole, users["train"].whole)
    item = np.unique(items["train"].whole, return_inverse=True)[1]
    width = int(item.max(initial=0)) + 1
    pairs = distinct((owner * width + item)[owner >= 0])
    return np.bincount(pairs // width, minlength=len(sides.users))[sides.owners]
