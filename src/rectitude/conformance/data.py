"""Golden data cases: filters, splits and samples of other frameworks, done here in their words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rectitude.candidates.protocols import CANDIDATES, candidates_of
from rectitude.conformance.cases import Case
from rectitude.conformance.properties import PROPERTIES, Outcome
from rectitude.data.log import ROW, Log
from rectitude.errors import BadName, NothingToEvaluate, UnknownName
from rectitude.prepare import prepare
from rectitude.splits.protocols import protocol, protocols, resolve, steps
from rectitude.splits.run import planned
from rectitude.splits.split import Split

if TYPE_CHECKING:
    import polars as pl

    from rectitude.conformance.properties import Parts

ID = "id"
"""The number of a row in the case, whatever order its rows were put in."""


class Check(NamedTuple):
    """One thing that a case says, and how much of ours is otherwise; None if it cannot be said."""

    name: str
    wrong: int | None


def checks(case: Case) -> list[Check]:
    """Everything that a data case says, held against what is done here."""
    stored = json.loads(case.path.read_text("utf-8"))
    if "operation" not in stored:
        return [Check(name, None) for name in case.expected]
    if stored.get("check") == "none":  # the framework fails: it says nothing
        return []
    asked = list(_asked(stored))
    if case.profile not in protocols():
        return [Check(name, None) for name, _ in asked]
    try:
        outcome = _performed(_log(case, stored["operation"]), stored["operation"], case.profile)
        return [Check(name, wrong(outcome)) for name, wrong in asked]
    except (BadName, UnknownName):  # words that the protocol does not know
        return [Check(name, None) for name, _ in asked]
    except Exception:  # refused, or not foreseen: nothing of it agrees, and others go on
        return [Check(name, 1) for name, _ in asked]


def declared(case: Case) -> bool:
    """Whether the protocol says why this case differs."""
    known = protocols().get(case.profile, {}).get("known_differences", {})
    return case.path.stem in known


Wrong = Callable[[Outcome], int | None]


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
    def wrong(outcome: Outcome) -> int | None:
        parts = outcome.folds[0]
        if part in parts:
            return len(set(parts[part][ID]) ^ set(rows))
        return len(rows) if rows else 0

    return wrong


def _other_count(name: str, count: int) -> Wrong:
    def wrong(outcome: Outcome) -> int | None:
        found = outcome.counts().get(name)
        return None if found is None else abs(found - count)

    return wrong


def _other_fold(nth: int, key: str, value: Any, fold: Mapping[str, Any]) -> Wrong:
    def wrong(outcome: Outcome) -> int | None:
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
    def wrong(outcome: Outcome) -> int | None:
        return None if name not in PROPERTIES else PROPERTIES[name](outcome, stated)

    return wrong


def _log(case: Case, operation: Mapping[str, Any]) -> Log:
    """The interactions of a case; `row_order` puts them in another order."""
    import polars as pl

    frame = pl.read_parquet(case.inputs / "interactions.parquet")
    names = {"row": ID, "rating": "grade"}
    frame = frame.rename({name: names[name] for name in names if name in frame.columns})
    if "row_order" in operation:
        order = pl.DataFrame({ID: operation["row_order"]}, schema={ID: frame[ID].dtype})
        frame = order.join(frame, on=ID, how="left", maintain_order="left")
    return Log(frame.with_row_index(ROW), case.path.stem)


def _performed(log: Log, operation: Mapping[str, Any], profile: str) -> Outcome:
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
    return Outcome(log.frame, [{"": _filtered(log, name, words, profile).frame}], [])


def _done(log: Log, operation: Mapping[str, Any], profile: str) -> Log:
    """The log after an operation that comes before the one that is compared."""
    import polars as pl

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


def _split(log: Log, words: Mapping[str, Any], profile: str) -> Outcome:
    stored, plan = protocol(profile), resolve(profile, words)
    before = planned(log, replace(plan, unknown={}), empty="kept")
    after = planned(log, plan, empty="kept")
    splits = after if isinstance(after, list) else [after]
    plain = before if isinstance(before, list) else [before]
    shown = plain if stored.get("rows") == "before_unknown" else splits
    parts = [_parts(one, stored["train"], words) for one in shown]
    numbers = tuple(map(_number, splits))
    return Outcome(log.frame, parts, [*zip(plain, splits, strict=True)], numbers=numbers)


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


def _sampled(made: Outcome, words: Mapping[str, Any], profile: str) -> Outcome:
    if profile not in CANDIDATES:
        return made
    settings = {word: value for word, value in words.items() if value is not None}
    drawn = candidates_of(made.splits[0][1], profile, **settings)
    return replace(made, candidates=drawn.frame)
