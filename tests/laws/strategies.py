"""Random small evaluations: users without lists, ties, grades, unjudged items, empty lists."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from hypothesis import strategies as st

import rectitude as rt
from rectitude.convention import SWITCHES

USERS = range(6)
ITEMS = range(8)
CUTOFFS = (None, 1, 2, 3, 5, 20)
LISTED = ("precision", "recall", "f1", "hit", "mrr", "map", "ndcg", "dcg", "rprec", "rbp", "err",
          "bpref", "bpref_strict", "rmrr")  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One evaluation: rows (user, item, score), rows (user, item, grade), who got a list."""

    predictions: tuple[tuple[Any, Any, float], ...]
    truth: tuple[tuple[Any, Any, float], ...]
    handed: tuple[Any, ...]

    def evaluate(self, metrics: Any, convention: Any = None, **more: Any) -> rt.Evaluation:
        """The case through the public API."""
        table = pl.DataFrame(list(self.predictions), ["user", "item", "score"], orient="row")
        lists = rt.Lists(table, users=list(self.handed) or None)
        truth = pl.DataFrame(list(self.truth), ["user", "item", "grade"], orient="row")
        return rt.evaluate(lists, truth, metrics, convention, **more)

    def users(self) -> list[Any]:
        """Everyone who occurs anywhere."""
        rows = (*self.predictions, *self.truth)
        return sorted({row[0] for row in rows} | set(self.handed))

    def of(self, users: set[Any]) -> Case:
        """What concerns these users."""
        return Case(
            tuple(row for row in self.predictions if row[0] in users),
            tuple(row for row in self.truth if row[0] in users),
            tuple(user for user in self.handed if user in users),
        )

    def renamed(self, users: dict[Any, Any], items: dict[Any, Any]) -> Case:
        """The same case with other ids."""
        return Case(
            tuple((users[u], items[i], s) for u, i, s in self.predictions),
            tuple((users[u], items[i], g) for u, i, g in self.truth),
            tuple(users[u] for u in self.handed),
        )

    def replace(self, **changes: Any) -> Case:
        """The case with other rows."""
        return replace(self, **changes)


@st.composite
def cases(
    draw: st.DrawFn,
    ties: bool = True,
    grades: tuple[float, ...] = (0, 1, 2, 3),
    everyone: bool = False,
) -> Case:
    """A case in which at least one user has a list and a relevant item."""
    predictions, truth, handed = [], [], []
    for user in range(draw(st.integers(1, len(USERS)))):
        told = user == 0 or everyone or draw(st.booleans())
        kind = "list" if user == 0 or everyone else draw(st.sampled_from(("list", "empty", "none")))
        if told:
            items = draw(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=6, unique=True))
            truth += [(user, item, float(draw(st.sampled_from(grades)))) for item in items]
            if user == 0 or everyone:
                truth[-1] = (user, items[-1], float(max(grades)))
        if kind == "empty":
            handed.append(user)
        if kind == "list":
            items = draw(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=8, unique=True))
            scores = draw(_scores(len(items), ties))
            predictions += [(user, i, s) for i, s in zip(items, scores, strict=True)]
    return Case(tuple(predictions), tuple(truth), tuple(handed))


def _scores(size: int, ties: bool) -> st.SearchStrategy[list[float]]:
    if ties:
        return st.lists(st.sampled_from((-1.0, 0.0, 0.5, 2.0)), min_size=size, max_size=size)
    numbers = st.integers(-50, 50).map(lambda n: n / 4)
    return st.lists(numbers, min_size=size, max_size=size, unique=True)


METRIC_SWITCHES = {
    name: list(switch.choices) for name, switch in SWITCHES.items() if switch.stage == "metrics"
}
conventions = st.fixed_dictionaries(
    {},
    optional={
        **{name: st.sampled_from(choices) for name, choices in METRIC_SWITCHES.items()},
        "relevant_from": st.sampled_from((None, 1, 2)),
        "negative_grades": st.sampled_from(("nonrelevant", "unjudged")),
        "ties": st.sampled_from(
            ("pessimistic", "optimistic", "given", "item_ascending", "item_descending")
        ),
        "unjudged": st.sampled_from(("kept", "dropped")),
        "truth_needed": st.sampled_from(("relevant", "judged", "none")),
        "list_needed": st.sampled_from(("none", "handed", "items", "hit")),
        "average": st.sampled_from(("macro", "micro")),
    },
).map(lambda chosen: {"undefined": "zero", **chosen})
"""Conventions under which every list has a value."""


def plain() -> list[str]:
    """The metrics that need nothing but lists."""
    return [name for name in rt.METRICS if not rt.METRICS[name].requires]


def names(cutoffs: tuple[int | None, ...] = CUTOFFS) -> list[str]:
    """Every metric that needs nothing but lists at every cutoff."""
    return [named(name, k) for name in plain() for k in cutoffs]


def named(metric: str, k: int | None) -> str:
    """A metric at a cutoff; one of recall levels at a level instead."""
    if k is None:
        return metric
    return f"{metric}@{level(k):g}" if rt.METRICS[metric].cutoff == "level" else f"{metric}@{k}"


def level(k: int | None) -> float:
    """The level in place of a cutoff."""
    return 0.0 if k is None else round(1 / k, 4)


def bits(evaluation: rt.Evaluation) -> dict[str, str]:
    """The values to the last bit, and what went wrong in words."""
    values = {name: value.hex() for name, value in evaluation.values().items()}
    return values | {name: str(error) for name, error in evaluation.failures.items()}


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
