"""Every metric of the registry: the order of rows and columns changes no bit, under any tie rule
except `given`, which asks for that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from strategies import bits
from test_every_metric_in_batches import every_metric
from test_same_bits import ORDERED

import rectitude as rt
from rectitude.convention import SWITCHES
from rectitude.data import ids
from rectitude.errors import RectitudeError

USERS, ITEMS = 9, 13
RULES = [rule for rule in SWITCHES["ties"].choices if rule != "given"]
DECISIVE = ("average", "error", "pessimistic")
"""the rules for which it matters whether ties are only among items that are not judged"""
WAYS = [
    (rule, kind, ties)
    for rule in RULES for kind in ("lists", "scores")
    for ties in (("all", "unjudged") if rule in DECISIVE else ("all",))
]  # fmt: skip


@dataclass(frozen=True)
class World:
    """Scores with many ties, and everything that metrics may need, in some order of rows."""

    scores: np.ndarray[Any, Any]
    users: list[Any]
    items: list[Any]
    truth: pl.DataFrame
    tables: dict[str, pl.DataFrame]

    def shuffled(self, seed: int, truth: bool) -> World:
        """The same content with other orders of rows and columns."""
        rng = np.random.default_rng(seed)
        rows, columns = rng.permutation(len(self.users)), rng.permutation(ITEMS)
        turned = {side: table[rng.permutation(table.height)] for side, table in self.tables.items()}
        return replace(
            self,
            scores=self.scores[np.ix_(rows, columns)],
            users=[self.users[row] for row in rows],
            items=[self.items[column] for column in columns],
            truth=self.truth[rng.permutation(self.truth.height)] if truth else self.truth,
            tables=turned,
        )

    def only(self, rows: np.ndarray[Any, Any]) -> World:
        """The same content for some users."""
        users = [self.users[row] for row in rows]
        theirs = self.truth.filter(pl.col("user").is_in(users))
        return replace(self, scores=self.scores[rows], users=users, truth=theirs)

    def predictions(self, kind: str) -> Any:
        """All scores, or the better ones as lists."""
        if kind == "scores":
            return rt.Scores(self.scores, users=self.users, items=self.items)
        rows, columns = np.nonzero(self.scores > 0.2)
        listed = {
            "user": [self.users[row] for row in rows],
            "item": [self.items[column] for column in columns],
            "score": self.scores[rows, columns],
        }
        return rt.Lists(pl.DataFrame(listed), users=self.users)

    def evaluate(self, kind: str, names: list[str], convention: Any) -> dict[str, str]:
        """The bits of every value, and the words of every error."""
        given, extra = self.predictions(kind), self.tables
        try:
            evaluation = rt.evaluate(given, self.truth, names, convention, **extra)
        except RectitudeError as error:
            return {"error": str(error)}
        errors = {name: str(error) for name, error in evaluation.failures.items()}
        return {**bits(evaluation), **errors}


@cache
def world(seed: int, type_: str, ties: str = "all") -> World:
    """Scores from 0.2 to 0.8; with ties "unjudged", judged items have scores of their own."""
    rng = np.random.default_rng(seed)
    items = [f"i{n}" if type_ == "text" else 3 * n - 5 for n in range(ITEMS)]
    users = [f"u{n}" if type_ == "text" else 7 * n - 9 for n in range(USERS)]
    scores = rng.integers(1, 5, (USERS, ITEMS)) / 5.0
    judged = rng.random((USERS, ITEMS)) < 0.4
    judged[:, 0] = True
    grades = rng.integers(0, 4, (USERS, ITEMS))
    if ties == "unjudged":
        own = rng.permuted(np.tile(np.linspace(0.21, 0.92, ITEMS), (USERS, 1)), axis=1)
        scores = np.where(judged, own, scores)
    rows, columns = np.nonzero(judged)
    had = np.argwhere(~judged & (rng.random((USERS, ITEMS)) < 0.3))
    holes = rng.random((4, ITEMS))
    about = {
        "item": items,
        "category": [None if x < 0.1 else f"c{int(x * 4)}" for x in holes[0]],
        "group": [f"g{int(x * 3)}" for x in holes[1]],
        "price": holes[2],
        "embedding": [[float(x) for x in rng.normal(size=3)] for _ in items],
        "previous": [None if n % 5 == 4 else 0.1 + 0.3 * (n % 4) for n in range(ITEMS)],
    }
    truth = {"user": [users[r] for r in rows], "item": [items[c] for c in columns],
             "grade": grades[rows, columns] * 1.0,
             "subtopic": (rows + 2 * columns) % 3}  # fmt: skip
    tables = {
        "items": pl.DataFrame(about),
        "users": pl.DataFrame({"user": users, "group": [f"m{n % 3}" for n in range(USERS)]}),
        "train": pl.DataFrame(
            {"user": [users[r] for r, _ in had], "item": [items[c] for _, c in had],
             "grade": 0.4 + had.sum(axis=1) % 3}
        ),
    }  # fmt: skip
    return World(scores, users, items, pl.DataFrame(truth), tables)


def metrics_at_3(kind: str) -> list[str]:
    """Every metric of lists or scores once, with a cutoff if it takes one."""
    names = every_metric(kind)
    at_3 = [name for name in names if name.endswith("@3")]
    bases = {name.partition("@")[0] for name in at_3}
    return at_3 + [name for name in names if name.partition("@")[0] not in bases]


@pytest.mark.parametrize(("rule", "kind", "ties"), WAYS)
def test_shuffled_rows_and_columns_change_nothing(rule: str, kind: str, ties: str) -> None:
    convention = {"undefined": "zero", "seen": "kept", "ties": rule}
    given = world(1, "integer" if ties == "unjudged" else "text", ties)
    names = metrics_at_3(kind)
    expected = given.evaluate(kind, names, convention)
    assert ("error" in expected) == (rule == "error" and ties == "all")
    assert given.shuffled(1, truth=False).evaluate(kind, names, convention) == expected
    turned = given.shuffled(2, truth=True).evaluate(kind, names, convention)
    for name in turned.keys() | expected.keys():
        assert name.startswith(ORDERED) or turned[name] == expected[name], name


@pytest.mark.parametrize("convention", [
    {"seen": "last"}, {"score_precision": "float32", "relevant_from": 2},
    {"ties": "average", "list_end": "cutoff"}, {"unit": "user"}, {"gain": "linear"},
])  # fmt: skip
@pytest.mark.parametrize("kind", ["lists", "scores"])
def test_other_switches_do_not_bring_the_order_of_rows_back(kind: str, convention: Any) -> None:
    given, names = world(2, "text"), [n for n in metrics_at_3(kind) if not n.startswith(ORDERED)]
    switches = {"undefined": "zero", **convention}
    expected = given.evaluate(kind, names, switches)
    assert len(expected) > 1
    assert given.shuffled(3, truth=True).evaluate(kind, names, switches) == expected


def test_large_tables_whose_text_ids_are_hashed_sort_them_as_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, names = world(7, "text"), metrics_at_3("lists")
    convention = {"undefined": "zero"}
    expected = given.evaluate("lists", names, convention)
    monkeypatch.setattr(ids, "HASH_FROM_ROWS", 1)
    assert given.evaluate("lists", names, convention) == expected
    turned = given.shuffled(1, truth=False).evaluate("lists", names, convention)
    assert turned == expected


@pytest.mark.parametrize(("type_", "kind", "torch"), [
    ("text", "lists", False), ("integer", "scores", False), ("text", "scores", True),
])  # fmt: skip
def test_batches_and_tensors_show_the_same_items(type_: str, kind: str, torch: bool) -> None:
    given, names = world(4, type_), metrics_at_3(kind)
    convention = {"undefined": "zero", "seen": "kept"}
    whole = rt.evaluate(given.predictions(kind), given.truth, names, convention, **given.tables)
    evaluator: Any = rt.Evaluator(names, convention)
    if torch:
        tensors = pytest.importorskip("torch")
        evaluator = pytest.importorskip("rectitude.torch").Evaluator(names, convention)
    for seed, rows in enumerate(np.array_split(np.arange(USERS), 3)):
        part = given.only(rows).shuffled(seed, truth=False)
        predictions = part.predictions(kind)
        if torch and kind == "scores":
            predictions = replace(predictions, source=tensors.from_numpy(part.scores))
        evaluator.update(predictions, part.truth, **part.tables)
    assert bits(evaluator.compute()) == bits(whole)


def test_metrics_of_shown_items_say_where_the_order_of_ties_can_change_them() -> None:
    """Ties inside the cutoff change only metrics that say so, and so do ties across it."""
    rng = np.random.default_rng(0)
    given = world(6, "integer")
    order = rng.permuted(np.tile(np.arange(ITEMS), (USERS, 1)), axis=1) * 1.0
    inside = replace(given, scores=np.where(order >= ITEMS - 3, 99.0, order))
    names = [name for name in every_metric("scores") if _metric(name).sees_items and "@3" in name]
    names += ["category_entropy[patience=0.5]@3"]
    by_id = [
        rt.evaluate(inside.predictions("scores"), given.truth, names,
                    {"undefined": "zero", "seen": "kept", "ties": f"item_{way}ending"},
                    **given.tables)
        for way in ("asc", "desc")
    ]  # fmt: skip
    changed = {name for name in names if not np.isclose(by_id[0][name], by_id[1][name], 1e-9)}
    shown = {name for name in names if "shown" in _metric(name).requires}
    assert changed & shown == {"exposure_gini@3", "category_entropy[patience=0.5]@3"}
    assert all(_metric(name).tie_order == "any" for name in changed & shown)


def _metric(name: str) -> Any:
    return rt.METRICS[name.partition("[")[0].partition("@")[0]]
