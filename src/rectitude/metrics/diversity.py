"""Metrics of how different the items of a list are: by their vectors, by who had them, by category.

Distances are sums over the pairs of each list. Every list goes by itself, in the order of its
places, and floats are added one after the other: the same bits whatever the other lists are, in
NumPy and compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from rectitude.arrays import (
    Floats,
    Integers,
    offsets_of,
    totals,
)
from rectitude.errors import BadName, BadTable, unknown_name
from rectitude.judge.attributes import Attributes, Memberships
from rectitude.judge.items import Stock
from rectitude.judge.judged import Judged
from rectitude.judge.places import Ends
from rectitude.kernels import frozen, kernel, repay
from rectitude.metrics.calibration import groups_shown, shares
from rectitude.metrics.history import alike, expanded
from rectitude.metrics.registry import NO_LAW, Ratio, metric, require_choice
from rectitude.parallel import in_blocks

_NEEDS = ("items", "shown", "stock")
_BLOCK = 1 << 14
_CELLS = 1 << 21  # of lists and categories that are held at a time


@metric(
    "Intra-list distance",
    name="ild",
    formula="mean over the pairs of items in the top {k} of the {distance} distance of their "
    "vectors, column {of} of items=; items without a vector are left out, and 0/0 where fewer than "
    "two are left. cosine: 1 - cosine, 1 if a vector is 0; euclidean; hamming: how many numbers "
    "differ; jaccard: of the numbers that are not 0 in one or both, the share that is in one only",
    reading="0 if all items of a list are alike. Under cosine, 1 means that they have nothing in "
    "common; euclidean and hamming have no upper end.",
    use="Use it beside an accuracy metric, to see what variety costs; a random list scores high. "
    "Values are comparable for the same vectors and distance only. "
    "ild[of=genre,distance=jaccard] takes a column of words or of lists of words.",
    cite="ziegler2005improving",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=_NEEDS,
)
def ild(lists: Judged, k: int | None, *, of: str = "embedding", distance: str = "cosine") -> Ratio:
    """Mean distance of the items of a list from each other."""
    return Ratio(*apart(*_vectors(lists, of), distance))


@metric(
    "Intra-list similarity",
    formula="mean over the pairs of items in the top {k} of the cosine of their vectors, column "
    "{of} of items=; items without a vector are left out; 1 if one is left, 0/0 if none is",
    reading="1 if all items of a list point the same way, 0 if they have nothing in common.",
    use="It is 1 - ild, but for lists of one item; use ild, where more is more diverse.",
    cite="ziegler2005improving",
    bounds=(-1.0, 1.0),
    best="low",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def intra_list_similarity(lists: Judged, k: int | None, *, of: str = "embedding") -> Ratio:
    """Mean cosine of the items of a list."""
    vectors, shown = _vectors(lists, of)
    total, pairs = apart(vectors, shown, "cosine")
    there = np.append(~np.isnan(vectors).any(axis=1), False)
    one = there[shown].sum(axis=1) == 1
    return Ratio(pairs - total + one, pairs + one)


def _vectors(lists: Judged, of: str) -> tuple[Floats, Integers]:
    """The vectors of the items as lists number them, and the numbers in the first places."""
    return features(lists.stock.attributes, of)[lists.stock.listed[:-1]], lists.shown


@metric(
    "Diversity by co-occurrence",
    formula="mean over the pairs of items in the top {k} of 1 - users of train who had both / "
    "sqrt(users who had the one * users who had the other), 1 where nobody had one of them; 0/0 "
    "where there are fewer than two items",
    reading="1 if nobody had two items of a list, 0 if the same users had them all.",
    use="Use it where items have no vectors: users' own choices say what is alike. Items that "
    "nobody had count as different from all others.",
    cite="zhang2012auralist",
    breaks=NO_LAW,
    needs=("shown", "stock", "train"),
    at_once="all lists",
)
def cooccurrence_diversity(lists: Judged, k: int | None) -> Ratio:
    """Mean distance of the items of a list, by the users who had both."""
    items = lists.stock.listed[lists.shown]
    one, other = np.triu_indices(items.shape[1], 1)
    total, pairs = np.zeros(lists.size), np.zeros(lists.size)
    for first in range(0, lists.size, _BLOCK):
        here = slice(first, first + _BLOCK)
        left, right = items[here, one], items[here, other]
        both = (left >= 0) & (right >= 0)
        different = np.zeros(both.shape)
        different[both] = 1 - alike(lists.stock, left[both], right[both])
        total[here], pairs[here] = different.sum(axis=1), both.sum(axis=1)
    return Ratio(np.maximum(total, 0.0), pairs)


@metric(
    "Diversity of categories",
    formula="pairs of items in the top {k} of different categories / pairs of items in the top "
    "{k}; category = column {by} of items=; items without one are left out, and 0/0 where fewer "
    "than two are left",
    reading="0.8 means that two items of a list, drawn at random, are of different categories in "
    "80% of the draws. It does not look at relevance: a random list scores high.",
    use="Use it beside recall or ndcg, to see what variety costs. Another column: "
    "category_diversity[by=genre].",
    cite="cen2020controllable",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def category_diversity(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of the pairs of recommended items that are of different categories."""
    count = partial(equal_pairs, lists.stock.groups(by).number, lists.stock.listed)
    equal, pairs = lists.places.each(("equal", by), count)
    return Ratio(pairs - equal, pairs)


def equal_pairs(
    group: Integers, listed: Integers, shown: Integers, ends: Ends
) -> list[tuple[Floats, Floats]]:
    """For each cutoff, (lists,) how many pairs of places hold items of the same group, and how many
    hold items of any; a group below 0 is none."""
    table = frozen(np.append(group, -1)[listed].astype(np.int32))
    equal, known = np.zeros((2, len(ends), len(shown)))
    count = kernel(equal_kernel) if repay(shown.size) else _count_equal

    def work(first: int, last: int) -> None:
        here = slice(first, last)
        count(table, shown[here], np.array(ends), equal[:, here], known[:, here])

    in_blocks(work, len(shown))
    return list(zip(equal, known * (known - 1) / 2, strict=True))


def _count_equal(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, known: Floats
) -> None:
    groups = table[shown]
    for cutoff, end in enumerate(ends):
        ordered = np.sort(groups[:, :end], axis=1)
        known[cutoff] = (ordered >= 0).sum(axis=1)
        # in sorted rows, an item makes one equal pair with each item of its run before it
        place = np.arange(end)
        starts = np.ones(ordered.shape, bool)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        before = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1)
        equal[cutoff] = np.where(ordered >= 0, before, 0).sum(axis=1)


def equal_kernel(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, known: Floats
) -> None:
    """Count pairs of items of the same group, and items of any, compiled: an item makes a pair with
    each one of its group before it."""
    times = np.zeros(table.max() + 1, np.int64)  # of groups: 0 between lists
    for u in range(shown.shape[0]):
        many, pairs, place = 0, 0, 0
        for cutoff in range(len(ends)):
            while place < ends[cutoff]:
                group = table[shown[u, place]]
                if group >= 0:
                    pairs += times[group]
                    times[group] += 1
                    many += 1
                place += 1
            equal[cutoff, u], known[cutoff, u] = pairs, many
        for place in range(shown.shape[1]):
            if table[shown[u, place]] >= 0:
                times[table[shown[u, place]]] = 0


@metric(
    "Coverage of categories",
    formula="different values of column {by} of items= among the items in the top {k} / different "
    "values of the column; an item may have several, and one without adds nothing",
    reading="0.3 means that a list shows items of 30% of all categories.",
    use="Use it beside category_diversity, which looks at how evenly the places are spread; no "
    "list of k items with one category each covers more than k.",
    cite="ge2010beyond",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def category_coverage(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of all categories that a list shows."""
    every = len(lists.stock.memberships(by).names)
    return Ratio(_categories(lists, by), np.full(lists.size, float(every)))


@metric(
    "Share of different categories",
    formula="different values of column {by} of items= among the items in the top {k} / {k}; an "
    "item without one adds none",
    reading="0.3 at the cutoff 10 means that a list shows three categories.",
    use="Use it with lists of equal length; category_diversity looks at pairs, and at how evenly "
    "categories are shown.",
    cite="castells2022novelty",
    breaks=NO_LAW,
    needs=_NEEDS,
)
def distinct_categories(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """How many categories a list shows, over its length."""
    return Ratio.of(_categories(lists, by) / lists.shown.shape[1])


def _categories(lists: Judged, by: str) -> Floats:
    """(lists,) how many different categories the items of each list have."""
    return lists.places.each(("groups", by), partial(groups_shown, lists.stock, by))


@metric(
    "Entropy of the categories of a list",
    formula="- sum over the values g of column {by} of items= of p(g) * log2(p(g)), p = share of "
    "the items in the top {k}, each weighing {patience} ^ (rank - 1), with {smooth} added for "
    "every value of the catalogue; an item of several values counts for each in equal parts, one "
    "without is left out; 0/0 where none is left",
    reading="0 bits if a list shows one category, log2(n) if it shows n of them equally often.",
    use="Use it like category_diversity, where items have several categories. A patience below 1 "
    "lets the first places count for more.",
    cite="castells2022novelty",
    bounds=(0.0, np.inf),
    breaks=NO_LAW,
    needs=_NEEDS,
)
def category_entropy(
    lists: Judged, k: int | None, *, by: str = "category", patience: float = 1.0,
    smooth: float = 0.0,
) -> Ratio:  # fmt: skip
    """How many categories a list is spread over, in bits."""
    if not 0 < patience <= 1 or smooth < 0:
        raise BadName(
            f"patience is {patience:g} and smooth {smooth:g}.", "0 < patience <= 1, smooth >= 0."
        )
    stock, shown = lists.stock, lists.shown
    members, bits, some = stock.memberships(by), np.zeros(lists.size), np.zeros(lists.size)
    step = max(_CELLS // max(len(members.names), shown.shape[1]), 1)
    for first in range(0, lists.size, step):
        here = slice(first, first + step)
        weights = group_weights(members, stock.listed[shown[here]], patience)
        bits[here], some[here] = _bits(weights + smooth), weights.any(axis=1)
    return Ratio.of(bits).where(some > 0)


def group_weights(members: Memberships, items: Integers, patience: float) -> Floats:
    """(lists, groups) what the items of lists, -1 for none, weigh in each group: each weighs
    `patience` times as much as the one before it, in equal parts in each of its groups."""
    groups = len(members.names)
    known = int(max(members.entry.max(initial=-1), items.max(initial=-1))) + 1
    offsets = offsets_of(members.entry, known)
    owner, place = np.nonzero(items >= 0)
    item = items[owner, place]
    weight = patience**place / np.maximum(np.diff(offsets)[item], 1)
    row, where = expanded(offsets, item)
    cells = owner[row] * groups + members.number[where]
    shape = len(items), max(groups, 1)
    return totals(cells, shape[0] * shape[1], weight[row]).reshape(shape)


def _bits(weights: Floats) -> Floats:
    shares = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    bits = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.asarray(0.0 - bits.sum(axis=1), np.float64)


@metric(
    "Recall of topics",
    formula="different values of column {by} of items= among the hits in the top {k} / those among "
    "all {over} items; an item may have several values, and those without one add none",
    reading="0.5 means that a list finds half of the topics that its user's relevant items have.",
    use="Use it where one good item for each interest is enough; recall asks for all items.",
    cite="zhai2003beyond",
    breaks=("perfect_is_best",),
    needs=("items", "wanted"),
)
def srecall(lists: Judged, k: int | None, *, by: str = "category", over: str = "relevant") -> Ratio:
    """Share of the topics of the relevant items that the list finds."""
    require_choice("over", over, ("relevant", "catalogue"))
    stock, wanted = lists.stock, lists.wanted
    rows, owner = lists.within(k)
    hits, told = lists.hit[rows], lists.is_relevant(lists.truth.values)
    above = topics_of(stock, by, lists.item[rows][hits], owner[hits], lists.size)
    below = np.full(lists.size, float(len(stock.memberships(by).names)))
    if over == "relevant":
        below = topics_of(stock, by, wanted[told], lists.truth.rows()[told], lists.size)
    return Ratio(above, below)


def topics_of(stock: Stock, by: str, item: Integers, owner: Integers, size: int) -> Floats:
    """(owners,) how many different topics the items of each owner have."""
    return totals(shares(owner, item, stock.memberships(by), size).owner, size)


_VECTOR_CELLS = 1 << 27
"""how many numbers a table of items and words may have"""


def features(attributes: Attributes, column: str) -> Floats:
    """(entries, d) the vector of each entry, NaN where there is none. A column of words, or of
    lists of them, has one number for every word: 1 for the entries that have it."""
    if _words(attributes, column):
        return indicators(attributes, column)
    return attributes.vectors(column)


def indicators(attributes: Attributes, column: str) -> Floats:
    """(entries, values) 1 for the values that an entry has and 0 for the others; NaN where it has
    none."""
    entry, number, names = attributes.memberships(column)
    if attributes.size * len(names) > _VECTOR_CELLS:
        raise BadTable(
            f"column {column!r} has {len(names):,} different values, for {attributes.size:,} "
            f"{attributes.what}s: too many for a number each.",
            f"at most {_VECTOR_CELLS // attributes.size:,} of them.",
            "put values together into fewer, or pass a column of vectors.",
        )
    found = np.full((attributes.size, len(names)), np.nan)
    found[entry] = 0.0
    found[entry, number] = 1.0
    return found


def _words(attributes: Attributes, column: str) -> bool:
    table = attributes.table
    if table is None or column not in table.frame.columns:
        return False
    kind = table.frame.schema[column]
    inner = kind.inner if isinstance(kind, (pl.List, pl.Array)) else kind
    return inner in (pl.String, pl.Categorical, pl.Enum)


Distance = Literal["cosine", "euclidean", "hamming", "jaccard"]
DISTANCES: tuple[str, ...] = get_args(Distance)
BLOCK = 1 << 20  # numbers of vectors that NumPy holds at a time


def apart(vectors: Floats, items: Integers, distance: str) -> tuple[Floats, Floats]:
    """(lists,) the sum of the distances of all pairs of items in each list, and how many pairs
    these are. Items below 0, and those whose vector is NaN, are left out.

    Cosine: 1 - cosine, 1 where a vector is 0. Hamming: how many numbers differ. Jaccard: of the
    numbers that are not 0 in one or both, the share that is in one only, 0 where there are none.
    """
    if distance not in DISTANCES:
        raise unknown_name("distance", distance, DISTANCES)
    there = np.append(~np.isnan(vectors).any(axis=1), False)
    known = items if there[:-1].all() else np.where(there[items], items, -1)
    many = (known >= 0).sum(axis=1)
    pairs = many * (many - 1) / 2
    if distance == "cosine":
        return np.where(pairs > 0, np.maximum(pairs - _alike(vectors, known), 0.0), 0.0), pairs
    if distance == "jaccard":
        vectors = np.where(there[:-1, None], vectors != 0, np.nan)
    return _summed(vectors, known, distance), pairs


def _summed(vectors: Floats, items: Integers, distance: str) -> Floats:
    """(lists,) the sum of the distances of all pairs of items."""
    total = np.empty(len(items))
    work: Any = _differences
    if repay(items.size * vectors.shape[1]):
        work = kernel(difference_kernel)
    table = frozen(np.vstack((vectors, np.full(vectors.shape[1], np.nan))))
    squared, size = distance != "hamming", np.append(vectors.sum(axis=1), np.nan)
    one, other = np.triu_indices(items.shape[1], 1)
    step = max(BLOCK // max(items.shape[1] * vectors.shape[1], len(one), 1), 1)

    def block(first: int, last: int) -> None:
        for start in range(first, last, step):
            here = items[start : min(start + step, last)]
            some = np.zeros((len(here), len(one)))
            work(table, frozen(here), squared, some)
            if distance == "euclidean":
                some = np.sqrt(some)
            elif distance == "jaccard":  # both have (a + b + different) / 2 numbers together
                some = 2 * some / np.maximum(size[here[:, one]] + size[here[:, other]] + some, 1.0)
            both = (here[:, one] >= 0) & (here[:, other] >= 0)
            total[start : start + len(here)] = np.where(both, some, 0.0).sum(axis=1)

    in_blocks(block, len(items))
    return total


def _differences(vectors: Floats, items: Integers, squared: bool, some: Floats) -> None:
    """(lists, pairs) the sum of the squares of the differences of two vectors, or how many numbers
    differ; the twin of `difference_kernel`."""
    begin, x = 0, vectors[items]
    for i in range(items.shape[1] - 1):
        many = items.shape[1] - 1 - i
        mine = some[:, begin : begin + many]
        for column in np.moveaxis(x[:, i:], 2, 0):
            away = column[:, 1:] - column[:, :1]
            mine += away * away if squared else away != 0
        begin += many


def difference_kernel(vectors: Floats, items: Integers, squared: bool, some: Floats) -> None:
    """(lists, pairs) the sum of the squares of the differences of two vectors, or how many numbers
    differ, compiled. The items of a list lie side by side, so that many pairs go at once."""
    size, places = vectors.shape[1], items.shape[1]
    x = np.empty((size, places))
    for u in range(len(items)):
        for j in range(places):
            x[:, j] = vectors[items[u, j]]
        begin = -1
        for i in range(places - 1):
            for c in range(size):
                one = x[c, i]
                for j in range(i + 1, places):
                    away = x[c, j] - one
                    some[u, begin - i + j] += away * away if squared else away != 0
            begin += places - 1 - i


def _alike(vectors: Floats, items: Integers) -> Floats:
    """(lists,) the sum of the cosines of all pairs: half of what the square of the sum of the unit
    vectors has beyond their own squares."""
    norm = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    units = np.where(norm[:, None] > 0, vectors, 0.0) / np.where(norm > 0, norm, 1.0)[:, None]
    units = np.vstack((units, np.zeros(vectors.shape[1])))
    own, cosines = np.einsum("ij,ij->i", units, units), np.empty(len(items))
    table, mine = frozen(units), frozen(own)
    work: Any = _cosines
    if repay(items.size * vectors.shape[1]):
        work = kernel(cosine_kernel)

    def block(first: int, last: int) -> None:
        for start in range(first, last, 512):  # a block that the processor holds
            here = slice(start, min(start + 512, last))
            work(table, mine, items[here], cosines[here])

    in_blocks(block, len(items))
    return cosines


def _cosines(units: Floats, own: Floats, items: Integers, cosines: Floats) -> None:
    """The sum of the cosines of all pairs in each list; the twin of `cosine_kernel`."""
    sums, owns = np.zeros((len(items), units.shape[1])), np.zeros(len(items))
    for place in items.T:
        sums += units[place]
        owns += own[place]
    cosines[:] = (_squares(sums) - owns) / 2


def cosine_kernel(units: Floats, own: Floats, items: Integers, cosines: Floats) -> None:
    """The sum of the cosines of all pairs in each list, compiled."""
    sums = np.empty(units.shape[1])
    for u in range(len(items)):
        sums[:] = 0.0
        owns, square = 0.0, 0.0
        for item in items[u]:
            if item >= 0:
                owns += own[item]
                for c in range(len(sums)):
                    sums[c] += units[item, c]
        for c in range(len(sums)):
            square += sums[c] * sums[c]
        cosines[u] = (square - owns) / 2


def _squares(vectors: Floats) -> Floats:
    """The square of the length of each vector; its numbers are added one after the other."""
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return total
