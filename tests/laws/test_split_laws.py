"""Laws of splits over random tables and every way of splitting: nothing leaks, nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.preparing.order import Level, standing
from rectitude.splits.run import SPLITTERS
from rectitude.splits.split import Split
from rectitude.splits.unknown import flag_unknown, slices, treat_unknown

WITHIN = {"how": "leave_last", "keep": 0, "short": "all"}
SESSIONS = [{"step": "session_gap", "gap": 2}]
WAYS: Mapping[str, list[dict[str, Any]]] = {
    "random_ratio": [
        {"ratio": 0.3}, {"ratio": 0.3, "level": "user"}, {"ratio": 0.5, "level": "item"},
        {"ratio": 0.4, "validation": 0.2}, {"size": 2}, {"ratio": 0.2, "repeats": 2},
        {"ratio": 0.8, "of": "cuts", "validation": 0.6}, {"ratio": 0.2, "validation": 2},
        {"ratio": 0.3, "repeats": 2, "overlap": "none", "rounding": "floor"},
    ],
    "last_ratio": [
        {"ratio": 0.3}, {"ratio": 0.5, "rounding": "ceil", "keep": 1}, {"ratio": 0.4, "least": 3},
        {"ratio": 0.3, "validation": 0.3}, {"ratio": 0.3, "arithmetic": "thousandths"},
        {"ratio": 0.5, "level": "item"}, {"ratio": 0.3, "level": "all"},
        {"ratio": 0.2, "minimum": 1, "keep": 1}, {"size": 1, "validation": 1},
        {"ratio": 0.8, "of": "cuts", "validation": 0.5},
    ],
    "leave_last": [
        {}, {"n": 2}, {"n": 2, "short": "all", "keep": 0}, {"n": 2, "short": "none"},
        {"n": None}, {"folds": 2}, {"shown": 1}, {"level": "item"},
    ],
    "leave_random": [{}, {"n": 2}, {"repeats": 2}],
    "random_rows": [{"ratio": 0.3}],
    "random_next": [{}, {"n": 2}, {"n": 2, "keep": 0}],
    "after_first": [
        {}, {"n": 2, "within": WITHIN}, {"within": {"how": "time_ratio", "ratio": 0.3}},
        {"within": {**WITHIN, "validation": WITHIN}},
    ],
    "last_span": [{"span": 3}],
    "last_sessions": [{"recipe": SESSIONS}, {"n": 2, "keep": 0, "recipe": SESSIONS}],
    "late_sessions": [{"t": 5, "recipe": SESSIONS}],
    "at_time": [{"t": 5}, {"t": 5, "delta_in": 3, "delta_out": 2}, {"t": [3, 6]}, {"t": "best"}],
    "time_ratio": [
        {"ratio": 0.3}, {"ratio": 0.3, "cut": "position"}, {"ratio": 0.3, "cut": "percentile"},
        {"ratio": 0.2, "validation": 0.2}, {"ratio": 0.3, "cut": "percentile", "boundary": "train"},
        {"size": 2}, {"size": 2, "cut": "position"}, {"size": 2, "validation": 3},
    ],
    "windows": [
        {"span": 2, "start": 3}, {"span": 2, "folds": 2}, {"span": 3, "start": 2, "stride": 2},
    ],
    "cold_users": [{"ratio": 0.5}],
    "strong_generalisation": [
        {"ratio": 0.5}, {"ratio": 0.5, "within": WITHIN}, {"ratio": 0.5, "t": 5},
        {"size": 2, "within": WITHIN, "shown": "train"},
        {"size": 2, "among": "with_truth", "within": {"how": "leave_last"}},
    ],
    "new_users": [{"ratio": 0.4}],
    "late_users": [{"t": 5}, {"t": 5, "within": WITHIN}],
    "next_after": [
        {"t": 4}, {"t": 4, "shown": 1, "delta_out": 4}, {"t": 4, "rows": "first", "shown": 2},
    ],
    "named_users": [{"users": [1]}, {"users": [0, 1], "within": WITHIN}],
    "k_fold": [
        {"folds": 3}, {"folds": 2, "level": "user"},
        {"folds": 2, "level": "user", "draw": "round_robin"},
    ],
    "k_fold_users": [
        {"folds": 2, "within": WITHIN}, {"folds": 2, "within": WITHIN, "shown": "train"},
        {"folds": 3, "size": 2, "within": WITHIN, "overlap": "allowed"},
    ],
}  # fmt: skip
ALL = [(how, options) for how, ways in WAYS.items() for options in ways]
COMPLETE = {"random_ratio", "random_rows", "last_ratio", "leave_random", "last_span", "time_ratio",
            "k_fold", "cold_users", "last_sessions", "late_sessions", "after_first"}  # fmt: skip
GLOBAL = {"at_time", "time_ratio", "windows"}
few = settings(max_examples=max(settings().max_examples // 4, 1))
"""Every law is tried on every way of splitting: few tables each are many in all."""
NOT_HERE = {"fixed", "late_share_in_file_order"}
"""Parts that were given, and a defect of a framework that is kept under its own name."""

ROW = st.tuples(
    st.integers(0, 5), st.integers(0, 6), st.integers(1, 3).map(float), st.integers(0, 9)
)
TABLES = st.lists(ROW, min_size=6, max_size=40).map(
    lambda rows: pl.DataFrame(rows, ["user", "item", "grade", "timestamp"], orient="row")
)


def made(table: pl.DataFrame, how: str, options: Mapping[str, Any], **more: Any) -> list[Split]:
    """The splits of a table; a table that this split cannot do anything with is no example."""
    try:
        found = rt.split(table, how, **options, **more)
    except RectitudeError:
        assume(False)
        raise
    return found if isinstance(found, list) else [found]


def rows(part: Any) -> set[int]:
    return set(part.frame["row"])


def content(part: Any) -> list[tuple[Any, ...]]:
    return sorted(part.frame.drop("row").rows())


def test_every_way_of_splitting_is_under_these_laws() -> None:
    assert set(WAYS) | NOT_HERE == set(SPLITTERS)


@few
@pytest.mark.parametrize(("how", "options"), ALL)
@given(table=TABLES, seed=st.integers(0, 3))
def test_no_row_of_truth_is_learnt_or_shown(
    how: str, options: dict[str, Any], table: pl.DataFrame, seed: int
) -> None:
    for split in made(table, how, options, seed=seed):
        assert split.truth.frame.height
        assert split.train.frame.height
        assert not rows(split.truth) & rows(split.train)
        if split.fold_in is not None:
            assert not rows(split.truth) & rows(split.fold_in)
            assert set(split.fold_in.frame["user"]) <= set(table["user"])
        if split.validation is not None:
            inner = split.validation
            assert not rows(inner.truth) & rows(inner.train)
            assert rows(inner.truth) | rows(inner.train) == rows(split.train)


@few
@pytest.mark.parametrize(("how", "options"), ALL)
@given(table=TABLES, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_makes_no_difference(
    how: str, options: dict[str, Any], table: pl.DataFrame, order: Any
) -> None:
    places = list(range(table.height))
    order.shuffle(places)
    mine, theirs = made(table, how, options), made(table[places], how, options)
    for split, other in zip(mine, theirs, strict=True):
        both = zip(split.parts(), other.parts(), strict=True)
        assert all(a == b and content(one) == content(two) for (a, one), (b, two) in both)
        assert split.fingerprint == other.fingerprint


@few
@pytest.mark.parametrize(("how", "options"), [way for way in ALL if way[0] in GLOBAL])
@given(table=TABLES)
def test_nothing_learnt_is_later_than_what_is_to_be_found(
    how: str, options: dict[str, Any], table: pl.DataFrame
) -> None:
    for split in made(table, how, options):
        latest, first = max(split.train.frame["timestamp"]), min(split.truth.frame["timestamp"])
        assert latest <= first if options.get("cut") == "position" else latest < first


@few
@pytest.mark.parametrize(("how", "options"), [way for way in ALL if way[0] in COMPLETE])
@given(table=TABLES)
def test_every_row_is_in_one_part_where_that_is_promised(
    how: str, options: dict[str, Any], table: pl.DataFrame
) -> None:
    for split in made(table, how, options):
        assert rows(split.truth) | rows(split.train) == set(range(table.height))
        assert split.ledger["rows_in_no_part"] == 0


@few
@pytest.mark.parametrize(("how", "options"), ALL)
@given(table=TABLES)
def test_the_ledger_accounts_for_every_row(
    how: str, options: dict[str, Any], table: pl.DataFrame
) -> None:
    for split in made(table, how, options):
        used = rows(split.truth) | rows(split.train)
        used |= set() if split.fold_in is None else rows(split.fold_in)
        assert split.ledger["rows"] == table.height
        assert split.ledger["rows_in_no_part"] == table.height - len(used)
        assert split.ledger["train_rows"] == split.train.frame.height
        assert split.ledger["truth_users"] == split.truth.frame["user"].n_unique()


@pytest.mark.parametrize("order", ["leave_last", "last_ratio", "last_span"])
@given(table=TABLES)
def test_nothing_of_a_user_that_is_learnt_is_later_than_what_is_to_be_found(
    order: str, table: pl.DataFrame
) -> None:
    (split,) = made(table, order, {"span": 3} if order == "last_span" else {})
    latest = dict(split.train.frame.group_by("user").agg(pl.col("timestamp").max()).rows())
    assert all(time >= latest.get(user, 0) for user, _, _, time, _ in split.truth.frame.rows())


@given(table=TABLES, seed=st.integers(0, 3))
def test_strong_generalisation_learns_nothing_of_the_evaluated_users(
    table: pl.DataFrame, seed: int
) -> None:
    for options in ({"ratio": 0.5, "within": WITHIN}, {"ratio": 0.5, "t": 5}):
        (split,) = made(table, "strong_generalisation", options, seed=seed)
        assert not set(split.truth.frame["user"]) & set(split.train.frame["user"])
        assert split.fold_in is not None
        assert set(split.fold_in.frame["user"]) <= set(split.truth.frame["user"])


@given(table=TABLES, folds=st.integers(2, 4), seed=st.integers(0, 3))
def test_folds_share_no_row_and_hold_all(table: pl.DataFrame, folds: int, seed: int) -> None:
    splits = made(table, "k_fold", {"folds": folds}, seed=seed)
    sizes = [split.truth.frame.height for split in splits]
    assert sum(sizes) == table.height == len(set().union(*(rows(split.truth) for split in splits)))
    assert max(sizes) - min(sizes) <= 1


@given(table=TABLES)
def test_slices_are_the_truth_and_the_policy_drops_the_unknown_ones(table: pl.DataFrame) -> None:
    (split,) = made(table, "time_ratio", {"ratio": 0.4})
    counted = dict(slices(split).select("slice", "rows").rows())
    assert sum(counted.values()) == split.truth.frame.height
    try:
        known = treat_unknown(split, users="drop", items="drop")
    except RectitudeError:
        assert counted["warm"] == 0
        return
    assert known.truth.frame.height == counted["warm"]
    assert not any(flag_unknown(known)[name].any() for name in ("users", "items"))


@given(table=TABLES, seed=st.integers(0, 3))
def test_the_best_moment_is_the_one_a_count_over_all_users_finds(
    table: pl.DataFrame, seed: int
) -> None:
    least = {"min_before": 1 + seed % 2, "min_after": 1 + seed // 2}
    (split,) = made(table, "at_time", {"t": "best", **least})
    fits = {}
    for t in sorted(set(table["timestamp"])):
        sides = [
            (
                mine.filter(pl.col("timestamp") < t).height,
                mine.filter(pl.col("timestamp") >= t).height,
            )
            for mine in table.partition_by("user")
        ]
        fits[t] = sum(a >= least["min_before"] and b >= least["min_after"] for a, b in sides)
    best = max(t for t, count in fits.items() if count == max(fits.values()))
    assert split.ledger.notes["t"] == str(best)


KEYS = st.one_of(
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=30),
    st.lists(st.integers(0, 3), min_size=1, max_size=30),
    st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.0, 1e300, -1e300]), min_size=1, max_size=30),
)


@given(keys=KEYS, users=st.data())
def test_rows_stand_as_a_plain_sort_puts_them(keys: list[Any], users: Any) -> None:
    ids = st.one_of(st.integers(-(2**62), 2**62), st.integers(0, 2))
    who = users.draw(st.lists(ids, min_size=len(keys), max_size=len(keys)))
    for names in (who, [f"u{one}" for one in who]):
        frame = pl.DataFrame({"user": names})
        rows = pl.int_range(len(keys), eager=True)
        for sign in (1, -1):
            found = standing(frame, "user", [pl.Series(keys), sign * rows])
            for at, name in enumerate(names):
                mine = [(keys[n], sign * n) for n in range(len(keys)) if names[n] == name]
                place = sorted(mine).index((keys[at], sign * at))
                assert (found.before[at], found.size[at]) == (place, len(mine))


@given(keys=KEYS, level=st.sampled_from(["user", "all"]), users=st.data())
def test_compiled_and_plain_orders_are_the_same(keys: list[Any], level: Level, users: Any) -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    who = users.draw(st.lists(st.integers(0, 2), min_size=len(keys), max_size=len(keys)))
    frame = pl.DataFrame({"user": who})
    found = []
    for kernels in ("numpy", "numba"):
        with mock.patch.dict(os.environ, RECTITUDE_KERNELS=kernels):
            after, size = standing(frame, level, [pl.Series(keys), pl.Series(who)])
        found.append((after.tolist(), size.tolist()))
    assert found[0] == found[1]
