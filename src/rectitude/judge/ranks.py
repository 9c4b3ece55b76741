"""From counts to ranks: the tie rules."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, Floats, Integers, run_starts
from rectitude.judge.match import Matches


def ranks(matches: Matches, grades: Floats, rule: str) -> Integers:
    """The rank of each match under a tie rule; `grades` are those of the matched truth rows.

    Under `pessimistic` and `optimistic` the items of a tie stand in the order of their grades,
    items that the truth does not judge lowest of all, and equal grades in the order of the truth;
    neither depends on ids or on the order of the predictions. Under `average` every item of a tie
    has the first of its ranks. Under the other rules the items that come before were counted when
    matching.
    """
    if rule in ("given", "item_ascending", "item_descending"):
        return matches.above + matches.before + 1
    rank = matches.above + 1
    tied = np.flatnonzero(matches.tied > 1)
    if len(tied) and rule != "average":
        rank[tied] = _by_grade(matches, grades, tied, best_first=rule == "optimistic")
    return rank


def _by_grade(matches: Matches, grades: Floats, rows: Integers, best_first: bool) -> Integers:
    """Ranks inside ties. A truth row repeated for one position shares its rank."""
    spot = np.stack((matches.list[rows], matches.above[rows], matches.position[rows]), axis=1)
    spots, inverse = np.unique(spot, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    best, place = np.full(len(spots), -np.inf), np.full(len(spots), np.iinfo(np.int64).max)
    np.maximum.at(best, inverse, grades[rows])
    np.minimum.at(place, inverse, matches.truth[rows])
    order = np.lexsort((place, -best if best_first else best, spots[:, 1], spots[:, 0]))
    ordered = spots[order]
    new = np.ones(len(order), bool)
    new[1:] = np.any(ordered[1:, :2] != ordered[:-1, :2], axis=1)
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(order)))
    nth = np.arange(len(order)) - np.repeat(starts, sizes)
    tied = np.empty(len(spots), np.int64)
    tied[inverse] = matches.tied[rows]
    ahead = 0 if best_first else tied[order] - np.repeat(sizes, sizes)
    rank = np.empty(len(spots), np.int64)
    rank[order] = ordered[:, 1] + ahead + nth + 1
    return rank[inverse]


def undecided(matches: Matches, grades: Floats, relevant: Flags) -> Integers:
    """The lists in which the order among equals changes the rank of a relevant or graded item."""
    if not np.any(matches.tied > 1):
        return np.empty(0, np.int64)
    worst = ranks(matches, grades, "pessimistic")
    best = ranks(matches, grades, "optimistic")
    moved: Integers = matches.list[(worst != best) & (relevant | (grades > 0))]
    return moved[run_starts(moved)]
