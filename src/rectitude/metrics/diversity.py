"""Metrics of how different the items of a list are: by vector, by co-occurrence, by category.

Distances are summed over the pairs of items in each list. Every list is processed on its own, in
rank order, and floats are added one after the other. The result has the same bits no matter which
other lists are evaluated, in NumPy and compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers, offsets_of, sum_by_group, sum_rows
from rectitude.errors import BadArgument, BadTable, unknown_name
from rectitude.judge.attributes import Attributes, Memberships
from rectitude.judge.items import Stock
from rectitude.judge.judged import Judged
from rectitude.judge.places import Ends
from rectitude.kernels import freeze, kernel, should_compile
from rectitude.metrics.calibration import groups_shown, shares
from rectitude.metrics.history import expand_rows, item_similarity
from rectitude.metrics.registry import RELEVANCE_LAWS, Ratio, metric, require_choice
from rectitude.parallel import in_blocks

_NEEDS = ("items", "shown", "stock")
_BLOCK = 1 << 14
_CELLS = 1 << 21  # cells of a (lists, categories) array held in memory at a time


@metric(
    "Intra-list distance",
    name="ild",
    formula="mean over the pairs of items in the top {k} of the {distance} distance of their "
    "vectors, column {of} of items=, {pairs} pairs (different: without those of an item with "
    "itself, if a list has it twice); items without a vector are left out, and 0/0 if no pair is "
    "left. cosine: 1 - cosine, 1 if a vector is 0; euclidean; hamming: how many numbers "
    "differ; jaccard: of the numbers that are nonzero in either vector, the share that is nonzero "
    "in only one",
    reading="0 if all items of a list are the same. With cosine, 1 means that they have nothing in "
    "common; euclidean and hamming have no upper limit.",
    use="Use it together with an accuracy metric, to see what variety costs; a random list scores "
    "high. Values are only comparable for the same vectors and distance. For a column of words, or "
    "of lists of words: ild[distance=jaccard,of=genre].",
    cite="ziegler2005improving",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def ild(
    lists: Judged,
    k: int | None,
    *,
    of: str = "embedding",
    distance: str = "cosine",
    pairs: str = "all",
) -> Ratio:
    """Mean distance between the items of a list."""
    require_choice("pairs", pairs, _SUMS)
    return Ratio(*_SUMS[pairs](*_vectors(lists, of), distance))


def _sum_different_pairs(vectors: Floats, shown: Integers, distance: str) -> tuple[Floats, Floats]:
    """Return the same as `sum_pair_distances`, without the pairs of an item with itself."""
    total, count = sum_pair_distances(vectors, shown, distance)
    apart, same = _sum_same_pairs(vectors, shown, distance)
    return np.where(count > same, np.maximum(total - apart, 0.0), 0.0), count - same


def _sum_same_pairs(vectors: Floats, shown: Integers, distance: str) -> tuple[Floats, Floats]:
    """Return (lists,) the sum of the distances over the pairs of an item with itself, which is in
    the list twice, and the number of such pairs."""
    has_vector = np.append(~np.isnan(vectors).any(axis=1), False)
    is_zero = np.append(~vectors.any(axis=1) & (distance == "cosine"), False)
    first, second = np.triu_indices(shown.shape[1], 1)
    apart, same = np.zeros(len(shown)), np.zeros(len(shown))
    for start in range(0, len(shown), _BLOCK):
        block = slice(start, start + _BLOCK)
        left = shown[block, first]
        equal = (left == shown[block, second]) & has_vector[left]
        apart[block], same[block] = (equal & is_zero[left]).sum(axis=1), equal.sum(axis=1)
    return apart, same


@metric(
    "Intra-list similarity",
    formula="mean over the pairs of items in the top {k} of the cosine of their vectors, column "
    "{of} of items=; items without a vector are left out; 1 if one item is left, 0/0 if none is",
    reading="1 if the vectors of all items point in the same direction, 0 if the items have "
    "nothing in common.",
    use="It is 1 - ild, except for lists of one item. Prefer ild, which is higher for more diverse "
    "lists.",
    cite="ziegler2005improving",
    bounds=(-1.0, 1.0),
    best="low",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def intra_list_similarity(lists: Judged, k: int | None, *, of: str = "embedding") -> Ratio:
    """Mean cosine similarity between the items of a list."""
    vectors, shown = _vectors(lists, of)
    total, pairs = sum_pair_distances(vectors, shown, "cosine")
    has_vector = np.append(~np.isnan(vectors).any(axis=1), False)
    single = has_vector[shown].sum(axis=1) == 1
    return Ratio(pairs - total + single, pairs + single)


def _vectors(lists: Judged, of: str) -> tuple[Floats, Integers]:
    """Return the vectors of the items, numbered as in lists, and the numbers of the items shown."""
    return get_vectors(lists.stock.attributes, of)[lists.stock.listed[:-1]], lists.shown


@metric(
    "Diversity by co-occurrence",
    formula="mean over the pairs of different items in the top {k} of 1 - users with both / "
    "sqrt(users with the first * users with the second), counted in the training "
    "data; 1 for a pair with an item that no user has; 0/0 without a pair",
    reading="1 if no user has two items of the list in their training data, 0 if the same users "
    "have all of them.",
    use="Use it if items have no vectors: the users' choices define which items are similar. Items "
    "that nobody interacted with count as different from all others.",
    cite="zhang2012auralist",
    breaks=RELEVANCE_LAWS,
    needs=("shown", "stock", "train"),
    at_once="all lists",
)
def cooccurrence_diversity(lists: Judged, k: int | None) -> Ratio:
    """Mean distance between the items of a list, by how many users interacted with both."""
    items = lists.stock.listed[lists.shown]
    first, second = np.triu_indices(items.shape[1], 1)
    total, pairs = np.zeros(lists.size), np.zeros(lists.size)
    for start in range(0, lists.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        left, right = items[block, first], items[block, second]
        both = (left >= 0) & (right >= 0) & (left != right)
        different = 1 - item_similarity(lists.stock, left[both], right[both])
        # added one after the other, however many ranks are empty
        total[block] = np.bincount(np.nonzero(both)[0], different, len(both))
        pairs[block] = both.sum(axis=1)
    return Ratio(np.maximum(total, 0.0), pairs)


@metric(
    "Diversity of categories",
    formula="pairs of items in the top {k} with different categories / pairs of items in the top "
    "{k}; category = column {by} of items=; items without a category are left out, and 0/0 if "
    "fewer than two are left",
    reading="0.8 means that two items drawn at random from a list have different categories in 80% "
    "of the draws. It ignores relevance: a random list scores high.",
    use="Use it together with recall or ndcg, to see what variety costs. To use another column: "
    "category_diversity[by=genre].",
    cite="cen2020controllable",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def category_diversity(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of the pairs of recommended items with different categories."""
    count = partial(count_equal_pairs, lists.stock.groups(by).number, lists.stock.listed)
    equal, pairs = lists.places.each(("equal", by), count)
    return Ratio(pairs - equal, pairs)


def count_equal_pairs(
    group: Integers, listed: Integers, shown: Integers, ends: Ends
) -> list[tuple[Floats, Floats]]:
    """Count for each cutoff (lists,) the pairs of items in the same group, and the pairs of items
    in any group.

    A group below 0 means no group.
    """
    table = freeze(np.append(group, -1)[listed].astype(np.int32))
    equal, grouped = np.zeros((2, len(ends), len(shown)))
    count = kernel(equal_kernel) if should_compile(shown.size) else _count_equal

    def count_block(first: int, last: int) -> None:
        block = slice(first, last)
        count(table, shown[block], np.array(ends), equal[:, block], grouped[:, block])

    in_blocks(count_block, len(shown))
    return list(zip(equal, grouped * (grouped - 1) / 2, strict=True))


def _count_equal(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, grouped: Floats
) -> None:
    groups = table[shown]
    for cutoff, end in enumerate(ends):
        ordered = np.sort(groups[:, :end], axis=1)
        grouped[cutoff] = (ordered >= 0).sum(axis=1)
        # in sorted rows, an item makes an equal pair with each item before it in its run
        position = np.arange(end)
        starts = np.ones(ordered.shape, bool)
        starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        before = position - np.maximum.accumulate(np.where(starts, position, 0), axis=1)
        equal[cutoff] = np.where(ordered >= 0, before, 0).sum(axis=1)


def equal_kernel(
    table: Integers, shown: Integers, ends: Integers, equal: Floats, grouped: Floats
) -> None:
    """Count pairs of items in the same group, and items in any group; compiled.

    An item makes a pair with each earlier item of its group.
    """
    times = np.zeros(table.max() + 1, np.int64)  # per group; all 0 between lists
    for u in range(shown.shape[0]):
        items, pairs, position = 0, 0, 0
        for cutoff in range(len(ends)):
            while position < ends[cutoff]:
                group = table[shown[u, position]]
                if group >= 0:
                    pairs += times[group]
                    times[group] += 1
                    items += 1
                position += 1
            equal[cutoff, u], grouped[cutoff, u] = pairs, items
        for position in range(shown.shape[1]):
            if table[shown[u, position]] >= 0:
                times[table[shown[u, position]]] = 0


@metric(
    "Category coverage",
    formula="different values of column {by} of items= among the items in the top {k} / different "
    "values of the column; an item may have several values, and an item without a value adds "
    "nothing",
    reading="0.3 means that a list shows items from 30% of all categories.",
    use="Use it together with category_diversity, which measures how evenly a list is spread over "
    "categories. If items have one category each, a list of k items covers at most k categories.",
    cite="ge2010beyond",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
)
def category_coverage(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Share of all categories that a list shows."""
    category_count = len(lists.stock.memberships(by).names)
    return Ratio(_count_categories(lists, by), np.full(lists.size, float(category_count)))


@metric(
    "Share of distinct categories",
    formula="different values of column {by} of items= among the items in the top {k} / {k}; an "
    "item without a value adds nothing",
    reading="0.3 at cutoff 10 means that a list shows three categories.",
    use="Use it with lists of equal length; category_diversity compares pairs, so it also measures "
    "how evenly categories are shown.",
    cite="castells2022novelty",
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
    cutoff="needed",
)
def distinct_categories(lists: Judged, k: int | None, *, by: str = "category") -> Ratio:
    """Number of categories in a list, divided by its length."""
    return Ratio.of(_count_categories(lists, by) / lists.shown.shape[1])


def _count_categories(lists: Judged, by: str) -> Floats:
    """Return (lists,) how many different categories the items of each list have."""
    return lists.places.each(("groups", by), partial(groups_shown, lists.stock, by))


@metric(
    "Category entropy of a list",
    formula="- sum over the values g of column {by} of items= of p(g) * log2(p(g)), p = share of "
    "the items in the top {k}, each weighted by {patience} ^ (rank - 1), with {smooth} added for "
    "every value of the column; an item with several values counts for each in equal parts, an "
    "item without a value is left out; 0/0 if no item is left",
    reading="0 bits if a list shows a single category, log2(n) if it shows n categories equally "
    "often.",
    use="Use it like category_diversity, when items have several categories. With a patience below "
    "1, the first ranks count more.",
    cite="castells2022novelty",
    bounds=(0.0, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=_NEEDS,
    tie_order="any",
)
def category_entropy(
    lists: Judged, k: int | None, *, by: str = "category", patience: float = 1.0,
    smooth: float = 0.0,
) -> Ratio:  # fmt: skip
    """Entropy of the categories in a list, in bits."""
    if not 0 < patience <= 1 or smooth < 0:
        message = f"patience is {patience:g} and smooth is {smooth:g}."
        raise BadArgument(message, "0 < patience <= 1 and smooth >= 0.")
    stock, shown = lists.stock, lists.shown
    members, bits, has_category = stock.memberships(by), np.zeros(lists.size), np.zeros(lists.size)
    step = max(_CELLS // max(len(members.names), shown.shape[1]), 1)
    for first in range(0, lists.size, step):
        block = slice(first, first + step)
        weights = weigh_groups(members, stock.listed[shown[block]], patience)
        bits[block], has_category[block] = _entropy_bits(weights + smooth), weights.any(axis=1)
    return Ratio.of(bits).where(has_category > 0)


def weigh_groups(members: Memberships, items: Integers, patience: float) -> Floats:
    """Return (lists, groups) the total weight of each list's items in each group; -1 means no item.

    An item weighs `patience` times as much as the item before it. Its weight is split equally
    between its groups.
    """
    groups = len(members.names)
    size = int(max(members.entry.max(initial=-1), items.max(initial=-1))) + 1
    offsets = offsets_of(members.entry, size)
    owner, position = np.nonzero(items >= 0)
    item = items[owner, position]
    weight = patience**position / np.maximum(np.diff(offsets)[item], 1)
    row, membership = expand_rows(offsets, item)
    cells = owner[row] * groups + members.number[membership]
    shape = len(items), max(groups, 1)
    return sum_by_group(cells, shape[0] * shape[1], weight[row]).reshape(shape)


def _entropy_bits(weights: Floats) -> Floats:
    shares = weights / np.maximum(weights.sum(axis=1), 1e-300)[:, None]
    bits = shares * np.log2(np.where(shares > 0, shares, 1.0))
    return np.asarray(0.0 - bits.sum(axis=1), np.float64)


@metric(
    "Topic recall",
    formula="different values of column {by} of items= among the hits in the top {k} / different "
    "values among all {over} items (relevant, catalogue, or train for those of the training data); "
    "an item may have several values, and an item without a value adds nothing",
    reading="0.5 means that a list finds half of the topics of its user's relevant items.",
    use="Use it if one good item for each interest is enough; recall asks for all items.",
    cite="zhai2003beyond",
    breaks=("perfect_is_best",),
    needs=("items", "wanted"),
)
def srecall(lists: Judged, k: int | None, *, by: str = "category", over: str = "relevant") -> Ratio:
    """Share of the relevant items' topics that the list finds."""
    require_choice("over", over, ("relevant", "catalogue", "train"))
    rows, owner = lists.within(k)
    hits = lists.hit[rows]
    found = count_topics(lists.stock, by, lists.item[rows][hits], owner[hits], lists.size)
    return Ratio(found, _count_all_topics(lists, by, over))


def _count_all_topics(lists: Judged, by: str, over: str) -> Floats:
    """Return (lists,) the topics that there are to find: those of relevant items, of all items, or
    of the items in the training data."""
    stock = lists.stock
    if over == "relevant":
        is_relevant = lists.is_relevant(lists.truth.values)
        owner = lists.truth.rows()[is_relevant]
        return count_topics(stock, by, lists.wanted[is_relevant], owner, lists.size)
    if over == "catalogue":
        return np.full(lists.size, float(len(stock.memberships(by).names)))
    trained = np.flatnonzero(stock.rows > 0)
    topics = count_topics(stock, by, trained, np.zeros(len(trained), np.int64), 1)
    return np.full(lists.size, topics[0])


def count_topics(stock: Stock, by: str, item: Integers, owner: Integers, size: int) -> Floats:
    """Return (owners,) how many different topics the items of each owner have."""
    return sum_by_group(shares(owner, item, stock.memberships(by), size).owner, size)


_VECTOR_CELLS = 1 << 27
"""the most cells that a table of items and words may have"""


def get_vectors(attributes: Attributes, column: str) -> Floats:
    """Return (entries, d) the vector of each entry, NaN if it has none.

    A column of words, or of lists of words, becomes one number per word: 1 for the entries that
    have it.
    """
    if _is_text(attributes, column):
        return encode_values(attributes, column)
    return attributes.vectors(column)


def encode_values(attributes: Attributes, column: str) -> Floats:
    """Return (entries, values) 1 for the values that an entry has and 0 for the others; NaN if it
    has none."""
    entry, number, names = attributes.memberships(column)
    if attributes.size * len(names) > _VECTOR_CELLS:
        raise BadTable(
            f"column {column!r} has {len(names):,} different values for {attributes.size:,} "
            f"{attributes.what}s, which is too many for vectors with one number per value.",
            f"at most {_VECTOR_CELLS // attributes.size:,} different values.",
            "merge values, or pass a column of vectors.",
        )
    vectors = np.full((attributes.size, len(names)), np.nan)
    vectors[entry] = 0.0
    vectors[entry, number] = 1.0
    return vectors


def _is_text(attributes: Attributes, column: str) -> bool:
    table = attributes.table
    if table is None or column not in table.frame.columns:
        return False
    kind = table.frame.schema[column]
    inner = kind.inner if isinstance(kind, (pl.List, pl.Array)) else kind
    return inner in (pl.String, pl.Categorical, pl.Enum)


Distance = Literal["cosine", "euclidean", "hamming", "jaccard"]
DISTANCES: tuple[str, ...] = get_args(Distance)
BLOCK = 1 << 20  # vector components that NumPy processes at a time


def sum_pair_distances(vectors: Floats, items: Integers, distance: str) -> tuple[Floats, Floats]:
    """Return (lists,) the sum of the distances over all pairs of items, and the number of pairs.

    Items below 0 and items with a NaN vector are left out. Cosine: 1 - cosine, 1 if a vector is 0.
    Hamming: how many numbers differ. Jaccard: of the numbers that are nonzero in either vector, the
    share that is nonzero in only one; 0 if there are none.
    """
    if distance not in DISTANCES:
        raise unknown_name("distance", distance, DISTANCES)
    has_vector = np.append(~np.isnan(vectors).any(axis=1), False)
    valid = items if has_vector[:-1].all() else np.where(has_vector[items], items, -1)
    item_counts = (valid >= 0).sum(axis=1)
    pairs = item_counts * (item_counts - 1) / 2
    if distance == "cosine":
        return np.where(
            pairs > 0, np.maximum(pairs - _sum_cosines(vectors, valid), 0.0), 0.0
        ), pairs
    if distance == "jaccard":
        vectors = np.where(has_vector[:-1, None], vectors != 0, np.nan)
    return _sum_distances(vectors, valid, distance), pairs


_SUMS = {"all": sum_pair_distances, "different": _sum_different_pairs}
"""The sums over pairs, by which pairs count."""


def _sum_distances(vectors: Floats, items: Integers, distance: str) -> Floats:
    """Return (lists,) the sum of the distances over all pairs of items."""
    total = np.empty(len(items))
    add_differences: Any = _add_differences
    if should_compile(items.size * vectors.shape[1]):
        add_differences = kernel(difference_kernel)
    table = freeze(np.vstack((vectors, np.full(vectors.shape[1], np.nan))))
    squared, size = distance != "hamming", np.append(vectors.sum(axis=1), np.nan)
    first, second = np.triu_indices(items.shape[1], 1)
    step = max(BLOCK // max(items.shape[1] * vectors.shape[1], len(first), 1), 1)

    def sum_block(begin: int, last: int) -> None:
        for start in range(begin, last, step):
            batch = items[start : min(start + step, last)]
            distances = np.zeros((len(batch), len(first)))
            add_differences(table, freeze(batch), squared, distances)
            if distance == "euclidean":
                distances = np.sqrt(distances)
            elif distance == "jaccard":  # the union has (a + b + different) / 2 numbers
                distances = (
                    2
                    * distances
                    / np.maximum(size[batch[:, first]] + size[batch[:, second]] + distances, 1.0)
                )
            valid = (batch[:, first] >= 0) & (batch[:, second] >= 0)
            total[start : start + len(batch)] = sum_rows(np.where(valid, distances, 0.0))

    in_blocks(sum_block, len(items))
    return total


def _add_differences(vectors: Floats, items: Integers, squared: bool, sums: Floats) -> None:
    """Add (lists, pairs) the sums of squared differences, or how many numbers differ.

    Computes the same as `difference_kernel`, in NumPy.
    """
    begin, x = 0, vectors[items]
    for i in range(items.shape[1] - 1):
        width = items.shape[1] - 1 - i
        columns = sums[:, begin : begin + width]
        for column in np.moveaxis(x[:, i:], 2, 0):
            difference = column[:, 1:] - column[:, :1]
            columns += difference * difference if squared else difference != 0
        begin += width


def difference_kernel(vectors: Floats, items: Integers, squared: bool, sums: Floats) -> None:
    """Add (lists, pairs) the sums of squared differences, or how many numbers differ; compiled.

    The items of a list are contiguous in memory: the processor handles many pairs at once.
    """
    size, length = vectors.shape[1], items.shape[1]
    x = np.empty((size, length))
    for u in range(len(items)):
        for j in range(length):
            x[:, j] = vectors[items[u, j]]
        begin = -1
        for i in range(length - 1):
            for c in range(size):
                value = x[c, i]
                for j in range(i + 1, length):
                    difference = x[c, j] - value
                    sums[u, begin - i + j] += (
                        difference * difference if squared else difference != 0
                    )
            begin += length - 1 - i


def _sum_cosines(vectors: Floats, items: Integers) -> Floats:
    """Return (lists,) the sum of the cosines of all pairs.

    This is half of the squared length of the sum of unit vectors, less half of the sum of their own
    squares.
    """
    norm = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    units = np.where(norm[:, None] > 0, vectors, 0.0) / np.where(norm > 0, norm, 1.0)[:, None]
    units = np.vstack((units, np.zeros(vectors.shape[1])))
    squares, cosines = np.einsum("ij,ij->i", units, units), np.empty(len(items))
    table, frozen_squares = freeze(units), freeze(squares)
    add_cosines: Any = _add_cosines
    if should_compile(items.size * vectors.shape[1]):
        add_cosines = kernel(cosine_kernel)

    def sum_block(first: int, last: int) -> None:
        for start in range(first, last, 512):  # a block that fits into the processor's cache
            batch = slice(start, min(start + 512, last))
            add_cosines(table, frozen_squares, items[batch], cosines[batch])

    in_blocks(sum_block, len(items))
    return cosines


def _add_cosines(units: Floats, squares: Floats, items: Integers, cosines: Floats) -> None:
    """Write the sum of the cosines of all pairs in each list; the same as `cosine_kernel`, in
    NumPy."""
    sums, square_sums = np.zeros((len(items), units.shape[1])), np.zeros(len(items))
    for column in items.T:
        sums += units[column]
        square_sums += squares[column]
    cosines[:] = (_square_lengths(sums) - square_sums) / 2


def cosine_kernel(units: Floats, squares: Floats, items: Integers, cosines: Floats) -> None:
    """Write the sum of the cosines of all pairs in each list; compiled."""
    sums = np.empty(units.shape[1])
    for u in range(len(items)):
        sums[:] = 0.0
        square_sum, length_squared = 0.0, 0.0
        for item in items[u]:
            if item >= 0:
                square_sum += squares[item]
                for c in range(len(sums)):
                    sums[c] += units[item, c]
        for c in range(len(sums)):
            length_squared += sums[c] * sums[c]
        cosines[u] = (length_squared - square_sum) / 2


def _square_lengths(vectors: Floats) -> Floats:
    """Return the squared length of each vector; its components are added one after the other."""
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column * column
    return total
