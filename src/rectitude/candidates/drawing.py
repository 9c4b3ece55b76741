"""Drawing items for many users at once: weighted, with or without replacement, by content alone.

Items are tried in the order of random numbers that belong to the seed, the group and the number of
the try, and refused ones are passed over. That is drawing one after the other from what is left.
Groups that are not filled after some rounds, because little is left for them, go through all items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.prepare.draws import numbers

Replacement = Literal["without", "with"]
ROUNDS = 6
CELLS = 2_000_000
"""How many draws or pairs of group and item are looked at in one go."""


@dataclass(frozen=True, slots=True)
class Urn:
    """The items that can be drawn, by number, and for whom they cannot."""

    weight: Floats
    """(items) how likely each is drawn; 0 for never"""
    excluded: Integers
    """sorted, each once: owner x items + item"""
    first: Integers | None = None
    """(items) when each item was first met"""
    moment: Integers | None = None
    """(owners) items first met from then on are not known to the owner"""

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.weight)

    def allows(self, owner: Integers, item: Integers) -> Flags:
        """Whether each item can be drawn for each owner."""
        met = among(self.excluded, owner * self.items + item)
        return ~met & (self.weight[item] > 0) & self.knows(owner, item)

    def knows(self, owner: Integers, item: Integers) -> Flags:
        """Whether each item had been met before each owner's moment."""
        if self.first is None or self.moment is None:
            return np.ones(len(item), np.bool_)
        return self.first[item] < self.moment[owner]

    def left(self, owners: int) -> Integers:
        """(owners) how many items can be drawn for each."""
        live = self.weight > 0
        if self.first is None or self.moment is None:
            known = np.full(owners, live.sum())
        else:
            known = np.searchsorted(np.sort(self.first[live]), self.moment)
        owner, item = self.excluded // self.items, self.excluded % self.items
        lost = live[item] & self.knows(owner, item)
        left: Integers = known - np.bincount(owner[lost], minlength=owners)
        return left


@dataclass(frozen=True, slots=True)
class Groups:
    """What items are drawn for: users, or positives of users."""

    owner: Integers
    """(groups) the number of the user"""
    positive: Integers
    """(groups) the number of the positive, or -1"""
    count: Integers
    """(groups) how many items are drawn"""


def among(known: Integers, keys: Integers) -> Flags:
    """Whether each key is one of the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Flags = known[at] == keys
    return found


def draw(
    urn: Urn, groups: Groups, seed: int, replacement: Replacement = "without"
) -> tuple[Integers, Integers]:
    """The group and the item of each draw, sorted. Every group must have enough items left."""
    taken = np.zeros(0, np.int64)
    used = np.zeros(len(groups.owner), np.int64)
    for number in range(ROUNDS):
        missing = _missing(groups, taken, urn.items)
        if not missing.any():
            break
        tries = np.minimum((missing << (number + 1)) + 4, urn.items) * (missing > 0)
        fresh = _round(urn, groups, seed, replacement, (taken, missing, used, tries))
        taken = np.sort(np.concatenate([taken, *fresh]))
        used += tries
    missing = _missing(groups, taken, urn.items)
    rest = _exhaustive if replacement == "without" else _repeated
    parts = _portions(np.where(missing > 0, urn.items, 0))
    fresh = [rest(urn, groups, seed, part, missing, taken) for part in parts]
    taken = np.sort(np.concatenate([taken, *fresh]))
    return taken // urn.items, taken % urn.items


def _round(
    urn: Urn, groups: Groups, seed: int, replacement: Replacement, so_far: tuple[Integers, ...]
) -> list[Integers]:
    """The next draws of all groups that miss some, a portion of them at a time."""
    taken, missing, used, tries = so_far
    found = []
    for part in _portions(tries):
        fresh = _tried(urn, groups, seed, part, used[part], tries[part])
        if replacement == "without":
            fresh = _distinct(fresh, taken)
        found.append(_cut(fresh, missing, urn.items))
    return found


def _missing(groups: Groups, taken: Integers, items: int) -> Integers:
    missing: Integers = groups.count - np.bincount(taken // items, minlength=len(groups.count))
    return missing


def _tried(
    urn: Urn, groups: Groups, seed: int, part: Integers, used: Integers, tries: Integers
) -> Integers:
    """Keys of what the next numbers of some groups hit, without what their owners cannot have."""
    group = np.repeat(part, tries)
    number = np.arange(len(group)) + np.repeat(used - np.cumsum(tries) + tries, tries)
    owner = groups.owner[group]
    chance = numbers(seed, owner, groups.positive[group] + 1, number)
    upto = np.cumsum(urn.weight)
    item = np.searchsorted(upto, chance * upto[-1], side="right")
    item = np.minimum(item, np.flatnonzero(urn.weight)[-1])
    key: Integers = group * urn.items + item
    return key[urn.allows(owner, item)]


def _distinct(fresh: Integers, taken: Integers) -> Integers:
    """What was not taken before, each once, in the order in which it was drawn."""
    import polars as pl

    once: Integers = fresh[pl.Series(fresh).is_first_distinct().to_numpy()]
    return once[~among(taken, once)]


def _cut(fresh: Integers, missing: Integers, items: int) -> Integers:
    """The first draws of each group, as many as it misses; draws come group by group."""
    group = fresh // items
    place = np.arange(len(group)) - np.searchsorted(group, group)
    return fresh[place < missing[group]]


def _portions(size: Integers) -> list[Integers]:
    """Groups that have any size, in portions that fit memory."""
    some = np.flatnonzero(size)
    portion = np.cumsum(size[some]) // CELLS
    return np.split(some, np.flatnonzero(np.diff(portion)) + 1) if len(some) else []


def _grid(urn: Urn, groups: Groups, part: Integers) -> tuple[Integers, Integers, Flags]:
    """Every pair of some groups and all items, and whether it is allowed."""
    group, item = np.repeat(part, urn.items), np.tile(np.arange(urn.items), len(part))
    return group, item, urn.allows(groups.owner[group], item)


def _exhaustive(
    urn: Urn, groups: Groups, seed: int, part: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draws without replacement from all that is left: the first of exponential waiting times."""
    group, item, fine = _grid(urn, groups, part)
    key = (group * urn.items + item)[fine]
    key = key[~among(taken, key)]
    group, item = key // urn.items, key % urn.items
    chance = numbers(~seed, groups.owner[group], groups.positive[group] + 1, item)
    wait = -np.log1p(-chance) / urn.weight[item]
    key = key[np.lexsort((item, wait, group))]
    return _cut(key, missing, urn.items)


def _repeated(
    urn: Urn, groups: Groups, seed: int, part: Integers, missing: Integers, taken: Integers
) -> Integers:
    """Draws with replacement from all that is allowed."""
    _, item, fine = _grid(urn, groups, part)
    weight = np.where(fine, urn.weight[item], 0.0).reshape(len(part), urn.items)
    upto = np.cumsum(weight, axis=1)
    wanted = missing[part]
    row = np.repeat(np.arange(len(part)), wanted)
    number = np.arange(len(row)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    chance = numbers(~seed, groups.owner[part][row], groups.positive[part][row] + 1, number)
    # Rows are laid end to end, each scaled to length 1, so that one search serves all.
    line = (upto / upto[:, -1:] + np.arange(len(part))[:, None]).ravel()
    at = np.searchsorted(line, row + chance, side="right") - row * urn.items
    last = urn.items - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    key: Integers = part[row] * urn.items + np.minimum(at, last[row])
    return key
