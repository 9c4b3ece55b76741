"""Laws of splits under any parameters: those of every way of splitting are drawn from what its
function says it takes, so that a new way, or a new parameter of an old one, cannot escape."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rectitude as rt
from rectitude.errors import RectitudeError
from rectitude.splits.run import SPLITTERS
from rectitude.splits.split import Split

NOT_HERE = {"fixed", "late_share_in_file_order"}
"""Parts that were given, and a defect of a framework that is kept under its own name."""
HOWS = sorted(set(SPLITTERS) - NOT_HERE)
GLOBAL = ["at_time", "new_users", "time_ratio", "windows"]
PARTITIONS = ["cold_users", "last_ratio", "last_span", "leave_random", "random_ratio",
              "random_rows", "time_ratio"]  # fmt: skip
"""Ways that promise every row to train or to truth, in each split."""

WITHIN = st.sampled_from(
    [
        {"how": "leave_last", "keep": 0, "short": "all"},
        {"how": "leave_last", "n": 2},
        {"how": "random_ratio", "level": "user", "ratio": 0.5},
        {"how": "last_ratio", "ratio": 0.4, "rounding": "ceil"},
    ]
)
RATIO = st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.7, 0.9])
MOMENT, LENGTH = st.integers(0, 10), st.integers(1, 6)
DRAWN: Mapping[str, st.SearchStrategy[Any]] = {
    "ratio": RATIO, "validation": st.one_of(st.just(0.0), RATIO, LENGTH),
    "size": st.none() | LENGTH,
    "n": LENGTH, "keep": st.integers(0, 2), "minimum": st.integers(0, 2), "seed": MOMENT,
    "least": st.integers(0, 4), "repeats": st.integers(1, 3), "folds": st.integers(1, 3),
    "shown": st.none() | LENGTH, "span": LENGTH, "stride": st.none() | LENGTH,
    "start": st.none() | MOMENT, "t": MOMENT, "end": st.none() | MOMENT, "within": WITHIN,
    "delta_in": st.none() | LENGTH, "delta_out": st.none() | LENGTH, "first": st.none() | LENGTH,
    "min_before": st.integers(1, 2), "min_after": st.integers(1, 2),
}  # fmt: skip
SPECIAL: Mapping[tuple[str, str], st.SearchStrategy[Any]] = {
    ("at_time", "t"): st.one_of(MOMENT, st.just("best"), st.lists(MOMENT, min_size=1, max_size=3)),
    ("leave_last", "n"): st.none() | st.integers(1, 2),
    ("late_users", "within"): st.none() | WITHIN,
    ("named_users", "within"): st.none() | WITHIN,
    ("named_users", "users"): st.sampled_from([[1], [0], ["u1"], ["u0"]]),
    ("strong_generalisation", "t"): st.none() | MOMENT,
}
IN_FILE = {
    "ties": {"first", "last", "introsort"},
    "order": {"file"},
    "draw": {"numpy_truth_first", "numpy_train_first", "numpy_uniform", "numpy_generator"},
}
"""Choices that go by the order of the file, and say so."""


def takes(how: str) -> dict[str, st.SearchStrategy[Any]]:
    """What can be given for each parameter of a way of splitting."""
    hints = get_type_hints(SPLITTERS[how])
    found = {}
    for name in list(inspect.signature(SPLITTERS[how]).parameters)[1:]:
        choices = get_args(hints[name]) if get_origin(hints[name]) is Literal else ()
        known = st.sampled_from(choices) if choices else SPECIAL.get((how, name), DRAWN.get(name))
        assert known is not None, f"say what {name} of {how} can be"
        found[name] = known
    return found


def options_of(how: str) -> st.SearchStrategy[dict[str, Any]]:
    known = takes(how)
    needed = {
        name: known.pop(name)
        for name, one in list(inspect.signature(SPLITTERS[how]).parameters.items())[1:]
        if one.default is one.empty
    }
    return st.fixed_dictionaries(needed, optional=known)


USERS = st.one_of(st.integers(0, 5), st.just(1), st.integers(0, 100))
FEW = st.integers(0, 2)


@st.composite
def tables(draw: st.DrawFn, users: st.SearchStrategy[int] = USERS) -> pl.DataFrame:
    """Rows with repeats and equal times; one user, or one row each, now and then; ids of two kinds
    and grades that need not be there."""
    row = st.tuples(users, st.integers(0, 6), st.integers(1, 3).map(float), st.integers(0, 9))
    rows = draw(st.lists(row, min_size=1, max_size=30))
    table = pl.DataFrame(rows, ["user", "item", "grade", "timestamp"], orient="row")
    if draw(st.booleans()):
        table = table.with_columns(pl.format("u{}", "user").alias("user"), pl.col("item") * 10**12)
    return table.drop("grade") if draw(st.booleans()) else table


def made(table: pl.DataFrame, how: str, options: Mapping[str, Any], **more: Any) -> list[Split]:
    """The splits of a table; what this way refuses is no example."""
    if how.endswith("_sessions"):
        more = {"recipe": [{"step": "session_gap", "gap": 2}], **more}
    try:
        found = rt.split(table, how, **options, **more)
    except RectitudeError:
        assume(False)
        raise
    return found if isinstance(found, list) else [found]


def rows(part: Any) -> set[int]:
    held = part.frame["row"].to_list()
    assert len(held) == len(set(held))
    return set(held)


often = settings(
    max_examples=max(settings().max_examples // 4, 1),
    suppress_health_check=[HealthCheck.filter_too_much],
)


@often
@pytest.mark.parametrize("how", HOWS)
@given(data=st.data(), table=tables())
def test_no_row_of_truth_is_learnt_or_shown(how: str, data: Any, table: pl.DataFrame) -> None:
    options = data.draw(options_of(how))
    for split in made(table, how, options):
        assert rows(split.train)
        assert rows(split.truth)
        assert not rows(split.truth) & rows(split.train)
        if split.fold_in is not None:
            assert not rows(split.truth) & rows(split.fold_in)
            level = options.get("level", "user")
            assert set(split.fold_in.frame[level]) <= set(split.truth.frame[level])
        inner = split.validation
        if inner is not None:
            assert not rows(inner.truth) & rows(inner.train)
            assert rows(inner.truth) | rows(inner.train) == rows(split.train)
        used = set().union(*(rows(part) for _, part in split.parts()))
        assert used <= set(range(table.height))
        assert split.ledger["rows_in_no_part"] == table.height - len(used)


@often
@pytest.mark.parametrize("how", HOWS)
@given(data=st.data(), table=tables())
def test_shuffled_rows_give_the_same_split(how: str, data: Any, table: pl.DataFrame) -> None:
    options = data.draw(options_of(how))
    assume(not any(options.get(name) in words for name, words in IN_FILE.items()))
    places = data.draw(st.permutations(range(table.height)))
    both = [made(one, how, options) for one in (table, table[places])]
    assert [one.fingerprint for one in both[0]] == [one.fingerprint for one in both[1]]
    for one, other in zip(*both, strict=True):
        for (name, part), (_, same) in zip(one.parts(), other.parts(), strict=True):
            contents = [sorted(log.frame.drop("row").rows()) for log in (part, same)]
            assert contents[0] == contents[1], name


@often
@pytest.mark.parametrize("how", GLOBAL)
@given(data=st.data(), table=tables())
def test_nothing_learnt_is_later_than_anything_to_be_found(
    how: str, data: Any, table: pl.DataFrame
) -> None:
    options = data.draw(options_of(how))
    for split in made(table, how, options):
        latest, first = max(split.train.frame["timestamp"]), min(split.truth.frame["timestamp"])
        assert latest <= first if options.get("cut") == "position" else latest < first


@often
@pytest.mark.parametrize("how", ["last_ratio", "last_span", "leave_last"])
@given(data=st.data(), table=tables(FEW))
def test_nothing_learnt_of_a_group_is_later_than_what_is_to_be_found_of_it(
    how: str, data: Any, table: pl.DataFrame
) -> None:
    options = data.draw(options_of(how))
    assume(options.get("order") != "file" and options.get("level") != "all")
    level = options.get("level", "user")
    for split in made(table, how, options):
        known = split.train.frame.group_by(level).agg(pl.col("timestamp").max().alias("latest"))
        both = split.truth.frame.join(known, level)
        assert (both["timestamp"] >= both["latest"]).all()


@often
@pytest.mark.parametrize("how", ["cold_users", "k_fold_users", "late_users", "new_users",
                                 "strong_generalisation"])  # fmt: skip
@given(data=st.data(), table=tables())
def test_users_set_apart_are_not_learnt_from(how: str, data: Any, table: pl.DataFrame) -> None:
    options = data.draw(options_of(how))
    assume(options.get("shown") != "train")
    for split in made(table, how, options):
        assert not set(split.truth.frame["user"]) & set(split.train.frame["user"])


@often
@pytest.mark.parametrize("how", PARTITIONS)
@given(data=st.data(), table=tables())
def test_parts_are_all_rows_where_that_is_promised(
    how: str, data: Any, table: pl.DataFrame
) -> None:
    for split in made(table, how, data.draw(options_of(how))):
        assert rows(split.train) | rows(split.truth) == set(range(table.height))


@often
@pytest.mark.parametrize("outer", HOWS)
@given(data=st.data(), table=tables())
def test_a_validation_is_a_split_of_train(outer: str, data: Any, table: pl.DataFrame) -> None:
    options = {k: v for k, v in data.draw(options_of(outer)).items() if k != "validation"}
    inner = data.draw(WITHIN | st.just({"how": "time_ratio"}) | st.just({"how": "cold_users"}))
    for split in made(table, outer, options, validation=inner):
        found = split.validation
        assert found is not None
        assert rows(found.train) | rows(found.truth) <= rows(split.train)
        assert not rows(found.train) & rows(found.truth)
        assert not rows(found.truth) & rows(split.truth)


@often
@given(data=st.data(), table=tables())
def test_each_row_is_to_be_found_in_one_fold(data: Any, table: pl.DataFrame) -> None:
    options = data.draw(options_of("k_fold"))
    splits = made(table, "k_fold", {name: options[name] for name in options if name != "size"})
    found = [row for split in splits for row in rows(split.truth)]
    assert sorted(found) == list(range(table.height))
    for split in splits:
        assert rows(split.train) == set(range(table.height)) - rows(split.truth)


@often
@given(data=st.data(), table=tables(), size=st.integers(1, 3))
def test_folds_of_a_size_share_no_row_and_hold_no_more(
    data: Any, table: pl.DataFrame, size: int
) -> None:
    options = {**data.draw(options_of("k_fold")), "size": size, "level": "all"}
    splits = made(table, "k_fold", options)
    found = [row for split in splits for row in rows(split.truth)]
    assert len(found) == len(set(found))
    assert max(len(rows(split.truth)) for split in splits) <= size


@often
@given(data=st.data(), table=tables())
def test_each_user_is_evaluated_in_one_fold(data: Any, table: pl.DataFrame) -> None:
    options = data.draw(options_of("k_fold_users"))
    splits = made(table, "k_fold_users", {**options, "overlap": "none"})
    found = [user for split in splits for user in set(split.truth.frame["user"])]
    assert len(found) == len(set(found))


@often
@given(data=st.data(), table=tables())
def test_windows_share_no_row_unless_their_stride_is_shorter(
    data: Any, table: pl.DataFrame
) -> None:
    options = data.draw(options_of("windows"))
    splits = made(table, "windows", options)
    found = [row for split in splits for row in rows(split.truth)]
    if (options.get("stride") or options["span"]) >= options["span"]:
        assert len(found) == len(set(found))
