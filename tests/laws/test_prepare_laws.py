"""What holds for every step of preparing, whatever the table."""

from __future__ import annotations

import os
from typing import Any, get_args
from unittest import mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rectitude.data.log import ROW, Log, open_log
from rectitude.preparing import STEPS
from rectitude.preparing.draws import uniform
from rectitude.preparing.order import Ties, by_time
from rectitude.preparing.steps import repeats

COLUMNS = ["user", "item", "grade", "timestamp"]
PEOPLE = pl.DataFrame({"user": [0, 1, 2, 3, 4], "age": [20, 30, 40, 50, 25]})
GOODS = pl.DataFrame({"item": ["a", "b", "c", "d"], "kind": ["tea", "rye", "tea", "rye"]})
EVERY_STEP: list[tuple[str, dict[str, Any]]] = [
    ("deduplicate", {}),
    ("deduplicate", {"keep": "first"}),
    ("deduplicate", {"keep": "sum"}),
    ("threshold", {"at": 0.3}),
    ("threshold", {"at": "global_mean"}),
    ("threshold", {"at": "user_mean"}),
    ("grade_range", {"above": 0.1, "at_most": 0.3}),
    ("consecutive", {"keep": "last"}),
    ("first_days", {"n": 0.0001, "level": "user"}),
    ("in_intervals", {"grade": "[0.1,0.2);(0.2,0.9]"}),
    ("n_filter", {"users": 2, "items": 2}),
    ("k_core", {"users": 2, "items": 3}),
    ("k_core", {"users": 2, "items": 2, "rounds": 2}),
    ("k_core", {"users": 2, "items": 2, "repeats": "once"}),
    ("between", {"users_at_least": 2, "users_at_most": 4, "items_at_most": 5}),
    ("items_per_user", {"at_least": 2, "at_most": 3}),
    ("users_per_item", {"at_least": 2, "repeats": "counted"}),
    ("cold_users", {"at_most": 2}),
    ("popular_items", {"n": 2}),
    ("cap_items", {"spread": 0.0, "seed": 3}),
    ("thin_popular_items", {"above": 0.3, "share": 0.9}),
    ("popular_items", {"n": 2, "repeats": "once"}),
    ("recent_items", {"n": 2}),
    ("latest", {"n": 2}),
    ("earliest", {"n": 1}),
    ("time_window", {"start": 2, "end": 5}),
    ("last_days", {"n": 0.00003}),
    ("session_gap", {"gap": 1}),
    ("session_length", {"at_least": 2, "at_most": 3}),
    ("users_where", {"table": PEOPLE, "column": "age", "at_least": 30}),
    ("items_where", {"table": GOODS, "column": "kind", "among": ["tea"]}),
    ("popularity_range", {"at_least": 0.2, "at_most": 0.8}),
    ("popularity_range", {"at_most": 0.5, "repeats": "once"}),
    ("sample_users", {"share": 0.5, "seed": 3}),
    ("sort_rows", {}),
]


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Interactions with repeats, equal times, and grades that floats cannot hold exactly."""
    row = st.tuples(
        st.integers(0, 5),
        st.sampled_from("abcde"),
        st.sampled_from([0.1, 0.2, 0.3, 0.7, 1 / 3]),
        st.integers(0, 6),
    )
    rows = draw(st.lists(row, min_size=1, max_size=40))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def content(log: Log) -> list[tuple[Any, ...]]:
    return sorted(log.frame.drop(ROW).rows())


def apply_step(step: str, table: pl.DataFrame, parameters: dict[str, Any]) -> Log:
    """Apply a step, to a log with sessions if it needs them."""
    log = open_log(table)
    if step == "session_length":
        log = STEPS["session_gap"](log, gap=1)
    return STEPS[step](log, **parameters)


def test_every_step_is_tried() -> None:
    assert {step for step, _ in EVERY_STEP} == set(STEPS)


@pytest.mark.parametrize(("step", "parameters"), EVERY_STEP)
@given(table=tables(), data=st.data())
def test_the_order_of_rows_plays_no_part(
    step: str, parameters: dict[str, Any], table: pl.DataFrame, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(table.height)))
    one = apply_step(step, table, parameters)
    other = apply_step(step, table[order], parameters)
    assert content(one) == content(other)


@pytest.mark.parametrize(
    ("step", "parameters"), [one for one in EVERY_STEP if one[0] != "sort_rows"]
)
@given(table=tables())
def test_rows_only_go_and_those_that_stay_keep_their_number_and_order(
    step: str, parameters: dict[str, Any], table: pl.DataFrame
) -> None:
    left = apply_step(step, table, parameters).frame
    rows = left[ROW].to_list()
    assert rows == sorted(set(rows))
    unchanged = ["user", "item", "timestamp"]
    assert left.select(unchanged).equals(open_log(table).frame[rows].select(unchanged))


@given(table=tables(), users=st.integers(1, 4), items=st.integers(1, 4))
def test_a_core_is_the_largest_part_in_which_all_have_enough(
    table: pl.DataFrame, users: int, items: int
) -> None:
    log = open_log(table)
    core = STEPS["k_core"](log, users=users, items=items)
    plain = log.frame
    while True:
        kept = plain.filter((pl.len().over("user") >= users) & (pl.len().over("item") >= items))
        if kept.height == plain.height:
            break
        plain = kept
    assert core.frame.equals(plain)
    assert STEPS["k_core"](core, users=users, items=items).frame.equals(core.frame)


@given(table=tables(), least=st.integers(1, 4), repeats=st.sampled_from(["counted", "once"]))
def test_compiled_and_plain_cores_are_the_same(
    table: pl.DataFrame, least: int, repeats: str
) -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    log = open_log(table)
    found = {}
    for kernels in ("numpy", "numba"):
        with mock.patch.dict(os.environ, RECTITUDE_KERNELS=kernels):
            core = STEPS["k_core"](log, users=least, items=least + 1, repeats=repeats)
            found[kernels] = core.frame[ROW].to_list()
    assert found["numpy"] == found["numba"]


@given(table=tables(), rounds=st.integers(1, 4))
def test_more_rounds_never_leave_more_and_end_in_the_core(table: pl.DataFrame, rounds: int) -> None:
    log = open_log(table)
    some = set(STEPS["k_core"](log, users=2, items=2, rounds=rounds).frame[ROW])
    more = set(STEPS["k_core"](log, users=2, items=2, rounds=rounds + 1).frame[ROW])
    core = set(STEPS["k_core"](log, users=2, items=2).frame[ROW])
    assert core <= more <= some
    many = set(STEPS["k_core"](log, users=2, items=2, rounds=50).frame[ROW])
    assert many == core


@given(
    table=tables(),
    n=st.integers(1, 4),
    ties=st.sampled_from(get_args(Ties)),
    factor=st.sampled_from([1, -1, 2**59]),
)
def test_the_latest_and_earliest_are_those_with_few_beyond_them(
    table: pl.DataFrame, n: int, ties: Ties, factor: int
) -> None:
    log = open_log(table.with_columns(pl.col("timestamp") * factor))
    standing = by_time(log, "user", ties)
    beyond = {"latest": pl.Series(standing.after), "earliest": pl.Series(standing.before)}
    for end, rows in beyond.items():
        left = STEPS[end](log, n=n, ties=ties).frame
        assert left.equals(log.frame.filter(rows < n))
    sizes = log.frame.select(pl.len().over("user"))["len"]
    assert (beyond["latest"] + beyond["earliest"] + 1 == sizes).all()


@given(table=tables(), keep=st.sampled_from(["first", "last", "sum"]))
def test_each_pair_is_left_once_and_none_is_lost(table: pl.DataFrame, keep: str) -> None:
    left = STEPS["deduplicate"](open_log(table), keep=keep).frame
    pairs = left.select("user", "item").rows()
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == set(table.select("user", "item").rows())
    if keep == "sum":
        assert left["grade"].sum() == pytest.approx(table["grade"].sum())


@given(table=tables(), seed=st.integers())
def test_a_draw_belongs_to_content_not_to_place(table: pl.DataFrame, seed: int) -> None:
    one = open_log(table).frame
    other = open_log(table[::-1]).frame
    for by in ("row", "user", "item"):
        drawn = [frame.with_columns(uniform(frame, seed, by)) for frame in (one, other)]  # type: ignore[arg-type]
        first, second = (sorted(frame.drop(ROW).rows()) for frame in drawn)
        assert first == second
    assert uniform(one, seed).n_unique() == one.height


@given(table=tables())
def test_compiled_and_plain_repeats_are_the_same(table: pl.DataFrame) -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    frame, found = open_log(table).frame, []
    for kernels in ("numpy", "numba"):
        with mock.patch.dict(os.environ, RECTITUDE_KERNELS=kernels):
            found.append([part.tolist() for part in repeats(frame)])
    assert found[0] == found[1]
    pairs = frame.select("user", "item").is_duplicated()
    assert sorted(found[0][0]) == pairs.arg_true().to_list()
