"""Lists that meet the truth: repeated and unjudged items are dealt with, then matches found."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Integers
from rectitude.convention import Convention
from rectitude.data.ledger import Ledger
from rectitude.errors import DuplicateItems
from rectitude.judge.match import Matches, Ranking, join, match, repeat_flags
from rectitude.judge.sides import Collision, Sides
from rectitude.judge.truth import Truth


def matched(
    sides: Sides, ranking: Ranking, truth: Truth, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """Matches, once duplicates and unjudged items are dealt with."""
    matches, repeated = match(ranking, truth.rows, truth.items)
    if repeated.any():
        _account_for_duplicates(sides, ranking, repeated, convention, ledger)
        ranking, matches = _with_duplicates(ranking, truth, convention)
    else:
        ledger.count("lists_with_duplicates", 0, "lists hold an item twice")
    if convention.unjudged == "dropped":
        ranking, matches = _judged_only(ranking, truth, matches, convention, ledger)
    _confirm(sides, ranking, truth, matches)
    return ranking, matches


def _account_for_duplicates(
    sides: Sides, ranking: Ranking, repeated: Integers, convention: Convention, ledger: Ledger
) -> None:
    number = int(np.flatnonzero(repeated)[0])
    low, size = ranking.lists.start[number], ranking.lists.length[number]
    mine = ranking.items.whole[low : low + size]
    again = repeat_flags(np.zeros(size, np.int64), mine, np.arange(size))
    place = low + np.flatnonzero(again)[:1]
    row = int(ranking.lists.rows(place)[0])
    if not sides.items.exact:
        raise Collision
    lists, handed = int((repeated > 0).sum()), int(sides.handed.sum())
    first = f"list {sides.label(number)}, item {sides.items.label('predictions', row)!r}"
    fate = {"error": "", "first": "removed", "counted": "each counted"}[convention.duplicates]
    about = f"lists hold an item twice, {int(repeated.sum()):,} rows in all: {fate}"
    ledger.count("lists_with_duplicates", lists, about, handed, first, "warning")
    if convention.duplicates == "error":
        raise DuplicateItems(
            f"{lists} of {handed} lists contain an item twice (first: {first}).",
            "each item once per list.",
            "set duplicates='first' to keep the higher rank, or fix the predictions.",
        )


def _with_duplicates(
    ranking: Ranking, truth: Truth, convention: Convention
) -> tuple[Ranking, Matches]:
    if convention.duplicates == "counted":
        return ranking, join(ranking, truth.rows, truth.items)
    lists, where = ranking.lists.expand()
    preference = np.arange(len(where)) if ranking.key is None else -ranking.key.whole[where]
    again = repeat_flags(lists, ranking.items.whole[where], preference)
    ranking = ranking.keep(lists[~again], where[~again])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _judged_only(
    ranking: Ranking, truth: Truth, matches: Matches, convention: Convention, ledger: Ledger
) -> tuple[Ranking, Matches]:
    """The lists without the items that the truth does not judge."""
    lists, where = ranking.lists.expand()
    judged = np.zeros(len(ranking.items), bool)
    told = (truth.grades[matches.truth] >= 0) | (convention.negative_grades != "sampled")
    judged[(ranking.lists.start[matches.list] + matches.position)[told]] = True
    keep = judged[where]
    ledger.count(
        "rows_unjudged",
        int((~keep).sum()),
        "recommended items are not judged: removed before ranking",
        len(keep),
        weight="notice",
    )
    ranking = ranking.keep(lists[keep], where[keep])
    return ranking, match(ranking, truth.rows, truth.items)[0]


def _confirm(sides: Sides, ranking: Ranking, truth: Truth, matches: Matches) -> None:
    """Look at the ids themselves where codes are hashes."""
    rows = ranking.lists.rows(ranking.lists.start[matches.list] + matches.position)
    if not sides.items.same("predictions", rows, "truth", truth.rows.rows(matches.truth)):
        raise Collision
