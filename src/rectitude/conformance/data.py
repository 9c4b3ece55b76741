"""Golden data cases: filters, splits and negative samples of other frameworks, done by rectitude
with the parameters of the framework.

A case lists the expected rows and counts. If rows are drawn at random, it lists properties instead;
a function per property counts the violations.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl

from rectitude.candidate_sets.protocols import CANDIDATES
from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.conformance.cases import Case
from rectitude.data.log import ROW, Log
from rectitude.errors import BadArgument, BadSetting, NothingToEvaluate, UnknownName
from rectitude.preparing import prepare
from rectitude.splits.protocols import protocol, protocols, read_words, resolve, steps
from rectitude.splits.run import carry_out
from rectitude.splits.sequences import HISTORY, sequences_of
from rectitude.splits.split import Split

Parts = dict[str, pl.DataFrame]
ID = "id"
"""The column with the number of each row in the case, which does not change with the row order."""


@dataclass(frozen=True)
class DataOutcome:
    """The result of an operation: the rows it started from, and the parts of each fold."""

    all: pl.DataFrame
    folds: list[Parts]
    splits: list[tuple[Split, Split]]
    """each split before and after the treatment of unknown users and items"""
    candidates: pl.DataFrame | None = None
    numbers: tuple[int, ...] = (0,)
    """the number of each fold in its series, from 0; empty folds may be missing"""

    def rows(self, part: str) -> pl.DataFrame:
        """Return a part of the first fold, without rows if the fold does not have it."""
        return self.folds[0].get(part, self.all.clear())

    def counts(self) -> dict[str, int]:
        """Return the counts that cases list besides rows."""
        parts = self.folds[0]
        numbers = {name: frame.height for name, frame in parts.items()}
        if "" in parts:
            table = parts[""]
            numbers |= {"users": table["user"].n_unique(), "items": table["item"].n_unique()}
        if self.splits:
            numbers |= _count_split(self.splits[0], parts)
        return numbers


def _count_split(splits: tuple[Split, Split], parts: Parts) -> dict[str, int]:
    before, after = (split.truth.frame for split in splits)
    pair = ["user", "item"]
    train = parts["train"]
    known_rows = parts["test"].join(train, "user", "semi").join(train, "item", "semi")
    return {
        "train_after_dedup": train.unique(pair).height,
        "test_after_dedup_and_unknown_removal": known_rows.unique(pair).height,
        "test_out_before_user_match": before.height,
        "test_out_users_dropped": before["user"].n_unique() - after["user"].n_unique(),
    }


class PropertyCheck(NamedTuple):
    """One expectation of a case, and how many rows, lines or values differ from it; None if it
    cannot be checked."""

    name: str
    wrong: int | None


Wrong = Callable[[DataOutcome], int | None]
"""A function that counts what differs from one expectation."""


def checks(case: Case) -> list[PropertyCheck]:
    """Check every expectation of a data case against the result of rectitude."""
    stored = json.loads(case.path.read_text("utf-8"))
    if "operation" not in stored:
        return [PropertyCheck(name, None) for name in case.expected]
    if stored.get("check") == "none":  # the framework fails: there is nothing to compare
        return []
    expectations = list(_list_expectations(stored))
    if case.profile not in protocols():
        return [PropertyCheck(name, None) for name, _ in expectations]
    try:
        outcome = _perform(_read_log(case, stored["operation"]), stored["operation"], case.profile)
        return [PropertyCheck(name, wrong(outcome)) for name, wrong in expectations]
    except (BadArgument, UnknownName):  # the protocol does not support these parameters
        return [PropertyCheck(name, None) for name, _ in expectations]
    except Exception:  # the whole case counts as wrong; other cases continue
        return [PropertyCheck(name, 1) for name, _ in expectations]


def is_declared(case: Case) -> bool:
    """Return whether the protocol declares that this case differs."""
    declared = protocols().get(case.profile, {}).get("known_differences", {})
    return case.path.stem in declared


def _list_expectations(stored: Mapping[str, Any]) -> Iterator[tuple[str, Wrong]]:
    """Yield the name of each expectation with the function that counts the differences."""
    for key, rows in stored.items():
        if key.startswith("expected_") and key.endswith("_sequences"):
            part = key.removeprefix("expected_").removesuffix("_sequences")
            yield key, _compare_sequences(part, rows)
        elif key.startswith("expected_") and key.endswith("rows"):
            part = key.removeprefix("expected_").removesuffix("rows").strip("_")
            yield key, _compare_rows(part, rows)
    for name, count in stored.get("expected_counts", {}).items():
        yield f"count of {name}", _compare_count(name, count)
    for nth, fold in enumerate(stored.get("folds", ())):
        for key, value in fold.items():
            yield f"fold {nth} {key}", _compare_fold(nth, key, value, fold)
    for name, stated in stored.get("properties", {}).items():
        yield name, _check_property(name, stated)


def _compare_rows(part: str, rows: list[int]) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        parts = outcome.folds[0]
        if part in parts:
            return len(set(parts[part][ID]) ^ set(rows))
        return len(rows) if rows else 0

    return wrong


def _compare_sequences(part: str, sequences: Mapping[str, list[object]]) -> Wrong:
    """Compare the items before each row of a part, by the number of the row."""

    def wrong(outcome: DataOutcome) -> int | None:
        ((_, split),) = outcome.splits
        known = set(outcome.rows(part)[ID])
        found: dict[str, list[object]] = {
            str(number): items
            for targets in sequences_of(split).values()
            for number, items in targets.select(ID, HISTORY).iter_rows()
            if number in known
        }
        return sum(found.get(row) != sequences.get(row) for row in {*found, *sequences})

    return wrong


def _compare_count(name: str, count: int) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        number = outcome.counts().get(name)
        return None if number is None else abs(number - count)

    return wrong


def _compare_fold(nth: int, key: str, value: Any, fold: Mapping[str, Any]) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        if nth not in outcome.numbers:  # rectitude leaves out folds without truth
            if not fold.get("test_rows", True):
                return 0
            return value if key == "n_train" else len(value)
        part = outcome.folds[outcome.numbers.index(nth)][
            key.removesuffix("_rows").removeprefix("n_")
        ]
        return abs(part.height - value) if key == "n_train" else len(set(part[ID]) ^ set(value))

    return wrong


def _check_property(name: str, stated: Any) -> Wrong:
    def wrong(outcome: DataOutcome) -> int | None:
        return None if name not in PROPERTIES else PROPERTIES[name](outcome, stated)

    return wrong


def _read_log(case: Case, operation: Mapping[str, Any]) -> Log:
    """Read the interactions of a case, in the order of `row_order` if the operation has one."""
    frame = pl.read_parquet(case.inputs / "interactions.parquet")
    names = {"row": ID, "rating": "grade"}
    frame = frame.rename({name: names[name] for name in names if name in frame.columns})
    if "row_order" in operation:
        order = pl.DataFrame({ID: operation["row_order"]}, schema={ID: frame[ID].dtype})
        frame = order.join(frame, on=ID, how="left", maintain_order="left")
    return Log(frame.with_row_index(ROW), case.path.stem)


def _perform(log: Log, operation: Mapping[str, Any], profile: str) -> DataOutcome:
    words = {key: value for key, value in operation.items() if key not in ("base", "row_order")}
    name = words.pop("name")
    if name == "negative_sampling":
        if "base" not in operation:
            raise BadSetting(
                "the operation negative_sampling has no key 'base'.",
                "base: the split for which negatives are sampled.",
            )
        split_outcome = _perform(log, operation["base"], profile)
        return _sample(split_outcome, words, profile)
    if "base" in operation:
        log = _apply(log, operation["base"], profile)
    if name == "split":
        return _split(log, words, profile)
    return DataOutcome(log.frame, [{"": _filter(log, name, words, profile).frame}], [])


def _apply(log: Log, operation: Mapping[str, Any], profile: str) -> Log:
    """Apply an operation that comes before the compared one, and return the log."""
    if "base" in operation:
        log = _apply(log, operation["base"], profile)
    words = {key: value for key, value in operation.items() if key not in ("name", "base")}
    name = operation["name"]
    if name == "rows":
        return log.with_frame(log.frame.filter(pl.col(ID).is_between(words["from"], words["to"])))
    if name == "min_user_rows":
        return prepare(log, [{"step": "n_filter", "users": words["n"]}])
    if name == "deduplicate":
        return prepare(log, [{"step": "deduplicate", "order": "file", **words}])
    return _filter(log, name, words, profile)


def _filter(log: Log, name: str, words: Mapping[str, Any], profile: str) -> Log:
    recipe = steps(profile, words if name == "filter" else {"name": name, **words})
    try:
        return prepare(log, recipe)
    except NothingToEvaluate:  # frameworks continue with an empty table
        return log.with_frame(log.frame.clear())


def _split(log: Log, words: Mapping[str, Any], profile: str) -> DataOutcome:
    stored, plan, words = protocol(profile), resolve(profile, words), read_words(profile, words)
    before = carry_out(log, replace(plan, unknown={}), empty="kept")
    after = carry_out(log, plan, empty="kept")
    splits = after if isinstance(after, list) else [after]
    raw_splits = before if isinstance(before, list) else [before]
    compared = raw_splits if stored.get("rows") == "before_unknown" else splits
    parts = [_name_parts(split, stored["train"], words) for split in compared]
    numbers = tuple(map(_number, splits))
    return DataOutcome(log.frame, parts, [*zip(raw_splits, splits, strict=True)], numbers=numbers)


def _number(split: Split) -> int:
    """Return the number of a split in its series, from 0."""
    number = split.name.rpartition("-")[2]
    return int(number) - 1 if number else 0


def _name_parts(split: Split, train: str, words: Mapping[str, Any]) -> Parts:
    """Return the parts of a split under the names that cases use."""
    inner = split.validation
    train_log = split.train if inner is None or train == "with_validation" else inner.train
    parts = {"train": train_log.frame, "test": split.truth.frame, "test_out": split.truth.frame}
    parts["test_in"] = _find_shown(split)
    if _tests_nothing(str(words.get("method"))):
        parts |= {"valid": parts["test"], "test": parts["test"].clear()}
    if inner is not None:
        parts |= {"valid": inner.truth.frame, "val_out": inner.truth.frame}
        parts |= {"val_train": inner.train.frame, "val_in": _find_shown(inner)}
    return parts


def _tests_nothing(method: str) -> bool:
    """Return whether a framework calls the held-out rows validation: it tests on a share of 0."""
    no_share = re.fullmatch(r"[RT]S_(\d\d0|[\d.]+_[\d.]+_0+)(_\w+)?", method)
    return no_share is not None or method.endswith("_valid_only")


def _find_shown(split: Split) -> pl.DataFrame:
    """Return the rows that the model sees of the evaluated users, those with truth."""
    shown = split.train if split.fold_in is None else split.fold_in
    return shown.frame.join(split.truth.frame.select("user").unique(), "user", "semi")


def _sample(outcome: DataOutcome, words: Mapping[str, Any], profile: str) -> DataOutcome:
    if profile not in CANDIDATES:
        return outcome
    settings = {word: value for word, value in words.items() if value is not None}
    drawn = make_candidates(outcome.splits[0][1], profile, **settings)
    return replace(outcome, candidates=drawn.frame)


Property = Callable[[DataOutcome, Any], int]
PROPERTIES: dict[str, Property] = {}


def states(function: Property) -> Property:
    """Register a function as the check of the property with its name."""
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
    return sum(len(first & second) for first, second in combinations(rows, 2))


@states
def complete(outcome: DataOutcome, stated: list[str]) -> int:
    """The parts together contain all rows."""
    union = set().union(*(outcome.rows(part)[ID] for part in stated))
    return len(union ^ set(outcome.all[ID]))


@states
def within(outcome: DataOutcome, stated: Mapping[str, str]) -> int:
    """Every row of the part is also in the other part."""
    pairs = [(outcome.rows(part)[ID], outcome.rows(other)[ID]) for part, other in stated.items()]
    return sum(len(set(inner) - set(outer)) for inner, outer in pairs)


@states
def users(outcome: DataOutcome, stated: Mapping[str, int]) -> int:
    """The part has n distinct users."""
    return sum(abs(outcome.rows(part)["user"].n_unique() - n) for part, n in stated.items())


@states
def users_disjoint(outcome: DataOutcome, stated: list[str]) -> int:
    """No user is in both parts."""
    first, second = (set(outcome.rows(part)["user"]) for part in stated)
    return len(first & second)


@states
def users_equal(outcome: DataOutcome, stated: list[str]) -> int:
    """The same users are in both parts."""
    first, second = (set(outcome.rows(part)["user"]) for part in stated)
    return len(first ^ second)


@states
def rows_per_user(outcome: DataOutcome, stated: Mapping[str, Mapping[str, Any]]) -> int:
    """In every fold, each user of the part has this number or share of their rows in it."""
    totals = dict(outcome.all.group_by("user").len().rows())
    wrong = 0
    for parts in outcome.folds:
        for part, rule in stated.items():
            counts = parts[part].group_by("user").len().rows()
            wrong += sum(count != _apply_rule(rule, totals[user]) for user, count in counts)
    return wrong


def _apply_rule(rule: Mapping[str, Any], rows: int) -> int:
    if "n" in rule:
        return min(int(rule["n"]), rows)
    roundings: Mapping[str, Callable[[float], int]]
    roundings = {"ceil": math.ceil, "half_even": round, "floor": math.floor}
    return roundings[rule["round"]](rule["fraction"] * rows)


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
    """No row of a user outside the part is later than their rows in it."""
    inside = outcome.rows(stated)
    first = inside.group_by("user").agg(pl.col("timestamp").min().alias("first"))
    outside = outcome.all.join(inside, ID, "anti").join(first, "user")
    return int((outside["timestamp"] > outside["first"]).sum())


@states
def fold_sizes(outcome: DataOutcome, stated: list[int]) -> int:
    """The test parts of the folds have these numbers of rows, in any order."""
    return _differ([fold["test"].height for fold in outcome.folds], stated)


@states
def fold_users(outcome: DataOutcome, stated: list[int]) -> int:
    """The test parts of the folds have these numbers of distinct users, in any order."""
    return _differ([fold["test"]["user"].n_unique() for fold in outcome.folds], stated)


def _differ(numbers: list[int], stated: list[int]) -> int:
    return int(sorted(numbers) != sorted(stated))


@states
def folds_disjoint(outcome: DataOutcome, stated: bool) -> int:
    """The test parts of the folds share no row."""
    tests = [set(fold["test"][ID]) for fold in outcome.folds]
    return sum(len(first & second) for first, second in combinations(tests, 2)) if stated else 0


@states
def folds_complete(outcome: DataOutcome, stated: bool) -> int:
    """The test parts of the folds together contain all rows."""
    union = set().union(*(fold["test"][ID] for fold in outcome.folds))
    return len(union ^ set(outcome.all[ID])) if stated else 0


@states
def folds_users_disjoint(outcome: DataOutcome, stated: bool) -> int:
    """No user is in the test part of two folds."""
    tests = [set(fold["test"]["user"]) for fold in outcome.folds]
    return sum(len(first & second) for first, second in combinations(tests, 2)) if stated else 0


@states
def test_known(outcome: DataOutcome, stated: list[str]) -> int:
    """Every user, every item, or both, of the test part occurs in the training data."""
    test, train = outcome.rows("test"), outcome.rows("train")
    return sum(len(set(test[column]) - set(train[column])) for column in stated)


@states
def test_new_pairs(outcome: DataOutcome, stated: bool) -> int:
    """No pair of user and item of the test part occurs in the training data."""
    pair = ["user", "item"]
    repeated = outcome.rows("test").join(outcome.rows("train"), pair, "semi")
    return repeated.height if stated else 0


@states
def candidates(outcome: DataOutcome, stated: Mapping[str, Any]) -> int:
    """There are candidates for `users` users, `per_user` items each, without repeats if `unique`,
    and none of them is in the parts of `not_in`."""
    drawn = outcome.candidates
    if drawn is None:
        return int(stated["users"])
    pair = ["user", "item"]
    others = pl.concat([outcome.rows(part).select(pair) for part in stated.get("not_in", ())])
    counts = drawn.group_by("user").len()["len"]
    wrong = abs(len(counts) - int(stated["users"])) + int((counts != stated["per_user"]).sum())
    repeats = drawn.height - drawn.unique(pair).height if stated.get("unique") else 0
    return wrong + repeats + drawn.join(others, pair, "semi").height
