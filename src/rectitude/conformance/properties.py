"""What golden data cases state of random splits: properties, each a count of what breaks it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

    Parts = dict[str, pl.DataFrame]

ID = "id"


@dataclass(frozen=True)
class Outcome:
    """What an operation gave: the rows it began with, and the parts of each fold."""

    all: pl.DataFrame
    folds: list[Parts]
    splits: list[tuple[Split, Split]]
    """each split before and after unknown users and items were dealt with"""
    candidates: pl.DataFrame | None = None
    numbers: tuple[int, ...] = (0,)
    """which fold of its series each is, from 0: some may have been left out"""

    def rows(self, part: str) -> pl.DataFrame:
        """A part of the first fold; one that it does not have holds no rows."""
        return self.folds[0].get(part, self.all.clear())

    def counts(self) -> dict[str, int]:
        """The numbers that cases give beside rows."""
        parts = self.folds[0]
        found = {name: frame.height for name, frame in parts.items()}
        if "" in parts:
            found |= {"users": parts[""]["user"].n_unique(), "items": parts[""]["item"].n_unique()}
        if self.splits:
            found |= _counts_of(self.splits[0], parts)
        return found


def _counts_of(splits: tuple[Split, Split], parts: Parts) -> dict[str, int]:
    before, after = (split.truth.frame for split in splits)
    pair = ["user", "item"]
    train = parts["train"]
    known = parts["test"].join(train, "user", "semi").join(train, "item", "semi")
    return {
        "train_after_dedup": train.unique(pair).height,
        "test_after_dedup_and_unknown_removal": known.unique(pair).height,
        "test_out_before_user_match": before.height,
        "test_out_users_dropped": before["user"].n_unique() - after["user"].n_unique(),
    }


Property = Callable[[Outcome, Any], int]
PROPERTIES: dict[str, Property] = {}


def states(function: Property) -> Property:
    """Make a function the meaning of the property that has its name."""
    PROPERTIES[function.__name__.strip("_")] = function
    return function


@states
def sizes(outcome: Outcome, stated: Mapping[str, int]) -> int:
    """The part has n rows."""
    return sum(abs(outcome.rows(part).height - n) for part, n in stated.items())


@states
def at_most(outcome: Outcome, stated: Mapping[str, int]) -> int:
    """The part has at most n rows."""
    return sum(max(outcome.rows(part).height - n, 0) for part, n in stated.items())


@states
def disjoint(outcome: Outcome, stated: list[str]) -> int:
    """No row is in two parts."""
    rows = [set(outcome.rows(part)[ID]) for part in stated]
    return sum(len(one & other) for one, other in combinations(rows, 2))


@states
def complete(outcome: Outcome, stated: list[str]) -> int:
    """Together the parts are all rows."""
    union = set().union(*(outcome.rows(part)[ID] for part in stated))
    return len(union ^ set(outcome.all[ID]))


@states
def within(outcome: Outcome, stated: Mapping[str, str]) -> int:
    """Every row of the part is in the other."""
    both = [(outcome.rows(part)[ID], outcome.rows(other)[ID]) for part, other in stated.items()]
    return sum(len(set(inner) - set(outer)) for inner, outer in both)


@states
def users(outcome: Outcome, stated: Mapping[str, int]) -> int:
    """The part has n distinct users."""
    return sum(abs(outcome.rows(part)["user"].n_unique() - n) for part, n in stated.items())


@states
def users_disjoint(outcome: Outcome, stated: list[str]) -> int:
    """No user is in both parts."""
    one, other = (set(outcome.rows(part)["user"]) for part in stated)
    return len(one & other)


@states
def users_equal(outcome: Outcome, stated: list[str]) -> int:
    """The same users are in both parts."""
    one, other = (set(outcome.rows(part)["user"]) for part in stated)
    return len(one ^ other)


@states
def rows_per_user(outcome: Outcome, stated: Mapping[str, Mapping[str, Any]]) -> int:
    """Each user of the part has so many of his rows there; in every fold."""
    every = dict(outcome.all.group_by("user").len().rows())
    wrong = 0
    for parts in outcome.folds:
        for part, rule in stated.items():
            held = parts[part].group_by("user").len().rows()
            wrong += sum(count != _number(rule, every[user]) for user, count in held)
    return wrong


def _number(rule: Mapping[str, Any], rows: int) -> int:
    if "n" in rule:
        return min(int(rule["n"]), rows)
    rounded: Mapping[str, Callable[[float], int]]
    rounded = {"ceil": math.ceil, "half_even": round, "floor": math.floor}
    return rounded[rule["round"]](rule["fraction"] * rows)


@states
def before(outcome: Outcome, stated: Mapping[str, float]) -> int:
    """Every timestamp of the part is before t."""
    return sum(int((outcome.rows(part)["timestamp"] >= t).sum()) for part, t in stated.items())


@states
def from_(outcome: Outcome, stated: Mapping[str, float]) -> int:
    """Every timestamp of the part is t or later."""
    return sum(int((outcome.rows(part)["timestamp"] < t).sum()) for part, t in stated.items())


@states
def latest(outcome: Outcome, stated: str) -> int:
    """No row of a user outside the part is later than his rows in it."""
    import polars as pl

    inside = outcome.rows(stated)
    first = inside.group_by("user").agg(pl.col("timestamp").min().alias("first"))
    outside = outcome.all.join(inside, ID, "anti").join(first, "user")
    return int((outside["timestamp"] > outside["first"]).sum())


@states
def fold_sizes(outcome: Outcome, stated: list[int]) -> int:
    """Rows in the test part of each fold, in any order."""
    return _otherwise([fold["test"].height for fold in outcome.folds], stated)


@states
def fold_users(outcome: Outcome, stated: list[int]) -> int:
    """Distinct users in the test part of each fold, in any order."""
    return _otherwise([fold["test"]["user"].n_unique() for fold in outcome.folds], stated)


def _otherwise(found: list[int], stated: list[int]) -> int:
    return int(sorted(found) != sorted(stated))


@states
def folds_disjoint(outcome: Outcome, stated: bool) -> int:
    """The test parts of the folds share no row."""
    tests = [set(fold["test"][ID]) for fold in outcome.folds]
    return sum(len(one & other) for one, other in combinations(tests, 2)) if stated else 0


@states
def folds_complete(outcome: Outcome, stated: bool) -> int:
    """Together the test parts of the folds are all rows."""
    union = set().union(*(fold["test"][ID] for fold in outcome.folds))
    return len(union ^ set(outcome.all[ID])) if stated else 0


@states
def folds_users_disjoint(outcome: Outcome, stated: bool) -> int:
    """No user is in the test part of two folds."""
    tests = [set(fold["test"]["user"]) for fold in outcome.folds]
    return sum(len(one & other) for one, other in combinations(tests, 2)) if stated else 0


@states
def test_known(outcome: Outcome, stated: list[str]) -> int:
    """Every user, item of test occurs in train."""
    test, train = outcome.rows("test"), outcome.rows("train")
    return sum(len(set(test[column]) - set(train[column])) for column in stated)


@states
def test_new_pairs(outcome: Outcome, stated: bool) -> int:
    """No user and item of test occur together in train."""
    pair = ["user", "item"]
    again = outcome.rows("test").join(outcome.rows("train"), pair, "semi")
    return again.height if stated else 0


@states
def candidates(outcome: Outcome, stated: Mapping[str, Any]) -> int:
    """That many users, that many items for each, no repeats, none of them in the parts named."""
    import polars as pl

    drawn = outcome.candidates
    if drawn is None:
        return int(stated["users"])
    pair = ["user", "item"]
    others = pl.concat([outcome.rows(part).select(pair) for part in stated.get("not_in", ())])
    counts = drawn.group_by("user").len()["len"]
    wrong = abs(len(counts) - int(stated["users"])) + int((counts != stated["per_user"]).sum())
    repeats = drawn.height - drawn.unique(pair).height if stated.get("unique") else 0
    return wrong + repeats + drawn.join(others, pair, "semi").height
