"""How many preferences between items a list fulfils: the preference measures of trec_eval.

A preference is fulfilled if the preferred item is ranked above the other one, which may be missing.
A reach says which preferences are possible: those between two items of the list (`retrieved`),
those with at least one (`implied`), or all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import numpy as np

from rectitude.arrays import Flags, Integers
from rectitude.judge.preferences import Opinion, Opinions

Reach = Literal["all", "retrieved", "implied"]
Measure = Callable[[Opinions], float]


def count_preferences(group: Opinion, retrieved: int, reach: Reach) -> tuple[int, int]:
    """Return how many preferences of a group a list fulfils, and how many are possible."""
    preferred, r = group.preferred, retrieved
    fulfilled = int(np.triu(preferred[:r, :r]).sum())
    possible = int(preferred[:r, :r].sum())
    if reach != "retrieved":
        fulfilled += int(preferred[:r, r:].sum())
        possible += int(preferred[:r, r:].sum() + preferred[r:, :r].sum())
    if reach == "all":
        possible += int(preferred[r:, r:].sum())
    return fulfilled, possible


def count_balanced(group: Opinion, retrieved: int, reach: Reach) -> tuple[int, int]:
    """Return the same counts with as many items of level 0 as relevant ones.

    Missing items count as if they were at the end of the list. Surplus ones are left out.
    """
    levels = group.levels if reach == "all" else group.levels[:retrieved]
    relevant, irrelevant = int((levels > 0).sum()), int((levels == 0).sum())
    if relevant < irrelevant:
        recount = _recount_items if group.parts > 1 else _recount_pairs
        return recount(group, retrieved, reach, relevant)
    fulfilled, possible = count_preferences(group, retrieved, reach)
    found, every = (int((part > 0).sum()) for part in (group.levels[:retrieved], group.levels))
    missing = relevant - irrelevant
    return fulfilled + found * missing, possible + every * missing


def _recount_pairs(group: Opinion, retrieved: int, reach: Reach, relevant: int) -> tuple[int, int]:
    """Return the counts for a group without subgroups.

    As in trec_eval, every judged item is compared with the first items of level 0, although the
    others of level 0 are not preferred to them.
    """
    levels = group.levels if reach == "all" else group.levels[:retrieved]
    above = np.flatnonzero(levels > 0)
    judged, first = np.flatnonzero(np.isfinite(levels)), np.flatnonzero(levels == 0)[:relevant]
    pairs = np.argwhere(group.preferred[np.ix_(above, above)])
    better = np.concatenate([above[pairs[:, 0]], np.repeat(judged, len(first))])
    worse = np.concatenate([above[pairs[:, 1]], np.tile(first, len(judged))])
    return int(((better < worse) & (better < retrieved)).sum()), len(better)


def _recount_items(group: Opinion, retrieved: int, reach: Reach, relevant: int) -> tuple[int, int]:
    """Return the counts for a group with subgroups, without the surplus items of level 0.

    As in trec_eval, there are as many of these as relevant items of the whole group.
    """
    irrelevant = group.levels == 0
    within = irrelevant if reach == "all" else irrelevant[:retrieved]
    surplus = np.flatnonzero(within)[int((group.levels > 0).sum()) :]
    end = surplus[0] if len(surplus) else len(within)
    kept: Flags = ~(irrelevant & (np.arange(len(irrelevant)) >= end))
    left = Opinion(group.levels, group.preferred & kept[:, None] & kept[None, :], group.parts)
    return count_preferences(left, retrieved, reach)


Counting = Callable[[Opinion, int, Reach], tuple[int, int]]


def _sum_fulfilled(opinions: Opinions, reach: Reach) -> float:
    return float(sum(_counts(opinions, count_preferences, reach)[:, 0]))


def _sum_possible(opinions: Opinions, reach: Reach) -> float:
    return float(sum(_counts(opinions, count_preferences, reach)[:, 1]))


def _share(opinions: Opinions, reach: Reach) -> float:
    """Return the share of preferences that are fulfilled, over all groups."""
    possible = _sum_possible(opinions, reach)
    return _sum_fulfilled(opinions, reach) / possible if possible else 0.0


def _mean_share(opinions: Opinions, reach: Reach, counting: Counting = count_preferences) -> float:
    """Return the mean over groups of the share of preferences that are fulfilled."""
    counts = _counts(opinions, counting, reach)
    return float(np.mean([above / below if below else 0.0 for above, below in counts.tolist()]))


def _mean_balanced_share(opinions: Opinions, reach: Reach) -> float:
    """Return the same mean with balanced counts; as in trec_eval, 0 if a group has no possible
    preference."""
    possible = _counts(opinions, count_balanced, reach)[:, 1]
    return _mean_share(opinions, reach, count_balanced) if possible.all() else 0.0


def _mean_of_pairs(opinions: Opinions, reach: Reach) -> float:
    """Return the mean over pairs of items of the share of groups that prefer the upper one.

    A pair without a recommended item has a share of 0.
    """
    groups = np.stack([group.preferred for group in opinions.groups]).sum(axis=0)
    upper, both = np.triu(groups, 1), np.triu(groups + groups.T, 1)
    last = opinions.retrieved if reach == "retrieved" else len(groups)
    judged = both[: opinions.retrieved, :last]
    counted = judged > 0
    pairs = int(counted.sum())
    if reach == "all":
        pairs += int((both[opinions.retrieved :, opinions.retrieved :] > 0).sum())
    shares = upper[: opinions.retrieved, :last][counted] / judged[counted]
    return float(shares.sum()) / pairs if pairs else 0.0


def _counts(opinions: Opinions, counting: Counting, reach: Reach) -> Integers:
    counts = [counting(group, opinions.retrieved, reach) for group in opinions.groups]
    return np.array(counts, np.int64).reshape(-1, 2)


def _of(measure: Callable[..., float], reach: Reach) -> Measure:
    return partial(measure, reach=reach)


PREFERENCE_MEASURES: Mapping[str, Measure] = {
    "prefs_num_prefs_poss": _of(_sum_possible, "all"),
    "prefs_num_prefs_ful": _of(_sum_fulfilled, "all"),
    "prefs_num_prefs_ful_ret": _of(_sum_fulfilled, "retrieved"),
    "prefs_simp": _of(_share, "all"),
    "prefs_pair": _of(_mean_of_pairs, "all"),
    "prefs_avgjg": _of(_mean_share, "all"),
    "prefs_avgjg_Rnonrel": _of(_mean_balanced_share, "all"),
    "prefs_simp_ret": _of(_share, "retrieved"),
    "prefs_pair_ret": _of(_mean_of_pairs, "retrieved"),
    "prefs_avgjg_ret": _of(_mean_share, "retrieved"),
    "prefs_avgjg_Rnonrel_ret": _of(_mean_balanced_share, "retrieved"),
    "prefs_simp_imp": _of(_share, "implied"),
    "prefs_pair_imp": _of(_mean_of_pairs, "implied"),
    "prefs_avgjg_imp": _of(_mean_share, "implied"),
}
"""The measures by their name in trec_eval, in the order in which it prints them."""
