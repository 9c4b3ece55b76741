"""Every metric of the registry: batches, merged and saved in between, have the bits of one pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from strategies import bits, environment, named

import rectitude as rt

SIZE, WIDTH, CLASSES = 17, 13, 5
OF_CLASSES = {"classes", "logits", "chances"}
NO_LISTS = {"scores"}
"""what lists alone do not tell"""
CONVENTIONS = [
    {"undefined": "zero"},
    {"undefined": "zero", "average": "micro"},
    {"undefined": "zero", "truth_needed": "none", "ties": "item_ascending", "relevant_from": 2},
]
Batch = tuple[Any, Any, dict[str, Any]]


def every_metric(kind: str) -> list[str]:
    """All metrics that can be computed of lists, scores or logits, without a cutoff and with one;
    those that look at columns look at the ones that `world` has."""
    found = []
    for name, metric in rt.METRICS.items():
        needs = set(metric.requires)
        if bool(needs & OF_CLASSES) != (kind == "logits") or (kind == "lists" and needs & NO_LISTS):
            continue
        asked = f"{name}[precision,recall]" if "parts" in needs else name
        must = metric.cutoff == "needed" or ("shown" in needs and kind != "lists")
        must |= metric.parameters.get("of") in ("ndcg", "mean_score")
        cutoffs = (None,) if metric.cutoff == "none" else (2, 3) if must else (None, 3)
        found += [named(name, k) if asked == name else f"{asked}@{k or 2}" for k in cutoffs]
    return found


def world(seed: int) -> dict[str, Any]:
    """Scores with ties, grades in their own order, training, and attributes with holes."""
    rng = np.random.default_rng(seed)
    users, items = [f"u{u}" for u in range(SIZE)], [f"i{i}" for i in range(WIDTH)]
    holes = rng.random((3, WIDTH))
    about = {
        "item": items,
        "category": [None if x < 0.2 else f"c{int(x * 4)}" for x in holes[0]],
        "group": [None if x < 0.1 else f"g{int(x * 3)}" for x in holes[1]],
        "price": [None if x > 0.8 else x for x in holes[2]],
        "embedding": [[float(n) for n in rng.normal(size=3)] if i % 6 else None
                      for i in range(WIDTH)],
        "previous": [None if i % 5 == 4 else 0.1 + 0.3 * (i % 4) for i in range(WIDTH)],
    }  # fmt: skip
    told = [(u, items[i]) for u in users for i in rng.permutation(WIDTH)[: rng.integers(1, 6)]]
    truth = pl.DataFrame(told, ["user", "item"], orient="row")
    had = rng.random((SIZE, WIDTH)) < 0.2
    had[3] = False
    rows, columns = np.nonzero(had)
    return {
        "scores": rng.integers(1, 40, (SIZE, WIDTH)) / 40.0,
        "lengths": rng.integers(0, 9, SIZE),
        "truth": truth.with_columns(
            grade=pl.Series(rng.integers(0, 4, truth.height) * 1.0),
            subtopic=pl.Series(rng.integers(0, 3, truth.height)),
        ),
        "tables": {
            "items": pl.DataFrame(about),
            "users": pl.DataFrame({"user": users, "group": [f"m{u % 3}" for u in range(SIZE)]}),
            "train": pl.DataFrame({"user": [users[r] for r in rows],
                                   "item": [items[c] for c in columns],
                                   "grade": 0.2 + (rows + columns) % 3}),
        },
    }  # fmt: skip


def batch(given: dict[str, Any], rows: np.ndarray[Any, Any], kind: str) -> Batch:
    """Some users of the world, with all of its tables."""
    users, scores = [f"u{row}" for row in rows], given["scores"][rows]
    truth = given["truth"].filter(pl.col("user").is_in(users))
    if kind == "scores":
        items = [f"i{i}" for i in range(WIDTH)]
        return rt.Scores(scores, users=users, items=items), truth, given["tables"]
    listed = [
        (user, f"i{i}", float(mine[i]))
        for user, mine, length in zip(users, scores, given["lengths"][rows], strict=True)
        for i in np.argsort(-mine, kind="stable")[:length]
    ]
    table = pl.DataFrame(listed, {"user": str, "item": str, "score": float}, orient="row")
    return rt.Lists(table, users=users), truth, given["tables"]


def shards(size: int, seed: int) -> list[np.ndarray[Any, Any]]:
    """The rows in a few groups of any size, some of them single."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, size), 4, replace=False))
    return [np.sort(rows) for rows in np.split(rng.permutation(size), cuts)]


def added(names: list[str], convention: Any, batches: list[Batch], path: Path) -> rt.Evaluation:
    """The batches, shared by two evaluators, of which one is saved and loaded."""
    crew = [rt.Evaluator(names, convention) for _ in range(2)]
    for number, (predictions, truth, tables) in enumerate(batches):
        crew[number % 2].update(predictions, truth, **tables)
        if number == 1:
            crew[1].save(path)
            crew[1] = rt.Evaluator.load(path)
    return (crew[1] + crew[0]).compute()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("kind", ["lists", "scores"])
@pytest.mark.parametrize("seed", range(2))
def test_batches_of_users(seed: int, kind: str, convention: Any, tmp_path: Path) -> None:
    given, names = world(seed), every_metric(kind)
    predictions, truth, tables = batch(given, np.arange(SIZE), kind)
    whole = rt.evaluate(predictions, truth, names, convention, **tables)
    assert not whole.failures
    parts = [batch(given, rows, kind) for rows in shards(SIZE, seed)]
    assert bits(added(names, convention, parts, tmp_path / "half.json")) == bits(whole)


@pytest.mark.parametrize("kind", ["lists", "scores"])
def test_kernels_and_the_order_of_tables(kind: str) -> None:
    names = every_metric(kind)
    predictions, truth, tables = batch(world(4), np.arange(SIZE), kind)
    turned = {side: table.reverse() for side, table in tables.items()}
    seen = []
    for kernels, given in (("numpy", tables), ("numpy", turned), ("numba", tables)):
        if kernels == "numba":
            pytest.importorskip("numba")
        with environment(RECTITUDE_KERNELS=kernels):
            seen.append(bits(rt.evaluate(predictions, truth, names, CONVENTIONS[0], **given)))
    assert seen[0] == seen[1] == seen[2]


def test_every_metric_has_a_value_where_lists_of_a_user_come_together() -> None:
    predictions, truth, tables = batch(world(5), np.arange(SIZE), "scores")
    switches = {"undefined": "zero", "unit": "user"}
    assert not rt.evaluate(predictions, truth, every_metric("scores"), switches, **tables).failures


@pytest.mark.parametrize("seed", range(3))
def test_batches_of_logits(seed: int, tmp_path: Path) -> None:
    rng, names = np.random.default_rng(seed), every_metric("logits")
    logits, targets = rng.normal(size=(SIZE, CLASSES)).round(1), rng.integers(0, CLASSES, SIZE)
    whole = rt.evaluate(rt.Logits(logits), targets.tolist(), names)
    assert not whole.failures
    parts: list[Batch] = [
        (rt.Logits(logits[rows]), targets[rows].tolist(), {}) for rows in shards(SIZE, seed)
    ]
    assert bits(added(names, None, parts, tmp_path / "half.json")) == bits(whole)


def test_no_metric_is_left_out() -> None:
    asked = {name.partition("[")[0].partition("@")[0] for kind in ("scores", "logits")
             for name in every_metric(kind)}  # fmt: skip
    assert asked == set(rt.METRICS)
