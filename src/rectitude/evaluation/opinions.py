"""Judgements that are opinions: preferences between items, and grades of several judges.

Judges may contradict each other, so their judgements come in groups. `evaluate_preferences` counts
the preferences that lists fulfil. `evaluate_groups` evaluates lists by the grades of each group,
and averages over the groups of a list. `standardise` turns values into z-scores: how far a list is
from what other systems reach on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, nan, sqrt
from typing import Any, Literal

import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.data.read import read
from rectitude.data.table import ATTRIBUTE
from rectitude.errors import BadArgument, BadTable, NothingToEvaluate, UndefinedValue, unknown_name
from rectitude.evaluation.evaluate import evaluate
from rectitude.judge.preferences import judge_preferences
from rectitude.metrics.preferences import PREFERENCE_MEASURES
from rectitude.predictions.lists import order_of
from rectitude.render import Grid, Printable

Counted = Literal["judged", "handed"]
"""The lists that count: all that are judged, or those among them that were handed over."""
ByList = Mapping[str, Mapping[Any, float]]
"""Values by measure, then by list."""
USUAL = ("prefs_simp", "prefs_pair", "prefs_avgjg")
"""The preference measures that are computed unless others are asked for."""
FEWEST = 2
"""The fewest other systems that have a standard deviation."""


@dataclass(frozen=True, eq=False, repr=False)
class OpinionValues(Printable):
    """Values by measure and list. The value of a measure is the mean over its lists."""

    by_list: ByList
    list_key: str = "user"

    def __getitem__(self, name: str) -> float:
        if name not in self.by_list:
            raise unknown_name("measure", name, self.by_list)
        values = self.by_list[name].values()
        if not values:
            raise UndefinedValue(f"{name} has no value for any list.", "at least one value.")
        return fsum(values) / len(values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_list)

    def values(self) -> dict[str, float]:
        """Return the mean of every measure over its lists."""
        return {name: self[name] for name in self.by_list}

    def per_list(self) -> pl.DataFrame:
        """Return a table with one row per list and one column per measure; null without a value."""
        keys = list(dict.fromkeys(key for row in self.by_list.values() for key in row))
        columns = {name: [row.get(key) for key in keys] for name, row in self.by_list.items()}
        return pl.DataFrame({self.list_key: keys, **columns})

    def _shown(self) -> Iterator[str | Grid]:
        rows = [
            [name, f"{self[name]:.4f}" if row else "undefined", str(len(row))]
            for name, row in self.by_list.items()
        ]
        yield Grid(["measure", "value", "lists"], rows)


def evaluate_preferences(
    predictions: object,
    judgements: object,
    measures: Sequence[str] = USUAL,
    *,
    counted: Counted = "judged",
    cutoff: int | None = None,
    list_key: str = "user",
    columns: Mapping[str, str] | None = None,
) -> OpinionValues:
    """Return preference measures of lists.

    `judgements` have columns for the list, the item, its level (as a grade), and the group of
    judgements; also `subgroup`, if a group was asked about several sets of items. Within a
    subgroup, an item is preferred to all items of lower levels. Without a `group`, all judgements
    of a list are one group. A judged list that was not handed over fulfils no preference, or does
    not count if `counted` is "handed".
    """
    for name in measures:
        if name not in PREFERENCE_MEASURES:
            raise unknown_name("preference measure", name, PREFERENCE_MEASURES)
    table = read(predictions, "predictions", hints=columns or {}, list_key=list_key)
    order = order_of(table, "auto")
    rows = table.frame.select("list", "item", *([order] if order != "given" else ()))
    if order != "given":  # ranks ascend and scores descend; equal ones are ordered by item
        rows = rows.sort(order, "item", descending=[order == "score", False], maintain_order=True)
    given = read_opinions(judgements, list_key, columns)
    return OpinionValues(measure_preferences(measures, rows, given, counted, cutoff), list_key)


def read_opinions(
    judgements: object, list_key: str = "user", columns: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return judgements with the columns list, group, part, item and grade."""
    keep = ("group", "subgroup")
    frame = read(judgements, "truth", hints=columns or {}, list_key=list_key, keep=keep).frame
    frame = frame.rename({f"{ATTRIBUTE}{name}": name for name in keep}, strict=False)
    if "grade" not in frame.columns:
        raise BadTable(
            f"the judgements have the columns {', '.join(frame.columns)}.",
            "a column with the level of each item, such as grade.",
            "name it: columns={'grade': 'column name'}.",
        )
    absent = [pl.lit("").alias(name) for name in keep if name not in frame.columns]
    return frame.with_columns(absent).rename({"subgroup": "part"})


def measure_preferences(
    names: Sequence[str],
    rows: pl.DataFrame,
    judgements: pl.DataFrame,
    counted: Counted,
    most: int | None = None,
) -> dict[str, dict[Hashable, float]]:
    """Return the values of preference measures by name and list, for lists whose rows are in order;
    they are cut at `most`."""
    handed = set(rows["list"])
    ranked = rows if most is None else rows.group_by("list", maintain_order=True).head(most)
    opinions = judge_preferences(ranked, judgements.rename({"grade": "level"}))
    chosen = {key: found for key, found in opinions.items() if counted == "judged" or key in handed}
    require_lists(chosen)
    return {
        name: {key: PREFERENCE_MEASURES[name](found) for key, found in chosen.items()}
        for name in names
    }


def evaluate_groups(
    predictions: object,
    judgements: object,
    metrics: str | Sequence[str],
    convention: Any = None,
    *,
    list_key: str = "user",
    columns: Mapping[str, str] | None = None,
    **inputs: Any,
) -> OpinionValues:
    """Evaluate lists by the grades of each group of judges, and average over the groups of a list.

    `judgements` have a column `group` beside those of a truth. Other inputs are those of
    `rt.evaluate` that say nothing of single lists, such as `items`. A list of which no group has a
    value is left out.
    """
    table = read(predictions, "predictions", hints=columns or {}, list_key=list_key)
    order = order_of(table, "auto")
    rows = table.frame
    if order == "given":
        rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("list"))
    given = read_opinions(judgements, list_key, columns)
    lists, truth, owners = split_groups(rows, given)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    evaluation = evaluate(lists, truth, names, convention, **inputs)
    return OpinionValues(average_groups(_values_of(evaluation), owners), list_key)


def split_groups(
    rows: pl.DataFrame, judgements: pl.DataFrame, list_key: str = "user"
) -> tuple[pl.DataFrame, pl.DataFrame, dict[Hashable, Hashable]]:
    """Return lists and a truth in which every group of a list is a list of its own, named by a
    number, and the list of each number."""
    pairs = judgements.select("list", "group").unique(maintain_order=True).with_row_index("pair")
    lists = rows.join(pairs, on="list", maintain_order="left")
    require_lists(lists["list"])
    truth = judgements.join(pairs, on=["list", "group"], maintain_order="left")
    ordered = [name for name in ("rank", "score") if name in rows.columns]
    name = pl.col("pair").cast(pl.Int64).alias(list_key)
    owners = dict(zip(pairs["pair"].to_list(), pairs["list"].to_list(), strict=True))
    return lists.select(name, "item", *ordered), truth.select(name, "item", "grade"), owners


def average_groups(
    values: ByList, owners: Mapping[Any, Hashable]
) -> dict[str, dict[Hashable, float]]:
    """Return the mean over the groups of each list, by measure; `owners` has the list of each
    group."""
    averaged: dict[str, dict[Hashable, float]] = {}
    for label, row in values.items():
        groups: dict[Hashable, list[float]] = {}
        for name, value in row.items():
            groups.setdefault(owners[name], []).append(value)
        averaged[label] = {key: fsum(found) / len(found) for key, found in groups.items()}
    return averaged


def standardise(
    values: Evaluation | OpinionValues, others: Sequence[Evaluation | OpinionValues] | object
) -> OpinionValues:
    """Return z-scores: how many standard deviations each value is from the mean of other systems.

    `others` are results of at least two other systems, or a table with the columns list, measure,
    mean and deviation. A value that no deviation is known for has no z-score, unless it is the
    mean: then it is 0.
    """
    is_results = isinstance(others, Sequence) and not isinstance(others, str)
    known = _describe_systems(others) if is_results else _read_systems(others)
    scores = {
        name: {
            key: score
            for key, value in row.items()
            if (score := _standardise(value, known.get((key, name)))) is not None
        }
        for name, row in _values_of(values).items()
    }
    if not any(scores.values()):
        raise NothingToEvaluate(
            "no value has a mean and a standard deviation of other systems.",
            "the same measures for the same lists on both sides.",
        )
    return OpinionValues(scores, getattr(values, "list_key", "user"))


Spread = tuple[float, float]
"""A mean and a standard deviation."""


def _standardise(value: float, known: Spread | None) -> float | None:
    mean, deviation = known or (nan, 0.0)
    if deviation > 0:
        return (value - mean) / deviation
    return 0.0 if value == mean else None


def _describe_systems(systems: Any) -> dict[tuple[Hashable, str], Spread]:
    """Return the mean and the sample standard deviation of systems, by list and measure."""
    found: dict[tuple[Hashable, str], list[float]] = {}
    for system in systems:
        if not isinstance(system, Evaluation | OpinionValues):
            raise BadArgument(
                f"one of the other systems is a {type(system).__name__}.",
                "evaluations of other systems.",
            )
        for name, row in _values_of(system).items():
            for key, value in row.items():
                found.setdefault((key, name), []).append(value)
    return {key: _describe(values) for key, values in found.items() if len(values) >= FEWEST}


def _describe(values: Sequence[float]) -> Spread:
    mean = fsum(values) / len(values)
    return mean, sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _read_systems(table: object) -> dict[tuple[Hashable, str], Spread]:
    """Return the mean and the deviation of other systems from a table."""
    names = ("list", "measure", "mean", "deviation")
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)  # type: ignore[arg-type]
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise BadTable(
            f"the table of other systems has the columns {', '.join(frame.columns)}.",
            f"the columns {', '.join(names)}.",
        )
    rows = frame.select(names).iter_rows()
    return {(key, measure): (mean, deviation) for key, measure, mean, deviation in rows}


def _values_of(result: Evaluation | OpinionValues) -> ByList:
    """Return the values of each measure by list; lists without a value are left out."""
    if isinstance(result, OpinionValues):
        return result.by_list
    frame = result.per_list()
    key = frame.columns[0]
    for name in result:
        if name not in frame.columns:
            raise BadArgument(f"{name} has no values per list.", "metrics of single lists.")
    return {name: dict(frame.select(key, name).drop_nulls(name).iter_rows()) for name in result}


def require_lists(found: Any) -> None:
    """Raise an error if there is nothing to measure."""
    if not len(found):
        raise NothingToEvaluate(
            "no query of the run is judged.", "a run and judgements of the same queries."
        )
