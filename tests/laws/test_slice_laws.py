"""Slices of a partition add up to the whole, and any sharding gives the bits of one pass."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.aggregate.sums import Sums
from rectitude.errors import NotComparable, RectitudeError, UnreadableFile
from rectitude.metrics.names import parse
from rectitude.profiles import profile_of

SIZE, WIDTH = 30, 14
METRICS = ["ndcg@4", "recall@3", "mrr", "f1_of_means@3", "item_coverage@3", "gini@3"]
BY_LISTS = ["town", "age:3", "activity:2", ["town", "activity:3,"]]
BY_ROWS = ["popularity:2", "known", "price:0.3,0.6", "genre", ["town", "price:2"], "truth.week"]
CONVENTION = {"undefined": "skip"}


def world(seed: int) -> dict[str, Any]:
    """Lists with gaps, a truth with grades and weeks, training, and attributes with holes."""
    rng = np.random.default_rng(seed)
    users = [f"u{u}" for u in range(SIZE)]
    rows = [
        (u, f"i{i}", float(rng.integers(6)))
        for u in users
        for i in rng.permutation(WIDTH)[: rng.integers(0, 8)]
    ]
    truth = [
        (u, f"i{i}", int(rng.integers(0, 3)), int(rng.integers(3)))
        for u in users
        for i in rng.permutation(WIDTH)[: rng.integers(1, 5)]
    ]
    drawn = [(f"u{rng.integers(SIZE - 3)}", f"i{rng.integers(WIDTH - 2)}") for _ in range(80)]
    towns = [None if rng.random() < 0.2 else f"t{rng.integers(3)}" for _ in users]
    genres = [[f"g{g}" for g in range(3) if rng.random() < 0.4] for _ in range(WIDTH)]
    prices = [None if rng.random() < 0.2 else float(rng.random()) for _ in range(WIDTH)]
    names = [f"i{i}" for i in range(WIDTH)]
    return {
        "lists": pl.DataFrame(rows, schema=["user", "item", "score"], orient="row"),
        "truth": pl.DataFrame(truth, schema=["user", "item", "grade", "week"], orient="row"),
        "train": pl.DataFrame(drawn, schema=["user", "item"], orient="row"),
        "users": pl.DataFrame(
            {"user": users, "town": towns, "age": rng.permutation(SIZE) / 3}, strict=False
        ),
        "items": pl.DataFrame({"item": names, "genre": genres, "price": prices}, strict=False),
    }


def tables(given: dict[str, Any]) -> dict[str, Any]:
    return {what: given[what] for what in ("train", "users", "items")}


def sharded(given: dict[str, Any], shards: int, seed: int, **options: Any) -> list[rt.Evaluator]:
    """The lists of random users in each of several evaluators."""
    where = np.random.default_rng(seed).integers(0, shards, SIZE)
    found = []
    for shard in range(shards):
        mine = pl.Series([f"u{u}" for u in np.flatnonzero(where == shard)], dtype=pl.String)
        parts = {
            w: given[w].filter(pl.col("user").is_in(mine.implode())) for w in ("lists", "truth")
        }
        if not (parts["lists"].height and parts["truth"].height):
            parts = {w: given[w].clear() for w in parts}
        evaluator = rt.Evaluator(METRICS, **options)
        if parts["lists"].height:
            evaluator.update(parts["lists"], parts["truth"], **tables(given))
        found.append(evaluator)
    return found


def left_out(given: dict[str, Any], shards: int, seed: int) -> bool:
    """Whether some shard has truth and no list, which a batch may not be."""
    where = np.random.default_rng(seed).integers(0, shards, SIZE)
    having = {int(u[1:]) for u in given["lists"]["user"]}
    return any(not having & set(np.flatnonzero(where == s).tolist()) for s in {*where.tolist()})


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from(["list", "user"]))
def test_any_sharding_gives_the_bits_of_one_pass(seed: int, shards: int, unit: str) -> None:
    data = world(seed)
    assume(not left_out(data, shards, seed))
    options: dict[str, Any] = {
        "convention": CONVENTION | {"unit": unit}, "slices": [*BY_LISTS, *BY_ROWS],
    }  # fmt: skip
    whole = rt.evaluate(data["lists"], data["truth"], METRICS, **options, **tables(data))
    merged = reduce(add, sharded(data, shards, seed, **options)).compute()
    assert merged.slices == whole.slices
    assert merged.values() == whole.values()


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["list", "user"]))
def test_sessions_of_a_user_may_lie_in_several_batches(seed: int, unit: str) -> None:
    rng = np.random.default_rng(seed)
    data, many = world(seed), 50
    owner = [f"u{u}" for u in rng.integers(0, SIZE, many)]
    columns = {"session": np.repeat(np.arange(many), 3), "user": np.repeat(owner, 3)}
    lists, truth = (
        pl.DataFrame(
            {**columns, "item": [f"i{i}" for _ in owner for i in rng.permutation(WIDTH)[:3]]}
        )
        for _ in range(2)
    )
    truth = truth.with_columns(device=pl.Series(np.repeat(rng.choice(["tv", "web"], many), 3)))
    by = ["town", "device", ["device", "price:0.5,"], "activity:3", ["town", "device"]]
    options: dict[str, Any] = {"convention": {"unit": unit}, "slices": by}
    given = {"list_key": "session", **tables(data)}
    whole = rt.evaluate(lists, truth, METRICS, **options, **given)
    parts = []
    for batch in np.array_split(rng.permutation(many), 3):
        mine = pl.col("session").is_in(batch.tolist())
        parts.append(rt.Evaluator(METRICS, **options))
        parts[-1].update(lists.filter(mine), truth.filter(mine), **given)
    assert reduce(add, parts).compute().slices == whole.slices


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_slices_of_a_partition_add_up_to_the_whole(seed: int) -> None:
    data = world(seed)
    evaluator = rt.Evaluator(METRICS, CONVENTION, slices=BY_LISTS)
    evaluator.update(data["lists"], data["truth"], **tables(data))
    whole = evaluator.state
    for sliced in whole.slices.values():
        assert sum(state.lists for state in sliced.states.values()) == whole.lists
        assert sum(state.relevant for state in sliced.states.values()) == whole.relevant
        for name, total in whole.totals.items():
            parts = [state.totals[name].sum for state in sliced.states.values() if state.lists]
            if isinstance(total.sum, Sums):
                assert reduce(add, parts) == total.sum


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6))
def test_the_mean_of_slices_weighted_by_lists_is_the_mean(seed: int) -> None:
    data = world(seed)
    given = {"slices": "town", **tables(data)}
    whole = rt.evaluate(data["lists"], data["truth"], "recall@3", CONVENTION, **given)
    assert whole.slices is not None
    parts = [n for n in whole.slices.numbers if n.by == "town" and n.value is not None]
    mean = sum(n.value * n.counted for n in parts) / sum(n.counted for n in parts)
    assert mean == pytest.approx(whole["recall@3"], rel=1e-14)


def test_evaluators_with_slices_are_saved_and_read(tmp_path: Path) -> None:
    data = world(3)
    for unit in ("list", "user"):
        options = {"convention": CONVENTION | {"unit": unit}, "slices": [*BY_LISTS, *BY_ROWS]}
        one, other = sharded(data, 2, 5, **options)
        one.save(tmp_path / "one.json")
        again = rt.Evaluator.load(tmp_path / "one.json")
        assert (again + other).compute().slices == (one + other).compute().slices
        assert again.slices == one.slices
    damaged = (tmp_path / "one.json").read_text().replace('"cells"', '"sells"', 1)
    (tmp_path / "one.json").write_text(damaged)
    with pytest.raises(UnreadableFile, match="damaged"):
        rt.Evaluator.load(tmp_path / "one.json")


def test_slices_that_are_cut_differently_are_not_added() -> None:
    data = world(0)
    evaluators = []
    for ages in (range(SIZE), range(0, 2 * SIZE, 2)):
        users = data["users"].with_columns(age=pl.Series([*ages]))
        evaluators.append(rt.Evaluator("mrr", slices="age:2"))
        evaluators[-1].update(data["lists"], data["truth"], users=users)
    with pytest.raises(NotComparable, match=r"cut differently.*\n.*same edges.*\n.*price:10"):
        evaluators[0] + evaluators[1]
    with pytest.raises(NotComparable, match="slices="):
        evaluators[0] + rt.Evaluator("mrr")


def test_a_batch_that_is_refused_leaves_no_trace_in_slices() -> None:
    data = world(1)
    evaluator = rt.Evaluator("mrr", slices=["town", "age:2"])
    evaluator.update(data["lists"], data["truth"], users=data["users"])
    before = evaluator.compute().slices
    other = data["users"].with_columns(age=pl.Series([*range(100, 100 + SIZE)]))
    with pytest.raises(NotComparable, match="cut differently"):
        evaluator.update(data["lists"], data["truth"], users=other)
    assert evaluator.compute().slices == before
    assert evaluator.batches == 1


BY_USERS = ("hit_popularity",)
"""counts the users of `users=`, which are others where only some are evaluated"""


def askable() -> list[str]:
    """Every metric, up to rank 3 where it has a cutoff."""
    found = []
    for name in rt.METRICS:
        for asked in (f"{name}@3", name):
            try:
                profile_of(None).resolve(parse(asked)[0])
            except RectitudeError:
                continue
            found.append(asked)
            break
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_a_slice_of_users_is_the_evaluation_of_these_users(seed: int) -> None:
    data = world(seed)
    kinds = pl.Series([f"c{i % 3}" for i in range(WIDTH)])
    vectors = np.random.default_rng(seed).random((WIDTH, 3))
    items = data["items"].with_columns(
        category=kinds, **{f"feature{n}": pl.Series(vectors[:, n]) for n in range(3)}
    )
    data = data | {"items": items}
    given = (data["lists"], data["truth"], askable(), CONVENTION)
    whole = rt.evaluate(*given, slices="town", **tables(data))
    assert whole.slices is not None
    assert len(whole.results) > 100
    for town in ("t0", "t1", "t2"):
        users = data["users"].filter(pl.col("town") == town)
        alone = rt.evaluate(*given, **tables(data) | {"users": users})
        for name in [n for n in whole if n.partition("@")[0] not in BY_USERS]:
            value = alone[name] if name in alone.results else None
            wanted = None if value is None or not np.isfinite(value) else value
            assert whole.slices.of("town", town, name).value == wanted, name
