"""Fairness metrics: how evenly groups of items and of users are served.

Equal opportunity and statistical parity compare what groups of items get with what they could have
got. Differences compare the gains or scores of groups. Bias disparity measures whether groups of
users are shown groups of items as often as they chose them. Gap and ratio compare the means of any
metric (`of`) between groups of users. A group is a value of a column of items= or users= (`by`), or
the head or tail of the training items. Items and users without a group are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, sum_rows
from rectitude.errors import BadScores, UndefinedValue
from rectitude.judge.attributes import Groups
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, gain_function
from rectitude.metrics.exposure import AGAIN, count_times_shown
from rectitude.metrics.groupwise import (
    average_groups,
    compute_bias,
    compute_lifts,
    compute_rates,
    count_available,
    count_chances,
    count_chosen_pairs,
    count_groups,
    count_relevant,
    count_shown_pairs,
    divide_sums,
    mean_difference,
    pair_value,
    relative_spread,
    sum_gains,
)
from rectitude.metrics.history import WantedItems
from rectitude.metrics.popularity import split_head_tail
from rectitude.metrics.registry import (
    IN_UNITS,
    RELEVANCE_LAWS,
    Counts,
    Ratio,
    count_metric,
    derived_metric,
    metric,
    require_choice,
)
from rectitude.parallel import Once

_NEEDS = ("wanted", "people")


def count_by_column(
    lists: Judged, k: int | None, counts: Flags, *, by: str = "group", again: str = "counted"
) -> Counts:
    """Count what groups of items get, and what they could have got."""
    return _count_groups(lists, k, counts, lists.stock.groups(by), again)


def count_by_half(
    lists: Judged, k: int | None, counts: Flags, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item", again: str = "counted",
) -> Counts:  # fmt: skip
    """Count what head and tail get, and what they could have got."""
    groups = split_head_tail(lists.stock, head, repeats, border, tail, equals)
    return _count_groups(lists, k, counts, groups, again)


def _count_groups(
    lists: Judged, k: int | None, counts: Flags, groups: Groups, again: str
) -> Counts:
    require_choice("again", again, AGAIN)
    stock, (rows, list_of_row) = lists.stock, lists.within(k)
    which = lists.hit[rows] & counts[list_of_row]
    hits = lists.item[rows][which]
    if again == "left_out":
        hits = np.unique(np.stack([list_of_row[which], hits]), axis=1)[1]
    times_shown = (
        np.zeros(len(stock.ids), int)
        if lists.extras.shown is None
        else count_times_shown(lists, counts, again)
    )
    cache = lists.places.kept if counts.all() else Once()  # cached for all cutoffs
    possible = cache("chances", lambda: count_chances(stock, relevant_items(lists, counts)))
    return count_groups(stock, groups, hits, possible, times_shown, int(counts.sum()), lists.size)


def relevant_items(lists: Judged, counts: Flags) -> WantedItems:
    """Return the users and the relevant items of the lists that count."""
    owner, wanted = lists.owner, lists.wanted
    if counts.all() and lists.always_relevant:
        return WantedItems(owner, lists.truth.offsets, wanted)
    list_of_row = lists.truth.rows()
    rows = counts[list_of_row] & lists.is_relevant(lists.truth.values)
    relevant_counts = np.bincount(list_of_row[rows], minlength=lists.size)[counts]
    return WantedItems(owner[counts], np.append(0, np.cumsum(relevant_counts)), wanted[rows])


HALVES = (
    "head = the smallest set of the most popular items whose share of the training rows has "
    "{border} {head}, tail = the other items of {tail}; repeats = {repeats}: if this is 0, "
    "repeated rows of the same user and item count once; ties in popularity are broken by "
    "{equals}; item_group = {item_group}: if this is not all, the rate of that half alone; again = "
    "{again}: an item that stands in a list again is counted or left_out; missing = {missing}: a "
    "half without relevant items, or that could not be shown, is left_out, or makes the value "
    "undefined"
)
_GROUPS_AND_REPEATS = (
    "; again = {again}: an item that stands in a list again is counted or left_out; missing = "
    "{missing}: groups without relevant items, or that could not be shown, are left_out, or make "
    "the value undefined"
)
_MISSING = "; missing = {missing}: groups without a mean are left_out, or make the value undefined"
TWO_WAYS = (
    "below = {below}: unseen leaves out items that the user has in the training data, all keeps "
    "them"
)


@count_metric(
    "Ranking-based equal opportunity",
    counts=count_by_column,
    formula="standard deviation / mean over groups of (hits in the top {k} / relevant items), both "
    "counted over all lists; group = column {by} of items=; item_group = {item_group}: if this is "
    "not all, the rate of that group alone; relevant items, " + TWO_WAYS + _GROUPS_AND_REPEATS,
    reading="0 if relevant items of every group are found equally often; 1 if there are two groups "
    "and only one is ever found. Groups without relevant items are left out.",
    use="Use it to see whether a model finds the relevant items of some groups less often. The "
    "rate of a single group: reo[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_NEEDS),
)
def reo(
    counts: Counts, *, below: str = "unseen", item_group: str = "all", missing: str = "left_out"
) -> float:
    """Inequality between groups in how often their relevant items are found."""
    rates = compute_rates(counts, "hits", count_relevant(counts, below))
    return relative_spread(rates, item_group, "reo", missing)


@count_metric(
    "Equal opportunity of head and tail",
    counts=count_by_half,
    formula="standard deviation / mean over head and tail of (hits in the top {k} / relevant "
    f"items), both counted over all lists; {HALVES}; relevant items, {TWO_WAYS}",
    reading="0 if popular and unpopular relevant items are found equally often; 1 if only those of "
    "one half are found.",
    use="Use it to see whether a model finds popular relevant items and misses unpopular ones.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", *_NEEDS),
)
def pop_reo(
    counts: Counts, *, below: str = "unseen", item_group: str = "all", missing: str = "left_out"
) -> float:
    """Inequality between head and tail in how often their relevant items are found."""
    rates = compute_rates(counts, "hits", count_relevant(counts, below))
    return relative_spread(rates, item_group, "pop_reo", missing)


_THREE_WAYS = (
    "items that could be shown, below = {below}: unseen leaves out items that the user has in "
    "the training data, all keeps them, estimated subtracts the mean number of training rows"
)


@count_metric(
    "Ranking-based statistical parity",
    counts=count_by_column,
    formula="standard deviation / mean over groups of (times that items of the group are in the "
    "top {k} / times that they could be: once for every list and item that could be shown); group "
    "= column {by} of items=; item_group = {item_group}: if this is not all, the rate of that "
    "group alone; " + _THREE_WAYS + _GROUPS_AND_REPEATS,
    reading="0 if items of every group are shown equally often; 1 if there are two groups and only "
    "one is ever shown. It ignores relevance.",
    use="Use it to see whether items of some groups are hardly shown; reo compares only relevant "
    "items. The rate of a single group: rsp[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", *_NEEDS),
)
def rsp(
    counts: Counts, *, below: str = "unseen", item_group: str = "all", missing: str = "left_out"
) -> float:
    """Inequality between groups in how often their items are shown."""
    rates = compute_rates(counts, "places", count_available(counts, below))
    return relative_spread(rates, item_group, "rsp", missing)


@count_metric(
    "Statistical parity of head and tail",
    counts=count_by_half,
    formula="standard deviation / mean over head and tail of (times that items of the half are in "
    "the top {k} / times that they could be: once for every list and item that could be shown); "
    f"{HALVES}; {_THREE_WAYS}",
    reading="0 if popular and unpopular items are shown equally often; 1 if only one half is "
    "shown.",
    use="Use it together with gini: it shows whether the items that are shown too rarely are the "
    "less popular ones.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", *_NEEDS),
)
def pop_rsp(
    counts: Counts, *, below: str = "unseen", item_group: str = "all", missing: str = "left_out"
) -> float:
    """Inequality between head and tail in how often their items are shown."""
    rates = compute_rates(counts, "places", count_available(counts, below))
    return relative_spread(rates, item_group, "pop_rsp", missing)


_SCORED = ("shown", "stock", "scored")


def item_gains(
    lists: Judged, k: int | None, counts: Flags, *, gain: Gain, gain_from: GainFrom,
    by: str = "group",
) -> Counts:  # fmt: skip
    """Count how often each item is shown, its total gain, and which items are in a group."""
    stock, shown = lists.stock, lists.shown
    positions, rows = _locate_judged(lists, k, counts)
    gains = gain_function(lists, gain, gain_from)(lists.grade[rows])
    return sum_gains(stock, by, stock.times(shown[counts]), stock.listed[shown[positions]], gains)


def item_scores(
    lists: Judged, k: int | None, counts: Flags, *, by: str = "group", over: str = "hits"
) -> Counts:
    """Count how often each item is a hit, or shown, and sum its scores as a hit."""
    require_choice("over", over, ("hits", "places"))
    stock, shown = lists.stock, lists.shown
    positions, _ = _locate_judged(lists, k, counts, lists.hit)
    scores, hit_items = require_unmasked(lists.scored[positions]), shown[positions]
    times = stock.times(hit_items if over == "hits" else shown[counts])
    return sum_gains(stock, by, times, stock.listed[hit_items], scores)


def _locate_judged(
    lists: Judged, k: int | None, counts: Flags, which: Flags | None = None
) -> tuple[tuple[Integers, Integers], Integers]:
    """Return the list and position of the judged items in the lists that count, and their rows."""
    rows = np.arange(len(lists.list))[lists.within(k)[0]]
    rows = rows[counts[lists.list[rows]] & (True if which is None else which[rows])]
    return (lists.list[rows], lists.rank[rows] - 1), rows


@count_metric(
    "Difference of gain between groups of items",
    counts=item_gains,
    formula="mean over pairs of groups of the absolute difference between their means; a group's "
    "mean is over its items in the top {k} of at least one list, of the item's average gain per "
    "time shown; gain = {gain}; group = column {by} of items=; items without a group are left out"
    + _MISSING,
    reading="0 if items of all groups are relevant equally often when they are shown.",
    use="Use it to see whether items of some groups are shown to the wrong users. It ignores items "
    "that are never shown; rsp counts them.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", "stock"),
)
def item_mad_ranking(counts: Counts, *, missing: str = "left_out") -> float:
    """Mean difference between groups of items in the gain of their items."""
    item_means = divide_sums(counts, "gains", counts["times"])
    return mean_difference(average_groups(counts, item_means, missing), "item_mad_ranking")


@count_metric(
    "Difference of score between groups of items",
    counts=item_scores,
    formula="mean over pairs of groups of the absolute difference between their means; a group's "
    "mean is over its items, of (sum of the item's scores as a hit in the top {k} / its {over}); "
    "group = column {by} of items=; items without a group are left out" + _MISSING,
    reading="0 if relevant items of all groups have the same scores on average; in units of the "
    "scores.",
    use="Use it if scores are meaningful, such as predicted ratings. With over=places, positions "
    "that are not hits count as 0.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_SCORED),
    fixed=IN_UNITS,
)
def item_mad_rating(counts: Counts, *, missing: str = "left_out") -> float:
    """Mean difference between groups of items in the scores of their relevant items."""
    item_means = divide_sums(counts, "gains", counts["times"])
    return mean_difference(average_groups(counts, item_means, missing), "item_mad_rating")


@metric(
    "Mean score of the list",
    formula="mean of the scores of the items in the top {k}; 0/0 for an empty list",
    reading="3.9 means that the items of a list have a score of 3.9 on average, in the model's own "
    "units.",
    use="Use it to compare groups of users if scores are meaningful, such as predicted ratings.",
    bounds=(-np.inf, np.inf),
    breaks=RELEVANCE_LAWS,
    needs=("shown", "scored"),
    fixed=IN_UNITS,
    tie_order="none",
)
def mean_score(lists: Judged, k: int | None) -> Ratio:
    """Mean score of the items of a list."""
    scored = require_unmasked(lists.scored)
    filled = ~np.isnan(scored)
    return Ratio(sum_rows(np.where(filled, scored, 0.0)), filled.sum(axis=1).astype(np.float64))


def require_unmasked(scores: Floats) -> Floats:
    """Return the scores; raise an error if some are masked. NaN means an empty position."""
    masked = int(np.isinf(scores).sum())
    if masked:
        raise BadScores(
            f"{masked} list positions hold masked items, which have no score.",
            "lists that can be filled with items that are not masked.",
            "set seen='removed' or seen='kept', or use a smaller cutoff.",
        )
    return scores


@derived_metric(
    "Difference of ranking between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference between their means of {of}; "
    "group = column {by} of users=; users without a group are left out, and groups without a list "
    "that counts",
    reading="0 if all groups are served equally well; 0.05 means that the mean NDCG of two groups "
    "differs by 0.05 on average.",
    use="Use it like group_gap, when comparing only the best and the worst served group would say "
    "too little.",
    cite="deldjoo2021flexible",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def user_mad_ranking(means: Mapping[str, float], *, of: str = "ndcg", by: str = "group") -> float:
    """Mean difference between groups of users in how well they are served."""
    return mean_difference(means.values(), "user_mad_ranking")


@derived_metric(
    "Difference of score between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference between their means of {of}; "
    "group = column {by} of users=; users without a group are left out, and groups without a list "
    "that counts",
    reading="0 if the items shown to all groups have the same scores on average; in units of the "
    "scores.",
    use="Use it if scores are meaningful, such as predicted ratings; otherwise use "
    "user_mad_ranking.",
    cite="deldjoo2021flexible",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
    fixed=IN_UNITS,
)
def user_mad_rating(
    means: Mapping[str, float], *, of: str = "mean_score", by: str = "group"
) -> float:
    """Mean difference between groups of users in the scores of the items they are shown."""
    return mean_difference(means.values(), "user_mad_rating")


_DISPARITY_NEEDS = ("items", "users", "wanted", "people")


def count_chosen(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group",
    items_by: str = "group", source: str = "train",
) -> Counts:  # fmt: skip
    """Count what users of each group chose, by the group of the item."""
    require_choice("source", source, ("train", "truth", "graded"))
    pairs = None
    if source == "truth":
        pairs = relevant_items(lists, counts).pairs()
    elif source == "graded":
        rows = counts[lists.truth.rows()] & (lists.truth.values != 0)
        pairs = lists.owner[lists.truth.rows()[rows]], lists.wanted[rows]
    return count_chosen_pairs(lists.people, lists.stock, (users_by, items_by), pairs)


def count_shown(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group", items_by: str = "group"
) -> Counts:
    """Count what users of each group are shown, by the group of the item."""
    owner, shown = lists.owner, lists.shown
    if not counts.all():
        owner, shown = owner[counts], shown[counts]
    return count_shown_pairs(lists.people, lists.stock, (users_by, items_by), owner, shown)


def count_both(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group",
    items_by: str = "group", source: str = "train",
) -> Counts:  # fmt: skip
    """Count what users of each group chose and are shown, by the group of the item."""
    by = {"users_by": users_by, "items_by": items_by}
    shown = count_shown(lists, k, counts, **by)
    return {**count_chosen(lists, k, counts, source=source, **by), **shown}


_SOURCES = (
    ": train, truth for the relevant items, or graded for rows of the truth with any grade but 0"
)
_GROUPS = "; groups = columns {users_by} of users= and {items_by} of items="
_ONE_PAIR = (
    "; user_group = {user_group}, item_group = {item_group}: if one of them is all, the mean "
)
_ONE_PAIR += "absolute distance from {neutral} over the pairs of groups"


@count_metric(
    "Bias of what users chose",
    counts=count_chosen,
    formula="share of the item group among the items that the user group chose / its share of all "
    "items, chosen = {source}" + _SOURCES + _GROUPS + _ONE_PAIR.replace("{neutral}", "1"),
    reading="1 if the user group chooses items of the item group as often as the catalogue offers "
    "them, 2 if twice as often. Over all groups: 0 if no group has a preference.",
    use="Use it to see what groups prefer before any model is involved; bias_disparity_br is the "
    "same for what they are shown.",
    cite="tsintzou2019bias",
    bounds=(0.0, np.inf),
    best="low",
    needs=_DISPARITY_NEEDS,
)
def bias_disparity_bs(counts: Counts, *, user_group: str = "all", item_group: str = "all") -> float:
    """How much more often a user group chooses an item group than the catalogue offers it."""
    return compute_bias(counts, "chosen", user_group, item_group)


@count_metric(
    "Bias of what users are shown",
    counts=count_shown,
    formula="share of the item group in the top {k} of the user group / its share of all items"
    + _GROUPS
    + _ONE_PAIR.replace("{neutral}", "1"),
    reading="1 if the user group is shown items of the item group as often as the catalogue offers "
    "them, 2 if twice as often. Over all groups: 0 if every group is shown items in the "
    "proportions of the catalogue.",
    use="Use it together with bias_disparity_bs: a model may follow the preferences of groups, or "
    "amplify them.",
    cite="tsintzou2019bias",
    bounds=(0.0, np.inf),
    best="low",
    needs=("shown", *_DISPARITY_NEEDS),
)
def bias_disparity_br(counts: Counts, *, user_group: str = "all", item_group: str = "all") -> float:
    """How much more often a user group is shown an item group than the catalogue offers it."""
    return compute_bias(counts, "shown", user_group, item_group)


@count_metric(
    "Bias disparity",
    counts=count_both,
    formula="(BR - BS) / BS, BR = share of the item group in the top {k} of the user group / its "
    "share of all items, BS = the same for the items that they chose, chosen = {source}"
    + _SOURCES + "; "
    "endless = {endless}: the value if only BS is 0; if endless is 0, this case is undefined; "
    "unshown = {unshown}: the BR of a user group that is shown nothing is zero or undefined"
    + _GROUPS + _ONE_PAIR.replace("{neutral}", "0"),
    reading="0 if the user group is shown items of the item group as often as it chose them; 0.5 "
    "if 50% more often, -1 if never.",
    use="Use it to see whether a model amplifies the preferences of groups, and for which groups.",
    cite="tsintzou2019bias",
    bounds=(-1.0, np.inf),
    best="low",
    needs=("shown", *_DISPARITY_NEEDS),
)  # fmt: skip
def bias_disparity_bd(
    counts: Counts, *, user_group: str = "all", item_group: str = "all", endless: float = 0.0,
    unshown: str = "zero",
) -> float:  # fmt: skip
    """How much more often a user group is shown an item group than it chose it."""
    require_choice("unshown", unshown, ("zero", "undefined"))
    shown, disparity = compute_lifts(counts, "shown"), {}
    for pair, chosen in compute_lifts(counts, "chosen").items():
        excess = (shown[pair] or 0.0) - (chosen or 0.0)
        if_not_chosen = endless if excess and endless else None
        disparity[pair] = excess / chosen if chosen else if_not_chosen
        if shown[pair] is None and unshown == "undefined":
            disparity[pair] = None
    return pair_value(disparity, 0.0, user_group, item_group, "bias_disparity_bd")


Means = Mapping[str, float]


@derived_metric(
    "Gap between groups of users",
    of=(),
    formula="largest mean of {of} - smallest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and groups without a list that counts",
    reading="0.05 for ndcg means that the NDCG of the best served group is 0.05 higher than that "
    "of the worst served group. The ledger shows the mean of each group.",
    use="Use it to see whom a model leaves behind. With many or small groups, some gap arises by "
    "chance: the mean of a group with one user is that user's value, and the ledger warns about "
    "it.",
    cite="ekstrand2018cool",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def group_gap(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """Difference between the means of the best and the worst served group of users."""
    values = list(means.values())
    return float(np.max(values) - np.min(values))


@derived_metric(
    "Ratio between groups of users",
    of=(),
    formula="smallest mean of {of} / largest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and groups without a list that counts; 1 if all "
    "means are 0",
    reading="0.8 means that the worst served group has 80% of the mean of the best served group; 1 "
    "if all groups are served equally well. The ledger shows the mean of each group.",
    use="Use it like group_gap, to compare metrics on different scales. A rule of thumb from "
    "employment law takes a ratio below 0.8 as a sign of disadvantage. Only for metrics that are "
    "never negative.",
    cite="ekstrand2018cool",
    needs=("users", "people"),
)
def group_ratio(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """Mean of the worst served group of users, relative to that of the best served."""
    values = list(means.values())
    if np.min(values) < 0:
        raise UndefinedValue(
            f"a group of users has a mean of {np.min(values):g}, and a ratio of negative means has "
            "no meaning.",
            "a metric that is never negative.",
            "use group_gap instead.",
        )
    return float(np.min(values) / np.max(values)) if np.any(values) else 1.0
