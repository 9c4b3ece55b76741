"""`Judged`: the ranks of the judged items of each list. Accuracy metrics see nothing else.

What other metrics need besides ranks is stored in `Extras`, but is available as an attribute of
`Judged`, too: `lists.stock` returns the stock, or raises an error that says what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Generic, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rectitude.arrays import (
    Flags,
    Floats,
    Integers,
    Ragged,
    run_starts,
    running_count,
    sum_by_group,
)
from rectitude.convention import Threshold
from rectitude.errors import MissingNeed
from rectitude.judge.items import People, Stock
from rectitude.judge.places import Places, lengths, up_to
from rectitude.parallel import Once
from rectitude.rowkernels.standings import Chances

Value = TypeVar("Value")
Field = TypeVar("Field")
Choice = Integers | slice

_BY_LIST, _BY_ROW, _BY_TRUTH, _NESTED, _REBUILT = (
    {"entries": what} for what in ("lists", "rows", "truth", "nested", "rebuilt")
)
"""What a field has entries for; a field without such a mark applies to all lists."""


def is_relevant(grades: Floats, relevant_from: Threshold) -> Flags:
    """Flag the relevant grades: those at or above the threshold, all above 0, or any."""
    if relevant_from == "any":
        return np.ones(np.shape(grades), bool)
    return grades > 0 if relevant_from is None else grades >= relevant_from


WHOLE_LIST = 1 << 40
"""The number of ranks to show if there is no cutoff: more than any list has."""
TIED_BY_GRADE, TIED_BY_ID = 1, 2
"""What put an item above the next one of the same score: its grade, or only its id."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The items at the top ranks of lists."""

    items: Integers = field(metadata=_BY_LIST)
    """(lists, K) the number of the item at each rank, -1 if there is none"""
    scores: Floats | None = field(default=None, metadata=_BY_LIST)
    """(lists, K) the score at each rank, NaN if there is none, minus infinity for a masked item;
    None unless a metric needs it"""
    tied: NDArray[np.int8] | None = field(default=None, metadata=_BY_LIST)
    """(lists, K) what put the item above the next one if their scores are equal, 0 if they differ;
    None without ties, and if the tie rule orders all items"""
    ranks: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists, K) the rank of each item, which is not its column; None unless ranks are kept"""
    upto: Places | None = field(default=None, metadata=_REBUILT)
    """the same items, with the other cutoffs that metrics use"""

    def first(self, end: int, others: Sequence[int], kept: Once) -> Shown:
        """Cut the lists at `end` ranks; `others` are the other cutoffs that metrics use."""
        if self.ranks is not None:
            return self._within(self.ranks <= end)
        scores = None if self.scores is None else self.scores[:, :end]
        tied = None if self.tied is None else self.tied[:, :end]
        places = up_to(self.items, end, others, kept)
        return Shown(self.items[:, :end], scores, tied, upto=places)

    def _within(self, inside: Flags) -> Shown:
        """Return only some items of each list, its first, where ranks are kept."""
        items = np.where(inside, self.items, -1)
        scores = None if self.scores is None else np.where(inside, self.scores, np.nan)
        return Shown(items, scores, ranks=self.ranks, upto=up_to(items, items.shape[1], (), Once()))

    def tied_across(self, k: int, how: Sequence[int] = (TIED_BY_GRADE, TIED_BY_ID)) -> Flags:
        """Flag the lists in which items below the cutoff have the score of the last one above."""
        if self.tied is None or self.tied.shape[1] < k:
            return np.zeros(len(self.items), bool)
        return np.isin(self.tied[:, k - 1], how)

    def tied_within(self, k: int, how: Sequence[int] = (TIED_BY_GRADE, TIED_BY_ID)) -> Flags:
        """Flag the lists in which items above the cutoff have equal scores."""
        if self.tied is None:
            return np.zeros(len(self.items), bool)
        flags: Flags = np.logical_or.reduce(np.isin(self.tied[:, : k - 1], how), axis=1)
        return flags


@dataclass(frozen=True, slots=True, eq=False)
class Single:
    """Lists as a classification task: each has one target among numbered classes."""

    target: Integers = field(metadata=_BY_LIST)
    """(lists,) the class of the target; `classes` for a target outside the classes"""
    top: Integers = field(metadata=_BY_LIST)
    """(lists,) the predicted class, or `classes` if there is none; the target if its rank is 1"""
    classes: int
    loss: Floats | None = field(default=None, metadata=_BY_LIST)
    """(lists,) -ln of the target's probability, infinite outside the classes; None unless a metric
    needs it"""
    chances: Chances | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the probabilities of target and predicted class; None unless a metric needs them"""


@dataclass(frozen=True, slots=True, eq=False)
class Subtopics:
    """The judgements of the items of the truth for each subtopic of their list."""

    grades: Floats = field(metadata=_BY_TRUTH)
    """(truth rows, subtopics) the grades; minus infinity where there is no judgement. Subtopics are
    numbered within each list."""
    order: Integers = field(metadata=_BY_TRUTH)
    """(truth rows,) numbers that sort like the ids of the items"""


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What metrics may need besides ranks. All of it is None unless a metric needs it, except
    candidates and single targets, which cost nothing."""

    candidates: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of items the ranker chose from; None if only lists are known"""
    single: Single | None = field(default=None, metadata=_NESTED)
    """the targets, if every list has exactly one target; None otherwise"""
    score: Floats | None = field(default=None, metadata=_BY_ROW)
    """(matches,) the predicted score of the item"""
    shown: Shown | None = field(default=None, metadata=_NESTED)
    """the items at the top ranks"""
    stock: Stock | None = None
    """the items behind the numbers in `shown`"""
    wanted: Integers | None = field(default=None, metadata=_BY_TRUTH)
    """(truth rows, like `truth.values`) the number of the item in `stock`"""
    subtopics: Subtopics | None = field(default=None, metadata=_NESTED)
    """the judgements by subtopic; None also if the truth has no subtopics"""
    met: Integers | None = field(default=None, metadata=_BY_ROW)
    """(matches,) how often the item appears in the training data"""
    unseen: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of catalogue items that are not in the user's training data; None also if
    there is no catalogue"""
    choices: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of items in the catalogue of `items=`; None also if it is not given"""
    people: People | None = None
    """the users behind the numbers in `owner`"""
    owner: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of the user in `people`"""


class Need(Generic[Field]):
    """Something that a metric may need besides ranks: an attribute of judged lists that raises an
    error if it is missing."""

    def __init__(self, what: str, advice: str, find: Callable[[Extras], Field | None]) -> None:
        self.what, self.advice, self.find = what, advice, find

    @overload
    def __get__(self, lists: None, owner: type) -> Self: ...
    @overload
    def __get__(self, lists: Judged, owner: type) -> Field: ...
    def __get__(self, lists: Judged | None, owner: type) -> Self | Field:
        if lists is None:
            return self
        value = self.find(lists.extras)
        if value is None:
            raise self.missing("this metric")
        return value

    def missing(self, who: str) -> MissingNeed:
        """Return the error that says what `who` needs, and how to provide it."""
        found = f"{who} needs {self.what}, which the inputs do not provide."
        return MissingNeed(found, advice=self.advice)


_ITEMS = "evaluate lists, rt.Scores(scores) or rt.Embeddings."
_SCORES = "evaluate lists with a score column, rt.Scores(scores) or rt.Embeddings."
_LOGITS = "evaluate rt.Logits(logits) with targets."


@dataclass(frozen=True, eq=False)
class Judged:
    """The judged items found in the lists (matches), sorted by list and rank, and facts per list.

    There are no ids: lists are numbers, and items are rows of the truth. `relevant_from` is the
    relevance threshold; `at_threshold` returns the same ranks with another threshold.
    """

    list: Integers = field(metadata=_BY_ROW)
    """(matches,) the number of the list"""
    rank: Integers = field(metadata=_BY_ROW)
    """(matches,) the rank, from 1"""
    grade: Floats = field(metadata=_BY_ROW)
    """(matches,) the grade of the item in the truth"""
    place: Integers = field(metadata=_BY_ROW)
    """(matches,) the position of the item in the truth of its list, from 0"""
    returned: Integers = field(metadata=_BY_LIST)
    """(lists,) the number of ranks that have an item"""
    truth: Ragged = field(metadata=_REBUILT)
    """(lists,) the grades of all judged items, in the order of the truth"""
    handed: Flags = field(metadata=_BY_LIST)
    """(lists,) whether the predictions contain the list, even if it is empty"""
    in_truth: Flags = field(metadata=_BY_LIST)
    """(lists,) whether the truth has rows for the list, even if only of unjudged items"""
    relevant_from: Threshold = None
    slot: Integers | None = field(default=None, metadata=_BY_ROW)
    """(matches,) as `rank`, if items that share a rank are counted one by one; None unless ranks
    are kept"""
    listed: Ragged | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the ranks of all items, ascending; None unless ranks are kept"""
    slots: Integers | None = field(default=None, metadata=_BY_LIST)
    """(lists,) the number of items and of empty ranks above the last; None unless ranks are kept"""
    last: Integers | None = field(default=None, metadata=_BY_ROW)
    """(matches,) the last rank that a tied item can take, `rank` being the first; None unless ties
    are averaged"""
    taken: Integers | None = field(default=None, metadata=_BY_ROW)
    """(matches,) the rank that decides whether the item stays if the list is cut; None unless ties
    are averaged"""
    extras: Extras = field(default=Extras(), metadata=_NESTED)
    """what metrics may need besides ranks; they read it through the attributes below"""
    kept: Once = field(init=False, repr=False, default_factory=Once)
    """a cache that metrics share, see `once`"""

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
        "the items at every rank",
        _ITEMS,
        lambda extras: None if extras.shown is None else extras.shown.items,
    )
    scored = Need(
        "the score at every rank",
        _SCORES,
        lambda extras: None if extras.shown is None else extras.shown.scores,
    )
    stock = Need("the items at every rank", _ITEMS, lambda extras: extras.stock)
    catalogue = Need(
        "all items that could be recommended",
        "pass items=, or evaluate rt.Scores(scores).",
        lambda extras: None if extras.stock is None else extras.stock.catalogue,
    )
    wanted = Need("the items of the truth", _ITEMS, lambda extras: extras.wanted)
    subtopics = Need(
        "judgements by subtopic",
        "pass a truth with a column subtopic, or qrels with the subtopic in the second field.",
        lambda extras: extras.subtopics,
    )
    met = Need(
        "how often each item appears in the training data",
        "pass train= as a table.",
        lambda extras: extras.met,
    )
    unseen = Need(
        "the number of items that are not in each user's training data",
        "pass train= or items=, or evaluate rt.Scores(scores).",
        lambda extras: extras.unseen,
    )
    choices = Need(
        "the number of items that could be ranked",
        "pass items=, or evaluate rt.Scores(scores).",
        lambda extras: extras.choices if extras.candidates is None else extras.candidates,
    )
    people = Need("the users of the lists", _ITEMS, lambda extras: extras.people)
    owner = Need("the users of the lists", _ITEMS, lambda extras: extras.owner)

    def at_threshold(self, relevant_from: Threshold) -> Judged:
        """Return the same ranks under another relevance threshold."""
        same = relevant_from == self.relevant_from
        return self if same else replace(self, relevant_from=relevant_from)

    def only(self, lists: Integers) -> Judged:
        """Return some of the lists, renumbered; `lists` must ascend."""
        number = np.full(self.size, -1)
        number[lists] = np.arange(len(lists))
        rows = np.flatnonzero(number[self.list] >= 0)
        lengths = self.truth.lengths[lists]
        ends = np.cumsum(lengths)
        shift = self.truth.offsets[lists] - (ends - lengths)
        truth = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
        return self._choose(
            _Chosen(lists, rows, truth), number[self.list[rows]], np.append(0, ends)
        )

    def block(self, first: int, last: int) -> Judged:
        """Return a range of lists, renumbered, without copying large arrays."""
        rows = slice(*np.searchsorted(self.list, (first, last)))
        offsets = self.truth.offsets[first : last + 1]
        chosen = _Chosen(slice(first, last), rows, slice(offsets[0], offsets[-1]))
        return self._choose(chosen, self.list[rows] - first, offsets - offsets[0])

    def _choose(self, chosen: _Chosen, number: Integers, ends: Integers) -> Judged:
        truth = Ragged(ends, self.truth.values[chosen.truth])
        return replace(self, **{**_choose_entries(self, chosen), "list": number, "truth": truth})

    def of_rows(self, rows: Integers) -> Judged:
        """Return the same lists with some of the matches only."""
        everything = slice(None)
        return replace(
            self,
            **{**_choose_entries(self, _Chosen(everything, rows, everything)), "truth": self.truth},
        )

    def end_at(self, end: int) -> Judged:
        """Return the same lists, cut at a rank."""
        inside = np.flatnonzero((self.rank if self.taken is None else self.taken) <= end)
        matches = self.of_rows(inside)
        last = None if matches.last is None else np.minimum(matches.last, end)
        return replace(matches, returned=self.returned_upto(end).astype(np.int64), last=last)

    def showing(self, end: int, others: Sequence[int] = ()) -> Judged:
        """Return the same lists with shown items cut at `end` ranks; `others` are other cutoffs."""
        if self.extras.shown is None:
            return self
        shown = self.extras.shown.first(end, others, self.kept)
        return replace(self, extras=replace(self.extras, shown=shown))

    @property
    def size(self) -> int:
        """The number of lists."""
        return len(self.returned)

    @property
    def bytes(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in _arrays(self))

    @property
    def kind(self) -> tuple[object, ...]:
        """What must be equal for lists to be joined: which fields they have, and of which kind."""
        extras, single = self.extras, self.extras.single
        optional = (
            extras.candidates,
            extras.score,
            extras.shown,
            extras.wanted,
            extras.met,
            extras.unseen,
            extras.choices,
            extras.shown and extras.shown.tied,
        )
        return (
            self.relevant_from,
            self.last is None,
            self.listed is None,
            *(value is None for value in optional),
            single and (single.classes, single.loss is None, single.chances is None),
            extras.subtopics and extras.subtopics.grades.shape[1],
            id(extras.stock),
            id(extras.people),
        )

    def is_relevant(self, grades: Floats) -> Flags:
        """Flag the relevant grades."""
        return is_relevant(grades, self.relevant_from)

    @property
    def threshold(self) -> float:
        """The lowest relevant grade if it was set as a number, else 0."""
        return self.relevant_from if isinstance(self.relevant_from, float) else 0.0

    @cached_property
    def where(self) -> Integers:
        """(matches,) the row of the truth."""
        return self.truth.offsets[self.list] + self.place

    @cached_property
    def item(self) -> Integers:
        """(matches,) the number of the item in `stock`."""
        return self.wanted[self.where]

    @property
    def places(self) -> Places:
        """The items at the top ranks, for values that are computed for all cutoffs at once."""
        shown = self.extras.shown or Shown(np.zeros((self.size, 0), np.int64))
        return shown.upto or up_to(shown.items, shown.items.shape[1], (), self.kept)

    @cached_property
    def length(self) -> Floats:
        """(lists,) the number of ranks with a shown item."""
        return self.places.each("lengths", lengths)

    @cached_property
    def hit(self) -> Flags:
        """(matches,) whether the item is relevant."""
        return self.is_relevant(self.grade)

    @cached_property
    def relevant(self) -> Floats:
        """(lists,) the number of relevant items in the truth."""
        if self.always_relevant:
            return self.truth.lengths.astype(np.float64)
        return sum_by_group(
            self.truth.rows(), self.size, self.is_relevant(self.truth.values).astype(float)
        )

    @cached_property
    def always_relevant(self) -> bool:
        """Whether every row of the truth is relevant, as in most recommendation data."""
        return bool(self.is_relevant(self.truth.values).all())

    @cached_property
    def judged(self) -> Floats:
        """(lists,) the number of rows in the truth, relevant or not."""
        return self.truth.lengths.astype(np.float64)

    @cached_property
    def nth(self) -> Integers:
        """(matches,) the number of hits in the list up to this rank."""
        return running_count(self.hit, self.list)

    @cached_property
    def first(self) -> Floats:
        """(lists,) the rank of the first hit; infinite if there is none."""
        best = np.full(self.size, np.inf)
        rows = slice(None) if self.always_relevant else np.flatnonzero(self.hit)
        lists, ranks = self.list[rows], self.rank[rows]
        starts = run_starts(lists)
        best[lists[starts]] = ranks[starts]
        return best

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """Compute a value that several metrics or cutoffs share, once."""
        return self.kept(name, compute)

    def within(self, k: int | None) -> tuple[Integers | slice, Integers]:
        """Return the matches up to the cutoff, and their lists."""
        if k is None:
            return slice(None), self.list
        rows = self.once(("rows", k), lambda: np.flatnonzero(self.rank <= k))
        return rows, self.once(("lists", k), lambda: self.list[rows])

    def total(self, values: Floats, upto: int | None = None) -> Floats:
        """Sum a value over the matches of each list up to the cutoff, best rank first."""
        rows, lists = self.within(upto)
        return sum_by_group(lists, self.size, values[rows])

    def hits(self, k: int | None) -> Floats:
        """Count the hits of each list up to the cutoff; their mean number if ties are averaged."""
        rows, lists = self.within(k)
        if self.last is not None:
            return self.once(("hits", k), lambda: self.total(self.hit * self.chance(k), upto=k))
        if self.always_relevant:
            return self.once(("hits", k), lambda: sum_by_group(lists, self.size))
        return self.once(("hits", k), lambda: sum_by_group(lists[self.hit[rows]], self.size))

    def chance(self, k: int | None) -> Floats:
        """Return the probability that each match is within the cutoff, if all orders of tied items
        are equally likely."""
        if k is None:
            return np.ones(len(self.rank))
        if self.last is None:
            return (self.rank <= k).astype(np.float64)
        inside = np.clip(k - self.rank + 1, 0, self.last - self.rank + 1)
        return inside / (self.last - self.rank + 1)

    def returned_upto(self, k: int | None) -> Floats:
        """Count the ranks of each list up to the cutoff that have an item."""
        listed = self.listed
        if k is not None and listed is not None:
            counted = self.once(("listed", k), lambda: _count_upto(listed, k))
            return np.minimum(self.returned, counted).astype(np.float64)
        return (self.returned if k is None else np.minimum(self.returned, k)).astype(np.float64)

    def reachable(self, k: int | None) -> Floats:
        """Count the relevant items of each list that fit into the cutoff."""
        return self.relevant if k is None else np.minimum(self.relevant, k)

    def reachable_returned(self, k: int | None) -> Floats:
        """Count the relevant items of each list that fit into the cutoff and the list."""
        return np.minimum(self.relevant, self.returned_upto(k))

    @cached_property
    def best(self) -> Ragged:
        """(lists,) the grades in the truth, highest first."""
        values = self.truth.values
        if len(values) and values.min() != values.max():
            order = np.lexsort((-values, self.truth.rows()))
            values = values[order]
        return Ragged(self.truth.offsets, values)


def _count_upto(ranks: Ragged, k: int) -> Integers:
    return np.bincount(ranks.rows()[ranks.values <= k], minlength=len(ranks.lengths))


NEEDS_OF_LISTS: dict[str, Need[Any]] = {
    "scores": Judged.candidates, "unseen": Judged.unseen, "choices": Judged.choices,
    "met": Judged.met,
    "classes": Judged.single, "predicted": Judged.score, "scored": Judged.scored,
    "chances": Judged.chances, "logits": Judged.loss, "shown": Judged.shown,
    "catalogue": Judged.catalogue, "wanted": Judged.wanted, "people": Judged.people,
    "subtopics": Judged.subtopics,
}  # fmt: skip
"""What metrics may need besides ranks, by the name under which they declare it."""


class _Chosen(NamedTuple):
    """The chosen lists, with their matches and their rows of the truth."""

    lists: Choice
    rows: Choice
    truth: Choice


def _choose_entries(value: Any, chosen: _Chosen) -> dict[str, Any]:
    """Return the fields of a value, restricted to the chosen lists."""

    def choose(column: Any, entries: str) -> Any:
        if column is None or entries == "rebuilt":
            return None
        if entries == "nested":
            return replace(column, **_choose_entries(column, chosen))
        chosen_entries = getattr(chosen, entries)
        if isinstance(column, Ragged) and isinstance(chosen_entries, slice):
            return column.block(*chosen_entries.indices(len(column.lengths))[:2])
        if isinstance(column, (Chances, Ragged)):
            return column.of(chosen_entries)
        return column[chosen_entries]

    kinds = {f.name: f.metadata["entries"] for f in fields(value) if f.metadata}
    return {name: choose(getattr(value, name), entries) for name, entries in kinds.items()}


def _arrays(value: object) -> Iterator[NDArray[Any]]:
    """Yield the arrays of a value and its fields, except items and users, which are shared."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (Judged, Extras, Single, Shown, Subtopics, Ragged, Chances)):
        names = value._fields if isinstance(value, tuple) else [f.name for f in fields(value)]
        for name in names:
            yield from _arrays(getattr(value, name))


def join(parts: Sequence[Judged]) -> Judged:
    """Concatenate the lists of several judged values.

    They must have been judged in the same way. Numbers of items and users mean the same only if the
    stock and the people are the same objects.
    """
    if not parts:
        raise ValueError("there are no lists to join")
    offsets = accumulate((part.size for part in parts), initial=0)
    numbers = [part.list + offset for part, offset in zip(parts, offsets, strict=False)]
    lengths = np.concatenate([part.truth.lengths for part in parts])
    values = np.concatenate([part.truth.values for part in parts])
    truth = Ragged(np.append(0, np.cumsum(lengths)), values)
    joined = {"list": np.concatenate(numbers), "truth": truth}
    return replace(parts[0], **{**_join_fields(parts), **joined})


def _join_fields(values: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of several values, with their entries concatenated."""

    def join_field(name: str, entries: str | None) -> Any:
        columns = [getattr(value, name) for value in values]
        first = columns[0]
        if entries == "rebuilt" or all(column is None for column in columns):
            return None
        if any(column is None for column in columns) or not (entries or _are_same(columns)):
            raise ValueError(f"lists cannot be joined: they differ in {name}")
        if entries is None:
            return first
        if entries == "nested":
            return replace(first, **_join_fields(columns))
        if isinstance(first, Chances):
            return Chances(*map(np.concatenate, zip(*columns, strict=True)))
        if isinstance(first, Ragged):
            lengths = np.concatenate([column.lengths for column in columns])
            joined = np.concatenate([column.values for column in columns])
            return Ragged(np.append(0, np.cumsum(lengths)), joined)
        return np.concatenate(columns if first.ndim == 1 else _widen(columns))

    kinds = {f.name: f.metadata.get("entries") for f in fields(values[0]) if f.init}
    return {name: join_field(name, entries) for name, entries in kinds.items()}


def _widen(tables: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return tables of ranks with as many columns as the widest; added ranks are empty."""
    width = max(table.shape[1] for table in tables)
    empty = {"f": np.nan, "i": -1}
    return [
        np.pad(
            table, ((0, 0), (0, width - table.shape[1])), constant_values=empty[table.dtype.kind]
        )
        if table.shape[1] < width
        else table
        for table in tables
    ]


def _are_same(values: Sequence[Any]) -> bool:
    """Whether all values are the same object, or equal numbers."""
    first = values[0]
    is_number = isinstance(first, int | float)
    return all(value is first or (is_number and value == first) for value in values)
