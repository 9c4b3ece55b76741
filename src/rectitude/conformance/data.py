"""Golden data cases: filters, splits and samples of other frameworks, done here in their words.

A case gives rows and counts, and of what is drawn at random properties: each of these is a function
that counts what breaks it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from rectitude.candidates.protocols import CANDIDATES, candidates_of
from rectitude.conformance.cases import Case
from rectitude.data.log import ROW, Log
from rectitude.errors import BadName, NothingToEvaluate, UnknownName
from rectitude.prepare import prepare
from rectitude.splits.protocols import protocol, protocols, resolve, steps
from rectitude.splits.run import planned
from rectitude.splits.split import Split

Parts = dict[str, pl.DataFrame]
ID = "id"
"""The number of a row in the case, whatever order its rows were put in."""


@dataclass(frozen=True)
class DataOutcome:
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


class PropertyCheck(NamedTuple):
    """One thing that a case says, and how much of ours is otherwise; None if it cannot be said."""

    name: str
    wrong: int | None


Wrong = Callable[[DataOutcome], int | None]


def checks(case: Case) -> list[PropertyCheck]:
    """Everything that a data case says, held against what is done here."""
    stored = json.loads(case.path.read_text("utf-8"))
    if "operation" not in stored:
        return [PropertyCheck(name, None) for name in case.expected]
    if stored.get("check") == "none":  # the framework fails: it says nothing
        return []
    asked = list(_asked(stored))
    if case.profile not in protocols():
        return [PropertyCheck(name, None) for name, _ in asked]
    try:
        outcome = _performed(_log(case, stored["operation"]), stored["operation"], case.profile)
        return [PropertyCheck(name, wrong(outcome)) for name, wrong in asked]
    except (BadName, UnknownName):  # words that the protocol does not know
        return [PropertyCheck(name, None) for name, _ in asked]
    except Exception:  # refused, or not foreseen: nothing of it agrees, and others go on
        return [PropertyCheck(name, 1) for name, _ in asked]


def declared(case: Case) -> bool:
    """Whether the protocol says why this case differs."""
    known = protocols().get(case.profile, {}).get("known_differences", {})
    return case.path.stem in known


def _asked(stored: Mapping[str, Any]) -> Iterator[tuple[str, Wrong]]:
    """The names of all that a case says, each with the function that counts what is otherwise."""
    for key, rows in stored.items():
        if key.startswith("expected_") and key.endswith("rows"):
            yield (
                key,
                _other_rows(key.removeprefix("expected_").removesuffix("rows").strip("_"), rows),
            )
    for name, count in stored.get("expected_counts", {}).items():
        yield f"count of {name}", _other_count(name, count)
    for nth, fold in enumerate(stored.get("folds", ())):
        for key, value in fold.items():
            yield f"fold {nth} {key}", _other_fold(nth, key, value, fold)
    for name, stated in stored.get("properties", {}).items():
        yield name, _broken(name, stated)


def _other_rows(part: str, rows: list[int]) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        parts = outcome.folds[0]
        if part in parts:
            return len(set(parts[part][ID]) ^ set(rows))
        return len(rows) if rows else 0

    return wrong


def _other_count(name: str, count: int) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        found = outcome.counts().get(name)
        return None if found is None else abs(found - count)

    return wrong


def _other_fold(nth: int, key: str, value: Any, fold: Mapping[str, Any]) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        if nth not in outcome.numbers:  # a fold without anything to be found is left out here
            if not fold.get("test_rows", True):
                return 0
            return value if key == "n_train" else len(value)
        part = outcome.folds[outcome.numbers.index(nth)][
            key.removesuffix("_rows").removeprefix("n_")
        ]
        return abs(part.height - value) if key == "n_train" else len(set(part[ID]) ^ set(value))

    return wrong


def _broken(name: str, stated: Any) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        return None if name not in PROPERTIES else PROPERTIES[name](outcome, stated)

    return wrong


def _log(case: Case, operation: Mapping[str, Any]) -> Log:
    """The interactions of a case; `row_order` puts them in another order."""
    frame = pl.read_parquet(case.inputs / "interactions.parquet")
    names = {"row": ID, "rating": "grade"}
    frame = frame.rename({name: names[name] for name in names if name in frame.columns})
    if "row_order" in operation:
        order = pl.DataFrame({ID: operation["row_order"]}, schema={ID: frame[ID].dtype})
        frame = order.join(frame, on=ID, how="left", maintain_order="left")
    return Log(frame.with_row_index(ROW), case.path.stem)


def _performed(log: Log, operation: Mapping[str, Any], profile: str) -> DataOutcome:
    words = {key: value for key, value in operation.items() if key not in ("base", "row_order")}
    name = words.pop("name")
    if name == "negative_sampling":
        if "base" not in operation:
            raise BadName("negative_sampling has no base.", "the split that it is for.")
        made = _performed(log, operation["base"], profile)
        return _sampled(made, words, profile)
    if "base" in operation:
        log = _done(log, operation["base"], profile)
    if name == "split":
        return _split(log, words, profile)
    return DataOutcome(log.frame, [{"": _filtered(log, name, words, profile).frame}], [])


def _done(log: Log, operation: Mapping[str, Any], profile: str) -> Log:
    """The log after an operation that comes before the one that is compared."""
    if "base" in operation:
        log = _done(log, operation["base"], profile)
    words = {key: value for key, value in operation.items() if key not in ("name", "base")}
    name = operation["name"]
    if name == "rows":
        return log.with_frame(log.frame.filter(pl.col(ID).is_between(words["from"], words["to"])))
    if name == "min_user_rows":
        return prepare(log, [{"step": "n_filter", "users": words["n"]}])
    if name == "deduplicate":
        return prepare(log, [{"step": "deduplicate", "order": "file", **words}])
    return _filtered(log, name, words, profile)


def _filtered(log: Log, name: str, words: Mapping[str, Any], profile: str) -> Log:
    recipe = steps(profile, words if name == "filter" else {"name": name, **words})
    try:
        return prepare(log, recipe)
    except NothingToEvaluate:  # frameworks go on with a table without rows
        return log.with_frame(log.frame.clear())


def _split(log: Log, words: Mapping[str, Any], profile: str) -> DataOutcome:
    stored, plan = protocol(profile), resolve(profile, words)
    before = planned(log, replace(plan, unknown={}), empty="kept")
    after = planned(log, plan, empty="kept")
    splits = after if isinstance(after, list) else [after]
    plain = before if isinstance(before, list) else [before]
    shown = plain if stored.get("rows") == "before_unknown" else splits
    parts = [_parts(one, stored["train"], words) for one in shown]
    numbers = tuple(map(_number, splits))
    return DataOutcome(log.frame, parts, [*zip(plain, splits, strict=True)], numbers=numbers)


def _number(split: Split) -> int:
    """Which of a series a split is, from 0."""
    number = split.name.rpartition("-")[2]
    return int(number) - 1 if number else 0


def _parts(split: Split, train: str, words: Mapping[str, Any]) -> Parts:
    """The parts of a split under the names that cases use."""
    inner = split.validation
    learnt = split.train if inner is None or train == "with_validation" else inner.train
    parts = {"train": learnt.frame, "test": split.truth.frame, "test_out": split.truth.frame}
    parts["test_in"] = _shown(split)
    if str(words.get("method")).endswith("_valid_only"):
        parts |= {"valid": parts["test"], "test": parts["test"].clear()}
    if inner is not None:
        parts |= {"valid": inner.truth.frame, "val_out": inner.truth.frame}
        parts |= {"val_train": inner.train.frame, "val_in": _shown(inner)}
    return parts


def _shown(split: Split) -> pl.DataFrame:
    """What is shown of the evaluated users: of those with something to be found."""
    shown = split.train if split.fold_in is None else split.fold_in
    return shown.frame.join(split.truth.frame.select("user").unique(), "user", "semi")


def _sampled(made: DataOutcome, words: Mapping[str, Any], profile: str) -> DataOutcome:
    if profile not in CANDIDATES:
        return made
    settings = {word: value for word, value in words.items() if value is not None}
    drawn = candidates_of(made.splits[0][1], profile, **settings)
    return replace(made, candidates=drawn.frame)


Property = Callable[[DataOutcome, Any], int]
PROPERTIES: dict[str, Property] = {}


def states(function: Property) -> Property:
    """Make a function the meaning of the property that has its name."""
    PROPERTIES[function.__name__.strip("_")] = function
    return function


@states
def sizes(outcome: DataOutcome, stated: Mapping[str, int]) -> int:
    """The part has n rows."""
    return sum(abs(outcome.rows(part).height - n) for part, n in stated.items())


@states
def at_most(outcome: DataOutcome, stated: Mapping[str, int]) -> int:
    """The part has at most n rows."""
    return sum(max(outcome.rows(part).height - n, 0) for part, n in stated.items())


@states
def disjoint(outcome: DataOutcome, stated: list[str]) -> int:
    """No row is in two parts."""
    rows = [set(outcome.rows(part)[ID]) for part in stated]
    return sum(len(one & other) for one, other in combinations(rows, 2))


@states
def complete(outcome: DataOutcome, stated: list[str]) -> int:
    """Together the parts are all rows."""
    union = set().union(*(outcome.rows(part)[ID] for part in stated))
    return len(union ^ set(outcome.all[ID]))


@states
def within(outcome: DataOutcome, stated: Mapping[str, str]) -> int:
    """Every row of the part is in the other."""
    both = [(outcome.rows(part)[ID], outcome.rows(other)[ID]) for part, other in stated.items()]
    return sum(len(set(inner) - set(outer)) for inner, outer in both)


@states
def users(outcome: DataOutcome, stated: Mapping[str, int]) -> int:
    """The part has n distinct users."""
    return sum(abs(outcome.rows(part)["user"].n_unique() - n) for part, n in stated.items())


@states
def users_disjoint(outcome: DataOutcome, stated: list[str]) -> int:
    """No user is in both parts."""
    one, other = (set(outcome.rows(part)["user"]) for part in stated)
    return len(one & other)


@states
def users_equal(outcome: DataOutcome, stated: list[str]) -> int:
    """The same users are in both parts."""
    one, other = (set(outcome.rows(part)["user"]) for part in stated)
    return len(one ^ other)


@states
def rows_per_user(outcome: DataOutcome, stated: Mapping[str, Mapping[str, Any]]) -> int:
    """Each user of the part has so many of his rows there; in every fold."""
    every = dict(outcome.all.group_by("user").len().rows())
    wrong = 0
    for parts in outcome.folds:
        for part, rule in stated.items():
            held = parts[part].group_by("user").len().rows()
            wrong += sum(count != _rows_stated(rule, every[user]) for user, count in held)
    return wrong


def _rows_stated(rule: Mapping[str, Any], rows: int) -> int:
    if "n" in rule:
        return min(int(rule["n"]), rows)
    rounded: Mapping[str, Callable[[float], int]]
    rounded = {"ceil": math.ceil, "half_even": round, "floor": math.floor}
    return rounded[rule["round"]](rule["fraction"] * rows)


@states
def before(outcome: DataOutcome, stated: Mapping[str, float]) -> int:
    """Every timestamp of the part is before t."""
    return sum(int((outcome.rows(part)["timestamp"] >= t).sum()) for part, t in stated.items())


@states
def from_(outcome: DataOutcome, stated: Mapping[str, float]) -> int:
    """Every timestamp of the part is t or later."""
    return sum(int((outcome.rows(part)["timestamp"] < t).sum()) for part, t in stated.items())


@states
def latest(outcome: DataOutcome, stated: str) -> int:
    """No row of a user outside the part is later than his rows in it."""
    inside = outcome.rows(stated)
    first = inside.group_by("user").agg(pl.col("timestamp").min().alias("first"))
    outside = outcome.all.join(inside, ID, "anti").join(first, "user")
    return int((outside["timestamp"] > outside["first"]).sum())


@states
def fold_sizes(outcome: DataOutcome, stated: list[int]) -> int:
    """Rows in the test part of each fold, in any order."""
    return _otherwise([fold["test"].height for fold in outcome.folds], stated)


@states
def fold_users(outcome: DataOutcome, stated: list[int]) -> int:
    """Distinct users in the test part of each fold, in any order."""
    return _otherwise([fold["test"]["user"].n_unique() for fold in outcome.folds], stated)


def _otherwise(found: list[int], stated: list[int]) -> int:
    return int(sorted(found) != sorted(stated))


@states
def folds_disjoint(outcome: DataOutcome, stated: bool) -> int:
    """The test parts of the folds share no row."""
    tests = [set(fold["test"][ID]) for fold in outcome.folds]
    return sum(len(one & other) for one, other in combinations(tests, 2)) if stated else 0


@states
def folds_complete(outcome: DataOutcome, stated: bool) -> int:
    """Together the test parts of the folds are all rows."""
    union = set().union(*(fold["test"][ID] for fold in outcome.folds))
    return len(union ^ set(outcome.all[ID])) if stated else 0


@states
def folds_users_disjoint(outcome: DataOutcome, stated: bool) -> int:
    """No user is in the test part of two folds."""
    tests = [set(fold["test"]["user"]) for fold in outcome.folds]
    return sum(len(one & other) for one, other in combinations(tests, 2)) if stated else 0


@states
def test_known(outcome: DataOutcome, stated: list[str]) -> int:
    """Every user, item of test occurs in train."""
    test, train = outcome.rows("test"), outcome.rows("train")
    return sum(len(set(test[column]) - set(train[column])) for column in stated)


@states
def test_new_pairs(outcome: DataOutcome, stated: bool) -> int:
    """No user and item of test occur together in train."""
    pair = ["user", "item"]
    again = outcome.rows("test").join(outcome.rows("train"), pair, "semi")
    return again.height if stated else 0


@states
def candidates(outcome: DataOutcome, stated: Mapping[str, Any]) -> int:
    """That many users, that many items for each, no repeats, none of them in the parts named."""
    drawn = outcome.candidates
    if drawn is None:
        return int(stated["users"])
    pair = ["user", "item"]
    others = pl.concat([outcome.rows(part).select(pair) for part in stated.get("not_in", ())])
    counts = drawn.group_by("user").len()["len"]
    wrong = abs(len(counts) - int(stated["users"])) + int((counts != stated["per_user"]).sum())
    repeats = drawn.height - drawn.unique(pair).height if stated.get("unique") else 0
    return wrong + repeats + drawn.join(others, pair, "semi").height
