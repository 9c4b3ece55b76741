"""What the judged lists tell the ledger: who was there, who was missing, what was short or
empty."""

from __future__ import annotations

import numpy as np

from rectitude.arrays import Flags, distinct_codes
from rectitude.data.ids import lookalikes
from rectitude.data.ledger import Ledger, Weight
from rectitude.data.table import Table
from rectitude.errors import BadIds, NothingToEvaluate
from rectitude.judge.align import Aligned
from rectitude.judge.judged import Judged


def account(sides: Aligned, judged: Judged, deepest: int | None, ledger: Ledger) -> None:
    """Count users, lists and items on both sides, and name the columns that were used."""
    dense = sides.sources.dense
    ledger.note("predictions", dense.source if dense else _columns(sides.sources.predictions))
    ledger.note("truth", _columns(sides.sources.truth))
    told, handed, returned = judged.in_truth, judged.handed, judged.returned
    if not (told & handed).any() and sides.sources.left == "all":
        raise _strangers(sides, told, handed)
    if not len(judged.list):
        _no_match(sides, ledger)

    def count(name: str, flags: Flags, about: str, of: Flags, weight: Weight = "fact") -> None:
        first = sides.label(np.flatnonzero(flags)[0]) if flags.any() else ""
        ledger.count(name, int(flags.sum()), about, int(of.sum()), first, weight)

    who = _who(sides)
    ledger.count("users_in_truth", int(told.sum()), who)
    ledger.count("users_with_list", int((told & handed).sum()), f"{who} have predictions")
    count("users_without_list", told & ~handed, f"{who} have no predictions", told, "warning")
    nothing = told & (judged.relevant == 0)
    count("users_without_relevant", nothing, f"{who} have no relevant item", told, "notice")
    count("lists_not_in_truth", handed & ~told, "lists have no truth", handed, "notice")
    count("lists_empty", handed & (returned == 0), "lists are empty", handed, "warning")
    if sides.listless is not None and len(sides.listless):
        about = "users in the truth have no list to be evaluated by: not counted"
        first = repr(sides.listless[0])
        ledger.count("users_without_any_list", len(sides.listless), about, None, first, "warning")
    if sides.absent:
        about = "users to be evaluated are in neither predictions nor truth"
        ledger.count("users_absent", sides.absent, about, weight="warning")
    if sides.sources.weights is not None:
        ledger.note("weights", _columns(sides.sources.weights))
    if sides.left_out:
        about = "lists belong to users who are not to be evaluated: left out"
        ledger.count("lists_left_out", sides.left_out, about, weight="notice")
    _unknown_items(sides, ledger)
    if deepest is not None:
        short = handed & (returned > 0) & (returned < deepest)
        count("lists_short", short, f"lists are shorter than {deepest}", handed, "notice")


def _unknown_items(sides: Aligned, ledger: Ledger) -> None:
    """Count what is predicted of items that nobody knows."""
    if sides.foreign is None:
        ledger.note("unknown users and items", "not counted: no train or items given")
        return
    dense = sides.sources.dense
    what = "recommended items are" if dense is None else "scores are of items"
    times = 1 if dense is None else dense.rows
    rows = len(sides.items.codes["predictions"]) * times
    about = f"{what} not in {sides.catalogue}"
    ledger.count("recommended_unknown", sides.foreign * times, about, rows, weight="notice")


def _who(sides: Aligned) -> str:
    dense = sides.sources.dense
    if dense is not None and dense.kind == "logits":
        return "targets"
    return "users in the truth" if sides.by_user else "lists in the truth"


def _columns(table: Table) -> str:
    used = [f"{role} = {name!r}" if name else role for role, name in table.columns.items()]
    return f"{table.source} ({', '.join(used)})"


def _strangers(sides: Aligned, told: Flags, handed: Flags) -> NothingToEvaluate:
    theirs = sides.label(np.flatnonzero(handed)[0]) if handed.any() else "none"
    ours = sides.label(np.flatnonzero(told)[0]) if told.any() else "none"
    alike = lookalikes(sides.keys.filter(handed), sides.keys.filter(told))
    cause = f"; some differ only by {alike}" if alike else ""
    return NothingToEvaluate(
        f"no user is common to the predictions ({int(handed.sum())} users, first: {theirs}) "
        f"and the truth ({int(told.sum())} users, first: {ours}){cause}.",
        "lists for at least one user of the truth.",
        "check that both files use the same ids and the right columns.",
    )


def _no_match(sides: Aligned, ledger: Ledger) -> None:
    """Not one recommended item is in the truth of its list: say so, and why if it shows."""
    theirs, ours = sides.items.columns["predictions"], sides.items.columns["truth"]
    some = sides.sources.left == "some"  # of lists that were looked at when they came
    examples = "" if some else f"predictions {theirs[0]!r}, truth {ours[0]!r}"
    alike = "" if some or _share_ids(sides) else lookalikes(theirs, ours)
    if alike:
        raise BadIds(
            f"no item of the predictions is in the truth, and some differ only by {alike} "
            f"(first: {examples}).",
            "the same ids on both sides.",
            "clean the item ids of one side.",
        )
    about = "evaluation without any hit: no recommended item is in the truth of its list"
    ledger.count("without_any_hit", 1, about, None, examples, "warning")


def _share_ids(sides: Aligned) -> bool:
    theirs, ours = (distinct_codes(sides.items.codes[side]) for side in ("predictions", "truth"))
    return bool(np.isin(ours, theirs).any())
