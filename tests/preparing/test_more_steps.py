"""Steps that filter by popularity quantile, session length, and columns of users and items."""

from __future__ import annotations

import polars as pl
import pytest

import rectitude as rt
from rectitude.errors import BadArgument

LOG = pl.DataFrame(
    {"user": [1, 1, 1, 2, 2, 3], "item": list("abcaba"), "timestamp": [1, 2, 9, 1, 9, 1]}
)


def left(*steps: dict[str, object]) -> list[tuple[int, str]]:
    return rt.prepare(LOG, list(steps)).frame.select("user", "item").rows()


def test_items_above_a_quantile_of_popularity_go() -> None:
    # a has 3 rows, b 2, c 1: the median is 2
    assert left({"step": "popularity_range", "at_most": 0.5}) == [(1, "b"), (1, "c"), (2, "b")]
    assert len(left({"step": "popularity_range", "at_least": 0.5})) == 5


def test_short_sessions_go() -> None:
    gap = {"step": "session_gap", "gap": 5}
    assert left(gap, {"step": "session_length", "at_least": 2}) == [(1, "a"), (1, "b")]


def test_items_stay_by_a_column_of_theirs() -> None:
    items = pl.DataFrame({"item": ["a", "b"], "price": [5, 20]})
    step = {"step": "items_where", "table": items, "column": "price"}
    assert left({**step, "at_most": 10}) == [(1, "a"), (2, "a"), (3, "a")]
    with pytest.raises(BadArgument, match="no column 'prize'"):
        left({**step, "column": "prize", "at_most": 10})


def test_users_stay_by_a_column_of_theirs() -> None:
    users = pl.DataFrame({"user": [1, 2, 3], "country": ["de", "us", "de"]})
    step = {"step": "users_where", "table": users, "column": "country"}
    assert {user for user, _ in left({**step, "among": ["de"]})} == {1, 3}
    with pytest.raises(BadArgument, match="among, at_least or at_most"):
        left(step)
