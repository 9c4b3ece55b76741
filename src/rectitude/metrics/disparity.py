"""Bias disparity: whether groups of users are shown groups of items as they chose them.

Counts of pairs of groups add up over batches. Users and items without a group are left out.
"""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.groupwise import leaning, pair_value
from rectitude.data.halves import require_choice
from rectitude.data.parity import bias, chosen_pairs, shown_pairs
from rectitude.judge.judged import Judged
from rectitude.metrics.fairness import relevant_items
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Counts, count_metric

_NEEDS = ("items", "users", "wanted", "people")


def chosen_by_pair(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group",
    items_by: str = "group", source: str = "train",
) -> Counts:  # fmt: skip
    """What users of each group chose, by the group of the item."""
    require_choice("source", source, ("train", "truth"))
    stock, people = needed(lists.stock, "wanted"), needed(lists.people, "people")
    pairs = None if source == "train" else relevant_items(lists, counts).pairs()
    return chosen_pairs(people, stock, (users_by, items_by), pairs)


def shown_by_pair(
    lists: Judged, k: int | None, counts: Flags, *, users_by: str = "group", items_by: str = "group"
) -> Counts:
    """What users of each group are shown, by the group of the item."""
    stock, people = needed(lists.stock, "shown"), needed(lists.people, "people")
    owner, shown = needed(lists.owner, "people"), needed(lists.shown, "shown")
    if not counts.all():
        owner, shown = owner[counts], shown[counts]
    return shown_pairs(people, stock, (users_by, items_by), owner, shown)


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
    needs=_NEEDS,
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
    needs=("shown", *_NEEDS),
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
    needs=("shown", *_NEEDS),
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
