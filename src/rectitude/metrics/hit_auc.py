"""Hits against the items that could be recommended: areas added up hit by hit, and a share."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Floats
from rectitude.judge.judged import Judged
from rectitude.metrics.facts import Facts
from rectitude.metrics.needs import needed
from rectitude.metrics.registry import Ratio, metric


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


def _areas(lists: Judged, k: int | None, below: Floats) -> Ratio:
    """The terms of each list over something; 0/0 where a hit has nothing to be compared with."""
    others = needed(lists.unseen, "unseen") - lists.relevant + 1
    void = (others == 0) & (lists.hits(k) > 0)
    size = np.where(others == 0, 1.0, others)[lists.list]
    terms = lists.hit * (size - (lists.rank - lists.nth)) / size
    return Ratio(lists.total(terms, upto=k), below).where(~void)
