"""Preferences between the items of a list, from judgements that come in groups.

A row of judgements has a level. Within a subgroup, an item is preferred to all items of lower
levels. The subgroups of a group are the judgements of one person, so preferences carry over: if a
is preferred to b, and b to c, then a is preferred to c. Groups may contradict each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from rectitude.arrays import Flags, Floats
from rectitude.errors import BadGrades

COLUMNS = ("list", "group", "part", "item", "level")
"""The columns of judgements: the list, the group, the subgroup, the item and its level."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The preferences of one group. Items that were recommended come first, by rank."""

    levels: Floats
    """(items,) the level of each item; NaN if the group did not judge it"""
    preferred: Flags
    """(items, items) whether an item is preferred to another one"""
    parts: int
    """how many subgroups there are"""


@dataclass(frozen=True, slots=True)
class Opinions:
    """The preferences of all groups about one list, and how many judged items it has."""

    groups: tuple[Opinion, ...]
    retrieved: int


def judge_preferences(lists: pl.DataFrame, judgements: pl.DataFrame) -> dict[Hashable, Opinions]:
    """Return the preferences about every judged list; `lists` has the items of each list in order.

    A judged list that is missing has no items.
    """
    _require_levels(judgements)
    ranked = dict(lists.group_by("list").agg("item").iter_rows())
    return {
        key: _judge_list(ranked.get(key, []), rows)
        for (key,), rows in judgements.group_by("list", maintain_order=True)
    }


def _judge_list(ranked: list[Hashable], rows: pl.DataFrame) -> Opinions:
    judged = set(rows["item"])
    found = [item for item in ranked if item in judged]
    order = [*found, *sorted(judged.difference(found))]
    places = {item: place for place, item in enumerate(order)}
    groups = tuple(
        _form_opinion(group, places)
        for _, group in rows.sort("group", maintain_order=True).group_by(
            "group", maintain_order=True
        )
    )
    return Opinions(groups, len(found))


def _form_opinion(rows: pl.DataFrame, places: dict[Hashable, int]) -> Opinion:
    """Return the preferences of a group: those within its subgroups, and what follows from them."""
    levels = np.full(len(places), np.nan)
    preferred = np.zeros((len(places), len(places)), np.bool_)
    parts = list(_split_parts(rows, places))
    for place, level in parts:
        preferred[np.ix_(place, place)] |= level[:, None] > level[None, :]
        levels[place] = level
    if len(parts) > 1:
        judged = np.flatnonzero(np.isfinite(levels))
        within = np.ix_(judged, judged)
        preferred[within] = _add_transitive(preferred[within])
    _require_consistency(preferred, rows, list(places))
    return Opinion(levels, preferred, len(parts))


def _split_parts(
    rows: pl.DataFrame, places: dict[Hashable, int]
) -> Iterator[tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Floats]]:
    """Yield the places and the levels of the items of each subgroup."""
    for _, part in rows.group_by("part", maintain_order=True):
        place = np.array([places[item] for item in part["item"]], np.intp)
        yield place, part["level"].to_numpy().astype(np.float64)


def _add_transitive(preferred: Flags) -> Flags:
    """Return preferences with all that follow from them."""
    while True:
        steps = preferred.astype(np.float32)
        more = preferred | (steps @ steps > 0)
        if (more == preferred).all():
            return preferred
        preferred = more


def _require_levels(judgements: pl.DataFrame) -> None:
    """Raise an error for levels below 0, for items that are judged twice, and for items that are
    relevant and not."""
    below = judgements.filter((pl.col("level") < 0) | ~pl.col("level").is_finite())
    if below.height:
        raise BadGrades(
            f"{below.height} levels of preferences are below 0 or not finite (first: "
            f"{below['level'][0]:g} for {below['item'][0]!r} of query {below['list'][0]!r}).",
            "levels of at least 0; 0 means not relevant.",
        )
    twice = judgements.filter(judgements.select("list", "group", "part", "item").is_duplicated())
    if twice.height:
        raise BadGrades(
            f"{twice.height} rows judge an item again in the same subgroup (first: "
            f"{twice['item'][0]!r} of query {twice['list'][0]!r}).",
            "one level for each item of a subgroup.",
        )
    relevant = (pl.col("level") > 0).over("list", "group", "item")
    both = judgements.filter(relevant.n_unique().over("list", "group", "item") > 1)
    if both.height:
        raise BadGrades(
            f"{both['item'][0]!r} of query {both['list'][0]!r} has level 0 and a level above 0 in "
            f"one group.",
            "0 in all subgroups of a group, or in none.",
        )


def _require_consistency(preferred: Flags, rows: pl.DataFrame, items: list[Hashable]) -> None:
    """Raise an error if one group prefers each of two items to the other one."""
    both = np.argwhere(np.triu(preferred & preferred.T, 1))
    if len(both):
        first, second = (items[place] for place in both[0])
        raise BadGrades(
            f"group {rows['group'][0]!r} of query {rows['list'][0]!r} prefers {first!r} to "
            f"{second!r}, and {second!r} to {first!r}.",
            "preferences that do not contradict each other within a group.",
            "write contradicting preferences as two groups.",
        )
