"""The items and users behind the numbers in judged lists, and their training data."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats, Integers, distinct, offsets_of, positions_in, run_starts
from rectitude.data.ids import Column, codes_of, locate, number_ids
from rectitude.data.table import Inputs
from rectitude.judge.align import Aligned
from rectitude.judge.attributes import Attributes, Groups, Memberships
from rectitude.judge.match import Ranking
from rectitude.judge.places import Ends, Places, sum_over_lists, times_listed
from rectitude.judge.truth import Truth
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.parallel import Once, in_blocks
from rectitude.predictions.scores import numbers_from_0


@dataclass(frozen=True, eq=False)
class Entries:
    """The items or users of an evaluation, numbered, and the extra columns of their table."""

    ids: pl.Series
    """(entries,) the ids, sorted"""
    attributes: Attributes

    def groups(self, column: str) -> Groups:
        """Return the group of each entry."""
        return self.attributes.groups(column)

    def memberships(self, column: str) -> Memberships:
        """Return all groups of each entry."""
        return self.attributes.memberships(column)

    def vectors(self, column: str) -> Floats:
        """Return the vector of each entry, shape (entries, d)."""
        return self.attributes.vectors(column)

    def values(self, column: str) -> Floats:
        """Return a number for each entry."""
        return self.attributes.values(column)


@dataclass(frozen=True, eq=False)
class Stock(Entries):
    """All items in the lists, the catalogue or the training data, and the training rows of each.

    The catalogue comes from `items=`, else from the columns of dense scores.
    """

    listed: Integers
    """the number here of each item, by its number in the lists; -1 at the end, for no item"""
    catalogue: Flags | None
    """(items,) whether the item is in the catalogue; None if there is no catalogue"""
    item: Integers
    """(training rows,) the number of the item"""
    user: Integers
    """(training rows,) the number of the user; the one in `People` if that is available"""
    people: int
    """the number of users"""
    kept: Once = field(default_factory=Once, repr=False)
    """a cache that metrics share"""

    @property
    def rows(self) -> Integers:
        """(items,) the number of training rows with the item."""
        return self.kept("rows", lambda: np.bincount(self.item, minlength=len(self.ids)))

    @property
    def profiles(self) -> tuple[Integers, Integers]:
        """(pairs,) the users in the training data, ascending, and the distinct items of each."""
        return self.kept("profiles", lambda: different_pairs(self.user, self.item, len(self.ids)))

    @property
    def pairs(self) -> tuple[Integers, Integers]:
        """(pairs,) the same pairs for counting: the items of a user are in any order."""
        return self.kept("pairs", lambda: without_repeats(self.user, self.item, len(self.ids)))

    @property
    def users(self) -> Integers:
        """(items,) the number of users who have the item in the training data."""
        item = self.pairs[1]
        if item is self.item:  # no pair is repeated
            return self.rows
        return self.kept("users", lambda: np.bincount(item, minlength=len(self.ids)))

    @property
    def offsets(self) -> Integers:
        """The offsets at which the pairs of each user begin and end."""
        return self.kept("offsets", lambda: offsets_of(self.pairs[0], self.people))

    @property
    def everyone(self) -> int:
        """The number of users in the training data."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    @property
    def bits(self) -> Floats:
        """(items,) log2(all training users / training users with the item, at least 1)."""
        most, users = max(self.everyone, 1), self.users
        return self.kept("bits", lambda: np.log2(most / np.maximum(users, 1)))

    @property
    def popularity_rank(self) -> Integers:
        """(items,) the dense rank by training rows: 1 for the most popular, ties share a rank."""

        def rank_items() -> Integers:
            return np.unique(-self.rows, return_inverse=True)[1].reshape(-1) + 1

        return self.kept("popularity rank", rank_items)

    @property
    def rank_share(self) -> Floats:
        """(items,) the share of training items with fewer users, plus half of those with as many.

        It is 0 for an item that is not in the training data.
        """
        return self.kept("rank share", self._rank_share)

    def _rank_share(self) -> Floats:
        user_counts = np.sort(self.users[self.users > 0])
        possible_counts = np.arange(int(self.users.max(initial=0)) + 1)
        ends = sum(
            np.searchsorted(user_counts, possible_counts, side) for side in ("left", "right")
        )
        share = np.where(possible_counts > 0, (ends + 1) / 2 / max(len(user_counts), 1), 0.0)
        return np.asarray(share[self.users], np.float64)

    def popularity(self, repeats: float) -> Integers:
        """Return the training rows of each item, or its users if repeated rows do not count."""
        return self.rows if repeats else self.users

    def times(self, shown: Integers) -> Integers:
        """Count how often each item appears in the lists."""
        return times_listed(self.listed, shown, len(self.ids))

    def times_upto(self, shown: Integers, ends: Ends) -> list[Integers]:
        """Count, for each cutoff, how often each item appears in the lists."""
        counts = [self.times(shown[:, a:b]) for a, b in pairwise((0, *ends))]
        return list(np.cumsum(counts, axis=0))

    def total(self, key: Hashable, worth: Callable[[], Floats | Flags], places: Places) -> Floats:
        """Sum a value over the items of each list.

        `worth` returns the value of each item; it is called once per key.
        """

        def value_by_list_number() -> Floats:
            return freeze(np.append(np.asarray(worth(), np.float64), 0.0)[self.listed])

        table = self.kept(("worth", key), value_by_list_number)
        return places.each(("worth", key), partial(sum_over_lists, table))


@dataclass(frozen=True, eq=False)
class People(Entries):
    """All users in the lists, the training data or the table of users."""

    listed: Integers
    """(users of the lists,) the number of the user"""
    trained: Integers
    """(training rows,) the number of the user"""


def find_entries(
    sides: Aligned, ranking: Ranking | None, truth: Truth, needs: tuple[str, ...]
) -> dict[str, Any]:
    """Return the fields of `Extras` with items and users that metrics need."""
    extras: dict[str, Any] = {}
    users = people(sides.users, sides.sources) if "people" in needs else None
    if users is not None:
        extras = {"people": users, "owner": users.listed[sides.owners]}
    if "stock" in needs or "wanted" in needs:
        wanted = _find_truth_items(sides, truth) if "wanted" in needs else None
        listed = _find_listed_items(sides, ranking)
        extras["stock"], extras["wanted"] = stock(listed, sides.sources, wanted, users)
    return extras


def people(listed: pl.Series, sources: Inputs) -> People:
    """Number the users of the lists and all other users."""
    columns = {"lists": Column(listed, "lists")}
    for side, table in (("users", sources.users), ("train", sources.train)):
        if table is not None:
            columns[side] = Column.of(table, "list")
    users, empty = number_ids(columns, "user"), np.zeros(0, np.int64)
    numbers = users.numbers
    attributes = Attributes("user", sources.users, numbers.get("users", empty), len(users))
    return People(users.ids, attributes, numbers["lists"], numbers.get("train", empty))


def stock(
    listed: Column, sources: Inputs, wanted: Column | None = None, people: People | None = None
) -> tuple[Stock, Integers | None]:
    """Number the items of the lists and all other items; also return the numbers of `wanted`."""
    columns = {"listed": listed} | ({} if wanted is None else {"wanted": wanted})
    for side, table in (("items", sources.items), ("train", sources.train)):
        if table is not None:
            columns[side] = Column.of(table, "item")
    if sources.items is None and sources.dense is None and sources.width is not None:
        columns["columns"] = Column(numbers_from_0(sources.width, "item"), "columns of a matrix")
    items = number_ids(columns, "item")
    numbers = items.numbers
    catalogue = numbers.get("items", numbers.get("columns"))
    if catalogue is None and sources.dense is not None:
        padding = sources.dense.padding
        catalogue = numbers["listed"] if padding is None else np.delete(numbers["listed"], padding)
    empty = np.zeros(0, np.int64)
    users = _number_users(sources) if people is None else people.trained
    result = Stock(
        items.ids,
        Attributes("item", sources.items, numbers.get("items", empty), len(items)),
        listed=np.append(numbers["listed"], -1),
        catalogue=None if catalogue is None else np.bincount(catalogue, minlength=len(items)) > 0,
        item=numbers.get("train", empty),
        user=users,
        people=int(users.max(initial=-1)) + 1 if people is None else len(people.ids),
    )
    return result, numbers.get("wanted")


def _number_users(sources: Inputs) -> Integers:
    if sources.train is None:
        return np.zeros(0, np.int64)
    return sources.train.frame["list"].rank("dense").to_numpy().astype(np.int64)


def _find_listed_items(sides: Aligned, ranking: Ranking | None) -> Column:
    """Return the items in the order of their numbers in `Judged.shown`.

    These are the columns of dense scores, or the items of lists, see `show_lists`.
    """
    dense, predictions = sides.sources.dense, sides.sources.predictions
    if dense is not None or ranking is None:
        ids = predictions.frame["item"] if dense is None else dense.items
        return Column(ids, predictions.source)
    rows = ranking.lists.rows(ranking.numbered.row)
    return Column(predictions.frame["item"][rows], predictions.source, predictions.text)


def _find_truth_items(sides: Aligned, truth: Truth) -> Column:
    """Return the items of the truth, by position."""
    table, rows = sides.sources.truth, truth.rows.rows(np.arange(len(truth.items)))
    return Column(table.frame["item"][rows], table.source, table.text)


def count_in_training(sides: Aligned, rows: Integers) -> Integers | None:
    """Count the training rows with the item of each truth row; None without training data."""
    truth, train = sides.sources.truth, sides.sources.train
    if train is None:
        return None
    items = Column(truth.frame["item"][rows], truth.source, truth.text)
    item_codes, train_codes = codes_of(items, train, "item")
    distinct_codes, counts = np.unique(train_codes, return_counts=True)
    return np.append(counts, 0)[positions_in(distinct_codes, item_codes)]


def unseen_items(sides: Aligned) -> Integers | None:
    """Count, for each list, the catalogue items that the user has not seen.

    The catalogue comes from `items=`, else from the columns of dense scores, else from the training
    data. Returns None if there is none of these.
    """
    codes, dense = sides.items.codes, sides.sources.dense
    if "items" not in codes and dense is not None:
        return dense.columns - (dense.padding is not None) - _count_seen(sides)
    side = next((side for side in ("items", "known", "train") if side in codes), None)
    return None if side is None else len(distinct(codes[side].whole)) - _count_seen(sides)


def count_choices(sides: Aligned) -> Integers | None:
    """Count, for each list, the items of the catalogue, or else the columns of a matrix. Returns
    None if there is neither."""
    codes, width = sides.items.codes.get("items"), sides.sources.width
    size = width if codes is None else len(distinct(codes.whole))
    return None if size is None else np.full(len(sides.keys), size)


def _count_seen(sides: Aligned) -> Integers:
    """Count, for each list, the distinct items that the user has seen."""
    seen, table = sides.sources.seen_cells, sides.sources.seen_table
    counts = np.zeros(len(sides.keys), np.int64)
    if seen is not None:
        has_row = sides.lists.length > 0
        counts[has_row] = seen.lengths[sides.lists.rows(sides.lists.start[has_row])]
    if seen is not None or table is None:
        return counts
    owner = locate(*codes_of(Column(sides.users, "lists"), table, "list"))
    item = number_ids({"seen": Column.of(table, "item")}, "item").numbers["seen"]
    width = int(item.max(initial=0)) + 1
    pairs = distinct((owner * width + item)[owner >= 0])
    return np.bincount(pairs // width, minlength=len(sides.users))[sides.owners]


def merge_items(
    left: pl.Series | None, right: pl.Series | None
) -> tuple[pl.Series | None, tuple[Integers, Integers] | None]:
    """Return the items of two batches, sorted, and the index of each batch's items among them.

    Items are None if they are identified by their numbers; indexes are None if both batches have
    the same items.
    """
    if left is None or right is None or left.equals(right):
        return left, None
    both = number_ids({"left": Column(left, "a batch"), "right": Column(right, "another")}, "item")
    return both.ids, (both.numbers["left"], both.numbers["right"])


_PAIRS = 1 << 13
"""the number of pairs that are sorted at a time; they fit into the processor's cache"""


def without_repeats(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """Return the distinct pairs by owner, with the items of an owner in any order.

    That is enough for counting pairs, and can save sorting them.
    """
    if not (should_compile(len(item)) and np.all(owner[1:] >= owner[:-1])):
        return different_pairs(owner, item, items)
    new, pairs = np.ones(len(item), bool), (freeze(owner), freeze(item))

    def work(first: int, last: int) -> None:
        kernel(repeat_kernel)(*pairs, first, last, new, np.full(items, -1))

    in_blocks(work, len(item))
    return (owner, item) if new.all() else (owner[new], item[new])


def repeat_kernel(
    owner: Integers, item: Integers, first: int, last: int, new: Flags, mark: Integers
) -> None:
    """Flag pairs that occur for the first time; to be compiled.

    Every item is marked with its last owner. If the rows of an owner span several blocks, the first
    of these blocks handles all of them.
    """
    while 0 < first < len(owner) and owner[first] == owner[first - 1]:
        first += 1
    while last < len(owner) and owner[last] == owner[last - 1]:
        last += 1
    for row in range(first, last):
        new[row] = mark[item[row]] != owner[row]
        mark[item[row]] = owner[row]


def different_pairs(owner: Integers, item: Integers, items: int) -> tuple[Integers, Integers]:
    """Return the distinct pairs, sorted by owner and item.

    If the owners ascend already, a few pairs are sorted at a time.
    """
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
            keys.sort(kind="stable")  # fast if the owners ascend already
            ordered[begin:end] = keys & ((1 << bits) - 1)
            new[begin + 1 : end] = keys[1:] != keys[:-1]

    in_blocks(work, len(cuts) - 1, 16)
    return (owner, ordered) if new.all() else (owner[new], ordered[new])
