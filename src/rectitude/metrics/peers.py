"""Metrics that reproduce the numbers of other tools: quirks that have a name of their own.

Each says in `use` what to compute in its place where nothing has to be compared.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, distinct, totals
from rectitude.errors import BadName, NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.metrics.auc import misses_above
from rectitude.metrics.choices import Count, whole_k
from rectitude.metrics.exposure import (
    OF_CATALOGUE,
    OF_TRAIN,
    inequality,
    items_shown,
    many_of,
    place_shares,
)
from rectitude.metrics.fairness import HALVES, TWO_WAYS, by_half
from rectitude.metrics.groupwise import rates, relevant, unequal
from rectitude.metrics.ranking import bpref, rprec, wrong_above
from rectitude.metrics.ratings import BY_LIST, errors, root
from rectitude.metrics.registry import NO_LAW, Counts, Facts, Ratio, count_metric, metric
from rectitude.metrics.serendipity import OF_USERS


@metric(
    "Precision at another depth",
    formula="hits in the top {depth} / {precision_over}",
    reading="Precision at the cutoff if the depth is the same; else no share of anything, and "
    "above 1 where more hits are counted than there are places.",
    use="For numbers of tools that cut lists at one depth and divide by another; use precision.",
    bounds=(0.0, np.inf),
    breaks=("perfect_is_best",),
    averages="closed form",
    reach="list",
)
def deep_precision(
    lists: Judged, k: int | None, *, precision_over: Count, depth: float = 10.0
) -> Ratio:
    """Hits up to one depth, over the places up to another."""
    if depth < 1 or depth != int(depth):
        raise BadName(f"depth cannot be {depth:g}.", "a whole number of at least 1.")
    return Ratio(lists.hits(int(depth)), precision_over(lists, k))


@metric(
    "R-precision of lists with a hit",
    formula="as rprec, but 0/0 for a list without a hit among its first R",
    reading="With average=micro, the mean rprec of the lists in which it is not 0: it can only be "
    "higher than rprec.",
    use="For numbers of tools that leave such lists out; use rprec, which counts them as 0.",
    cite="buckley2000evaluating",
    breaks=("perfect_is_best",),
)
def rprec_found(lists: Judged, k: int | None) -> Ratio:
    """R-precision, undefined for lists in which it is 0."""
    whole = rprec(lists, k)
    share = whole.above / np.maximum(whole.below, 1.0)
    return Ratio(share, (share > 0).astype(np.float64))


@metric(
    "Average recall",
    name="mar",
    formula="sum over hits in the top {k} of (hits so far / R) / {ap_over}, R = relevant items",
    reading="(h + 1) h / 2 for h hits, over R times what is divided by: a perfect list of R items "
    "has (R + 1) / 2R, near a half. Only the number of hits counts, not their ranks.",
    use="For numbers of tools that report it beside average precision; recall says the same in "
    "plainer words.",
)
def average_recall(lists: Judged, k: int | None, *, ap_over: Count) -> Ratio:
    """Sum of the recall at the ranks of the relevant items."""
    terms = np.where(lists.hit, lists.nth / np.maximum(lists.relevant, 1.0)[lists.list], 0.0)
    return Ratio(lists.total(terms, upto=k), ap_over(lists, k))


@metric(
    "Binary preference, undefined without negatives",
    formula="as bpref, but 0/0 for a list with hits in which no item is judged not relevant, "
    "and 0 for a list without relevant items",
    reading="As bpref.",
    use="For numbers of tools that divide by zero there; otherwise use bpref.",
    cite="buckley2004retrieval",
    breaks=("perfect_is_best",),
    reach="list",
)
def bpref_strict(lists: Judged, k: int | None) -> Ratio:
    """As bpref, but undefined for lists in which a hit has no judged item to be preferred to."""
    ratio = bpref(lists, k)
    _, fewest = wrong_above(lists)
    void = totals(lists.list, lists.size, (lists.hit & (fewest == 0)).astype(float)) > 0
    below = np.where(lists.relevant == 0, 1.0, ratio.below)
    return Ratio(ratio.above, below).where(~void)


@metric(
    "Rank-matched reciprocal rank",
    formula="sum over hits in the top {k} of 1 / (|place in the list - place in the truth| + 1) "
    "/ relevant items",
    reading="1 only if every relevant item stands in the list where it stands in the truth.",
    use="Use it to reproduce SMGCN's RMRR, where the order of the truth means something. It is no "
    "mean reciprocal rank: the order of the truth changes it.",
    cite="jin2020syndrome",
    breaks=("perfect_is_best", "moving_up_helps"),
)
def rmrr(lists: Judged, k: int | None) -> Ratio:
    """How near each relevant item stands to its place in the truth's own order."""
    distance = np.abs(lists.rank - 1 - lists.place)
    return Ratio(lists.total(lists.hit / (distance + 1.0), upto=k), lists.relevant)


@metric(
    "Accuracy over the catalogue",
    formula="(hits in the top {k} + items neither there nor relevant) / items of the catalogue",
    reading="0.99 is common: nearly all items are rightly left out of every list.",
    use="For numbers of tools that report it. Recommending nothing scores best wherever less than "
    "half of the places are hits; precision and recall say more.",
    bounds=(-np.inf, 1.0),
    breaks=("perfect_is_best",),
    needs=("items",),
)
def catalogue_accuracy(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Share of the catalogue that is rightly recommended or rightly left out."""
    size = facts.catalogue
    wrong = whole_k(lists, k) + lists.relevant - 2 * lists.hits(k)  # listed or relevant, not both
    return Ratio(size - wrong, np.full(lists.size, float(size)))


@metric(
    "Hits per item",
    formula="hits in the top {k} / items of the catalogue",
    reading="0.0005 at 10 is one hit among the first 10 of 2,000 items. It cannot be large.",
    use="For numbers of tools that divide hits by the size of the catalogue; otherwise use hit.",
    needs=("items",),
    averages="closed form",
)
def hits_per_item(lists: Judged, k: int | None, *, facts: Facts) -> Ratio:
    """Hits over the size of the catalogue."""
    return Ratio(lists.hits(k), np.full(lists.size, float(facts.catalogue)))


@metric(
    "AUC within the list",
    formula="pairs of a hit and a miss in the top {k} with the hit above / all such pairs; 1 where "
    "all are hits, 0 where none is",
    reading="How well the hits are ordered before the misses of the same list; 1 says nothing of "
    "how many there are.",
    use="For numbers of tools that compute AUC from lists. One hit at rank 1 gives 1, whatever "
    "else is missing; use auc with scores of all items.",
    cite="hanley1982meaning",
    breaks=("moving_up_helps",),
)
def list_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the pairs within the list in which the hit stands above the miss."""
    hits = lists.hits(k)
    pairs = hits * (lists.returned_upto(k) - hits)
    wrong = lists.total(lists.hit * misses_above(lists), upto=k)
    settled = (hits > 0).astype(np.float64)
    return Ratio(np.where(pairs > 0, pairs - wrong, settled), np.where(pairs > 0, pairs, 1.0))


@metric(
    "AUC within the list, undefined without hits or misses",
    formula="as list_auc, but 0/0 where the first {k} are all hits, or none is",
    reading="As list_auc; with undefined=nan, one list without a hit leaves no mean.",
    use="For numbers of tools that divide by zero there; otherwise use auc with scores of all "
    "items.",
    cite="hanley1982meaning",
    breaks=("perfect_is_best", "moving_up_helps"),
)
def list_auc_strict(lists: Judged, k: int | None) -> Ratio:
    """As list_auc, but undefined for lists without a pair."""
    hits = lists.hits(k)
    return list_auc(lists, k).where((hits > 0) & (hits < lists.returned_upto(k)))


@metric(
    "AUC of the hits",
    formula="sum over hits of (N - misses above it) / N / R, whatever the cutoff; R = relevant "
    "items, N = items of the catalogue that the user had not in training - R + 1",
    reading="0.9 means that relevant items stand above 90% of the others on average; a relevant "
    "item that is not in the list adds 0.",
    use="Use it to compare with tools that add up the area hit by hit; auc counts pairs. Lists "
    "must be complete, or it is near recall.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    reach="list",
)
def hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below each relevant one, averaged over those."""
    return _areas(lists, None, lists.relevant)


@metric(
    "AUC of the hits, within the cutoff",
    formula="sum over hits in the top {k} of (N - misses above it) / N / the smaller of the cutoff "
    "and R; R = relevant items, N = items of the catalogue that the user had not in training - R "
    "+ 1",
    reading="As hit_auc, of the first places alone. In a large catalogue few misses stand above a "
    "hit, so that it is recall with the smaller of cutoff and R below.",
    use="For numbers of tools that call it limited AUC; limited_auc is the area that Schröder "
    "defines.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
)
def hit_auc_within(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below each hit up to the cutoff."""
    return _areas(lists, k, lists.reachable(k))


@metric(
    "AUC of the hits, pooled",
    formula="as hit_auc, but the terms of all lists are added up and divided by all hits: relevant "
    "items that are not in a list are left out",
    reading="As hit_auc; users with more hits weigh more, and a list without hits weighs nothing.",
    use="For numbers of tools that report it as AUC. On lists that are cut, a model gains by "
    "missing what it ranks low.",
    bounds=(-np.inf, np.inf),
    needs=("unseen",),
    fixed={"average": "micro", "unit": "list"},
    reach="list",
)
def pooled_hit_auc(lists: Judged, k: int | None) -> Ratio:
    """Share of the other items that stand below a hit, averaged over the hits of all lists."""
    return _areas(lists, None, lists.hits(None))


def _areas(lists: Judged, k: int | None, below: Floats) -> Ratio:
    """The terms of each list over something; 0/0 where a hit has nothing to be compared with."""
    others = lists.unseen - lists.relevant + 1
    void = (others == 0) & (lists.hits(k) > 0)
    size = np.where(others == 0, 1.0, others)[lists.list]
    terms = lists.hit * (size - misses_above(lists)) / size
    return Ratio(lists.total(terms, upto=k), below).where(~void)


_UNMASKED_NEEDS = ("predicted", "scores", "unseen")
_WHERE = (
    "pairs with a grade above 0, whatever the cutoff; 0/0 for a list of which train holds an item"
)
_READING = "Where users have anything in train it is undefined: only runs without train have one."


@metric(
    "Mean absolute error of rows without train",
    formula=f"mean over lists of the mean of |score - grade| over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_mae, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mae(lists: Judged, k: int | None) -> Ratio:
    """Mean absolute error of each list, undefined if train holds anything of it."""
    return _unmasked(lists, np.abs(errors(lists)))


@metric(
    "Mean squared error of rows without train",
    formula=f"mean over lists of the mean of (score - grade)^2 over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_mse, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_mse(lists: Judged, k: int | None) -> Ratio:
    """Mean squared error of each list, undefined if train holds anything of it."""
    return _unmasked(lists, errors(lists) ** 2)


@metric(
    "Root mean squared error of rows without train",
    formula=f"mean over lists of the square root of its mean of (score - grade)^2 over {_WHERE}",
    reading=_READING,
    use="For numbers of tools that lose rows with a masked item; use user_rmse, which passes over "
    "masked items.",
    bounds=(0.0, np.inf),
    best="low",
    breaks=NO_LAW,
    needs=_UNMASKED_NEEDS,
    fixed=BY_LIST,
    averages="closed form",
    reach="list",
)
def unmasked_rmse(lists: Judged, k: int | None) -> Ratio:
    """Root mean squared error of each list, undefined if train holds anything of it."""
    return root(unmasked_mse(lists, k))


def _unmasked(lists: Judged, values: Floats) -> Ratio:
    given = lists.grade > 0
    whole = Ratio(lists.total(np.where(given, values, 0.0)), lists.total(given.astype(float)))
    return whole.where(lists.unseen >= lists.candidates)


@count_metric(
    "Gini index, corrected",
    counts=items_shown,
    formula="sum over items of (2 * j - n - 1) * places / ((n - 1) * all places), j = the item's "
    "place from the least to the most shown, n = items of the catalogue (top {k})",
    reading="0 if every item is shown equally often, exactly 1 if one item has all places.",
    use="For numbers of tools that divide by n - 1; it is gini * n / (n - 1).",
    cite="fleder2009blockbuster",
    bounds=(-np.inf, 1.0),
    best="low",
    needs=OF_CATALOGUE,
)
def gini_corrected(counts: Counts) -> float:
    """How unevenly places are given to the items of the catalogue, up to exactly 1."""
    size = many_of(counts, "catalogue")
    return inequality(counts["shown"], size) / max(size - 1, 1)


@count_metric(
    "Gini diversity over train",
    counts=items_shown,
    formula="1 - sum over items of (2 * j - n - 1) * places / ((n - 1) * all places), j = the "
    "item's place from the least to the most shown, n = items of train (top {k})",
    reading="1 if every item is shown equally often, 0 if one item has all places: the other way "
    "round than gini.",
    use="For numbers of tools that report 1 - Gini; say which way round a Gini index is.",
    cite="fleder2009blockbuster",
    bounds=(0.0, np.inf),
    needs=OF_TRAIN,
)
def gini_diversity(counts: Counts) -> float:
    """How evenly places are given to the items of train."""
    size = many_of(counts, "train")
    return 1 - inequality(counts["shown"], size) / max(size - 1, 1)


@count_metric(
    "Entropy per item shown",
    counts=items_shown,
    formula="- sum over items of p * ln(p) / number of different items, p = share of the places in "
    "the top {k} of all lists",
    reading="It falls when more items are shown, however evenly: not a measure of diversity.",
    use="For numbers of tools that report it under the name of entropy; entropy says more.",
    cite="shannon1948mathematical",
    needs=("shown", "stock"),
)
def entropy_per_item(counts: Counts) -> float:
    """Entropy of the items shown, divided by their number."""
    shares = place_shares(counts["shown"])
    return max(-fsum((shares * np.log(shares)).tolist()), 0.0) / len(shares)


def items_by_length(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is shown in lists of each length; the number of lists is good for its
    sum only, as it is no item's."""
    stock, shown = lists.stock, lists.shown[counts]
    length = (shown >= 0).sum(axis=1)
    lengths = np.unique(length[length > 0]).tolist()
    by_length = {f"of {n}": stock.times(shown[length == n]) for n in lengths}
    return {**by_length, "lists": np.array([len(shown)])}


@count_metric(
    "Entropy of the items shown, by list",
    counts=items_by_length,
    formula="mean over lists of the mean of - log2(p) over the items in the top {k}, p = share of "
    "the item in the places of all lists; 0 for an empty list",
    reading="The entropy of the items shown in bits, if all lists are equally long; else places in "
    "short lists count for more.",
    use="For numbers of tools that report it under the name of entropy; entropy is in nats, and "
    "every place counts alike.",
    cite="shannon1948mathematical",
    bounds=(0.0, np.inf),
    needs=("shown", "stock"),
)
def entropy_by_list(counts: Counts) -> float:
    """How many items the places are spread over, in bits, each list counting alike."""
    lengths = sorted(int(name.removeprefix("of ")) for name in counts if name != "lists")
    shown = np.atleast_1d(np.sum([counts[f"of {n}"] for n in lengths], axis=0))
    weight = np.atleast_1d(np.sum([counts[f"of {n}"] / n for n in lengths], axis=0))
    some = np.flatnonzero(shown)
    bits = np.log2(shown.sum() / shown[some])
    return fsum((weight[some] * bits).tolist()) / int(counts["lists"].sum())


def items_of_theirs(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is shown, and how often the users of these lists had it in train."""
    stock, shown = lists.stock, lists.shown[counts]
    mine = np.isin(stock.user, lists.owner[counts])
    had = np.bincount(stock.item[mine], minlength=len(stock.ids))
    return {"shown": stock.times(shown), "train": had}


@count_metric(
    "Coverage of the users' own train",
    counts=items_of_theirs,
    formula="items in the top {k} of some list that the users of these lists had in train / items "
    "that they had in train",
    reading="0.3 means that 30% of what these users had in train is shown to one of them.",
    use="For numbers of tools that see the training data of the evaluated users only; "
    "train_coverage is over all of train.",
    cite="ge2010beyond",
    needs=OF_USERS,
)
def own_train_coverage(counts: Counts) -> float:
    """Share of the items that these users had in train that are shown to one of them."""
    both = (counts["shown"] > 0) & (counts["train"] > 0)
    return int(both.sum()) / many_of(counts, "train")


def hits_by_relevant(lists: Judged, k: int | None, counts: Flags) -> Counts:
    """How often each item is a hit in lists with so many relevant items, and how often train and
    truth hold it. The numbers of lists, batches and users are good for their sums only."""
    stock, (rows, whose) = lists.stock, lists.within(k)
    there = lists.hit[rows] & counts[whose]
    items, relevant = lists.item[rows][there], lists.relevant[whose][there].astype(np.int64)
    known = distinct(np.concatenate((stock.user, lists.people.attributes.row)))
    new = ~np.isin(lists.owner, known)
    found = {f"of {n}": np.bincount(items[relevant == n], minlength=len(stock.ids))
             for n in np.unique(relevant).tolist()}  # fmt: skip
    single = {"lists": counts.sum(), "batches": 1, "known": len(known), "new": new.sum()}
    truth = np.bincount(lists.wanted, minlength=len(stock.ids))
    return {**found, **{n: np.array([int(c)]) for n, c in single.items()},
            "train": stock.rows, "truth": truth}  # fmt: skip


@count_metric(
    "Popularity of the hits",
    counts=hits_by_relevant,
    formula="mean over lists of (sum over hits in the top {k} of p / relevant items), p = rows of "
    "train and truth with the item / (users of train and of users= + lists of other users)",
    reading="It grows with recall and with the popularity of what is found: 0 without a hit.",
    use="For numbers of tools that report it under the name of popularity; average_popularity is "
    "of all items shown, and by train alone.",
    cite="abdollahpouri2019managing",
    bounds=(0.0, np.inf),
    needs=("wanted", "stock", "train", "people"),
)
def hit_popularity(counts: Counts) -> float:
    """How popular the items are that are found, over how many could be."""
    batches = max(int(counts["batches"].sum()), 1)
    users = int(counts["known"].sum()) // batches + int(counts["new"].sum())
    size = max(len(counts["train"]), len(counts["truth"]))
    popular = _filled(counts["train"], size) // batches + _filled(counts["truth"], size)
    lists = int(counts["lists"].sum())
    if not lists:
        raise NothingToEvaluate("no list counts.", "at least one list.")
    found = {int(n[3:]): _filled(c, size) for n, c in counts.items() if n.startswith("of ")}
    total = fsum(int((popular * hits).sum()) / relevant for relevant, hits in found.items())
    return total / max(users, 1) / lists


def _filled(counts: Integers, size: int) -> Integers:
    return np.pad(counts, (0, size - len(counts)))


@count_metric(
    "Places of head and tail over relevant items",
    counts=by_half,
    formula="standard deviation / mean over head and tail of places in the top {k} / relevant "
    f"items, of all lists and of the half; {HALVES}; relevant items, {TWO_WAYS}",
    reading="0 if both halves have as many places as relevant items, in proportion.",
    use="For numbers of tools that report it under the name of PopREO, where wrong places count as "
    "well; pop_reo looks at hits.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", "wanted", "people"),
)
def pop_reo_places(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently many places head and tail have for each of their relevant items."""
    found = rates(counts, "places", relevant(counts, below))
    return unequal(found, item_group, "pop_reo_places")
