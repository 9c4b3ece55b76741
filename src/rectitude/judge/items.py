"""The items and users behind the numbers of judged lists, and what training says of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct, offsets_of, places, run_starts
from rectitude.data.ids import Column, codes_of, located, numbered
from rectitude.data.table import Inputs
from rectitude.judge.align import Aligned
from rectitude.judge.attributes import Attributes, Groups, Memberships
from rectitude.judge.match import Ranking
from rectitude.judge.places import Ends, Places, times_listed, worth_of_lists
from rectitude.judge.truth import Truth
from rectitude.kernels import frozen, kernel, repay
from rectitude.parallel import Once, in_blocks


@dataclass(frozen=True)
class Entries:
    """Items or users of one evaluation, by number, and the further columns of the table of them."""

    ids: pl.Series
    """(entries,) sorted"""
    attributes: Attributes

    def groups(self, column: str) -> Groups:
        """The group of each entry."""
        return self.attributes.groups(column)

    def memberships(self, column: str) -> Memberships:
        """All groups of each entry."""
        return self.attributes.memberships(column)

    def vectors(self, column: str) -> Floats:
        """(entries, d) the vector of each entry."""
        return self.attributes.vectors(column)

    def values(self, column: str) -> Floats:
        """(entries,) a number for each entry."""
        return self.attributes.values(column)


@dataclass(frozen=True)
class Stock(Entries):
    """All items that lists, catalogue or training name, and what training held of each. The
    catalogue is what `items=` says, else the columns of dense scores."""

    listed: Integers
    """the number of each listed item, as lists number their items, and -1 for none"""
    catalogue: Flags | None
    """(items,) whether the item is in the catalogue; None if nobody says what that is"""
    item: Integers
    """(rows of train) the number of the item"""
    user: Integers
    """(rows of train) the number of the user, that in `People` where these are known"""
    people: int
    """how many users there are, by number"""
    kept: Once = field(default_factory=Once, repr=False)
    """what metrics share"""

    @property
    def rows(self) -> Integers:
        """(items,) rows of train with the item."""
        return self.kept("rows", lambda: np.bincount(self.item, minlength=len(self.ids)))

    @property
    def profiles(self) -> tuple[Integers, Integers]:
        """(pairs,) the users of train, ascending, and the items that each had, each once."""
        return self.kept("profiles", lambda: different_pairs(self.user, self.item, len(self.ids)))

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """(pairs,) the same for those who count: the items of a user are in no promised order."""
        return self.kept("pairs", lambda: without_repeats(self.user, self.item, len(self.ids)))

    @property
    def users(self) -> Integers:
        """(items,) users who had the item in training."""
        item = self.pairs[1]
        if item is self.item:  # no row repeats another
            return self.rows
        return self.kept("users", lambda: np.bincount(item, minlength=len(self.ids)))

    @property
    def offsets(self) -> Integers:
        """Where the pairs of each user begin and end."""
        return self.kept("offsets", lambda: offsets_of(self.pairs[0], self.people))

    @property
    def everyone(self) -> int:
        """How many users there are in train."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    @property
    def bits(self) -> Floats:
        """(items,) log2(users of train / users who had the item, at least 1)."""
        most, users = max(self.everyone, 1), self.users
        return self.kept("bits", lambda: np.log2(most / np.maximum(users, 1)))

    @property
    def popularity_rank(self) -> Integers:
        """(items,) 1 for the most rows of train; equals share a rank, and the next has the next."""

        def ranked() -> Integers:
            return np.unique(-self.rows, return_inverse=True)[1].reshape(-1) + 1

        return self.kept("popularity rank", ranked)

    @property
    def rank_share(self) -> Floats:
        """(items,) the share of train's items that as many or fewer users had, equals counting
        half; 0 for an item that train does not hold."""
        return self.kept("rank share", self._rank_share)

    def _rank_share(self) -> Floats:
        known = np.sort(self.users[self.users > 0])
        many = np.arange(int(self.users.max(initial=0)) + 1)
        ends = sum(np.searchsorted(known, many, side) for side in ("left", "right"))
        share = np.where(many > 0, (ends + 1) / 2 / max(len(known), 1), 0.0)
        return np.asarray(share[self.users], np.float64)

    def popularity(self, repeats: float) -> Integers:
        """(items,) rows of train with the item, or users if rows that repeat one do not count."""
        return self.rows if repeats else self.users

    def times(self, shown: Integers) -> Integers:
        """(items,) how often each item stands in places of lists."""
        return times_listed(self.listed, shown, len(self.ids))

    def times_upto(self, shown: Integers, ends: Ends) -> list[Integers]:
        """For each cutoff, (items,) how often each item stands in places of lists."""
        parts = [self.times(shown[:, a:b]) for a, b in pairwise((0, *ends))]
        return list(np.cumsum(parts, axis=0))

    def total(self, key: Hashable, worth: Callable[[], Floats | Flags], places: Places) -> Floats:
        """(lists,) the sum of what the items in the places of each list are worth. That is computed
        once; the key stands for it."""

        def listed() -> Floats:
            return frozen(np.append(np.asarray(worth(), np.float64), 0.0)[self.listed])

        table = self.kept(("worth", key), listed)
        return places.each(("worth", key), partial(worth_of_lists, table))


@dataclass(frozen=True)
class People(Entries):
    """All users that lists, training or the table of users name."""

    listed: Integers
    """(users of the lists) the number of each"""
    trained: Integers
    """(rows of train) the number of the user"""


def behind(
    sides: Aligned, ranking: Ranking | None, truth: Truth, needs: tuple[str, ...]
) -> dict[str, Any]:
    """The fields of `Extras` that name items and users, as far as metrics need them."""
    found: dict[str, Any] = {}
    users = people(sides.users, sides.sources) if "people" in needs else None
    if users is not None:
        found = {"people": users, "owner": users.listed[sides.owners]}
    if "stock" in needs or "wanted" in needs:
        wanted = _wanted(sides, truth) if "wanted" in needs else None
        listed = _listed(sides, ranking)
        found["stock"], found["wanted"] = stock(listed, sides.sources, wanted, users)
    return found


def people(listed: pl.Series, sources: Inputs) -> People:
    """The users of the lists, with all others."""
    columns = {"lists": Column(listed, "lists")}
    for side, table in (("users", sources.users), ("train", sources.train)):
        if table is not None:
            columns[side] = Column.of(table, "list")
    found, nobody = numbered(columns, "user"), np.zeros(0, np.int64)
    number = found.numbers
    about = Attributes("user", sources.users, number.get("users", nobody), len(found))
    return People(found.ids, about, number["lists"], number.get("train", nobody))


def stock(
    listed: Column, sources: Inputs, wanted: Column | None = None, people: People | None = None
) -> tuple[Stock, Integers | None]:
    """The items of the lists, in the order in which these number them, with all others; and the
    numbers of the items that are wanted."""
    columns = {"listed": listed} | ({} if wanted is None else {"wanted": wanted})
    for side, table in (("items", sources.items), ("train", sources.train)):
        if table is not None:
            columns[side] = Column.of(table, "item")
    items = numbered(columns, "item")
    number = items.numbers
    offered = number.get("items")
    if offered is None and sources.dense is not None:
        padding = sources.dense.padding
        offered = number["listed"] if padding is None else np.delete(number["listed"], padding)
    nothing = np.zeros(0, np.int64)
    users = _users(sources) if people is None else people.trained
    found = Stock(
        items.ids,
        Attributes("item", sources.items, number.get("items", nothing), len(items)),
        listed=np.append(number["listed"], -1),
        catalogue=None if offered is None else np.bincount(offered, minlength=len(items)) > 0,
        item=number.get("train", nothing),
        user=users,
        people=int(users.max(initial=-1)) + 1 if people is None else len(people.ids),
    )
    return found, number.get("wanted")


def _users(sources: Inputs) -> Integers:
    if sources.train is None:
        return np.zeros(0, np.int64)
    return sources.train.frame["list"].rank("dense").to_numpy().astype(np.int64)


def _listed(sides: Aligned, ranking: Ranking | None) -> Column:
    """The items in the order of their numbers in `Judged.shown`: the columns of dense scores, or
    the items of given lists, see `shown_in_lists`."""
    dense, predictions = sides.sources.dense, sides.sources.predictions
    if dense is not None or ranking is None:
        ids = predictions.frame["item"] if dense is None else dense.items
        return Column(ids, predictions.source)
    rows = ranking.lists.rows(ranking.numbered.row)
    return Column(predictions.frame["item"][rows], predictions.source, predictions.text)


def _wanted(sides: Aligned, truth: Truth) -> Column:
    """The items of the truth, by place."""
    table, rows = sides.sources.truth, truth.rows.rows(np.arange(len(truth.items)))
    return Column(table.frame["item"][rows], table.source, table.text)


def times_met(sides: Aligned, rows: Integers) -> Integers | None:
    """(rows,) how often training holds the item of each row of the truth; None without training."""
    truth, train = sides.sources.truth, sides.sources.train
    if train is None:
        return None
    items = Column(truth.frame["item"][rows], truth.source, truth.text)
    own, theirs = codes_of(items, train, "item")
    known, counts = np.unique(theirs, return_counts=True)
    return np.append(counts, 0)[places(known, own)]


def unseen_items(sides: Aligned) -> Integers | None:
    """(lists,) items of the catalogue that the user had not in training.

    The catalogue is what `items=` says, else the columns of dense scores, else the items of train;
    None where there is none of these.
    """
    codes, dense = sides.items.codes, sides.sources.dense
    if "items" not in codes and dense is not None:
        return dense.columns - (dense.padding is not None) - _seen(sides)
    side = next((side for side in ("items", "train") if side in codes), None)
    return None if side is None else len(distinct(codes[side].whole)) - _seen(sides)


def _seen(sides: Aligned) -> Integers:
    """(lists,) different items that the user had in training."""
    seen, train = sides.sources.seen, sides.sources.train
    counts = np.zeros(len(sides.keys), np.int64)
    if seen is not None:
        there = sides.lists.length > 0
        counts[there] = seen.lengths[sides.lists.rows(sides.lists.start[there])]
    if seen is not None or train is None:
        return counts
    owner = located(*codes_of(Column(sides.users, "lists"), train, "list"))
    item = numbered({"train": Column.of(train, "item")}, "item").numbers["train"]
    width = int(item.max(initial=0)) + 1
    pairs = distinct((owner * width + item)[owner >= 0])
    return np.bincount(pairs // width, minlength=len(sides.users))[sides.owners]


def united(
    left: pl.Series | None, right: pl.Series | None
) -> tuple[pl.Series | None, tuple[Integers, Integers] | None]:
    """The items of two batches, sorted, and the place of each batch's items among them; None for
    items that stand for themselves, and for places that are the same already."""
    if left is None or right is None or left.equals(right):
        return left, None
    both = numbered({"left": Column(left, "a batch"), "right": Column(right, "another")}, "item")
    return both.ids, (both.numbers["left"], both.numbers["right"])


_PAIRS = 1 << 13
"""pairs that are sorted at a time: the processor holds them"""


def without_repeats(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """The different pairs, by owner. Where that is less work, the items of an owner stand as they
    do in the rows: for those who count pairs."""
    if not (repay(len(item)) and np.all(owner[1:] >= owner[:-1])):
        return different_pairs(owner, item, items)
    new, pairs = np.ones(len(item), bool), (frozen(owner), frozen(item))

    def work(first: int, last: int) -> None:
        kernel(repeat_kernel)(*pairs, first, last, new, np.full(items, -1))

    in_blocks(work, len(item))
    return (owner, item) if new.all() else (owner[new], item[new])


def repeat_kernel(
    owner: Integers, item: Integers, first: int, last: int, new: Flags, mark: Integers
) -> None:
    """Find pairs that were there before, compiled: an item is marked with its last owner. An owner
    whose rows are in several blocks belongs to the first of them."""
    while 0 < first < len(owner) and owner[first] == owner[first - 1]:
        first += 1
    while last < len(owner) and owner[last] == owner[last - 1]:
        last += 1
    for row in range(first, last):
        new[row] = mark[item[row]] != owner[row]
        mark[item[row]] = owner[row]


def different_pairs(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """The different pairs, by owner and item. Owners that ascend already are sorted some at a
    time."""
    bits = items.bit_length()
    if not np.all(owner[1:] >= owner[:-1]):
        keys = distinct((owner << bits) | item)
        return keys >> bits, keys & ((1 << bits) - 1)
    starts = np.append(run_starts(owner), len(owner))
    cuts = starts[
        np.searchsorted(starts, np.arange(0, len(owner) + _PAIRS, _PAIRS)).clip(max=len(starts) - 1)
    ]
    ordered, new = np.empty(len(item), np.int64), np.ones(len(item), bool)

    def work(first: int, last: int) -> None:
        for begin, end in pairwise(cuts[first : last + 1].tolist()):
            keys = (owner[begin:end] << bits) | item[begin:end]
            keys.sort(kind="stable")  # quick where owners ascend already
            ordered[begin:end] = keys & ((1 << bits) - 1)
            new[begin + 1 : end] = keys[1:] != keys[:-1]

    in_blocks(work, len(cuts) - 1, 16)
    return (owner, ordered) if new.all() else (owner[new], ordered[new])
