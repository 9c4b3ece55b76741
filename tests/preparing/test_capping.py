"""The step that caps the rows of popular items."""

from __future__ import annotations

import polars as pl
import pytest

from rectitude.data.log import open_log
from rectitude.errors import BadArgument
from rectitude.preparing import STEPS

ROWS = [
    (13, 1), (1, 9), (8, 1), (3, 4), (7, 1), (1, 0), (8, 8), (12, 8), (7, 6), (13, 0), (3, 0),
    (0, 7), (12, 3), (2, 1), (6, 0), (13, 9), (9, 2), (13, 3), (10, 2), (9, 0), (9, 6), (10, 3),
    (6, 8), (4, 2), (3, 6), (7, 2), (11, 8), (1, 4), (8, 3), (11, 1), (5, 4), (11, 3), (6, 1),
    (4, 6), (9, 7), (5, 8), (12, 1), (5, 0), (0, 4), (4, 1), (3, 8), (8, 4), (2, 5), (10, 0),
    (2, 0), (12, 6), (0, 0),
]  # fmt: skip
DROPPED_BY_RECTOOLS = {(2, 0), (11, 1), (13, 0)}
"""What `debias_interactions` of RecTools 0.19.0 drops with iqr_coef=0.5 and random_state=7."""


def kept(rows: list[tuple[int, int]], **parameters: object) -> set[tuple[int, int]]:
    log = open_log(pl.DataFrame(rows, ["user", "item"], orient="row"))
    return set(STEPS["cap_items"](log, **parameters).frame.select("user", "item").rows())


def test_numpy_draws_keep_the_rows_that_rectools_keeps() -> None:
    left = kept(ROWS, spread=0.5, seed=7, draws="numpy")
    assert {*ROWS} - left == DROPPED_BY_RECTOOLS


def test_only_items_beyond_the_quartiles_lose_rows() -> None:
    rows = [(user, 0) for user in range(9)] + [(user, user + 1) for user in range(4)]
    # users per item: 9, 1, 1, 1, 1; both quartiles are 1, so one row of item 0 stays
    left = kept(rows, spread=1.5)
    assert {item for _, item in left} == {0, 1, 2, 3, 4}
    assert len(left) == 5


def test_the_seed_decides_which_rows_stay() -> None:
    rows = [(user, 0) for user in range(99)] + [(user, user + 1) for user in range(4)]
    assert len({frozenset(kept(rows, seed=seed)) for seed in range(9)}) > 1


def test_the_spread_is_not_negative() -> None:
    with pytest.raises(BadArgument, match="spread"):
        kept(ROWS, spread=-1.0)


POPULAR = [*((user, "a") for user in range(6)), (0, "b"), (1, "b"), (0, "c"), (0, "d"), (3, "d")]
"""a has 6 rows, b and d have 2, c has 1; users 0, 1 and 3 have 4, 2 and 2 rows, others one"""


def thinned(**parameters: object) -> list[int]:
    """The users who keep their row with item a."""
    log = open_log(pl.DataFrame(POPULAR, ["user", "item"], orient="row"))
    left = STEPS["thin_popular_items"](log, **parameters).frame
    assert left.filter(pl.col("item") != "a").height == 5
    return left.filter(pl.col("item") == "a")["user"].to_list()


def test_popular_items_lose_rows_of_the_most_active_users_first() -> None:
    assert thinned(above=0.75, share=0.5) == [2, 3, 4, 5]  # half of 6 - 2 rows: users 0 and 1
    assert thinned(above=0.75, share=0.9) == [2, 4, 5]  # 3.6 rows, rounded down to 3
    assert thinned(above=0.75, share=0.5, ties="file") == [2, 3, 4, 5]
    assert thinned(above=1.0) == [0, 1, 2, 3, 4, 5]  # no item has more rows than the most popular


def test_items_between_quantiles_are_halfway() -> None:
    # rows per item 1, 2, 2, 6: the quantile 0.9 is halfway between 2 and 6, so a is thinned
    assert thinned(above=0.9) == [2, 3, 4, 5]
