"""What groups a list shows, beside those of its user's training: for some lists at a time.

The lists of a block are few enough that the processor holds what is computed of them, so that
nothing as large as all lists and groups is ever there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, offsets_of, totals
from rectitude.compiled import frozen, kernel, repay
from rectitude.data.attributes import Memberships
from rectitude.data.cutoffs import Ends
from rectitude.data.history import expanded
from rectitude.data.proportions import FEW, Few, Rows, Terms, add_from, few, few_kernel, table
from rectitude.data.shares import Pair, paired, shares
from rectitude.data.stock import Stock
from rectitude.threads import in_blocks

_LISTS = 1 << 11
_LISTS_OF_NUMPY = 1 << 14
_CELLS = 1 << 20
"""counts of groups, by how many groups their items have, that a kernel may hold"""


Sums = list[tuple[Floats, Flags]]
"""for each cutoff, (terms, lists) what groups add up to, and (lists,) whether training and list
have any"""


def summed(
    stock: Stock, owner: Integers, by: str, terms: Sequence[Terms], shown: Integers, ends: Ends
) -> Sums:
    """The sums over groups of functions of their shares in the training of the list's user and in
    the list. `stock.user` and `owner` must number users alike."""
    return _over(stock, owner, _trained(stock), by, terms, shown, ends)


def groups_shown(stock: Stock, by: str, shown: Integers, ends: Ends) -> list[Floats]:
    """For each cutoff, (lists,) how many different groups the items of each list have."""
    nobody = np.zeros(len(shown), np.int64)
    nothing = Rows(np.zeros(2, np.int64), nobody[:0])
    found = _over(stock, nobody, nothing, by, [lambda _, listed: np.sign(listed)], shown, ends)
    return [sums[0] for sums, _ in found]


def _trained(stock: Stock) -> Rows:
    """The rows of train by user, found once for all metrics."""
    if stock.pairs[1] is stock.item:  # no row repeats another
        return Rows(stock.offsets, stock.item)

    def found() -> Rows:
        ascending = bool(np.all(stock.user[1:] >= stock.user[:-1]))
        item = stock.item if ascending else stock.item[np.argsort(stock.user, kind="stable")]
        return Rows(offsets_of(stock.user, stock.people), item)

    return stock.kept("by user", found)


def _over(
    stock: Stock, owner: Integers, rows: Rows, by: str, terms: Sequence[Terms], shown: Integers,
    ends: Ends,
) -> Sums:  # fmt: skip
    """What groups add up to in each list, and whether rows and list have anything."""
    members = stock.memberships(by)
    start = offsets_of(members.entry, len(stock.ids))
    most = int(np.diff(start).max(initial=1))
    compiled = repay(shown.size) and len(members.names) * most <= _CELLS
    few_of_one = compiled and most == 1 and len(members.names) <= FEW
    groups = _few(stock, rows, by) if few_of_one else None
    known = groups or tuple(map(frozen, (*rows, start, members.number, stock.listed)))
    can = table(groups, shown, terms) if groups else None
    sums = np.zeros((len(ends), len(terms), len(owner)))
    both = np.zeros((len(ends), len(owner)), bool)

    def add(here: slice | Integers, room: Integers) -> None:
        for cutoff, end in enumerate(ends):
            lists = (owner[here], shown[here, :end])
            pair, both[cutoff, here] = (
                _compiled(known, room, *lists)
                if compiled
                else _pair(rows, members, stock.listed, *lists)
            )
            for nth, term in enumerate(terms):
                added = totals(pair.owner, len(lists[0]), term(pair.one, pair.other))
                sums[cutoff, nth, here] = added

    def work(first: int, last: int) -> None:
        step = _LISTS if compiled else _LISTS_OF_NUMPY
        room = np.zeros((2, len(members.names), most), np.int64)  # counts: 0 between lists
        for begin in range(first, last, step):
            here: slice | Integers = slice(begin, min(begin + step, last))
            if groups and can:
                lists = (frozen(owner[here]), shown[here], np.array(ends))
                into = (both[:, here], sums[:, :, here])
                here = begin + add_from(can, groups, len(members.names), lists, into)
            if isinstance(here, slice) or len(here):
                add(here, room)

    in_blocks(work, len(owner))
    return list(zip(sums, both, strict=True))


def _few(stock: Stock, rows: Rows, by: str) -> Few:
    """The group of each row and item, found once for all metrics."""

    def found() -> Few:
        return few(rows, stock.memberships(by), stock.listed, len(stock.ids))

    # without rows there is no telling whose they would be, and little to be found
    return stock.kept(("few", by), found) if len(rows.item) else found()


def _pair(
    rows: Rows, members: Memberships, listed: Integers, owner: Integers, shown: Integers
) -> tuple[Pair, Flags]:
    """The shares of groups in training and list, and who has both; the twin of `pair_kernel`."""
    whose, where = expanded(rows.offsets, owner)
    place = np.repeat(np.arange(len(shown)), shown.shape[1])
    trained = shares(whose, rows.item[where], members, len(owner))
    in_list = shares(place, listed[shown].reshape(-1), members, len(owner))
    has = (np.bincount(side.owner, minlength=len(owner)) > 0 for side in (trained, in_list))
    return paired(trained, in_list), np.logical_and(*has)


def _compiled(
    known: tuple[NDArray[Any], ...], room: Integers, owner: Integers, shown: Integers
) -> tuple[Pair, Flags]:
    """The shares of groups in training and list, and who has both, by a kernel."""
    pair = kernel(few_kernel if isinstance(known, Few) else pair_kernel)
    offsets, (_, groups, most) = known[0], room.shape
    entries = int((offsets[owner + 1] - offsets[owner]).sum()) + shown.size
    cells = min(entries * most, len(owner) * groups) + 1
    whose, one, other = np.empty(cells, np.int64), np.empty(cells), np.empty(cells)
    both = np.empty(len(owner), bool)
    end = pair(*known, frozen(owner), shown, both, room, whose, one, other)
    return Pair(whose[:end], one[:end], other[:end]), both


def pair_kernel(
    offsets: Integers, item: Integers, start: Integers, number: Integers, listed: Integers,
    owner: Integers, shown: Integers, both: Flags, counts: Integers,
    whose: Integers, one: Floats, other: Floats,
) -> int:  # fmt: skip
    """The shares of groups in training and list, compiled. Parts of items that have several groups
    are added from the fewest parts on, and groups in ascending order."""
    at, (_, groups, most) = 0, counts.shape
    there, touched = np.zeros(groups, np.bool_), np.empty(groups, np.int64)
    for u in range(len(owner)):
        many, begin, trained = 0, at, offsets[owner[u] + 1] - offsets[owner[u]]
        for n in range(trained + shown.shape[1]):
            side = 0 if n < trained else 1
            entry = listed[shown[u, n - trained]] if side else item[offsets[owner[u]] + n]
            for m in range(start[entry], start[entry + 1] if entry >= 0 else 0):
                group = number[m]
                counts[side, group, start[entry + 1] - start[entry] - 1] += 1
                if not there[group]:
                    there[group] = True
                    touched[many] = group
                    many += 1
        total, whole = 0.0, 0.0
        for group in np.sort(touched[:many]):
            mine, its = 0.0, 0.0
            for part in range(most):
                mine += counts[0, group, part] / (part + 1)
                its += counts[1, group, part] / (part + 1)
                counts[0, group, part] = counts[1, group, part] = 0
            whose[at], one[at], other[at] = u, mine, its
            total, whole, at, there[group] = total + mine, whole + its, at + 1, False
        both[u] = total > 0 and whole > 0
        for cell in range(begin, at):
            one[cell] /= total if total > 0 else 1.0
            other[cell] /= whole if whole > 0 else 1.0
    return at
