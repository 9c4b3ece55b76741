"""Metrics of items that users would not have found on their own: new, unexpected and relevant."""

from __future__ import annotations

from functools import partial

import numpy as np

from rectitude.arrays import Floats, Integers, sum_by_group
from rectitude.judge.judged import Judged
from rectitude.metrics.diversity import get_vectors
from rectitude.metrics.history import (
    Similarity,
    count_seen_and_expected,
    sum_profile_similarity,
)
from rectitude.metrics.registry import RELEVANCE_LAWS, Ratio, metric

NEEDS_USER_HISTORY = ("shown", "stock", "train", "people")
"""What these metrics need: the items shown, the items and users as numbered tables (stock, people),
and the training data."""


def _count_seen(lists: Judged) -> tuple[Floats, Floats]:
    """Return two arrays, one entry per list: the number of items shown that are in the user's
    training data, and the number of expected items."""
    find = partial(count_seen_and_expected, lists.stock, lists.owner)
    return lists.places.each("seen and expected", find)


@metric(
    "Share of items new to the user",
    formula="items in the top {k} that are not in the user's training data / items in the top {k}",
    reading="0.9 means that a tenth of the items shown are in the user's training data; always 1 "
    "if such items are removed from lists.",
    use="Use it when lists may repeat items that users already know, as with music or groceries.",
    cite="castells2022novelty",
    breaks=RELEVANCE_LAWS,
    needs=NEEDS_USER_HISTORY,
)
def unseen_share(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that is not in its user's training data."""
    seen, _ = _count_seen(lists)
    return Ratio(lists.length - seen, lists.length)


@metric(
    "Unexpectedness",
    formula="items in the top {k} that are not expected / items in the top {k}; expected = the {k} "
    "most popular items that are not in the user's training data, ties in popularity broken by id",
    reading="1 if a list shows none of the most popular items, 0 if it shows nothing else.",
    use="Use it to see whether a model does more than follow popularity. It ignores relevance; "
    "serendipity does not.",
    cite="ge2010beyond",
    breaks=RELEVANCE_LAWS,
    needs=NEEDS_USER_HISTORY,
    cutoff="needed",
)
def unexpectedness(lists: Judged, k: int | None) -> Ratio:
    """Share of a list that a recommender of the most popular items would not show."""
    _, expected = _count_seen(lists)
    return Ratio(lists.length - expected, lists.length)


@metric(
    "Serendipity by popularity",
    name="serendipity",
    formula="sum over hits in the top {k} of max(popularity rank - rank, 0) / n / items in the top "
    "{k}; n = items of the catalogue; popularity rank: 1 for the item with the most training rows, "
    "tied items share a rank and the next item has the next rank; n + 1 for an item that is not in "
    "the training data",
    reading="0 if no hit is ranked higher than its popularity suggests; close to the precision if "
    "hits are unpopular and ranked first.",
    use="Use it to reward hits that popularity does not explain. It depends on the size of the "
    "catalogue.",
    cite="ge2010beyond",
    needs=("wanted", "stock", "train", "catalogue"),
)
def serendipity(lists: Judged, k: int | None) -> Ratio:
    """Hits, weighted by how far they are ranked above their popularity rank."""
    stock = lists.stock
    size = np.count_nonzero(lists.catalogue)
    popularity_rank = stock.popularity_rank
    expected = np.where(stock.rows > 0, (size + 1 - popularity_rank) / size, 0.0)
    achieved = (size + 1 - lists.rank) / size
    above = np.maximum(achieved - expected[lists.item], 0.0) * lists.hit
    return Ratio(lists.total(above, upto=k), lists.returned_upto(k) + _count_repeats(lists, k))


def _count_repeats(lists: Judged, k: int | None) -> Floats:
    """Count the matches up to the cutoff beyond the first of each item in a list: an item that the
    truth repeats counts as several items."""
    rows, owners = lists.within(k)
    place = (lists.rank if lists.slot is None else lists.slot)[rows]
    again = np.zeros(len(place), bool)
    again[1:] = (owners[1:] == owners[:-1]) & (place[1:] == place[:-1])
    return sum_by_group(owners[again], lists.size)


@metric(
    "Serendipity by history",
    formula="sum over hits in the top {k} of (1 - mean cosine similarity of the hit to the items "
    "in the user's training data) / items in the top {k}; cosine similarity of two items = users "
    "with both / sqrt(users with the first * users with the second); 0/0 for a user without "
    "training data",
    reading="Close to the precision if hits are unlike everything in the user's training data; 0 "
    "without hits.",
    use="Use it to reward hits that differ from what a user chose before.",
    cite="zhang2012auralist",
    breaks=("perfect_is_best",),
    needs=("wanted", "stock", "train", "people"),
    at_once="all lists",
)
def history_serendipity(lists: Judged, k: int | None) -> Ratio:
    """Hits, weighted by how much they differ from the user's training data."""
    stock, owner = lists.stock, lists.owner
    rows, list_of_row = lists.within(k)
    total, profile_sizes = sum_profile_similarity(stock, owner[list_of_row], lists.item[rows])
    trained_items = np.diff(stock.offsets)[owner]
    novelty = np.maximum(1 - total / np.maximum(profile_sizes, 1), 0.0) * lists.hit[rows]
    values = np.bincount(list_of_row, weights=novelty, minlength=lists.size)
    return Ratio(values.astype(np.float64), lists.returned_upto(k)).where(trained_items > 0)


@metric(
    "Distance to the user's history",
    formula="mean over the items in the top {k} of 1 - mean cosine similarity of the item to the "
    "items in the user's training data; cosine similarity of two items = users with both / "
    "sqrt(users with the first * users with the second); 0/0 for a user without training data",
    reading="1 if nobody has an item of the list together with an item of the user's training "
    "data; 0 if the same users have all of them.",
    use="Use it to see how far a model leads users away from what they know. It ignores relevance; "
    "history_serendipity counts hits only.",
    cite="zhang2012auralist",
    breaks=RELEVANCE_LAWS,
    needs=NEEDS_USER_HISTORY,
    at_once="all lists",
)
def history_distance(lists: Judged, k: int | None) -> Ratio:
    """Mean distance of the items of a list to the user's training data, by co-occurrence."""
    return _average_distance(lists, None)


@metric(
    "Distance to the user's history, by vectors",
    formula="mean over the items in the top {k} of 1 - mean cosine of the item's vector and those "
    "of the items in the user's training data, column {of} of items=; the cosine is 0 without a "
    "vector; 0/0 for a user without training data",
    reading="0 if all vectors of list and training data point in the same direction, 1 if they "
    "have nothing in common.",
    use="Use it like history_distance, if vectors say how similar two items are.",
    cite="zhang2012auralist",
    bounds=(0.0, 2.0),
    breaks=RELEVANCE_LAWS,
    needs=(*NEEDS_USER_HISTORY, "items"),
    at_once="all lists",
)
def history_vector_distance(lists: Judged, k: int | None, *, of: str = "embedding") -> Ratio:
    """Mean distance of the items of a list to the user's training data, by vectors of items."""
    vectors = np.nan_to_num(get_vectors(lists.stock.attributes, of))
    lengths = np.sqrt((vectors**2).sum(axis=1))
    units = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]

    def cosine(first: Integers, second: Integers) -> Floats:
        cosines: Floats = (units[first] * units[second]).sum(axis=1)
        return cosines

    return _average_distance(lists, cosine)


def _average_distance(lists: Judged, similarity: Similarity | None) -> Ratio:
    items = lists.stock.listed[lists.shown]
    owner, place = np.nonzero(items >= 0)
    users = lists.owner[owner]
    total, known = sum_profile_similarity(lists.stock, users, items[owner, place], similarity)
    distance = np.maximum(1 - total / np.maximum(known, 1), 0.0)
    values = np.bincount(owner, weights=distance, minlength=lists.size).astype(np.float64)
    trained_items = np.diff(lists.stock.offsets)[lists.owner]
    return Ratio(values, lists.length).where(trained_items > 0)
