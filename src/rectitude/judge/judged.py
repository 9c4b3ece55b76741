"""`Judged`: where the judged items of each list stand. All that accuracy metrics see.

What other metrics need beyond ranks stands in `Extras`, and is an attribute of `Judged` all the
same: `lists.stock` is the stock, or an error that says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Generic, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import Flags, Floats, Integers, Ragged, run_starts, running, totals
from rectitude.errors import MissingNeed
from rectitude.judge.items import People, Stock
from rectitude.judge.places import Places, lengths, up_to
from rectitude.parallel import Once
from rectitude.rowkernels.standings import Chances

Kept = TypeVar("Kept")
Part = TypeVar("Part")
Some = Integers | slice

_BY_LIST, _BY_ROW, _BY_TRUTH, _PART, _ANEW = (
    {"entries": what} for what in ("lists", "rows", "truth", "of a part", "made anew")
)
"""What a field has entries for; one without such a mark belongs to all lists alike."""


def is_relevant(grades: Floats, relevant_from: float | None) -> Flags:
    """Which grades are relevant: those from the threshold on, or all above 0."""
    return grades > 0 if relevant_from is None else grades >= relevant_from


@dataclass(frozen=True, slots=True)
class Shown:
    """The items in the first places of lists."""

    items: Integers = field(metadata=_BY_LIST)
    """(lists, K) the number of the item in each place, -1 where there is none"""
    scores: Floats | None = field(default=None, metadata=_BY_LIST)
    """(lists, K) the score in each place, NaN where there is none, minus infinity for an item that
    is masked; None unless a metric needs it"""
    upto: Places | None = field(default=None, metadata=_ANEW)
    """the same items, where places up to other cutoffs are looked at, too"""

    def first(self, end: int, others: Sequence[int], kept: Once) -> Shown:
        """So many places only; others look at other cutoffs."""
        scores = None if self.scores is None else self.scores[:, :end]
        return Shown(self.items[:, :end], scores, up_to(self.items, end, others, kept))


@dataclass(frozen=True, slots=True)
class Single:
    """Lists seen as a classification: one target each, among numbered classes."""

    target: Integers = field(metadata=_BY_LIST)
    """(lists,) the class of the target; `classes` for a target outside the classes"""
    top: Integers = field(metadata=_BY_LIST)
    """(lists,) the class put first, `classes` for none; the target's own where its rank is 1"""
    classes: int
    loss: Floats | None = field(default=None, metadata=_BY_LIST)
    """(lists,) -ln of the target's probability, infinite outside the classes; None if not asked"""
    chances: Chances | None = field(default=None, metadata=_BY_LIST)
    """(lists,) how probable target and first class are; None if not asked"""


@dataclass(frozen=True, slots=True)
class Extras:
    """What is known of judged lists beyond ranks. All of it is None unless a metric needs it, but
    for candidates and single targets, which cost nothing."""

    candidates: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) items the ranker chose among; None where only given lists are known"""
    single: Single | None = field(default=None, metadata=_PART)
    """the classes, where every list has one target; None otherwise"""
    score: Floats | None = field(default=None, metadata=_BY_ROW)
    """(found,) the score that was predicted for the item"""
    shown: Shown | None = field(default=None, metadata=_PART)
    """the items in the first places"""
    stock: Stock | None = None
    """the items behind the numbers in `shown`"""
    wanted: Integers | None = field(default=None, metadata=_BY_TRUTH)
    """(rows of the truth, as `truth.values`) the number of the item in `stock`"""
    met: Integers | None = field(default=None, metadata=_BY_ROW)
    """(found,) how often training holds the item"""
    unseen: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) items of the catalogue that the user had not in training; None also where nobody
    says what the catalogue is"""
    people: People | None = None
    """the users"""
    owner: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of the user in `people`"""


class Need(Generic[Part]):
    """Something that a metric may need of judged lists beyond ranks: an attribute of them that is
    an error where it is not there."""

    def __init__(self, what: str, advice: str, find: Callable[[Extras], Part | None]) -> None:
        self.what, self.advice, self.find = what, advice, find

    @overload
    def __get__(self, lists: None, owner: type) -> Self: ...
    @overload
    def __get__(self, lists: Judged, owner: type) -> Part: ...
    def __get__(self, lists: Judged | None, owner: type) -> Self | Part:
        if lists is None:
            return self
        found = self.find(lists.extras)
        if found is None:
            raise self.missing("this metric")
        return found

    def missing(self, who: str) -> MissingNeed:
        """The error that says what somebody needs, and how to hand it over."""
        found = f"{who} needs {self.what}, and there is nothing of the kind."
        return MissingNeed(found, advice=self.advice)


_ITEMS = "evaluate lists, rt.Scores(scores) or rt.Embeddings."
_SCORES = "evaluate lists with a score column, rt.Scores(scores) or rt.Embeddings."
_LOGITS = "evaluate rt.Logits(logits) with targets."


@dataclass(frozen=True)
class Judged:
    """One row per judged item that was ranked, by list and rank; one entry per list.

    Ids are gone: lists are numbers, items are rows of the truth. `relevant_from` is the threshold
    under which these lists are looked at; `at_threshold` looks at the same ranks under another one.
    """

    list: Integers = field(metadata=_BY_ROW)
    """(found,) which list"""
    rank: Integers = field(metadata=_BY_ROW)
    """(found,) from 1"""
    grade: Floats = field(metadata=_BY_ROW)
    """(found,) what the truth says of the item"""
    place: Integers = field(metadata=_BY_ROW)
    """(found,) its position in the truth's own order, from 0"""
    returned: Integers = field(metadata=_BY_LIST)
    """(lists,) ranks that hold an item"""
    truth: Ragged = field(metadata=_ANEW)
    """(lists,) the grades of all judged items, in the truth's own order"""
    handed: Flags = field(metadata=_BY_LIST)
    """(lists,) whether a list was handed over, even an empty one"""
    in_truth: Flags = field(metadata=_BY_LIST)
    """(lists,) whether the truth says anything of the list, if only that an item was not judged"""
    relevant_from: float | None = None
    last: Integers | None = field(default=None, metadata=_BY_ROW)
    """(found,) the last rank that a tied item may take (its first is `rank`); None unless ties are
    averaged"""
    taken: Integers | None = field(default=None, metadata=_BY_ROW)
    """(found,) the rank by which a list that is ended holds the item; None unless ties are
    averaged"""
    extras: Extras = field(default=Extras(), metadata=_PART)
    """what is known beyond ranks; metrics read it by the names below"""
    kept: Once = field(init=False, repr=False, default_factory=Once)
    """what metrics share, see `once`"""

    candidates = Need(
        "the rank of every relevant item among all candidates",
        "evaluate rt.Scores, rt.Embeddings, rt.Logits(logits), or lists of all candidates=.",
        lambda extras: extras.candidates,
    )
    single = Need("one target per list", _LOGITS, lambda extras: extras.single)
    loss = Need(
        "logits", _LOGITS, lambda extras: None if extras.single is None else extras.single.loss
    )
    chances = Need(
        "logits", _LOGITS, lambda extras: None if extras.single is None else extras.single.chances
    )
    score = Need("the predicted score of every judged item", _SCORES, lambda extras: extras.score)
    shown = Need(
        "the items in every place",
        _ITEMS,
        lambda extras: None if extras.shown is None else extras.shown.items,
    )
    scored = Need(
        "the score in every place",
        _SCORES,
        lambda extras: None if extras.shown is None else extras.shown.scores,
    )
    stock = Need("the items in every place", _ITEMS, lambda extras: extras.stock)
    catalogue = Need(
        "all items that could be shown",
        "pass items=, or evaluate rt.Scores(scores).",
        lambda extras: None if extras.stock is None else extras.stock.catalogue,
    )
    wanted = Need("the items of the truth", _ITEMS, lambda extras: extras.wanted)
    met = Need(
        "how often training held each item", "pass train= as a table.", lambda extras: extras.met
    )
    unseen = Need(
        "the number of items that each user had not in training",
        "pass train= or items=, or evaluate rt.Scores(scores).",
        lambda extras: extras.unseen,
    )
    people = Need("the users of the lists", _ITEMS, lambda extras: extras.people)
    owner = Need("the users of the lists", _ITEMS, lambda extras: extras.owner)

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
        truth = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
        return self._some(_Chosen(lists, rows, truth), number[self.list[rows]], np.append(0, ends))

    def block(self, first: int, last: int) -> Judged:
        """Lists that follow one another, numbered anew; nothing is copied that is large."""
        rows = slice(*np.searchsorted(self.list, (first, last)))
        offsets = self.truth.offsets[first : last + 1]
        chosen = _Chosen(slice(first, last), rows, slice(offsets[0], offsets[-1]))
        return self._some(chosen, self.list[rows] - first, offsets - offsets[0])

    def _some(self, chosen: _Chosen, number: Integers, ends: Integers) -> Judged:
        truth = Ragged(ends, self.truth.values[chosen.truth])
        return replace(self, **{**_entries(self, chosen), "list": number, "truth": truth})

    def of_rows(self, rows: Integers) -> Judged:
        """The same lists with some of the found items only."""
        every = slice(None)
        return replace(self, **{**_entries(self, _Chosen(every, rows, every)), "truth": self.truth})

    def ended(self, end: int) -> Judged:
        """The same lists, ended at a rank."""
        inside = np.flatnonzero((self.rank if self.taken is None else self.taken) <= end)
        found = self.of_rows(inside)
        last = None if found.last is None else np.minimum(found.last, end)
        return replace(found, returned=np.minimum(self.returned, end), last=last)

    def showing(self, end: int, others: Sequence[int] = ()) -> Judged:
        """The same lists, with the items of so many places only; others look at other cutoffs."""
        if self.extras.shown is None:
            return self
        shown = self.extras.shown.first(end, others, self.kept)
        return replace(self, extras=replace(self.extras, shown=shown))

    @property
    def size(self) -> int:
        """How many lists there are."""
        return len(self.returned)

    @property
    def bytes(self) -> int:
        """How much memory the arrays take."""
        return sum(array.nbytes for array in _arrays(self))

    @property
    def kind(self) -> tuple[object, ...]:
        """What must be alike for lists to be joined: which parts there are, and of what."""
        known, single = self.extras, self.extras.single
        parts = (known.candidates, known.score, known.shown, known.wanted, known.met, known.unseen)
        return (
            self.relevant_from,
            self.last is None,
            *(part is None for part in parts),
            single and (single.classes, single.loss is None, single.chances is None),
            id(known.stock),
            id(known.people),
        )

    def is_relevant(self, grades: Floats) -> Flags:
        """Which grades are relevant."""
        return is_relevant(grades, self.relevant_from)

    @cached_property
    def where(self) -> Integers:
        """(found,) the row of the truth that was found."""
        return self.truth.offsets[self.list] + self.place

    @cached_property
    def item(self) -> Integers:
        """(found,) the number of the item in `stock`."""
        return self.wanted[self.where]

    @property
    def places(self) -> Places:
        """The items in the first places, for what is found for all cutoffs at once."""
        shown = self.extras.shown or Shown(np.zeros((self.size, 0), np.int64))
        return shown.upto or up_to(shown.items, shown.items.shape[1], (), self.kept)

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


NEEDS_OF_LISTS: dict[str, Need[Any]] = {
    "scores": Judged.candidates, "unseen": Judged.unseen, "met": Judged.met,
    "classes": Judged.single, "predicted": Judged.score, "scored": Judged.scored,
    "chances": Judged.chances, "logits": Judged.loss, "shown": Judged.shown,
    "catalogue": Judged.catalogue, "wanted": Judged.wanted, "people": Judged.people,
}  # fmt: skip
"""What metrics may need beyond ranks, by the names in which they say so."""


class _Chosen(NamedTuple):
    """Which lists are chosen, which rows are theirs, and which rows of the truth."""

    lists: Some
    rows: Some
    truth: Some


def _entries(value: Any, chosen: _Chosen) -> dict[str, Any]:
    """The fields of a value that change where some lists are chosen."""

    def some(column: Any, entries: str) -> Any:
        if column is None or entries == "made anew":
            return None
        if entries == "of a part":
            return replace(column, **_entries(column, chosen))
        which = getattr(chosen, entries)
        return column.of(which) if isinstance(column, Chances) else column[which]

    marked = {one.name: one.metadata["entries"] for one in fields(value) if one.metadata}
    return {name: some(getattr(value, name), entries) for name, entries in marked.items()}


def _arrays(value: object) -> Iterator[NDArray[Any]]:
    """The arrays of a value and of its parts; items and users belong to others, too."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (Judged, Extras, Single, Shown, Ragged, Chances)):
        names = value._fields if isinstance(value, tuple) else [one.name for one in fields(value)]
        for name in names:
            yield from _arrays(getattr(value, name))


def join(parts: Sequence[Judged]) -> Judged:
    """The lists of several judged values, one behind the other.

    They must have been judged alike: the numbers of items and users mean the same only where these
    are the same objects.
    """
    if not parts:
        raise ValueError("there are no lists to be joined")
    before = accumulate((part.size for part in parts), initial=0)
    number = [part.list + first for part, first in zip(parts, before, strict=False)]
    lengths = np.concatenate([part.truth.lengths for part in parts])
    values = np.concatenate([part.truth.values for part in parts])
    truth = Ragged(np.append(0, np.cumsum(lengths)), values)
    own = {"list": np.concatenate(number), "truth": truth}
    return replace(parts[0], **{**_joined(parts), **own})


def _joined(values: Sequence[Any]) -> dict[str, Any]:
    """The fields of a value that is made of several: entries stand one behind the other."""

    def all_of(name: str, entries: str | None) -> Any:
        columns = [getattr(value, name) for value in values]
        first = columns[0]
        if entries == "made anew" or all(column is None for column in columns):
            return None
        if any(column is None for column in columns) or not (entries or _same(columns)):
            raise ValueError(f"lists cannot be joined: they differ in {name}")
        if entries is None:
            return first
        if entries == "of a part":
            return replace(first, **_joined(columns))
        if isinstance(first, Chances):
            return Chances(*map(np.concatenate, zip(*columns, strict=True)))
        return np.concatenate(columns)

    known = {one.name: one.metadata.get("entries") for one in fields(values[0]) if one.init}
    return {name: all_of(name, entries) for name, entries in known.items()}


def _same(values: Sequence[Any]) -> bool:
    """Whether all are one object, or equal numbers."""
    first = values[0]
    plain = isinstance(first, int | float)
    return all(value is first or (plain and value == first) for value in values)
