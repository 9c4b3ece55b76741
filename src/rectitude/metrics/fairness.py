"""Metrics of how evenly groups of items and of users are served.

Equal opportunity and statistical parity compare what groups of items get with what they could have
got; differences compare what groups gain or score; bias disparity asks whether groups of users are
shown groups of items as they chose them; gap and ratio compare the means of any metric (`of`)
between groups of users. A group is a value of a column of items= or users= (`by`), or the head or
the tail of train; whoever has no group is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rectitude.arrays import Flags, Floats, Integers
from rectitude.errors import BadScores, UndefinedValue
from rectitude.judge.attributes import Groups
from rectitude.judge.judged import Judged
from rectitude.metrics.choices import Gain, GainFrom, worth_of
from rectitude.metrics.exposure import times_shown
from rectitude.metrics.groupwise import (
    available,
    bias,
    chances,
    chosen_pairs,
    counts_of,
    difference,
    gains_of,
    group_means,
    leaning,
    means,
    pair_value,
    rates,
    relevant,
    shown_pairs,
    unequal,
)
from rectitude.metrics.history import WantedItems
from rectitude.metrics.popularity import halves
from rectitude.metrics.registry import (
    IN_UNITS,
    NO_LAW,
    Counts,
    Ratio,
    count_metric,
    derived_metric,
    metric,
    require_choice,
)
from rectitude.parallel import Once

_NEEDS = ("wanted", "people")


def by_column(lists: Judged, k: int | None, counts: Flags, *, by: str = "group") -> Counts:
    """What groups of items get, and what they could have got."""
    return _counted(lists, k, counts, lists.stock.groups(by))


def by_half(
    lists: Judged, k: int | None, counts: Flags, *, head: float = 0.8, repeats: float = 1.0,
    border: str = "reached", tail: str = "train", equals: str = "item",
) -> Counts:  # fmt: skip
    """What head and tail get, and what they could have got."""
    groups = halves(lists.stock, head, repeats, border, tail, equals)
    return _counted(lists, k, counts, groups)


def _counted(lists: Judged, k: int | None, counts: Flags, groups: Groups) -> Counts:
    stock, (rows, found) = lists.stock, lists.within(k)
    hits = lists.item[rows][lists.hit[rows] & counts[found]]
    places = (
        np.zeros(len(stock.ids), int) if lists.extras.shown is None else times_shown(lists, counts)
    )
    once = lists.places.kept if counts.all() else Once()  # for all cutoffs
    could = once("chances", lambda: chances(stock, relevant_items(lists, counts)))
    return counts_of(stock, groups, hits, could, places, int(counts.sum()), lists.size)


def relevant_items(lists: Judged, counts: Flags) -> WantedItems:
    """The users and the relevant items of the lists that count."""
    owner, wanted = lists.owner, lists.wanted
    if counts.all() and lists.always_relevant:
        return WantedItems(owner, lists.truth.offsets, wanted)
    lists_of = lists.truth.rows()
    rows = counts[lists_of] & lists.is_relevant(lists.truth.values)
    many = np.bincount(lists_of[rows], minlength=lists.size)[counts]
    return WantedItems(owner[counts], np.append(0, np.cumsum(many)), wanted[rows])


HALVES = (
    "head = the most popular items, up to the one with which {head} of the rows of train is "
    "{border}, tail = the other items of {tail}; repeats = {repeats}: rows that repeat a user "
    "count if this is not 0; of equally popular items the first by {equals} are more popular; "
    "item_group = {item_group}: the rate of that half alone if it is not all"
)
TWO_WAYS = "below = {below}: unseen leaves out those that the user had in train, all does not"


@count_metric(
    "Ranking-based equal opportunity",
    counts=by_column,
    formula="standard deviation / mean over groups of hits in the top {k} / relevant items, of all "
    "lists and of the group; group = column {by} of items=; item_group = {item_group}: the rate of "
    "that group alone if it is not all; relevant items, " + TWO_WAYS,
    reading="0 if relevant items of every group are found equally often; 1 if of two groups only "
    "one is found. Groups without relevant items are left out.",
    use="Use it to see whether a model serves the items of some group worse than they deserve. "
    "The rates of the groups say which: reo[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_NEEDS),
)
def reo(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often relevant items of the groups are found."""
    return unequal(rates(counts, "hits", relevant(counts, below)), item_group, "reo")


@count_metric(
    "Equal opportunity of head and tail",
    counts=by_half,
    formula="standard deviation / mean over head and tail of hits in the top {k} / relevant items, "
    f"of all lists and of the half; {HALVES}; relevant items, {TWO_WAYS}",
    reading="0 if relevant items are found equally often, popular or not; 1 if only those of one "
    "half are found.",
    use="Use it to see whether a model finds what is popular and misses relevant items that are "
    "not.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", *_NEEDS),
)
def pop_reo(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often relevant items of head and tail are found."""
    return unequal(rates(counts, "hits", relevant(counts, below)), item_group, "pop_reo")


_THREE_WAYS = (
    "items that could be shown, below = {below}: unseen leaves out those that the user had in "
    "train, all does not, estimated takes off the mean number of rows of train"
)


@count_metric(
    "Ranking-based statistical parity",
    counts=by_column,
    formula="standard deviation / mean over groups of places in the top {k} / places that the "
    "items of the group could have had, one for every list and item that could be shown; group = "
    "column {by} of items=; item_group = {item_group}: the rate of that group alone if it is not "
    "all; " + _THREE_WAYS,
    reading="0 if an item is shown equally often whatever its group; 1 if of two groups only one "
    "is shown. It does not look at relevance.",
    use="Use it to see whether items of some group are hardly shown; reo asks whether the relevant "
    "ones are. The rates of the groups say which: rsp[item_group=drama]@10.",
    cite="zhu2020measuring",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", *_NEEDS),
)
def rsp(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often items of the groups are shown."""
    return unequal(rates(counts, "places", available(counts, below)), item_group, "rsp")


@count_metric(
    "Statistical parity of head and tail",
    counts=by_half,
    formula="standard deviation / mean over head and tail of places in the top {k} / places that "
    "the items of the half could have had, one for every list and item that could be shown; "
    f"{HALVES}; {_THREE_WAYS}",
    reading="0 if an item is shown equally often, popular or not; 1 if only one half is shown.",
    use="Use it beside gini: it says whether the places that some items lack are those of the "
    "less popular ones.",
    cite="zhu2020measuring",
    bounds=(0.0, 1.0),
    best="low",
    needs=("train", "shown", *_NEEDS),
)
def pop_rsp(counts: Counts, *, below: str = "unseen", item_group: str = "all") -> float:
    """How differently often items of head and tail are shown."""
    return unequal(rates(counts, "places", available(counts, below)), item_group, "pop_rsp")


_SCORED = ("shown", "stock", "scored")


def item_gains(
    lists: Judged, k: int | None, counts: Flags, *, gain: Gain, gain_from: GainFrom,
    by: str = "group",
) -> Counts:  # fmt: skip
    """How often each item is shown, what it gains in all, and which items are in a group."""
    stock, shown = lists.stock, lists.shown
    place, rows = _in_places(lists, k, counts)
    gains = worth_of(lists, gain, gain_from)(lists.grade[rows])
    return gains_of(stock, by, stock.times(shown[counts]), stock.listed[shown[place]], gains)


def item_scores(
    lists: Judged, k: int | None, counts: Flags, *, by: str = "group", over: str = "hits"
) -> Counts:
    """How often each item is a hit, or shown, and how it scores as a hit in all."""
    require_choice("over", over, ("hits", "places"))
    stock, shown = lists.stock, lists.shown
    place, _ = _in_places(lists, k, counts, lists.hit)
    scores, looked_at = unmasked(lists.scored[place]), shown[place]
    times = stock.times(looked_at if over == "hits" else shown[counts])
    return gains_of(stock, by, times, stock.listed[looked_at], scores)


def _in_places(
    lists: Judged, k: int | None, counts: Flags, which: Flags | None = None
) -> tuple[tuple[Integers, Integers], Integers]:
    """Where judged items stand in the lists that count: list and place, and their rows."""
    rows = np.arange(len(lists.list))[lists.within(k)[0]]
    rows = rows[counts[lists.list[rows]] & (True if which is None else which[rows])]
    return (lists.list[rows], lists.rank[rows] - 1), rows


@count_metric(
    "Difference of gain between groups of items",
    counts=item_gains,
    formula="mean over pairs of groups of the absolute difference of their means, over the items "
    "in the top {k} of some list, of what the item gains on average where it is shown; gain = "
    "{gain}; group = column {by} of items=, and items without one are left out",
    reading="0 if items of all groups are equally often right where they are shown.",
    use="Use it to see whether items of some group are shown to the wrong users. It does not see "
    "items that are never shown; rsp does.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", "shown", "stock"),
)
def item_mad_ranking(counts: Counts) -> float:
    """How far the groups of items are apart in what their items gain."""
    each = means(counts, "gains", counts["times"])
    return difference(group_means(counts, each), "item_mad_ranking")


@count_metric(
    "Difference of score between groups of items",
    counts=item_scores,
    formula="mean over pairs of groups of the absolute difference of their means, over items, of "
    "the scores that the item has as a hit in the top {k} / its {over}; group = column {by} of "
    "items=, and items without one are left out",
    reading="0 if relevant items score alike whatever their group; in units of the scores.",
    use="Use it where scores mean something, such as predicted ratings; over=places counts wrong "
    "places as 0.",
    cite="zhu2018fairness",
    bounds=(0.0, np.inf),
    best="low",
    needs=("items", *_SCORED),
    fixed=IN_UNITS,
)
def item_mad_rating(counts: Counts) -> float:
    """How far the groups of items are apart in the scores of relevant items."""
    each = means(counts, "gains", counts["times"])
    return difference(group_means(counts, each), "item_mad_rating")


@metric(
    "Mean score of the list",
    formula="mean of the scores of the items in the top {k}; 0/0 for an empty list",
    reading="3.9 means that the items of a list score 3.9 on average, whatever that is worth.",
    use="Use it to compare groups of users where scores mean something, such as predicted ratings.",
    bounds=(-np.inf, np.inf),
    breaks=NO_LAW,
    needs=("shown", "scored"),
    fixed=IN_UNITS,
)
def mean_score(lists: Judged, k: int | None) -> Ratio:
    """How high the items of a list score on average."""
    scored = unmasked(lists.scored)
    places = (~np.isnan(scored)).sum(axis=1)
    return Ratio(np.nansum(scored, axis=1), places.astype(np.float64))


def unmasked(scores: Floats) -> Floats:
    """Scores, if there is no mask among them; NaN stands for an empty place."""
    endless = int(np.isinf(scores).sum())
    if endless:
        raise BadScores(
            f"{endless} places hold items that are masked, and so have no score.",
            "lists that can be filled with other items.",
            "set seen='removed' or 'kept', or ask for fewer places.",
        )
    return scores


@derived_metric(
    "Difference of ranking between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference of their means of {of}; group = "
    "column {by} of users=; users without one are left out, and a group without a list that counts",
    reading="0 if all groups are served equally well; 0.05 means that two groups are 0.05 apart in "
    "their mean NDCG, on average.",
    use="Use it like group_gap, where the best and the worst served group alone would say too "
    "little.",
    cite="deldjoo2021flexible",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def user_mad_ranking(means: Mapping[str, float], *, of: str = "ndcg", by: str = "group") -> float:
    """How far the groups of users are apart in how well they are served."""
    return difference(means.values(), "user_mad_ranking")


@derived_metric(
    "Difference of score between groups of users",
    of=(),
    formula="mean over pairs of groups of the absolute difference of their means of {of}; group = "
    "column {by} of users=; users without one are left out, and a group without a list that counts",
    reading="0 if what is shown to users of all groups scores alike; in units of the scores.",
    use="Use it where scores mean something, such as predicted ratings; otherwise look at "
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
    """How far the groups of users are apart in the scores of what they are shown."""
    return difference(means.values(), "user_mad_rating")


_DISPARITY_NEEDS = ("items", "users", "wanted", "people")


def chosen_by_pair(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group",
    items_by: str = "group", source: str = "train",
) -> Counts:  # fmt: skip
    """What users of each group chose, by the group of the item."""
    require_choice("source", source, ("train", "truth"))
    pairs = None if source == "train" else relevant_items(lists, counts).pairs()
    return chosen_pairs(lists.people, lists.stock, (users_by, items_by), pairs)


def shown_by_pair(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group", items_by: str = "group"
) -> Counts:
    """What users of each group are shown, by the group of the item."""
    owner, shown = lists.owner, lists.shown
    if not counts.all():
        owner, shown = owner[counts], shown[counts]
    return shown_pairs(lists.people, lists.stock, (users_by, items_by), owner, shown)


def both_by_pair(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group",
    items_by: str = "group", source: str = "train",
) -> Counts:  # fmt: skip
    """What users of each group chose and are shown, by the group of the item."""
    by = {"users_by": users_by, "items_by": items_by}
    shown = shown_by_pair(lists, k, counts, **by)
    return {**chosen_by_pair(lists, k, counts, source=source, **by), **shown}


_GROUPS = "; groups = columns {users_by} of users= and {items_by} of items="
_ONE = "; user_group = {user_group}, item_group = {item_group}: where one of them is all, the mean "
_ONE += "absolute distance from {neutral} over its pairs of groups"


@count_metric(
    "Bias of what users chose",
    counts=chosen_by_pair,
    formula="share that a group of items has in what a group of users chose / its share of the "
    "items, chosen = {source}" + _GROUPS + _ONE.replace("{neutral}", "1"),
    reading="1 if the users of the group choose items of the group as often as the catalogue "
    "offers them, 2 if twice as often. Over all groups: 0 if nobody has preferences.",
    use="Use it to know what groups prefer before a model comes in; bias_disparity_br is the same "
    "of what they are shown.",
    cite="tsintzou2019bias",
    bounds=(0.0, np.inf),
    best="low",
    needs=_DISPARITY_NEEDS,
)
def bias_disparity_bs(counts: Counts, *, user_group: str = "all", item_group: str = "all") -> float:
    """How much more often a group of users chooses a group of items than the catalogue offers."""
    return bias(counts, "chosen", user_group, item_group)


@count_metric(
    "Bias of what users are shown",
    counts=shown_by_pair,
    formula="share that a group of items has in the top {k} of a group of users / its share of the "
    "items" + _GROUPS + _ONE.replace("{neutral}", "1"),
    reading="1 if the users of the group are shown items of the group as often as the catalogue "
    "offers them, 2 if twice as often. Over all groups: 0 if all are shown the same.",
    use="Use it beside bias_disparity_bs: a model may follow what groups prefer, or add to it.",
    cite="tsintzou2019bias",
    bounds=(0.0, np.inf),
    best="low",
    needs=("shown", *_DISPARITY_NEEDS),
)
def bias_disparity_br(counts: Counts, *, user_group: str = "all", item_group: str = "all") -> float:
    """How much more often a group of users is shown a group of items than the catalogue offers."""
    return bias(counts, "shown", user_group, item_group)


@count_metric(
    "Bias disparity",
    counts=both_by_pair,
    formula="(BR - BS) / BS, BR = share that a group of items has in the top {k} of a group of "
    "users / its share of the items, BS = the same of what they chose, chosen = {source}; "
    "endless = {endless}: the value where only BS is 0, which is undefined if endless is 0"
    + _GROUPS + _ONE.replace("{neutral}", "0"),
    reading="0 if users of the group are shown items of the group as often as they chose them; 0.5 "
    "if half as often again, -1 if never.",
    use="Use it to see whether a model adds to what groups prefer, and for whom.",
    cite="tsintzou2019bias",
    bounds=(-1.0, np.inf),
    best="low",
    needs=("shown", *_DISPARITY_NEEDS),
)  # fmt: skip
def bias_disparity_bd(
    counts: Counts, *, user_group: str = "all", item_group: str = "all", endless: float = 0.0
) -> float:
    """How much more often a group of users is shown a group of items than it chose them."""
    shown, found = leaning(counts, "shown"), {}
    for pair, chosen in leaning(counts, "chosen").items():
        more = (shown[pair] or 0.0) - (chosen or 0.0)
        over_nothing = endless if more and endless else None
        found[pair] = more / chosen if chosen else over_nothing
    return pair_value(found, 0.0, user_group, item_group, "bias_disparity_bd")


Means = Mapping[str, float]


@derived_metric(
    "Gap between groups of users",
    of=(),
    formula="largest mean of {of} - smallest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and a group without a list that counts",
    reading="0.05 for ndcg means that the best served group has an NDCG 0.05 above the worst "
    "served. The ledger has the mean of each group.",
    use="Use it to see whom a model leaves behind. With many or small groups some gap is there by "
    "chance: a group with one user has that user's value for a mean, which the ledger warns of.",
    cite="ekstrand2018cool",
    bounds=(0.0, np.inf),
    best="low",
    needs=("users", "people"),
)
def group_gap(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """How far the means of the best and the worst served group of users are apart."""
    values = list(means.values())
    return float(np.max(values) - np.min(values))


@derived_metric(
    "Ratio between groups of users",
    of=(),
    formula="smallest mean of {of} / largest mean of {of}, over the groups of column {by} of "
    "users=; users without a group are left out, and a group without a list that counts; 1 where "
    "all means are 0",
    reading="0.8 means that the worst served group has 80% of what the best served has; 1 if all "
    "groups are served alike. The ledger has the mean of each group.",
    use="Use it like group_gap, across metrics of different size; a rule of thumb from employment "
    "law takes less than 0.8 as a sign of disadvantage. For metrics that are never negative.",
    cite="ekstrand2018cool",
    needs=("users", "people"),
)
def group_ratio(means: Means, *, of: str = "ndcg", by: str = "group") -> float:
    """What the worst served group of users has of the mean of the best served."""
    values = list(means.values())
    if np.min(values) < 0:
        raise UndefinedValue(
            f"a group of users has a mean of {np.min(values):g}, and a ratio of such means says "
            "nothing.",
            "a metric that is never negative.",
            "look at group_gap.",
        )
    return float(np.min(values) / np.max(values)) if np.any(values) else 1.0
