"""`Judged`: where the judged items of each list stand. All that accuracy metrics see."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, Ragged, run_starts, running, totals
from rectitude.judge.attributes import People
from rectitude.judge.items import Stock
from rectitude.judge.layout import Places, lengths, up_to
from rectitude.parallel import Once
from rectitude.rowkernels.standings import Chances

Kept = TypeVar("Kept")
Some = Integers | slice
_BY_ROW = ("rank", "grade", "place", "last", "taken", "met", "score")
_BY_LIST = ("returned", "handed", "in_truth", "candidates", "unseen", "shown", "scored", "owner")
_OF_SINGLE = ("target", "top", "loss")


def is_relevant(grades: Floats, relevant_from: float | None) -> Flags:
    """Which grades are relevant: those from the threshold on, or all above 0."""
    return grades > 0 if relevant_from is None else grades >= relevant_from


def _taken(of: object, names: Sequence[str], which: Some) -> dict[str, Any]:
    """Some entries of some columns; None for a column that is not there."""
    columns = {name: getattr(of, name) for name in names}
    return {name: None if c is None else c[which] for name, c in columns.items()}


@dataclass(frozen=True, slots=True)
class Single:
    """Lists seen as a classification: one target each, among numbered classes."""

    target: Integers
    """(lists,) the class of the target; `classes` for a target outside the classes"""
    top: Integers
    """(lists,) the class put first, `classes` for none; the target's own where its rank is 1"""
    classes: int
    loss: Floats | None = None
    """(lists,) -ln of the target's probability, infinite outside the classes; None if not asked"""
    chances: Chances | None = None
    """(lists,) how probable target and first class are; None if not asked"""

    def only(self, lists: Some) -> Single:
        """Some of the lists."""
        sure = None if self.chances is None else self.chances.of(lists)
        return replace(self, **_taken(self, _OF_SINGLE, lists), chances=sure)


@dataclass(frozen=True)
class Judged:
    """One row per judged item that was ranked, by list and rank; one entry per list.

    Ids are gone: lists are numbers, items are rows of the truth. `relevant_from` is the threshold
    under which these lists are looked at; `at_threshold` looks at the same ranks under another one.
    """

    list: Integers
    """(found,) which list"""
    rank: Integers
    """(found,) from 1"""
    grade: Floats
    """(found,) what the truth says of the item"""
    place: Integers
    """(found,) its position in the truth's own order, from 0"""
    returned: Integers
    """(lists,) ranks that hold an item"""
    truth: Ragged
    """(lists,) the grades of all judged items, in the truth's own order"""
    handed: Flags
    """(lists,) whether a list was handed over, even an empty one"""
    in_truth: Flags
    """(lists,) whether the truth says anything of the list, if only that an item was not judged"""
    relevant_from: float | None = None
    candidates: Integers | None = None
    """(lists,) items the ranker chose among; None where only given lists are known"""
    unseen: Integers | None = None
    """(lists,) items of the catalogue that the user had not in training; None unless a metric needs
    their number, or where nobody says what the catalogue is"""
    last: Integers | None = None
    """(found,) the last rank that a tied item may take (its first is `rank`); None unless ties are
    averaged"""
    taken: Integers | None = None
    """(found,) the rank by which a list that is ended holds the item; None unless ties are
    averaged"""
    met: Integers | None = None
    """(found,) how often training holds the item; None unless a metric needs it"""
    score: Floats | None = None
    """(found,) the score that was predicted for the item; None unless a metric needs it"""
    single: Single | None = None
    """what is known beyond ranks where every list has one target; None otherwise"""
    shown: Integers | None = None
    """(lists, K) the number of the item in each place, -1 where there is none; None unless a metric
    needs the items"""
    upto: Places | None = None
    """the same, where places up to other cutoffs are looked at, too"""
    scored: Floats | None = None
    """(lists, K) the score in each place, NaN where there is none, minus infinity for an item that
    is masked; None unless a metric needs it"""
    stock: Stock | None = None
    """the items behind the numbers in `shown`; None unless a metric needs them"""
    wanted: Integers | None = None
    """(rows of the truth, as `truth.values`) the number of the item in `stock`; None unless a
    metric needs it"""
    people: People | None = None
    """the users; None unless a metric needs them"""
    owner: Integers | None = None
    """(lists,) the number of the user in `people`"""
    kept: Once = field(init=False, repr=False, default_factory=Once)
    """what metrics share, see `once`"""

    def at_threshold(self, relevant_from: float | None) -> Judged:
        """The same ranks, with other grades counting as relevant."""
        same = relevant_from == self.relevant_from
        return self if same else replace(self, relevant_from=relevant_from)

    def only(self, lists: Integers) -> Judged:
        """Some of the lists, numbered anew; they must ascend."""
        number = np.full(self.size, -1)
        number[lists] = np.arange(len(lists))
        rows = np.flatnonzero(number[self.list] >= 0)
        lengths = self.truth.lengths[lists]
        ends = np.cumsum(lengths)
        shift = self.truth.offsets[lists] - (ends - lengths)
        told = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
        return self._some(lists, rows, told, number[self.list[rows]], np.append(0, ends))

    def block(self, first: int, last: int) -> Judged:
        """Lists that follow one another, numbered anew; nothing is copied that is large."""
        rows = slice(*np.searchsorted(self.list, (first, last)))
        offsets = self.truth.offsets[first : last + 1]
        told = slice(offsets[0], offsets[-1])
        number = self.list[rows] - first
        return self._some(slice(first, last), rows, told, number, offsets - offsets[0])

    def _some(
        self, lists: Some, rows: Some, told: Some, number: Integers, ends: Integers
    ) -> Judged:
        return replace(
            self,
            list=number,
            truth=Ragged(ends, self.truth.values[told]),
            single=self.single and self.single.only(lists),
            upto=None,
            **_taken(self, _BY_ROW, rows),
            **_taken(self, _BY_LIST, lists),
            **_taken(self, ("wanted",), told),
        )

    def ended(self, end: int) -> Judged:
        """The same lists, ended at a rank."""
        inside = np.flatnonzero((self.rank if self.taken is None else self.taken) <= end)
        kept = _taken(self, ("list", *_BY_ROW), inside)
        if self.last is not None:
            kept["last"] = np.minimum(kept["last"], end)
        return replace(self, returned=np.minimum(self.returned, end), **kept)

    def showing(self, end: int, others: Sequence[int] = ()) -> Judged:
        """The same lists, with the items of so many places only; others look at other cutoffs."""
        if self.shown is None:
            return self
        scored = None if self.scored is None else self.scored[:, :end]
        upto = up_to(self.shown, end, others, self.kept)
        return replace(self, shown=self.shown[:, :end], scored=scored, upto=upto)

    @property
    def size(self) -> int:
        """How many lists there are."""
        return len(self.returned)

    def is_relevant(self, grades: Floats) -> Flags:
        """Which grades are relevant."""
        return is_relevant(grades, self.relevant_from)

    @cached_property
    def where(self) -> Integers:
        """(found,) the row of the truth that was found."""
        return self.truth.offsets[self.list] + self.place

    @property
    def places(self) -> Places:
        """The items in the first places, for what is found for all cutoffs at once."""
        shown = np.zeros((self.size, 0), np.int64) if self.shown is None else self.shown
        return self.upto or up_to(shown, shown.shape[1], (), self.kept)

    @cached_property
    def length(self) -> Floats:
        """(lists,) places that show an item."""
        return self.places.each("lengths", lengths)

    @cached_property
    def hit(self) -> Flags:
        """(found,) whether the item is relevant."""
        return self.is_relevant(self.grade)

    @cached_property
    def relevant(self) -> Floats:
        """(lists,) relevant items in the truth."""
        if self.always_relevant:
            return self.truth.lengths.astype(np.float64)
        return totals(
            self.truth.rows(), self.size, self.is_relevant(self.truth.values).astype(float)
        )

    @cached_property
    def always_relevant(self) -> bool:
        """Whether every row of the truth is relevant, as in most recommender data."""
        return bool(self.is_relevant(self.truth.values).all())

    @cached_property
    def judged(self) -> Floats:
        """(lists,) rows in the truth, relevant or not."""
        return self.truth.lengths.astype(np.float64)

    @cached_property
    def nth(self) -> Integers:
        """(found,) how many hits the list has up to this rank."""
        return running(self.hit, self.list)

    @cached_property
    def first(self) -> Floats:
        """(lists,) the rank of the first hit; infinite if there is none."""
        best = np.full(self.size, np.inf)
        rows = slice(None) if self.always_relevant else np.flatnonzero(self.hit)
        lists, ranks = self.list[rows], self.rank[rows]
        starts = run_starts(lists)
        best[lists[starts]] = ranks[starts]
        return best

    def once(self, name: Hashable, compute: Callable[[], Kept]) -> Kept:
        """Something that several metrics or cutoffs share, computed once."""
        return self.kept(name, compute)

    def within(self, k: int | None) -> tuple[Integers | slice, Integers]:
        """The rows with a rank up to the cutoff, and their lists."""
        if k is None:
            return slice(None), self.list
        rows = self.once(("rows", k), lambda: np.flatnonzero(self.rank <= k))
        return rows, self.once(("lists", k), lambda: self.list[rows])

    def total(self, values: Floats, upto: int | None = None) -> Floats:
        """(lists,) the sum of a value per row, over the ranks up to the cutoff, best rank first."""
        rows, lists = self.within(upto)
        return totals(lists, self.size, values[rows])

    def hits(self, k: int | None) -> Floats:
        """(lists,) relevant items up to the cutoff; where ties are averaged, their mean number."""
        rows, lists = self.within(k)
        if self.last is not None:
            return self.once(("hits", k), lambda: self.total(self.hit * self.chance(k), upto=k))
        if self.always_relevant:
            return self.once(("hits", k), lambda: totals(lists, self.size))
        return self.once(("hits", k), lambda: totals(lists[self.hit[rows]], self.size))

    def chance(self, k: int | None) -> Floats:
        """(found,) how likely the item stands up to the cutoff, if every order of equals is as
        likely as any other."""
        if k is None:
            return np.ones(len(self.rank))
        if self.last is None:
            return (self.rank <= k).astype(np.float64)
        inside = np.clip(k - self.rank + 1, 0, self.last - self.rank + 1)
        return inside / (self.last - self.rank + 1)

    def returned_upto(self, k: int | None) -> Floats:
        """(lists,) ranks up to the cutoff that hold an item."""
        return (self.returned if k is None else np.minimum(self.returned, k)).astype(np.float64)

    def reachable(self, k: int | None) -> Floats:
        """(lists,) relevant items that fit the cutoff."""
        return self.relevant if k is None else np.minimum(self.relevant, k)

    def reachable_returned(self, k: int | None) -> Floats:
        """(lists,) relevant items that fit the cutoff and the list."""
        return np.minimum(self.relevant, self.returned_upto(k))

    @cached_property
    def best(self) -> Ragged:
        """(lists,) the truth's grades, highest first."""
        values = self.truth.values
        if len(values) and values.min() != values.max():
            order = np.lexsort((-values, self.truth.rows()))
            values = values[order]
        return Ragged(self.truth.offsets, values)
