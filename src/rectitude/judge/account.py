"""What the judged lists tell the ledger: who was there, who was missing, what was short or
empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rectitude.arrays import Flags
from rectitude.data.ledger import Ledger, Weight
from rectitude.errors import NothingToEvaluate
from rectitude.judge.judged import Judged
from rectitude.judge.sides import Sides

if TYPE_CHECKING:
    from rectitude.data.table import Table


def account(sides: Sides, judged: Judged, deepest: int | None, ledger: Ledger) -> None:
    """Count users, lists and items on both sides, and name the columns that were used."""
    ledger.note("predictions", _columns(sides.sources.predictions))
    ledger.note("truth", _columns(sides.sources.truth))
    told, handed, returned = judged.in_truth, judged.handed, judged.returned
    if not (told & handed).any():
        raise _strangers(sides, told, handed)

    def count(name: str, flags: Flags, about: str, of: Flags, weight: Weight = "fact") -> None:
        first = sides.label(np.flatnonzero(flags)[0]) if flags.any() else ""
        ledger.count(name, int(flags.sum()), about, int(of.sum()), first, weight)

    who = "users in the truth" if sides.by_user else "lists in the truth"
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
    if sides.left_out:
        about = "lists belong to users who are not to be evaluated: left out"
        ledger.count("lists_left_out", sides.left_out, about, weight="notice")
    if sides.foreign is None:
        ledger.note("unknown users and items", "not counted: no train or items given")
    else:
        about = "recommended items are not in the catalogue"
        rows = len(sides.items.codes["predictions"])
        ledger.count("recommended_unknown", sides.foreign, about, rows, weight="notice")
    if deepest is not None:
        short = handed & (returned > 0) & (returned < deepest)
        count("lists_short", short, f"lists are shorter than {deepest}", handed, "notice")


def _columns(table: Table) -> str:
    used = [f"{role} = {name!r}" if name else role for role, name in table.columns.items()]
    return f"{table.source} ({', '.join(used)})"


def _strangers(sides: Sides, told: Flags, handed: Flags) -> NothingToEvaluate:
    theirs = sides.label(np.flatnonzero(handed)[0]) if handed.any() else "none"
    ours = sides.label(np.flatnonzero(told)[0]) if told.any() else "none"
    return NothingToEvaluate(
        f"no user is common to the predictions ({int(handed.sum())} users, first: {theirs}) "
        f"and the truth ({int(told.sum())} users, first: {ours}).",
        "lists for at least one user of the truth.",
        "check that both files use the same ids and the right columns.",
    )
